package pagetest_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/web/pagetest"
)

// What a guest's phone lives through before and at the door: restarts, storage
// clean-ups, a wrong clock, no network.

func TestARobotThatRunsScriptsOpensALinkManyTimesAndClaimsNothing(t *testing.T) {
	t.Parallel()
	opens := 10
	if os.Getenv("PORTILLON_SOAK") != "" {
		opens = 100
	}
	h := servertest.NewHouse(t)
	link := h.Issue(h.Event.Event, client.NewTickets{Category: h.Standard.Category, Count: 2}).ClaimURL
	robot := pagetest.NewTab(t, nil)
	for range opens {
		robot.Do(chromedp.Navigate("about:blank"), chromedp.Navigate(link))
		robot.Until(`document.querySelector("#put")`)
	}
	if n := h.Count(t, "claims") + h.Count(t, "wallet_sessions") + h.Count(t, "tickets WHERE generation > 0"); n != 0 {
		t.Errorf("the robot left %d traces", n)
	}
	openWallet(t, link)
	if n := h.Count(t, "claims"); n != 2 {
		t.Errorf("the customer has %d tickets", n)
	}
}

// setClock makes a document's clock wrong by what its session storage says, in
// milliseconds.
const setClock = `
let wrong = 0;
try { wrong = Number(sessionStorage.getItem("wrong clock") ?? 0) } catch { /* no page yet */ }
const Right = Date;
window.Date = class extends Right {
  constructor(...of) { if (of.length === 0) super(Right.now() + wrong); else super(...of); }
  static now() { return Right.now() + wrong; }
};
`

// T35
func TestAPhoneWithAWrongClockAndZoneIsAdmittedByNonceAndWithoutNetworkByTime(t *testing.T) {
	t.Parallel()
	wrong := []time.Duration{-30 * time.Second, 90 * time.Second, -time.Hour, 24 * time.Hour}
	if os.Getenv("PORTILLON_SOAK") != "" {
		for _, by := range wrong {
			wrong = append(wrong, -by)
		}
	}
	h := servertest.NewHouse(t)
	camera := pagetest.NewCamera(t, 1280, 720)
	gate := openGate(t, h, camera)
	order := h.Issue(h.Event.Event, client.NewTickets{Category: h.Standard.Category, Count: len(wrong) + 1})
	wallet := openWallet(t, order.ClaimURL)
	wallet.Before(setClock)
	if _, err := chromedp.Call(wallet.Context(), emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Pacific/Kiritimati"}); err != nil {
		t.Fatal(err)
	}
	with := func(wrong time.Duration) {
		pagetest.Eval[any](wallet, `sessionStorage.setItem("wrong clock", `+strconv.FormatInt(wrong.Milliseconds(), 10)+`)`)
		wallet.Do(chromedp.Reload())
	}
	for i, by := range wrong {
		with(by)
		number := strconv.Itoa(order.Tickets[i].Number)
		wallet.Until(codeLive + ` && ` + codeNumber + ` === "` + number + `"`)
		if off := pagetest.Eval[float64](wallet, "Date.now()") - millis(time.Now()); time.Duration(off)*time.Millisecond < by-time.Second || time.Duration(off)*time.Millisecond > by+time.Second {
			t.Fatalf("the clock is %v ms off", off)
		}
		admitNext(t, gate, wallet, camera, number)
	}

	// The page knows how wrong the clock is from when there was network. The half
	// minute for which a wallet's sign of life counts passes for all alike.
	wallet.Until(servedOffline)
	number := strconv.Itoa(order.Tickets[len(wrong)].Number)
	wallet.Until(codeLive + ` && ` + codeNumber + ` === "` + number + `"`)
	wallet.Network(pagetest.NoNetwork)
	gate.Expect("status of 410") // its lease
	camera.Dark()
	with(wrong[len(wrong)-1] + 31*time.Second)
	h.DB.Shift(t, 31*time.Second)
	wallet.Until(codeTimed)
	before := pagetest.Eval[int](gate.Tab, "verdicts.length")
	last := func(reason string) bool {
		return pagetest.Eval[bool](gate.Tab, `verdicts.length > `+strconv.Itoa(before)+` && verdicts.at(-1).reason === "`+reason+`"`)
	}
	eventually(t, "the gate asks whether the phone has no network", patience, func() bool {
		if err := camera.Screen(wallet.Shot(".window")); err != nil {
			t.Fatal(err)
		}
		return last("needs_assist")
	})
	gate.Click("#phone-offline")
	eventually(t, "it is admitted", patience, func() bool { return last("admitted") })
	if n := h.Count(t, "admissions WHERE kind = 'timed'"); n != 1 {
		t.Errorf("%d entries by time", n)
	}
}
