package pagetest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"portillon/server/pgtest"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/wallet"
	"portillon/web/pagetest"
)

// patience bounds every wait; what a test promises is measured.
const patience = 30 * time.Second

const pin = "271828"

// gatePage is a gate's page at work, with a person signed on.
type gatePage struct {
	*pagetest.Tab
	house *servertest.House
}

// openGate pairs a browser with that camera, signs a new controller on, and
// starts work at the main gate, all by the page's own buttons.
func openGate(t *testing.T, h *servertest.House, camera *pagetest.Camera) gatePage {
	t.Helper()
	person, link := newcomer(t, h)
	g := gatePage{pagetest.NewTab(t, camera.Flags()), h}
	g.Before(gateDiary)
	g.Do(chromedp.Navigate(link))
	g.signOn(person)
	return g
}

// signOn pairs the browser by the link that it opened, signs the person on and starts
// work at the main gate.
func (g gatePage) signOn(person ticket.PersonID) {
	g.Click("#pair")
	g.Click("#person-" + person.String())
	for _, digit := range pin {
		g.Click("#pin-" + string(digit))
	}
	g.Click("#gate-" + g.house.Gate.Gate.String())
	g.start()
}

// newcomer is a controller with a PIN, and a link that pairs without a question.
func newcomer(t *testing.T, h *servertest.House) (person ticket.PersonID, link string) {
	t.Helper()
	person = h.Person("Karel", session.Controller, h.Venue.Venue)
	if err := h.Session.SetPIN(context.Background(), servertest.Operator, person, pin); err != nil {
		t.Fatal(err)
	}
	return person, pairing(t, h).PairingLink
}

func pairing(t *testing.T, h *servertest.House) session.Pairing {
	t.Helper()
	admin := h.Person("Olga", session.AdminRole, ticket.VenueID{})
	made, err := h.Session.Pairing(context.Background(), servertest.Operator.For(admin), session.PairingIn{
		Venue: h.Venue.Venue, Name: "Gate phone", Unattended: true, TTL: session.LinkTTL,
	})
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(made.PairingLink, "#p.")
	pgtest.Secret(t, code)
	return made
}

// start presses Start, and waits for the lease and the camera's picture.
func (g gatePage) start() {
	g.Click("#start")
	g.Until(leaseHeld)
	g.Until(`document.querySelector("video").videoWidth > 0`)
}

const leaseHeld = `document.querySelector("[data-light=lease]")?.dataset.good === "true"`

// openWallet claims what a link offers by the page's button.
func openWallet(t testing.TB, claimURL string) *pagetest.Tab {
	t.Helper()
	w := pagetest.NewTab(t, nil)
	w.Before(walletDiary)
	w.Do(chromedp.Navigate(claimURL))
	w.Click("#put")
	w.Until(codeShown)
	return w
}

// What a wallet shows: a code of any kind, one over the venue's nonce, one by
// the phone's clock.
const (
	codeShown  = `document.querySelector(".card[data-face=code] .code:not([hidden]) path")?.getAttribute("d")`
	codeLive   = codeShown + ` && !document.querySelector("#wallet-scan_gate.main")`
	codeTimed  = codeShown + ` && document.querySelector("#wallet-scan_gate.main")`
	codeNumber = `[...document.querySelectorAll(".stub dd")].at(-1)?.textContent`
)

// gateDiary notes what the gate's decoder read, and every verdict with the time
// at which it was painted.
const gateDiary = `
window.read = [];
window.verdicts = [];
const listen = Worker.prototype.addEventListener;
Worker.prototype.addEventListener = function (type, heard, ...rest) {
  const noting = type !== "message" ? heard : (event) => {
    window.read.push(...(event.data?.texts ?? []));
    return heard(event);
  };
  return listen.call(this, type, noting, ...rest);
};
let last;
new MutationObserver(() => {
  const verdict = document.querySelector(".verdict");
  if (verdict === null || verdict === last) return;
  last = verdict;
  const { reason } = verdict.dataset, says = verdict.innerText;
  painted((at) => window.verdicts.push({ at, reason, says }));
}).observe(document, { subtree: true, childList: true });
` + painted

// walletDiary notes each face of the card and each code with the time at which it
// was painted.
const walletDiary = `
window.faces = [];
let last;
new MutationObserver(() => {
  const card = document.querySelector(".card");
  if (card === null) return;
  const face = card.dataset.face;
  const code = (` + codeShown + `) ?? "";
  const number = ` + codeNumber + `;
  const timed = document.querySelector("#wallet-scan_gate.main") !== null;
  const now = [face, code, number, timed].join();
  if (now === last) return;
  last = now;
  painted((at) => window.faces.push({ at, face, code, number, timed }));
}).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
` + painted

// The task after a frame's callbacks comes when that frame was handed on.
const painted = `
function painted(note) {
  requestAnimationFrame(() => setTimeout(() => note(Date.now())));
}
`

// verdict is a line of the gate's diary; At is in milliseconds of the machine's clock.
type verdict struct {
	At     float64 `json:"at"`
	Reason string  `json:"reason"`
	Says   string  `json:"says"`
}

// face is a line of the wallet's diary.
type face struct {
	At     float64 `json:"at"`
	Face   string  `json:"face"`
	Code   string  `json:"code"`
	Number string  `json:"number"`
	Timed  bool    `json:"timed"`
}

func took(start, end float64) time.Duration {
	return time.Duration((end - start) * float64(time.Millisecond))
}

func millis(at time.Time) float64 { return float64(at.UnixMicro()) / 1000 }

func eventually(t testing.TB, what string, within time.Duration, holds func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !holds() {
		if time.Since(began) > within {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
	return time.Since(began)
}

// presentNonce is the venue's nonce of now.
func presentNonce(t testing.TB, h *servertest.House) [16]byte {
	t.Helper()
	n, open, err := h.Nonces.Current(context.Background(), h.Venue.Venue)
	if err != nil || !open {
		t.Fatalf("the present nonce: open %v, %v", open, err)
	}
	return n.Value
}

// symbol is a code's QR symbol as a phone shows it.
func symbol(t testing.TB, code string) [][]bool {
	t.Helper()
	s, err := wallet.QR(code, wallet.LevelL)
	if err != nil {
		t.Fatal(err)
	}
	return s.Modules
}
