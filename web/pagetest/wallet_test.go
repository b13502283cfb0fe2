package pagetest_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/web/pagetest"
)

// What a guest's phone goes through between the mail and the door.

func TestAKeyOutlivesAReloadARestartAndTheLossOfItsCookie(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	karel.Hold(t)
	order := h.Issue(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	profile, err := os.MkdirTemp("", "portillon-kept-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(profile) }) // after the browser's end, which is asked for later
	kept := map[string]any{"user-data-dir": profile}

	first := pagetest.NewTab(t, kept)
	first.Do(chromedp.Navigate(order.ClaimURL))
	first.Click("#put")
	first.Until(codeLive)
	first.Do(chromedp.Reload())
	first.Until(codeLive)

	// The stream is had again by the key.
	first.Expect("status of 401")
	if _, err := chromedp.Call(first.Context(), network.ClearBrowserCookies, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	karel.Hold(t)
	first.Do(chromedp.Reload())
	first.Until(codeLive)
	first.Quit()

	second := pagetest.NewTab(t, kept)
	karel.Hold(t)
	second.Do(chromedp.Navigate(h.URL + "/w"))
	second.Until(codeLive)
	if a := karel.Ask(t, newLens(t, h).code(second)); a.Reason != ticket.Admitted || a.Kind != ticket.Pushed {
		t.Errorf("after all this the code is %s, %s", a.Kind, a.Reason)
	}
	second.Until(`document.querySelector(".card[data-face=welcome]")`)
	if row := h.Row(t, order.Tickets[0].Ticket); row.Generation != 1 || row.Entries != 1 {
		t.Errorf("the ticket's row is %+v", row)
	}
}

// longAbsent is half a minute later, for what the server knows of phones that
// follow their stream.
func longAbsent(t *testing.T, h *servertest.House) {
	t.Helper()
	if _, err := h.DB.Pool.Exec(context.Background(), `UPDATE presence SET seen_at = seen_at - interval '31 seconds'`); err != nil {
		t.Fatal(err)
	}
}

// ownDigits is what a guest says who has no network: the ticket's number and the
// digits below the code.
func ownDigits(w *pagetest.Tab) string {
	w.Until(`document.querySelector(".short:not([hidden]) .digits:not([hidden])")`)
	return pagetest.Eval[string](w, codeNumber+` + " " + document.querySelector(".digits [aria-hidden]").textContent`)
}

func TestAPhoneWithoutNetworkIsLetInByWhatEachPolicyTakes(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	live := h.NewEvent("Playtime", "Screen 2", -20*time.Minute, &client.Policy{Freshness: ticket.Live})
	strict := h.NewCategory(live.Event, client.NewCategory{Name: "Standard"})
	karel := h.Controller("Karel", session.Controller)
	camera := pagetest.NewCamera(t, 640, 480)
	l := newLens(t, h)

	// No gate is open: there is a code all the same, and digits for a cracked screen.
	w := pagetest.NewTab(t, camera.Flags())
	w.Before(walletDiary)
	first := h.Issue(h.Event.Event, client.NewTickets{Category: h.Standard.Category, Count: 2})
	w.Do(chromedp.Navigate(first.ClaimURL))
	w.Click("#put")
	w.Until(codeTimed)
	w.Click("#wallet-short_show")
	ownDigits(w)
	w.Until(servedOffline)
	w.Do(chromedp.Navigate("about:blank"), chromedp.Navigate(h.Issue(live.Event, client.NewTickets{Category: strict.Category}).ClaimURL))
	w.Click("#put")
	w.Until(codeTimed)

	w.Network(pagetest.NoNetwork)
	w.Do(chromedp.Reload())
	w.Until(codeTimed)
	longAbsent(t, h)
	if a := karel.Ask(t, l.code(w)); a.Reason != ticket.FallbackRefused || a.Advice == "" {
		t.Errorf("a showing for living codes: %s, %q", a.Reason, a.Advice)
	}
	w.Click("#next")
	w.Until(codeNumber + ` === "1" && document.querySelector(".where").textContent.includes("Screen 1")`)
	w.Until(codeTimed)
	code := l.code(w)
	if a := karel.Ask(t, code); a.Reason != ticket.NeedsAssist || len(a.Actions) != 1 {
		t.Errorf("before the controller says anything: %s, %v", a.Reason, a.Actions)
	}
	if a := karel.AskAs(t, servertest.NewKey(), client.Scan{Code: code, PhoneOffline: true}); a.Reason != ticket.Admitted || a.Kind != ticket.Timed {
		t.Errorf("after the controller's word: %s, %s", a.Kind, a.Reason)
	}

	// The next of the family has a cracked screen.
	w.Click("#next")
	w.Until(codeNumber + ` === "2"`)
	w.Until(`!document.querySelector("#wallet-short_show").checkVisibility()`) // nobody asked for its digits while there was network

	w.Click("#previous")
	w.Click("#wallet-short_show")
	said := ownDigits(w)
	if a := karel.AskAs(t, servertest.NewKey(), client.Scan{Code: said, PhoneOffline: true}); a.Kind != ticket.TOTP || a.Reason != ticket.AlreadyUsed {
		t.Errorf("digits of a ticket that is in: %s, %s", a.Kind, a.Reason)
	}

	// What the gate shows is answered whatever the policy.
	w.Click("#previous")
	w.Until(`document.querySelector(".where").textContent.includes("Screen 2")`)
	shown, err := client.Do[client.Hold](context.Background(), karel.Client, http.MethodPost, "/v1/nonces",
		map[string]string{"gate": h.Gate.Gate.String(), "kind": "shown"})
	if err != nil || !strings.HasPrefix(shown.Code, "PG1:") {
		t.Fatalf("the gate's own code: %v", err)
	}
	camera.Symbol(symbol(t, shown.Code), pagetest.View{Module: 6})
	w.Click("#wallet-scan_gate")
	w.Until(codeShown + ` && !document.querySelector("#wallet-scan_gate").checkVisibility()`)
	if a := karel.Ask(t, l.code(w)); a.Reason != ticket.Admitted || a.Kind != ticket.Shown {
		t.Errorf("an answer to the gate's code: %s, %s", a.Kind, a.Reason)
	}
}
