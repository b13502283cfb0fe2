package wallet

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"

	qrcode "github.com/skip2/go-qrcode"
)

// Level is the error correction of a QR symbol (ISO/IEC 18004).
type Level uint8

// L, for screens, restores 7 % of a symbol; M, for paper, 15 %; Q 25 %; H 30 %.
const (
	LevelL Level = iota + 1
	LevelM
	LevelQ
	LevelH
)

// quiet is the width of the light border that readers need, in modules.
const quiet = 4

// ErrQR means that a text does not fit in a QR symbol, or an unknown level.
var ErrQR = errors.New("wallet: no QR symbol")

// Symbol is a QR symbol. The drawings add the quiet zone and are always dark
// on light.
type Symbol struct {
	Version int      // 1 to 40
	Modules [][]bool // rows of 17 + 4·Version modules without border; true is dark
}

// QR makes the symbol of a code: the smallest version in which it fits, in
// alphanumeric mode when it is packed. It costs some milliseconds, so callers
// that draw the same code often should keep it. The error is ErrQR.
func QR(code string, level Level) (*Symbol, error) {
	levels := map[Level]qrcode.RecoveryLevel{
		LevelL: qrcode.Low, LevelM: qrcode.Medium, LevelQ: qrcode.High, LevelH: qrcode.Highest,
	}
	recovery, ok := levels[level]
	if !ok {
		return nil, fmt.Errorf("%w: level %d", ErrQR, level)
	}
	q, err := qrcode.New(code, recovery)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrQR, err)
	}
	q.DisableBorder = true
	// Bitmap pads the data each time it is called: once only.
	return &Symbol{Version: q.VersionNumber, Modules: q.Bitmap()}, nil
}

// PNG draws the symbol with square modules of that many pixels (at least one).
func (s *Symbol) PNG(modulePixels int) ([]byte, error) {
	scale := max(modulePixels, 1)
	side := (len(s.Modules) + 2*quiet) * scale
	img := image.NewPaletted(image.Rect(0, 0, side, side), color.Palette{color.White, color.Black})
	for y := range side {
		for x := range side {
			if s.dark(x/scale-quiet, y/scale-quiet) {
				img.SetColorIndex(x, y, 1)
			}
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		return nil, fmt.Errorf("wallet: draw: %w", err)
	}
	return out.Bytes(), nil
}

// SVG draws the symbol as a picture that scales; one unit is one module.
func (s *Symbol) SVG() string {
	side := len(s.Modules) + 2*quiet
	var path strings.Builder
	for y, row := range s.Modules {
		for x := 0; x < len(row); x++ {
			if !row[x] {
				continue
			}
			start := x
			for x < len(row) && row[x] {
				x++
			}
			fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", start+quiet, y+quiet, x-start, x-start)
		}
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" shape-rendering="crispEdges">`+
		`<path fill="#fff" d="M0 0h%dv%dH0z"/><path fill="#000" d="%s"/></svg>`, side, side, side, side, path.String())
}

// Terminal draws the symbol with half blocks, two rows of modules a line, in
// black on white whatever the terminal's colours (ANSI, 256 colours).
func (s *Symbol) Terminal() string {
	const on, off = "\x1b[38;5;16;48;5;231m", "\x1b[0m\n"
	blocks := [4]string{" ", "▀", "▄", "█"} // bit 0: upper half, bit 1: lower
	var out strings.Builder
	for y := -quiet; y < len(s.Modules)+quiet; y += 2 {
		out.WriteString(on)
		for x := -quiet; x < len(s.Modules)+quiet; x++ {
			i := 0
			if s.dark(x, y) {
				i |= 1
			}
			if s.dark(x, y+1) {
				i |= 2
			}
			out.WriteString(blocks[i])
		}
		out.WriteString(off)
	}
	return out.String()
}

func (s *Symbol) dark(x, y int) bool {
	return y >= 0 && y < len(s.Modules) && x >= 0 && x < len(s.Modules) && s.Modules[y][x]
}
