package claim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"portillon/server/news"
	"portillon/server/ticket"
	"portillon/wallet"
)

func TestALinkShowsItsEventAndTicketsAndClaimsThem(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 3)
	b := h.browser()
	offer := b.open(t, h.code)
	event, _ := offer.body["event"].(map[string]any)
	if offer.status != 200 || offer.body["claimable"] != true || event["name"] != "Amélie" || event["venue"] != h.venue.String() ||
		event["venue_name"] != "Odeon" || event["time_zone"] != "Europe/Prague" || event["screen"] != "Sál 2" || len(offer.list("tickets")) != 3 {
		t.Fatalf("%d %v", offer.status, offer.body)
	}
	for i, item := range offer.list("tickets") {
		if item["number"] != float64(i+1) || item["seat"] != fmt.Sprintf("A%d", i+1) || item["category"] != "Standard" || item["claimed"] != false || item["claimable"] != true {
			t.Fatalf("%v", item)
		}
	}
	done := b.claim(t, h.code, h.tickets[2], h.tickets[0])
	if done.status != http.StatusCreated || len(done.list("tickets")) != 2 || done.body["server_time"] == nil {
		t.Fatalf("%d %v", done.status, done.body)
	}
	for _, item := range done.list("tickets") {
		if item["generation"] != 1.0 || item["event"].(map[string]any)["event"] != h.event.String() {
			t.Fatalf("%v", item)
		}
	}
	again := h.browser().open(t, h.code)
	for i, claimed := range []bool{true, false, true} {
		item := again.list("tickets")[i]
		who, is := item["claimed"].(map[string]any)
		if is != claimed || item["claimable"] == claimed || claimed && (who["browser"] != "Safari, iPhone" || who["at"] == nil) {
			t.Fatalf("ticket %d: %v", i, item)
		}
	}
	if h.generation(t, h.tickets[1]) != 0 {
		t.Fatal("a ticket that was not mentioned was claimed")
	}
	var acts int
	if err := h.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM audit WHERE act = 'ticket.claim' AND actor = 'wallet' AND event_id = $1`, h.event).Scan(&acts); err != nil || acts != 2 {
		t.Fatalf("%d acts in the audit, %v", acts, err)
	}
}

func TestAllTicketsOfARequestAreClaimedOrNone(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 3)
	h.browser().claim(t, h.code, h.tickets[1])
	want(t, "one is taken", h.browser().claim(t, h.code, h.tickets...), 409, "claim.taken")
	if h.generation(t, h.tickets[0]) != 0 || h.generation(t, h.tickets[2]) != 0 {
		t.Fatal("a part was claimed")
	}
}

func TestAProofIsForOneChallengeOneEventAndOneLink(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 2)
	other := served(t, h.db, 1, "http://127.0.0.1")
	b := h.browser()
	challenge := challengeIn(b.open(t, h.code))
	good := b.signed(t, h.tickets[0], challenge, h.code)
	held := b.Find(h.tickets[0].UUID())
	sign := func(challenge [32]byte, event ticket.EventID, code string) key {
		held.Event = event.UUID()
		proof, err := held.SignClaim(challenge, code)
		if err != nil {
			t.Fatal(err)
		}
		return key{good.Ticket, good.JWK, proof}
	}
	stranger := h.browser().signed(t, h.tickets[0], challenge, h.code)
	session, err := held.SignSession(challenge)
	if err != nil {
		t.Fatal(err)
	}
	ofSession := challengeIn(b.call(t, "POST", "/v1/wallet/challenge", struct{}{}))
	for name, c := range map[string]struct {
		code   string
		keys   []key
		status int
		fault  string
		field  string
	}{
		"another event":               {h.code, []key{sign(challenge, other.event, h.code)}, 400, "request.fields", "keys[0].proof"},
		"another link":                {h.code, []key{sign(challenge, h.event, other.code)}, 400, "request.fields", "keys[0].proof"},
		"another key":                 {h.code, []key{{good.Ticket, stranger.JWK, good.Proof}}, 400, "request.fields", "keys[0].proof"},
		"a session's template":        {h.code, []key{{good.Ticket, good.JWK, session}}, 400, "request.fields", "keys[0].proof"},
		"no proof":                    {h.code, []key{{good.Ticket, good.JWK, ""}}, 400, "request.fields", "keys[0].proof"},
		"a ticket of another order":   {h.code, []key{{other.tickets[0], good.JWK, good.Proof}}, 400, "request.fields", "keys[0].ticket"},
		"a challenge of nobody":       {h.code, []key{sign([32]byte{1}, h.event, h.code)}, 410, "claim.challenge_ended", ""},
		"a session's challenge":       {h.code, []key{sign(ofSession, h.event, h.code)}, 410, "claim.challenge_ended", ""},
		"the same ticket twice":       {h.code, []key{good, good}, 400, "request.fields", "keys[1].ticket"},
		"one key for two tickets":     {h.code, []key{good, {h.tickets[1], good.JWK, good.Proof}}, 400, "request.fields", "keys[1].jwk"},
		"no ticket":                   {h.code, nil, 400, "request.fields", "keys"},
		"a link that is none":         {"nothing", []key{good}, 404, "claim.code_unknown", ""},
		"a link without a code":       {"", []key{good}, 404, "claim.code_unknown", ""},
		"a code that is far too long": {string(make([]byte, 4000)), []key{good}, 404, "claim.code_unknown", ""},
	} {
		a := b.send(t, c.code, c.keys...)
		if field, _ := a.field(); a.status != c.status || a.code() != c.fault || field != c.field {
			t.Errorf("%s: %d %v", name, a.status, a.body)
		}
	}
	if h.generation(t, h.tickets[0]) != 0 {
		t.Fatal("one of them claimed")
	}
	held.Event = h.event.UUID()
	if a := b.send(t, h.code, good); a.status != 201 {
		t.Fatalf("the challenge was spoiled by refused tries: %d %v", a.status, a.body)
	}
}

func TestAChallengeIsGoodOnceAndForAQuarterOfAnHour(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 2)
	b := h.browser()
	challenge := challengeIn(b.open(t, h.code))
	first, second := b.signed(t, h.tickets[0], challenge, h.code), b.signed(t, h.tickets[1], challenge, h.code)
	if a := b.send(t, h.code, first); a.status != 201 {
		t.Fatalf("%d %v", a.status, a.body)
	}
	want(t, "the challenge again, for another ticket", b.send(t, h.code, second), 410, "claim.challenge_ended")
	want(t, "the challenge again, for both", b.send(t, h.code, first, second), 410, "claim.challenge_ended")
	late := challengeIn(b.open(t, h.code))
	second = b.signed(t, h.tickets[1], late, h.code)
	h.db.Shift(t, 16*time.Minute)
	want(t, "an old challenge", b.send(t, h.code, second), 410, "claim.challenge_ended")
	want(t, "an old receipt", b.send(t, h.code, first), 410, "claim.challenge_ended")
	if a := b.claim(t, h.code, h.tickets[1]); a.status != 201 {
		t.Fatalf("%d %v", a.status, a.body)
	}
}

func TestKeysThatAreNoneAreRefusedAndNamed(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	b := h.browser()
	challenge := challengeIn(b.open(t, h.code))
	good := b.signed(t, h.tickets[0], challenge, h.code)
	var members map[string]any
	if err := json.Unmarshal(good.JWK, &members); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]map[string]any{
		"a point beside the curve":  {"y": members["x"]},
		"the point at infinity":     {"x": wallet43zeros, "y": wallet43zeros},
		"another curve":             {"crv": "P-384"},
		"another kind of key":       {"kty": "RSA"},
		"a key for encryption":      {"use": "enc"},
		"a key that derives":        {"key_ops": []string{"deriveKey"}},
		"operations that disagree":  {"key_ops": []string{"verify", "encrypt"}},
		"another algorithm":         {"alg": "ES384"},
		"a private part":            {"d": members["x"]},
		"a coordinate with padding": {"x": members["x"].(string) + "="},
	} {
		jwk := map[string]any{}
		for _, m := range []map[string]any{members, change} {
			for member, value := range m {
				jwk[member] = value
			}
		}
		text, err := json.Marshal(jwk)
		if err != nil {
			t.Fatal(err)
		}
		a := b.send(t, h.code, key{good.Ticket, text, good.Proof})
		if field, code := a.field(); a.status != 400 || a.code() != "request.fields" || field != "keys[0].jwk" || code != "key_refused" {
			t.Errorf("%s: %d %v", name, a.status, a.body)
		}
	}
	if h.generation(t, h.tickets[0]) != 0 {
		t.Fatal("one of them claimed")
	}
	members["ext"], members["key_ops"] = true, []string{"verify"}
	text, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	if a := b.send(t, h.code, key{good.Ticket, text, good.Proof}); a.status != 201 {
		t.Fatalf("a key as browsers export it: %d %v", a.status, a.body)
	}
}

const wallet43zeros = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

func TestAKeyIsBoundToOneTicketOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 2)
	b := h.browser()
	b.claim(t, h.code, h.tickets[0])
	shared := b.Find(h.tickets[0].UUID()).Key
	other, err := b.Add(h.tickets[1].UUID(), h.event.UUID())
	if err != nil {
		t.Fatal(err)
	}
	other.Key = shared
	want(t, "the key of another ticket", b.claim(t, h.code, h.tickets[1]), 409, "claim.key_bound")
	if h.generation(t, h.tickets[1]) != 0 {
		t.Fatal("claimed in spite of it")
	}
	// The key of a claim that is dead stays dead.
	h.print(t, h.tickets[0])
	want(t, "the key of an older claim", b.claim(t, h.code, h.tickets[0]), 409, "claim.key_bound")
}

func TestWhatCannotBeClaimedNowSaysWhy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sql, code, fact string
	}{
		"too early":     {`UPDATE events SET claim_from = portillon_now() + interval '1 minute' WHERE id = @event`, "claim.too_early", "claim_from"},
		"revoked":       {`UPDATE tickets SET status = 'revoked' WHERE event_id = @event`, "claim.ticket_revoked", "number"},
		"held":          {`UPDATE tickets SET status = 'held' WHERE event_id = @event`, "claim.ticket_held", "number"},
		"used":          {`UPDATE tickets SET status = 'used', entries = 1, inside = 1 WHERE event_id = @event`, "claim.ticket_used", "number"},
		"over":          {`UPDATE events SET doors_open_at = doors_open_at - interval '1 day', starts_at = starts_at - interval '1 day', ends_at = ends_at - interval '1 day' WHERE id = @event`, "claim.event_over", "number"},
		"moved too far": {`UPDATE tickets SET generation = 255 WHERE event_id = @event`, "claim.generations_exhausted", "number"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, 1)
			h.exec(t, c.sql, nil)
			b := h.browser()
			if offer := b.open(t, h.code); offer.status != 200 || offer.body["claimable"] != false || offer.body["claim_from"] == nil {
				t.Fatalf("the link: %d %v", offer.status, offer.body)
			}
			before := h.generation(t, h.tickets[0])
			a := b.claim(t, h.code, h.tickets[0])
			want(t, name, a, 409, c.code)
			if a.fact(c.fact) == nil || a.fact("ticket") != h.tickets[0].String() || h.generation(t, h.tickets[0]) != before {
				t.Fatalf("%v", a.body)
			}
		})
	}
}

func TestAPhoneTakesThePlaceOfPaperAndPaperThatOfAPhone(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	id := h.tickets[0]
	h.print(t, id)
	b := h.browser()
	item := b.open(t, h.code).list("tickets")[0]
	if item["paper"] != true || item["claimed"] != false || item["claimable"] != true {
		t.Fatalf("%v", item)
	}
	items, cancel := h.hub.SubscribeTickets(id)
	defer cancel()
	if a := b.claim(t, h.code, id); a.status != 201 || a.list("tickets")[0]["generation"] != 2.0 {
		t.Fatalf("%d %v", a.status, a.body)
	}
	if got := <-items; got.What != news.Moved || got.Generation != 2 {
		t.Fatalf("%+v", got)
	}
	var replaced string
	if err := h.db.Pool.QueryRow(t.Context(), `SELECT details->>'replaced' FROM audit WHERE ticket_id = $1 ORDER BY id DESC LIMIT 1`, id).Scan(&replaced); err != nil || replaced != "paper" {
		t.Fatalf("%q %v", replaced, err)
	}
	h.print(t, id)
	if got := b.call(t, "GET", "/v1/wallet", nil).list("tickets")[0]; got["state"] != "moved" {
		t.Fatalf("%v", got)
	}
}

func TestAReissuedLinkClaimsOnceMoreAndTheOldOnesNoLonger(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 2)
	id := h.tickets[0]
	old := h.browser()
	old.claim(t, h.code, h.tickets...)
	second := h.reissue(t, id)
	if got := old.call(t, "GET", "/v1/wallet", nil).list("tickets")[0]; got["state"] != "active" || got["ticket"] != id.String() {
		t.Fatalf("the old phone before the new claim: %v", got)
	}
	if offer := h.browser().open(t, h.code); len(offer.list("tickets")) != 1 || offer.list("tickets")[0]["ticket"] != h.tickets[1].String() {
		t.Fatalf("the order's link: %v", offer.body)
	}
	third := h.reissue(t, id)
	want(t, "a link that was reissued", h.browser().open(t, second), 410, "claim.code_ended")
	b := h.browser()
	if item := b.open(t, third).list("tickets")[0]; item["claimable"] != true || item["claimed"].(map[string]any)["browser"] == "" {
		t.Fatalf("%v", item)
	}
	if a := b.claim(t, third, id); a.status != 201 || a.list("tickets")[0]["generation"] != 2.0 {
		t.Fatalf("%d %v", a.status, a.body)
	}
	want(t, "the new link a second time", h.browser().claim(t, third, id), 409, "claim.taken")
	states := map[string]any{}
	for _, item := range old.call(t, "GET", "/v1/wallet", nil).list("tickets") {
		states[item["ticket"].(string)] = item["state"]
	}
	if states[id.String()] != "moved" || states[h.tickets[1].String()] != "active" {
		t.Fatalf("%v", states)
	}
	h.exec(t, `UPDATE orders SET claim_serial = 2 WHERE id = @order`, nil)
	want(t, "an order's link that was reissued", h.browser().open(t, h.code), 410, "claim.code_ended")
	want(t, "a link that is none", h.browser().open(t, "x"), 404, "claim.code_unknown")
}

func TestTheClaimThatIsStoredIsTheKeyThatSigned(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	b := h.browser()
	b.claim(t, h.code, h.tickets[0])
	var public, thumbprint []byte
	if err := h.db.Pool.QueryRow(t.Context(), `
SELECT c.public_key, k.thumbprint FROM claims c JOIN keys k USING (ticket_id, generation)
WHERE c.ticket_id = $1 AND c.generation = 1 AND c.kind = 'phone' AND c.serial = 0`, h.tickets[0]).Scan(&public, &thumbprint); err != nil {
		t.Fatal(err)
	}
	key := &b.Find(h.tickets[0].UUID()).Key.PublicKey
	raw, thumb := wallet.PublicKeyOf(key), wallet.Thumbprint(key)
	if string(public) != string(raw[:]) || string(thumbprint) != string(thumb[:]) {
		t.Fatal("another key is stored")
	}
}
