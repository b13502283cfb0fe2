package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"portillon/migrations"
	"portillon/server/pg"
	"portillon/server/seal"
)

type doctorCommand struct {
	databaseFlags
	mailFlags
	PublicURL string `help:"What links begin with: the address that phones reach." env:"PORTILLON_PUBLIC_URL" placeholder:"URL"`
	TLSCert   string `name:"tls-cert" help:"Certificate file (PEM)." env:"PORTILLON_TLS_CERT" placeholder:"FILE"`
	TLSKey    string `name:"tls-key" help:"The certificate's key file (PEM)." env:"PORTILLON_TLS_KEY" placeholder:"FILE"`
}

// Help is the long form of the command's help.
func (doctorCommand) Help() string {
	return `Give it the same flags and environment as "serve". Each line is ok, warn or
fail, and says what to do. Exits with 1 when something fails.`
}

// state of a finding.
type state string

const (
	stateOK   state = "ok"
	stateWarn state = "warn"
	stateFail state = "fail"
)

// finding is what one check found, and what to do about it.
type finding struct {
	Check  string `json:"check"`
	State  state  `json:"state"`
	Detail string `json:"detail"`
	Advice string `json:"advice,omitempty"`
}

func fine(check, detail string, args ...any) finding {
	return finding{Check: check, State: stateOK, Detail: fmt.Sprintf(detail, args...)}
}

func (f finding) but(s state, advice string) finding {
	f.State, f.Advice = s, advice
	return f
}

var errUnwell = errors.New("something fails; do what the lines with \"fail\" say")

// Run checks everything and prints the findings.
func (d *doctorCommand) Run(ctx context.Context, out *console) error {
	findings := []finding{d.checkFolder(), d.checkDisk(), d.checkPublicURL()}
	if d.TLSCert != "" || d.TLSKey != "" {
		findings = append(findings, d.checkTLS(time.Now()))
	}
	findings = append(findings, d.checkMail(ctx))
	findings = append(findings, d.checkDatabase(ctx, out)...)
	err := list(out, findings, "CHECK STATE FOUND", func(f finding) []string {
		found := f.Detail
		if f.Advice != "" {
			found += ". To do: " + f.Advice
		}
		return []string{f.Check, string(f.State), found}
	})
	for _, f := range findings {
		if f.State == stateFail && err == nil {
			err = errUnwell
		}
	}
	return err
}

func (d *doctorCommand) checkFolder() finding {
	info, err := os.Stat(d.Data)
	if errors.Is(err, os.ErrNotExist) {
		return fine("data", "%s does not exist yet", d.Data).but(stateWarn, "\"serve\" makes it on first start; if it should exist, give --data")
	}
	if err != nil {
		return fine("data", "%v", err).but(stateFail, "make the folder readable for this user, or give --data")
	}
	if !info.IsDir() {
		return fine("data", "%s is not a folder", d.Data).but(stateFail, "give another --data")
	}
	key, err := os.Stat(folder{d.Data}.file("operator.key"))
	if err == nil && key.Mode().Perm()&0o077 != 0 {
		return fine("data", "others can read %s (mode %04o)", folder{d.Data}.file("operator.key"), key.Mode().Perm()).
			but(stateFail, "chmod 600 it; if others may have read it, treat paper codes and links as known to them")
	}
	return fine("data", "%s", d.Data)
}

// Least free space: PostgreSQL stops altogether on a full disk.
const (
	warnFree = 2 << 30
	failFree = 200 << 20
)

func (d *doctorCommand) checkDisk() finding {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(d.Data, &disk); err != nil {
		if err := syscall.Statfs(".", &disk); err != nil {
			return fine("disk", "free space unknown: %v", err).but(stateWarn, "look with df")
		}
	}
	free := disk.Bavail * uint64(disk.Bsize)
	found := fine("disk", "%d MB free", free>>20)
	switch {
	case free < failFree:
		return found.but(stateFail, "make room now: a full disk stops the database, and with it the door")
	case free < warnFree:
		return found.but(stateWarn, "make room before the next crowded evening")
	}
	return found
}

func (d *doctorCommand) checkPublicURL() finding {
	if d.PublicURL == "" {
		return fine("public_url", "not given; links begin with the address of --listen").but(stateWarn, "give --public-url when phones reach the server by another address")
	}
	parsed, err := url.Parse(d.PublicURL)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return fine("public_url", "%q is not an address", d.PublicURL).but(stateFail, "it looks like https://tickets.example")
	}
	if parsed.Scheme == "http" && !loopback(parsed.Hostname()) {
		return fine("public_url", "%s is not HTTPS", d.PublicURL).but(stateFail, "phones neither open their camera nor keep keys without HTTPS: use --tls-cert and --tls-key or a proxy")
	}
	return fine("public_url", "%s", d.PublicURL)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (d *doctorCommand) checkTLS(now time.Time) finding {
	pair, err := tls.LoadX509KeyPair(d.TLSCert, d.TLSKey)
	if err != nil {
		return fine("tls", "%v", err).but(stateFail, "give a certificate (with its chain) and the key that belongs to it")
	}
	leaf := pair.Leaf
	found := fine("tls", "valid until %s", leaf.NotAfter.UTC().Format(time.DateOnly))
	parsed, err := url.Parse(d.PublicURL)
	switch {
	case now.After(leaf.NotAfter) || now.Before(leaf.NotBefore):
		return found.but(stateFail, "it is not valid today: renew it")
	case err == nil && d.PublicURL != "" && leaf.VerifyHostname(parsed.Hostname()) != nil:
		return found.but(stateFail, "it is not for "+parsed.Hostname()+": get one that is, or correct --public-url")
	case leaf.NotAfter.Sub(now) < 14*24*time.Hour:
		return found.but(stateWarn, "renew it within two weeks")
	}
	return found
}

// checkDatabase reaches the database as "serve" would, and asks it.
func (d *doctorCommand) checkDatabase(ctx context.Context, out *console) []finding {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if _, err := os.Stat(d.Data); d.DatabaseURL == "" && errors.Is(err, os.ErrNotExist) {
		return []finding{fine("database", "none yet").but(stateWarn, "start \"serve\" once")}
	}
	db, err := d.open(ctx, out.logger(), false)
	if err != nil {
		return []finding{fine("database", "%v", err).but(stateFail, "see that PostgreSQL 15 or later is installed or --database-url is right")}
	}
	defer db.close(ctx)
	return []finding{db.checkVersion(ctx), db.checkClock(ctx), db.checkSchema(ctx), db.checkKey(ctx, d.OperatorKey), db.checkAdmin(ctx)}
}

func (db *database) checkVersion(ctx context.Context) finding {
	var number int
	var name string
	err := db.Pool.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_version')`).Scan(&number, &name)
	if err != nil {
		return fine("database", "%v", err).but(stateFail, "see PostgreSQL's log")
	}
	found := fine("database", "PostgreSQL %s%s", name, either(db.own != nil, ", started for this check", ""))
	if number < 150000 {
		return found.but(stateFail, "Portillon needs PostgreSQL 15 or later")
	}
	return found
}

// checkClock: the database's clock decides what is fresh; ours only measures how
// long things take, but certificates and logs go by it.
func (db *database) checkClock(ctx context.Context) finding {
	before := time.Now()
	var theirs time.Time
	if err := db.Pool.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&theirs); err != nil {
		return fine("clock", "%v", err).but(stateFail, "see PostgreSQL's log")
	}
	trip := time.Since(before)
	skew := theirs.Sub(before.Add(trip / 2)).Abs()
	found := fine("clock", "application and database differ by %s (measured within %s)", skew.Round(time.Millisecond), trip.Round(time.Millisecond))
	switch {
	case skew > time.Minute:
		return found.but(stateFail, "set both clocks with NTP")
	case skew > 2*time.Second+trip:
		return found.but(stateWarn, "set both clocks with NTP")
	}
	return found
}

func (db *database) checkSchema(ctx context.Context) finding {
	err := pg.CheckVersion(ctx, db.Pool, migrations.FS)
	switch {
	case errors.Is(err, pg.ErrSchemaOlder):
		return fine("schema", "migrations are waiting").but(stateWarn, "\"portillon migrate up\"; \"serve\" does it too")
	case err != nil:
		return fine("schema", "%v", err).but(stateFail, "run the version of Portillon that the database belongs to")
	}
	return fine("schema", "up to date")
}

func (db *database) checkKey(ctx context.Context, given string) finding {
	const again = "start with the key that this database was made with; without it, claim links and paper codes cannot be made again"
	var sealed []byte
	err := db.Pool.QueryRow(ctx, `SELECT sealed FROM sealed_keys WHERE name = 'check'`).Scan(&sealed)
	if errors.Is(err, pgx.ErrNoRows) || undefinedTable(err) {
		return fine("operator_key", "nothing is sealed yet")
	}
	if err != nil {
		return fine("operator_key", "%v", err).but(stateFail, "see PostgreSQL's log")
	}
	key, err := db.folder.operatorKey(given, false)
	if err != nil {
		return fine("operator_key", "%v", err).but(stateFail, again)
	}
	box, err := seal.New(key)
	if err == nil {
		_, err = box.Open("check", sealed)
	}
	if err != nil {
		return fine("operator_key", "%v", err).but(stateFail, again)
	}
	return fine("operator_key", "fits; keep a copy of it apart from the database's backups")
}

func (db *database) checkAdmin(ctx context.Context) finding {
	has, err := db.hasAdmin(ctx)
	switch {
	case err != nil:
		return fine("staff", "unknown: %v", err).but(stateWarn, "bring the schema up to date first")
	case !has:
		return fine("staff", "no admin").but(stateWarn, "portillon staff add --role admin --name … --email …")
	}
	return fine("staff", "there is an admin")
}

// undefinedTable: the schema is not there yet (SQLSTATE 42P01).
func undefinedTable(err error) bool {
	var said *pgconn.PgError
	return errors.As(err, &said) && said.Code == "42P01"
}
