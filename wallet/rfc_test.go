package wallet

import (
	"crypto/ecdsa"
	"encoding/json"
	"strings"
	"testing"
)

func TestOneTimeCodesAreThoseOfRFC4226AppendixD(t *testing.T) {
	secret := []byte("12345678901234567890")
	// The appendix lists the truncated values in decimal; eight digits are
	// their remainder.
	for step, decimal := range []string{"1284755224", "1094287082", "0137359152", "1726969429", "1640338314",
		"0868254676", "1918287922", "0082162583", "0673399871", "0645520489"} {
		got, err := TOTPCode(secret, int64(step))
		if err != nil || got != decimal[2:] {
			t.Errorf("counter %d: %s, want %s (%v)", step, got, decimal[2:], err)
		}
	}
}

func TestOneTimeCodesAreThoseOfRFC6238AppendixB(t *testing.T) {
	secret := []byte("12345678901234567890")
	for unix, want := range map[int64]string{
		59: "94287082", 1111111109: "07081804", 1111111111: "14050471",
		1234567890: "89005924", 2000000000: "69279037", 20000000000: "65353130",
	} {
		// The appendix has steps of 30 s.
		if got, err := TOTPCode(secret, unix/30); err != nil || got != want {
			t.Errorf("at %d: %s, want %s (%v)", unix, got, want, err)
		}
	}
}

// The key and token of RFC 7515, appendix A.3.
const (
	rfc7515JWK = `{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}`
	rfc7515Sig = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
)

func TestTheSignatureOfRFC7515AppendixA3Verifies(t *testing.T) {
	input := signingInput(`{"alg":"ES256"}`,
		"{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}")
	if !strings.HasPrefix(input, "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQog") {
		t.Fatalf("signing input %s", input)
	}
	pub := must[*ecdsa.PublicKey](t)(ParseJWK([]byte(rfc7515JWK)))
	sig := unb64u(t, 64, rfc7515Sig)
	if err := verifyES256(pub, input, sig); err != nil {
		t.Error(err)
	}
	if err := verifyES256(pub, input+" ", sig); err == nil {
		t.Error("verifies over another input")
	}
	// The token is a good JWS and no code of ours.
	if _, err := Parse(input + "." + rfc7515Sig); reasonOf(err) != Malformed {
		t.Error(err)
	}
}

func TestTheThumbprintIsThatOfRFC9449(t *testing.T) {
	// RFC 7638 has no example of an elliptic key; RFC 9449, section 6.1, has
	// the thumbprint of the key of its section 4.1.
	pub := must[*ecdsa.PublicKey](t)(ParseJWK([]byte(`{"kty":"EC","crv":"P-256",` +
		`"x":"l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs","y":"9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA"}`)))
	thumb := Thumbprint(pub)
	if got := b64u(thumb[:]); got != "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I" {
		t.Error(got)
	}
}

func TestWindowsOfOneTimeCodesAreTwoStepsBackAndOneAhead(t *testing.T) {
	secret := vecSecret[:20]
	const now = 1764530100
	for offset, ok := range map[int64]bool{-3: false, -2: true, -1: true, 0: true, 1: true, 2: false} {
		code := must[string](t)(TOTPCode(secret, TOTPStep(now)+offset))
		step, got := CheckTOTP(secret, TOTPWindow(now), code)
		if got != ok || ok && step != TOTPStep(now)+offset {
			t.Errorf("offset %d: step %d, %t", offset, step, got)
		}
	}
	for unix, step := range map[int64]int64{0: 0, 14: 0, 15: 1, -1: -1, -15: -1, -16: -2} {
		if got := TOTPStep(unix); got != step {
			t.Errorf("step of %d: %d, want %d", unix, got, step)
		}
	}
}

func TestNoOneTimeCodeIsRightForABadSecretStepOrText(t *testing.T) {
	for _, secret := range [][]byte{nil, make([]byte, 15)} {
		if _, err := TOTPCode(secret, 1); err == nil {
			t.Error("short secret has a code")
		}
	}
	if _, err := TOTPCode(vecSecret[:20], -1); err == nil {
		t.Error("step before 1970 has a code")
	}
	right := must[string](t)(TOTPCode(vecSecret[:20], 7))
	for _, code := range []string{"", right[1:], right + "0", " " + right, "0" + right, strings.Repeat("0", 8)} {
		if _, ok := CheckTOTP(vecSecret[:20], []int64{7}, code); ok {
			t.Errorf("%q is right", code)
		}
	}
	if _, ok := CheckTOTP(vecSecret[:20], []int64{-1}, ""); ok {
		t.Error("an empty text is right for a step without a code")
	}
	if _, err := TOTPPattern(vecSecret[:20], vecID, 999999999); err == nil {
		t.Error("a time of nine digits has a pattern")
	}
}

func TestAKeySetEntryRoundTripsThroughStandardJSON(t *testing.T) {
	var members map[string]string
	if err := json.Unmarshal(JWK(&fixedKey(t, "issuer").PublicKey), &members); err != nil || len(members) != 4 {
		t.Fatalf("%v %v", members, err)
	}
}
