package locale

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// unmarked are letters that keep their mark when accents are taken off
// (Unicode, NFKD), as people type them who do not have them.
var unmarked = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'đ': "d", 'ð': "d", 'ħ': "h", 'ı': "i", 'ł': "l", 'ŋ': "n", 'ø': "o", 'þ': "th", 'ŧ': "t",
}

// joins are signs inside a word, which a keyboard may have otherwise or not at all.
const joins = "’‘ʼʻʹ´"

// Fold gives the words of a text as they are compared, with a space between: without
// case, accents and signs. It asks nothing of the database, whose locale may know no
// letters but ASCII.
func Fold(text string) string {
	folded := make([]byte, 0, len(text))
	for _, r := range norm.NFKD.String(text) {
		if r < utf8.RuneSelf {
			folded = appendASCII(folded, byte(r))
			continue
		}
		r = unicode.ToLower(r)
		switch plain, marked := unmarked[r]; {
		case unicode.Is(unicode.Mn, r), strings.ContainsRune(joins, r):
		case marked:
			folded = append(folded, plain...)
		case unicode.IsLetter(r), unicode.IsDigit(r):
			folded = utf8.AppendRune(folded, r)
		default:
			folded = appendSpace(folded)
		}
	}
	return strings.TrimSuffix(string(folded), " ")
}

func appendASCII(folded []byte, c byte) []byte {
	switch {
	case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		return append(folded, c)
	case c >= 'A' && c <= 'Z':
		return append(folded, c+'a'-'A')
	case c == '\'', c == '`':
		return folded
	}
	return appendSpace(folded)
}

func appendSpace(folded []byte) []byte {
	if len(folded) == 0 || folded[len(folded)-1] == ' ' {
		return folded
	}
	return append(folded, ' ')
}
