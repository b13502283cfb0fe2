package pg_test

import (
	"bufio"
	"bytes"
	"context"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/server/pg"
	"portillon/server/pgtest"
)

// folder is a place for a data folder, on the fastest file system.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := pgtest.TempFolder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return filepath.Join(dir, "pg")
}

// madeFolder is a data folder with a database in it, copied from one that is made
// once.
func madeFolder(t *testing.T) string {
	t.Helper()
	once.Do(func() {
		once.dir, once.err = pgtest.TempFolder()
		if once.err != nil {
			return
		}
		var s *pg.Server
		if s, once.err = pg.Start(t.Context(), pg.Options{DataDir: filepath.Join(once.dir, "pg"), Offline: true}); once.err == nil {
			once.err = s.Stop(context.Background())
		}
	})
	if once.err != nil {
		t.Fatal(once.err)
	}
	dir := folder(t)
	if out, err := exec.Command("cp", "-a", filepath.Join(once.dir, "pg"), dir).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	return dir
}

// once is the folder that madeFolder copies; TestMain removes it.
var once struct {
	sync.Once
	dir string
	err error
}

// start starts a server that ends with the test.
func start(t *testing.T, o pg.Options) *pg.Server {
	t.Helper()
	o.Offline = true
	s, err := pg.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	return s
}

func stop(t *testing.T, s *pg.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func do(t *testing.T, url, sql string) {
	t.Helper()
	ctx := context.Background() // also at the test's end
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(ctx, sql); err != nil {
		t.Fatal(err)
	}
}

func ask(t *testing.T, url, sql string) (answer string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if err := conn.QueryRow(t.Context(), sql).Scan(&answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

// logText is a log that a test can read.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logText) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// child is another process that serves a folder.
type child struct {
	cmd *exec.Cmd
	url string
}

func startChild(t *testing.T, binary, dir string, as *syscall.Credential) child {
	t.Helper()
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), childFolder+"="+dir)
	cmd.Dir = "/"
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "postgres://") {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatalf("the other process says %q, %v", line, err)
	}
	served := child{cmd, strings.TrimSpace(line)}
	u, err := url.Parse(served.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(u.Query().Get("host")) }) // the socket's folder
	t.Cleanup(func() { awaitShutdown(t, dir) })
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return served
}

// awaitShutdown waits until no server is left on the folder of a killed process.
func awaitShutdown(t *testing.T, dir string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(dir, "postmaster.pid"))
		if err != nil {
			return
		}
		first, _, _ := strings.Cut(string(text), "\n")
		pid, err := strconv.Atoi(first)
		if err != nil || syscall.Kill(pid, 0) != nil {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("the server %d of a killed process still runs", pid)
			return
		}
	}
}

func (c child) kill(t *testing.T) {
	t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Wait()
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
