package issue

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"portillon/server/fault"
	"portillon/server/pg"
	"portillon/server/pgtest"
	"portillon/server/repeat"
	"portillon/server/session"
	"portillon/server/ticket"
)

func (p *place) reserve() NumberLease {
	p.Helper()
	lease := must(p.s.ReserveNumber(p.Context(), p.admin, p.event.Event))(p)
	pgtest.Secret(p, lease.Lease)
	return lease
}

// under is an order under a lease.
func (p *place) under(lease string, count int) (Issued, error) {
	return p.s.Issue(p.Context(), p.admin, repeat.Call{}, p.event.Event, TicketsIn{Lease: lease, Category: p.plain.Category, Count: new(count)})
}

func (p *place) wantNumbers(made Issued, want ...int) {
	p.Helper()
	var got []int
	for _, t := range made.Tickets {
		got = append(got, t.Number)
	}
	if !slices.Equal(got, want) {
		p.Errorf("numbers %v, want %v", got, want)
	}
}

// colleague is another admin of the house.
func (p *place) colleague() session.Caller {
	p.Helper()
	other := session.Caller{Kind: session.ByCookie, Person: ticket.PersonID(uuid.New()), Grants: p.admin.Grants}
	p.exec(`INSERT INTO people (id, email, name) VALUES ($1, 'karel@example.org', 'Karel')`, other.Person)
	return other
}

func TestTheLowestNumberThatIsNeitherUsedNorReservedIsOffered(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first, second := p.reserve(), p.reserve()
	if first.Number != 1 || second.Number != 2 || first.Lease == second.Lease {
		t.Fatalf("offered %d and %d", first.Number, second.Number)
	}
	p.wantNumbers(p.issue(TicketsIn{Count: new(2)}), 3, 4)
	if err := p.s.ReleaseNumber(t.Context(), first.Lease); err != nil {
		t.Fatal(err)
	}
	if n := p.reserve().Number; n != 1 {
		t.Errorf("after 1 was given back %d is offered", n)
	}
	if n := p.reserve().Number; n != 5 {
		t.Errorf("then %d is offered, want 5", n)
	}
}

func TestALeaseLastsFifteenSecondsFromItsLastRenewal(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	kept, left := p.reserve(), p.reserve()
	for range 3 {
		p.db.Shift(t, 10*time.Second)
		renewed := must(p.s.RenewNumber(t.Context(), p.admin, kept.Lease))(t)
		ahead := renewed.ExpiresAt.Sub(p.db.Now(t))
		if renewed.Number != 1 || renewed.Lease != kept.Lease || ahead > leaseFor || ahead < leaseFor-5*time.Second {
			t.Fatalf("renewed: number %d for another %v", renewed.Number, ahead)
		}
	}
	if _, err := p.s.RenewNumber(t.Context(), p.admin, left.Lease); !fault.Is(err, "number.lease_ended") {
		t.Errorf("a lease of 30 s ago is renewed: %v", err)
	}
	if n := p.reserve().Number; n != 2 {
		t.Errorf("%d is offered, want the abandoned 2", n)
	}
}

func TestAnOrderUnderALeaseHasItsNumberAndTheNextFreeOnes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first, second, third := p.reserve(), p.reserve(), p.reserve()
	if err := p.s.ReleaseNumber(t.Context(), first.Lease); err != nil {
		t.Fatal(err)
	}
	made := must(p.under(second.Lease, 3))(t)
	p.secret(made.ClaimURL)
	p.wantNumbers(made, 2, 4, 5) // 3 is under a lease, and 1 lies before
	if _, err := p.s.RenewNumber(t.Context(), p.admin, second.Lease); !fault.Is(err, "number.lease_ended") {
		t.Errorf("a spent lease is renewed: %v", err)
	}
	last := must(p.under(third.Lease, 1))(t)
	p.secret(last.ClaimURL)
	p.wantNumbers(last, 3)
	p.wantNumbers(p.issue(TicketsIn{Count: new(2)}), 1, 6)
}

func TestAnOrderWhoseLeaseWasLostIssuesNothingAndNamesTheNextNumber(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	mine := p.reserve()
	p.db.Shift(t, leaseFor)
	p.reserve() // somebody else's 1
	call := calling("tickets")
	in := TicketsIn{Lease: mine.Lease, Category: p.plain.Category}
	// Sent again, it is not carried out under a number that nobody saw.
	var offered string
	for _, next := range []int{2, 3} {
		_, err := p.s.Issue(t.Context(), p.admin, call, p.event.Event, in)
		wantFault(t, err, "number.lease_lost")
		f := fault.Of(err)
		if f.Kind != fault.Conflict || f.Facts["number"] != next {
			t.Fatalf("the answer holds %v, want the number %d", f.Facts["number"], next)
		}
		offered, _ = f.Facts["lease"].(string)
		pgtest.Secret(t, offered)
	}
	if n := p.count(`SELECT (SELECT count(*) FROM orders) + (SELECT count(*) FROM tickets) + (SELECT count(*) FROM numbers) + (SELECT count(*) FROM repeats WHERE act = 'tickets')`); n != 0 {
		t.Errorf("%d rows were written", n)
	}
	in.Lease = offered
	made := must(p.s.Issue(t.Context(), p.admin, call, p.event.Event, in))(t)
	p.secret(made.ClaimURL)
	p.wantNumbers(made, 3)
}

func TestAnOrderThatIsRefusedKeepsItsNumber(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.issue(TicketsIn{ExternalID: "GO-1"})
	lease := p.reserve()
	in := TicketsIn{Lease: lease.Lease, Category: p.plain.Category, ExternalID: "GO-1"}
	_, err := p.s.Issue(t.Context(), p.admin, repeat.Call{}, p.event.Event, in)
	wantFault(t, err, "ticket.external_id_taken")
	if again := must(p.s.RenewNumber(t.Context(), p.admin, lease.Lease))(t); again.Number != 2 {
		t.Errorf("the lease is on %d now", again.Number)
	}
}

func TestAnotherPersonsLeaseIsNone(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	lease, karel := p.reserve(), p.colleague()
	_, err := p.s.RenewNumber(t.Context(), karel, lease.Lease)
	wantFault(t, err, "number.lease_ended")
	_, err = p.s.Issue(t.Context(), karel, repeat.Call{}, p.event.Event, TicketsIn{Lease: lease.Lease, Category: p.plain.Category})
	wantFault(t, err, "number.lease_lost")
	pgtest.Secret(t, fault.Of(err).Facts["lease"].(string))
	token := p.admin
	token.Kind, token.Token, token.Scopes = session.ByToken, ticket.TokenID(uuid.New()), []session.Scope{session.ScopeIssue}
	_, err = p.s.RenewNumber(t.Context(), token, lease.Lease)
	wantFault(t, err, "number.lease_ended")
	token.Scopes = []session.Scope{session.ScopeRead}
	_, err = p.s.RenewNumber(t.Context(), token, lease.Lease)
	wantFault(t, err, "session.right_missing")
	_, err = p.s.ReserveNumber(t.Context(), token, p.event.Event)
	wantFault(t, err, "session.right_missing")
	if again := must(p.s.RenewNumber(t.Context(), p.admin, lease.Lease))(t); again.Number != 1 {
		t.Errorf("the lease is on %d now", again.Number)
	}
}

func TestALeaseOfAnotherEventIsNone(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	lease := p.reserve()
	event := must(p.s.CreateEvent(t.Context(), p.admin, repeat.Call{}, p.showing()))(t)
	category := must(p.s.CreateCategory(t.Context(), p.admin, repeat.Call{}, event.Event, CategoryIn{Name: "Standard"}))(t)
	_, err := p.s.Issue(t.Context(), p.admin, repeat.Call{}, event.Event, TicketsIn{Lease: lease.Lease, Category: category.Category})
	wantFault(t, err, "number.lease_lost")
	pgtest.Secret(t, fault.Of(err).Facts["lease"].(string))
	p.wantNumbers(must(p.under(lease.Lease, 1))(t), 1)
}

func TestGivingBackWhatIsNotThereIsNoFault(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	lease := p.reserve()
	for range 2 {
		if err := p.s.ReleaseNumber(t.Context(), lease.Lease); err != nil {
			t.Error(err)
		}
	}
	if err := p.s.ReleaseNumber(t.Context(), "no lease"); err != nil {
		t.Error(err)
	}
}

// What waits for the lock decides by what it finds afterwards, the time included.
func TestEveryChangeOfLeasesWaitsForTheEventAndLooksAfterwards(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	lease := p.reserve()
	for name, c := range map[string]struct {
		act  func() error
		want string // the fault, once the lease has lapsed in the meantime
	}{
		"reserve": {func() error {
			got, err := p.s.ReserveNumber(t.Context(), p.admin, p.event.Event)
			if err == nil && got.Number != 1 {
				t.Errorf("%d is reserved, want 1", got.Number)
			}
			return err
		}, ""},
		"renew": {func() error { _, err := p.s.RenewNumber(t.Context(), p.admin, lease.Lease); return err }, "number.lease_ended"},
		"spend": {func() error { _, err := p.under(lease.Lease, 1); return err }, "number.lease_lost"},
		"release": {func() error {
			return p.s.ReleaseNumber(t.Context(), lease.Lease)
		}, ""},
	} {
		p.exec(`DELETE FROM number_leases`)
		lease = p.reserve()
		holder := p.holding(`SELECT FROM events WHERE id = $1 FOR NO KEY UPDATE`, p.event.Event)
		done := make(chan error, 1)
		go func() { done <- c.act() }()
		p.awaitWaiting(holder)
		p.db.Shift(t, leaseFor)
		if err := holder.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		err := <-done
		if c.want == "" && err != nil || c.want != "" && !fault.Is(err, c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestFormsThatOpenAtOnceGetEachNumberOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const forms = 40
	got := make([]int, forms)
	var wg sync.WaitGroup
	for i := range forms {
		wg.Go(func() {
			lease, err := p.s.ReserveNumber(t.Context(), p.admin, p.event.Event)
			if err != nil {
				t.Error(err)
			}
			got[i] = lease.Number
			if i%2 == 0 {
				_, err = p.under(lease.Lease, 1)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	slices.Sort(got)
	for i, n := range got {
		if n != i+1 {
			t.Fatalf("numbers %v", got)
		}
	}
}

func TestTheLastLeasesOfAnEventAreForgottenByOthers(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	other := must(p.s.CreateEvent(t.Context(), p.admin, repeat.Call{}, p.showing()))(t)
	must(p.s.ReserveNumber(t.Context(), p.admin, other.Event))(t)
	p.db.Shift(t, forgetAfter)
	p.reserve()
	if n := p.count(`SELECT count(*) FROM number_leases`); n != 2 {
		t.Errorf("%d leases, want 2: it is forgotten too early", n)
	}
	p.db.Shift(t, 2*leaseFor)
	p.reserve()
	if n := p.count(`SELECT count(*) FROM number_leases`); n != 1 {
		t.Errorf("%d leases, want 1", n)
	}
}

// A cell of the table, held by somebody, keeps nobody from his own event.
func TestForgettingWaitsForNobody(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	other := must(p.s.CreateEvent(t.Context(), p.admin, repeat.Call{}, p.showing()))(t)
	must(p.s.ReserveNumber(t.Context(), p.admin, other.Event))(t)
	p.db.Shift(t, 2*forgetAfter)
	holder := p.holding(`SELECT FROM number_leases WHERE event_id = $1 FOR UPDATE`, other.Event)
	if n := p.reserve().Number; n != 1 {
		t.Errorf("reserved %d", n)
	}
	if err := holder.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestANumberIsUnderOneLease(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.reserve()
	_, err := p.db.Pool.Exec(t.Context(), `
INSERT INTO number_leases (event_id, number, hash, expires_at) VALUES ($1, 1, 'x', portillon_now())`, p.event.Event)
	if !pg.IsUnique(err, "number_leases_pkey") {
		t.Errorf("a second lease on the number: %v", err)
	}
}

// A form that never heard of its order renews its lease, which is spent, and shows
// another number by the time it is sent again.
func TestAnOrderSentAgainUnderAnotherLeaseIsTheSameOrder(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	reserved := func() string {
		return text(d.want(201, "POST", "/events/"+d.event.Event.String()+"/numbers", ``), "lease")
	}
	path, key := "/events/"+d.event.Event.String()+"/tickets", uuid.New()
	body := func(lease, name string) string {
		return `{"lease":"` + lease + `","category":"` + d.plain.Category.String() + `","holder":{"name":"` + name + `"}}`
	}
	first := reserved()
	status, _, made := d.send("POST", path, body(first, "Anna"), key)
	if status != 201 {
		t.Fatalf("%d %s", status, made)
	}
	if code := text(d.want(410, "POST", "/number-leases/"+first+"/renew", ``), "code"); code != "number.lease_ended" {
		t.Errorf("the spent lease is %s", code)
	}
	for _, lease := range []string{reserved(), "", first} {
		if status, _, again := d.send("POST", path, body(lease, "Anna"), key); status != 201 || again != made {
			t.Errorf("sent again: %d %s, want %s", status, again, made)
		}
	}
	if status, answer, _ := d.send("POST", path, body(first, "Karel"), key); status != 409 || text(answer, "code") != "request.key_conflict" {
		t.Errorf("another order with the key: %d %v", status, answer)
	}
	if n := d.count(`SELECT count(*) FROM tickets`); n != 1 {
		t.Errorf("%d tickets", n)
	}
}
