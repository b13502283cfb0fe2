package wallet

import (
	"crypto/ecdsa"
	"encoding/hex"
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"
)

// These tests read testdata/vectors.json as a stranger would: they use the
// file's fields and the parsing side only.

func (v vectors) key(t testing.TB, name string) *ecdsa.PublicKey {
	t.Helper()
	pub, err := ParseJWK(v.Keys[name].JWK)
	if err != nil {
		t.Fatalf("key %q: %v", name, err)
	}
	return pub
}

func unb64u(t testing.TB, n int, text string) []byte {
	t.Helper()
	raw := make([]byte, n)
	if !fromB64u(raw, text) {
		t.Fatalf("not %d bytes of base64url: %q", n, text)
	}
	return raw
}

func TestGoodProofsParseVerifyAndPrintInBothForms(t *testing.T) {
	v := loadVectors(t)
	for _, p := range v.Proofs {
		for form, text := range map[Form]string{FormPacked: p.Packed, FormText: p.Text} {
			c, err := Parse(text)
			if err != nil {
				t.Fatalf("%s: %v", p.Name, err)
			}
			want := Code{Form: form, KeyID: KeyID{p.Ticket, p.Generation}, IssuedAt: p.IssuedAt, Kind: KindTime}
			copy(want.Signature[:], unb64u(t, 64, p.Signature))
			if p.Kind == "nonce" {
				want.Kind = KindNonce
				copy(want.Nonce[:], unb64u(t, 16, p.Nonce))
			}
			if form == FormText {
				want.Audience = p.Event
			}
			if c != want {
				t.Errorf("%s: %+v, want %+v", p.Name, c, want)
			}
			if err := c.VerifyPhone(v.key(t, p.Key), p.Event); err != nil {
				t.Errorf("%s: %v", p.Name, err)
			}
			if c.Text(p.Event) != p.Text || c.Text(p.Event) != p.SigningInput+"."+p.Signature {
				t.Errorf("%s: text form %q", p.Name, c.Text(p.Event))
			}
			if err := c.VerifyPaper(v.key(t, p.Key), p.Event); !errors.Is(err, ErrSignature) {
				t.Errorf("%s: passes for paper: %v", p.Name, err)
			}
		}
	}
}

func TestGoodPaperCodesParseAndVerify(t *testing.T) {
	v := loadVectors(t)
	for _, p := range v.Papers {
		c, err := Parse(p.Code)
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		pub := v.key(t, p.Key)
		if c.Kind != KindPaper || c.KeyID != (KeyID{p.Ticket, p.Generation}) || b64u(c.IssuerKey[:]) != p.IssuerKey ||
			c.IssuerKey != IssuerKeyID(pub) || b64u(c.Signature[:]) != p.Signature || c.paperInput(p.Event) != p.SigningInput {
			t.Errorf("%s: %+v", p.Name, c)
		}
		if err := c.VerifyPaper(pub, p.Event); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		if err := c.VerifyPhone(pub, p.Event); !errors.Is(err, ErrSignature) {
			t.Errorf("%s: passes for a phone: %v", p.Name, err)
		}
		if c.Text(p.Event) != "" {
			t.Errorf("%s: has a text form", p.Name)
		}
	}
}

func TestEveryMutationHasItsReason(t *testing.T) {
	v := loadVectors(t)
	bad := 0
	for _, m := range v.Mutations {
		if reason, what := judge(m.Code, v.key(t, m.Key), m.Event); reason != m.Reason || what != m.What {
			t.Errorf("%s: %s %s, want %s %s", m.Name, reason, what, m.Reason, m.What)
		}
		if m.Reason != "ok" {
			bad++
		}
	}
	if bad < 30 {
		t.Fatalf("only %d mutations", bad)
	}
	t.Logf("%d mutations", len(v.Mutations))
}

// judge is what a server does first with a code: parse, then verify.
func judge(code string, pub *ecdsa.PublicKey, event uuid.UUID) (reason, what string) {
	c, err := Parse(code)
	var perr *ParseError
	switch {
	case errors.As(err, &perr):
		return perr.Reason, perr.What
	case err != nil:
		return "unexpected error", ""
	case c.Kind == KindPaper:
		err = c.VerifyPaper(pub, event)
	default:
		err = c.VerifyPhone(pub, event)
	}
	if errors.Is(err, ErrSignature) {
		return "bad_signature", ""
	}
	if err != nil {
		return "unexpected error", ""
	}
	return "ok", ""
}

func TestKeysOfTheVectorsAreConsistent(t *testing.T) {
	v := loadVectors(t)
	for name, k := range v.Keys {
		pub := v.key(t, name)
		raw := PublicKeyOf(pub)
		thumb, id := Thumbprint(pub), IssuerKeyID(pub)
		if b64u(raw[:]) != k.PublicKey || b64u(thumb[:]) != k.Thumbprint || b64u(id[:]) != k.IssuerKey {
			t.Errorf("key %s", name)
		}
	}
}

func TestOneTimeCodesOfTheVectorsAreRightForTheirStep(t *testing.T) {
	for _, p := range loadVectors(t).TOTP {
		secret, err := hex.DecodeString(p.SecretHex)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Parse(p.Code)
		if err != nil {
			t.Fatal(err)
		}
		if c.Kind != KindTOTP || c.KeyID != (KeyID{p.Ticket, p.Generation}) || c.IssuedAt != p.IssuedAt || c.OTP != p.OTP {
			t.Errorf("%s: %+v", p.Code, c)
		}
		if step, ok := CheckTOTP(secret, []int64{TOTPStep(c.IssuedAt)}, c.OTP); !ok || step != p.Step {
			t.Errorf("%s: step %d, %t", p.Code, step, ok)
		}
	}
}

func TestGateCodesOfTheVectorsParse(t *testing.T) {
	for _, p := range loadVectors(t).GateCodes {
		g, err := ParseGateCode(p.Code)
		if err != nil || g.Device != p.Device || b64u(g.Nonce[:]) != p.Nonce || g.AcceptedFor != p.AcceptedFor {
			t.Errorf("%s: %+v %v", p.Code, g, err)
		}
	}
}

func TestClaimCodesOfTheVectorsAreDerived(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range loadVectors(t).ClaimCodes {
		code := ClaimCode(unb64u(t, 32, p.ClaimKey), p.Scope, p.ID, p.Serial)
		hash := HashClaimCode(code)
		if code != p.Code || b64u(hash[:]) != p.Hash || len(code) != 43 || seen[code] {
			t.Errorf("%+v: %s", p, code)
		}
		seen[code] = true
	}
}

func TestTemplatesOfTheVectorsVerify(t *testing.T) {
	v := loadVectors(t)
	names := []string{}
	for _, p := range v.Templates {
		names = append(names, p.Name)
		challenge := [32]byte(unb64u(t, 32, p.Challenge))
		pub := v.key(t, p.Key)
		var err error
		switch p.Name {
		case "claim":
			err = VerifyClaim(pub, p.Text, challenge, p.Event, HashClaimCode(p.ClaimCode))
		case "session":
			err = VerifySession(pub, p.Text, challenge, p.Ticket)
		case "transfer":
			err = VerifyTransfer(pub, p.Text, challenge, p.Ticket, HashAddress(p.Address))
		}
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		if got, err := ChallengeOf(p.Text); err != nil || got != challenge {
			t.Errorf("%s: challenge %x, %v", p.Name, got, err)
		}
	}
	if !slices.Equal(names, []string{"claim", "session", "transfer"}) {
		t.Errorf("templates %v", names)
	}
}

func TestBase45OfTheVectors(t *testing.T) {
	v := loadVectors(t)
	for _, p := range v.Base45 {
		raw, err := DecodeBase45(p.Text)
		if err != nil || hex.EncodeToString(raw) != p.Hex || EncodeBase45(raw) != p.Text {
			t.Errorf("%q: %x %v", p.Text, raw, err)
		}
	}
	for _, p := range v.Base45Bad {
		if raw, err := DecodeBase45(p.Text); err == nil {
			t.Errorf("%q (%s) decodes to %x", p.Text, p.Why, raw)
		}
	}
}
