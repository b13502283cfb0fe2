package wallet

import (
	"errors"
	"strings"
	"testing"
)

// What parses prints back to the same bytes, for every parser.

func FuzzParse(f *testing.F) {
	v := loadVectors(f)
	for _, m := range v.Mutations {
		f.Add(m.Code)
	}
	for _, p := range v.Proofs {
		f.Add(p.Packed)
		f.Add(p.Text)
	}
	f.Fuzz(func(t *testing.T, code string) {
		c, err := Parse(code)
		if err != nil {
			checkParseError(t, err)
			return
		}
		if c.String() != code {
			t.Fatalf("%q prints as %q", code, c.String())
		}
		if c.Kind == KindNonce || c.Kind == KindTime {
			text := c.Text(vecEvent)
			if again, err := Parse(text); err != nil || again.Text(vecEvent) != text {
				t.Fatalf("text form %q: %v", text, err)
			}
		}
	})
}

func checkParseError(t *testing.T, err error) {
	t.Helper()
	var perr *ParseError
	if !errors.As(err, &perr) || (perr.What != "") != (perr.Reason == NotATicket) {
		t.Fatalf("error %#v", err)
	}
	switch perr.Reason {
	case Malformed, UnsupportedVersion, NotATicket:
	default:
		t.Fatalf("reason %q", perr.Reason)
	}
}

func FuzzParseGateCode(f *testing.F) {
	for _, g := range loadVectors(f).GateCodes {
		f.Add(g.Code)
	}
	f.Fuzz(func(t *testing.T, code string) {
		g, err := ParseGateCode(code)
		if err != nil {
			checkParseError(t, err)
		} else if g.String() != code {
			t.Fatalf("%q prints as %q", code, g.String())
		}
	})
}

func FuzzDecodeBase45(f *testing.F) {
	v := loadVectors(f)
	for _, p := range v.Base45 {
		f.Add(p.Text)
	}
	for _, p := range v.Base45Bad {
		f.Add(p.Text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if raw, err := DecodeBase45(text); err == nil && EncodeBase45(raw) != text {
			t.Fatalf("%q is %x, which prints as %q", text, raw, EncodeBase45(raw))
		}
	})
}

func FuzzParseJWK(f *testing.F) {
	for _, k := range loadVectors(f).JWKs {
		f.Add([]byte(k.JWK))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		pub, err := ParseJWK(text)
		if err != nil {
			if !errors.Is(err, ErrJWK) {
				t.Fatal(err)
			}
			return
		}
		again, err := ParseJWK(JWK(pub))
		if err != nil || !again.Equal(pub) {
			t.Fatalf("%q: %v", text, err)
		}
		if raw := PublicKeyOf(pub); raw == (PublicKey{}) {
			t.Fatalf("%q: key without bytes", text)
		}
	})
}

func FuzzChallengeOf(f *testing.F) {
	for _, p := range loadVectors(f).Templates {
		f.Add(p.Text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ChallengeOf(text)
		if err != nil {
			if !errors.Is(err, ErrTemplate) || c != [32]byte{} {
				t.Fatalf("%x, %v", c, err)
			}
			return
		}
		if _, claims, _, err := cutText(text); err != nil || !strings.Contains(claims, `"nonce":"`+b64u(c[:])) {
			t.Fatalf("%q gives %x", text, c)
		}
	})
}

func FuzzParsePhone(f *testing.F) {
	f.Add([]byte(`{"version":1,"tickets":[]}`))
	f.Add(must[[]byte](f)(fixedPhone(f).marshal()))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := parsePhone(text)
		if err != nil {
			if !errors.Is(err, ErrKeyFile) {
				t.Fatal(err)
			}
			return
		}
		first := must[[]byte](t)(p.marshal())
		again := must[*Phone](t)(parsePhone(first))
		if second := must[[]byte](t)(again.marshal()); string(second) != string(first) {
			t.Fatalf("%s, then %s", first, second)
		}
	})
}
