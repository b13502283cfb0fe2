package pagetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/chromedp"
)

// patience bounds every wait for a page; what a test promises is measured.
const patience = 30 * time.Second

// Tab is a page.
type Tab struct {
	t       testing.TB
	ctx     context.Context
	console *Console
	expects []string
}

// NewTab starts a Chromium with a profile of its own, of a phone's size, which is
// gone at the end of the test. What its console reports as an error fails the
// test, but for what the test expects.
func NewTab(t testing.TB, flags map[string]any) *Tab {
	t.Helper()
	chromium, err := Launch(flags)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(chromium.Stop)
	tab := &Tab{t: t, ctx: chromium.ctx, console: &Console{}}
	if err := chromedp.Listen(tab.ctx, tab.console.hear); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tab.complain)
	tab.Do(chromedp.EmulateViewport(390, 844))
	return tab
}

func (p *Tab) complain() {
	for _, complaint := range p.console.Take() {
		expected := func(part string) bool { return strings.Contains(complaint, part) }
		if !slices.ContainsFunc(p.expects, expected) {
			p.t.Errorf("the console says: %s", complaint)
		}
	}
}

// Expect lets the console of a page from NewTab say something: the browser
// reports each answer above 399 as an error there, also one that the page is
// made for.
func (p *Tab) Expect(part string) { p.expects = append(p.expects, part) }

// Do runs actions within the patience that a test has.
func (p *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// Eval is the value of a script in the page.
func Eval[T any](p *Tab, script string) T {
	p.t.Helper()
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](script))
	if err != nil {
		p.t.Fatalf("%s: %v", script, err)
	}
	return value
}

// Until waits until a condition in the page holds.
func (p *Tab) Until(condition string) {
	p.t.Helper()
	if !p.Within(patience, condition) {
		p.t.Fatalf("%v passed without %s; the page says: %s", patience, condition, Eval[string](p, "document.body.innerText"))
	}
}

// Within waits so long for a condition in the page, and says whether it came to hold.
func (p *Tab) Within(limit time.Duration, condition string) bool {
	ctx, cancel := context.WithTimeout(p.ctx, limit)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Poll[bool]("!!("+condition+")", chromedp.WithPollingInterval(10*time.Millisecond)))
	return err == nil
}

// Click waits for an element and clicks it.
func (p *Tab) Click(selector string) {
	p.t.Helper()
	p.Until(fmt.Sprintf("document.querySelector(%q)?.checkVisibility()", selector))
	p.Do(chromedp.Click(chromedp.CSS(selector)))
}

// Before has a script run in each document before its own.
func (p *Tab) Before(script string) {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script}); err != nil {
		p.t.Fatal(err)
	}
}

// Network gives the page a network of that kind, or none.
func (p *Tab) Network(conditions *network.Conditions) {
	p.t.Helper()
	all := network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{}}
	state := network.OverrideNetworkStateParams{DownloadThroughput: -1, UploadThroughput: -1}
	if conditions != nil {
		if conditions.Offline {
			p.Expect("net::ERR_INTERNET_DISCONNECTED")
		}
		all.MatchedNetworkConditions = append(all.MatchedNetworkConditions, conditions)
		state = network.OverrideNetworkStateParams{Offline: conditions.Offline, Latency: conditions.Latency,
			DownloadThroughput: conditions.DownloadThroughput, UploadThroughput: conditions.UploadThroughput}
	}
	if _, err := chromedp.Call(p.ctx, network.EmulateNetworkConditionsByRule, all); err != nil {
		p.t.Fatal(err)
	}
	if _, err := chromedp.Call(p.ctx, network.OverrideNetworkState, state); err != nil {
		p.t.Fatal(err)
	}
}

// NoNetwork drops everything.
var NoNetwork = &network.Conditions{Offline: true, DownloadThroughput: -1, UploadThroughput: -1}

// Window puts the window down or up again.
func (p *Tab) Window(state browser.WindowState) {
	p.t.Helper()
	window, err := chromedp.Call(p.ctx, browser.GetWindowForTarget, browser.GetWindowForTargetParams{})
	if err != nil {
		p.t.Fatal(err)
	}
	_, err = chromedp.Call(p.ctx, browser.SetWindowBounds, browser.SetWindowBoundsParams{
		WindowID: window.WindowID, Bounds: &browser.Bounds{WindowState: state},
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// Listen hears every event of the page's protocol, as chromedp.Listen does.
func (p *Tab) Listen(hear func(event any)) {
	p.t.Helper()
	if err := chromedp.Listen(p.ctx, hear); err != nil {
		p.t.Fatal(err)
	}
}

// Forget leaves the browser of an origin nothing but its keys and cookies: no
// cache and no service worker.
func (p *Tab) Forget(origin string) {
	p.t.Helper()
	p.Do(chromedp.Navigate("about:blank"))
	if _, err := chromedp.Call(p.ctx, network.ClearBrowserCache, cdp.Empty{}); err != nil {
		p.t.Fatal(err)
	}
	_, err := chromedp.Call(p.ctx, storage.ClearDataForOrigin, storage.ClearDataForOriginParams{
		Origin: origin, StorageTypes: "service_workers,cache_storage",
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// Other opens an address in another window of the same browser.
func (p *Tab) Other(address string) *Tab {
	p.t.Helper()
	ctx, end := chromedp.NewContext(p.ctx)
	p.t.Cleanup(end)
	other := &Tab{t: p.t, ctx: ctx, console: p.console}
	if err := chromedp.Listen(ctx, p.console.hear); err != nil {
		p.t.Fatal(err)
	}
	other.Do(chromedp.Navigate(address))
	return other
}

// Close closes the page as its user does. The browser goes on if it has others.
func (p *Tab) Close() {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, page.Close, cdp.Empty{}); err != nil {
		p.t.Fatal(err)
	}
}

// Quit ends the browser of a page from NewTab as its user does, and waits for that.
func (p *Tab) Quit() {
	p.t.Helper()
	if err := chromedp.Cancel(p.ctx); err != nil {
		p.t.Fatal(err)
	}
}

// Shot is a JPEG of an element as it is on the screen now.
func (p *Tab) Shot(selector string) []byte {
	p.t.Helper()
	box := Eval[page.Viewport](p, fmt.Sprintf(`(() => { const r = document.querySelector(%q).getBoundingClientRect();
return { x: r.x, y: r.y, width: r.width, height: r.height, scale: 1 } })()`, selector))
	quality, quick := int64(90), true
	shot, err := chromedp.Call(p.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{
		Format: page.CaptureScreenshotFormatJpeg, Quality: &quality, Clip: &box, OptimizeForSpeed: &quick,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return shot.Data
}
