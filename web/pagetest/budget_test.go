package pagetest_test

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/web/pagetest"
)

// firstLoad is what a wallet may cost a customer before it shows a code, in bytes
// over the wire: page, script, style, words, icon and calls, headers included.
const firstLoad = 40 << 10

func TestTheFirstLoadOfAWalletIsAtMostFortyKilobytesOverTheWire(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	for _, language := range []string{"en", "fr", "cs"} {
		link := h.Issue(h.Event.Event, client.NewTickets{Category: h.Standard.Category}).ClaimURL
		wallet := pagetest.NewTab(t, map[string]any{"accept-lang": language})
		wire := listen(t, wallet)
		wallet.Do(chromedp.Navigate(link))
		wallet.Click("#put")
		wallet.Until(codeShown)
		if said := pagetest.Eval[string](wallet, "document.documentElement.lang"); said != language {
			t.Errorf("the page speaks %s, not %s", said, language)
		}
		total := 0
		for _, part := range wire.finished() {
			total += part.bytes
			t.Logf("%s %6d %s", language, part.bytes, part.address[len(h.URL):])
		}
		t.Logf("%s %6d bytes", language, total)
		if total > firstLoad {
			t.Errorf("the first load in %s takes %d bytes", language, total)
		}
	}
}

// part is something that was loaded.
type part struct {
	address string
	bytes   int
}

// traffic is what a page loads.
type traffic struct {
	mu    sync.Mutex
	parts map[network.RequestID]*part
}

func listen(t *testing.T, p *pagetest.Tab) *traffic {
	t.Helper()
	wire := &traffic{parts: map[network.RequestID]*part{}}
	p.Listen(func(event any) {
		wire.mu.Lock()
		defer wire.mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			wire.parts[e.RequestID] = &part{address: e.Request.URL}
		case *network.EventLoadingFinished:
			if known := wire.parts[e.RequestID]; known != nil {
				known.bytes = int(e.EncodedDataLength)
			}
		}
	})
	return wire
}

// finished is what was loaded whole, the largest first.
func (w *traffic) finished() (all []part) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.parts {
		if p.bytes > 0 {
			all = append(all, *p)
		}
	}
	slices.SortFunc(all, func(a, b part) int { return cmp.Compare(b.bytes, a.bytes) })
	return all
}

// slow4G is a phone's network in a crowd.
var slow4G = &network.Conditions{Latency: 150, DownloadThroughput: 1.6e6 / 8, UploadThroughput: 750e3 / 8, ConnectionType: network.ConnectionTypeCellular4g}

// BenchmarkWalletCodeOnScreen is the time from the navigation to a ticket's code
// on the screen over a slow network, from a warm server to a phone that has the
// ticket's key. "empty" has no cache and no service worker, "kept" has both, as a
// phone does at the door. Any code counts; ms/live is that to one over the
// venue's nonce.
func BenchmarkWalletCodeOnScreen(b *testing.B) {
	h := servertest.NewHouse(b)
	karel := h.Controller("Karel", session.Controller)
	karel.Hold(b)
	wallet := openWallet(b, h.Issue(h.Event.Event, client.NewTickets{Category: h.Standard.Category}).ClaimURL)
	wallet.Until(servedOffline)
	b.Run("kept", func(b *testing.B) { codeOnScreen(b, karel, wallet, func() {}) })
	b.Run("empty", func(b *testing.B) { codeOnScreen(b, karel, wallet, func() { wallet.Forget(h.URL) }) })
}

const servedOffline = `navigator.serviceWorker.controller`

func codeOnScreen(b *testing.B, karel *servertest.Gatekeeper, wallet *pagetest.Tab, prepare func()) {
	var code, live float64
	address := strings.TrimSuffix(pagetest.Eval[string](wallet, "location.origin"), "/") + "/w"
	for b.Loop() {
		karel.Hold(b)
		prepare()
		wallet.Do(chromedp.Navigate("about:blank"))
		wallet.Network(slow4G)
		wallet.Do(chromedp.Navigate(address))
		wallet.Until(`faces.some(f => f.code !== "" && !f.timed)`)
		shown := pagetest.Eval[[2]float64](wallet, `[f => f.code !== "", f => f.code !== "" && !f.timed].map(is => faces.find(is).at - performance.timeOrigin)`)
		code, live = code+shown[0], live+shown[1]
		wallet.Network(nil)
	}
	b.ReportMetric(code/float64(b.N), "ms/code")
	b.ReportMetric(live/float64(b.N), "ms/live")
}
