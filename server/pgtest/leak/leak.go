// Package leak finds secrets in what a database was made to write down. It
// promises to find each of them in the forms of Forms, in time that hardly depends
// on how many there are. It knows neither PostgreSQL nor what a secret opens, and
// what it reports never repeats one.
package leak

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
)

// MinLength is the length in bytes of the shortest secret that is looked for.
const MinLength = 8

// minDecoded is the length in bytes from which the binary value behind a base64url
// text is looked for too.
const minDecoded = 12

// window is how many of a form's last bytes are hashed. The end and not the start,
// because tokens of one kind share their prefix.
const window = 8

// Form is one way in which a secret may stand in a row.
type Form string

// The forms that are looked for. COPY writes a bytea as hex.
const (
	AsIs       Form = "as it is"
	Hex        Form = "its bytes"
	DecodedHex Form = "the bytes that it encodes"
	Base64     Form = "in base64"
)

// Place is where a secret was found.
type Place struct {
	Table string
	Form  Form
}

// Finder looks for a set of secrets.
type Finder struct {
	forms   map[string]Form
	lengths map[uint64][]int // of the forms that end in these bytes
	bloom   []uint64         // one bit a hash: nearly every position of a text is refused here
}

const bloomBits = 22

// NewFinder prepares to look for the secrets; those shorter than MinLength are left
// out.
func NewFinder(secrets []string) *Finder {
	f := &Finder{forms: map[string]Form{}, lengths: map[uint64][]int{}, bloom: make([]uint64, 1<<(bloomBits-6))}
	for _, secret := range secrets {
		if len(secret) >= MinLength {
			f.addSecret(secret)
		}
	}
	return f
}

func (f *Finder) addSecret(secret string) {
	f.add(secret, AsIs)
	f.add(hex.EncodeToString([]byte(secret)), Hex)
	// Padding is left out: with or without it, the rest is the same.
	f.add(base64.RawStdEncoding.EncodeToString([]byte(secret)), Base64)
	decoded, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(secret, "="))
	if err == nil && len(decoded) >= minDecoded {
		f.add(hex.EncodeToString(decoded), DecodedHex)
		f.add(base64.RawStdEncoding.EncodeToString(decoded), Base64)
	}
}

func (f *Finder) add(text string, form Form) {
	if _, known := f.forms[text]; known {
		return
	}
	f.forms[text] = form
	end := binary.LittleEndian.Uint64([]byte(text[len(text)-window:]))
	if !slices.Contains(f.lengths[end], len(text)) {
		f.lengths[end] = append(f.lengths[end], len(text))
	}
	bit := hash(end)
	f.bloom[bit>>6] |= 1 << (bit & 63)
}

// hash spreads the bytes over the bits of bloom (Fibonacci hashing).
func hash(end uint64) uint64 { return end * 0x9E3779B97F4A7C15 >> (64 - bloomBits) }

// In lists where the dump holds a secret, each table and form once.
func (f *Finder) In(dump []byte) []Place {
	var places []Place
	for i := window; i <= len(dump); i++ {
		end := binary.LittleEndian.Uint64(dump[i-window : i])
		bit := hash(end)
		if f.bloom[bit>>6]&(1<<(bit&63)) == 0 {
			continue
		}
		for _, n := range f.lengths[end] {
			if n > i {
				continue
			}
			form, found := f.forms[string(dump[i-n:i])]
			if !found {
				continue
			}
			if place := (Place{tableAt(dump, i-n), form}); !slices.Contains(places, place) {
				places = append(places, place)
			}
		}
	}
	return places
}

// A line that starts like this cannot be a row: in COPY's text format a backslash
// in a row is followed by N, a control letter or another backslash.
const tableMark = `\.table `

// TableLine is the line of a dump that stands before the rows of that table.
func TableLine(table string) string { return tableMark + table + "\n" }

// tableAt is the table that position i of the dump belongs to.
func tableAt(dump []byte, i int) string {
	start := bytes.LastIndex(dump[:i], []byte(tableMark))
	if start < 0 {
		return "(unknown)"
	}
	name, _, _ := bytes.Cut(dump[start+len(tableMark):], []byte("\n"))
	return string(name)
}
