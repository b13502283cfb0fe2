package pagetest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"portillon/web"
)

// folder is the folder of the pages, as tests of this package see it.
const folder = ".."

// bundleCommand makes what Gallery serves.
const bundleCommand = "go run ./web/internal/webbuild -tests"

// Gallery serves the pages' sample states without a server behind them: the
// product's own HTML under its own policy, but with the bundle of gallery.ts in
// the place of the page's.
type Gallery struct {
	URL     string
	bundles fstest.MapFS
}

// NewGallery reads the bundles, which the next build may replace at any time, and
// serves them until the end of the test.
func NewGallery(t testing.TB) *Gallery {
	t.Helper()
	g := &Gallery{bundles: fstest.MapFS{}}
	files, err := filepath.Glob(filepath.Join(folder, ".test", "gallery", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		g.bundles[filepath.Base(file)] = &fstest.MapFile{Data: content}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /page/{page}/{language}", func(w http.ResponseWriter, r *http.Request) {
		servePage(t, w, r.PathValue("page"), r.PathValue("language"))
	})
	mux.Handle("GET /gallery/", http.StripPrefix("/gallery/", http.FileServerFS(g.bundles)))
	mux.HandleFunc("GET "+web.Prefix, func(w http.ResponseWriter, r *http.Request) {
		file, found := web.Asset(strings.TrimPrefix(r.URL.Path, web.Prefix))
		if !found {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", file.Type)
		_, _ = w.Write(file.Body)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	g.URL = server.URL
	return g
}

// preload is the page's own early request for messages, which the gallery has
// elsewhere.
var preload = regexp.MustCompile(`<link rel="preload"[^>]*>`)

func servePage(t testing.TB, w http.ResponseWriter, name, language string) {
	file, err := web.Page(name, language)
	if err != nil {
		t.Errorf("the page %s in %s: %v", name, language, err)
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	js, css, _ := web.Entry(name)
	html := preload.ReplaceAllString(string(file.Body), "")
	for kind, names := range map[string][]string{"js": js, "css": css} {
		for _, asset := range names {
			html = strings.ReplaceAll(html, web.Prefix+asset, "/gallery/"+name+"."+kind)
		}
	}
	w.Header().Set("Content-Type", file.Type)
	w.Header().Set("Content-Security-Policy", file.Policy)
	_, _ = w.Write([]byte(html)) //nolint:gosec // our own page; a name that is none of ours does not come this far
}

// Look is how a state is looked at.
type Look struct {
	Page          string
	Scheme        string // light or dark
	Width, Height int64  // of the window, in CSS pixels
	Scale         float64
	// Zone is the browser's time zone; empty for the machine's.
	Zone string
}

// Open opens a page of the gallery in a language and returns its states' names.
// A bundle that is not there fails the test with the command that makes it.
func (g *Gallery) Open(p *Tab, look Look, language string) []string {
	p.t.Helper()
	if g.bundles[look.Page+".js"] == nil {
		p.t.Fatalf("the gallery of the page %s is not built: run `%s`", look.Page, bundleCommand)
	}
	p.Do(chromedp.EmulateViewport(look.Width, look.Height, chromedp.EmulateScale(look.Scale)))
	// Without motion a state looks the same at any moment.
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: look.Scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	if err != nil {
		p.t.Fatal(err)
	}
	_, err = chromedp.Call(p.ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: look.Zone})
	if err != nil {
		p.t.Fatal(err)
	}
	p.Do(chromedp.Navigate(g.URL + "/page/" + look.Page + "/" + language))
	p.Until("window.portillonGallery")
	return Eval[[]string](p, "portillonGallery.names")
}

// settled waits until what was drawn is on the screen.
const settled = `await document.fonts.ready;
	for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);`

// Show draws a state and waits until it is on the screen.
func (g *Gallery) Show(p *Tab, state string) {
	p.t.Helper()
	Promise[bool](p, fmt.Sprintf(`(async () => { portillonGallery.show(%s); scrollTo(0, 0); %s return true; })()`, quoted(state), settled))
}

// Promise is what a script's promise becomes.
func Promise[T any](p *Tab, script string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%v in %.200s", err, script)
	}
	return value
}

// Screen writes a picture (PNG) of the window to a file below web and returns
// its bytes; of a page that is longer than the window it shows the rest too.
func (p *Tab) Screen(file string) []byte {
	p.t.Helper()
	shot := p.picture(true)
	file = filepath.Join(folder, file)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, shot, 0o644); err != nil {
		p.t.Fatal(err)
	}
	return shot
}

// WindowPicture is a picture (PNG) of what the window shows.
func (p *Tab) WindowPicture() []byte {
	p.t.Helper()
	return p.picture(false)
}

func (p *Tab) picture(whole bool) []byte {
	p.t.Helper()
	size := Eval[struct{ Width, Height, Window float64 }](p,
		`({ Width: innerWidth, Height: Math.min(document.documentElement.scrollHeight, 3000), Window: innerHeight })`)
	params := page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng, OptimizeForSpeed: new(true)}
	if whole && size.Height > size.Window {
		params.CaptureBeyondViewport = new(true)
		params.Clip = &page.Viewport{Width: size.Width, Height: size.Height, Scale: 1}
	}
	shot, err := chromedp.Call(p.ctx, page.CaptureScreenshot, params)
	if err != nil {
		p.t.Fatal(err)
	}
	return shot.Data
}

// quoted is a JavaScript literal.
func quoted(text string) string {
	literal, err := json.Marshal(text)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(literal)
}
