package pagetest_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/web/pagetest"
)

// T93. The event's evening shows what its doors did, the same as the database has and
// as the event's own page.
func TestAnEveningsPageShowsWhatTheDoorsDid(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	var last string
	for range 3 {
		phone, issued := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
		last = phone.Signed(t, issued.Ticket, karel.Hold(t))
		if a := karel.Ask(t, last); a.Reason != ticket.Admitted {
			t.Fatal(a.Reason)
		}
	}
	for range 2 {
		if a := karel.Ask(t, last); a.Reason != ticket.AlreadyUsed {
			t.Fatal(a.Reason)
		}
	}
	h.Issue(h.Event.Event, client.NewTickets{Category: h.Standard.Category})

	o := atTheDesk(t, h)
	event := h.Event.Event.String()
	o.Until(`document.querySelector(".top nav")`)
	counts := func(what string) int {
		return pagetest.Eval[int](o.Tab, `Number(document.querySelector("[data-count=`+what+`] dd").textContent)`)
	}
	o.Do(chromedp.Evaluate[chromedp.Void](`void (location.hash = "#/event/` + event + `")`))
	o.Until(`document.querySelector("[data-count=issued]")`)
	if issued, inside := counts("issued"), counts("inside"); issued != 4 || inside != 3 {
		t.Errorf("the event has %d tickets, %d inside", issued, inside)
	}
	o.Click(`a[href="#/event/` + event + `/report"]`)
	o.Until(`document.querySelector("[data-count=outside]")`)
	if inside, outside, refused := counts("inside"), counts("outside"), counts("refused"); inside != 3 || outside != 1 || refused != 2 {
		t.Errorf("%d inside, %d not used, %d refused", inside, outside, refused)
	}
	const strip = `[...document.querySelectorAll(".strips li")].map((one) => one.querySelector("p").textContent + one.querySelectorAll("rect").length).join()`
	if strips := pagetest.Eval[string](o.Tab, strip); strips != "Admit 31,Already used 21" {
		t.Errorf("the strips are %s", strips)
	}
	o.Click("summary")
	if rows := pagetest.Eval[int](o.Tab, `document.querySelectorAll("details tbody tr").length`); rows != 1 {
		t.Errorf("the table has %d lines", rows)
	}
}
