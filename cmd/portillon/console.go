package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"portillon/wallet"
)

// console is where a command reads and answers.
type console struct {
	in       io.Reader
	out, err io.Writer
	json     bool
}

// note tells people something beside the answer.
func (c *console) note(format string, args ...any) {
	_, _ = fmt.Fprintf(c.err, format+"\n", args...)
}

// line prints one line of the answer for people.
func (c *console) line(format string, args ...any) error {
	_, err := fmt.Fprintf(c.out, format+"\n", args...)
	return err
}

// object prints one line of the answer for programs.
func (c *console) object(value any) error {
	encoder := json.NewEncoder(c.out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// answer prints the value for programs, or calls people.
func (c *console) answer(value any, people func() error) error {
	if c.json {
		return c.object(value)
	}
	return people()
}

// list prints items as one object each, or as a table with a heading.
func list[T any](c *console, items []T, heading string, row func(T) []string) error {
	if c.json {
		for _, item := range items {
			if err := c.object(item); err != nil {
				return err
			}
		}
		return nil
	}
	table := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, strings.ReplaceAll(heading, " ", "\t"))
	for _, item := range items {
		_, _ = fmt.Fprintln(table, strings.Join(row(item), "\t"))
	}
	return table.Flush()
}

// pairs prints names and values under one another; empty values are left out.
func (c *console) pairs(pairs ...[2]string) error {
	table := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	for _, pair := range pairs {
		if pair[1] != "" {
			_, _ = fmt.Fprintf(table, "%s\t%s\n", pair[0], pair[1])
		}
	}
	return table.Flush()
}

// qr draws a code for a camera.
func (c *console) qr(text string) error {
	symbol, err := wallet.QR(text, wallet.LevelL)
	if err != nil {
		return err
	}
	_, err = io.WriteString(c.out, symbol.Terminal())
	return err
}

// secretLine reads one line from standard input, for a password.
func (c *console) secretLine(what string) (string, error) {
	text, err := bufio.NewReader(io.LimitReader(c.in, 4096)).ReadString('\n')
	if text == "" && err != nil {
		return "", fmt.Errorf("read the %s from standard input: %w", what, err)
	}
	return strings.TrimRight(text, "\r\n"), nil
}

// clock writes a time for people, in the zone of the place; "" for none.
func clock(at time.Time, zone string) string {
	if at.IsZero() {
		return ""
	}
	place, err := time.LoadLocation(zone)
	if err != nil {
		place = time.Local
	}
	return at.In(place).Format("2006-01-02 15:04")
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
