package exchange

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"portillon/server/fault"
)

// Encoding is how a file's characters are written, by its WHATWG name.
type Encoding string

// The encodings that are read. UTF-16 has to begin with a byte order mark.
const (
	UTF8        Encoding = "utf-8"
	UTF16       Encoding = "utf-16"
	Windows1250 Encoding = "windows-1250"
	Windows1252 Encoding = "windows-1252"
)

// Encodings are all of them, in the order in which a form offers them.
var Encodings = []Encoding{UTF8, UTF16, Windows1250, Windows1252}

const (
	markUTF8    = "\xef\xbb\xbf"
	markLittle  = "\xff\xfe"
	markBig     = "\xfe\xff"
	zipArchive  = "PK\x03\x04" // what a workbook (.xlsx, .ods) begins with
	oldWorkbook = "\xd0\xcf\x11\xe0"
)

// decode gives the file as UTF-8, without its mark. With "" for chosen the encoding
// is found out, and refused where two would be possible.
func decode(raw []byte, chosen Encoding) (text string, is Encoding, marked bool, err error) {
	if bytes.HasPrefix(raw, []byte(zipArchive)) || bytes.HasPrefix(raw, []byte(oldWorkbook)) {
		return "", "", false, fault.New(fault.Invalid, "import.workbook", "this is a workbook; save it as CSV and send that")
	}
	is = chosen
	if is == "" {
		if is, err = detect(raw); err != nil {
			return "", "", false, err
		}
	}
	switch is {
	case UTF8:
		text, marked = strings.CutPrefix(string(raw), markUTF8)
	case UTF16:
		text, marked = decodeUTF16(raw)
	case Windows1250:
		text = decodeBytes(charmap.Windows1250, raw)
	case Windows1252:
		text = decodeBytes(charmap.Windows1252, raw)
	default:
		return "", "", false, fault.Fields(fault.Field{Name: "encoding", Code: "unknown"})
	}
	if line, column, ok := flaw(text); ok {
		return "", "", false, unreadable(line, column, "these bytes are not "+string(is))
	}
	return text, is, marked, nil
}

// flaw is where the text holds what no text holds: bytes that mean nothing, or NUL,
// which UTF-16 without its mark is full of. Both count from 1, column in characters.
func flaw(text string) (line, column int, found bool) {
	i := strings.IndexFunc(text, func(r rune) bool { return r == utf8.RuneError || r == 0 })
	if i < 0 {
		return 0, 0, false
	}
	before := text[:i]
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]), true
}

func unreadable(line, column int, why string) error {
	return fault.New(fault.Invalid, "import.encoding", "line %d, character %d: %s; choose the encoding, or save the file as UTF-8", line, column, why).
		Fact("line", line).Fact("column", column)
}

func detect(raw []byte) (Encoding, error) {
	switch {
	case bytes.HasPrefix(raw, []byte(markLittle)), bytes.HasPrefix(raw, []byte(markBig)):
		return UTF16, nil
	case utf8.Valid(raw):
		return UTF8, nil
	}
	return detectWindows(raw)
}

// Letters of Czech, Slovak and Polish, and of French, German and Spanish. What is a
// letter of both sides by its byte (č and è) speaks for neither.
const (
	central = "ČčĎďĚěŇňŘřŠšŤťŮůŽžĽľŁłĄąĘęŻżŹźĆćŃńŚśŐő"
	western = "ÀàÂâÈèÊêËëÎîÏïÔôÙùÛûÇçŒœÆæÑñßäöüÄÖÜ"
)

// detectWindows tells the two code pages apart by the bytes that mean a likely letter
// in one of them only. Bytes that mean the same in both say nothing; a text in which
// both have something for them, or neither has, is refused at its first such byte.
func detectWindows(raw []byte) (Encoding, error) {
	votes, doubtful := map[Encoding]int{}, -1
	for i, b := range raw {
		if b < 0x80 {
			continue
		}
		c, w := charmap.Windows1250.DecodeByte(b), charmap.Windows1252.DecodeByte(b)
		if c == w {
			continue
		}
		if doubtful < 0 {
			doubtful = i
		}
		isCentral, isWestern := strings.ContainsRune(central, c), strings.ContainsRune(western, w)
		switch {
		case isCentral && !isWestern:
			votes[Windows1250]++
		case isWestern && !isCentral:
			votes[Windows1252]++
		}
	}
	switch {
	case votes[Windows1250] > 0 && votes[Windows1252] == 0:
		return Windows1250, nil
	case votes[Windows1252] > 0 && votes[Windows1250] == 0, doubtful < 0:
		return Windows1252, nil
	}
	before := raw[:doubtful]
	return "", unreadable(1+bytes.Count(before, []byte("\n")), doubtful-bytes.LastIndexByte(before, '\n'),
		"this could be windows-1250 or windows-1252")
}

func decodeUTF16(raw []byte) (text string, marked bool) {
	decoded, err := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Bytes(raw)
	if err != nil {
		return string(utf8.RuneError), false
	}
	return string(decoded), true
}

// decodeBytes never fails: a byte without a meaning becomes utf8.RuneError.
func decodeBytes(page *charmap.Charmap, raw []byte) string {
	var b strings.Builder
	b.Grow(len(raw) + len(raw)/8)
	for _, c := range raw {
		b.WriteRune(page.DecodeByte(c))
	}
	return b.String()
}
