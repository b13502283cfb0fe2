package pagetest_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/chromedp"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/web/pagetest"
)

// Tickets that leave one phone for another by digits that are mailed.

var (
	mailedDigits = regexp.MustCompile(`(?m)^(\d{4} \d{4})\r?$`)
	notMeLink    = regexp.MustCompile(`http\S+/w#no\.\S+`)
)

// mailed is what the pattern finds in the number of mails to Marie that have it.
func mailed(t *testing.T, office *servertest.Office, pattern *regexp.Regexp, number int) string {
	t.Helper()
	var found []string
	eventually(t, "a mail", patience, func() bool {
		found = nil
		for _, body := range office.Bodies(t, "marie@example.net") {
			if m := pattern.FindStringSubmatch(body); m != nil {
				found = append(found, m[len(m)-1])
			}
		}
		return len(found) == number
	})
	return found[number-1]
}

func TestAWipedPhoneHasItsTicketAgainByMailedDigitsAndTheOtherPhoneIsTold(t *testing.T) {
	t.Parallel()
	office := servertest.NewOffice(t, true)
	h := servertest.NewHouse(t, servertest.Mail(office.Settings(), ""))
	karel := h.Controller("Karel", session.Controller)
	karel.Hold(t)
	order := h.Issue(h.Event.Event, client.NewTickets{Category: h.Standard.Category, Count: 2, Holder: &client.Holder{Name: "Marie", Email: "marie@example.net"}})

	old := openWallet(t, order.ClaimURL)
	fresh := pagetest.NewTab(t, nil)
	fresh.Do(chromedp.Navigate(order.ClaimURL))
	fresh.Click("#move")
	fresh.Until(`document.querySelector("#digits")`)
	digits := mailed(t, office, mailedDigits, 1)

	// Wrong ones first; then the page is loaded anew, as after a look at the mail.
	fresh.Expect("status of 409")
	typeDigits(t, fresh, "1234 567")
	fresh.Click("#move-go")
	fresh.Until(`document.querySelector("#trouble")`)
	typeDigits(t, fresh, flipped(digits))
	fresh.Click("#move-go")
	fresh.Until(`document.querySelector("#trouble")?.textContent.includes("4")`)
	fresh.Do(chromedp.Reload())
	fresh.Until(`document.querySelector("#digits")?.value === ""`)
	typeDigits(t, fresh, digits)
	fresh.Click("#move-go")
	fresh.Until(codeLive)
	old.Until(`document.querySelector(".card[data-face=moved]")`)

	// The browser is cleaned up: what is left is the link in the mail.
	fresh.Do(chromedp.Navigate("about:blank"))
	if _, err := chromedp.Call(fresh.Context(), storage.ClearDataForOrigin, storage.ClearDataForOriginParams{Origin: h.URL, StorageTypes: "indexeddb,local_storage,cookies"}); err != nil {
		t.Fatal(err)
	}
	h.DB.Shift(t, 31*time.Second)
	karel.Hold(t)
	fresh.Do(chromedp.Navigate(order.ClaimURL))
	fresh.Click("#move")
	fresh.Until(`document.querySelector("#digits")`)
	typeDigits(t, fresh, mailed(t, office, mailedDigits, 2))
	fresh.Click("#move-go")
	fresh.Until(codeLive)
	if a := karel.Ask(t, newLens(t, h).code(fresh)); a.Reason != ticket.Admitted || a.Kind != ticket.Pushed || a.MovedAt.IsZero() {
		t.Errorf("the phone that has it now: %s, %s, moved at %v", a.Kind, a.Reason, a.MovedAt)
	}
	fresh.Until(`document.querySelector(".card[data-face=welcome]")`)
	if row := h.Row(t, order.Tickets[0].Ticket); row.Generation != 3 || row.Entries != 1 {
		t.Errorf("the ticket's row is %+v", row)
	}
}

// typeDigits puts digits into the field, in the place of what is there.
func typeDigits(t *testing.T, w *pagetest.Tab, digits string) {
	t.Helper()
	w.Until(`document.querySelector("#digits")`)
	pagetest.Eval[any](w, `document.querySelector("#digits").select()`)
	if _, err := chromedp.Call(w.Context(), input.InsertText, input.InsertTextParams{Text: digits}); err != nil {
		t.Fatal(err)
	}
}

// flipped are other digits.
func flipped(digits string) string {
	last := digits[len(digits)-1]
	return digits[:len(digits)-1] + string('0'+(last-'0'+1)%10)
}

func TestTheHolderStopsAMoveThatWasNotTheirsByAButtonAndNotByLooking(t *testing.T) {
	t.Parallel()
	office := servertest.NewOffice(t, true)
	h := servertest.NewHouse(t, servertest.Mail(office.Settings(), ""))
	soon := h.NewEvent("Playtime", "Screen 2", time.Hour, nil)
	kind := h.NewCategory(soon.Event, client.NewCategory{Name: "Standard"})
	order := h.Issue(soon.Event, client.NewTickets{Category: kind.Category, Holder: &client.Holder{Name: "Marie", Email: "marie@example.net"}})
	h.NewPhone().Take(t, order.ClaimURL)

	thief := pagetest.NewTab(t, nil)
	thief.Do(chromedp.Navigate(order.ClaimURL))
	thief.Click("#move")
	thief.Until(`document.querySelector("#digits")`)
	typeDigits(t, thief, mailed(t, office, mailedDigits, 1))
	thief.Click("#move-go")
	thief.Until(`document.querySelector(".card[data-face=waiting]")`)

	marie := pagetest.NewTab(t, nil)
	marie.Do(chromedp.Navigate(mailed(t, office, notMeLink, 1)))
	marie.Until(`document.querySelector("#not-me")`)
	if n := h.Count(t, "tickets WHERE status = 'held'"); n != 0 {
		t.Fatal("looking was enough")
	}
	marie.Click("#not-me")
	marie.Until(`document.querySelector(".landing [data-say]") && !document.querySelector("#not-me")`)
	thief.Until(`document.querySelector(".card[data-face=held]")`)
	if n := h.Count(t, "tickets WHERE status = 'held'"); n != 1 {
		t.Errorf("%d tickets are on hold", n)
	}
}
