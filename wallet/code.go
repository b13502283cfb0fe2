package wallet

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math"

	"github.com/google/uuid"
)

// Kind says where a code takes its freshness from.
type Kind uint8

// The kinds of code that can be a ticket. The first three are also the low
// nibble of a packed code's first byte.
const (
	KindNonce Kind = iota + 1 // signed by the phone over a nonce of the server
	KindTime                  // signed by the phone over its clock
	KindPaper                 // signed by the issuer, for print
	KindTOTP                  // a one-time code, RFC 6238
)

// String is the word of the glossary: nonce, time, paper or totp.
func (k Kind) String() string {
	switch k {
	case KindNonce:
		return "nonce"
	case KindTime:
		return "time"
	case KindPaper:
		return "paper"
	case KindTOTP:
		return "totp"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Form says how a code was spelt.
type Form uint8

// A proof travels packed for the camera or as a text JWS from other clients.
const (
	FormPacked Form = iota + 1
	FormText
)

// KeyID names what a code is signed for: a ticket and the claim that counts,
// 17 bytes in all codes.
type KeyID struct {
	Ticket     uuid.UUID
	Generation uint8
}

func (k KeyID) raw() []byte { return append(k.Ticket[:], k.Generation) }

// String is the JWS `kid`: base64url of the 17 bytes, 23 characters.
func (k KeyID) String() string { return b64u(k.raw()) }

func keyID(raw []byte) (k KeyID) {
	copy(k.Ticket[:], raw)
	k.Generation = raw[16]
	return k
}

// Code is a parsed code that may be a ticket. Only the fields of its kind are
// set: Nonce for KindNonce; IssuedAt for KindTime and KindTOTP; Signature for
// all but KindTOTP; IssuerKey for KindPaper; OTP for KindTOTP.
type Code struct {
	Kind Kind
	Form Form
	KeyID
	Nonce     [16]byte
	IssuedAt  int64 // Unix seconds
	Signature [64]byte
	IssuerKey [4]byte   // which issuer key signed a paper code
	Audience  uuid.UUID // the event a text form claims; unset when packed
	OTP       string    // eight digits
}

// The prefixes and exact sizes of the codes. A code of another length is not
// even decoded.
const (
	prefixProof = "PT1:"
	prefixPaper = "PS1:"
	prefixTOTP  = "PK1:"
	prefixGate  = "PG1:"

	packedVersion = 1 << 4 // high nibble of the first byte of packed codes

	nonceBytes = 1 + 17 + 16 + 64 // packed proof over a nonce
	timeBytes  = 1 + 17 + 4 + 64  // packed proof by time
	paperBytes = 1 + 17 + 4 + 64  // paper code

	nonceChars = len(prefixProof) + nonceBytes/2*3
	timeChars  = len(prefixProof) + timeBytes/2*3
	paperChars = len(prefixPaper) + paperBytes/2*3
	totpChars  = len(prefixTOTP) + 28 + 1 + 10 + 1 + 8
)

// String prints the code in its form; Parse of it gives the same Code. A Code
// that was not made by Parse or one of the Sign functions may have no
// spelling; then String is empty.
func (c Code) String() string {
	if c.Form == FormText {
		return c.Text(c.Audience)
	}
	if c.Form != FormPacked {
		return ""
	}
	head := append([]byte{packedVersion | byte(c.Kind)}, c.raw()...)
	switch {
	case c.Kind == KindNonce:
		head = append(head, c.Nonce[:]...)
		return prefixProof + EncodeBase45(append(head, c.Signature[:]...))
	case c.Kind == KindTime && isUint32(c.IssuedAt):
		head = binary.BigEndian.AppendUint32(head, uint32(c.IssuedAt))
		return prefixProof + EncodeBase45(append(head, c.Signature[:]...))
	case c.Kind == KindPaper:
		head = append(head, c.IssuerKey[:]...)
		return prefixPaper + EncodeBase45(append(head, c.Signature[:]...))
	case c.Kind == KindTOTP && isPatternTime(c.IssuedAt) && isDigits(c.OTP, 8):
		return fmt.Sprintf("%s%s:%d:%s", prefixTOTP, b32.EncodeToString(c.raw()), c.IssuedAt, c.OTP)
	}
	return ""
}

// Text is the JWS text form of a phone's proof for an event: the same
// signature, spelt for clients without a camera. It is empty for other kinds.
func (c Code) Text(event uuid.UUID) string {
	input, err := c.phoneInput(event)
	if err != nil {
		return ""
	}
	return input + "." + b64u(c.Signature[:])
}

// LogValue keeps the code itself out of logs.
func (c Code) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("kind", c.Kind.String()),
		slog.String("ticket", c.Ticket.String()),
		slog.Int("generation", int(c.Generation)))
}

var b32 = base32.StdEncoding.WithPadding(base32.NoPadding)

// b64u is base64url without padding (RFC 4648, section 5).
func b64u(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

// fromB64u fills dst from its one spelling. The library skips line breaks and
// ignores stray bits, so the spelling is compared afterwards.
func fromB64u(dst []byte, text string) bool {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) != len(dst) || b64u(raw) != text {
		return false
	}
	copy(dst, raw)
	return true
}

func isUint32(n int64) bool { return n >= 0 && n <= math.MaxUint32 }

// isPatternTime: ten digits without a leading zero, years 2001 to 2286.
func isPatternTime(n int64) bool { return n >= 1e9 && n < 1e10 }

func isDigits(s string, n int) bool {
	if len(s) != n {
		return false
	}
	for i := range n {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
