package issue

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/fault"
	"portillon/server/keyring"
	"portillon/server/pgtest"
	"portillon/server/repeat"
	"portillon/server/seal"
	"portillon/server/session"
	"portillon/server/ticket"
)

const publicURL = "https://tickets.example"

// place is a venue with an event, and an admin who works there.
type place struct {
	testing.TB
	db    *pgtest.DB
	ring  *keyring.Ring
	s     *Service
	admin session.Caller
	venue Venue
	event Event
	paper Category // a category that may be printed
	plain Category // one that may not

	mu   sync.Mutex
	told []string
}

func newPlace(t testing.TB) *place {
	t.Helper()
	p := &place{TB: t, db: pgtest.New(t)}
	box, err := seal.New(make([]byte, seal.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	if p.ring, err = keyring.Open(t.Context(), p.db.Pool, box); err != nil {
		t.Fatal(err)
	}
	p.s = New(p.db.Pool, p.ring, nil, p.hear, publicURL+"/")
	p.admin = session.Caller{Kind: session.ByCookie, Person: ticket.PersonID(uuid.New()), Grants: []session.Grant{{Role: session.AdminRole}}}
	p.exec(`INSERT INTO people (id, email, name) VALUES ($1, 'anna@example.org', 'Anna')`, p.admin.Person)
	p.venue = must(p.s.CreateVenue(t.Context(), p.admin, repeat.Call{}, VenueIn{Name: "Bio Oko", TimeZone: "Europe/Prague"}))(t)
	p.event = must(p.s.CreateEvent(t.Context(), p.admin, repeat.Call{}, p.showing()))(t)
	p.paper = must(p.s.CreateCategory(t.Context(), p.admin, repeat.Call{}, p.event.Event, CategoryIn{Name: "Print at home", Paper: true}))(t)
	p.plain = must(p.s.CreateCategory(t.Context(), p.admin, repeat.Call{}, p.event.Event, CategoryIn{Name: "Standard"}))(t)
	return p
}

func (p *place) hear(_ context.Context, id ticket.ID, what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, what+" "+id.String())
}

// doors of the usual showing.
var doors = time.Date(2031, 5, 6, 17, 30, 0, 0, time.UTC)

func (p *place) showing() EventIn {
	return EventIn{
		Venue: p.venue.Venue, Name: "La Strada", Screen: "2",
		DoorsOpenAt: doors, StartsAt: doors.Add(30 * time.Minute), EndsAt: doors.Add(150 * time.Minute),
	}
}

// must ends the test when a verb failed.
func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func (p *place) issue(in TicketsIn) Issued {
	p.Helper()
	if in.Category.IsZero() {
		in.Category = p.plain.Category
	}
	made := must(p.s.Issue(p.Context(), p.admin, repeat.Call{}, p.event.Event, in))(p)
	p.secret(made.ClaimURL)
	return made
}

func (p *place) one(category Category) ticket.ID {
	p.Helper()
	return p.issue(TicketsIn{Category: category.Category}).Tickets[0].Ticket
}

// secret makes sure that the database never holds a link that was handed out.
func (p *place) secret(url string) string {
	p.Helper()
	code, ok := strings.CutPrefix(url, publicURL+"/w#")
	if !ok || len(code) != 43 {
		p.Fatalf("not a claim link: %d characters", len(url))
	}
	pgtest.Secret(p, code)
	return code
}

func (p *place) get(id ticket.ID) Ticket {
	p.Helper()
	return must(p.s.GetTicket(p.Context(), p.admin, id))(p)
}

func (p *place) exec(sql string, args ...any) {
	p.Helper()
	if _, err := p.db.Pool.Exec(p.Context(), sql, args...); err != nil {
		p.Fatal(err)
	}
}

// count runs a query that gives one number.
func (p *place) count(sql string, args ...any) (n int) {
	p.Helper()
	if err := p.db.Pool.QueryRow(p.Context(), sql, args...).Scan(&n); err != nil {
		p.Fatal(err)
	}
	return n
}

// use lets people in by this ticket, as the door does.
func (p *place) use(id ticket.ID, people int) {
	p.Helper()
	p.exec(`
UPDATE tickets SET entries = entries + $2, inside = inside + $2, used_at = portillon_now(),
  status = CASE WHEN NOT reentry AND entries + $2 >= admits THEN 'used' ELSE status END
WHERE id = $1`, id, people)
}

// holding is a transaction that has locked what the statement locks.
func (p *place) holding(sql string, args ...any) pgx.Tx {
	p.Helper()
	tx, err := p.db.Pool.Begin(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	if _, err := tx.Exec(p.Context(), sql, args...); err != nil {
		p.Fatal(err)
	}
	return tx
}

// awaitWaiting returns once somebody waits for this transaction.
func (p *place) awaitWaiting(tx pgx.Tx) {
	p.Helper()
	patience, cancel := context.WithTimeout(p.Context(), 20*time.Second)
	defer cancel()
	for p.count(`SELECT count(*) FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))`, tx.Conn().PgConn().PID()) == 0 {
		if patience.Err() != nil {
			p.Fatal("nobody waits")
		}
	}
}

// calling is a repeatable call with a new key.
func calling(act string) repeat.Call {
	return repeat.Call{Key: uuid.New(), Act: act, Hash: sha256.Sum256([]byte(act))}
}

// wantFault fails unless err is the fault with this code and these fields,
// written "name: code".
func wantFault(t testing.TB, err error, code string, fields ...string) {
	t.Helper()
	f := fault.Of(err)
	if err == nil || f.Code != code {
		t.Fatalf("got %v, want the fault %s", err, code)
	}
	var got []string
	for _, field := range f.Fields {
		got = append(got, field.Name+": "+field.Code)
	}
	if fmt.Sprint(got) != fmt.Sprint(fields) {
		t.Fatalf("fields at fault: %q, want %q", got, fields)
	}
}

// sameJSON fails unless both are answered with the same body.
func sameJSON(t testing.TB, got, want any) {
	t.Helper()
	g, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	w, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if string(g) != string(w) {
		t.Errorf("got  %s\nwant %s", g, w)
	}
}

// counter counts from several goroutines.
type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}
