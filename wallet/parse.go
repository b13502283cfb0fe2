package wallet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MaxCode is the longest text, in bytes, that Parse looks at.
const MaxCode = 4096

// The reasons of a ParseError.
const (
	Malformed          = "malformed"
	UnsupportedVersion = "unsupported_version"
	NotATicket         = "not_a_ticket"
)

// ParseError says why a text is not a code for the door.
type ParseError struct {
	Reason string // Malformed, UnsupportedVersion or NotATicket
	What   string // for NotATicket: what it is instead, one of the What… words
	Err    error  // detail for developers; never contains the code
}

func (e *ParseError) Error() string {
	text := "wallet: " + e.Reason
	if e.What != "" {
		text += " (" + e.What + ")"
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives the detail.
func (e *ParseError) Unwrap() error { return e.Err }

func malformed(format string, args ...any) error {
	return &ParseError{Reason: Malformed, Err: fmt.Errorf(format, args...)}
}

func unsupported(format string, args ...any) error {
	return &ParseError{Reason: UnsupportedVersion, Err: fmt.Errorf(format, args...)}
}

// Parse reads a scanned code as it is: nothing is trimmed, folded or forgiven.
// It verifies no signature. Errors are *ParseError. What parses prints back to
// the same bytes with String.
func Parse(code string) (Code, error) {
	c, err := parse(code)
	if err != nil {
		return Code{}, err
	}
	// The promise of one spelling is kept here, whatever a decoder forgives.
	if c.String() != code {
		return Code{}, malformed("another spelling of a code")
	}
	return c, nil
}

func parse(code string) (Code, error) {
	switch {
	case code == "":
		return Code{}, malformed("empty")
	case len(code) > MaxCode:
		return Code{}, malformed("%d bytes", len(code))
	case strings.HasPrefix(code, prefixProof):
		return parseProof(code)
	case strings.HasPrefix(code, prefixPaper):
		return parsePaper(code)
	case strings.HasPrefix(code, prefixTOTP):
		return parseTOTP(code)
	case strings.HasPrefix(code, "eyJ"):
		return parseText(code)
	}
	return Code{}, foreign(code)
}

func parseProof(code string) (Code, error) {
	if len(code) != nonceChars && len(code) != timeChars {
		return Code{}, malformed("a proof of %d characters", len(code))
	}
	raw, err := DecodeBase45(code[len(prefixProof):])
	if err != nil {
		return Code{}, malformed("proof: %w", err)
	}
	kind, err := packedKind(raw)
	if err != nil {
		return Code{}, err
	}
	c := Code{Kind: kind, Form: FormPacked, KeyID: keyID(raw[1:18])}
	switch {
	case kind == KindNonce && len(raw) == nonceBytes:
		copy(c.Nonce[:], raw[18:34])
	case kind == KindTime && len(raw) == timeBytes:
		c.IssuedAt = int64(binary.BigEndian.Uint32(raw[18:22]))
	default:
		return Code{}, malformed("a proof of kind %d in %d bytes", kind, len(raw))
	}
	copy(c.Signature[:], raw[len(raw)-64:])
	return c, nil
}

func parsePaper(code string) (Code, error) {
	if len(code) != paperChars {
		return Code{}, malformed("a paper code of %d characters", len(code))
	}
	raw, err := DecodeBase45(code[len(prefixPaper):])
	if err != nil {
		return Code{}, malformed("paper code: %w", err)
	}
	kind, err := packedKind(raw)
	if err != nil {
		return Code{}, err
	}
	if kind != KindPaper {
		return Code{}, malformed("a paper code of kind %d", kind)
	}
	c := Code{Kind: kind, Form: FormPacked, KeyID: keyID(raw[1:18])}
	copy(c.IssuerKey[:], raw[18:22])
	copy(c.Signature[:], raw[22:])
	return c, nil
}

// packedKind splits the first byte of a packed code.
func packedKind(raw []byte) (Kind, error) {
	if version := raw[0] >> 4; version != packedVersion>>4 {
		return 0, unsupported("version %d", version)
	}
	return Kind(raw[0] & 0xf), nil
}

func parseTOTP(code string) (Code, error) {
	if len(code) != totpChars || code[32] != ':' || code[43] != ':' {
		return Code{}, malformed("not the pattern of a one-time code")
	}
	raw, err := b32.DecodeString(code[4:32])
	if err != nil || len(raw) != 17 {
		return Code{}, malformed("one-time code: not base32")
	}
	if !isDigits(code[33:43], 10) || !isDigits(code[44:], 8) {
		return Code{}, malformed("one-time code: %w", errDigits)
	}
	at, err := strconv.ParseInt(code[33:43], 10, 64)
	if err != nil {
		return Code{}, malformed("one-time code: %w", err)
	}
	return Code{Kind: KindTOTP, Form: FormPacked, KeyID: keyID(raw), IssuedAt: at, OTP: code[44:]}, nil
}

var errDigits = errors.New("digits missing")
