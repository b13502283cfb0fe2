package pagetest_test

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	_ "image/png" // of whole windows
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/google/uuid"

	"portillon/server/servertest"
	"portillon/wallet"
	"portillon/web/pagetest"
)

// T70
func TestACodeIsReadAtAnyInstantAlsoWhileItChanges(t *testing.T) {
	t.Parallel()
	instants := 100
	if os.Getenv("PORTILLON_SOAK") != "" {
		instants = 1000
	}
	gallery, gate := pagetest.NewGallery(t), newLens(t, servertest.NewHouse(t))
	tab := pagetest.NewTab(t, nil)
	gallery.Open(tab, pagetest.Look{Page: "wallet", Scheme: "dark", Width: 390, Height: 844, Scale: 2}, "en")
	held, err := (&wallet.Phone{}).Add(uuid.New(), uuid.New())
	if err != nil {
		t.Fatal(err)
	}
	code := func() string {
		c, err := held.SignNonce([16]byte(uuid.New()))
		if err != nil {
			t.Fatal(err)
		}
		return c.String()
	}
	before := code()
	pagetest.Eval[any](tab, "portillonCodes.draw("+strconv.Quote(before)+")")
	read, early := 0, 0
	for i := range instants {
		after := code()
		if i%2 == 0 { // within 150 ms of a change, before or after it
			delay := rand.IntN(150)
			pagetest.Eval[any](tab, "void setTimeout(() => portillonCodes.draw("+strconv.Quote(after)+"), "+strconv.Itoa(delay)+")")
			time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond)
		}
		switch texts := gate.texts(tab.Shot(".window")); {
		case slices.Equal(texts, []string{after}):
			read++
		case slices.Equal(texts, []string{before}):
			read++
			if i%2 == 0 {
				early++
			}
		}
		if i%2 == 0 {
			pagetest.Eval[any](tab, "portillonCodes.draw("+strconv.Quote(after)+")")
			before = after
		}
	}
	t.Logf("%d of %d read, %d of them before the change", read, instants, early)
	if read*100 < instants*99 {
		t.Errorf("%d of %d instants were read", read, instants)
	}
	if early == 0 || early == instants/2 {
		t.Errorf("all pictures are of one side of the change: %d of %d before it", early, instants/2)
	}
}

func TestTheCardIsWhiteAndItsCodeDarkWhateverTheBrowserDoesToColours(t *testing.T) {
	t.Parallel()
	gallery, gate := pagetest.NewGallery(t), newLens(t, servertest.NewHouse(t))
	tab := pagetest.NewTab(t, nil)
	feature := func(name, value string) *emulation.MediaFeature {
		return &emulation.MediaFeature{Name: name, Value: value}
	}
	forced := []*emulation.MediaFeature{feature("forced-colors", "active")}
	for name, c := range map[string]struct {
		scheme   string
		features []*emulation.MediaFeature
		auto     bool
	}{
		"light":                  {"light", nil, false},
		"dark":                   {"dark", nil, false},
		"forced colours":         {"light", forced, false},
		"forced colours, dark":   {"dark", forced, false},
		"darkened by itself":     {"dark", nil, true},
		"darkened, forced, dark": {"dark", forced, true},
	} {
		if c.auto {
			darken(t, tab, true)
			tab.Do(chromedp.Navigate("data:text/html,<body style='background:white'>"))
			if light := pixel(shotOf(t, tab), 20, 20); luminance(light) > 0.2 {
				t.Fatalf("%s: the browser darkens nothing: %v", name, light)
			}
		}
		gallery.Open(tab, pagetest.Look{Page: "wallet", Scheme: c.scheme, Width: 390, Height: 844, Scale: 1}, "en")
		features := append([]*emulation.MediaFeature{feature("prefers-color-scheme", c.scheme), feature("prefers-reduced-motion", "reduce")}, c.features...)
		if _, err := chromedp.Call(tab.Context(), emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
			t.Fatal(err)
		}
		gallery.Show(tab, "live")
		text := "PT1:" + strings.Repeat("0A $%*+-./:", 13)
		pagetest.Eval[any](tab, "portillonCodes.draw("+strconv.Quote(text)+")")
		if c.features != nil && !pagetest.Eval[bool](tab, `matchMedia("(forced-colors: active)").matches`) {
			t.Fatalf("%s: no colours are forced", name)
		}
		for _, complaint := range unreadable(t, tab, gate, text) {
			t.Errorf("%s: %s", name, complaint)
		}
		darken(t, tab, false)
	}
}

func darken(t *testing.T, tab *pagetest.Tab, on bool) {
	t.Helper()
	if _, err := chromedp.Call(tab.Context(), emulation.SetAutoDarkModeOverride, emulation.SetAutoDarkModeOverrideParams{Enabled: &on}); err != nil {
		t.Fatal(err)
	}
}

func shotOf(t *testing.T, tab *pagetest.Tab) image.Image {
	t.Helper()
	picture, _, err := image.Decode(bytes.NewReader(tab.WindowPicture()))
	if err != nil {
		t.Fatal(err)
	}
	return picture
}

// unreadable says what is wrong with the code on the screen: it cannot be read,
// or is not nearly black on nearly white.
func unreadable(t *testing.T, tab *pagetest.Tab, gate lens, text string) (complaints []string) {
	t.Helper()
	shot := tab.Shot(".window")
	if !slices.Equal(gate.texts(shot), []string{text}) {
		complaints = append(complaints, "the code cannot be read")
	}
	picture, err := jpeg.Decode(bytes.NewReader(shot))
	if err != nil {
		t.Fatal(err)
	}
	size := picture.Bounds().Size()
	darkest := 1.0
	for y := range size.Y {
		for x := range size.X {
			l := luminance(pixel(picture, float64(x), float64(y)))
			darkest = min(darkest, l)
			// The quiet zone, but for the rounded corners and the card's edge.
			inset := min(x, y, size.X-1-x, size.Y-1-y)
			if inset >= size.X/40 && inset < size.X/16 && l < 0.9 && len(complaints) < 3 {
				complaints = append(complaints, fmt.Sprintf("the card's luminance is %.2f at %d, %d", l, x, y))
			}
		}
	}
	if darkest > 0.02 {
		complaints = append(complaints, fmt.Sprintf("the code's luminance is %.2f", darkest))
	}
	return complaints
}
