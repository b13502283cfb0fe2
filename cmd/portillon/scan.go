package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"portillon/server/client"
	"portillon/server/ticket"
)

type scanCommand struct {
	apiFlags
	Gate         ticket.GateID    `help:"The gate where it is scanned." required:"" placeholder:"UUID" env:"PORTILLON_GATE"`
	Key          ticket.Key       `help:"The scan's key (a UUID). A scan repeated with it gets the first answer again. Without it: a new scan." placeholder:"UUID"`
	People       int              `help:"How many of a group enter." placeholder:"N"`
	Direction    ticket.Direction `help:"in, or out at events with re-entry." enum:"in,out" default:"in"`
	PhoneOffline bool             `help:"The phone has no network: accept the code that it makes by its clock, where the event allows it."`
	DryRun       bool             `help:"Look first: judge, and let nobody in."`
	Timeout      time.Duration    `help:"How long to repeat, with the same key, while the server does not know or does not answer." default:"30s"`
	ExitCode     bool             `help:"Exit with 3 unless admitted."`
	Language     string           `help:"Language of the sentences: en, fr or cs." env:"PORTILLON_LANGUAGE" placeholder:"LANG"`
	Code         string           `arg:"" help:"What the scanner read; \"-\" reads one line from standard input."`
}

// Help is the long form of the command's help.
func (scanCommand) Help() string {
	return `Asks the server for its decision about a code and prints it. A decided scan
exits with 0 whatever the verdict, because a refusal is a successful check; with
--exit-code everything but an admission exits with 3.

The same code may be sent again with the same --key as often as you like: it is
one scan. A code begins with a prefix and may hold spaces: quote it.`
}

// Run scans.
func (s *scanCommand) Run(ctx context.Context, out *console) error {
	code := s.Code
	if code == "-" {
		line, err := out.secretLine("code")
		if err != nil {
			return err
		}
		code = line
	}
	if code == "" {
		return usage("the code is empty")
	}
	key := s.Key
	if key.IsZero() {
		key = newKey()
	}
	answer, err := s.decide(ctx, out, key, code)
	if err != nil {
		return err
	}
	err = out.answer(struct {
		Key ticket.Key `json:"key"`
		client.ScanAnswer
	}{key, answer}, func() error { return printAnswer(out, answer) })
	if err == nil && s.ExitCode && answer.Verdict != ticket.Admit {
		return errRefused
	}
	return err
}

// decide repeats with the same key until somebody knows, or time is up.
func (s *scanCommand) decide(ctx context.Context, out *console, key ticket.Key, code string) (client.ScanAnswer, error) {
	c, err := s.client()
	if err != nil {
		return client.ScanAnswer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	scan := client.Scan{
		Gate: s.Gate, Code: code, People: s.People, PhoneOffline: s.PhoneOffline, DryRun: s.DryRun, Direction: s.Direction,
	}
	var opts []client.Option
	if s.Language != "" {
		opts = append(opts, client.WithLanguage(s.Language))
	}
	for try := 1; ; try++ {
		answer, err := s.once(ctx, c, key, scan, opts)
		if !client.RetryLater(err) {
			return answer, err
		}
		pause := max(client.Wait(err), min(time.Duration(try)*250*time.Millisecond, 2*time.Second))
		if deadline, _ := ctx.Deadline(); time.Now().Add(pause).After(deadline) {
			return answer, fmt.Errorf("nobody knows yet whether this scan counted; repeat it with --key %s: %w", key, err)
		}
		out.note("No answer yet; repeating with the same key: %v", err)
		select {
		case <-ctx.Done():
			return answer, errors.Join(ctx.Err(), err)
		case <-time.After(pause):
		}
	}
}

// once bounds one try, so that an answer that was lost is noticed.
func (s *scanCommand) once(ctx context.Context, c *client.Client, key ticket.Key, scan client.Scan, opts []client.Option) (client.ScanAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return c.Scan(ctx, key, scan, opts...)
}

// signs stand for the colours of the gate page.
var signs = map[ticket.Class]string{
	ticket.ClassAdmit: "✔ ADMIT", ticket.ClassAsk: "✋ ASK", ticket.ClassRefuse: "✘ REFUSE", ticket.ClassAgain: "○ AGAIN",
}

func printAnswer(out *console, a client.ScanAnswer) error {
	remarks := []string{}
	for _, r := range []struct {
		is   bool
		says string
	}{{a.Replayed, "same scan, first answer again"}, {a.Recovered, "recovered"}, {a.DryRun, "dry run, nobody was let in"}} {
		if r.is {
			remarks = append(remarks, r.says)
		}
	}
	head := signs[a.Class] + "  " + a.Title + "  [" + string(a.Reason) + "]"
	if len(remarks) > 0 {
		head += "  (" + strings.Join(remarks, ", ") + ")"
	}
	_ = out.line("%s", head)
	if a.Advice != "" {
		_ = out.line("%s", a.Advice)
	}
	return out.pairs(answerPairs(a)...)
}

func answerPairs(a client.ScanAnswer) (pairs [][2]string) {
	add := func(name, value string) { pairs = append(pairs, [2]string{name, value}) }
	zone := ""
	if t := a.Ticket; t != nil {
		zone = t.TimeZone
		add("screen", t.Screen)
		add("seat", t.Seat)
		add("ticket", fmt.Sprintf("%d, %s", t.Number, t.Category))
		add("holder", t.Holder)
		add("event", fmt.Sprintf("%s, %s, doors %s", t.EventName, t.VenueName, clock(t.DoorsOpenAt, zone)))
	}
	if a.People > 0 {
		add("people", fmt.Sprint(a.People))
	}
	if a.Remaining != nil {
		add("remaining", fmt.Sprint(*a.Remaining))
	}
	if u := a.FirstUse; u != nil {
		add("used", fmt.Sprintf("%s ago (%s) · %s · %s", time.Duration(u.SecondsAgo)*time.Second, clock(u.At, zone), u.GateName, u.Person))
		add("", strings.Join([]string{either(u.SameDevice, "same scanner", "another scanner"), either(u.SameClaim, "same phone", "another phone"), either(u.SameNonce, "the very same code", "a fresh code")}, ", "))
	}
	add("moved", clock(a.MovedAt, zone))
	add("not before", clock(a.NotBefore, zone))
	add("not after", clock(a.NotAfter, zone))
	for _, g := range a.Gates {
		add("gate", g.Name)
	}
	add("this is", a.Is)
	if a.SecondsSkew != nil {
		add("phone's clock", fmt.Sprintf("%.0f s ahead", *a.SecondsSkew))
	}
	return pairs
}

func either(yes bool, this, that string) string {
	if yes {
		return this
	}
	return that
}

func newKey() ticket.Key { return ticket.Key(uuid.New()) }
