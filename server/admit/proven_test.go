package admit

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"testing"

	"github.com/google/uuid"

	"portillon/server/ticket"
	"portillon/wallet"
)

func TestAGoodSignatureIsRememberedForItsKeyAndEventOnlyAndABadOneNever(t *testing.T) {
	event, other := uuid.New(), uuid.New()
	key, stranger := newKey(t), newKey(t)
	code, err := wallet.SignNonce(rand.Reader, key, wallet.KeyID{Ticket: uuid.New(), Generation: 1}, event, [16]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	p := newProven()
	ask := func(text string, event uuid.UUID, key *ecdsa.PrivateKey) bool {
		parsed, err := wallet.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		public := wallet.PublicKeyOf(&key.PublicKey)
		q := &question{in: ScanIn{Code: text}, presented: presented{code: parsed}}
		f := ticket.Facts{Ticket: &ticket.Ticket{}, Claim: &ticket.Claim{Generation: 1}, Event: ticket.Event{ID: ticket.EventID(event)}}
		return p.check(q, f, public[:])
	}
	for range 2 {
		if !ask(code.String(), event, key) {
			t.Error("a good signature is refused")
		}
		if ask(code.String(), other, key) || ask(code.String(), event, stranger) {
			t.Error("a signature counts for another event or key")
		}
	}
	if len(p.known) != 1 {
		t.Errorf("%d signatures are remembered", len(p.known))
	}
}

func TestOnlyTheLatestSignaturesAreRemembered(t *testing.T) {
	p := newProven()
	id := func(n int) (id [32]byte) {
		id[0], id[1], id[2] = byte(n), byte(n>>8), byte(n>>16)
		return id
	}
	for n := range provenKept + 10 {
		p.add(id(n))
		p.add(id(n))
	}
	if len(p.known) != provenKept || p.has(id(9)) || !p.has(id(10)) || !p.has(id(provenKept+9)) {
		t.Errorf("%d signatures are remembered, the oldest %v", len(p.known), p.has(id(9)))
	}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
