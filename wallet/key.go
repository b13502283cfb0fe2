package wallet

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// PublicKey is a P-256 public key as it is stored: x and y, 32 bytes each.
type PublicKey [64]byte

// ParsePublicKey checks that x‖y is a point on the curve and not the one at
// infinity.
func ParsePublicKey(raw [64]byte) (*ecdsa.PublicKey, error) {
	pub, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append([]byte{4}, raw[:]...))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	return pub, nil
}

// PublicKeyOf is the inverse of ParsePublicKey. A key that is not on P-256
// gives zeros, which ParsePublicKey refuses.
func PublicKeyOf(pub *ecdsa.PublicKey) (raw PublicKey) {
	if pub == nil || pub.Curve != elliptic.P256() {
		return raw
	}
	if point, err := pub.Bytes(); err == nil && len(point) == 65 {
		copy(raw[:], point[1:])
	}
	return raw
}

// Thumbprint is the SHA-256 JWK thumbprint of a P-256 key (RFC 7638, section 3).
func Thumbprint(pub *ecdsa.PublicKey) [32]byte {
	raw := PublicKeyOf(pub)
	return sha256.Sum256([]byte(`{"crv":"P-256","kty":"EC","x":"` + b64u(raw[:32]) + `","y":"` + b64u(raw[32:]) + `"}`))
}

// IssuerKeyID is the id of an issuer key in paper codes: the first four bytes
// of its thumbprint. Its `kid` in JSON Web Key sets is their base64url.
func IssuerKeyID(pub *ecdsa.PublicKey) (id [4]byte) {
	thumb := Thumbprint(pub)
	copy(id[:], thumb[:])
	return id
}

// JWK spells a public key as the JSON Web Key that ParseJWK accepts: kty, crv,
// x and y and nothing else.
func JWK(pub *ecdsa.PublicKey) []byte {
	raw := PublicKeyOf(pub)
	return []byte(`{"kty":"EC","crv":"P-256","x":"` + b64u(raw[:32]) + `","y":"` + b64u(raw[32:]) + `"}`)
}

// ErrJWK means that a JSON Web Key is not a public P-256 key for signatures.
var ErrJWK = errors.New("wallet: not a usable JSON Web Key")

// maxJWK is ample for what browsers export.
const maxJWK = 1024

// foreignMembers are members of RFC 7517 and 7518 that a bare public EC key
// does not have: private parts, other key types, certificates.
var foreignMembers = []string{"d", "k", "n", "e", "p", "q", "dp", "dq", "qi", "oth", "jku", "x5u", "x5c", "x5t", "x5t#S256"}

// ParseJWK reads a public key as a browser exports it (RFC 7517; RFC 7518,
// section 6.2): kty EC, crv P-256, a point on the curve in its one spelling.
// `use`, `key_ops` and `alg`, where present, have to allow ES256 verification.
// Private members, certificates and duplicate members are refused; other
// members, such as `ext` and `kid`, are ignored. The error is ErrJWK.
func ParseJWK(text []byte) (*ecdsa.PublicKey, error) {
	pub, err := parseJWK(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrJWK, err)
	}
	return pub, nil
}

func parseJWK(text []byte) (*ecdsa.PublicKey, error) {
	if len(text) > maxJWK || !utf8.Valid(text) {
		return nil, fmt.Errorf("%d bytes", len(text))
	}
	members, err := uniqueMembers(text)
	if err != nil {
		return nil, err
	}
	for _, name := range foreignMembers {
		if members[name] != nil {
			return nil, fmt.Errorf("member %q", name)
		}
	}
	if err := checkPurpose(members); err != nil {
		return nil, err
	}
	var raw [64]byte
	for i, name := range []string{"x", "y"} {
		value, ok := plainString(members[name])
		if !ok || !fromB64u(raw[32*i:32*i+32], value) {
			return nil, fmt.Errorf("coordinate %s", name)
		}
	}
	return ParsePublicKey(raw)
}

// checkPurpose looks at all members that say what a key is for.
func checkPurpose(members map[string]json.RawMessage) error {
	for _, want := range []struct {
		name, value string
		optional    bool
	}{{"kty", "EC", false}, {"crv", "P-256", false}, {"use", "sig", true}, {"alg", "ES256", true}} {
		raw := members[want.name]
		if raw == nil && want.optional {
			continue
		}
		if value, ok := plainString(raw); !ok || value != want.value {
			return fmt.Errorf("member %q", want.name)
		}
	}
	if members["key_ops"] == nil {
		return nil
	}
	var ops []*string
	if json.Unmarshal(members["key_ops"], &ops) != nil || slices.Contains(ops, nil) {
		return errors.New("key_ops: not a list of texts")
	}
	// RFC 7517, section 4.3: no duplicates; verify and its pair sign only.
	verify, sign := 0, 0
	for _, op := range ops {
		switch *op {
		case "verify":
			verify++
		case "sign":
			sign++
		default:
			return errors.New("key_ops: not for signatures")
		}
	}
	if verify != 1 || sign > 1 {
		return errors.New("key_ops: not for verification")
	}
	return nil
}

// uniqueMembers reads one JSON object. The standard decoder lets the last of
// duplicate members win and compares their names without case; a key may not
// mean different things to different readers.
func uniqueMembers(text []byte) (map[string]json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("not an object")
	}
	members := map[string]json.RawMessage{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, errors.New("not JSON")
		}
		name, _ := t.(string)
		if members[name] != nil {
			return nil, errors.New("duplicate member")
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, errors.New("not JSON")
		}
		members[name] = value
	}
	if _, err := dec.Token(); err != nil {
		return nil, errors.New("not closed")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return members, nil
}

// plainString reads a JSON string without escapes: none of our values needs one.
func plainString(raw json.RawMessage) (string, bool) {
	s := string(raw)
	if len(s) < 2 || s[0] != '"' || strings.ContainsRune(s, '\\') {
		return "", false
	}
	return s[1 : len(s)-1], true
}
