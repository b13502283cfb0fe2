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

// keeper is a gatekeeper with the calls of this file.
type keeper struct {
	*servertest.Gatekeeper
	h *servertest.House
}

func (k keeper) post(t *testing.T, key ticket.Key, path string, body map[string]any) client.ScanAnswer {
	t.Helper()
	if body["gate"] == nil {
		body["gate"] = k.h.Gate.Gate
	}
	return servertest.Must(client.Do[client.ScanAnswer](context.Background(), k.Client, http.MethodPost, path, body, client.WithKey(key)))(t)
}

func (k keeper) override(t *testing.T, code string) client.ScanAnswer {
	t.Helper()
	return k.post(t, servertest.NewKey(), "/v1/scans/override", map[string]any{"code": code, "reason": "I know them"})
}

func TestAUsedTicketYieldsToAControllersJudgementOnceAndThenToASupervisors(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	plain, trusted, boss := keeper{h.Controller("Karel", session.Controller), h}, keeper{h.Overrider("Eva"), h}, keeper{h.Controller("Olga", session.Supervisor), h}
	phone, id := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	code := phone.Signed(t, id.Ticket, plain.Hold(t))
	plain.Ask(t, code)

	for name, c := range map[string]struct {
		who  keeper
		want bool
	}{"plain": {plain, false}, "trusted": {trusted, true}, "boss": {boss, true}} {
		a := c.who.Ask(t, code)
		offered := len(a.Actions) == 1 && a.Actions[0] == "override"
		if a.Reason != ticket.AlreadyUsed || offered != c.want {
			t.Errorf("%s is offered %v", name, a.Actions)
		}
	}
	if a := plain.override(t, code); a.Reason != ticket.AlreadyUsed {
		t.Errorf("without the right: %s", a.Reason)
	}
	if a := trusted.override(t, code); a.Reason != ticket.Admitted || len(a.Overridden) != 1 || a.Overridden[0] != ticket.AlreadyUsed {
		t.Errorf("with the right: %+v", a)
	}
	if a := trusted.override(t, code); a.Reason != ticket.AlreadyUsed {
		t.Errorf("with the right a second time: %s", a.Reason)
	}
	if a := boss.override(t, code); a.Reason != ticket.Admitted {
		t.Errorf("a supervisor: %s", a.Reason)
	}
	if n := h.Count(t, "audit WHERE ticket_id = $1 AND act = 'scan.override' AND reason = 'I know them'", id.Ticket); n != 2 {
		t.Errorf("%d signed overrides", n)
	}
	if n := h.Count(t, "admissions WHERE ticket_id = $1 AND path = 'override' AND reason IS NOT NULL", id.Ticket); n != 2 {
		t.Errorf("%d override admissions", n)
	}
	if row := h.Row(t, id.Ticket); row.Entries != 3 || row.Status != ticket.Used {
		t.Errorf("the ticket: %+v", row)
	}
}

// The answer to an override that was lost is given again as it was: the scanner counts
// and says what was let in by judgement, whichever of the calls it sent again.
func TestTheRepeatedAnswerOfAnOverrideSaysWhatItWasAgainst(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	eva := keeper{h.Overrider("Eva"), h}
	phone, id := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	code, first, key := phone.Signed(t, id.Ticket, eva.Hold(t)), servertest.NewKey(), servertest.NewKey()
	eva.AskAs(t, first, client.Scan{Code: code})
	body := map[string]any{"code": code, "reason": "I know them"}
	eva.post(t, key, "/v1/scans/override", body)
	for name, again := range map[string]client.ScanAnswer{
		"as an override": eva.post(t, key, "/v1/scans/override", body),
		"as a scan":      eva.AskAs(t, key, client.Scan{Code: code}),
	} {
		if !again.Replayed || len(again.Overridden) != 1 || again.Overridden[0] != ticket.AlreadyUsed {
			t.Errorf("%s: replayed %v, overridden %v", name, again.Replayed, again.Overridden)
		}
	}
	if again := eva.AskAs(t, first, client.Scan{Code: code}); !again.Replayed || len(again.Overridden) != 0 {
		t.Errorf("the ordinary entry: replayed %v, overridden %v", again.Replayed, again.Overridden)
	}
}

func TestAnOverrideNeverHidesWhatNobodyMayOverride(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	boss := keeper{h.Controller("Olga", session.Supervisor), h}
	later := h.NewEvent("Nosferatu", "Screen 7", time.Hour, nil)
	category := h.NewCategory(later.Event, client.NewCategory{Name: "Standard"})
	act := func(id ticket.ID, verb string) {
		servertest.Must(client.Do[map[string]any](context.Background(), h.Admin, http.MethodPost, "/v1/tickets/"+id.String()+"/"+verb, map[string]string{"reason": "test"}))(t)
	}
	claimed := func() (string, ticket.ID) {
		phone, issued := h.Claimed(later.Event, client.NewTickets{Category: category.Category})
		return phone.Signed(t, issued.Ticket, boss.Hold(t)), issued.Ticket
	}
	code, _ := claimed()
	if a := boss.override(t, code); a.Reason != ticket.Admitted || a.Overridden[0] != ticket.WrongEvent {
		t.Errorf("doors not open: %+v", a)
	}
	revoked, id := claimed()
	act(id, "revoke")
	if a := boss.override(t, revoked); a.Reason != ticket.Revoked {
		t.Errorf("doors not open and revoked: %s", a.Reason)
	}
	held, id := claimed()
	act(id, "hold")
	if a := boss.override(t, held); a.Reason != ticket.Admitted || len(a.Overridden) != 2 {
		t.Errorf("doors not open and held: %+v", a)
	}
	if row := h.Row(t, id); row.Status != ticket.HeldStatus || row.Entries != 1 {
		t.Errorf("a held ticket stays held: %+v", row)
	}
	elsewhere := servertest.Furnish(t, h.Server)
	phone, foreign := elsewhere.Claimed(elsewhere.Event.Event, client.NewTickets{Category: elsewhere.Standard.Category})
	if a := boss.override(t, phone.Signed(t, foreign.Ticket, boss.Hold(t))); a.Reason != ticket.WrongEvent {
		t.Errorf("another house's ticket: %s", a.Reason)
	}
	h.DB.Shift(t, 36*time.Second)
	if a := boss.override(t, code); a.Reason != ticket.StaleNonce {
		t.Errorf("a stale code: %s", a.Reason)
	}
}

func TestStaffLetInByLookUpUnderTheTicketsOwnRules(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	trusted := keeper{h.Overrider("Eva"), h}
	issued := h.Issue(h.Event.Event, client.NewTickets{Category: h.Standard.Category}) // never claimed
	path, key := "/v1/tickets/"+issued.Tickets[0].Ticket.String()+"/admit", servertest.NewKey()
	if a := trusted.post(t, key, path, map[string]any{"reason": "flat battery, passport seen"}); a.Reason != ticket.Admitted || a.Kind != ticket.None {
		t.Errorf("looked up: %+v", a)
	}
	if a := trusted.post(t, key, path, map[string]any{"reason": "flat battery, passport seen"}); !a.Replayed {
		t.Errorf("the same again: %+v", a)
	}
	if a := trusted.post(t, servertest.NewKey(), path, map[string]any{"reason": "their friend"}); a.Reason != ticket.AlreadyUsed {
		t.Errorf("another person: %s", a.Reason)
	}
	if n := h.Count(t, "admissions WHERE path = 'look_up'"); n != 1 {
		t.Errorf("%d look-up admissions", n)
	}
	_, err := client.Do[client.ScanAnswer](context.Background(), trusted.Client, http.MethodPost, path, map[string]any{"gate": h.Gate.Gate}, client.WithKey(servertest.NewKey()))
	if !client.IsProblem(err, "request.fields") {
		t.Errorf("without a reason: %v", err)
	}
}

func TestUndoingEntriesInAnyOrderLeavesTheCountsRight(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	boss := keeper{h.Controller("Olga", session.Supervisor), h}
	phone, id := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	code := phone.Signed(t, id.Ticket, boss.Hold(t))
	first, second := servertest.NewKey(), servertest.NewKey()
	boss.AskAs(t, first, client.Scan{Code: code})
	boss.post(t, second, "/v1/scans/override", map[string]any{"code": code, "reason": "the usher's child"})
	undo := func(key ticket.Key) {
		servertest.Must(boss.Undo(context.Background(), id.Ticket, key, "test"))(t)
	}
	undo(first)
	if row := h.Row(t, id.Ticket); row.Status != ticket.Used || row.Entries != 1 {
		t.Errorf("one of two taken back: %+v", row)
	}
	if a := boss.Ask(t, code); a.Reason != ticket.AlreadyUsed {
		t.Errorf("it is still used: %s", a.Reason)
	}
	undo(second)
	if row := h.Row(t, id.Ticket); row.Status != ticket.Active || row.Entries != 0 {
		t.Errorf("both taken back: %+v", row)
	}
	if a := boss.Ask(t, code); a.Reason != ticket.Admitted {
		t.Errorf("then: %s", a.Reason)
	}
}

func TestAReceiptSaysThatTheFirstAnswerWasSeen(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel, eva := h.Controller("Karel", session.Controller), h.Controller("Eva", session.Controller)
	phone, id := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	code, key := phone.Signed(t, id.Ticket, karel.Hold(t)), servertest.NewKey()
	karel.AskAs(t, key, client.Scan{Code: code})
	if a := eva.Ask(t, code); a.FirstUse == nil || a.FirstUse.Shown {
		t.Errorf("before the receipt: %+v", a.FirstUse)
	}
	send := func(by *servertest.Gatekeeper) int {
		answer := servertest.Must(client.Do[map[string]int](context.Background(), by.Client, http.MethodPost, "/v1/scans/shown", map[string]any{
			"scans": []any{map[string]any{"ticket": id.Ticket, "key": key}, map[string]any{"ticket": id.Ticket, "key": servertest.NewKey()}},
		}))(t)
		return answer["kept"]
	}
	if n := send(eva); n != 0 {
		t.Errorf("another device's receipt counts: %d", n)
	}
	for range 2 {
		if n := send(karel); n != 1 {
			t.Errorf("%d receipts are kept", n)
		}
	}
	if a := eva.Ask(t, code); a.FirstUse == nil || !a.FirstUse.Shown {
		t.Errorf("after the receipt: %+v", a.FirstUse)
	}
}

func TestAnEntryThatSomebodyLeftAgainSinceIsNotTakenBackAlone(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	boss := h.Controller("Olga", session.Supervisor)
	fair := h.NewEvent("Fair", "Hall", -time.Minute, &client.Policy{Reentry: true})
	category := h.NewCategory(fair.Event, client.NewCategory{Name: "Day"})
	phone, id := h.Claimed(fair.Event, client.NewTickets{Category: category.Category})
	keys := map[string]ticket.Key{"first in": servertest.NewKey(), "out": servertest.NewKey(), "second in": servertest.NewKey()}
	pass := func(name string, direction ticket.Direction) {
		h.DB.Shift(t, 11*time.Second) // a new nonce: one proof makes one passage
		code := phone.Signed(t, id.Ticket, boss.Hold(t))
		if a := boss.AskAs(t, keys[name], client.Scan{Code: code, Direction: direction}); a.Reason != ticket.Admitted || a.Direction != direction {
			t.Fatalf("%s: %+v", name, a)
		}
		if a := boss.AskAs(t, servertest.NewKey(), client.Scan{Code: code, Direction: direction}); a.Reason != ticket.StaleNonce {
			t.Errorf("%s by the same proof: %s", name, a.Reason)
		}
	}
	pass("first in", ticket.In)
	pass("out", ticket.Out)
	pass("second in", ticket.In)
	undo := func(name string) error {
		_, err := boss.Undo(context.Background(), id.Ticket, keys[name], "test")
		return err
	}
	for _, name := range []string{"first in", "out"} {
		if err := undo(name); !client.IsProblem(err, "undo.left_since") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"second in", "out", "first in"} {
		if err := undo(name); err != nil {
			t.Errorf("%s, the latest: %v", name, err)
		}
	}
	if row := h.Row(t, id.Ticket); row.Entries != 0 || row.Inside != 0 || row.Status != ticket.Active {
		t.Errorf("the ticket: %+v", row)
	}
}
