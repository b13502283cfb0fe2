package claim

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/server/pgtest"
	"portillon/server/ticket"
)

func TestAKeyGetsTheCookieBackForExactlyItsTickets(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 3)
	b, other := h.browser(), h.browser()
	b.claim(t, h.code, h.tickets[0], h.tickets[1])
	other.claim(t, h.code, h.tickets[2])
	before := b.call(t, "GET", "/v1/wallet", nil)
	b.cookie = nil
	want(t, "without a cookie", b.call(t, "GET", "/v1/wallet", nil), 401, "session.wallet_required")

	opened := b.sessionWith(t, h.tickets[0], h.tickets[1])
	if opened.status != 200 || opened.cookie == nil || fmt.Sprint(opened.body["tickets"]) != fmt.Sprint(before.body["tickets"]) {
		t.Fatalf("%d %v", opened.status, opened.body)
	}
	if got := b.call(t, "GET", "/v1/wallet", nil); fmt.Sprint(got.body["tickets"]) != fmt.Sprint(opened.body["tickets"]) {
		t.Fatalf("%v", got.body)
	}
	// A proof by another key, or for a claim that never was, opens nothing.
	held := b.Find(h.tickets[0].UUID())
	forged, err := b.Add(h.tickets[2].UUID(), h.event.UUID())
	if err != nil {
		t.Fatal(err)
	}
	forged.Generation = 1
	partly := b.sessionWith(t, h.tickets[0], h.tickets[2])
	if list := partly.list("tickets"); partly.status != 200 || len(list) != 1 || list[0]["ticket"] != h.tickets[0].String() {
		t.Fatalf("%d %v", partly.status, partly.body)
	}
	want(t, "a forged proof", b.sessionWith(t, h.tickets[2]), 401, "wallet.proof_refused")
	held.Generation = 7
	want(t, "a claim that never was", b.sessionWith(t, h.tickets[0]), 401, "wallet.proof_refused")
}

func TestASessionsChallengeIsGoodOnceForTwoMinutesAndForNothingElse(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	b := h.browser()
	b.claim(t, h.code, h.tickets[0])
	challenge := challengeIn(b.call(t, "POST", "/v1/wallet/challenge", struct{}{}))
	if a := b.sessionOver(t, challenge, h.tickets[0]); a.status != 200 {
		t.Fatalf("%d %v", a.status, a.body)
	}
	want(t, "a second time", b.sessionOver(t, challenge, h.tickets[0]), 410, "claim.challenge_ended")
	want(t, "never issued", b.sessionOver(t, [32]byte{7}, h.tickets[0]), 410, "claim.challenge_ended")
	want(t, "a claim's", b.sessionOver(t, challengeIn(b.open(t, h.code)), h.tickets[0]), 410, "claim.challenge_ended")
	late := challengeIn(b.call(t, "POST", "/v1/wallet/challenge", struct{}{}))
	h.db.Shift(t, 3*time.Minute)
	want(t, "too late", b.sessionOver(t, late, h.tickets[0]), 410, "claim.challenge_ended")
	for name, body := range map[string]any{
		"no proof":    map[string]any{"tickets": []any{}},
		"not a proof": map[string]any{"tickets": []map[string]any{{"ticket": h.tickets[0], "generation": 1, "proof": "eyJ"}}},
	} {
		want(t, name, b.call(t, "POST", "/v1/wallet/session", body), 400, "request.fields")
	}
}

func TestADeadGenerationIsListedAsMovedAndTellsNothingMore(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	id := h.tickets[0]
	b := h.browser()
	b.claim(t, h.code, id)
	code := h.reissue(t, id)
	fresh := h.browser()
	fresh.claim(t, code, id)
	h.admit(t, id)
	opened := b.sessionWith(t, id)
	item := opened.list("tickets")[0]
	if opened.status != 200 || item["state"] != "moved" || item["generation"] != 1.0 || item["admitted"] != nil || item["entries"] != 0.0 {
		t.Fatalf("%d %v", opened.status, opened.body)
	}
	item = fresh.call(t, "GET", "/v1/wallet", nil).list("tickets")[0]
	admitted, _ := item["admitted"].(map[string]any)
	if item["state"] != "used" || item["entries"] != 1.0 || admitted["gate"] != "Main" || admitted["at"] == nil {
		t.Fatalf("%v", item)
	}
	h.exec(t, `INSERT INTO undos (ticket_id, key, at, reason) SELECT ticket_id, key, portillon_now(), 'wrong person' FROM admissions`, nil)
	h.exec(t, `UPDATE tickets SET status = 'active', entries = 0, inside = 0 WHERE id = @ticket`, pgx.NamedArgs{"ticket": id})
	item = fresh.call(t, "GET", "/v1/wallet", nil).list("tickets")[0]
	if item["state"] != "active" || item["admitted"] != nil {
		t.Fatalf("after an undo: %v", item)
	}
}

// admit writes what the door writes.
func (h house) admit(t *testing.T, id ticket.ID) {
	t.Helper()
	args := pgx.NamedArgs{"ticket": id, "gate": ticket.New[int](), "key": ticket.New[int](), "person": ticket.New[int]()}
	h.exec(t, `INSERT INTO gates (id, venue_id, name) VALUES (@gate, @venue, 'Main')`, args)
	h.exec(t, `INSERT INTO admissions (ticket_id, key, at, event_id, gate_id, person_id, direction, people, entries_after, inside_after, kind, generation)
		VALUES (@ticket, @key, portillon_now(), @event, @gate, @person, 'in', 1, 1, 1, 'pushed', 2)`, args)
	h.exec(t, `UPDATE tickets SET status = 'used', entries = 1, inside = 1 WHERE id = @ticket`, args)
}

func TestASecondClaimOnTheSamePhoneKeepsTheFirstInTheWallet(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 2)
	later := served(t, h.db, 1, "http://127.0.0.1")
	b := h.browser()
	b.claim(t, h.code, h.tickets[0])
	b.event = later.event
	if a := b.claim(t, later.code, later.tickets[0]); a.status != 201 || len(a.list("tickets")) != 1 {
		t.Fatalf("%d %v", a.status, a.body)
	}
	if got := b.call(t, "GET", "/v1/wallet", nil); len(got.list("tickets")) != 2 {
		t.Fatalf("%v", got.body)
	}
}

func TestTheCookieIsOutOfReachOfScriptsAndLivesUntilTheEventIsOver(t *testing.T) {
	t.Parallel()
	for url, name := range map[string]string{"http://127.0.0.1": "portillon-wallet", "https://tickets.example.org": "__Host-portillon-wallet"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := served(t, pgtest.New(t), 1, url)
			b := h.browser()
			c := b.claim(t, h.code, h.tickets[0]).cookie
			if c.Name != name || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" ||
				c.Secure != strings.HasPrefix(url, "https") || len(c.Value) != 43 {
				t.Fatalf("%+v", c)
			}
			// Four hours to the event's end, and one more.
			if lives := time.Duration(c.MaxAge) * time.Second; lives > 5*time.Hour || lives < 5*time.Hour-time.Minute {
				t.Fatalf("lives %v", lives)
			}
			if a := b.call(t, "GET", "/v1/wallet", nil); a.status != 200 {
				t.Fatalf("%d %v", a.status, a.body)
			}
			h.db.Shift(t, 5*time.Hour)
			want(t, "after it has lapsed", b.call(t, "GET", "/v1/wallet", nil), 401, "session.wallet_required")
		})
	}
}

func TestWhatLapsedIsSweptByTheNextOne(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 2)
	b := h.browser()
	b.claim(t, h.code, h.tickets[0])
	b.open(t, h.code)
	h.db.Shift(t, 6*time.Hour)
	h.exec(t, `UPDATE events SET doors_open_at = portillon_now(), starts_at = portillon_now(), ends_at = portillon_now() + interval '1 hour' WHERE id = @event`, nil)
	h.browser().claim(t, h.code, h.tickets[1])
	var challenges, sessions int
	if err := h.db.Pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM challenges), (SELECT count(*) FROM wallet_sessions)`).Scan(&challenges, &sessions); err != nil {
		t.Fatal(err)
	}
	if challenges != 1 || sessions != 1 { // the receipt of the last claim, and its session
		t.Fatalf("%d challenges and %d sessions are kept", challenges, sessions)
	}
}
