package wallet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"math/big"
	"strings"
	"testing"
)

// makeJWKs has the keys a claim may meet: what browsers export, what a
// careless or hostile one might send.
func makeJWKs(t testing.TB) []vecJWK {
	pub := &fixedKey(t, "phone").PublicKey
	good := string(JWK(pub))
	raw := PublicKeyOf(pub)
	x, y := b64u(raw[:32]), b64u(raw[32:])
	with := func(members string) string { return strings.TrimSuffix(good, "}") + "," + members + "}" }
	point := func(x, y string) string { return `{"kty":"EC","crv":"P-256","x":"` + x + `","y":"` + y + `"}` }
	p := elliptic.P256().Params().P
	zero := b64u(make([]byte, 32))
	bigX := b64u(p.FillBytes(make([]byte, 32)))
	negY := new(big.Int).Sub(p, new(big.Int).SetBytes(raw[32:]))
	offY := raw
	offY[63] ^= 1
	return []vecJWK{
		{"bare", good, true},
		{"as a browser exports it", `{"crv":"P-256","ext":true,"key_ops":["verify"],"kty":"EC","x":"` + x + `","y":"` + y + `"}`, true},
		{"white space and order", " { \"y\":\"" + y + "\",\n \"x\":\"" + x + "\", \"crv\":\"P-256\", \"kty\":\"EC\" }\n", true},
		{"use sig, alg ES256, kid", with(`"use":"sig","alg":"ES256","kid":"k"`), true},
		{"verify and sign", with(`"key_ops":["sign","verify"]`), true},
		{"the mirrored point", point(x, b64u(negY.FillBytes(make([]byte, 32)))), true},
		{"unknown member", with(`"color":{"a":[1]}`), true},
		{"private part", with(`"d":"` + x + `"`), false},
		{"symmetric part", with(`"k":"` + x + `"`), false},
		{"certificate address", with(`"x5u":"https://example.org"`), false},
		{"use enc", with(`"use":"enc"`), false},
		{"use not a text", with(`"use":["sig"]`), false},
		{"alg ES384", with(`"alg":"ES384"`), false},
		{"key_ops sign only", with(`"key_ops":["sign"]`), false},
		{"key_ops deriveBits", with(`"key_ops":["deriveBits"]`), false},
		{"key_ops verify and encrypt", with(`"key_ops":["verify","encrypt"]`), false},
		{"key_ops empty", with(`"key_ops":[]`), false},
		{"key_ops twice the same", with(`"key_ops":["verify","verify"]`), false},
		{"key_ops a text", with(`"key_ops":"verify"`), false},
		{"key_ops with null", with(`"key_ops":["verify",null]`), false},
		{"key_ops null", with(`"key_ops":null`), false},
		{"duplicate x", with(`"x":"` + x + `"`), false},
		{"duplicate kty, escaped", with(`"\u006bty":"EC"`), false},
		{"kty OKP", strings.Replace(good, `"EC"`, `"OKP"`, 1), false},
		{"kty in lower case", strings.Replace(good, `"EC"`, `"ec"`, 1), false},
		{"member names in capitals", strings.Replace(good, `"kty"`, `"KTY"`, 1), false},
		{"curve P-384", strings.Replace(good, "P-256", "P-384", 1), false},
		{"curve secp256k1", strings.Replace(good, "P-256", "secp256k1", 1), false},
		{"no curve", strings.Replace(good, `"crv":"P-256",`, "", 1), false},
		{"no y", strings.Replace(good, `,"y":"`+y+`"`, "", 1), false},
		{"point off the curve", point(x, b64u(offY[32:])), false},
		{"coordinates exchanged", point(y, x), false},
		{"point at zero", point(zero, zero), false},
		{"x not below the prime", point(bigX, y), false},
		{"x short", point(b64u(raw[1:32]), y), false},
		{"x with a leading zero byte", point(b64u(append([]byte{0}, raw[:32]...)), y), false},
		{"x padded", point(x+"=", y), false},
		{"x a number", strings.Replace(good, `"`+x+`"`, "1", 1), false},
		{"x null", strings.Replace(good, `"`+x+`"`, "null", 1), false},
		{"two values", good + good, false},
		{"not closed", strings.TrimSuffix(good, "}"), false},
		{"a list", "[" + good + "]", false},
		{"null", "null", false},
		{"empty", "", false},
		{"too long", with(`"kid":"` + strings.Repeat("k", maxJWK) + `"`), false},
	}
}

func TestAKeyForClaimingIsABarePointOnTheCurve(t *testing.T) {
	want := PublicKeyOf(&fixedKey(t, "phone").PublicKey)
	for _, v := range loadVectors(t).JWKs {
		pub, err := ParseJWK([]byte(v.JWK))
		switch {
		case v.OK && err != nil:
			t.Errorf("%s: %v", v.Name, err)
		case v.OK && PublicKeyOf(pub) != want && v.Name != "the mirrored point":
			t.Errorf("%s: another key", v.Name)
		case !v.OK && !errors.Is(err, ErrJWK):
			t.Errorf("%s: accepted (%v)", v.Name, err)
		}
	}
}

func TestAJSONWebKeyThatIsNotUTF8IsRefused(t *testing.T) {
	text := strings.Replace(string(JWK(&fixedKey(t, "phone").PublicKey)), "{", "{\"kid\":\"\xff\",", 1)
	if _, err := ParseJWK([]byte(text)); !errors.Is(err, ErrJWK) {
		t.Fatal(err)
	}
}

func TestAStoredKeyIsAPointOnTheCurveAndComesBackAsItWas(t *testing.T) {
	key := fixedKey(t, "phone")
	raw := PublicKeyOf(&key.PublicKey)
	pub, err := ParsePublicKey(raw)
	if err != nil || !pub.Equal(&key.PublicKey) {
		t.Fatalf("%v, %v", pub, err)
	}
	for i := range raw {
		bad := raw
		bad[i] ^= 0x10
		if _, err := ParsePublicKey(bad); !errors.Is(err, ErrKey) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
	}
	if _, err := ParsePublicKey(PublicKey{}); !errors.Is(err, ErrKey) {
		t.Fatalf("point at zero: %v", err)
	}
}

func TestKeysOfOtherCurvesNeitherSignNorVerify(t *testing.T) {
	other, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if PublicKeyOf(&other.PublicKey) != (PublicKey{}) || PublicKeyOf(nil) != (PublicKey{}) {
		t.Error("a key off P-256 has bytes")
	}
	for _, key := range []*ecdsa.PrivateKey{other, nil} {
		if _, err := SignNonce(rand.Reader, key, vecID, vecEvent, vecNonce); !errors.Is(err, ErrKey) {
			t.Errorf("sign: %v", err)
		}
	}
	code := must[Code](t)(SignNonce(rand.Reader, fixedKey(t, "phone"), vecID, vecEvent, vecNonce))
	for _, pub := range []*ecdsa.PublicKey{&other.PublicKey, nil} {
		if err := code.VerifyPhone(pub, vecEvent); !errors.Is(err, ErrKey) {
			t.Errorf("verify: %v", err)
		}
	}
}
