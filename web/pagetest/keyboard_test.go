package pagetest_test

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/web/pagetest"
)

// The main path of each page with keys alone: Tab goes there, Enter does it, and
// each thing on the way shows that it has the focus.

// keyboard is a page that nobody touches.
type keyboard struct {
	*pagetest.Tab
	t testing.TB
}

// sitDown opens an address in a browser that believes to be in front.
func sitDown(t testing.TB, address string) keyboard {
	t.Helper()
	tab, _ := pagetest.Visit(t)
	_, err := chromedp.Call(tab.Context(), emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	if err != nil {
		t.Fatal(err)
	}
	tab.Do(chromedp.Navigate(address))
	return keyboard{tab, t}
}

// press types keys where the focus is.
func (k keyboard) press(keys string) {
	k.t.Helper()
	k.Do(chromedp.KeyEvent(keys))
}

// paste puts a code where the focus is, as from the clipboard: nobody types one, and
// keys that come so fast are a hand scanner's.
func (k keyboard) paste(text string) {
	k.t.Helper()
	if _, err := chromedp.Call(k.Context(), input.InsertText, input.InsertTextParams{Text: text}); err != nil {
		k.t.Fatal(err)
	}
}

// focused describes the element that has the focus, and whether one sees it.
type focused struct {
	Here, Visible bool
	What          string
}

// reach waits for an element and goes there with Tab.
func (k keyboard) reach(selector string) {
	k.t.Helper()
	k.Until(`document.querySelector('` + selector + `')?.checkVisibility()`)
	var way []string
	for range 60 {
		k.press(kb.Tab)
		now := pagetest.Eval[focused](k.Tab, `(() => {
			const at = document.activeElement, style = getComputedStyle(at);
			const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
			return { Here: at.matches('`+selector+`'), Visible: ring || style.boxShadow !== "none", What: at.outerHTML.slice(0, 90) };
		})()`)
		way = append(way, now.What)
		if !now.Visible && !strings.HasPrefix(now.What, "<body") {
			k.t.Errorf("one does not see that this has the focus: %s", now.What)
		}
		if now.Here {
			return
		}
	}
	k.t.Fatalf("Tab does not lead to %s but to:\n%s", selector, strings.Join(way, "\n"))
}

// enter goes to an element and presses Enter.
func (k keyboard) enter(selector string) {
	k.t.Helper()
	k.reach(selector)
	k.press(kb.Enter)
}

// signOn pairs the browser by the link that it opened, signs the person on and starts
// work at the main gate.
func (k keyboard) signOn(h *servertest.House, person ticket.PersonID) {
	k.t.Helper()
	k.enter("#pair")
	k.enter("#person-" + person.String())
	k.Until(`document.querySelector("#pin-1")`)
	k.press(pin)
	k.enter("#gate-" + h.Gate.Gate.String())
	k.enter("#start")
	k.Until(leaseHeld)
}

// judge is a controller with a PIN who may let in by judgement.
func judge(t *testing.T, h *servertest.House) ticket.PersonID {
	t.Helper()
	person := h.Member("Eva", session.Grant{Venue: h.Venue.Venue, Role: session.Controller, CanOverride: true}).Person
	if err := h.Session.SetPIN(context.Background(), servertest.Operator, person, pin); err != nil {
		t.Fatal(err)
	}
	return person
}

func TestATicketIsIssuedAtTheDeskByKeysAlone(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	admin := h.Member("Alena", session.Grant{Role: session.AdminRole})
	event := h.Event.Event.String()

	k := sitDown(t, admin.SignInLink)
	k.enter("#form-link button")
	k.enter("[data-act=go_on]") // no password today
	k.enter(`a[href="#/event/` + event + `"]`)
	k.enter(`a[href="#/event/` + event + `/issue"]`)
	k.reach(`[name="holder.name"]`)
	k.press("Anna Schmidt")
	k.reach(`[name="seat"]`)
	k.press("F12")
	k.enter("#form-issue button")
	k.Until(`document.querySelector("#issued-title")`)
	k.Until(`document.querySelector("#handed-text")?.value.includes("/w#")`)
	if n := h.Count(t, "tickets WHERE event_id = $1 AND seat = 'F12'", h.Event.Event); n != 1 {
		t.Errorf("the database has %d tickets for seat F12", n)
	}
}

func TestATicketIsPutOnAPhoneByKeysAlone(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	issued := h.Issue(h.Event.Event, client.NewTickets{Category: h.Standard.Category})

	k := sitDown(t, issued.ClaimURL)
	k.enter("#put")
	k.Until(codeShown)
	if row := h.Row(t, issued.Tickets[0].Ticket); row.Generation != 1 {
		t.Errorf("the ticket's row is %+v", row)
	}
}

func TestAGateIsStaffedAndACodeIsTypedByKeysAlone(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	person, link := newcomer(t, h)
	phone, issued := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})

	k := sitDown(t, link)
	k.signOn(h, person)

	nonce := h.Controller("Pavel", session.Controller).Hold(t)
	k.enter("#tool-typing")
	k.Until(`document.activeElement.id === "code"`)
	k.paste(phone.Signed(t, issued.Ticket, nonce))
	k.press(kb.Enter)
	k.Until(`document.querySelector(".verdict")?.dataset.reason === "admitted"`)
	k.press(kb.Escape)
	k.Until(`document.querySelector(".verdict") === null`)
	if row := h.Row(t, issued.Ticket); row.Entries != 1 || row.Status != ticket.Used {
		t.Errorf("the ticket's row is %+v", row)
	}
}
