package admit_test

import (
	"context"
	"testing"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
)

// A family of four comes as two, one and one. After each arrival every scan so far
// is sent again to the other server, as if its answer had been lost.
func TestAFamilyArrivesInPartsAndARetryOfAPartTakesNoPlace(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(t *testing.T, opts ...servertest.Option) {
		h := servertest.NewHouse(t, opts...)
		karel := h.Controller("Karel", session.Controller)
		doors := []*servertest.Gatekeeper{karel, karel.At(servertest.On(t, h.DB, opts...))}
		phone, id := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Family.Category})
		code := phone.Signed(t, id.Ticket, karel.Hold(t))
		refused := func(people int, want ticket.Reason, free int) {
			t.Helper()
			for _, door := range doors {
				a := door.AskAs(t, servertest.NewKey(), client.Scan{Code: code, People: people})
				if a.Reason != want || a.Verdict == ticket.Admit || a.Remaining == nil || *a.Remaining != free {
					t.Errorf("%d people where %d have a place: %+v", people, free, a)
				}
			}
		}
		type part struct {
			key            ticket.Key
			people, remain int
		}
		entered := 0
		parts := []part{{servertest.NewKey(), 2, 2}, {servertest.NewKey(), 1, 1}, {servertest.NewKey(), 1, 0}}
		for i, p := range parts {
			refused(0, ticket.ChoosePeople, 4-entered) // nobody said how many
			refused(5-entered, ticket.ChoosePeople, 4-entered)
			a := doors[i%2].AskAs(t, p.key, client.Scan{Code: code, People: p.people})
			if a.Reason != ticket.Admitted || a.Replayed || a.People != p.people || *a.Remaining != p.remain {
				t.Errorf("part %d: %+v", i, a)
			}
			entered += p.people
			for j, before := range parts[:i+1] {
				again := doors[(i+1)%2].AskAs(t, before.key, client.Scan{Code: code, People: before.people})
				if again.Reason != ticket.Admitted || !again.Replayed || again.People != before.people || *again.Remaining != before.remain {
					t.Errorf("part %d again after part %d: %+v", j, i, again)
				}
			}
			if row := h.Row(t, id.Ticket); row.Entries != entered || row.Inside != entered || (row.Status == ticket.Used) != (entered == 4) {
				t.Errorf("after part %d: %+v", i, row)
			}
		}
		for _, people := range []int{0, 1, 5} {
			refused(people, ticket.EntriesExhausted, 0)
		}
		a := karel.AskAs(t, servertest.NewKey(), client.Scan{Code: code, People: 1})
		if a.Class != ticket.ClassRefuse || a.FirstUse == nil || a.FirstUse.Person != "Karel" || a.FirstUse.GateName != "Main entrance" {
			t.Errorf("the fifth is told %+v of %+v", a, a.FirstUse)
		}
		if n := h.Count(t, "admissions WHERE ticket_id = $1", id.Ticket); n != len(parts) {
			t.Errorf("%d admissions", n)
		}
	})
}

// Four times two people come at once, at two doors, with a ticket for four.
func TestPartsOfAFamilyThatArriveAtOnceTakeNoMorePlacesThanThereAre(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(t *testing.T, opts ...servertest.Option) {
		h := servertest.NewHouse(t, opts...)
		karel := h.Controller("Karel", session.Controller)
		doors := []*servertest.Gatekeeper{karel, karel.At(servertest.On(t, h.DB, opts...))}
		for range large(200, 20) {
			phone, id := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Family.Category})
			code := phone.Signed(t, id.Ticket, karel.Hold(t))
			answers, errs := make([]client.ScanAnswer, 4), make([]error, 4)
			together(len(answers), func(i int) {
				answers[i], errs[i] = doors[i%2].Scan(context.Background(), servertest.NewKey(), client.Scan{Gate: h.Gate.Gate, Code: code, People: 2})
			})
			remaining := map[ticket.Reason][]int{}
			for i, a := range answers {
				if errs[i] != nil {
					t.Fatal(errs[i])
				}
				remaining[a.Reason] = append(remaining[a.Reason], *a.Remaining)
			}
			in, out := remaining[ticket.Admitted], remaining[ticket.EntriesExhausted]
			if len(in) != 2 || in[0]+in[1] != 2 || in[0]*in[1] != 0 || len(out) != 2 || out[0]+out[1] != 0 {
				t.Fatalf("places left, by reason: %v", remaining)
			}
			if row := h.Row(t, id.Ticket); row.Entries != 4 || row.Status != ticket.Used {
				t.Fatalf("the ticket: %+v", row)
			}
		}
	})
}
