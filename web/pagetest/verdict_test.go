package pagetest_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"portillon/web/pagetest"
)

// The four classes of an answer, as everybody sees them: an admission is taken
// for nothing else by eyes that see no red, or no colour at all.

// verdicts are a sample of each class.
var verdicts = map[string]string{"admit": "admitted", "ask": "already_used", "refuse": "bad_signature", "again": "stale_nonce"}

// seen is what a verdict shows, as the browser computed it.
type seen struct {
	Class, Word, Shape string
	Box                struct{ X, Y, Width, Height float64 } // of the shape
	Texts              []struct{ Text, Colour, Ground string }
}

// lookScript reads a verdict: each text with its colour and what it stands on.
const lookScript = `(() => {
	const verdict = document.querySelector(".verdict"), shape = verdict.querySelector(".shape");
	const box = shape.getBoundingClientRect();
	const ground = (element) => {
		for (let at = element; at; at = at.parentElement) {
			const colour = getComputedStyle(at).backgroundColor;
			if (colour !== "rgba(0, 0, 0, 0)" && colour !== "transparent") return colour;
		}
		return "rgb(255, 255, 255)";
	};
	const texts = [...verdict.querySelectorAll("*")].filter((element) =>
		[...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== "")).concat([shape]);
	return {
		Class: verdict.dataset.class, Word: verdict.querySelector("h2").textContent, Shape: shape.querySelector("path").getAttribute("d"),
		Box: { X: box.x, Y: box.y, Width: box.width, Height: box.height },
		Texts: texts.map((element) => ({ Text: element.textContent, Colour: getComputedStyle(element).color, Ground: ground(element) })),
	};
})()`

func TestEachClassHasAColourAShapeAndAWordOfItsOwnThatCanBeRead(t *testing.T) {
	gallery := pagetest.NewGallery(t)
	for _, scheme := range []string{"light", "dark"} {
		tab, _ := pagetest.Visit(t)
		gallery.Open(tab, pagetest.Look{Page: "gate", Scheme: scheme, Width: 390, Height: 844, Scale: 1}, "en")
		owner := map[string]string{} // of a colour, a shape or a word, to the class
		for class, state := range verdicts {
			gallery.Show(tab, state)
			verdict := pagetest.Eval[seen](tab, lookScript)
			if verdict.Class != class {
				t.Errorf("%s is of the class %s", state, verdict.Class)
			}
			for _, text := range verdict.Texts {
				if ratio := contrast(parse(t, text.Colour), parse(t, text.Ground)); ratio < 4.5 {
					t.Errorf("%s in the %s scheme: %q holds only %.2f:1", state, scheme, text.Text, ratio)
				}
			}
			for _, sign := range []string{verdict.Texts[0].Ground, verdict.Shape, verdict.Word} {
				if other := owner[sign]; other != "" || sign == "" {
					t.Errorf("%s and %s both have %q", class, other, sign)
				}
				owner[sign] = class
			}
		}
	}
}

func TestAnAdmissionAndARefusalAreToldApartByEyesThatSeeNoRedOrNoColour(t *testing.T) {
	gallery := pagetest.NewGallery(t)
	tab, _ := pagetest.Visit(t)
	gallery.Open(tab, pagetest.Look{Page: "gate", Scheme: "light", Width: 390, Height: 844, Scale: 1}, "en")
	for _, eyes := range []emulation.SetEmulatedVisionDeficiencyType{
		emulation.SetEmulatedVisionDeficiencyTypeDeuteranopia, emulation.SetEmulatedVisionDeficiencyTypeProtanopia,
		emulation.SetEmulatedVisionDeficiencyTypeAchromatopsia,
	} {
		_, err := chromedp.Call(tab.Context(), emulation.SetEmulatedVisionDeficiency, emulation.SetEmulatedVisionDeficiencyParams{Type: eyes})
		if err != nil {
			t.Fatal(err)
		}
		masks := map[string][]bool{}
		for class, state := range verdicts {
			gallery.Show(tab, state)
			verdict := pagetest.Eval[seen](tab, lookScript)
			picture := tab.Screen(fmt.Sprintf(".test/screens/gate/%s-en-light-390-%s.png", state, eyes))
			var ratio float64
			masks[class], ratio = silhouette(t, picture, verdict)
			if ratio < 3 { // WCAG 2.2, 1.4.11
				t.Errorf("%s: the shape of %s holds only %.2f:1", eyes, class, ratio)
			}
		}
		for class := range verdicts {
			if likeness := alike(masks["admit"], masks[class]); class != "admit" && likeness > 0.5 {
				t.Errorf("%s: the shapes of admit and %s share %.0f %% of their ink", eyes, class, 100*likeness)
			}
		}
	}
}

// side is the width to which silhouettes are brought, in points.
const side = 64

// silhouette is where the shape's ink is, and its contrast to its ground.
func silhouette(t *testing.T, picture []byte, verdict seen) (ink []bool, ratio float64) {
	t.Helper()
	decoded, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	box := verdict.Box
	ground := pixel(decoded, box.X, box.Y)
	ink = make([]bool, side*side)
	for at := range ink {
		x := box.X + (float64(at%side)+0.5)*box.Width/side
		y := box.Y + (float64(at/side)+0.5)*box.Height/side
		here := contrast(pixel(decoded, x, y), ground)
		ink[at] = here > 2
		ratio = math.Max(ratio, here)
	}
	return ink, ratio
}

func pixel(picture image.Image, x, y float64) [3]float64 {
	r, g, b, _ := picture.At(int(x), int(y)).RGBA()
	return [3]float64{float64(r) / 0xffff, float64(g) / 0xffff, float64(b) / 0xffff}
}

// alike is the part of two silhouettes' ink that both have.
func alike(a, b []bool) float64 {
	var both, any float64
	for i := range a {
		if a[i] && b[i] {
			both++
		}
		if a[i] || b[i] {
			any++
		}
	}
	return both / any
}

// parse reads a computed colour without transparency.
func parse(t *testing.T, colour string) [3]float64 {
	t.Helper()
	var r, g, b float64
	if n, err := fmt.Sscanf(strings.ReplaceAll(colour, " ", ""), "rgb(%f,%f,%f)", &r, &g, &b); n != 3 {
		t.Fatalf("the colour %q: %v", colour, err)
	}
	return [3]float64{r / 255, g / 255, b / 255}
}

// contrast is the ratio of WCAG 2.2, from 1 to 21.
func contrast(a, b [3]float64) float64 {
	one, other := luminance(a), luminance(b)
	return (math.Max(one, other) + 0.05) / (math.Min(one, other) + 0.05)
}

// luminance is the relative luminance of WCAG 2.2.
func luminance(colour [3]float64) float64 {
	for i, part := range colour {
		if part <= 0.04045 {
			colour[i] = part / 12.92
		} else {
			colour[i] = math.Pow((part+0.055)/1.055, 2.4)
		}
	}
	return 0.2126*colour[0] + 0.7152*colour[1] + 0.0722*colour[2]
}

func TestTheContrastFormulaGivesTheRatiosThatWCAGNames(t *testing.T) {
	white := parse(t, "rgb(255, 255, 255)")
	for colour, want := range map[string]string{"rgb(0, 0, 0)": "21.00", "rgb(119, 119, 119)": "4.48", "rgb(255, 0, 0)": "4.00"} {
		if got := fmt.Sprintf("%.2f", contrast(parse(t, colour), white)); got != want {
			t.Errorf("%s on white: got %s, want %s", colour, got, want)
		}
	}
}
