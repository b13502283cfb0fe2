package claim

import (
	"encoding/base32"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/server/pgtest"
	"portillon/server/seal"
	"portillon/server/ticket"
)

// totp asks for a ticket's secret with the key that the phone has.
func (b *browser) totp(t *testing.T, id ticket.ID) answer {
	t.Helper()
	made := b.call(t, "POST", "/v1/wallet/challenge", struct{}{})
	a := b.totpOver(t, challengeIn(made), id)
	if a.status == 200 {
		secretIn(t, a)
	}
	return a
}

func (b *browser) totpOver(t *testing.T, challenge [32]byte, id ticket.ID) answer {
	t.Helper()
	return b.call(t, "POST", "/v1/wallet/totp", b.totpProof(t, challenge, id))
}

func (b *browser) totpProof(t *testing.T, challenge [32]byte, id ticket.ID) ProofIn {
	t.Helper()
	held := b.Find(id.UUID())
	proof, err := held.SignSession(challenge)
	if err != nil {
		t.Fatal(err)
	}
	return ProofIn{Ticket: id, Generation: held.Generation, Proof: proof}
}

// secretIn is the secret that an answer hands out; no row may hold it.
func secretIn(t *testing.T, a answer) []byte {
	t.Helper()
	text, _ := a.body["secret"].(string)
	secret, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(text)
	if err != nil || len(secret) != 20 {
		t.Fatalf("%d %v: not a secret: %v", a.status, a.body, err)
	}
	pgtest.Secret(t, text)
	pgtest.Secret(t, string(secret))
	return secret
}

func TestAClaimHasOneSecretForOneTimeCodesAndGetsTheSameAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 2)
	b := h.browser()
	b.claim(t, h.code, h.tickets...)
	first, second := b.totp(t, h.tickets[0]), b.totp(t, h.tickets[0])
	if string(secretIn(t, first)) != string(secretIn(t, second)) {
		t.Error("the same claim got two secrets")
	}
	if string(secretIn(t, first)) == string(secretIn(t, b.totp(t, h.tickets[1]))) {
		t.Error("two tickets share a secret")
	}
	for name, value := range map[string]any{
		"ticket": h.tickets[0].String(), "generation": 1.0, "number": 1.0, "algorithm": "SHA1", "digits": 8.0, "period": 15.0,
	} {
		if first.body[name] != value {
			t.Errorf("%s is %v, want %v", name, first.body[name], value)
		}
	}
}

func TestTwoWhoAskAtOnceGetOneSecret(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	b := h.browser()
	b.claim(t, h.code, h.tickets[0])
	var proofs [8]ProofIn
	for i := range proofs {
		proofs[i] = b.totpProof(t, challengeIn(b.call(t, "POST", "/v1/wallet/challenge", struct{}{})), h.tickets[0])
	}
	var answers [len(proofs)]answer
	var errs [len(proofs)]error
	var all sync.WaitGroup
	for i := range proofs {
		all.Go(func() { answers[i], errs[i] = b.tryCall("POST", "/v1/wallet/totp", proofs[i]) })
	}
	all.Wait()
	for i, a := range answers {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		if string(secretIn(t, a)) != string(secretIn(t, answers[0])) {
			t.Errorf("caller %d got another secret", i)
		}
	}
}

func TestOnlyTheKeyOfThePresentClaimGetsTheSecret(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 2)
	id := h.tickets[0]
	b, thief := h.browser(), h.browser()
	b.claim(t, h.code, id)
	old := secretIn(t, b.totp(t, id))
	thief.claim(t, h.code, h.tickets[1])
	forged, err := thief.Add(id.UUID(), h.event.UUID())
	if err != nil {
		t.Fatal(err)
	}
	forged.Generation = 1
	want(t, "another key", thief.totp(t, id), 401, "wallet.proof_refused")
	challenge := challengeIn(b.call(t, "POST", "/v1/wallet/challenge", struct{}{}))
	if a := b.totpOver(t, challenge, id); a.status != 200 {
		t.Fatalf("%d %v", a.status, a.body)
	}
	want(t, "a challenge again", b.totpOver(t, challenge, id), 410, "claim.challenge_ended")
	want(t, "a claim's challenge", b.totpOver(t, challengeIn(b.open(t, h.code)), id), 410, "claim.challenge_ended")
	want(t, "no proof", b.call(t, "POST", "/v1/wallet/totp", ProofIn{Ticket: id, Generation: 1, Proof: "eyJ"}), 400, "request.fields")

	code, fresh := h.reissue(t, id), h.browser()
	fresh.claim(t, code, id)
	want(t, "after the ticket has moved", b.totp(t, id), 409, "claim.moved")
	if string(secretIn(t, fresh.totp(t, id))) == string(old) {
		t.Error("the new claim has the old one's secret")
	}
	h.print(t, id)
	want(t, "after it was printed", fresh.totp(t, id), 409, "claim.moved")
}

func TestNoSecretIsGivenForAnEventThatTakesNoneOrIsOver(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	b := h.browser()
	b.claim(t, h.code, h.tickets[0])
	h.exec(t, `UPDATE events SET freshness = 'live' WHERE id = @event`, nil)
	want(t, "living codes only", b.totp(t, h.tickets[0]), 409, "totp.not_for_event")
	h.exec(t, `UPDATE events SET freshness = 'open' WHERE id = @event`, nil)
	h.db.Shift(t, 4*time.Hour)
	want(t, "over", b.totp(t, h.tickets[0]), 409, "claim.event_over")
	var rows int
	if err := h.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM one_time_codes`).Scan(&rows); err != nil || rows != 0 {
		t.Errorf("%d secrets are kept, %v", rows, err)
	}
}

func TestASealedSecretOpensInItsOwnPlaceOnly(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 2)
	b := h.browser()
	b.claim(t, h.code, h.tickets...)
	secret := secretIn(t, b.totp(t, h.tickets[0]))
	var sealed []byte
	if err := h.db.Pool.QueryRow(t.Context(), `SELECT sealed FROM one_time_codes`).Scan(&sealed); err != nil {
		t.Fatal(err)
	}
	box, err := seal.New(make([]byte, seal.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	if opened, err := OpenTOTP(box, h.tickets[0], 1, sealed); err != nil || string(opened) != string(secret) {
		t.Errorf("in its place: %v", err)
	}
	if _, err := OpenTOTP(box, h.tickets[1], 1, sealed); !errors.Is(err, seal.ErrKey) {
		t.Errorf("at another ticket: %v", err)
	}
	if _, err := OpenTOTP(box, h.tickets[0], 2, sealed); !errors.Is(err, seal.ErrKey) {
		t.Errorf("at another generation: %v", err)
	}
	h.exec(t, `UPDATE one_time_codes SET ticket_id = @ticket`, pgx.NamedArgs{"ticket": h.tickets[1]})
	if a := b.totp(t, h.tickets[1]); a.status != 500 {
		t.Errorf("a secret that was moved to another ticket: %d", a.status)
	}
}
