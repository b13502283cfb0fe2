package pagetest_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"portillon/server/servertest"
	"portillon/web/pagetest"
)

// lamp gives Chromium's made-up cameras a light, which they have not.
const lamp = `
window.lit = [];
const capabilities = MediaStreamTrack.prototype.getCapabilities;
MediaStreamTrack.prototype.getCapabilities = function () { return { ...capabilities.call(this), torch: true }; };
MediaStreamTrack.prototype.applyConstraints = async (wanted) => void window.lit.push(wanted.advanced[0].torch);
`

// T64. Of two cameras the other one is chosen and is the one after a reload; the light is
// turned on and off, and a fresh camera's light is off.
func TestAnotherCameraIsRememberedAndTheLightTurnedOn(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	person, link := newcomer(t, h)
	g := gatePage{pagetest.NewTab(t, map[string]any{
		"use-fake-ui-for-media-stream": true, "use-fake-device-for-media-stream": "device-count=2",
	}), h}
	g.Before(lamp)
	g.Do(chromedp.Navigate(link))
	g.signOn(person)
	const device = `document.querySelector("video").srcObject?.getVideoTracks()[0]?.getSettings().deviceId ?? ""`
	first := pagetest.Eval[string](g.Tab, device)
	g.Click("#tool-more")
	g.Click("#light")
	g.Until(`document.querySelector("#light")?.textContent === "Light off"`)
	g.Click("#light")
	g.Until(`document.querySelector("#light")?.textContent === "Light on" && window.lit.join() === "true,false"`)
	g.Click("#light")
	g.Click("#another-camera")
	g.Until(`document.querySelector("#light")?.textContent === "Light on" && ![` + "`" + first + "`" + `, ""].includes(` + device + `)`)
	second := pagetest.Eval[string](g.Tab, device)
	g.Do(chromedp.Reload())
	g.start()
	if now := pagetest.Eval[string](g.Tab, device); now != second {
		t.Errorf("after a reload the camera is %s, not %s", now, second)
	}
}
