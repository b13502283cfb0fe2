package pagetest_test

import (
	"flag"
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"portillon/web"
	"portillon/web/locales"
	"portillon/web/pagetest"
)

// The states of all pages are drawn from their samples, in the real HTML and under
// the real policy: in every language, in both colour schemes and at two widths.
// Ordinary runs take of these twelve looks of a state a half in which every two of
// language, scheme and width meet, and ask axe, which is slow and does not mind the
// language, once in each scheme and at each width. The next state takes the other
// half. With PORTILLON_SOAK set everything is looked at in every way. With -screens
// pictures are kept in web/.test/screens.

var keepScreens = flag.Bool("screens", false, "keep a picture of every state that the gallery looks at, in web/.test/screens")

var (
	schemes = []string{"light", "dark"}
	windows = []pagetest.Look{{Width: 390, Height: 844, Scale: 1}, {Width: 1280, Height: 800, Scale: 1}}
)

// way is one way to look at a state: indices of its language, scheme and window.
type way struct{ language, scheme, window int }

// looks says whether the state of that index is looked at in this way, and whether
// with axe.
func (w way) looks(state int) (looks, axe bool) {
	if os.Getenv("PORTILLON_SOAK") != "" {
		return true, true
	}
	looks = (w.language+w.scheme+w.window+state)%2 == 0
	return looks, looks && w.language == state%len(locales.Languages())
}

// ways are all ways to look at a state.
func ways() (all []way) {
	for language := range locales.Languages() {
		for scheme := range schemes {
			for window := range windows {
				all = append(all, way{language, scheme, window})
			}
		}
	}
	return all
}

func TestTheLooksOfAStateMeetEachTwoOfLanguageSchemeAndWidthAndAxeBothSchemesAndWidths(t *testing.T) {
	for state := range 12 {
		pairs, schemesSeen, windowsSeen := map[string]bool{}, map[int]bool{}, map[int]bool{}
		for _, w := range ways() {
			looks, axe := w.looks(state)
			if looks {
				pairs[fmt.Sprint("language ", w.language, " scheme ", w.scheme)] = true
				pairs[fmt.Sprint("language ", w.language, " window ", w.window)] = true
				pairs[fmt.Sprint("scheme ", w.scheme, " window ", w.window)] = true
			}
			if axe {
				schemesSeen[w.scheme], windowsSeen[w.window] = true, true
			}
		}
		if want := 2*len(locales.Languages())*2 + 2*2; len(pairs) != want {
			t.Errorf("state %d: %d pairs of %d: %v", state, len(pairs), want, pairs)
		}
		if len(schemesSeen) != len(schemes) || len(windowsSeen) != len(windows) {
			t.Errorf("state %d: axe sees the schemes %v and the windows %v", state, schemesSeen, windowsSeen)
		}
	}
}

func TestEveryStateOfEveryPageIsAccessibleFitsTheWindowAndHasNothingToComplainAbout(t *testing.T) {
	t.Parallel()
	gallery := pagetest.NewGallery(t)
	for _, name := range web.Names() {
		for scheme := range schemes {
			for window := range windows {
				t.Run(fmt.Sprintf("%s in the %s scheme at %d pixels", name, schemes[scheme], windows[window].Width), func(t *testing.T) {
					t.Parallel()
					examine(t, gallery, name, scheme, window)
				})
			}
		}
	}
}

// examine looks at the states of a page in all languages.
func examine(t *testing.T, gallery *pagetest.Gallery, page string, scheme, window int) {
	tab, console := pagetest.Visit(t)
	look := windows[window]
	look.Page, look.Scheme = page, schemes[scheme]
	for at, language := range locales.Languages() {
		names := gallery.Open(tab, look, language)
		if len(names) < 5 {
			t.Errorf("the page shows only the states %v", names)
		}
		useAxe(t, tab)
		for i, state := range names {
			looks, axe := way{at, scheme, window}.looks(i)
			if !looks {
				continue
			}
			gallery.Show(tab, state)
			complaints := misfits(tab)
			if axe {
				complaints = append(complaints, violations(tab)...)
			}
			for _, complaint := range append(complaints, console.Take()...) {
				t.Errorf("%s in %s: %s", state, language, complaint)
			}
			if *keepScreens {
				tab.Screen(fmt.Sprintf(".test/screens/%s/%s-%s-%s-%d.png", page, state, language, look.Scheme, look.Width))
			}
		}
	}
}

// useAxe loads the rules of WCAG into the page, by the debugger: the page's
// policy would not let it in.
func useAxe(t testing.TB, tab *pagetest.Tab) {
	t.Helper()
	source, err := os.ReadFile(path.Join("..", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatalf("axe-core is missing: run `make web` (%v)", err)
	}
	tab.Do(chromedp.Evaluate[chromedp.Void](string(source)))
}

// rawKey finds a message that the catalogue does not have: it is shown as its key.
var rawKey = regexp.MustCompile(`\b(common|error|gate|wallet|desk|reason|advice)\.[a-z]+_?[a-z_.]*[a-z]\b`)

// violations are those of WCAG 2, A and AA, on the page as it is now.
func violations(tab *pagetest.Tab) []string {
	return pagetest.Promise[[]string](tab, `axe.run(document, {
		runOnly: ["wcag2a", "wcag2aa"], resultTypes: ["violations"], preload: false, xpath: false, ancestry: false,
	}).then((result) => result.violations.flatMap((rule) => rule.nodes.map((node) =>
		"axe " + rule.id + ": " + node.html.slice(0, 160) + " " + node.failureSummary.replaceAll(/\s+/g, " "))))`)
}

// misfits are a page wider than its window, what reaches out of it, and messages
// that are not there.
func misfits(tab *pagetest.Tab) (found []string) {
	page := pagetest.Eval[struct {
		Wide int
		Out  []string
		Text string
	}](tab, `({
		Wide: Math.max(0, document.documentElement.scrollWidth - innerWidth),
		Out: [...document.querySelectorAll("h1, h2, h3, p, button, a, li, dd, label, input, select, td, th")].filter((element) => {
			const box = element.getBoundingClientRect();
			if (box.width === 0 || element.closest(".spoken")) return false;
			for (let up = element.parentElement; up; up = up.parentElement)
				if (getComputedStyle(up).overflowX !== "visible") return false;
			return box.left < -1 || box.right > innerWidth + 1;
		}).map((element) => element.outerHTML.slice(0, 120)),
		Text: document.body.innerText,
	})`)
	if page.Wide > 0 {
		found = append(found, fmt.Sprintf("the page is %d pixels wider than its window", page.Wide))
	}
	for _, element := range page.Out {
		found = append(found, "reaches out of the window: "+element)
	}
	if key := rawKey.FindString(page.Text); key != "" {
		found = append(found, "shows the key of a message: "+key)
	}
	return found
}

func TestWhatTheGalleryLooksForIsFoundWhenItIsThere(t *testing.T) {
	gallery := pagetest.NewGallery(t)
	tab, console := pagetest.Visit(t)
	gallery.Open(tab, pagetest.Look{Page: "gate", Scheme: "light", Width: 390, Height: 844, Scale: 1}, "en")
	useAxe(t, tab)
	for fault, plant := range map[string]struct{ script, want string }{
		"pale text":            {`const p = document.createElement("p"); p.textContent = "pale"; p.style.color = "#ccc"; p.style.background = "#fff"; document.querySelector("main").append(p)`, "axe color-contrast"},
		"a picture unnamed":    {`const i = document.createElement("img"); i.src = "data:image/gif;base64,R0lGODlhAQABAAAAACw="; document.querySelector("main").append(i)`, "axe image-alt"},
		"a wide page":          {`const d = document.createElement("div"); d.style.width = "500px"; d.textContent = "wide"; document.querySelector("main").append(d)`, "wider than its window"},
		"a missing message":    {`document.querySelector("main").append("gate.no_such_word")`, "gate.no_such_word"},
		"an inline style":      {`const d = document.createElement("div"); d.setAttribute("style", "color: red"); document.body.append(d)`, "Content Security Policy"},
		"markup from a string": {`try { document.createElement("div").innerHTML = "<b>x</b>" } catch {}`, "TrustedHTML"},
		"a failed request":     {`fetch("/nothing").catch(() => 0)`, "404"},
		"an exception":         {`setTimeout(() => { throw new Error("planted") })`, "planted"},
		"a rejected promise":   {`void Promise.reject(new Error("forgotten"))`, "forgotten"},
		"an error printed":     {`console.error("printed", new Error("with its stack"))`, "printed"},
	} {
		gallery.Show(tab, "scanning")
		pagetest.Promise[bool](tab, `(async () => {`+plant.script+`; return true })()`)
		said := append(violations(tab), misfits(tab)...)
		// What the browser itself says may come a little later.
		for round := 0; round < 100 && !strings.Contains(strings.Join(said, "\n"), plant.want); round++ {
			pagetest.Promise[bool](tab, `new Promise((done) => requestAnimationFrame(() => done(true)))`)
			said = append(said, console.Take()...)
		}
		if !strings.Contains(strings.Join(said, "\n"), plant.want) {
			t.Errorf("%s: want a complaint about %q, got %q", fault, plant.want, said)
		}
		console.Take()
	}
}
