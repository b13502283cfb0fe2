package web

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/andybalholm/brotli"

	"portillon/web/internal/manifest"
	"portillon/web/locales"
)

// tiny is a build folder small enough to read.
func tiny() fstest.MapFS {
	text := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	return fstest.MapFS{
		"manifest.json": text(`{"build":"B","icon":"icon-1.svg","pages":{"gate":{
			"js":["gate-1.js"],"css":["gate-1.css"],"messages":{"en":"gate.en-1.json"},
			"decoder":["decoder-1.js","reader-1.wasm"],"service":"gate-sw.js"}},
			"files":{"gate-1.js":{"plain":4},"gate-1.css":{"plain":2},"gate.en-1.json":{"plain":2},"icon-1.svg":{"plain":6},
			"decoder-1.js":{"plain":2},"reader-1.wasm":{"plain":4},"gate-sw.js":{"plain":2}}}`),
		"gate-1.js": text("0000"), "gate-1.js.gz": text("00"), "gate-1.css": text("{}"), "gate.en-1.json": text("{}"),
		"icon-1.svg": text("<svg/>"), "decoder-1.js": text("00"), "reader-1.wasm": text("\x00asm"), "gate-sw.js": text("00"),
	}
}

func TestABinaryWithoutPagesSaysHowToMakeThem(t *testing.T) {
	empty := load(fstest.MapFS{".gitkeep": {}})
	page, err := render(empty, "wallet", "en")
	if !errors.Is(err, ErrNotBuilt) || !bytes.Contains(page.Body, []byte("make web")) {
		t.Fatalf("got %v and %s", err, page.Body)
	}
}

func TestABuildWithAMissingFileCountsAsNone(t *testing.T) {
	dist := tiny()
	delete(dist, "gate-1.js")
	if load(dist).ok {
		t.Fatal("loaded a build that names a file it does not have")
	}
}

func TestAFileIsSentInTheSmallestFormThatTheClientTakes(t *testing.T) {
	file := File{ETag: `"x"`, Body: []byte("plain"), Gzip: []byte("gz"), Brotli: []byte("br")}
	for accept, want := range map[string]string{
		"": "", "gzip": "gzip", "gzip, deflate, br": "br", "br;q=0, gzip": "gzip", "GZIP;q=0.5": "gzip",
		"gzip;q=0.000": "", "identity": "", "brotli": "", "br; q=1.0": "br",
	} {
		if _, got := file.Encoded(accept); got != want {
			t.Errorf("Accept-Encoding %q: got %q, want %q", accept, got, want)
		}
	}
	if got := file.Tag("br"); got != `"x-br"` {
		t.Errorf("the tag of another form is %s", got)
	}
}

func TestOnlyTheDecoderMayCompileWasmAndOnlyHashedNamesAreKeptForEver(t *testing.T) {
	files := load(tiny()).files
	for name, file := range files {
		if got, want := strings.Contains(file.Policy, "wasm-unsafe-eval"), name == "decoder-1.js"; got != want {
			t.Errorf("%s: wasm allowed: %t", name, got)
		}
		if got, want := strings.Contains(file.CacheControl, "immutable"), name != "gate-sw.js"; got != want {
			t.Errorf("%s: %s", name, file.CacheControl)
		}
		if file.Type == "" {
			t.Errorf("%s has no type", name)
		}
	}
	if strings.Contains(pagePolicy, "unsafe") {
		t.Errorf("the page policy is loose: %s", pagePolicy)
	}
}

// The tests from here on read the build that this test binary carries.

func TestEveryPageNamesOnlyAddressesOfThisBuildInEveryLanguage(t *testing.T) {
	mustBeBuilt(t)
	address := regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	for _, name := range Names() {
		for _, language := range locales.Languages() {
			page, err := Page(name, language)
			if err != nil {
				t.Fatal(err)
			}
			found := address.FindAllSubmatch(page.Body, -1)
			if len(found) < 4 {
				t.Errorf("%s in %s names only %d addresses", name, language, len(found))
			}
			for _, match := range found {
				if _, ok := Asset(strings.TrimPrefix(string(match[1]), Prefix)); !ok {
					t.Errorf("%s in %s names %s", name, language, match[1])
				}
			}
			if !bytes.Contains(page.Body, []byte(`<html lang="`+language+`">`)) {
				t.Errorf("%s does not say that it is in %s", name, language)
			}
		}
	}
}

func TestNoPageHasInlineScriptStyleOrHandlers(t *testing.T) {
	mustBeBuilt(t)
	inline := regexp.MustCompile(`(?i)<style|<script(?:[^>]*)>[^<]|\son[a-z]+\s*=|\sstyle\s*=|javascript:`)
	for _, name := range Names() {
		page, err := Page(name, "en")
		if err != nil {
			t.Fatal(err)
		}
		if found := inline.Find(page.Body); found != nil {
			t.Errorf("%s: the policy would refuse %q", name, found)
		}
	}
}

func TestAnUnknownLanguageGetsTheFirstOneAndAnUnknownPageAnError(t *testing.T) {
	mustBeBuilt(t)
	english, err := Page("wallet", "en")
	if err != nil {
		t.Fatal(err)
	}
	other, err := Page("wallet", "tlh")
	if err != nil || other.ETag != english.ETag {
		t.Errorf("got %v and another page than the English one", err)
	}
	if _, err := Page("../gate", "en"); err == nil {
		t.Error("there is a page called ../gate")
	}
}

func TestServiceWorkersAreServedFromTheRootOnly(t *testing.T) {
	mustBeBuilt(t)
	for _, page := range Services() {
		file, found := Service(page)
		if !found {
			t.Errorf("%s has no service worker", page)
		}
		if _, found := Asset(file.Name); found {
			t.Errorf("%s is an asset too, where its scope would be wrong", file.Name)
		}
		if bytes.Contains(file.Body, []byte("/v1")) {
			t.Errorf("%s knows the API, which it must leave alone", file.Name)
		}
	}
}

func TestEveryEncodingDecodesToTheFileItself(t *testing.T) {
	mustBeBuilt(t)
	for name, file := range current().files {
		if file.Gzip != nil {
			reader, err := gzip.NewReader(bytes.NewReader(file.Gzip))
			if err != nil {
				t.Fatal(err)
			}
			same(t, name+".gz", reader, file.Body)
		}
		if file.Brotli != nil {
			same(t, name+".br", brotli.NewReader(bytes.NewReader(file.Brotli)), file.Body)
		}
	}
}

func TestSourceMapsAreNotCarriedInTheBinary(t *testing.T) {
	mustBeBuilt(t)
	maps, err := fs.Glob(FS(), "*.map")
	if err != nil || len(maps) > 0 {
		t.Fatalf("%v, %v", maps, err)
	}
	for name, file := range current().files {
		if bytes.Contains(file.Body, []byte("sourceMappingURL")) {
			t.Errorf("%s points to a source map", name)
		}
	}
}

// budgets are the bytes over the wire (gzip) of a first visit: HTML, scripts,
// styles, messages and icon. What is loaded later (the decoder, chunks) is not
// in it.
var budgets = map[string]int{"wallet": 40 << 10, "gate": 60 << 10, "desk": 120 << 10}

func TestAFirstVisitStaysWithinItsBudgetInEveryLanguage(t *testing.T) {
	mustBeBuilt(t)
	for _, name := range Names() {
		for _, language := range locales.Languages() {
			page, err := Page(name, language)
			if err != nil {
				t.Fatal(err)
			}
			weight := firstVisit(current().manifest, name, language, len(page.Gzip))
			t.Logf("%s in %s: %d of %d bytes", name, language, weight, budgets[name])
			if weight > budgets[name] {
				t.Errorf("%s in %s: a first visit takes %d bytes, %d are allowed", name, language, weight, budgets[name])
			}
		}
	}
}

func TestAPageNamesEveryScriptThatItsScriptsImportStatically(t *testing.T) {
	mustBeBuilt(t)
	static := regexp.MustCompile(`(?:from|import)\s*"([^"]+\.js)"`)
	for _, name := range Names() {
		scripts, _, _ := Entry(name)
		for _, script := range scripts {
			if slices.Contains(current().manifest.Pages[name].Lazy, script) {
				t.Errorf("%s: %s is loaded both at once and later", name, script)
			}
			file, _ := Asset(script)
			for _, match := range static.FindAllSubmatch(file.Body, -1) {
				if got := path.Base(string(match[1])); !slices.Contains(scripts, got) {
					t.Errorf("%s: %s imports %s, which the page does not name", name, script, got)
				}
			}
		}
	}
}

func TestTheWeightOfAVisitCountsAllThatIsLoadedAtOnceAndNothingElse(t *testing.T) {
	m := manifest.Manifest{
		Icon:  "icon",
		Pages: map[string]manifest.Page{"gate": {JS: []string{"a"}, CSS: []string{"b"}, Lazy: []string{"c"}, Decoder: []string{"d"}, Messages: map[string]string{"fr": "e"}}},
		Files: map[string]manifest.Sizes{"a": {Plain: 500, Gzip: 1}, "b": {Plain: 20}, "c": {Plain: 9000}, "d": {Plain: 9000}, "e": {Plain: 300}, "icon": {Plain: 4000}},
	}
	if got := firstVisit(m, "gate", "fr", 50000); got != 54321 {
		t.Fatalf("got %d", got)
	}
}

func firstVisit(m manifest.Manifest, page, language string, html int) int {
	entry := m.Pages[page]
	for _, name := range slices.Concat(entry.JS, entry.CSS, []string{entry.Messages[language], m.Icon}) {
		html += m.Files[name].Wire()
	}
	return html
}

func same(t *testing.T, name string, reader io.Reader, want []byte) {
	t.Helper()
	got, err := io.ReadAll(reader)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s decodes to something else (%v)", name, err)
	}
}

func mustBeBuilt(t *testing.T) {
	t.Helper()
	if !Built() {
		t.Fatal(ErrNotBuilt)
	}
}
