package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"portillon/migrations"
	"portillon/server/load"
	"portillon/server/pg"
)

type benchWalletsCommand struct {
	PostgresBin string `help:"Folder with PostgreSQL's binaries, when they are not where they are looked for." env:"PORTILLON_POSTGRES_BIN" type:"path" placeholder:"DIR"`
	Streams     int    `help:"Wallets that listen at the same time." default:"18000"`
	TLSStreams  int    `name:"tls-streams" help:"Wallets that listen over TLS, to tell their memory; 0 for none." default:"2000"`
	Nonces      int    `help:"Nonces to wait for, one every ten seconds." default:"6"`
}

// Help is the long form of the command's help.
func (benchWalletsCommand) Help() string {
	return `Starts a PostgreSQL and a server of its own in a temporary folder and lets phones
follow their stream on the loopback interface while a gate is held. Tells how long
after its issue a new nonce has reached them, how many did not get it, and by how
much the server's resident memory grew for each stream (after a collection; what the
kernel keeps is not in it). The server is one process and the phones are another:
each needs as many open files as there are streams. Takes some two minutes. The last
line is one JSON object.`
}

// Run measures.
func (c *benchWalletsCommand) Run(ctx context.Context, out *console) (err error) {
	if err := enoughFiles(max(c.Streams, c.TLSStreams)); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "portillon-bench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := pg.Start(ctx, pg.Options{DataDir: filepath.Join(dir, "postgres"), BinDir: c.PostgresBin, Settings: benchSettings()})
	if err != nil {
		return err
	}
	defer func() {
		brief, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, db.Stop(brief))
	}()
	pool, err := pg.Open(ctx, db.URL(), pg.PoolOptions{StatementTimeout: -1})
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := pg.Migrate(ctx, pool, migrations.FS); err != nil {
		return err
	}
	street, err := openStreet(ctx, db.URL(), filepath.Join(dir, "server.log"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, street.close()) }()
	bench := load.Wallets{
		Streams: c.Streams, TLSStreams: c.TLSStreams, Nonces: c.Nonces, Pool: pool,
		Plain: street.plain, TLS: street.secure, Memory: street.memory, Now: time.Now, Note: out.note,
	}
	figures, err := bench.Run(ctx)
	if err != nil {
		return err
	}
	if !out.json {
		if err := walletsTable(out, figures); err != nil {
			return err
		}
	}
	return out.object(figures)
}

func walletsTable(out *console, f load.WalletFigures) error {
	return out.pairs(
		[2]string{"streams", fmt.Sprintf("%8d", f.Streams)},
		[2]string{"a new nonce at half of them", fmt.Sprintf("%8.0f ms", f.P50MS)},
		[2]string{"at 99 of 100", fmt.Sprintf("%8.0f ms", f.P99MS)},
		[2]string{"at the last", fmt.Sprintf("%8.0f ms", f.MaxMS)},
		[2]string{"lost", fmt.Sprintf("%8d of %d", f.Lost, f.Streams*f.Nonces)},
		[2]string{"memory a stream", fmt.Sprintf("%8d bytes", f.Bytes)},
		[2]string{"memory a stream over TLS", fmt.Sprintf("%8d bytes", f.BytesTLS)},
	)
}

// spareFiles are open beside the streams: the database's connections, the log.
const spareFiles = 200

// enoughFiles asks for what the system allows this process, and refuses a crowd that
// is larger: the server gets the same limit.
func enoughFiles(streams int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("how many files may be open: %w", err)
	}
	if uint64(streams+spareFiles) > limit.Max {
		return usage("this process may open %d files, and %d streams need %d: raise the limit (ulimit -n), or measure with less --streams",
			limit.Max, streams, streams+spareFiles)
	}
	return nil
}

// street is a server as a process of its own: "bench street".
type street struct {
	cmd           *exec.Cmd
	ask           interface{ Close() error }
	tell          func() error
	answers       *bufio.Reader
	plain, secure string
}

func openStreet(ctx context.Context, url, logFile string) (*street, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	s := &street{cmd: exec.CommandContext(ctx, self, "bench", "street")} //nolint:gosec // ourselves
	s.cmd.Env = append(os.Environ(), "PORTILLON_DATABASE_URL="+url)
	s.cmd.Stderr = log
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	s.ask, s.tell = in, func() error { _, err := in.Write([]byte("\n")); return err }
	answers, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.answers = bufio.NewReader(answers)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := fmt.Fscanln(s.answers, &s.plain, &s.secure); err != nil {
		_ = s.cmd.Process.Kill()
		said, _ := os.ReadFile(logFile)
		return nil, fmt.Errorf("the server did not start: %w: %s", errors.Join(err, s.cmd.Wait()), said)
	}
	return s, nil
}

func (s *street) memory() (int64, error) {
	if err := s.tell(); err != nil {
		return 0, err
	}
	line, err := s.answers.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("the server's memory: %w", err)
	}
	return strconv.ParseInt(strings.TrimSpace(line), 10, 64)
}

func (s *street) close() error {
	return errors.Join(s.ask.Close(), s.cmd.Wait())
}

// benchStreetCommand is the server whose streams are measured: a process of its own,
// so that its memory can be told. It ends when its standard input does.
type benchStreetCommand struct {
	DatabaseURL string `required:"" env:"PORTILLON_DATABASE_URL"`
}

// Run serves, and answers each line on standard input with the resident memory.
func (c *benchStreetCommand) Run(ctx context.Context, out *console) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	log := slog.New(slog.NewTextHandler(out.err, nil))
	return load.Street(ctx, c.DatabaseURL, log, func(plain, secure string) error {
		if err := out.line("%s %s", plain, secure); err != nil {
			return err
		}
		go func() {
			defer cancel()
			for lines := bufio.NewScanner(out.in); lines.Scan(); {
				debug.FreeOSMemory()
				status, err := os.ReadFile("/proc/self/status") // only Linux tells
				if err != nil || out.line("%d", kilobytes(string(status), "VmRSS")*1024) != nil {
					return
				}
			}
		}()
		return nil
	})
}
