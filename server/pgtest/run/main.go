// Command run gives one PostgreSQL to a whole run of the tests, and looks for
// secrets in its rows afterwards:
//
//	go run ./server/pgtest/run -- go test ./...
//
// The command gets PORTILLON_TEST_DATABASE_URL and PORTILLON_TEST_DUMP_DIR. run
// ends with the command's code; when that is 0 and a secret was found, with 1. A
// run in which no test handed a secret out ends with 1 too, unless -partial says
// that only some packages are tested. Nothing is left behind.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"portillon/server/pgtest"
	"portillon/server/pgtest/leak"
)

func main() {
	partial := flag.Bool("partial", false, "do not mind when no test has handed out a secret")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: run [-partial] -- command [argument …]")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	code, err := run(flag.Args(), *partial)
	if err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
	}
	os.Exit(code)
}

func run(command []string, partial bool) (code int, err error) {
	dir, err := pgtest.TempFolder()
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	server, err := pgtest.StartServer(ctx, dir, nil)
	if err != nil {
		return 1, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err = errors.Join(err, server.Stop(ctx))
	}()
	dumps := filepath.Join(dir, "dumps")
	if err := os.Mkdir(dumps, 0o700); err != nil {
		return 1, err
	}
	code, err = execute(command, pgtest.DatabaseURL+"="+server.URL(), pgtest.DumpDir+"="+dumps)
	if err != nil || code != 0 {
		return code, err
	}
	return search(dumps, partial)
}

// execute runs the command to its end. A signal that asks us to stop is passed on,
// so that everything is tidied up after the command has ended.
func execute(command []string, env ...string) (int, error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s)
		case err := <-ended:
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				return max(1, exit.ExitCode()), nil // -1 is a signal
			}
			if err != nil {
				return 1, err
			}
			return 0, nil
		}
	}
}

func search(dumps string, partial bool) (int, error) {
	report, err := leak.Search(dumps)
	if errors.Is(err, leak.ErrNothing) && partial {
		return 0, nil
	}
	if err != nil {
		return 1, err
	}
	for _, sentence := range report.Found {
		fmt.Fprintln(os.Stderr, "run:", sentence)
	}
	if len(report.Found) > 0 {
		return 1, errors.New("the database holds secrets that were handed out")
	}
	fmt.Printf("run: none of %d secrets in %.1f MB of rows\n", report.Secrets, float64(report.Bytes)/1e6)
	return 0, nil
}
