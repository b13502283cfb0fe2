package challenge

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/labstack/echo/v4"

	"portillon/nonce"
	"portillon/server/news"
	"portillon/server/pg"
	"portillon/server/pgtest"
	"portillon/server/problem"
	"portillon/server/seal"
	"portillon/server/session"
	"portillon/server/ticket"
)

// patience is how long a test waits before it says that something never came.
const patience = 20 * time.Second

var quiet = slog.New(slog.DiscardHandler)

// house is a venue with one gate, on its database.
type house struct {
	db     *pgtest.DB
	who    *session.Service
	venue  ticket.VenueID
	gate   ticket.GateID
	device string // the token of a device with a controller signed on
	id     ticket.DeviceID
}

func newHouse(t *testing.T) house {
	t.Helper()
	return inHouse(t, pgtest.New(t))
}

// inHouse builds another venue on the same database.
func inHouse(t *testing.T, db *pgtest.DB) house {
	t.Helper()
	box, err := seal.New(make([]byte, seal.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	h := house{
		db: db, who: session.New(db.Pool, box, "http://127.0.0.1", time.Now, quiet),
		venue: ticket.VenueID(ticket.New[int]()), gate: ticket.GateID(ticket.New[int]()),
	}
	h.exec(t, `INSERT INTO venues (id, name, time_zone) VALUES (@venue, 'Odeon', 'Europe/Prague')`, nil)
	h.exec(t, `INSERT INTO gates (id, venue_id, name) VALUES (@gate, @venue, 'Main')`, nil)
	h.id, h.device = h.pair(t, h.venue)
	person := ticket.PersonID(ticket.New[int]())
	h.exec(t, `INSERT INTO people (id, email, name) VALUES (@person, @person::uuid || '@example.org', 'Karel')`, pgx.NamedArgs{"person": person})
	h.exec(t, `INSERT INTO person_roles (person_id, venue_id, role) VALUES (@person, @venue, 'controller')`, pgx.NamedArgs{"person": person})
	if err := h.who.SignOn(t.Context(), h.id, person); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h house) pair(t *testing.T, venue ticket.VenueID) (ticket.DeviceID, string) {
	t.Helper()
	id, token, err := h.who.PairDevice(t.Context(), session.System, venue, "Handheld "+ticket.New[int]().String()[:8])
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Secret(t, token)
	return id, token
}

func (h house) exec(t *testing.T, sql string, args pgx.NamedArgs) {
	t.Helper()
	all := pgx.NamedArgs{"venue": h.venue, "gate": h.gate}
	for name, value := range args {
		all[name] = value
	}
	if _, err := h.db.Pool.Exec(t.Context(), sql, all); err != nil {
		t.Fatal(err)
	}
}

// ticket makes a claimed ticket of an event whose doors open after the duration,
// for two hours.
func (h house) ticket(t *testing.T, doors time.Duration) ticket.ID {
	t.Helper()
	id := ticket.ID(ticket.New[int]())
	args := pgx.NamedArgs{
		"event": ticket.New[int](), "category": ticket.New[int](), "order": ticket.New[int](), "ticket": id,
		"doors": doors,
	}
	for _, sql := range []string{
		`INSERT INTO events (id, venue_id, name, doors_open_at, starts_at, ends_at, claim_from)
		 SELECT @event, @venue, 'Amélie', doors, doors + interval '1 hour', doors + interval '2 hours', doors - interval '1 day'
		 FROM (SELECT portillon_now() + @doors::interval AS doors) t`,
		`INSERT INTO categories (id, event_id, name) VALUES (@category, @event, 'Standard')`,
		`INSERT INTO orders (id, event_id) VALUES (@order, @event)`,
		`INSERT INTO tickets (id, event_id, category_id, order_id, number, generation, admits)
		 VALUES (@ticket, @event, @category, @order, 1, 0, 1)`,
	} {
		h.exec(t, sql, args)
	}
	h.claim(t, id)
	return id
}

// claim moves a ticket to the next phone.
func (h house) claim(t *testing.T, id ticket.ID) {
	t.Helper()
	args := pgx.NamedArgs{"ticket": id}
	h.exec(t, `INSERT INTO claims (ticket_id, generation, kind, public_key)
		SELECT id, generation + 1, 'phone', sha256('x') || sha256('y') FROM tickets WHERE id = @ticket`, args)
	h.exec(t, `UPDATE tickets SET generation = generation + 1 WHERE id = @ticket`, args)
}

// session opens a wallet session for the tickets as they are claimed now.
func (h house) session(t *testing.T, tickets ...ticket.ID) *http.Cookie {
	t.Helper()
	secret := seal.Random()
	pgtest.Secret(t, secret)
	args := pgx.NamedArgs{"hash": seal.Hash(secret), "tickets": tickets}
	h.exec(t, `INSERT INTO wallet_sessions (hash, expires_at) VALUES (@hash, portillon_now() + interval '10 days')`, args)
	h.exec(t, `INSERT INTO wallet_session_tickets (ticket_id, generation, session_hash)
		SELECT id, generation, @hash FROM tickets WHERE id = ANY(@tickets)`, args)
	return session.NewWalletCookie("http://127.0.0.1", secret, time.Hour)
}

// replica is one server process of the house.
type replica struct {
	*Service
	hub *news.Hub
	url string
	on  net.Listener
}

func (h house) replica(t *testing.T) replica {
	t.Helper()
	pool, err := pg.Open(t.Context(), h.db.URL, pg.PoolOptions{MaxConns: 8, Schema: h.db.Schema})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	hub := news.New(pool, h.db.URL, quiet)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { hub.Run(ctx); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	<-hub.Listening()
	s := New(pool, nonce.New(pool), hub, quiet, time.Now)
	server := h.serve(t, s)
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return replica{Service: s, hub: hub, url: server.URL, on: server.Listener}
}

func (h house) serve(t *testing.T, s *Service) *httptest.Server {
	t.Helper()
	e := echo.New()
	e.HTTPErrorHandler = problem.Handler(quiet, nil)
	e.Use(h.who.Identify())
	e.POST("/v1/nonces", s.HandleHold)
	e.POST("/v1/nonce-leases/:lease/renew", s.HandleRenew)
	e.POST("/v1/nonce-leases/:lease/release", s.HandleRelease)
	e.POST("/v1/nonce-leases/:lease/close", s.HandleClose)
	e.GET("/v1/wallet/nonce", s.HandleWalletNonce)
	e.GET("/v1/wallet/stream", s.HandleWalletStream)
	listener, err := (&net.ListenConfig{Control: ListenControl}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(e)
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return server
}

// answer is what a call got.
type answer struct {
	status int
	body   map[string]any
}

func (a answer) code() string { s, _ := a.body["code"].(string); return s }

func (a answer) text(t *testing.T, name string) string {
	t.Helper()
	s, ok := a.body[name].(string)
	if !ok || s == "" {
		t.Fatalf("%d: no %s in %v", a.status, name, a.body)
	}
	return s
}

func call(t *testing.T, method, url, body string, with func(*http.Request)) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	with(request)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &a.body); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return a
}

func bearer(token string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

func cookie(c *http.Cookie) func(*http.Request) {
	return func(r *http.Request) { r.AddCookie(c) }
}

func nobody(*http.Request) {}

// hold opens the gate at a replica and returns the lease.
func (h house) hold(t *testing.T, r replica) answer {
	t.Helper()
	a := call(t, "POST", r.url+"/v1/nonces", `{"gate":"`+h.gate.String()+`"}`, bearer(h.device))
	if a.status != http.StatusCreated {
		t.Fatalf("hold: %d %v", a.status, a.body)
	}
	pgtest.Secret(t, a.text(t, "lease"))
	return a
}

// sse is one event of a stream.
type sse struct {
	name string
	data map[string]any
}

func (e sse) text(name string) string { s, _ := e.data[name].(string); return s }

// listening is an open stream.
type listening struct {
	events chan sse // closed when the server ends the stream
	close  func()
}

func listen(t *testing.T, r replica, c *http.Cookie) listening {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+"/v1/wallet/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.AddCookie(c)
	client := &http.Client{Transport: &http.Transport{}}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" || response.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %v", response.StatusCode, response.Header)
	}
	l := listening{events: make(chan sse, 100)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(l.events)
		defer response.Body.Close()
		parse(response.Body, l.events)
	}()
	l.close = func() { cancel(); <-ended; client.CloseIdleConnections() }
	t.Cleanup(l.close)
	return l
}

func parse(body io.Reader, events chan<- sse) {
	var e sse
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "event":
			e.name = value
		case "data":
			_ = json.Unmarshal([]byte(value), &e.data) // an empty event fails its test
		case "":
			if e.name != "" {
				events <- e
			}
			e = sse{}
		}
	}
}

// next waits for the next event of one of these names and passes over others.
func (l listening) next(t *testing.T, names ...string) sse {
	t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case e, ok := <-l.events:
			if !ok {
				t.Fatalf("the stream ended; waiting for %v", names)
			}
			for _, name := range names {
				if e.name == name {
					return e
				}
			}
		case <-timeout:
			t.Fatalf("waited in vain for %v", names)
		}
	}
}

// ends waits for the server to end the stream.
func (l listening) ends(t *testing.T) {
	t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case _, ok := <-l.events:
			if !ok {
				return
			}
		case <-timeout:
			t.Fatal("the stream goes on")
		}
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	timeout := time.After(patience)
	for !holds() {
		select {
		case <-look.C:
		case <-timeout:
			t.Fatalf("never: %s", what)
		}
	}
}
