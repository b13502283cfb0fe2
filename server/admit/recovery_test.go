package admit_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
)

// lossy is a house whose showing takes lost answers back.
type lossy struct {
	*servertest.House
	event    client.Event
	category client.Category
}

func newLossy(t *testing.T, opts ...servertest.Option) lossy {
	t.Helper()
	h := servertest.NewHouse(t, opts...)
	event := h.NewEvent("Stalker", "Screen 2", -time.Minute, &client.Policy{Rescan: ticket.Recover, RescanWindowS: 300})
	return lossy{h, event, h.NewCategory(event.Event, client.NewCategory{Name: "Standard"})}
}

// shown sends the receipt of an admission.
func shown(t *testing.T, by *servertest.Gatekeeper, id ticket.ID, key ticket.Key) {
	t.Helper()
	answer := servertest.Must(client.Do[map[string]int](context.Background(), by.Client, http.MethodPost, "/v1/scans/shown", map[string]any{
		"scans": []any{map[string]any{"ticket": id, "key": key}},
	}))(t)
	if answer["kept"] != 1 {
		t.Fatalf("%d receipts are kept", answer["kept"])
	}
}

// admitted lets the guest of a fresh phone in and gives the phone, the ticket and the
// key of the admission.
func (h lossy) admitted(t *testing.T, by *servertest.Gatekeeper) (*servertest.Phone, ticket.ID, ticket.Key) {
	t.Helper()
	phone, issued := h.Claimed(h.event.Event, client.NewTickets{Category: h.category.Category})
	key := servertest.NewKey()
	if a := by.AskAs(t, key, client.Scan{Code: phone.Signed(t, issued.Ticket, by.Hold(t))}); a.Reason != ticket.Admitted {
		t.Fatalf("the first scan: %s", a.Reason)
	}
	return phone, issued.Ticket, key
}

// warm makes it a device that sends receipts.
func (h lossy) warm(t *testing.T, by *servertest.Gatekeeper) {
	t.Helper()
	_, id, key := h.admitted(t, by)
	shown(t, by, id, key)
}

// bothForms runs a test with the engine for crowds and with the plain form.
func bothForms(t *testing.T, test func(t *testing.T, opts ...servertest.Option)) {
	t.Run("crowd", func(t *testing.T) { t.Parallel(); test(t) })
	t.Run("plain", func(t *testing.T) { t.Parallel(); test(t, servertest.Plain()) })
}

func TestALostAnswerIsTakenBackWhenTheSamePhoneComesToAnotherDoor(t *testing.T) {
	t.Parallel()
	bothForms(t, func(t *testing.T, opts ...servertest.Option) {
		h := newLossy(t, opts...)
		karel, eva := h.Controller("Karel", session.Controller), h.Controller("Eva", session.Controller)
		h.warm(t, karel)
		phone, id, lost := h.admitted(t, karel)
		if a := eva.Ask(t, phone.Signed(t, id, eva.Hold(t))); a.Reason != ticket.AlreadyUsed || a.Class != ticket.ClassAsk {
			t.Errorf("while the device may still be showing it: %+v", a)
		}
		h.DB.Shift(t, 11*time.Second)
		code, key := phone.Signed(t, id, eva.Hold(t)), servertest.NewKey()
		if a := eva.AskAs(t, servertest.NewKey(), client.Scan{Code: code, DryRun: true}); !a.Recovered || a.Replayed {
			t.Errorf("looked at first: %+v", a)
		}
		a := eva.AskAs(t, key, client.Scan{Code: code})
		if a.Reason != ticket.Admitted || !a.Recovered || a.Replayed || a.FirstUse == nil || a.FirstUse.Person != "Karel" {
			t.Fatalf("the second door: %+v", a)
		}
		if a := eva.AskAs(t, key, client.Scan{Code: code}); a.Reason != ticket.Admitted || !a.Recovered || !a.Replayed {
			t.Errorf("its answer lost as well: %+v", a)
		}
		if a := karel.AskAs(t, lost, client.Scan{Code: code}); a.Reason != ticket.Superseded || a.Class != ticket.ClassRefuse {
			t.Errorf("the first device comes back: %+v", a)
		}
		shown(t, karel, id, lost) // too late, and kept
		if row := h.Row(t, id); row.Entries != 1 || row.Inside != 1 || row.Status != ticket.Used {
			t.Errorf("the ticket: %+v", row)
		}
		for what, from := range map[string]string{
			"the first is undone by nobody, in favour of the second": "undos WHERE ticket_id = $1 AND key = $2 AND superseded_by = $3 AND person_id IS NULL AND device_id IS NULL",
			"the act is in the books":                                "audit WHERE ticket_id = $1 AND act = 'scan.recovery' AND details->>'superseded' = $2::uuid::text AND subject_id = $3",
		} {
			if n := h.Count(t, from, id, lost, key); n != 1 {
				t.Errorf("%s: %d", what, n)
			}
		}
		card := servertest.Must(client.Do[client.Ticket](context.Background(), h.Admin, http.MethodGet, "/v1/tickets/"+id.String(), nil))(t)
		first := card.Admissions[0]
		if first.Key != lost || first.Undone == nil || first.Undone.SupersededBy != key || !first.ShownAt.After(first.Undone.At) {
			t.Errorf("the desk is told: %+v, %+v", first, first.Undone)
		}
		shown(t, eva, id, key)
		h.DB.Shift(t, 16*time.Second)
		if a := karel.Ask(t, phone.Signed(t, id, karel.Hold(t))); a.Reason != ticket.AlreadyUsed {
			t.Errorf("once its answer was seen: %s", a.Reason)
		}
	})
}

func TestWhatWasSeenOrMayHaveBeenIsNotTakenBack(t *testing.T) {
	t.Parallel()
	h := newLossy(t)
	karel, eva := h.Controller("Karel", session.Controller), h.Controller("Eva", session.Controller)

	silent, silentID, _ := h.admitted(t, karel) // who never sent a receipt
	h.DB.Shift(t, 11*time.Second)
	if a := eva.Ask(t, silent.Signed(t, silentID, eva.Hold(t))); a.Reason != ticket.AlreadyUsed {
		t.Errorf("of a device that sends no receipts: %+v", a)
	}
	h.warm(t, karel)
	seen, seenID, key := h.admitted(t, karel)
	shown(t, karel, seenID, key)
	busy, busyID, _ := h.admitted(t, karel)
	h.DB.Shift(t, 11*time.Second)
	h.warm(t, karel) // it is there
	for name, c := range map[string]struct {
		phone *servertest.Phone
		id    ticket.ID
	}{"seen": {seen, seenID}, "of a device that goes on working": {busy, busyID}} {
		if a := eva.Ask(t, c.phone.Signed(t, c.id, eva.Hold(t))); a.Reason != ticket.AlreadyUsed || a.Recovered {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func TestALeaseGivenBackSaysAtOnceThatTheDeviceIsGone(t *testing.T) {
	t.Parallel()
	h := newLossy(t)
	karel, eva := h.Controller("Karel", session.Controller), h.Controller("Eva", session.Controller)
	h.warm(t, karel) // which holds the gate three times by now
	h.DB.Shift(t, 16*time.Second)
	held := servertest.Must(karel.HoldGate(context.Background(), h.Gate.Gate))(t)
	phone, issued := h.Claimed(h.event.Event, client.NewTickets{Category: h.category.Category})
	if a := karel.Ask(t, phone.Signed(t, issued.Ticket, servertest.NonceOf(t, held.Nonce))); a.Reason != ticket.Admitted {
		t.Fatal(a.Reason)
	}
	if a := eva.Ask(t, phone.Signed(t, issued.Ticket, servertest.NonceOf(t, held.Nonce))); a.Reason != ticket.AlreadyUsed {
		t.Errorf("while it holds the gate: %s", a.Reason)
	}
	servertest.Must(client.Do[struct{}](context.Background(), karel.Client, http.MethodPost, "/v1/nonce-leases/"+held.Lease+"/release", nil))(t)
	if a := eva.Ask(t, phone.Signed(t, issued.Ticket, eva.Hold(t))); a.Reason != ticket.Admitted || !a.Recovered {
		t.Errorf("after it gave the gate back: %+v", a)
	}
}

func TestOfTwoDoorsThatRecoverAtOnceOneDoes(t *testing.T) {
	t.Parallel()
	bothForms(t, func(t *testing.T, opts ...servertest.Option) {
		h := newLossy(t, opts...)
		second := servertest.On(t, h.DB, opts...)
		karel := h.Controller("Karel", session.Controller)
		eva, olga := h.Controller("Eva", session.Controller), h.Controller("Olga", session.Controller).At(second)
		h.warm(t, karel)
		for range 5 {
			h.warm(t, eva)
			h.warm(t, olga)
			phone, id, _ := h.admitted(t, karel)
			h.DB.Shift(t, 11*time.Second)
			code := phone.Signed(t, id, eva.Hold(t))
			var both sync.WaitGroup
			var reasons [2]ticket.Reason
			for i, by := range []*servertest.Gatekeeper{eva, olga} {
				both.Go(func() { reasons[i] = by.Ask(t, code).Reason })
			}
			both.Wait()
			if reasons != [2]ticket.Reason{ticket.Admitted, ticket.AlreadyUsed} && reasons != [2]ticket.Reason{ticket.AlreadyUsed, ticket.Admitted} {
				t.Errorf("the answers: %v", reasons)
			}
			if row := h.Row(t, id); row.Entries != 1 {
				t.Errorf("the ticket: %+v", row)
			}
		}
	})
}

func TestTheThirdOldCodeOfATicketIsAQuestion(t *testing.T) {
	t.Parallel()
	bothForms(t, func(t *testing.T, opts ...servertest.Option) {
		h := servertest.NewHouse(t, opts...)
		karel := h.Controller("Karel", session.Controller)
		phone, issued := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
		code := phone.Signed(t, issued.Ticket, karel.Hold(t))
		h.DB.Shift(t, 36*time.Second)
		var advice []string
		for i, want := range []ticket.Class{ticket.ClassAgain, ticket.ClassAgain, ticket.ClassAsk, ticket.ClassAsk} {
			a := karel.Ask(t, code)
			if a.Reason != ticket.StaleNonce || a.Class != want {
				t.Errorf("old code %d: %s, %s", i+1, a.Reason, a.Class)
			}
			advice = append(advice, a.Advice)
		}
		if advice[0] == advice[2] || advice[2] == "" {
			t.Errorf("the advice: %q", advice)
		}
		if a := karel.Ask(t, phone.Signed(t, issued.Ticket, karel.Hold(t))); a.Reason != ticket.Admitted {
			t.Errorf("the living code: %s", a.Reason)
		}
	})
}
