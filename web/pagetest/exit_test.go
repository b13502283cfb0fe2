package pagetest_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
)

// The same phone comes in and, with the gate turned round, goes out at once: nothing
// that the page remembers of the one stands against the other.
func TestAGateThatIsTurnedRoundLetsOut(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	fair := h.NewEvent("Fair", "Hall", -time.Minute, &client.Policy{Reentry: true})
	day := h.NewCategory(fair.Event, client.NewCategory{Name: "Day"})
	phone, issued := h.Claimed(fair.Event, client.NewTickets{Category: day.Category})
	person, link := newcomer(t, h)
	pavel := h.Controller("Pavel", session.Controller)

	k := sitDown(t, link)
	k.Expect("status of 410") // ten seconds at a stroke may cost it a lease
	k.signOn(h, person)
	present := func(title string) {
		t.Helper()
		h.DB.Shift(t, 11*time.Second) // one proof makes one passage
		code := phone.Signed(t, issued.Ticket, pavel.Hold(t))
		k.enter("#tool-typing")
		k.Until(`document.activeElement.id === "code"`)
		k.paste(code)
		k.press(kb.Enter)
		k.Until(`document.querySelector(".verdict h2")?.textContent === "` + title + `"`)
		k.press(kb.Escape)
		k.Until(`document.querySelector(".verdict") === null`)
	}
	present("Admit")
	k.enter("#tool-more")
	k.enter("#count-exits")
	k.Until(`document.querySelector(".top .direction")`)
	present("Let out 1")
	if row := h.Row(t, issued.Ticket); row.Entries != 1 || row.Inside != 0 {
		t.Errorf("the ticket's row is %+v", row)
	}
	k.enter("#tool-more")
	k.enter("#count-entries")
	present("Admit")
	if row := h.Row(t, issued.Ticket); row.Entries != 2 || row.Inside != 1 {
		t.Errorf("the ticket's row is %+v", row)
	}
}
