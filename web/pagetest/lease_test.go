package pagetest_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"

	"portillon/nonce"
	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/web/pagetest"
)

// A gate's page holds a lease while it can be seen. However it ceases to be
// seen, the lease ends; and the guests' phones show what is true meanwhile.

// soon is far less than the ten seconds or more that a lease still has when it
// is given up: what ends within it was given back and did not lapse.
const soon = 5 * time.Second

// backWithin is how soon phones have a living code again.
const backWithin = 2 * time.Second

func TestAHiddenGateGivesItsLeaseBackAndTheQueueStaysLitForAMinute(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	gate, wallet := openGate(t, h, pagetest.NewCamera(t, 1280, 720)), queue(t, h)

	gate.Window(browser.WindowStateMinimized)
	ended := eventually(t, "the lease of the hidden gate is given back", soon, func() bool { return leases(t, h) == 0 })
	t.Logf("given back after %v", ended)

	// The controller takes a call.
	before := pagetest.Eval[string](wallet, codeShown)
	h.DB.Shift(t, 30*time.Second)
	wallet.Until(codeShown + " !== " + strconv.Quote(before))
	if !pagetest.Eval[bool](wallet, "Boolean("+codeLive+")") || leases(t, h) != 0 {
		t.Error("the queue is dark half a minute after the gate was hidden")
	}

	h.DB.Shift(t, nonce.Tail-30*time.Second)
	longTimed(wallet)
	gate.Expect("status of 410") // the lease that it had
	gate.Window(browser.WindowStateNormal)
	backToLife(t, gate, wallet)
}

func TestAClosedGatePageGivesItsLeaseBack(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	gate := openGate(t, h, pagetest.NewCamera(t, 1280, 720))
	other := gate.Other("about:blank") // or the browser would end with its last page
	gate.Close()
	ended := eventually(t, "the lease of the closed page is given back", soon, func() bool { return leases(t, h) == 0 })
	t.Logf("given back after %v", ended)

	// Whoever opens the page again is asked for a press, and holds the gate.
	again := gatePage{other, h}
	again.Do(chromedp.Navigate(h.URL + "/gate"))
	again.start()
	if leases(t, h) != 1 {
		t.Error("the page that was opened again does not hold the gate")
	}
}

func TestWithoutNetworkTheLeaseOfAGateLapsesAndItsReturnBringsTheQueueBack(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	gate, wallet := openGate(t, h, pagetest.NewCamera(t, 1280, 720)), queue(t, h)

	gate.Network(pagetest.NoNetwork)
	gate.Until(`document.querySelector("[data-light=network]").dataset.good === "false"`)
	if leases(t, h) != 1 {
		t.Fatal("the lease ended before its time")
	}
	h.DB.Shift(t, nonce.LeaseFor)
	if leases(t, h) != 0 {
		t.Error("the lease lives longer than it was taken for")
	}
	h.DB.Shift(t, nonce.Tail)
	longTimed(wallet)

	gate.Expect("status of 410") // the lease that it had
	gate.Network(nil)
	backToLife(t, gate, wallet)
}

func TestAGateClosedByItsButtonDarkensTheQueueAtOnceAndOpensIt(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	gate, wallet := openGate(t, h, pagetest.NewCamera(t, 1280, 720)), queue(t, h)
	gate.Expect("status of 409") // a renewal may cross the closing
	gate.Click("#tool-more")
	gate.Click("#close-gate")
	gate.Click("#close-gate.danger")
	gate.Until(`document.querySelector("#open-gate")`)
	longTimed(wallet)
	gate.Click("#open-gate")
	backToLife(t, gate, wallet)
}

// queue is a phone that waits before the gate with a living code.
func queue(t *testing.T, h *servertest.House) *pagetest.Tab {
	t.Helper()
	wallet := openWallet(t, h.Issue(h.Event.Event, client.NewTickets{Category: h.Standard.Category}).ClaimURL)
	wallet.Until(codeLive)
	return wallet
}

// longTimed waits until the phone shows a code by its clock that no reader needs
// any more: a younger one would stay until its two seconds are over.
func longTimed(wallet *pagetest.Tab) {
	wallet.Until(codeTimed)
	wallet.Until(`faces.at(-1).timed && Date.now() - faces.find(f => f.code === faces.at(-1).code).at > 2000`)
}

// backToLife waits until the gate is held, and judges how soon the phone has a
// living code after that; if it has signed by its clock anew meanwhile, how soon
// after that code may go.
func backToLife(t *testing.T, gate gatePage, wallet *pagetest.Tab) {
	t.Helper()
	eventually(t, "the gate is held again", patience, func() bool { return leases(t, gate.house) == 1 })
	wallet.Until(`faces.at(-1).code !== "" && !faces.at(-1).timed`)
	shown := pagetest.Eval[[]face](wallet, "faces")
	timed := len(shown) - 1
	for timed > 0 && !shown[timed].Timed {
		timed--
	}
	live := shown[timed+1]
	since := slices.IndexFunc(shown, func(f face) bool { return f.Code == shown[timed].Code })
	may := max(leaseTaken(t, gate.house), shown[since].At+2000)
	d := took(may, live.At)
	t.Logf("a living code %v after the gate was held again", d)
	if d > backWithin {
		t.Errorf("a living code came %v after the gate was held again", d)
	}
}

func leases(t *testing.T, h *servertest.House) int {
	t.Helper()
	return h.Count(t, "nonce_leases WHERE gate_id = $1 AND expires_at > portillon_now()", h.Gate.Gate)
}

// leaseTaken is when the gate was held last, in milliseconds of the machine's
// clock, whatever the schema's clock says.
func leaseTaken(t *testing.T, h *servertest.House) (at float64) {
	t.Helper()
	err := h.DB.Pool.QueryRow(context.Background(), `
SELECT extract(epoch FROM clock_timestamp() - (portillon_now() - max(opened_at))) * 1000
FROM nonce_leases WHERE gate_id = $1`, h.Gate.Gate).Scan(&at)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
