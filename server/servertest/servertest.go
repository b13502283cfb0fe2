// Package servertest runs the real server on a real port with a real database
// for one test, and makes the people, showings, tickets and phones that a test
// needs through the same calls that users have. It promises that every secret
// that it was handed is looked for in the database at the end, and that the books
// balance then: what each ticket's row counts is what its admissions say, so that
// no answer but an admission had an effect. It does not know any rule.
package servertest

import (
	"bytes"
	"context"
	"encoding/base32"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"portillon/server"
	"portillon/server/client"
	"portillon/server/pg"
	"portillon/server/pgtest"
	mails "portillon/server/post"
	"portillon/server/session"
	"portillon/server/ticket"
)

// Server is one process's worth of the product. Several may share a database.
type Server struct {
	*server.Server
	DB   *pgtest.DB
	URL  string
	Pool *pgxpool.Pool
	HTTP *http.Client
}

// operatorKey is the same for all servers of a test's database.
var operatorKey = bytes.Repeat([]byte{7}, 32)

// Option changes what New starts.
type Option func(*options)

type options struct {
	databaseURL string
	maxConns    int32
	log         io.Writer
	plain       bool
	pace        float64
	db          []pgtest.Option
	mail        func(*server.Options)
}

// Through connects the server to its database by another way: a relay, a proxy.
func Through(databaseURL string) Option { return func(o *options) { o.databaseURL = databaseURL } }

// MaxConns is the size of the server's pool; 16 otherwise.
func MaxConns(n int32) Option { return func(o *options) { o.maxConns = n } }

// LogTo keeps the server's log, for tests of what it says.
func LogTo(w io.Writer) Option { return func(o *options) { o.log = w } }

// Mail says how the server sends mails; otherwise it sends none.
// A failed attempt is repeated after 50 ms.
func Mail(settings mails.Settings, journal string) Option {
	return func(o *options) {
		o.mail = func(build *server.Options) {
			build.Mail, build.MailJournal = settings, journal
			build.MailRetry = func(int) time.Duration { return 50 * time.Millisecond }
		}
	}
}

// Plain judges every scan in a transaction of its own, by the reference.
func Plain() Option { return func(o *options) { o.plain = true } }

// Paced keeps devices at the usual pace, which tests are faster than.
func Paced() Option { return func(o *options) { o.pace = 0 } }

// New starts a server on a fresh database.
func New(t testing.TB, opts ...Option) *Server {
	t.Helper()
	o := options{}
	for _, option := range opts {
		option(&o)
	}
	return On(t, pgtest.New(t, o.db...), opts...)
}

// On starts a server on a database that is there, as a second process would.
func On(t testing.TB, db *pgtest.DB, opts ...Option) *Server {
	t.Helper()
	o := options{databaseURL: db.URL, maxConns: 16, log: io.Discard, pace: -1}
	for _, option := range opts {
		option(&o)
	}
	ctx := context.Background()
	pool, err := pg.Open(ctx, o.databaseURL, pg.PoolOptions{MaxConns: o.maxConns})
	if err != nil {
		t.Fatalf("open the pool: %v", err)
	}
	door, err := server.OpenDoor(ctx, o.databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{DB: db, Pool: pool}
	s.HTTP = &http.Client{Transport: &witness{t: t, next: &http.Transport{MaxIdleConnsPerHost: 128}}}
	web := httptest.NewUnstartedServer(nil)
	s.URL = "http://" + web.Listener.Addr().(*net.TCPAddr).String()
	build := server.Options{
		Pool: pool, DoorPool: door, Plain: o.plain, ScansPerSecond: o.pace, DatabaseURL: o.databaseURL, OperatorKey: operatorKey, PublicURL: s.URL,
		Log: slog.New(slog.NewJSONHandler(o.log, nil)), Now: time.Now,
	}
	if o.mail != nil {
		o.mail(&build)
	}
	s.Server, err = server.New(ctx, build)
	if err != nil {
		t.Fatalf("build the server: %v", err)
	}
	if err := s.Start(ctx); err != nil {
		t.Fatalf("start the server: %v", err)
	}
	web.Config.Handler = s.Handler()
	web.Start()
	t.Cleanup(func() {
		s.balance(t)
		_ = s.Close(ctx)
		s.HTTP.CloseIdleConnections()
		web.Close()
		pool.Close()
		door.Close()
	})
	return s
}

// Client calls this server with a credential.
func (s *Server) Client(token string) *client.Client { return client.New(s.URL, token, s.HTTP) }

// balance compares each ticket's counts with its admissions that were not undone.
func (s *Server) balance(t testing.TB) {
	t.Helper()
	var wrong int
	err := s.DB.Pool.QueryRow(context.Background(), `
SELECT count(*) FROM tickets t LEFT JOIN LATERAL (
  SELECT coalesce(sum(a.people) FILTER (WHERE a.direction = 'in'), 0) AS entered,
    coalesce(sum(a.people) FILTER (WHERE a.direction = 'out'), 0) AS exited
  FROM admissions a WHERE a.ticket_id = t.id
    AND NOT EXISTS (SELECT FROM undos u WHERE u.ticket_id = a.ticket_id AND u.key = a.key)) b ON true
WHERE t.entries <> b.entered OR t.inside <> b.entered - b.exited
  OR (t.status = 'used') <> (NOT t.reentry AND t.entries >= t.admits + t.extra) AND t.status IN ('used', 'active')`).Scan(&wrong)
	if err != nil {
		t.Errorf("balance the books: %v", err)
	}
	if wrong > 0 {
		t.Errorf("%d tickets count otherwise than their admissions say", wrong)
	}
}

// witness looks at every answer and notes the secrets in it.
type witness struct {
	t    testing.TB
	next http.RoundTripper
}

// RoundTrip makes the call and looks at its answer.
func (w *witness) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := w.next.RoundTrip(r)
	if err != nil || strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		return response, err
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	for _, cookie := range response.Cookies() {
		pgtest.Secret(w.t, cookie.Value)
	}
	var members map[string]any
	if json.Unmarshal(body, &members) == nil {
		w.note(members)
	}
	return response, nil
}

// secretMembers are the members of answers that hold a credential; of a link
// only the fragment is one.
var secretMembers = map[string]bool{
	"token": true, "lease": true, "claim_url": true, "sign_in_link": true, "pairing_link": true, "collect": true, "challenge": true, "secret": true,
}

func (w *witness) note(members map[string]any) {
	for name, value := range members {
		switch v := value.(type) {
		case string:
			if secretMembers[name] {
				if _, fragment, ok := strings.Cut(v, "#"); ok {
					v = fragment[strings.LastIndexByte(fragment, '.')+1:]
				}
				pgtest.Secret(w.t, v)
				if raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(v); name == "secret" && err == nil {
					pgtest.Secret(w.t, string(raw))
				}
			}
		case map[string]any:
			w.note(v)
		}
	}
}

// Operator is the caller of what a test sets up without a person.
var Operator = session.Operator

// Row is a ticket's row as far as scans change it.
type Row struct {
	Status     ticket.Status
	Entries    int
	Inside     int
	Generation int
}

// Row reads a ticket's row.
func (s *Server) Row(t testing.TB, id ticket.ID) Row {
	t.Helper()
	var r Row
	err := s.DB.Pool.QueryRow(context.Background(), `SELECT status, entries, inside, generation FROM tickets WHERE id = $1`, id).
		Scan(&r.Status, &r.Entries, &r.Inside, &r.Generation)
	if err != nil {
		t.Fatalf("read the ticket: %v", err)
	}
	return r
}

// Count counts rows: Count(t, "admissions WHERE ticket_id = $1", id).
func (s *Server) Count(t testing.TB, from string, args ...any) int {
	t.Helper()
	var n int
	if err := s.DB.Pool.QueryRow(context.Background(), "SELECT count(*) FROM "+from, args...).Scan(&n); err != nil {
		t.Fatalf("count %s: %v", from, err)
	}
	return n
}
