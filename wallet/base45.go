package wallet

import (
	"errors"
	"fmt"
)

// alphabet45 is the alphabet of RFC 9285, section 4.2, which is also that of
// the alphanumeric mode of QR codes. It contains the space.
const alphabet45 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:"

var errBase45 = errors.New("not base45")

// values45 maps a character to its value plus one; zero means none.
var values45 = func() (v [256]uint8) {
	for i := range len(alphabet45) {
		v[alphabet45[i]] = uint8(i + 1)
	}
	return v
}()

// EncodeBase45 writes bytes as RFC 9285 does: three characters for two bytes,
// two for a last single one.
func EncodeBase45(raw []byte) string {
	out := make([]byte, 0, (len(raw)*3+1)/2)
	for len(raw) >= 2 {
		n := int(raw[0])<<8 | int(raw[1])
		out = append(out, alphabet45[n%45], alphabet45[n/45%45], alphabet45[n/2025])
		raw = raw[2:]
	}
	if len(raw) == 1 {
		n := int(raw[0])
		out = append(out, alphabet45[n%45], alphabet45[n/45])
	}
	return string(out)
}

// DecodeBase45 is the strict inverse of EncodeBase45 (RFC 9285, section 6):
// characters outside the alphabet, a length no encoding has, and groups above
// 65535 or 255 are errors. Nothing is trimmed. Each text that decodes is the
// one encoding of its bytes.
func DecodeBase45(text string) ([]byte, error) {
	if len(text)%3 == 1 {
		return nil, fmt.Errorf("%w: %d characters", errBase45, len(text))
	}
	out := make([]byte, 0, len(text)/3*2+1)
	for i := 0; i < len(text); i += 3 {
		group := text[i:min(i+3, len(text))]
		n, ok := value45(group)
		switch {
		case !ok:
			return nil, fmt.Errorf("%w: character outside the alphabet at %d", errBase45, i)
		case len(group) == 3 && n <= 0xffff:
			out = append(out, byte(n>>8), byte(n))
		case len(group) == 2 && n <= 0xff:
			out = append(out, byte(n))
		default:
			return nil, fmt.Errorf("%w: group too large at %d", errBase45, i)
		}
	}
	return out, nil
}

// value45 reads a group of two or three characters, least significant first.
func value45(group string) (n int, ok bool) {
	for i := len(group) - 1; i >= 0; i-- {
		v := values45[group[i]]
		if v == 0 {
			return 0, false
		}
		n = n*45 + int(v-1)
	}
	return n, true
}
