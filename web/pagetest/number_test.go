package pagetest_test

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/web/pagetest"
)

// The form that issues tickets shows a number and keeps it while it is open. It
// gives it back however it is left, and says so when it lost it.

// orderForm is a desk's page, at a form that issues tickets or on the way to one.
type orderForm struct {
	*pagetest.Tab
	t     *testing.T
	house *servertest.House
}

// atTheDesk signs an admin in, in a browser window of a laptop's size.
func atTheDesk(t *testing.T, h *servertest.House, scripts ...string) orderForm {
	t.Helper()
	o := orderForm{pagetest.NewTab(t, nil), t, h}
	for _, script := range scripts {
		o.Before(script)
	}
	o.Do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(h.Member("Alena", session.Grant{Role: session.AdminRole}).SignInLink))
	o.Click("#form-link button")
	o.Click("[data-act=go_on]")
	return o
}

// open opens the form and waits until it shows that number.
func (o orderForm) open(number int) {
	o.t.Helper()
	event := o.house.Event.Event.String()
	o.Until(`document.querySelector(".top nav")`)
	o.Do(chromedp.Evaluate[chromedp.Void](`void (location.hash = "#/event/` + event + `/issue")`))
	o.shows(number)
}

func (o orderForm) shows(number int) {
	o.t.Helper()
	o.Until(`document.querySelector("#kept")?.textContent === "No. ` + strconv.Itoa(number) + `"`)
}

// holder types the holder's name.
func (o orderForm) holder(name string) {
	o.t.Helper()
	o.Click(`[name="holder.name"]`)
	o.Do(chromedp.KeyEvent(name))
	o.Until(`document.querySelector('[name="holder.name"]').value === ` + strconv.Quote(name))
}

// numbersKept is how many numbers are under a living lease.
func numbersKept(t *testing.T, h *servertest.House) int {
	t.Helper()
	return h.Count(t, "number_leases WHERE event_id = $1 AND expires_at > portillon_now()", h.Event.Event)
}

func (o orderForm) givesBack(way string) {
	o.t.Helper()
	took := eventually(o.t, way+" gives the number back", soon, func() bool { return numbersKept(o.t, o.house) == 0 })
	o.t.Logf("%s: given back after %v", way, took)
}

func TestEachWayOutOfTheFormGivesItsNumberBack(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	o := atTheDesk(t, h)
	mouse := func(event input.DispatchMouseEventType, x, y float64) {
		o.Do(chromedp.MouseEvent(event, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
	}
	for _, way := range []struct {
		name  string
		leave func()
		keeps bool // what was typed is there when the form is opened again
	}{
		{"Escape", func() { o.Do(chromedp.KeyEvent(kb.Escape)) }, true},
		{"a click outside", func() { o.Do(chromedp.MouseClickXY(1200, 600)) }, true},
		{"Cancel", func() { o.Click("[data-act=cancel]") }, false},
		{"another room of the desk", func() { o.Click(`nav a[href="#/gates"]`) }, true},
		{"the browser's way back", func() { o.Do(chromedp.Evaluate[chromedp.Void](`history.back()`)) }, true},
	} {
		o.open(1)
		if numbersKept(t, h) != 1 {
			t.Fatalf("%s: the form that is open keeps no number", way.name)
		}
		if typed := pagetest.Eval[string](o.Tab, `document.querySelector('[name="holder.name"]').value`); typed == "" {
			o.holder("Anna")
		}
		// A name that is marked to beyond the form's edge is no click outside.
		mouse(chromedp.MousePressed, 300, 350)
		mouse(chromedp.MouseMoved, 1200, 600)
		mouse(chromedp.MouseReleased, 1200, 600)
		o.shows(1)
		way.leave()
		o.Until(`!document.querySelector("#form-issue")`)
		o.givesBack(way.name)
		o.open(1)
		if typed := pagetest.Eval[string](o.Tab, `document.querySelector('[name="holder.name"]').value`); (typed == "Anna") != way.keeps {
			t.Errorf("after %s the name in the form that is opened again is %q", way.name, typed)
		}
		o.Click(`nav a[href="#/gates"]`)
		o.Until(`!document.querySelector("#form-issue")`)
		o.givesBack("another room of the desk")
	}
	o.open(1)
	o.Do(chromedp.Navigate("about:blank"))
	o.givesBack("another address")

	other := o.Other(h.URL + "/desk") // or the browser would end with its last page
	again := orderForm{other, t, h}
	again.open(1)
	again.Close()
	o.givesBack("closing")
}

func TestAFormThatWasSentKeepsNoNumberAndTheNextHasTheNext(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	o := atTheDesk(t, h)
	o.open(1)
	o.Click("#form-issue button.main")
	o.Until(`document.querySelector("#issued-title")?.textContent.includes("No. 1")`)
	if n := numbersKept(t, h); n != 0 {
		t.Errorf("%d numbers are kept after the form was sent", n)
	}
	o.Click("[data-act=another]")
	o.shows(2)
}

// away is how long the tab is in the background: for good where there is time.
func away(t *testing.T, h *servertest.House) {
	t.Helper()
	const long = 20 * time.Second
	if os.Getenv("PORTILLON_SOAK") != "" {
		time.Sleep(long)
		return
	}
	h.DB.Shift(t, long)
}

// patient keeps the page from renewing when the time has come: what it does then it
// does because it is seen again.
const patient = `{
	const later = window.setTimeout;
	window.setTimeout = (then, after, ...rest) => after === 5000 ? 0 : later(then, after, ...rest);
}`

func TestATabThatWasInTheBackgroundForTwentySecondsTakesItsNumberUpAgainOrSaysWhichItHas(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	o := atTheDesk(t, h, patient)
	o.Expect("status of 410") // the lease that it had
	o.open(1)
	o.holder("Anna")

	for _, number := range []int{1, 2} {
		o.Window(browser.WindowStateMinimized)
		o.Until("document.hidden")
		away(t, h)
		if numbersKept(t, h) != 0 {
			t.Fatal("a form that nobody sees keeps its number")
		}
		if number == 2 { // somebody else is quicker
			quick := servertest.Must(h.Admin.ReserveNumber(context.Background(), h.Event.Event))(t)
			if quick.Number != 1 {
				t.Fatalf("another form is offered %d", quick.Number)
			}
		}
		o.Window(browser.WindowStateNormal)
		eventually(t, "the form has a number again", soon, func() bool { return numbersKept(t, h) == number })
		o.shows(number)
		if moved := pagetest.Eval[bool](o.Tab, `Boolean(document.querySelector("#moved"))`); moved != (number == 2) {
			t.Errorf("the form says that it has another number: %v, and has %d", moved, number)
		}
	}
	said := pagetest.Eval[string](o.Tab, `document.querySelector('[role=status] #moved').textContent`)
	if want := "No. 1 went elsewhere in the meantime. This form has No. 2 now."; said != want {
		t.Errorf("the form says %q", said)
	}
	if h.Count(t, "tickets") != 0 {
		t.Error("something was saved before the form said its number")
	}
	o.Click("#form-issue button.main")
	o.Until(`document.querySelector("#issued-title")?.textContent.includes("No. 2")`)
	if n := h.Count(t, "tickets WHERE number = 2 AND holder_name = 'Anna'"); n != 1 {
		t.Errorf("%d tickets with the number that the form showed", n)
	}
}

// deaf lets the page hear of no renewal, so that it learns of a loss at the write.
const deaf = `{
	const ask = window.fetch;
	window.fetch = (path, ...rest) => String(path).endsWith("/renew") ? new Promise(() => {}) : ask(path, ...rest);
}`

func TestANumberThatIsLostAtTheWriteIsReplacedInTheFormBeforeAnythingIsSaved(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	o := atTheDesk(t, h, deaf)
	o.Expect("status of 409")
	o.open(1)
	h.DB.Shift(t, 20*time.Second)
	servertest.Must(h.Admin.ReserveNumber(context.Background(), h.Event.Event))(t)
	o.Click("#form-issue button.main")
	o.shows(2)
	o.Until(`document.activeElement.id === "trouble-issue" && document.activeElement.textContent.includes("No. 2")`)
	if h.Count(t, "tickets") != 0 {
		t.Error("something was saved under a number that nobody saw")
	}
	o.Click("#form-issue button.main")
	o.Until(`document.querySelector("#issued-title")?.textContent.includes("No. 2")`)

	// Nobody else wanted it: the number is the one that was read, and one press is enough.
	o.Click("[data-act=another]")
	o.shows(3)
	h.DB.Shift(t, 20*time.Second)
	servertest.Must(h.Admin.ReserveNumber(context.Background(), h.Event.Event))(t) // 1 is free again
	o.Click("#form-issue button.main")
	o.Until(`document.querySelector("#issued-title")?.textContent.includes("No. 3")`)
	if n := h.Count(t, "tickets"); n != 2 {
		t.Errorf("%d tickets for two orders", n)
	}
}

// forgetful loses the first answer to an order that was carried out.
const forgetful = `{
	const ask = window.fetch;
	let lost = false;
	window.fetch = async (path, ...rest) => {
		const answer = await ask(path, ...rest);
		if (lost || !String(path).endsWith("/tickets") || rest[0]?.method !== "POST") return answer;
		lost = true;
		throw new TypeError("the network is gone");
	};
}`

func TestAnOrderWhoseAnswerWasLostIsNotSavedTwiceThoughItsFormHasAnotherNumberByThen(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	o := atTheDesk(t, h, forgetful)
	o.Expect("status of 410") // its lease was spent
	o.open(1)
	o.holder("Anna")
	o.Click("#form-issue button.main")
	o.Until(`document.activeElement.id === "trouble-issue"`)
	o.shows(2)
	// Even after the form was left and opened again.
	o.Do(chromedp.KeyEvent(kb.Escape))
	o.Until(`!document.querySelector("#form-issue")`)
	o.givesBack("Escape")
	o.open(2)
	o.Click("#form-issue button.main")
	o.Until(`document.querySelector("#issued-title")?.textContent.includes("No. 1")`)
	if n := h.Count(t, "tickets"); n != 1 {
		t.Errorf("%d tickets were saved", n)
	}
	o.givesBack("the answer")
}
