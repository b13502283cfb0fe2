package wallet

import (
	"crypto/ecdsa"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"testing"
)

// wycheproof is the shape of the files in testdata/wycheproof that counts here.
type wycheproof struct {
	Groups []struct {
		Sha string          `json:"sha"`
		JWK json.RawMessage `json:"jwk"`
		Key struct {
			Curve        string `json:"curve"`
			Uncompressed string `json:"uncompressed"`
		} `json:"key"`
		Tests []struct {
			ID     int    `json:"tcId"`
			Msg    string `json:"msg"`
			Sig    string `json:"sig"`
			Result string `json:"result"`
		} `json:"tests"`
	} `json:"testGroups"`
}

func fromHex(t testing.TB, text string) []byte {
	t.Helper()
	raw, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// The counts are pinned so that a file cut short cannot pass.
func TestSignaturesOfWycheproofAreJudgedRight(t *testing.T) {
	for name, want := range map[string]struct{ valid, invalid, refusedKeys int }{
		"ecdsa_secp256r1_sha256_p1363_test.json": {146, 73, 0},
		"ecdsa_webcrypto_test.json":              {146, 73, 143},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile("testdata/wycheproof/" + name)
			if err != nil {
				t.Fatal(err)
			}
			var file wycheproof
			if err := json.Unmarshal(text, &file); err != nil {
				t.Fatal(err)
			}
			got := want
			got.valid, got.invalid, got.refusedKeys = 0, 0, 0
			for _, g := range file.Groups {
				pub := wycheproofKey(t, g.JWK, g.Key.Curve, g.Key.Uncompressed)
				for _, test := range g.Tests {
					if pub == nil {
						got.refusedKeys++
						continue
					}
					// "acceptable" are signatures of fewer than 64 bytes, which
					// no form of ours can carry: refused.
					err := verifyES256(pub, string(fromHex(t, test.Msg)), fromHex(t, test.Sig))
					if (err == nil) != (test.Result == "valid") {
						t.Errorf("test %d, %s: %v", test.ID, test.Result, err)
					}
					if err == nil {
						got.valid++
					} else {
						got.invalid++
					}
				}
			}
			if got != want {
				t.Errorf("counted %+v, want %+v", got, want)
			}
		})
	}
}

// wycheproofKey is nil for a key on another curve, which has to be refused.
// Each P-256 key is read from its JSON Web Key and from its bytes.
func wycheproofKey(t *testing.T, jwk json.RawMessage, curve, uncompressed string) *ecdsa.PublicKey {
	t.Helper()
	if curve != "secp256r1" {
		if _, err := ParseJWK(jwk); !errors.Is(err, ErrJWK) {
			t.Errorf("key on %s: %v", curve, err)
		}
		return nil
	}
	pub, err := ParsePublicKey([64]byte(fromHex(t, uncompressed)[1:]))
	if err != nil {
		t.Fatal(err)
	}
	if jwk != nil {
		other, err := ParseJWK(jwk)
		if err != nil || !other.Equal(pub) {
			t.Fatalf("%s: %v", jwk, err)
		}
	}
	return pub
}
