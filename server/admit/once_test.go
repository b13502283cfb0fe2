package admit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"sync"
	"testing"
	"time"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
)

// large is the number for make soak, and small the one for make test.
func large(soak, test int) int {
	if os.Getenv("PORTILLON_SOAK") != "" {
		return soak
	}
	return test
}

// together calls f for 0 to n-1 at the same moment.
func together(n int, f func(i int)) {
	var ready, done sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-gate
			f(i)
		})
	}
	ready.Wait()
	close(gate)
	done.Wait()
}

func TestOfFiftyControllersOneAdmitsAndTheOthersNameTheWinner(t *testing.T) {
	inBothForms(t, fiftyControllers)
}

func fiftyControllers(t *testing.T, opts ...servertest.Option) {
	const controllers = 50
	h := servertest.NewHouse(t, opts...)
	crowd := make([]*servertest.Gatekeeper, controllers)
	for i := range crowd {
		crowd[i] = h.Controller(fmt.Sprintf("Karel %d", i), session.Controller)
	}
	rounds := large(1000, 80)
	phone := h.NewPhone()
	tickets := make([]ticket.ID, 0, rounds)
	for len(tickets) < rounds {
		issued := h.Issue(h.Event.Event, client.NewTickets{Category: h.Standard.Category, Count: min(100, rounds-len(tickets))})
		phone.Take(t, issued.ClaimURL)
		for _, i := range issued.Tickets {
			tickets = append(tickets, i.Ticket)
		}
	}
	for _, id := range tickets {
		code := phone.Signed(t, id, crowd[0].Hold(t))
		answers := make([]client.ScanAnswer, controllers)
		errs := make([]error, controllers)
		together(controllers, func(i int) {
			answers[i], errs[i] = crowd[i].Scan(context.Background(), servertest.NewKey(), client.Scan{Gate: h.Gate.Gate, Code: code})
		})
		checkOneWinner(t, crowd, answers, errs)
		if n := h.Count(t, "admissions WHERE ticket_id = $1", id); n != 1 {
			t.Errorf("%d admission rows", n)
		}
		if row := h.Row(t, id); row.Status != ticket.Used || row.Entries != 1 || row.Inside != 1 {
			t.Errorf("the ticket's row is %+v", row)
		}
		if t.Failed() {
			return
		}
	}
	if n := h.Count(t, "attempts"); n != rounds*controllers {
		t.Errorf("%d attempts were logged of %d", n, rounds*controllers)
	}
	t.Logf("%d rounds of %d controllers", rounds, controllers)
}

func checkOneWinner(t *testing.T, crowd []*servertest.Gatekeeper, answers []client.ScanAnswer, errs []error) {
	t.Helper()
	winner := ""
	for i, a := range answers {
		if errs[i] != nil {
			t.Errorf("controller %d: %v", i, errs[i])
		}
		if a.Reason == ticket.Admitted {
			if winner != "" || a.Replayed {
				t.Errorf("admitted twice, or replayed: %+v", a)
			}
			winner = crowd[i].Name
		}
	}
	for i, a := range answers {
		switch {
		case a.Reason == ticket.Admitted || errs[i] != nil:
		case a.Reason != ticket.AlreadyUsed:
			t.Errorf("controller %d was told %s", i, a.Reason)
		case a.FirstUse == nil || a.FirstUse.Person != winner || a.FirstUse.GateName == "" || a.FirstUse.At.IsZero():
			t.Errorf("controller %d was told of %+v, the winner is %s", i, a.FirstUse, winner)
		}
	}
	if winner == "" {
		t.Error("nobody was admitted")
	}
}

func TestOneKeySentToTwoServersAtOnceCountsItsPeopleOnce(t *testing.T) {
	t.Parallel()
	inBothForms(t, oneKeyToTwoServers)
}

func oneKeyToTwoServers(t *testing.T, opts ...servertest.Option) {
	h := servertest.NewHouse(t, opts...)
	second := servertest.On(t, h.DB, opts...)
	karel := h.Controller("Karel", session.Controller)
	doors := []*servertest.Gatekeeper{karel, karel.At(second)}
	const perTicket, rounds = 100, 400
	crowd := h.NewCategory(h.Event.Event, client.NewCategory{Name: "Coach party", Admits: perTicket})
	issued := h.Issue(h.Event.Event, client.NewTickets{Category: crowd.Category, Count: rounds / perTicket})
	phone := h.NewPhone()
	phone.Take(t, issued.ClaimURL)
	for _, i := range issued.Tickets {
		for range perTicket {
			code, key := phone.Signed(t, i.Ticket, karel.Hold(t)), servertest.NewKey()
			answers := make([]client.ScanAnswer, len(doors))
			together(len(doors), func(n int) {
				answers[n] = doors[n].AskAs(t, key, client.Scan{Code: code, People: 1})
			})
			if answers[0].Reason != ticket.Admitted || answers[1].Reason != ticket.Admitted || answers[0].Replayed == answers[1].Replayed {
				t.Fatalf("both servers must admit, one of them as a replay: %+v", answers)
			}
			if *answers[0].Remaining != *answers[1].Remaining || !answers[0].At.Equal(answers[1].At) {
				t.Fatalf("the replay differs: %+v", answers)
			}
		}
		people := h.Count(t, "admissions WHERE ticket_id = $1", i.Ticket)
		if row := h.Row(t, i.Ticket); row.Entries != perTicket || people != perTicket || row.Status != ticket.Used {
			t.Fatalf("%d people by admission rows, the ticket counts %+v", people, row)
		}
	}
}

func TestTheSameKeyIsReplayedAndAnotherIsToldOfTheFirstUse(t *testing.T) {
	t.Parallel()
	inBothForms(t, sameKeyAndAnother)
}

func sameKeyAndAnother(t *testing.T, opts ...servertest.Option) {
	h := servertest.NewHouse(t, opts...)
	karel := h.Controller("Karel", session.Controller)
	phone, id := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category, Seat: "Row 4 Seat 12"})
	code, key := phone.Signed(t, id.Ticket, karel.Hold(t)), servertest.NewKey()

	first := karel.AskAs(t, key, client.Scan{Code: code})
	if first.Reason != ticket.Admitted || first.Replayed || first.Class != ticket.ClassAdmit || first.Ticket.Seat != "Row 4 Seat 12" || first.Ticket.Screen != "Screen 1" {
		t.Fatalf("the first scan: %+v", first)
	}
	again := karel.AskAs(t, key, client.Scan{Code: code})
	if !again.Replayed {
		t.Error("the same key is not replayed")
	}
	again.Replayed, again.ServerTime = first.Replayed, first.ServerTime
	if !reflect.DeepEqual(again, first) {
		t.Errorf("the replay is another answer:\n%+v %+v\nfirst\n%+v %+v", again, again.Ticket, first, first.Ticket)
	}

	h.DB.Shift(t, 2*time.Minute)
	code = phone.Signed(t, id.Ticket, karel.Hold(t))
	other := karel.Ask(t, code)
	use := other.FirstUse
	if other.Reason != ticket.AlreadyUsed || other.Class != ticket.ClassAsk || use == nil {
		t.Fatalf("another key: %+v", other)
	}
	if use.GateName != "Main entrance" || use.Person != "Karel" || use.SecondsAgo < 120 || use.SecondsAgo > 150 || !use.SameDevice || !use.SameClaim || use.SameNonce {
		t.Errorf("the first use: %+v", use)
	}
	if n := h.Count(t, "admissions"); n != 1 {
		t.Errorf("%d admission rows", n)
	}
}

func TestARetryIsAnsweredAsBeforeHoweverLateAndWhateverFailsSince(t *testing.T) {
	t.Parallel()
	inBothForms(t, lateRetries)
}

func lateRetries(t *testing.T, opts ...servertest.Option) {
	h := servertest.NewHouse(t, opts...)
	karel := h.Controller("Karel", session.Controller)
	phone, id := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	code, key := phone.Signed(t, id.Ticket, karel.Hold(t)), servertest.NewKey()
	first := karel.AskAs(t, key, client.Scan{Code: code})
	for _, after := range []time.Duration{time.Second, 35 * time.Second, 3 * time.Hour, 23*time.Hour + 59*time.Minute} {
		h.DB.SetShift(t, after)
		again := karel.AskAs(t, key, client.Scan{Code: code})
		if again.Reason != ticket.Admitted || !again.Replayed || !again.At.Equal(first.At) {
			t.Errorf("after %s: %+v", after, again)
		}
	}
	// The same code under a new key shows that the rules would indeed refuse.
	if a := karel.Ask(t, code); a.Reason != ticket.StaleNonce {
		t.Errorf("a new key a day later: %s", a.Reason)
	}
	code = phone.Signed(t, id.Ticket, karel.Hold(t))
	if a := karel.Ask(t, code); a.Reason != ticket.TooLate {
		t.Errorf("a fresh code a day later: %s", a.Reason)
	}
}

func TestTheDatabaseItselfRefusesASecondRowAndAnEntryTooMany(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	phone, id := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	karel.Ask(t, phone.Signed(t, id.Ticket, karel.Hold(t)))
	for _, c := range []struct{ sql, constraint string }{
		{`INSERT INTO admissions SELECT * FROM admissions`, "admissions_pkey"},
		{`UPDATE tickets SET entries = entries + 1`, "tickets_entries_check"},
		{`UPDATE tickets SET entries = entries + 1, inside = inside + 1`, "tickets_"},
		{`UPDATE tickets SET inside = -1`, "tickets_inside_check"},
	} {
		_, err := h.DB.Pool.Exec(context.Background(), c.sql)
		if err == nil || !containsConstraint(err, c.constraint) {
			t.Errorf("%s: %v, want %s", c.sql, err, c.constraint)
		}
	}
}

func TestFastHonestScanningIsNeverSlowedAndAFloodIsToldWhenToGoOn(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t, servertest.Paced())
	karel, eva := h.Controller("Karel", session.Controller), h.Controller("Eva", session.Controller)
	phone := h.NewPhone()
	issued := h.Issue(h.Event.Event, client.NewTickets{Category: h.Standard.Category, Count: 20})
	phone.Take(t, issued.ClaimURL)
	nonce := karel.Hold(t)
	for _, id := range issued.Tickets {
		if a := karel.Ask(t, phone.Signed(t, id.Ticket, nonce)); a.Reason != ticket.Admitted {
			t.Fatalf("one of twenty quick scans: %s", a.Reason)
		}
	}
	var slowed *client.Problem
	for i := 0; slowed == nil && i < 10_000; i++ {
		_, err := karel.Scan(context.Background(), servertest.NewKey(), client.Scan{Gate: h.Gate.Gate, Code: "flood"})
		errors.As(err, &slowed)
	}
	if slowed == nil || slowed.Status != 429 || slowed.Code != "scan.too_fast" || slowed.RetryAfter <= 0 {
		t.Fatalf("a flood is answered %+v", slowed)
	}
	if a := eva.Ask(t, "not a code"); a.Reason != ticket.NotATicket {
		t.Errorf("her neighbour pays for it: %s", a.Reason)
	}
}
