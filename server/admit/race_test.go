package admit_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"portillon/server/client"
	"portillon/server/pgtest"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
)

// arena is a house with two servers and whoever acts on tickets there.
type arena struct {
	*servertest.House
	servers          [2]*servertest.Server
	karel, eva, olga *servertest.Gatekeeper // a controller, one who may override, and a supervisor
	token            string                 // of one who issues
}

func newArena(t *testing.T, opts ...servertest.Option) *arena {
	t.Helper()
	h := servertest.NewHouse(t, opts...)
	a := &arena{House: h, servers: [2]*servertest.Server{h.Server, servertest.On(t, h.DB, opts...)}}
	a.karel, a.eva, a.olga = h.Controller("Karel", session.Controller), h.Overrider("Eva"), h.Controller("Olga", session.Supervisor)
	admin := h.Person("Adam", session.AdminRole, ticket.VenueID{})
	token := servertest.Must(h.Session.CreateToken(context.Background(), servertest.Operator.For(admin), session.TokenIn{
		Name: "desk", Scopes: []session.Scope{session.ScopeAdmin},
	}))(t)
	pgtest.Secret(t, token.Token)
	a.token = token.Token
	return a
}

// round is one ticket at which a scan and another act meet.
type round struct {
	*arena
	t          *testing.T
	door, desk *servertest.Server // where the scan and the act are sent
	id         ticket.ID
	phone      *servertest.Phone // that had the ticket first
	moved      *servertest.Phone // that claims it in the race
	link       string            // of a reissue
	code       string
	key        ticket.Key // of the scan
	before     ticket.Key // of an admission before the race

	mu      sync.Mutex
	reasons []string // of all scans of the round
}

// outcome is all that a round leaves behind.
type outcome struct {
	scan, act                   string // what each was told
	status                      ticket.Status
	entries, inside, generation int
	admissions                  string // how each came into the books
	history                     string // the acts after it was first claimed
}

// tally is how the rounds of a race went.
type tally struct{ scanFirst, actFirst, together int }

// Whichever of the two comes first, what both are told, the ticket's row, its
// admissions, its history and the log of attempts have to be of that same order.
// The starts are moved until both orders have come.
func TestOfAScanAndAnotherActAtOnceEitherIsFirstAndNothingIsMixed(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(t *testing.T, opts ...servertest.Option) {
		t.Parallel()
		a := newArena(t, opts...)
		for _, c := range contests {
			t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) { a.race(t, c) })
		}
	})
}

func (a *arena) race(t *testing.T, c contest) {
	t.Helper()
	rounds := large(1000, 20)
	var how tally
	var lead time.Duration // of the act before the scan
	streak := 0            // of rounds with the same order; negative when the act was first
	var nonce [16]byte
	for i, r := range a.rounds(t, c, rounds) {
		if i%10 == 0 {
			nonce = a.karel.Hold(t)
		}
		r.door, r.desk = a.servers[i%2], a.servers[i/2%2]
		r.code = r.phone.Signed(t, r.id, nonce)
		if c.before != nil {
			c.before(r)
		}
		jitter := rand.N(2*time.Millisecond) - time.Millisecond
		got, overlapped := r.run(c, lead+jitter)
		scanFirst := r.judge(c, got)
		if t.Failed() {
			return
		}
		switch {
		case scanFirst:
			how.scanFirst++
			streak = max(0, streak) + 1
		default:
			how.actFirst++
			streak = min(0, streak) - 1
		}
		lead += time.Duration(streak) * 200 * time.Microsecond
		if overlapped {
			how.together++
		}
		if c.after != nil {
			c.after(r, scanFirst)
		}
	}
	t.Logf("%d rounds: the scan was first in %d and the act in %d; in %d both were under way together",
		rounds, how.scanFirst, how.actFirst, how.together)
	if how.scanFirst == 0 || how.actFirst == 0 || how.together == 0 {
		t.Error("one of the orders, or their meeting, never came: this proves nothing")
	}
}

// rounds prepares a claimed ticket for each round.
func (a *arena) rounds(t *testing.T, c contest, n int) (all []*round) {
	t.Helper()
	category := a.Standard
	if c.paper {
		category = a.Paper
	}
	for len(all) < n {
		issued := a.Issue(a.Event.Event, client.NewTickets{Category: category.Category, Count: min(50, n-len(all))})
		phone := a.NewPhone()
		phone.Take(t, issued.ClaimURL)
		for _, one := range issued.Tickets {
			all = append(all, &round{arena: a, t: t, id: one.Ticket, phone: phone, key: servertest.NewKey()})
		}
	}
	return all
}

// run lets both begin at the same moment, the act so much before the scan, and
// reports whether each was under way while the other was.
func (r *round) run(c contest, lead time.Duration) (got outcome, together bool) {
	var scanFrom, scanTo, actFrom, actTo time.Time
	begin, ready := make(chan struct{}), make(chan struct{})
	start := sync.OnceFunc(func() {
		close(ready)
		<-begin
		time.Sleep(-lead)
		actFrom = time.Now()
	})
	var both sync.WaitGroup
	both.Go(func() {
		defer start() // when the act failed before it asked
		got.act = c.act(r, start)
		actTo = time.Now()
	})
	both.Go(func() {
		<-begin
		time.Sleep(lead)
		scanFrom = time.Now()
		got.scan = r.ask(r.karel, r.key)
		scanTo = time.Now()
	})
	<-ready
	close(begin)
	both.Wait()
	return got, scanFrom.Before(actTo) && actFrom.Before(scanTo)
}

// judge compares what the round left behind with the two orders, and reports
// whether it is that of the scan first.
func (r *round) judge(c contest, got outcome) (scanFirst bool) {
	r.t.Helper()
	left := servertest.Must(client.Do[client.Ticket](context.Background(), r.Admin, http.MethodGet, "/v1/tickets/"+r.id.String(), nil))(r.t)
	got.status, got.entries, got.inside, got.generation = left.Status, left.Entries, left.Inside, left.Generation
	got.admissions, got.history = pathsOf(left), actsOf(left)
	if row := r.Row(r.t, r.id); row != (servertest.Row{Status: got.status, Entries: got.entries, Inside: got.inside, Generation: got.generation}) {
		r.t.Errorf("the desk is shown %+v, the row is %+v", got, row)
	}
	var logged []string
	err := r.DB.Pool.QueryRow(context.Background(), `SELECT array_agg(reason ORDER BY reason) FROM attempts WHERE ticket_id = $1`, r.id).Scan(&logged)
	slices.Sort(r.reasons)
	if err != nil || !slices.Equal(logged, r.reasons) {
		r.t.Errorf("the scans were told %v, the log has %v, %v", r.reasons, logged, err)
	}
	switch {
	case c.scanFirst == c.actFirst && got == c.scanFirst: // only the times tell
		return left.Admissions[0].At.Before(left.History[len(left.History)-1].At)
	case got == c.scanFirst:
		return true
	case got != c.actFirst:
		r.t.Errorf("a mixture:\n%+v\nthe scan first:\n%+v\nthe act first:\n%+v", got, c.scanFirst, c.actFirst)
	}
	return false
}

// pathsOf are the ticket's admissions as they came into the books.
func pathsOf(t client.Ticket) string {
	var paths []string
	for _, a := range t.Admissions {
		path := a.Path
		if a.Undone != nil {
			path += " undone"
		}
		paths = append(paths, path)
	}
	return strings.Join(paths, ", ")
}

// actsOf is the ticket's history after it was issued and first claimed.
func actsOf(t client.Ticket) string {
	var acts []string
	for _, row := range t.History[2:] {
		act := row.Act
		if was, ok := row.Details["was"].(string); ok {
			act += " of " + was
		}
		acts = append(acts, act)
	}
	return strings.Join(acts, ", ")
}

// ask presents the round's code at the door's server.
func (r *round) ask(g *servertest.Gatekeeper, key ticket.Key) string {
	a, err := g.At(r.door).Scan(context.Background(), key, client.Scan{Gate: r.Gate.Gate, Code: r.code})
	return r.told(a, err)
}

// told is what an answer to a scan says, in a word.
func (r *round) told(a client.ScanAnswer, err error) string {
	if err != nil {
		r.t.Errorf("a scan has no answer: %v", err)
		return "nothing"
	}
	r.mu.Lock()
	r.reasons = append(r.reasons, string(a.Reason))
	r.mu.Unlock()
	said := string(a.Reason)
	switch {
	case a.Replayed:
		said += " again"
	case len(a.Overridden) > 0:
		said += " against " + string(a.Overridden[0])
	case a.FirstUse != nil:
		said += " by " + a.FirstUse.Person
	case a.Reason == ticket.Moved && a.MovedAt.IsZero():
		said += " at no time"
	}
	return said
}

// refusal is the code of a refused call, or "done".
func refusal(err error) string {
	var problem *client.Problem
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &problem):
		return problem.Code
	}
	return err.Error()
}

// atDesk does one of the desk's acts on the ticket.
func (r *round) atDesk(verb string) error {
	_, err := client.Do[map[string]any](context.Background(), r.desk.Client(r.token), http.MethodPost, "/v1/tickets/"+r.id.String()+"/"+verb,
		map[string]string{"reason": "a race"}, client.WithKey(servertest.NewKey()))
	return err
}

// prepare does one of the desk's acts before the race.
func (r *round) prepare(verb string) {
	r.t.Helper()
	if err := r.atDesk(verb); err != nil {
		r.t.Fatalf("%s before the race: %v", verb, err)
	}
}
