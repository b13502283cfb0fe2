package issue

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"portillon/server/fault"
	"portillon/server/repeat"
	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/wallet"
)

func TestDesksThatIssueAtOnceGetEachNumberOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const desks, each = 8, 25
	var wg sync.WaitGroup
	got := make(chan int, desks*each)
	for range desks {
		wg.Go(func() {
			for range each {
				made, err := p.s.Issue(t.Context(), p.admin, repeat.Call{}, p.event.Event, TicketsIn{Category: p.plain.Category})
				if err != nil {
					t.Error(err)
					return
				}
				got <- made.Tickets[0].Number
			}
		})
	}
	wg.Wait()
	close(got)
	var numbers []int
	for n := range got {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	for i, n := range numbers {
		if n != i+1 {
			t.Fatalf("numbers %v", numbers)
		}
	}
	if len(numbers) != desks*each {
		t.Fatalf("%d numbers, want %d", len(numbers), desks*each)
	}
	if n := p.count(`SELECT count(*) FROM numbers n JOIN tickets t ON t.id = n.ticket_id AND t.number = n.number AND t.event_id = n.event_id`); n != desks*each {
		t.Errorf("%d of the numbers belong to their tickets", n)
	}
}

func TestAGapIsFilledBeforeNewNumbersAreBegun(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.issue(TicketsIn{Count: new(6)}).Tickets
	// Numbers used elsewhere: 2, 4 and 6 are free, and 9 is far ahead.
	for i, number := range map[int]int{1: 9, 3: 12, 5: 15} {
		p.exec(`UPDATE numbers SET number = $2, followed = false WHERE ticket_id = $1`, first[i].Ticket, number)
	}
	p.exec(`UPDATE numbers SET followed = false`)

	var got []int
	for _, made := range p.issue(TicketsIn{Count: new(5)}).Tickets {
		got = append(got, made.Number)
	}
	if want := []int{2, 4, 6, 7, 8}; !slices.Equal(got, want) {
		t.Errorf("numbers %v, want %v", got, want)
	}
	other := p.showing()
	event := must(p.s.CreateEvent(t.Context(), p.admin, repeat.Call{}, other))(t)
	category := must(p.s.CreateCategory(t.Context(), p.admin, repeat.Call{}, event.Event, CategoryIn{Name: "Standard"}))(t)
	made := must(p.s.Issue(t.Context(), p.admin, repeat.Call{}, event.Event, TicketsIn{Category: category.Category}))(t)
	if made.Tickets[0].Number != 1 {
		t.Errorf("another event begins with %d", made.Tickets[0].Number)
	}
}

func TestANumberWrittenWithoutTheLockMeetsTheConstraint(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	id := p.one(p.plain)
	_, err := p.db.Pool.Exec(t.Context(), `INSERT INTO numbers (event_id, number, ticket_id) VALUES ($1, 1, $2)`, p.event.Event, id)
	wantFault(t, issueFault(err), "ticket.number_taken")
}

func TestAThousandTicketsAreOneOrderWithOneLink(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.one(p.plain)
	made := p.issue(TicketsIn{Count: new(1000), Holder: Holder{Name: "Kino klub", Email: "klub@example.org"}})
	if len(made.Tickets) != 1000 || made.Tickets[0].Number != 2 || made.Tickets[999].Number != 1001 {
		t.Fatalf("%d tickets", len(made.Tickets))
	}
	if n := p.count(`
SELECT count(*) FROM audit a JOIN tickets t ON t.id = a.ticket_id AND t.order_id = a.subject_id AND t.number = (a.details->>'number')::integer
WHERE a.act = 'ticket.issue' AND a.subject_id = $1 AND a.person_id = $2 AND a.event_id = t.event_id`, made.Order, p.admin.Person); n != 1000 {
		t.Errorf("%d tickets have their first act in the audit", n)
	}
	_, err := p.s.Issue(t.Context(), p.admin, repeat.Call{}, p.event.Event, TicketsIn{Category: p.plain.Category, Count: new(1001)})
	wantFault(t, err, "request.fields", "count: out_of_range")
}

func TestTheLinkIsFoundByItsHashAndOpensTheOrder(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	made := p.issue(TicketsIn{Count: new(2)})
	hash := wallet.HashClaimCode(p.secret(made.ClaimURL))
	if n := p.count(`SELECT count(*) FROM claim_codes WHERE hash = $1 AND order_id = $2 AND serial = 1`, hash[:], made.Order); n != 1 {
		t.Error("the code's hash does not lead to the order")
	}
}

func TestACallRepeatedWithItsKeyMakesOneOrder(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	in := TicketsIn{Category: p.plain.Category, Count: new(3), Holder: Holder{Name: "Karel"}}
	call := calling("tickets")
	var wg sync.WaitGroup
	answers := make([]Issued, 9)
	for i := range 8 {
		wg.Go(func() {
			var err error
			if answers[i], err = p.s.Issue(t.Context(), p.admin, call, p.event.Event, in); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	// The answer was lost; the caller asks again later.
	answers[8] = must(p.s.Issue(t.Context(), p.admin, call, p.event.Event, in))(t)
	p.secret(answers[0].ClaimURL)
	for _, answer := range answers {
		sameJSON(t, answer, answers[0])
	}
	if n := p.count(`SELECT count(*) FROM tickets`); n != 3 {
		t.Errorf("%d tickets were made", n)
	}

	call.Hash[0]++
	_, err := p.s.Issue(t.Context(), p.admin, call, p.event.Event, in)
	wantFault(t, err, "request.key_conflict")

	colleague := p.admin
	colleague.Person = ticket.PersonID(uuid.New())
	other := must(p.s.Issue(t.Context(), colleague, call, p.event.Event, in))(t)
	if other.Order == answers[0].Order {
		t.Error("a colleague's key found somebody else's order")
	}
}

func TestAnExternalIDIsTakenOnceAnEvent(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.one(p.plain)
	p.issue(TicketsIn{ExternalID: "shop-17"})
	_, err := p.s.Issue(t.Context(), p.admin, repeat.Call{}, p.event.Event, TicketsIn{Category: p.plain.Category, ExternalID: " shop-17 "})
	wantFault(t, err, "ticket.external_id_taken")
	if facts := fault.Of(err).Facts; facts["number"] != 2 {
		t.Errorf("facts %v, want number 2", facts)
	}

	var wg sync.WaitGroup
	var taken, made counter
	for range 8 {
		wg.Go(func() {
			_, err := p.s.Issue(t.Context(), p.admin, repeat.Call{}, p.event.Event, TicketsIn{Category: p.plain.Category, ExternalID: "shop-18"})
			if err == nil {
				made.add()
				return
			}
			if fault.Is(err, "ticket.external_id_taken") {
				taken.add()
			}
		})
	}
	wg.Wait()
	if made.n != 1 || taken.n != 7 {
		t.Errorf("%d made, %d refused", made.n, taken.n)
	}
	if n := p.count(`SELECT count(*) FROM tickets`); n != 3 {
		t.Errorf("%d tickets: a refused order left some behind", n)
	}
}

func TestSeatsAreGivenInTheOrderOfTheNumbers(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	made := p.issue(TicketsIn{Seats: []string{"A1", " A2 ", "Příčná 3"}})
	var got []string
	for _, tk := range made.Tickets {
		got = append(got, fmt.Sprint(tk.Number, " ", tk.Seat))
	}
	if want := []string{"1 A1", "2 A2", "3 Příčná 3"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAnOrderThatMakesNoSenseNamesEveryFieldAtFault(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for name, c := range map[string]struct {
		in     TicketsIn
		fields []string
	}{
		"no category":        {TicketsIn{}, []string{"category: required"}},
		"a strange category": {TicketsIn{Category: ticket.CategoryID(uuid.New())}, []string{"category: unknown"}},
		"no ticket":          {TicketsIn{Category: p.plain.Category, Count: new(0)}, []string{"count: out_of_range"}},
		"fewer seats":        {TicketsIn{Category: p.plain.Category, Count: new(3), Seats: []string{"1", "2"}}, []string{"seats: conflicting"}},
		"one seat for two":   {TicketsIn{Category: p.plain.Category, Count: new(2), Seat: "1"}, []string{"seat: conflicting"}},
		"seat and seats":     {TicketsIn{Category: p.plain.Category, Seats: []string{"1"}, Seat: "1"}, []string{"seat: conflicting"}},
		"one id for two":     {TicketsIn{Category: p.plain.Category, Count: new(2), ExternalID: "x"}, []string{"external_id: conflicting"}},
		"several": {
			TicketsIn{Category: p.plain.Category, Seat: strings.Repeat("x", 61), Holder: Holder{Name: "a\nb", Email: "Karel <k@example.org>"}},
			[]string{"holder.name: control_characters", "holder.email: invalid", "seat: too_long"},
		},
		"a name that turns the line": {TicketsIn{Category: p.plain.Category, Holder: Holder{Name: "A\u202e1"}}, []string{"holder.name: control_characters"}},
		"no address":                 {TicketsIn{Category: p.plain.Category, Holder: Holder{Email: "karel"}}, []string{"holder.email: invalid"}},
		"a bad seat among good ones": {TicketsIn{Category: p.plain.Category, Seats: []string{"1", "\x00"}}, []string{"seats[1]: control_characters"}},
	} {
		_, err := p.s.Issue(t.Context(), p.admin, repeat.Call{}, p.event.Event, c.in)
		t.Run(name, func(t *testing.T) { wantFault(t, err, "request.fields", c.fields...) })
	}
	if n := p.count(`SELECT count(*) FROM orders`); n != 0 {
		t.Errorf("%d orders were made", n)
	}
}

func TestTwoSpellingsOfANameAreKeptAsOne(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	decomposed := p.issue(TicketsIn{Holder: Holder{Name: " Nguye\u0302\u0303n Va\u0306n An "}}).Tickets[0].Ticket
	if name := p.get(decomposed).Holder.Name; name != "Nguyễn Văn An" {
		t.Errorf("kept as %+q", name)
	}
}

func TestTicketsIssuedWhileReentryChangesFollowTheEvent(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 10 {
				if _, err := p.s.Issue(t.Context(), p.admin, repeat.Call{}, p.event.Event, TicketsIn{Category: p.plain.Category}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 11 {
		wg.Go(func() {
			change := EventChange{Policy: &PolicyIn{Reentry: new(i%2 == 0)}}
			if _, err := p.s.ChangeEvent(t.Context(), p.admin, p.event.Event, change); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := p.count(`SELECT count(*) FROM tickets t JOIN events e ON e.id = t.event_id WHERE t.reentry = e.reentry`); n != 40 {
		t.Errorf("%d of 40 tickets follow their event", n)
	}
}

func TestATicketHasTheReentryThatItsEventHasWhenTheNumberIsFree(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	change := p.holding(`UPDATE events SET reentry = true WHERE id = $1`, p.event.Event)
	done := make(chan error, 1)
	go func() {
		_, err := p.s.Issue(t.Context(), p.admin, repeat.Call{}, p.event.Event, TicketsIn{Category: p.plain.Category})
		done <- err
	}()
	p.awaitWaiting(change)
	if err := change.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := p.count(`SELECT count(*) FROM tickets WHERE reentry`); n != 1 {
		t.Error("the ticket follows the policy that was read before the lock")
	}
}

func TestATokenThatMayIssueMayNotShowLinksOrMakeEvents(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	token := session.Caller{
		Kind: session.ByToken, Token: ticket.TokenID(uuid.New()), Person: p.admin.Person, Grants: p.admin.Grants,
		Scopes: []session.Scope{session.ScopeIssue}, Venue: p.venue.Venue,
	}
	made := must(p.s.Issue(t.Context(), token, repeat.Call{}, p.event.Event, TicketsIn{Category: p.plain.Category}))(t)
	_, err := p.s.ShowLink(t.Context(), token, made.Tickets[0].Ticket)
	wantFault(t, err, "session.right_missing")
	_, err = p.s.CreateEvent(t.Context(), token, repeat.Call{}, p.showing())
	wantFault(t, err, "session.right_missing")
	_, err = p.s.ListTickets(t.Context(), token, p.event.Event, TicketQuery{})
	wantFault(t, err, "session.right_missing")
}

func BenchmarkIssueAThousandTickets(b *testing.B) {
	p := newPlace(b)
	for b.Loop() {
		if _, err := p.s.Issue(b.Context(), p.admin, repeat.Call{}, p.event.Event, TicketsIn{Category: p.plain.Category, Count: new(1000)}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkIssueOneTicketBehindManyOthers(b *testing.B) {
	p := newPlace(b)
	for range 50 {
		if _, err := p.s.Issue(b.Context(), p.admin, repeat.Call{}, p.event.Event, TicketsIn{Category: p.plain.Category, Count: new(1000)}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := p.s.Issue(b.Context(), p.admin, repeat.Call{}, p.event.Event, TicketsIn{Category: p.plain.Category}); err != nil {
			b.Fatal(err)
		}
	}
}
