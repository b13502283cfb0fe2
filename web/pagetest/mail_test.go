package pagetest_test

import (
	"net"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"portillon/server/client"
	"portillon/server/post"
	"portillon/server/servertest"
	"portillon/web/pagetest"
)

// The desk says of a mail that did not go out at which step it failed and why, and
// leads to its ticket; the mails in another state are not among those in one.
func TestTheMailLogSaysAtWhichStepAMailFailed(t *testing.T) {
	t.Parallel()
	// A mail server that has just gone away: nobody listens at its address.
	gone, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := gone.Addr().(*net.TCPAddr).Port
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	h := servertest.NewHouse(t, servertest.Mail(post.Settings{Host: "127.0.0.1", Port: port, From: "tickets@example.org", TLS: post.NoTLS}, t.TempDir()))
	h.Issue(h.Event.Event, client.NewTickets{Category: h.Standard.Category, Holder: &client.Holder{Name: "Marie", Email: "marie@example.net"}})

	o := atTheDesk(t, h)
	event := h.Event.Event.String()
	o.Until(`document.querySelector(".top nav")`)
	o.Do(chromedp.Evaluate[chromedp.Void](`void (location.hash = "#/event/` + event + `")`))
	o.Click(`a[href="#/event/` + event + `/mails"]`)
	// The page looks again by itself until the first attempt is over.
	o.Until(`document.querySelector("[data-mail] .why")`)
	line := pagetest.Eval[string](o.Tab, `document.querySelector("[data-mail]").innerText`)
	for _, word := range []string{"m…@example.net", "No. 1", "Connecting", "refused", "tried again by itself"} {
		if !strings.Contains(line, word) {
			t.Errorf("the line of the mail is %q, without %q", line, word)
		}
	}
	choose := func(state, until string) {
		o.Do(chromedp.Evaluate[chromedp.Void](`{ const chosen = document.querySelector("#mails-state"); chosen.value = "` + state + `"; chosen.dispatchEvent(new Event("change", { bubbles: true })); }`))
		o.Until(until)
	}
	choose("failed", `document.querySelector(".log .empty")`)
	choose("", `document.querySelector("[data-mail]")`)
	o.Click("[data-mail] summary")
	if steps := pagetest.Eval[int](o.Tab, `document.querySelectorAll("[data-mail] tbody tr").length`); steps < 2 {
		t.Errorf("%d steps are shown", steps)
	}
	o.Click("[data-mail] .mail a")
	o.Until(`document.querySelector("[data-view=ticket]")`)
}
