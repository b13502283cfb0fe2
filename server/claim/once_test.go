package claim

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/server/pgtest"
	"portillon/server/ticket"
	"portillon/wallet"
)

func TestOneLinkOpenedByFiftyPhonesHasOneWinner(t *testing.T) {
	t.Parallel()
	h := served(t, pgtest.New(t, pgtest.MaxConns(24)), 2, "http://127.0.0.1")
	const phones = 50
	type entry struct {
		b    *browser
		keys []key
	}
	var entries []entry
	for range phones {
		b := h.browser()
		challenge := challengeIn(b.open(t, h.code))
		entries = append(entries, entry{b, []key{b.signed(t, h.tickets[1], challenge, h.code), b.signed(t, h.tickets[0], challenge, h.code)}})
	}
	answers := make([]answer, phones)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i, e := range entries {
		wg.Go(func() {
			<-start
			var err error
			answers[i], err = e.b.tryCall("POST", "/v1/claims", map[string]any{"code": h.code, "keys": e.keys})
			if err != nil {
				t.Error(err)
			}
		})
	}
	close(start)
	wg.Wait()
	winner := -1
	for i, a := range answers {
		switch {
		case a.status == http.StatusCreated && winner < 0:
			winner = i
		case a.status != http.StatusConflict || a.code() != "claim.taken" || a.fact("at") == nil || a.fact("browser") != "Safari, iPhone":
			t.Errorf("phone %d: %d %v", i, a.status, a.body)
		}
	}
	if winner < 0 {
		t.Fatal("nobody won")
	}
	for i, id := range h.tickets {
		var public []byte
		var claims int
		if err := h.db.Pool.QueryRow(t.Context(), `SELECT max(public_key::text)::bytea, count(*) FROM claims WHERE ticket_id = $1`, id).Scan(&public, &claims); err != nil {
			t.Fatal(err)
		}
		raw := wallet.PublicKeyOf(&entries[winner].b.Find(id.UUID()).Key.PublicKey)
		if claims != 1 || h.generation(t, id) != 1 || string(public) != string(raw[:]) {
			t.Fatalf("ticket %d: %d claims, generation %d, the winner's key: %v", i, claims, h.generation(t, id), string(public) == string(raw[:]))
		}
	}
	// The winner's answer was lost: the very same request gets it again.
	again := entries[winner].b.call(t, "POST", "/v1/claims", map[string]any{"code": h.code, "keys": entries[winner].keys})
	if again.status != http.StatusCreated || fmt.Sprint(again.body["tickets"]) != fmt.Sprint(answers[winner].body["tickets"]) || again.cookie == nil {
		t.Fatalf("%d %v", again.status, again.body)
	}
}

func TestALostAnswerIsHadAgainWithTheSameKeys(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 2)
	b := h.browser()
	challenge := challengeIn(b.open(t, h.code))
	keys := []key{b.signed(t, h.tickets[0], challenge, h.code), b.signed(t, h.tickets[1], challenge, h.code)}
	first := b.send(t, h.code, keys...)
	// Both at once, as a page does that sends again while the first is under way.
	answers := make([]answer, 4)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			var err error
			if answers[i], err = b.tryCall("POST", "/v1/claims", map[string]any{"code": h.code, "keys": keys}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, a := range answers {
		if a.status != 201 || fmt.Sprint(a.body["tickets"]) != fmt.Sprint(first.body["tickets"]) {
			t.Fatalf("the same request: %d %v", a.status, a.body)
		}
	}
	// Much later, with a fresh challenge and after the ticket was used.
	h.db.Shift(t, time.Hour)
	h.exec(t, `UPDATE tickets SET status = 'used', entries = 1, inside = 1 WHERE id = @ticket`, pgx.NamedArgs{"ticket": h.tickets[0]})
	later := b.claim(t, h.code, h.tickets...)
	if later.status != 201 || fmt.Sprint(later.body["tickets"]) != fmt.Sprint(first.body["tickets"]) {
		t.Fatalf("a fresh challenge: %d %v", later.status, later.body)
	}
	var claims int
	if err := h.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM claims`).Scan(&claims); err != nil || claims != 2 {
		t.Fatalf("%d claims, %v", claims, err)
	}
}

func TestAClaimThatWasRepeatedAfterTheTicketMovedOnDoesNotTakeItBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	b := h.browser()
	sent := b.signed(t, h.tickets[0], challengeIn(b.open(t, h.code)), h.code)
	if a := b.send(t, h.code, sent); a.status != 201 {
		t.Fatalf("%d %v", a.status, a.body)
	}
	h.print(t, h.tickets[0])
	want(t, "the same request again", b.send(t, h.code, sent), 410, "claim.challenge_ended")
	if h.generation(t, h.tickets[0]) != 2 {
		t.Fatal("the paper was ended")
	}
}

func TestTwoOrdersThatOverlapInOppositeOrderDoNotBlockEachOther(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 6)
	forward, backward := h.browser(), h.browser()
	var keys [2][]key
	for i, b := range []*browser{forward, backward} {
		challenge := challengeIn(b.open(t, h.code))
		for j := range h.tickets {
			id := h.tickets[j]
			if i == 1 {
				id = h.tickets[len(h.tickets)-1-j]
			}
			keys[i] = append(keys[i], b.signed(t, id, challenge, h.code))
		}
	}
	var won [2]int
	var wg sync.WaitGroup
	for i, b := range []*browser{forward, backward} {
		wg.Go(func() {
			a, err := b.tryCall("POST", "/v1/claims", map[string]any{"code": h.code, "keys": keys[i]})
			if err != nil {
				t.Error(err)
			}
			won[i] = a.status
		})
	}
	wg.Wait()
	if won != [2]int{201, 409} && won != [2]int{409, 201} {
		t.Fatalf("%v", won)
	}
}

func TestALinkCannotHoldUpTicketsThatAreNotItsOwn(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 2)
	other := served(t, h.db, 1, "http://127.0.0.1")
	again := h.reissue(t, h.tickets[1])
	b := h.browser()
	challenge := challengeIn(b.open(t, h.code))
	gate, err := h.db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = gate.Rollback(context.Background()) })
	if _, err := gate.Exec(t.Context(), `SELECT id FROM tickets WHERE id = ANY($1) FOR NO KEY UPDATE`,
		[]ticket.ID{other.tickets[0], h.tickets[1]}); err != nil {
		t.Fatal(err)
	}
	// To wait for the gate would end with the lock's timeout.
	for name, id := range map[string]ticket.ID{"of another order": other.tickets[0], "of a newer link": h.tickets[1]} {
		a := b.send(t, h.code, b.signed(t, id, challenge, h.code))
		if field, _ := a.field(); a.status != 400 || a.code() != "request.fields" || field != "keys[0].ticket" {
			t.Errorf("a ticket %s: %d %v", name, a.status, a.body)
		}
	}
	a := b.send(t, again, b.signed(t, h.tickets[0], challenge, again))
	if field, _ := a.field(); a.status != 400 || field != "keys[0].ticket" {
		t.Errorf("a ticket of the older link: %d %v", a.status, a.body)
	}
	want(t, "the link's own ticket", b.send(t, h.code, b.signed(t, h.tickets[0], challenge, h.code)), 201, "")
}
