package wallet

import (
	"strings"
	"testing"
)

// readSymbol reads a clean symbol back (ISO/IEC 18004), written from the
// reader's side so that it shares nothing with the library that draws. It
// knows the sizes that packed codes have: versions 2 to 6 with equal blocks.
// Error correction is not needed on modules that nobody photographed.
func readSymbol(t testing.TB, s *Symbol) string {
	t.Helper()
	format := 0
	for i := range 15 {
		x, y := formatPlace(i)
		format = format<<1 | bit(s.Modules[y][x])
	}
	format ^= 0x5412
	level, mask := format>>13, format>>10&7
	// Data codewords and blocks by version and level bits (01 is L, 00 is M).
	shape, ok := map[[2]int][2]int{{3, 1}: {55, 1}, {3, 0}: {44, 1}, {5, 1}: {108, 1}, {6, 0}: {108, 4}}[[2]int{s.Version, level}]
	if !ok {
		t.Fatalf("no shape for version %d, level bits %d", s.Version, level)
	}
	words := codewords(s, mask)
	var bits []int
	for block := range shape[1] {
		for i := block; i < shape[0]; i += shape[1] {
			for shift := 7; shift >= 0; shift-- {
				bits = append(bits, words[i]>>shift&1)
			}
		}
	}
	return readSegments(t, bits)
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// formatPlace is where bit 14-i of the format stands, around the upper left
// finder.
func formatPlace(i int) (x, y int) {
	switch {
	case i < 6:
		return i, 8
	case i == 6:
		return 7, 8
	case i == 7:
		return 8, 8
	case i == 8:
		return 8, 7
	}
	return 8, 14 - i
}

// codewords walks the symbol in its zigzag and takes the mask off.
func codewords(s *Symbol, mask int) (words []int) {
	n := len(s.Modules)
	word, have := 0, 0
	up := true
	for right := n - 1; right > 0; right -= 2 {
		if right == 6 {
			right--
		}
		for i := range n {
			y := i
			if up {
				y = n - 1 - i
			}
			for _, x := range [2]int{right, right - 1} {
				if isFunction(n, x, y) {
					continue
				}
				word = word<<1 | bit(s.Modules[y][x] != masked(mask, x, y))
				if have++; have == 8 {
					words = append(words, word)
					word, have = 0, 0
				}
			}
		}
		up = !up
	}
	return words
}

func isFunction(n, x, y int) bool {
	switch {
	case x == 6 || y == 6: // timing
		return true
	case x < 9 && y < 9, x >= n-8 && y < 9, x < 9 && y >= n-8: // finders and format
		return true
	}
	return x >= n-9 && x < n-4 && y >= n-9 && y < n-4 // alignment
}

func masked(mask, x, y int) bool {
	switch mask {
	case 0:
		return (x+y)%2 == 0
	case 1:
		return y%2 == 0
	case 2:
		return x%3 == 0
	case 3:
		return (x+y)%3 == 0
	case 4:
		return (y/2+x/3)%2 == 0
	case 5:
		return x*y%2+x*y%3 == 0
	case 6:
		return (x*y%2+x*y%3)%2 == 0
	}
	return ((x+y)%2+x*y%3)%2 == 0
}

func readSegments(t testing.TB, bits []int) string {
	t.Helper()
	take := func(n int) (v int) {
		if len(bits) < n {
			t.Fatal("segments end early")
		}
		for _, b := range bits[:n] {
			v = v<<1 | b
		}
		bits = bits[n:]
		return v
	}
	var out strings.Builder
	for len(bits) >= 4 {
		switch mode := take(4); mode {
		case 0:
			return out.String()
		case 1:
			readNumeric(&out, take, take(10))
		case 2:
			readAlphanumeric(&out, take, take(9))
		default:
			t.Fatalf("a segment in mode %d: a packed code needs none", mode)
		}
	}
	return out.String()
}

func readNumeric(out *strings.Builder, take func(int) int, count int) {
	for ; count > 0; count -= 3 {
		size := min(count, 3)
		v := take(1 + 3*size)
		for _, unit := range []int{100, 10, 1}[3-size:] {
			out.WriteByte('0' + byte(v/unit%10))
		}
	}
}

func readAlphanumeric(out *strings.Builder, take func(int) int, count int) {
	for ; count > 1; count -= 2 {
		v := take(11)
		out.WriteByte(alphabet45[v/45])
		out.WriteByte(alphabet45[v%45])
	}
	if count == 1 {
		out.WriteByte(alphabet45[take(6)])
	}
}
