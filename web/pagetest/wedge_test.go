package pagetest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/web/pagetest"
)

// trigger types a text as a hand scanner does, all keys within one turn of the page so
// that a busy machine does not tear them apart. What the page lets through goes into
// the field that has the focus.
func (k keyboard) trigger(text string) {
	k.t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		k.t.Fatal(err)
	}
	k.Do(chromedp.Evaluate[chromedp.Void](`for (const key of [...` + string(quoted) + `, "Enter"]) {
		const at = document.activeElement;
		const taken = !at.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
		if (taken || !(at instanceof HTMLInputElement)) continue;
		if (key === "Enter") at.form?.requestSubmit();
		else at.setRangeText(key, at.value.length, at.value.length, "end");
	}`))
}

// T73, T80. A hand scanner's codes arrive wherever the focus is and never stay in a field; two
// that stick together, and more than any code is long, are refused here and never sent.
func TestAHandScannerIsHeardWhereverTheFocusIs(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	person, link := newcomer(t, h)
	pavel := h.Controller("Pavel", session.Controller)
	codes := make([]string, 3)
	for i := range codes {
		phone, issued := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
		codes[i] = phone.Signed(t, issued.Ticket, pavel.Hold(t))
	}

	k := sitDown(t, link)
	k.signOn(h, person)
	admitted := func(n int) {
		t.Helper()
		k.Until(`document.querySelector(".verdict")?.dataset.reason === "admitted"`)
		k.press(kb.Escape)
		k.Until(`document.querySelector(".verdict") === null`)
		if got := h.Count(t, "admissions"); got != n {
			t.Errorf("%d entries of %d", got, n)
		}
	}

	k.Do(chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
	k.trigger(codes[0])
	admitted(1)
	k.reach("#tool-more") // a button, which Enter would press
	k.trigger("]Q3" + codes[1])
	admitted(2)
	k.Until(`document.querySelector("#close-gate") === null`)
	k.enter("#tool-typing")
	k.Until(`document.activeElement.id === "code"`)
	k.press("12")
	k.trigger(codes[2])
	admitted(3)

	before := h.Count(t, "attempts")
	said := func(words string) {
		t.Helper()
		k.Until(`document.querySelector(".verdict")?.textContent.includes("` + words + `")`)
		k.press(kb.Escape)
		k.Until(`document.querySelector(".verdict") === null`)
	}
	k.trigger(codes[0] + codes[1])
	said("Two codes came in one go")
	k.enter("#tool-typing")
	k.Until(`document.activeElement.id === "code"`)
	k.trigger(strings.Repeat("A", 64_000))
	said("more than any code is long")
	if left := pagetest.Eval[string](k.Tab, `document.querySelector("#code")?.value ?? "no field"`); left != "" {
		t.Errorf("%d characters stayed in the field", len(left))
	}
	k.trigger("WIFI:S:Foyer;T:WPA;P:secret;;")
	said("Wi-Fi")
	if n := h.Count(t, "attempts"); n != before {
		t.Errorf("%d of them were sent", n-before)
	}
}
