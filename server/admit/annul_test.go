package admit_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
)

// The turnstile did not turn: an entry is annulled by its key, by whoever made it and
// for a quarter of an hour, and by a supervisor at any time.
func TestAnAnnulledEntryLeavesAFreshTicketAFewerCountAndItsWholeHistory(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(t *testing.T, opts ...servertest.Option) {
		h := servertest.NewHouse(t, opts...)
		karel, eva, olga := h.Controller("Karel", session.Controller), h.Controller("Eva", session.Controller), h.Controller("Olga", session.Supervisor)
		phone, id := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
		for i, c := range []struct {
			by    *servertest.Gatekeeper
			after time.Duration
			want  string // or how it is refused
		}{
			{eva, 0, "undo.not_yours"}, {karel, 14*time.Minute + 30*time.Second, "done"},
			{karel, 15*time.Minute + 30*time.Second, "undo.too_late"}, {eva, 15*time.Minute + 30*time.Second, "undo.not_yours"},
			{olga, 40 * time.Minute, "done"},
		} {
			key := servertest.NewKey()
			a := karel.AskAs(t, key, client.Scan{Code: phone.Signed(t, id.Ticket, karel.Hold(t))})
			if a.Reason != ticket.Admitted || a.Replayed {
				t.Fatalf("entry %d into a fresh ticket: %+v", i, a)
			}
			if in := admittedOf(t, h); in != 1 {
				t.Errorf("entry %d: the event counts %d people", i, in)
			}
			h.DB.Shift(t, c.after)
			_, err := c.by.Undo(context.Background(), id.Ticket, key, "the turnstile did not turn")
			if got := refusal(err); got != c.want {
				t.Errorf("%s after %s: %s, want %s", c.by.Name, c.after, got, c.want)
			}
			if c.want != "done" { // the count stands, until a supervisor makes room for the next
				if row := h.Row(t, id.Ticket); row.Status != ticket.Used || row.Entries != 1 {
					t.Errorf("%s was refused, and the ticket is %+v", c.by.Name, row)
				}
				servertest.Must(olga.Undo(context.Background(), id.Ticket, key, "for the next"))(t)
			}
			if row := h.Row(t, id.Ticket); row.Status != ticket.Active || row.Entries != 0 || row.Inside != 0 {
				t.Errorf("annulled, and the ticket is %+v", row)
			}
			if in := admittedOf(t, h); in != 0 {
				t.Errorf("annulled, and the event counts %d people", in)
			}
			if again := karel.AskAs(t, key, client.Scan{Code: phone.Signed(t, id.Ticket, karel.Hold(t))}); again.Reason != ticket.Undone {
				t.Errorf("the annulled scan sent again: %s", again.Reason)
			}
		}
		kept := servertest.Must(client.Do[client.Ticket](context.Background(), h.Admin, http.MethodGet, "/v1/tickets/"+id.Ticket.String(), nil))(t)
		by := map[string]int{}
		for _, a := range kept.Admissions {
			if a.PersonName != "Karel" || a.Undone == nil || a.Undone.At.Before(a.At) || a.Undone.Reason == "" {
				t.Fatalf("the history tells %+v, taken back %+v", a, a.Undone)
			}
			by[a.Undone.PersonName]++
		}
		if by["Karel"] != 1 || by["Olga"] != 4 || actsOf(kept) != "scan.undo, scan.undo, scan.undo, scan.undo, scan.undo" {
			t.Errorf("taken back by %v; %s", by, actsOf(kept))
		}
	})
}

// admittedOf is how many people the event's report counts as inside.
func admittedOf(t *testing.T, h *servertest.House) int {
	t.Helper()
	return servertest.Must(h.Admin.EventReport(context.Background(), h.Event.Event, nil))(t).Inside
}
