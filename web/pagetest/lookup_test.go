package pagetest_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/ticket"
	"portillon/web/pagetest"
)

// T58, T60. A guest with a flat battery is found by name and let in without a code: too few
// letters list nobody, the list and the card hold no address, and only the press after
// the one that asks why lets in, once.
func TestAGuestIsFoundByNameAndLetInWithoutACodeAtTheSecondPress(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	person := judge(t, h)
	issue := func(name, email string) ticket.ID {
		holder := &client.Holder{Name: name, Email: email}
		return h.Issue(h.Event.Event, client.NewTickets{Category: h.Standard.Category, Holder: holder}).Tickets[0].Ticket
	}
	flat := issue("Zdeněk Šťastný", "zdenek@flat.example")
	issue("Zdena Šťastná", "zdena@other.example")

	k := sitDown(t, pairing(t, h).PairingLink)
	k.signOn(h, person)
	ask := func(words string) {
		t.Helper()
		k.Until(`document.activeElement.id === "search"`)
		k.press(words)
		k.press(kb.Enter)
	}
	k.enter("#tool-search")
	ask("zd")
	k.Until(`document.querySelector(".search .alarm")`)
	if n := h.Count(t, "audit WHERE act = 'ticket.search'"); n != 0 {
		t.Errorf("two letters were searched for %d times", n)
	}
	k.press(kb.Escape)
	k.enter("#tool-search")
	ask("zde")
	k.Until(`document.querySelectorAll(".search li").length === 2`)
	says := func() string { return pagetest.Eval[string](k.Tab, `document.querySelector(".search").innerText`) }
	if list := says(); !strings.Contains(list, "Zdeněk Šťastný") || strings.Contains(list, "@") {
		t.Errorf("the search shows:\n%s", list)
	}
	k.enter("#found-" + flat.String())
	k.Until(`document.querySelector(".search h2")`)
	if card := says(); strings.Contains(card, "@") {
		t.Errorf("the card shows:\n%s", card)
	}
	k.enter("#look-up")
	k.Until(`document.querySelector("#look-up-0")`)
	k.press(kb.Enter) // as a hand scanner sends it
	if row := h.Row(t, flat); row.Entries != 0 {
		t.Errorf("after the first press the ticket's row is %+v", row)
	}
	k.enter("#look-up-2")
	k.Until(`document.querySelector(".verdict")?.dataset.reason === "admitted"`)
	if n := h.Count(t, "admissions WHERE ticket_id = $1 AND path = 'look_up' AND person_id = $2 AND reason = 'Phone or scanner failed'", flat, person); n != 1 {
		t.Errorf("%d entries by look-up with the reason", n)
	}
	k.press(kb.Escape)

	// Another who gives the same name: the card says where it was used, and lets nobody in.
	k.enter("#tool-search")
	ask("zdenek stastny")
	k.Until(`document.querySelector(".search h2")`)
	if card := says(); !strings.Contains(card, h.Gate.Name) {
		t.Errorf("the card does not say where the ticket was used:\n%s", card)
	}
	if pagetest.Eval[bool](k.Tab, `document.querySelector("#look-up") !== null`) {
		t.Error("a used ticket's card offers to let in")
	}
}
