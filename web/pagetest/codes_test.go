package pagetest_test

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/wallet"
	"portillon/web/pagetest"
)

func TestACodeForgedFromPublicDataHasABadSignature(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	nonce := karel.Hold(t) // every phone at the venue has it
	victim, issued := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	thief, own := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	honest := victim.Keys.Find(issued.Ticket.UUID())

	for name, code := range forgeries(t, honest, thief.Keys.Find(own.Ticket.UUID()), nonce) {
		answer := karel.Ask(t, code)
		if answer.Reason != ticket.BadSignature || answer.Verdict != ticket.Refuse {
			t.Errorf("%s: %s, %s", name, answer.Verdict, answer.Reason)
		}
	}
	if row := h.Row(t, issued.Ticket); row.Entries != 0 || row.Status != ticket.Active {
		t.Errorf("the ticket is %+v", row)
	}
	if answer := karel.Ask(t, victim.Signed(t, issued.Ticket, nonce)); answer.Verdict != ticket.Admit {
		t.Errorf("the holder's own code: %s", answer.Reason)
	}
}

// forgeries are codes for the victim's ticket by somebody who knows all that is
// not secret: ids, generation, the nonce, the public key, and signatures that
// were good for something else.
func forgeries(t *testing.T, victim, own *wallet.HeldTicket, nonce [16]byte) map[string]string {
	t.Helper()
	ownKey := *own
	ownKey.KeyID, ownKey.Event = victim.KeyID, victim.Event
	of := func(code wallet.Code, err error) wallet.Code {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return code
	}
	with := func(signature ...byte) string {
		c := of(ownKey.SignNonce(nonce))
		c.Signature = [64]byte{}
		copy(c.Signature[:], signature)
		return c.String()
	}
	renamed := of(own.SignNonce(nonce))
	renamed.KeyID = victim.KeyID
	stale := of(victim.SignNonce([16]byte{1}))
	stale.Nonce = nonce
	timed := of(victim.SignTime(time.Now().Unix() - 3600))
	timed.IssuedAt += 3600
	one := append(append(make([]byte, 31), 1), append(make([]byte, 31), 1)...)
	mac := hmac.New(sha256.New, victim.JWK())
	mac.Write([]byte(renamed.Text(victim.Event)))
	return map[string]string{
		"signed with a key of one's own":           of(ownKey.SignNonce(nonce)).String(),
		"by time, signed with a key of one's own":  of(ownKey.SignTime(time.Now().Unix())).String(),
		"the good signature of one's own ticket":   renamed.String(),
		"the victim's signature of an older nonce": stale.String(),
		"the victim's signature of an hour ago":    timed.String(),
		"no signature":                             with(),
		"a signature of ones":                      with(one...),
		"the public key as the secret of a MAC":    with(append(mac.Sum(nil), mac.Sum(nil)...)...),
	}
}

func TestAPaperCodeForgedUnderThePublishedKeyIDHasABadSignature(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	issued := h.Issue(h.Event.Event, client.NewTickets{Category: h.Paper.Category}).Tickets[0]
	printed, err := client.Do[struct {
		Code string `json:"code"`
	}](context.Background(), h.Admin, "POST", "/v1/tickets/"+issued.Ticket.String()+"/print", map[string]string{"reason": "no phone"}, client.WithKey(servertest.NewKey()))
	if err != nil {
		t.Fatal(err)
	}
	genuine, err := wallet.Parse(printed.Code)
	if err != nil {
		t.Fatal(err)
	}
	thief, err := (&wallet.Phone{}).Add(uuid.New(), h.Event.Event.UUID())
	if err != nil {
		t.Fatal(err)
	}
	forged, err := wallet.SignPaper(rand.Reader, thief.Key, genuine.KeyID, h.Event.Event.UUID(), genuine.IssuerKey)
	if err != nil {
		t.Fatal(err)
	}
	if answer := karel.Ask(t, forged.String()); answer.Reason != ticket.BadSignature {
		t.Errorf("the forged paper: %s", answer.Reason)
	}
	if answer := karel.Ask(t, printed.Code); answer.Verdict != ticket.Admit {
		t.Errorf("the printed one: %s", answer.Reason)
	}
}

func TestACodeOutlivesEveryChangeOfItsHoldersNameAndAddress(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	nonce := karel.Hold(t)
	const name, address = "José Müller-Nguyễn", "jose@example.org"
	for change, to := range map[string]client.Holder{
		"renamed":              {Name: "Jana Nováková", Email: address},
		"in capitals":          {Name: strings.ToUpper(name), Email: strings.ToUpper(address)},
		"decomposed":           {Name: norm.NFD.String(name), Email: address},
		"composed":             {Name: norm.NFC.String(name), Email: address},
		"with an emoji":        {Name: name + " 🎭👩‍👩‍👧", Email: address},
		"with another address": {Name: name, Email: "new@example.com"},
		"without a name":       {},
	} {
		from := name
		if change == "composed" {
			from = norm.NFD.String(name)
		}
		phone, issued := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category, Holder: &client.Holder{Name: from, Email: address}})
		code := phone.Signed(t, issued.Ticket, nonce)
		tag, err := h.DB.Pool.Exec(context.Background(), `
WITH renamed AS (UPDATE tickets SET holder_name = $2, holder_email = $3 WHERE id = $1 RETURNING order_id)
UPDATE orders SET email = $3 WHERE id IN (SELECT order_id FROM renamed)`, issued.Ticket, to.Name, to.Email)
		if err != nil || tag.RowsAffected() != 1 {
			t.Fatalf("%s: %v, %d rows", change, err, tag.RowsAffected())
		}
		if answer := karel.Ask(t, code); answer.Verdict != ticket.Admit {
			t.Errorf("%s: the old code is answered %s", change, answer.Reason)
		}
	}
}

// shape is a kind of code that a camera meets: how it is drawn, and a new one of
// that shape at each call.
type shape struct {
	name    string
	level   wallet.Level
	version int // the largest symbol that cameras of old phones are asked to read
	make    func() string
}

func shapes(t *testing.T, publicURL string) []shape {
	t.Helper()
	phone := &wallet.Phone{}
	code := func(made func(*wallet.HeldTicket) (wallet.Code, error)) func() string {
		return func() string {
			held, err := phone.Add(uuid.New(), uuid.New())
			if err != nil {
				t.Fatal(err)
			}
			held.Generation = 255
			c, err := made(held)
			if err != nil {
				t.Fatal(err)
			}
			return c.String()
		}
	}
	link := func(before string) func() string {
		return func() string { return publicURL + before + rand.Text() + rand.Text()[:17] } // 43 characters, as ours
	}
	return []shape{
		{"a rotating code", wallet.LevelL, 8, code(func(h *wallet.HeldTicket) (wallet.Code, error) { return h.SignNonce([16]byte(uuid.New())) })},
		{"a rotating code by time", wallet.LevelL, 8, code(func(h *wallet.HeldTicket) (wallet.Code, error) { return h.SignTime(1<<32 - 1) })},
		{"a paper code", wallet.LevelM, 10, code(func(h *wallet.HeldTicket) (wallet.Code, error) {
			return wallet.SignPaper(rand.Reader, h.Key, h.KeyID, h.Event, [4]byte{255, 255, 255, 255})
		})},
		{"a one-time code in a pattern", wallet.LevelL, 10, code(func(h *wallet.HeldTicket) (wallet.Code, error) {
			return wallet.TOTPPattern(make([]byte, 20), h.KeyID, 9_999_999_999)
		})},
		{"a claim link", wallet.LevelM, 10, link("/w#")},
		{"a pairing link", wallet.LevelM, 10, link("/gate#p.")},
	}
}

func TestEveryCodeIsSmallEnoughForOldCameras(t *testing.T) {
	for _, s := range shapes(t, "https://tickets.a-rather-long-name-of-a-theatre.example") {
		symbol, err := wallet.QR(s.make(), s.level)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: version %d", s.name, symbol.Version)
		if symbol.Version > s.version {
			t.Errorf("%s needs version %d", s.name, symbol.Version)
		}
	}
}

func TestTheGateReadsEveryCodeFromASmallBlurredAndTiltedPicture(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	camera := pagetest.NewCamera(t, 640, 480)
	gate := openGate(t, h, camera)
	for _, s := range shapes(t, "https://tickets.example.org") {
		for _, module := range []float64{3, 5} { // pixels, of 640
			for _, view := range []pagetest.View{{}, {Turned: 15}, {Turned: -15}, {Leant: 15}, {Turned: 15, Leant: 15}} {
				view.Module, view.Blur = module, 1
				text := s.make()
				symbol, err := wallet.QR(text, s.level)
				if err != nil {
					t.Fatal(err)
				}
				camera.Symbol(symbol.Modules, view)
				quoted, _ := json.Marshal(text)
				if !gate.Within(soon, fmt.Sprintf("read.includes(%s)", quoted)) {
					t.Errorf("%s is not read in %v: %+v", s.name, soon, view)
				}
			}
		}
	}
}
