package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rogpeppe/go-internal/testscript"

	"portillon/server"
	"portillon/server/pgtest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"portillon": main})
}

// patience is how long a condition is waited for.
const patience = time.Minute

// door is a demo cinema on a test database whose clock can be moved.
type door struct {
	demoReady
	db     *pgtest.DB
	server *server.Server
}

func openDoor(t *testing.T) door {
	t.Helper()
	db := pgtest.New(t, pgtest.MaxConns(16))
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + listener.Addr().String()
	s, err := server.New(t.Context(), server.Options{
		Pool: db.Pool, DatabaseURL: db.URL, OperatorKey: bytes.Repeat([]byte{7}, 32), PublicURL: address,
		Log: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	pages := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: patience}
	served := make(chan error, 1)
	go func() { served <- pages.Serve(listener) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error("close the server:", err)
		}
		if err := pages.Shutdown(ctx); err != nil {
			t.Error("end the requests:", err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error("serve:", err)
		}
	})
	ready, err := furnish(t.Context(), s, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	ready.URL = address
	for _, secret := range append([]string{ready.APIToken, ready.ControllerToken, fragment(ready.DeskLink), fragment(ready.GateLink)}, fragments(ready.WalletLinks)...) {
		pgtest.Secret(t, secret)
	}
	return door{ready, db, s}
}

func fragment(link string) string { return link[strings.LastIndexAny(link, "#.")+1:] }

func fragments(links []string) (all []string) {
	for _, link := range links {
		all = append(all, fragment(link))
	}
	return all
}

// vars are what scripts know of the door. The commands find the server and the
// admin's token in the environment, the door's commands take their own.
func (d door) vars() map[string]string {
	return map[string]string{
		"PORTILLON_URL": d.URL, "PORTILLON_TOKEN": d.APIToken, "PORTILLON_GATE": d.Gate.String(),
		"CONTROLLER": d.ControllerToken, "GATE": d.Gates[0].Gate.String(), "BALCONY": d.Gates[1].Gate.String(),
		"VENUE": d.Venue.String(), "EVENT": d.Event.String(),
	}
}

func TestAtTheDoor(t *testing.T) {
	t.Parallel()
	for _, file := range scripts(t, "door") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			d := openDoor(t)
			testscript.Run(t, testscript.Params{
				Files: []string{file},
				Setup: func(env *testscript.Env) error {
					for name, value := range d.vars() {
						env.Setenv(name, value)
					}
					return promptly(env)
				},
				Cmds: commands(map[string]func(*testscript.TestScript, bool, []string){
					// shift D moves the database's clock ahead.
					"shift": func(ts *testscript.TestScript, _ bool, args []string) {
						by, err := time.ParseDuration(args[0])
						ts.Check(err)
						d.db.Shift(t, by)
					},
				}),
			})
		})
	}
}

func TestByItself(t *testing.T) {
	t.Parallel()
	for _, file := range scripts(t, "alone") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			testscript.Run(t, testscript.Params{Files: []string{file}, Setup: withCache, Cmds: commands(nil)})
		})
	}
}

// withCache lets scripts find PostgreSQL where it was downloaded to; otherwise
// testscript keeps the developer's environment out.
func withCache(env *testscript.Env) error {
	if cache, err := os.UserCacheDir(); err == nil {
		env.Setenv("XDG_CACHE_HOME", cache)
	}
	return promptly(env)
}

// promptly lets commands end when they are done. Each that is built with the race
// detector would sleep a second first, which was most of these tests' time; what
// it found it has said by then, and the command still fails.
func promptly(env *testscript.Env) error {
	env.Setenv("GORACE", strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=10"))
	return nil
}

func scripts(t *testing.T, kind string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", kind, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts of kind %s: %v", kind, err)
	}
	return files
}

// commands are what the scripts have beside testscript's own.
func commands(more map[string]func(*testscript.TestScript, bool, []string)) map[string]func(*testscript.TestScript, bool, []string) {
	all := map[string]func(*testscript.TestScript, bool, []string){
		"uuid": func(ts *testscript.TestScript, _ bool, args []string) { ts.Setenv(args[0], uuid.NewString()) },
		// time VAR D sets a time from now, RFC 3339.
		"time": func(ts *testscript.TestScript, _ bool, args []string) {
			by, err := time.ParseDuration(args[1])
			ts.Check(err)
			ts.Setenv(args[0], time.Now().Add(by).UTC().Format(time.RFC3339))
		},
		"json":  jsonCommand,
		"lines": linesCommand,
		"gone":  goneCommand,
		// eventually TEXT COMMAND… repeats the command until it prints the text.
		"eventually": func(ts *testscript.TestScript, _ bool, args []string) {
			ok := eventually(func() bool {
				return ts.Exec(args[1], args[2:]...) == nil && strings.Contains(ts.ReadFile("stdout"), args[0])
			})
			if !ok {
				ts.Fatalf("%s never printed %q", args[1], args[0])
			}
		},
	}
	for name, command := range more {
		all[name] = command
	}
	return all
}

// json FILE PATH VAR sets a variable from a file's last line; json FILE PATH =
// VALUE compares. FILE may be stdout or stderr.
func jsonCommand(ts *testscript.TestScript, neg bool, args []string) {
	text := strings.TrimSpace(ts.ReadFile(args[0]))
	value, err := dig(text[strings.LastIndexByte(text, '\n')+1:], args[1])
	ts.Check(err)
	if len(args) < 4 {
		ts.Setenv(args[2], value)
		return
	}
	if (value == args[3]) == neg {
		ts.Fatalf("%s is %q; compared with %q", args[1], value, args[3])
	}
}

// dig takes a value out of JSON by a path such as .tickets.0.ticket; what is not
// there is "".
func dig(text, path string) (string, error) {
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return "", fmt.Errorf("%w in %q", err, text)
	}
	for _, name := range strings.Split(strings.TrimPrefix(path, "."), ".") {
		switch in := value.(type) {
		case map[string]any:
			value = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(in) {
				return "", fmt.Errorf("%s: no element %s", path, name)
			}
			value = in[i]
		default:
			value = nil
		}
	}
	switch v := value.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	}
	out, err := json.Marshal(value)
	return string(out), err
}

// lines FILE TEXT [N] waits until N lines of the file, or one, hold the text.
func linesCommand(ts *testscript.TestScript, _ bool, args []string) {
	want := 1
	if len(args) > 2 {
		want, _ = strconv.Atoi(args[2])
	}
	var content []byte
	ok := eventually(func() bool {
		content, _ = os.ReadFile(ts.MkAbs(args[0]))
		whole := content[:bytes.LastIndexByte(content, '\n')+1]
		found := 0
		for line := range bytes.Lines(whole) {
			if bytes.Contains(line, []byte(args[1])) {
				found++
			}
		}
		return found >= want
	})
	if !ok {
		ts.Fatalf("%s has not %d lines with %q; it is:\n%s", args[0], want, args[1], content)
	}
}

// gone DIR waits until no process works in the folder or names it.
func goneCommand(ts *testscript.TestScript, _ bool, args []string) {
	dir, left := ts.MkAbs(args[0]), ""
	if !eventually(func() bool { left = processesOf(dir); return left == "" }) {
		ts.Fatalf("still running: %s", left)
	}
}

func processesOf(dir string) (found string) {
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range processes {
		line, _ := os.ReadFile(filepath.Join(process, "cmdline"))
		cwd, _ := os.Readlink(filepath.Join(process, "cwd"))
		if bytes.Contains(line, []byte(dir)) || strings.HasPrefix(cwd, dir) && cwd != dir {
			found += process + " " + strings.ReplaceAll(string(line), "\x00", " ") + "\n"
		}
	}
	return found
}

func eventually(condition func() bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}
