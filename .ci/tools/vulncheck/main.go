// Command vulncheck runs govulncheck against the database that comes as a Go
// module, and fails on every vulnerability that our code can reach and that
// vuln-allow.txt does not name with a reason. An entry that no longer applies
// is named too, so that the list stays short.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	root := flag.String("root", ".", "the module to check")
	tools := flag.String("tools", "bin/tools", "where govulncheck and vulndb are")
	allow := flag.String("allow", "vuln-allow.txt", "lines of an id and the reason why it is accepted")
	flag.Parse()
	if err := run(*root, *tools, *allow); err != nil {
		fmt.Fprintln(os.Stderr, "vulncheck:", err)
		os.Exit(1)
	}
}

func run(root, tools, allow string) error {
	accepted, err := readAllowed(allow)
	if err != nil {
		return err
	}
	reached, err := check(root, tools)
	if err != nil {
		return err
	}
	bad := 0
	for _, id := range slices.Sorted(maps.Keys(reached)) {
		if reason, ok := accepted[id]; ok {
			fmt.Printf("%s accepted: %s\n", id, reason)
			continue
		}
		bad++
		fmt.Printf("%s %s\n", id, reached[id])
	}
	for _, id := range slices.Sorted(maps.Keys(accepted)) {
		if _, ok := reached[id]; !ok {
			fmt.Printf("%s is on the list but no longer reached: remove it\n", id)
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d vulnerabilities are reached", bad)
	}
	return nil
}

// readAllowed reads lines of an id, a blank and a reason; # begins a comment.
func readAllowed(path string) (map[string]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	accepted := map[string]string{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, reason, _ := strings.Cut(line, " ")
		if strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("%s: %s has no reason", path, id)
		}
		accepted[id] = strings.TrimSpace(reason)
	}
	return accepted, lines.Err()
}

// message is the part of govulncheck's JSON stream that matters here.
type message struct {
	OSV *struct {
		ID, Summary string
	}
	Finding *struct {
		OSV   string
		Fixed string `json:"fixed_version"`
		Trace []struct{ Module, Version, Function string }
	}
}

// check returns what our code can reach: an id and what to say of it.
func check(root, tools string) (map[string]string, error) {
	tools, err := filepath.Abs(tools)
	if err != nil {
		return nil, err
	}
	command := exec.Command(filepath.Join(tools, "govulncheck"),
		"-C", root, "-db", "file://"+filepath.ToSlash(filepath.Join(tools, "vulndb")), "-format", "json", "./...")
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	reached, err := read(out)
	return reached, errors.Join(err, command.Wait())
}

func read(stream io.Reader) (map[string]string, error) {
	summaries, reached := map[string]string{}, map[string]string{}
	decoder := json.NewDecoder(stream)
	for {
		var m message
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			return reached, nil
		} else if err != nil {
			return nil, err
		}
		if m.OSV != nil {
			summaries[m.OSV.ID] = m.OSV.Summary
		}
		// The first frame has a function only where a call leads to it.
		if f := m.Finding; f != nil && len(f.Trace) > 0 && f.Trace[0].Function != "" {
			reached[f.OSV] = fmt.Sprintf("%s (%s %s, fixed in %q)", summaries[f.OSV], f.Trace[0].Module, f.Trace[0].Version, f.Fixed)
		}
	}
}
