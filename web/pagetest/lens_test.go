package pagetest_test

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"portillon/server/servertest"
	"portillon/web"
	"portillon/web/pagetest"
)

// lens reads codes off pictures with the decoder of the gate's page, without a
// camera and a gate: for what a wallet's screen shows at one moment.
type lens struct {
	*pagetest.Tab
	t testing.TB
}

// newLens starts the decoder in a tab of its own. That tab has none of our pages,
// so that it may start what it likes; the decoder's own policy holds.
func newLens(t testing.TB, h *servertest.House) lens {
	t.Helper()
	tab, _ := pagetest.Visit(t)
	tab.Expect("favicon.ico") // what is no page has no icon
	names, err := fs.Glob(web.FS(), "decoder-*.js")
	if err != nil || len(names) == 0 {
		t.Fatalf("there is no decoder in the build: %v", err)
	}
	if _, err := chromedp.Call(tab.Context(), page.SetBypassCSP, page.SetBypassCSPParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	tab.Do(chromedp.Navigate(h.URL + "/healthz"))
	pagetest.Eval[bool](tab, fmt.Sprintf(`(() => {
const decoder = new Worker(%q, { type: "module" });
const waiting = new Map();
decoder.onmessage = ({ data }) => { waiting.get(data.id)(data); waiting.delete(data.id); };
let last = 0;
window.readPicture = async (base64) => {
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  const picture = await createImageBitmap(new Blob([bytes]));
  const context = new OffscreenCanvas(picture.width, picture.height).getContext("2d");
  context.drawImage(picture, 0, 0);
  const image = context.getImageData(0, 0, picture.width, picture.height);
  const found = await new Promise((give) => { waiting.set(++last, give); decoder.postMessage({ id: last, image }); });
  if (found.failed !== undefined) throw new Error(found.failed);
  return found.texts;
};
return true;
})()`, web.Prefix+names[0]))
	return lens{tab, t}
}

// texts are the codes in a picture (JPEG or PNG).
func (l lens) texts(picture []byte) []string {
	l.t.Helper()
	script := fmt.Sprintf("readPicture(%q)", base64.StdEncoding.EncodeToString(picture))
	texts, err := chromedp.Run(l.Context(), chromedp.Evaluate[[]string](script, chromedp.EvalAwaitPromise))
	if err != nil {
		l.t.Fatalf("read a picture of %d bytes: %v", len(picture), err)
	}
	return texts
}

// code is the one code that a wallet shows.
func (l lens) code(wallet *pagetest.Tab) string {
	l.t.Helper()
	texts := l.texts(wallet.Shot(".window"))
	if len(texts) != 1 {
		l.t.Fatalf("the wallet's card has %d codes", len(texts))
	}
	return texts[0]
}
