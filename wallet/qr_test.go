package wallet

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestVersionsOfSymbolsAreThoseOfTheSpecification(t *testing.T) {
	all := goodCodes(t)
	link := "https://tickets.example.org/w#" + ClaimCode(vecClaimKey[:], ScopeOrder, vecTicket, 0)
	for _, want := range []struct {
		name, code string
		level      Level
		version    int
	}{
		{"proof over a nonce", all["nonce"].String(), LevelL, 5},
		{"proof by time", all["time"].String(), LevelL, 5},
		{"proof as text", all["nonce as text"].String(), LevelL, 10},
		{"paper", all["paper"].String(), LevelM, 6},
		{"one-time code on a screen", all["totp"].String(), LevelL, 3},
		{"one-time code on paper", all["totp"].String(), LevelM, 3},
		{"gate code", GateCode{vecDevice, vecNonce, 60}.String(), LevelL, 3},
		{"claim link", link, LevelM, 5},
	} {
		s, err := QR(want.code, want.level)
		if err != nil || s.Version != want.version || len(s.Modules) != 17+4*want.version {
			t.Errorf("%s: version %d of %d modules, want %d (%v)", want.name, s.Version, len(s.Modules), want.version, err)
		}
	}
}

// The claim is on all codes, not on the one above: the encoder mixes modes and
// the text of a code is as good as random.
func TestProofsFitVersion5AtLevelLAndPaperVersion6AtLevelM(t *testing.T) {
	t.Parallel()
	for i := range 300 {
		seed := fixed(fmt.Sprint("proof ", i))
		c := Code{Kind: KindNonce, Form: FormPacked, KeyID: KeyID{uuid.UUID(seed[:16]), seed[16]}}
		copy(c.Nonce[:], seed[8:])
		a, b := fixed(fmt.Sprint("r ", i)), fixed(fmt.Sprint("s ", i))
		copy(c.Signature[:], append(a[:], b[:]...))
		checkSymbol(t, c.String(), LevelL, 5)
		c.Kind = KindPaper
		checkSymbol(t, c.String(), LevelM, 6)
	}
}

func checkSymbol(t *testing.T, code string, level Level, version int) {
	t.Helper()
	s, err := QR(code, level)
	if err != nil || s.Version != version {
		t.Fatalf("%q: version %d, want %d (%v)", code, s.Version, version, err)
	}
	if got := readSymbol(t, s); got != code {
		t.Fatalf("%q reads as %q", code, got)
	}
}

func TestSymbolsReadBackWithTheirSpaces(t *testing.T) {
	all := goodCodes(t)
	if !strings.Contains(all["nonce"].String(), " ") {
		t.Fatal("the proof has no space")
	}
	checkSymbol(t, all["nonce"].String(), LevelL, 5)
	checkSymbol(t, all["time"].String(), LevelL, 5)
	checkSymbol(t, all["totp"].String(), LevelL, 3)
	checkSymbol(t, GateCode{vecDevice, vecNonce, 60}.String(), LevelL, 3)
	// A space at the very end, and a code that is mostly digits.
	checkSymbol(t, "PT1:"+strings.Repeat("A", 146)+" ", LevelL, 5)
	checkSymbol(t, "PK1:"+strings.Repeat("2", 28)+":1764530100:00000000  ABCDEF", LevelL, 3)
}

func TestPicturesOfASymbolShowItsModulesAndAQuietZone(t *testing.T) {
	s := must[*Symbol](t)(QR(goodCodes(t)["nonce"].String(), LevelL))
	for name, modules := range map[string][][]bool{
		"png": modulesOfPNG(t, s), "svg": modulesOfSVG(t, s), "terminal": modulesOfTerminal(t, s),
	} {
		side := len(s.Modules) + 8
		for y := range side {
			for x := range side {
				if got, want := modules[y][x], s.dark(x-4, y-4); got != want {
					t.Fatalf("%s at %d,%d: %t, want %t", name, x, y, got, want)
				}
			}
		}
		if len(modules) < side || name != "terminal" && len(modules) != side {
			t.Errorf("%s: %d rows, want %d", name, len(modules), side)
		}
	}
}

func modulesOfPNG(t *testing.T, s *Symbol) (rows [][]bool) {
	img, err := png.Decode(bytes.NewReader(must[[]byte](t)(s.PNG(3))))
	if err != nil {
		t.Fatal(err)
	}
	for y := 1; y < img.Bounds().Dy(); y += 3 {
		var row []bool
		for x := 1; x < img.Bounds().Dx(); x += 3 {
			r, _, _, _ := img.At(x, y).RGBA()
			row = append(row, r == 0)
		}
		rows = append(rows, row)
	}
	if one := must[[]byte](t)(s.PNG(0)); len(one) == 0 {
		t.Error("no picture at scale 0")
	}
	return rows
}

func modulesOfSVG(t *testing.T, s *Symbol) [][]bool {
	svg := s.SVG()
	for dec := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	side := len(s.Modules) + 8
	rows := make([][]bool, side)
	for i := range rows {
		rows[i] = make([]bool, side)
	}
	_, path, _ := strings.Cut(svg, `fill="#000" d="`)
	path, _, _ = strings.Cut(path, `"`)
	for _, run := range strings.SplitAfter(path, "z") {
		var x, y, w, back int
		if run == "" {
			continue
		}
		if _, err := fmt.Sscanf(run, "M%d %dh%dv1h-%dz", &x, &y, &w, &back); err != nil || back != w {
			t.Fatalf("%q: %v", run, err)
		}
		for i := range w {
			rows[y][x+i] = true
		}
	}
	return rows
}

func modulesOfTerminal(t *testing.T, s *Symbol) (rows [][]bool) {
	for line := range strings.Lines(s.Terminal()) {
		line, ok := strings.CutPrefix(line, "\x1b[38;5;16;48;5;231m")
		line, end := strings.CutSuffix(line, "\x1b[0m\n")
		if !ok || !end {
			t.Fatalf("colours of %q", line)
		}
		var upper, lower []bool
		for _, r := range line {
			upper = append(upper, r == '▀' || r == '█')
			lower = append(lower, r == '▄' || r == '█')
		}
		rows = append(rows, upper, lower)
	}
	return rows
}

func TestTooMuchTextOrAnUnknownLevelGivesNoSymbol(t *testing.T) {
	for _, level := range []Level{0, LevelH + 1} {
		if _, err := QR("A", level); !errors.Is(err, ErrQR) {
			t.Errorf("level %d: %v", level, err)
		}
	}
	for _, text := range []string{"", strings.Repeat("a", 3000)} {
		if _, err := QR(text, LevelL); !errors.Is(err, ErrQR) {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
}
