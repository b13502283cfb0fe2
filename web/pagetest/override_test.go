package pagetest_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
)

// A used ticket is let in by the judgement of a controller who may, with a reason;
// the server hears of every admission that was on the screen; and the last scans take
// one back.
func TestAControllerLetsInByJudgementSaysWhyAndTakesItBack(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	person := judge(t, h)
	phone, issued := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	pavel := h.Controller("Pavel", session.Controller)
	code := phone.Signed(t, issued.Ticket, pavel.Hold(t))
	if a := pavel.Ask(t, code); a.Reason != ticket.Admitted {
		t.Fatal(a.Reason)
	}

	k := sitDown(t, pairing(t, h).PairingLink)
	k.signOn(h, person)
	k.enter("#tool-typing")
	k.Until(`document.activeElement.id === "code"`)
	k.paste(code)
	k.press(kb.Enter)
	k.Until(`document.querySelector(".verdict")?.dataset.reason === "already_used"`)
	k.enter("#override")
	k.Until(`document.querySelector(".reasons")`)
	k.press(kb.Enter) // as a hand scanner sends it
	k.enter("#override-0")
	k.Until(`document.querySelector(".verdict")?.dataset.reason === "admitted"`)
	k.Until(`document.querySelector("[data-light=overrides]")?.textContent.includes("1")`)
	if row := h.Row(t, issued.Ticket); row.Entries != 2 {
		t.Errorf("the ticket's row is %+v", row)
	}
	if n := h.Count(t, "admissions WHERE ticket_id = $1 AND path = 'override' AND person_id = $2 AND reason = 'Identity checked'", issued.Ticket, person); n != 1 {
		t.Errorf("%d entries by judgement with the reason", n)
	}
	eventually(t, "the receipt of what was on the screen", patience, func() bool {
		return h.Count(t, "receipts r JOIN admissions a USING (ticket_id, key) WHERE r.ticket_id = $1 AND a.path = 'override'", issued.Ticket) == 1
	})

	// It was the wrong guest: the last scans take it back, also after a reload.
	k.Do(chromedp.Reload())
	k.enter("#start")
	k.Until(leaseHeld)
	k.enter("#tool-recent")
	k.enter(".recents li:first-child button")
	k.enter("#undo-why-1")
	k.Until(`document.querySelector(".recents li")?.dataset.undone === "true"`)
	if n := h.Count(t, "undos WHERE ticket_id = $1 AND person_id = $2 AND reason = 'Wrong person'", issued.Ticket, person); n != 1 {
		t.Errorf("%d undos with the reason", n)
	}
	if row := h.Row(t, issued.Ticket); row.Entries != 1 {
		t.Errorf("the ticket's row is %+v", row)
	}
}
