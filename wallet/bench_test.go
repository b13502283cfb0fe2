package wallet

import (
	"crypto/rand"
	"testing"
)

// benchmarkParseVerify is the work a server does for each scan.
func benchmarkParseVerify(b *testing.B, form Form, kind Kind) {
	phone := fixedKey(b, "phone")
	c := must[Code](b)(SignNonce(nil, phone, vecID, vecEvent, vecNonce))
	if kind == KindTime {
		c = must[Code](b)(SignTime(nil, phone, vecID, vecEvent, vecTime))
	}
	text := c.String()
	if form == FormText {
		text = c.Text(vecEvent)
	}
	b.ReportAllocs()
	for b.Loop() {
		c, err := Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		if err := c.VerifyPhone(&phone.PublicKey, vecEvent); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseVerifyPackedNonce(b *testing.B) { benchmarkParseVerify(b, FormPacked, KindNonce) }
func BenchmarkParseVerifyPackedTime(b *testing.B)  { benchmarkParseVerify(b, FormPacked, KindTime) }
func BenchmarkParseVerifyText(b *testing.B)        { benchmarkParseVerify(b, FormText, KindNonce) }

func BenchmarkParsePacked(b *testing.B) {
	text := goodCodes(b)["nonce"].String()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSignNonce(b *testing.B) {
	phone := fixedKey(b, "phone")
	for b.Loop() {
		if _, err := SignNonce(rand.Reader, phone, vecID, vecEvent, vecNonce); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheckTOTP(b *testing.B) {
	window := TOTPWindow(vecTime)
	for b.Loop() {
		CheckTOTP(vecSecret[:20], window, "00000000")
	}
}

func BenchmarkQR(b *testing.B) {
	text := goodCodes(b)["paper"].String()
	for b.Loop() {
		if _, err := QR(text, LevelM); err != nil {
			b.Fatal(err)
		}
	}
}
