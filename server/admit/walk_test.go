package admit_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"portillon/server/client"
	"portillon/server/pg"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
)

func containsConstraint(err error, name string) bool {
	return strings.HasPrefix(pg.Constraint(err), name)
}

const base45 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:"

func TestACodeWithAnyCharacterChangedIsOneOfSixReasonsAndNeverAFault(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	phone, id := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	code := phone.Signed(t, id.Ticket, karel.Hold(t))
	allowed := map[ticket.Reason]bool{
		ticket.Malformed: true, ticket.UnsupportedVersion: true, ticket.NotATicket: true,
		ticket.UnknownTicket: true, ticket.BadSignature: true, ticket.UnknownNonce: true,
	}
	seen := map[ticket.Reason]int{}
	for i := range len(code) {
		other := base45[rand.IntN(len(base45))]
		for other == code[i] {
			other = base45[rand.IntN(len(base45))]
		}
		changed := code[:i] + string(other) + code[i+1:]
		a := karel.Ask(t, changed)
		seen[a.Reason]++
		if !allowed[a.Reason] {
			t.Errorf("position %d, %q for %q: %s", i, other, code[i], a.Reason)
		}
		if a.Ticket != nil || a.FirstUse != nil {
			t.Errorf("position %d: something is said of the ticket: %+v", i, a)
		}
	}
	if a := karel.Ask(t, code); a.Reason != ticket.Admitted {
		t.Errorf("the code itself: %s", a.Reason)
	}
	t.Logf("%d positions: %v", len(code), seen)
}

func TestOneGateServesSixShowingsAndEachVerdictNamesScreenAndSeat(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	type guest struct {
		phone        *servertest.Phone
		id           ticket.ID
		screen, seat string
	}
	var queue []guest
	for i, film := range []string{"Playtime", "Stalker", "Ran", "Daisies", "M", "Orphée"} {
		screen := "Screen " + string(rune('1'+i))
		event := h.NewEvent(film, screen, -time.Duration(i)*20*time.Minute, nil)
		category := h.NewCategory(event.Event, client.NewCategory{Name: "Standard"})
		for _, seat := range []string{"A1", "B2", "C3"} {
			phone, issued := h.Claimed(event.Event, client.NewTickets{Category: category.Category, Seat: seat})
			queue = append(queue, guest{phone, issued.Ticket, screen, seat})
		}
	}
	rand.Shuffle(len(queue), func(i, j int) { queue[i], queue[j] = queue[j], queue[i] })
	nonce := karel.Hold(t)
	for _, g := range queue {
		a := karel.Ask(t, g.phone.Signed(t, g.id, nonce))
		if a.Reason != ticket.Admitted || a.Ticket.Screen != g.screen || a.Ticket.Seat != g.seat {
			t.Errorf("want %s %s, got %s %+v", g.screen, g.seat, a.Reason, a.Ticket)
		}
	}
}

func TestATicketOfAnotherShowingIsNamedWithPlaceAndTime(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	later := h.NewEvent("Nosferatu", "Screen 7", time.Hour, nil)
	category := h.NewCategory(later.Event, client.NewCategory{Name: "Standard"})
	phone, id := h.Claimed(later.Event, client.NewTickets{Category: category.Category})
	a := karel.Ask(t, phone.Signed(t, id.Ticket, karel.Hold(t)))
	if a.Reason != ticket.WrongEvent || a.Class != ticket.ClassAsk || a.Ticket == nil || a.Ticket.EventName != "Nosferatu" ||
		a.Ticket.Screen != "Screen 7" || a.Ticket.VenueName != "Odéon" || !a.Ticket.DoorsOpenAt.Equal(later.DoorsOpenAt) {
		t.Errorf("doors not open: %+v %+v", a, a.Ticket)
	}

	elsewhere := servertest.Furnish(t, h.Server)
	stranger, foreign := elsewhere.Claimed(elsewhere.Event.Event, client.NewTickets{Category: elsewhere.Standard.Category})
	a = karel.Ask(t, stranger.Signed(t, foreign.Ticket, karel.Hold(t)))
	if a.Reason != ticket.WrongEvent || a.Ticket.Venue != elsewhere.Venue.Venue {
		t.Errorf("another venue: %+v", a)
	}
	other := elsewhere.Controller("Petr", session.Controller)
	if a := other.AskAs(t, servertest.NewKey(), client.Scan{Gate: h.Gate.Gate, Code: stranger.Signed(t, foreign.Ticket, other.Hold(t))}); a.Reason != ticket.NotAssigned {
		t.Errorf("a device at another venue's gate: %s", a.Reason)
	}
}

func TestEachReasonThatADoorCanMeetOccursOverHTTP(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel, eva := h.Controller("Karel", session.Controller), h.Controller("Eva", session.Controller)
	ctx := context.Background()
	claim := func(category client.Category) (*servertest.Phone, ticket.ID) {
		phone, issued := h.Claimed(h.Event.Event, client.NewTickets{Category: category.Category})
		return phone, issued.Ticket
	}
	standard := func() (string, ticket.ID) {
		phone, id := claim(h.Standard)
		return phone.Signed(t, id, karel.Hold(t)), id
	}
	act := func(id ticket.ID, verb string) {
		_, err := client.Do[map[string]any](ctx, h.Admin, http.MethodPost, "/v1/tickets/"+id.String()+"/"+verb, map[string]string{"reason": "test"})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		want ticket.Reason
		scan func() client.Scan
	}{
		{ticket.Malformed, func() client.Scan { return client.Scan{Code: "PT1:"} }},
		{ticket.NotATicket, func() client.Scan { return client.Scan{Code: "https://example.org/menu"} }},
		{ticket.NotATicket, func() client.Scan { return client.Scan{Code: "WIFI:T:WPA;S:Foyer;P:secret;;"} }},
		{ticket.UnknownTicket, func() client.Scan {
			phone, id := claim(h.Standard)
			held := phone.Keys.Find(id.UUID())
			held.Generation = 9
			return client.Scan{Code: phone.Signed(t, id, karel.Hold(t))}
		}},
		{ticket.BadSignature, func() client.Scan {
			phone, id := claim(h.Standard)
			thief, own := claim(h.Standard)
			phone.Keys.Find(id.UUID()).Key = thief.Keys.Find(own.UUID()).Key
			return client.Scan{Code: phone.Signed(t, id, karel.Hold(t))}
		}},
		{ticket.WrongGate, func() client.Scan {
			upstairs := h.NewCategory(h.Event.Event, client.NewCategory{Name: "Balcony", Gates: []ticket.GateID{h.Side.Gate}})
			phone, id := claim(upstairs)
			return client.Scan{Code: phone.Signed(t, id, karel.Hold(t))}
		}},
		{ticket.UnknownNonce, func() client.Scan {
			phone, id := claim(h.Standard)
			return client.Scan{Code: phone.Signed(t, id, [16]byte{1})}
		}},
		{ticket.WrongController, func() client.Scan {
			phone, id := claim(h.Standard)
			shown, err := client.Do[client.Hold](ctx, eva.Client, http.MethodPost, "/v1/nonces", map[string]any{"gate": h.Gate.Gate, "kind": "shown"})
			if err != nil {
				t.Fatal(err)
			}
			return client.Scan{Code: phone.Signed(t, id, servertest.NonceOf(t, shown.Nonce))}
		}},
		{ticket.ClockSkew, func() client.Scan {
			phone, id := claim(h.Standard)
			return client.Scan{Code: phone.Timed(t, id, h.DB.Now(t).Add(-time.Hour)), PhoneOffline: true}
		}},
		{ticket.NeedsAssist, func() client.Scan {
			phone, id := claim(h.Standard)
			return client.Scan{Code: phone.Timed(t, id, h.DB.Now(t))}
		}},
		{ticket.FallbackRefused, func() client.Scan {
			strict := h.NewEvent("Live only", "Screen 2", -time.Minute, &client.Policy{Freshness: ticket.Live})
			category := h.NewCategory(strict.Event, client.NewCategory{Name: "Standard"})
			phone, issued := h.Claimed(strict.Event, client.NewTickets{Category: category.Category})
			return client.Scan{Code: phone.Timed(t, issued.Ticket, h.DB.Now(t)), PhoneOffline: true}
		}},
		{ticket.Revoked, func() client.Scan { code, id := standard(); act(id, "revoke"); return client.Scan{Code: code} }},
		{ticket.Held, func() client.Scan { code, id := standard(); act(id, "hold"); return client.Scan{Code: code} }},
		{ticket.TooEarly, func() client.Scan {
			late := h.NewCategory(h.Event.Event, client.NewCategory{Name: "Late", ValidFrom: h.DB.Now(t).Add(time.Minute)})
			phone, id := claim(late)
			return client.Scan{Code: phone.Signed(t, id, karel.Hold(t))}
		}},
		{ticket.TooLate, func() client.Scan {
			over := h.NewCategory(h.Event.Event, client.NewCategory{Name: "Early", ValidUntil: h.DB.Now(t).Add(-time.Minute)})
			phone, id := claim(over)
			return client.Scan{Code: phone.Signed(t, id, karel.Hold(t))}
		}},
		{ticket.ChoosePeople, func() client.Scan {
			phone, id := claim(h.Family)
			return client.Scan{Code: phone.Signed(t, id, karel.Hold(t))}
		}},
		{ticket.EntriesExhausted, func() client.Scan {
			phone, id := claim(h.Family)
			code := phone.Signed(t, id, karel.Hold(t))
			karel.AskAs(t, servertest.NewKey(), client.Scan{Code: code, People: 4})
			return client.Scan{Code: code, People: 1}
		}},
		{ticket.AlreadyUsed, func() client.Scan { code, _ := standard(); karel.Ask(t, code); return client.Scan{Code: code} }},
		{ticket.Admitted, func() client.Scan {
			phone, id := claim(h.Standard)
			return client.Scan{Code: phone.Timed(t, id, h.DB.Now(t)), PhoneOffline: true}
		}},
	} {
		scan := c.scan()
		a := karel.AskAs(t, servertest.NewKey(), scan)
		rule := ticket.RuleOf(c.want)
		if a.Reason != c.want || a.Verdict != rule.Verdict || a.Class != rule.Class {
			t.Errorf("want %s, got %s/%s/%s", c.want, a.Reason, a.Verdict, a.Class)
		}
		if a.Title == "" || a.Advice == "" || strings.HasPrefix(a.Advice, "advice.") {
			t.Errorf("%s: no advice: %q %q", c.want, a.Title, a.Advice)
		}
	}
}

func TestPaperIsAdmittedWhereItsCategoryAllowsItAndDiesWhenThePhoneTakesOver(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	print := func(category client.Category) (client.Issued, client.Printed, error) {
		issued := h.Issue(h.Event.Event, client.NewTickets{Category: category.Category})
		printed, err := client.Do[client.Printed](context.Background(), h.Admin, http.MethodPost,
			"/v1/tickets/"+issued.Tickets[0].Ticket.String()+"/print", map[string]string{"reason": "no phone"})
		return issued, printed, err
	}
	_, printed, err := print(h.Paper)
	if err != nil {
		t.Fatal(err)
	}
	if a := karel.Ask(t, printed.Code); a.Reason != ticket.Admitted || a.Kind != ticket.Paper {
		t.Errorf("paper: %+v", a)
	}
	if a := karel.Ask(t, printed.Code); a.Reason != ticket.AlreadyUsed {
		t.Errorf("paper again: %s", a.Reason)
	}
	if _, _, err := print(h.Standard); !client.IsProblem(err, "ticket.paper_not_allowed") {
		t.Errorf("printing where paper is not allowed: %v", err)
	}
	issued, printed, err := print(h.Paper)
	if err != nil {
		t.Fatal(err)
	}
	phone := h.NewPhone()
	phone.Take(t, issued.ClaimURL)
	if a := karel.Ask(t, printed.Code); a.Reason != ticket.Moved || a.MovedAt.IsZero() {
		t.Errorf("paper after a phone took the ticket: %+v", a)
	}
	if a := karel.Ask(t, phone.Signed(t, issued.Tickets[0].Ticket, karel.Hold(t))); a.Reason != ticket.Admitted || a.MovedAt.IsZero() {
		t.Errorf("the phone then: %+v", a)
	}

	// The other way round, with a picture of the phone's living code.
	first, one := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Paper.Category})
	printed, err = client.Do[client.Printed](context.Background(), h.Admin, http.MethodPost,
		"/v1/tickets/"+one.Ticket.String()+"/print", map[string]string{"reason": "no phone"})
	if err != nil {
		t.Fatal(err)
	}
	if a := karel.Ask(t, first.Signed(t, one.Ticket, karel.Hold(t))); a.Reason != ticket.Moved {
		t.Errorf("the phone after its ticket was printed: %+v", a)
	}
	if a := karel.Ask(t, printed.Code); a.Reason != ticket.Admitted {
		t.Errorf("the paper then: %+v", a)
	}
}

func TestACodeLivesThirtyFiveSeconds(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	phone, id := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	code := phone.Signed(t, id.Ticket, karel.Hold(t))
	h.DB.Shift(t, 36*time.Second)
	if a := karel.Ask(t, code); a.Reason != ticket.StaleNonce || a.Class != ticket.ClassAgain {
		t.Errorf("after 36 s: %+v", a)
	}
	fresh := phone.Signed(t, id.Ticket, karel.Hold(t))
	h.DB.Shift(t, 15*time.Second)
	if a := karel.Ask(t, fresh); a.Reason != ticket.Admitted {
		t.Errorf("after 15 s at most 25 s old: %s", a.Reason)
	}
}

func TestAKeyThatWasUsedForAnotherTicketIsAConflict(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	one, a := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	two, b := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	key, nonce := servertest.NewKey(), karel.Hold(t)
	karel.AskAs(t, key, client.Scan{Code: one.Signed(t, a.Ticket, nonce)})
	_, err := karel.Scan(context.Background(), key, client.Scan{Gate: h.Gate.Gate, Code: two.Signed(t, b.Ticket, nonce)})
	if !client.IsProblem(err, "scan.key_conflict") {
		t.Errorf("got %v", err)
	}
	if row := h.Row(t, b.Ticket); row.Entries != 0 {
		t.Errorf("the other ticket: %+v", row)
	}
}

func TestADryRunJudgesAndWritesNothingButTheAttempt(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	phone, id := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	code, key := phone.Signed(t, id.Ticket, karel.Hold(t)), servertest.NewKey()
	if a := karel.AskAs(t, key, client.Scan{Code: code, DryRun: true}); a.Reason != ticket.Admitted || !a.DryRun {
		t.Errorf("look first: %+v", a)
	}
	if h.Count(t, "admissions") != 0 || h.Row(t, id.Ticket).Entries != 0 || h.Count(t, "attempts WHERE dry_run") != 1 {
		t.Error("a dry run wrote something else than its attempt")
	}
	if a := karel.AskAs(t, key, client.Scan{Code: code}); a.Reason != ticket.Admitted || a.Replayed {
		t.Errorf("then the same key for real: %+v", a)
	}
}

func TestABodyThatIsNoScanIsRefusedWithAStableCode(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	for code, want := range map[string]string{
		"": "request.fields", strings.Repeat("A", 4097): "request.fields", strings.Repeat("A", 64<<10): "request.too_large",
	} {
		_, err := karel.Scan(context.Background(), servertest.NewKey(), client.Scan{Gate: h.Gate.Gate, Code: code})
		var problem *client.Problem
		if !errors.As(err, &problem) || problem.Code != want || problem.Status != http.StatusBadRequest {
			t.Errorf("a code of %d bytes: %v", len(code), err)
		}
	}
	for _, odd := range []string{"\n", " ", "\x00", "A", strings.Repeat("A", 4096)} {
		if a := karel.Ask(t, odd); a.Reason != ticket.Malformed && a.Reason != ticket.NotATicket {
			t.Errorf("%.10q: %s", odd, a.Reason)
		}
	}
}

func TestAnAdmissionIsTakenBackByWhoMadeItOrBySupervisors(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel, eva, boss := h.Controller("Karel", session.Controller), h.Controller("Eva", session.Controller), h.Controller("Olga", session.Supervisor)
	phone, id := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	code, key := phone.Signed(t, id.Ticket, karel.Hold(t)), servertest.NewKey()
	karel.AskAs(t, key, client.Scan{Code: code})
	undo := func(by *servertest.Gatekeeper, opts ...client.Option) error {
		_, err := by.Undo(context.Background(), id.Ticket, key, "the turnstile did not turn", opts...)
		return err
	}
	if err := undo(eva); !client.IsProblem(err, "undo.not_yours") {
		t.Errorf("another controller: %v", err)
	}
	again := client.WithKey(servertest.NewKey())
	if err := undo(karel, again); err != nil {
		t.Errorf("whoever admitted: %v", err)
	}
	if err := undo(karel, again); err != nil {
		t.Errorf("the same undo again: %v", err)
	}
	if err := undo(karel); !client.IsProblem(err, "undo.already_undone") {
		t.Errorf("another undo: %v", err)
	}
	if row := h.Row(t, id.Ticket); row.Status != ticket.Active || row.Entries != 0 || row.Inside != 0 {
		t.Errorf("the ticket: %+v", row)
	}
	if a := karel.AskAs(t, key, client.Scan{Code: code}); a.Reason != ticket.Undone {
		t.Errorf("the undone key: %s", a.Reason)
	}
	key = servertest.NewKey()
	if a := karel.AskAs(t, key, client.Scan{Code: code}); a.Reason != ticket.Admitted {
		t.Errorf("a new key: %s", a.Reason)
	}
	h.DB.Shift(t, 16*time.Minute)
	if err := undo(karel); !client.IsProblem(err, "undo.too_late") {
		t.Errorf("after 16 minutes: %v", err)
	}
	if err := undo(boss); err != nil {
		t.Errorf("a supervisor: %v", err)
	}
	if n := h.Count(t, "admissions WHERE ticket_id = $1", id.Ticket); n != 2 {
		t.Errorf("%d admission rows: an undo deletes nothing", n)
	}
	if n := h.Count(t, "audit WHERE ticket_id = $1 AND act = 'scan.undo'", id.Ticket); n != 2 {
		t.Errorf("%d audit rows", n)
	}
}

func TestSixTypedDigitsStandForAFreshProofOnceAndForAMinute(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	short := func(proof string) (client.Short, error) {
		return client.Do[client.Short](context.Background(), h.Client(""), http.MethodPost, "/v1/wallet/short", map[string]string{"proof": proof})
	}
	give := func(category client.Category) (string, string, ticket.ID) {
		phone, issued := h.Claimed(h.Event.Event, client.NewTickets{Category: category.Category})
		proof := phone.Signed(t, issued.Ticket, karel.Hold(t))
		return servertest.Must(short(proof))(t).Code, proof, issued.Ticket
	}
	digits, _, _ := give(h.Standard)
	key := servertest.NewKey()
	spaced := digits[:3] + " " + digits[3:]
	if a := karel.AskAs(t, key, client.Scan{Code: spaced}); a.Reason != ticket.Admitted || a.Kind != ticket.Short {
		t.Errorf("typed: %+v", a)
	}
	if a := karel.AskAs(t, key, client.Scan{Code: digits}); a.Reason != ticket.Admitted || !a.Replayed {
		t.Errorf("the same scan again: %+v", a)
	}
	if a := karel.Ask(t, digits); a.Reason != ticket.StaleNonce {
		t.Errorf("the same digits as another scan: %s", a.Reason)
	}

	family, proof, _ := give(h.Family)
	newer := servertest.Must(short(proof))(t).Code
	if a := karel.AskAs(t, servertest.NewKey(), client.Scan{Code: family, People: 1}); a.Reason != ticket.UnknownNonce {
		t.Errorf("digits after newer ones: %s", a.Reason)
	}
	if a := karel.AskAs(t, servertest.NewKey(), client.Scan{Code: newer, People: 1}); a.Reason != ticket.Admitted {
		t.Errorf("the newer digits: %s", a.Reason)
	}

	elsewhere := servertest.Furnish(t, h.Server)
	other, _, _ := give(h.Standard)
	petr := elsewhere.Controller("Petr", session.Controller)
	if a := petr.Ask(t, other); a.Reason != ticket.UnknownNonce {
		t.Errorf("at another venue: %s", a.Reason)
	}
	h.DB.Shift(t, 61*time.Second)
	if a := karel.Ask(t, other); a.Reason != ticket.StaleNonce {
		t.Errorf("after a minute: %s", a.Reason)
	}
	if _, err := short(proof); !client.IsProblem(err, "short.stale") {
		t.Errorf("digits for a stale proof: %v", err)
	}
	if _, err := short("PT1:"); !client.IsProblem(err, "wallet.proof_refused") {
		t.Errorf("digits for no proof: %v", err)
	}
}
