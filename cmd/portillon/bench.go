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
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"portillon/migrations"
	"portillon/server/load"
	"portillon/server/pg"
)

type benchCommand struct {
	Admissions benchAdmissionsCommand `cmd:"" help:"Measure how many guests the door lets in, beside pgbench on the same database."`
	Wallets    benchWalletsCommand    `cmd:"" help:"Measure how soon a crowd of wallets has a new nonce, and what each costs."`
	Door       benchDoorCommand       `cmd:"" hidden:""`
	Street     benchStreetCommand     `cmd:"" hidden:""`
}

type benchAdmissionsCommand struct {
	PostgresBin string        `help:"Folder with PostgreSQL's binaries, when they are not where they are looked for." env:"PORTILLON_POSTGRES_BIN" type:"path" placeholder:"DIR"`
	Small       int           `help:"Tickets at first, to compare growth with." default:"100000"`
	Tickets     int           `help:"Tickets for the rounds." default:"2000000"`
	Grown       int           `help:"Tickets and attempts at the end." default:"5000000"`
	Rounds      int           `help:"Rounds of each kind, alternating; the medians count." default:"3"`
	Round       time.Duration `help:"How long each takes." default:"5s"`
	Devices     int           `help:"Gate devices that scan." default:"1024"`
}

// Help is the long form of the command's help.
func (benchAdmissionsCommand) Help() string {
	return `Starts a PostgreSQL and a server of its own in a temporary folder, lets 64 gates
scan tickets over HTTP with everything on, and compares with pgbench running the
classic four statements on the same database, with the same path without the
decision, and with one transaction for each scan. Takes some ten minutes and a few
gigabytes of disk. The last line is one JSON object; compare its ratios, not its
rates, between machines.`
}

// Run measures.
func (c *benchAdmissionsCommand) Run(ctx context.Context, out *console) (err error) {
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
	pgbench := db.Bin("pgbench")
	if pgbench == "" {
		return errors.New("this PostgreSQL has no pgbench: install it (Debian, Ubuntu: apt-get install postgresql-contrib), or name another with --postgres-bin")
	}
	pool, err := pg.Open(ctx, db.URL(), pg.PoolOptions{StatementTimeout: -1})
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := pg.Migrate(ctx, pool, migrations.FS); err != nil {
		return err
	}
	figures, err := c.measure(ctx, out, pool, db.URL(), pgbench, dir)
	if err != nil {
		return err
	}
	if !out.json {
		if err := benchTable(out, figures); err != nil {
			return err
		}
	}
	return out.object(figures)
}

func (c *benchAdmissionsCommand) measure(ctx context.Context, out *console, pool *pgxpool.Pool, url, pgbench, dir string) (load.Figures, error) {
	self, err := os.Executable()
	if err != nil {
		return load.Figures{}, err
	}
	bench := load.Bench{
		Plan: load.Plan{
			Small: c.Small, Tickets: c.Tickets, Grown: c.Grown, Rounds: c.Rounds, Round: c.Round, Devices: c.Devices,
		},
		Pool: pool, DatabaseURL: url, Pgbench: pgbench, Note: out.note,
		Serve: func(ctx context.Context, form load.Form) (string, func() (float64, error), error) {
			return serveForBench(ctx, self, url, form, filepath.Join(dir, "server.log"))
		},
	}
	return bench.Run(ctx)
}

// benchSettings give both sides a database as an operator would set it up on a small
// machine, with everything durable, and without a checkpoint in the middle of a round.
func benchSettings() map[string]string {
	return map[string]string{
		"shared_buffers": strconv.Itoa(max(128, memoryMB()/4)) + "MB", "max_wal_size": "16GB", "checkpoint_timeout": "1h",
		"max_connections": "200", "fsync": "on", "synchronous_commit": "on",
	}
}

// memoryMB is the machine's memory, 1024 where nobody tells.
func memoryMB() int {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 1024
	}
	return max(1024, kilobytes(string(text), "MemTotal")/1024)
}

// kilobytes reads a line of a file of /proc, as in "VmHWM:   1234 kB".
func kilobytes(text, name string) int {
	found := regexp.MustCompile(name + `:\s+(\d+) kB`).FindStringSubmatch(text)
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(found[1]) // digits
	return n
}

// serveForBench starts "bench door" and reads its address from its first line.
func serveForBench(ctx context.Context, self, url string, form load.Form, logFile string) (string, func() (float64, error), error) {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.CommandContext(ctx, self, "bench", "door", "--form", string(form)) //nolint:gosec // ourselves
	cmd.Env = append(os.Environ(), "PORTILLON_DATABASE_URL="+url)
	cmd.Stderr = log
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	address, err := bufio.NewReader(pipe).ReadString('\n')
	if err != nil {
		_ = cmd.Process.Kill()
		said, _ := os.ReadFile(logFile)
		return "", nil, fmt.Errorf("the server did not start: %w: %s", errors.Join(err, cmd.Wait()), said)
	}
	return strings.TrimSpace(address), func() (float64, error) {
		status, _ := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/status") // only Linux tells
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return 0, err
		}
		return float64(kilobytes(string(status), "VmHWM")) / 1024, cmd.Wait()
	}, nil
}

func benchTable(out *console, f load.Figures) error {
	row := func(name, format string, value, ratio float64, than string) [2]string {
		text := fmt.Sprintf(format, value)
		if than != "" {
			text += fmt.Sprintf("   %.2f × %s", ratio, than)
		}
		return [2]string{name, text}
	}
	return out.pairs(
		row("admissions", "%8.0f /s", f.Admissions, f.RatioPgbench, "pgbench"),
		row("pgbench, four statements", "%8.0f /s", f.PgbenchTPS, 0, ""),
		row("the same path, verified only", "%8.0f /s", f.VerifyOnly, f.RatioVerify, "is what admissions reach of it"),
		row("one transaction a scan", "%8.0f /s", f.OneByOne, f.RatioOneByOne, "is what the crowd reaches"),
		row("replays", "%8.0f /s", f.Replays, f.RatioReplays, "admissions"),
		row("admissions with many tickets", "%8.0f /s", f.GrownPerSecond, f.RatioGrowth, "with few"),
		row("a lone scan", "%8.2f ms", f.LoneMS, f.RatioLone, "one transaction a scan"),
		row("half of the rate, p50", "%8.2f ms", f.HalfP50MS, 0, ""),
		row("half of the rate, p99", "%8.2f ms", f.HalfP99MS, f.P99OverP50, "p50"),
		row("the server's memory", "%8.0f MB", f.RSS, 0, ""),
	)
}

// benchDoorCommand is the server that is measured: a process of its own, so that its
// memory can be told, with the log that a server writes.
type benchDoorCommand struct {
	DatabaseURL string    `required:"" env:"PORTILLON_DATABASE_URL"`
	Form        load.Form `required:"" enum:"crowd,plain,verify"`
}

// Run serves until it is told to stop.
func (c *benchDoorCommand) Run(ctx context.Context, out *console) error {
	log := slog.New(slog.NewTextHandler(out.err, nil))
	return load.Door(ctx, c.DatabaseURL, c.Form, log, func(address string) error { return out.line("%s", address) })
}
