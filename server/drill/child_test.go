package drill_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"portillon/server"
	"portillon/server/pg"
)

// childDatabase names, in the environment, a database: the test binary then is not a
// test but a server on it, until it is killed or its parent is gone. With childPlain
// it judges each scan in a transaction of its own.
const (
	childDatabase = "DRILL_CHILD_DATABASE"
	childPlain    = "DRILL_CHILD_PLAIN"
)

func TestMain(m *testing.M) {
	url := os.Getenv(childDatabase)
	if url == "" {
		os.Exit(m.Run())
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the parent
		os.Exit(0)
	}()
	fmt.Println("error", serve(context.Background(), url, os.Getenv(childPlain) != ""))
	os.Exit(1)
}

// serve is a server as servertest.On starts it, but in a process of its own.
func serve(ctx context.Context, databaseURL string, plain bool) error {
	pool, err := pg.Open(ctx, databaseURL, pg.PoolOptions{})
	if err != nil {
		return err
	}
	door, err := server.OpenDoor(ctx, databaseURL)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String()
	s, err := server.New(ctx, server.Options{
		Pool: pool, DoorPool: door, DatabaseURL: databaseURL, OperatorKey: bytes.Repeat([]byte{7}, 32), PublicURL: url,
		Log: slog.New(slog.DiscardHandler), Now: time.Now, Plain: plain, ScansPerSecond: -1,
	})
	if err != nil {
		return err
	}
	if err := s.Start(ctx); err != nil {
		return err
	}
	fmt.Println(url)
	web := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 5 * time.Second}
	return web.Serve(listener)
}

// child is a server that can be killed.
type child struct {
	cmd   *exec.Cmd
	url   string
	stdin io.Closer // it ends when this is closed

	killed atomic.Bool
}

// startChild returns when the server listens. At the end of the test it goes in peace,
// unless it was killed before: what the race detector has seen there fails the test.
func startChild(t *testing.T, databaseURL string, plain bool) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: exec.Command(self)}
	c.cmd.Env = append(os.Environ(), childDatabase+"="+databaseURL)
	if plain {
		c.cmd.Env = append(c.cmd.Env, childPlain+"=yes")
	}
	c.cmd.Stderr = os.Stderr
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if c.url = strings.TrimSpace(line); err != nil || !strings.HasPrefix(c.url, "http://") {
		c.kill()
		t.Fatalf("the server that was to be killed says %q, %v", line, err)
	}
	t.Cleanup(func() {
		if c.cmd.ProcessState != nil {
			return // killed, and buried
		}
		_ = c.stdin.Close()
		if err := c.cmd.Wait(); err != nil && !c.killed.Load() {
			t.Errorf("a server in a process of its own ended with %v", err)
		}
	})
	return c
}

// kill is kill -9.
func (c *child) kill() {
	c.strike()
	_ = c.cmd.Wait()
}

// strike is kill -9 and does not wait for the end.
func (c *child) strike() {
	c.killed.Store(true)
	_ = c.cmd.Process.Kill()
}
