package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"portillon/server/pg"
)

// DatabaseURL is the environment variable that names a server to use. Its role must
// be allowed to make schemas.
const DatabaseURL = "PORTILLON_TEST_DATABASE_URL"

// settings trade the safety of rows for speed, and have room for the locks of many
// schemas being dropped.
var settings = map[string]string{
	"fsync":                     "off",
	"full_page_writes":          "off",
	"synchronous_commit":        "off",
	"wal_level":                 "minimal",
	"max_wal_senders":           "0",
	"max_connections":           "300",
	"max_locks_per_transaction": "256",
	"shared_buffers":            "128MB",
	"max_wal_size":              "128MB",
	"min_wal_size":              "32MB",
}

// TempFolder makes a folder for a test server.
func TempFolder() (string, error) { return os.MkdirTemp(parentFolder(), "portillon-test-") }

// StartServer starts a test server in that folder.
func StartServer(ctx context.Context, dir string, log *slog.Logger) (*pg.Server, error) {
	return pg.Start(ctx, pg.Options{DataDir: filepath.Join(dir, "pg"), Offline: true, Log: log, Settings: settings})
}

type shared struct {
	url   string
	admin *pgxpool.Pool
}

// process is this process's server and the pool that makes and drops schemas.
var process = sync.OnceValues(func() (shared, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	url := os.Getenv(DatabaseURL)
	if url == "" {
		var err error
		if url, err = startOwn(ctx); err != nil {
			return shared{}, err
		}
	}
	admin, err := pg.Open(ctx, url, pg.PoolOptions{
		ApplicationName: "pgtest", MaxConns: 8, StatementTimeout: patience, LockTimeout: patience / 2,
	})
	return shared{url, admin}, err
})

func server(t testing.TB) (url string, admin *pgxpool.Pool) {
	t.Helper()
	s, err := process()
	if err != nil {
		t.Fatalf("tests need a PostgreSQL (Debian, Ubuntu: apt-get install postgresql; macOS: brew install postgresql@18), "+
			"or the URL of a running one in %s: %v", DatabaseURL, err)
	}
	return s.url, s.admin
}

// startOwn starts a server for this process alone. Nothing of ours runs at the end
// of a test process, which may also be killed; so that a small shell waits for it
// and tidies up.
func startOwn(ctx context.Context) (string, error) {
	dir, err := TempFolder()
	if err != nil {
		return "", err
	}
	s, err := StartServer(ctx, dir, nil)
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	if err := tidyAfterUs(s, dir); err != nil {
		return "", errors.Join(err, s.Stop(ctx), os.RemoveAll(dir))
	}
	return s.URL(), nil
}

// tidy reads until our end of the pipe is closed, which is when we are gone; then
// it ends the server, if the kernel has not done so on our death, and removes what
// is left.
const tidy = `read -r _
kill -INT "$1" 2>/dev/null
while kill -0 "$1" 2>/dev/null; do sleep 0.02; done
rm -rf -- "$2" "$3"`

// heldOpen keeps the pipe from the garbage collector, which would close it.
var heldOpen atomic.Pointer[io.WriteCloser]

func tidyAfterUs(s *pg.Server, dir string) error {
	cmd := exec.Command("/bin/sh", "-c", tidy, "tidy", strconv.Itoa(s.PID()), dir, s.SocketDir())
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is not for it
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the shell that tidies up: %w", err)
	}
	heldOpen.Store(&pipe)
	return nil
}
