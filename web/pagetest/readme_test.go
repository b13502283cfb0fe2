package pagetest_test

import (
	"bytes"
	"cmp"
	"flag"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"portillon/web/pagetest"
)

var updateScreens = flag.Bool("update-screens", false, "draw the pictures of the README anew from the gallery, into web/screens")

// screens are the pictures of the README.
var screens = []struct {
	file, state string
	look        pagetest.Look
}{
	{"desk-event", "event", laptop},
	{"desk-ticket", "ticket", laptop},
	{"wallet-ticket", "live", phone("wallet")},
	{"wallet-welcome", "welcome", phone("wallet")},
	{"gate-admit", "admitted", phone("gate")},
	{"gate-ask", "already_used", phone("gate")},
}

// houseZone is where the samples play: whoever is there sees no zone beside a time.
const houseZone = "Europe/Prague"

var laptop = pagetest.Look{Page: "desk", Scheme: "light", Width: 1280, Height: 800, Scale: 1, Zone: houseZone}

func phone(page string) pagetest.Look {
	return pagetest.Look{Page: page, Scheme: "light", Width: 390, Height: 764, Scale: 2, Zone: houseZone}
}

// heaviest is what a picture of the README may weigh, in bytes.
const heaviest = 250_000

// With the flag -update-screens it draws them first.
func TestThePicturesOfTheReadmeAreThereAndLight(t *testing.T) {
	if *updateScreens {
		drawScreens(t)
	}
	for _, screen := range screens {
		content, err := os.ReadFile(screenFile(screen.file))
		if err != nil {
			t.Errorf("%v: run `go test ./web/pagetest -run Readme -update-screens`", err)
			continue
		}
		config, err := png.DecodeConfig(bytes.NewReader(content))
		if err != nil || config.Width != int(float64(screen.look.Width)*screen.look.Scale) {
			t.Errorf("%s is %d pixels wide (%v)", screen.file, config.Width, err)
		}
		if len(content) > heaviest {
			t.Errorf("%s weighs %d bytes", screen.file, len(content))
		}
	}
}

func screenFile(name string) string { return filepath.Join("..", "screens", name+".png") }

func drawScreens(t *testing.T) {
	t.Helper()
	gallery := pagetest.NewGallery(t)
	tab, _ := pagetest.Visit(t)
	if err := os.MkdirAll(filepath.Dir(screenFile("")), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, screen := range screens {
		gallery.Open(tab, screen.look, "en")
		gallery.Show(tab, screen.state)
		drawn, err := png.Decode(bytes.NewReader(tab.WindowPicture()))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, fewColours(drawn)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(screenFile(screen.file), out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// fewColours is the picture in its 256 most frequent colours; each other pixel
// takes the nearest. Pages are flat colours and the edges of letters, so that
// nobody sees it.
func fewColours(picture image.Image) image.Image {
	bounds := picture.Bounds()
	count := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA) }
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	frequent := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	palette := color.Palette{}
	for _, one := range frequent[:min(256, len(frequent))] {
		palette = append(palette, one)
	}
	index := map[color.RGBA]uint8{}
	for one := range count {
		index[one] = uint8(palette.Index(one))
	}
	out := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			out.SetColorIndex(x, y, index[at(x, y)])
		}
	}
	return out
}
