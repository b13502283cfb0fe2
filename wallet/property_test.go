package wallet

import (
	"crypto/ecdsa"
	"crypto/rand"
	"errors"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

func genUUID(t *rapid.T, label string) uuid.UUID {
	return uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, label))
}

func genID(t *rapid.T) KeyID { return KeyID{genUUID(t, "ticket"), rapid.Byte().Draw(t, "generation")} }

func TestAnyProofRoundTripsAndHoldsForItsEventAndKeyOnly(t *testing.T) {
	phone, other := fixedKey(t, "phone"), fixedKey(t, "other_phone")
	rapid.Check(t, func(t *rapid.T) {
		id, event := genID(t), genUUID(t, "event")
		var c Code
		var err error
		if rapid.Bool().Draw(t, "by time") {
			c, err = SignTime(rand.Reader, phone, id, event, int64(rapid.Uint32().Draw(t, "iat")))
		} else {
			c, err = SignNonce(rand.Reader, phone, id, event, [16]byte(genUUID(t, "nonce")))
		}
		if err != nil {
			t.Fatal(err)
		}
		packed, err := Parse(c.String())
		if err != nil || packed != c {
			t.Fatalf("packed: %+v, %v", packed, err)
		}
		text, err := Parse(c.Text(event))
		if err != nil || text.Audience != event || text.Signature != c.Signature {
			t.Fatalf("text: %+v, %v", text, err)
		}
		elsewhere := event
		elsewhere[rapid.IntRange(0, 15).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		for _, form := range []Code{packed, text} {
			if err := form.VerifyPhone(&phone.PublicKey, event); err != nil {
				t.Fatal(err)
			}
			if err := form.VerifyPhone(&phone.PublicKey, elsewhere); !errors.Is(err, ErrSignature) {
				t.Fatalf("another event: %v", err)
			}
			if err := form.VerifyPhone(&other.PublicKey, event); !errors.Is(err, ErrSignature) {
				t.Fatalf("another key: %v", err)
			}
		}
	})
}

func TestAnyChangedBitOfAPackedCodeIsRefused(t *testing.T) {
	keys := map[Kind]*ecdsa.PublicKey{
		KindNonce: &fixedKey(t, "phone").PublicKey, KindTime: &fixedKey(t, "phone").PublicKey, KindPaper: &fixedKey(t, "issuer").PublicKey,
	}
	all := goodCodes(t)
	rapid.Check(t, func(t *rapid.T) {
		good := all[rapid.SampledFrom([]string{"nonce", "time", "paper"}).Draw(t, "kind")]
		text := good.String()
		raw, err := DecodeBase45(text[4:])
		if err != nil {
			t.Fatal(err)
		}
		raw[rapid.IntRange(0, len(raw)-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if reason, _ := judge(text[:4]+EncodeBase45(raw), keys[good.Kind], vecEvent); reason == "ok" {
			t.Fatal("accepted")
		}
	})
}

func TestAnyBytesRoundTripThroughBase45AndGateCodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		got, err := DecodeBase45(EncodeBase45(raw))
		if err != nil || string(got) != string(raw) {
			t.Fatalf("%x: %x, %v", raw, got, err)
		}
		g := GateCode{genUUID(t, "device"), [16]byte(genUUID(t, "nonce")), rapid.Byte().Draw(t, "accepted_for")}
		if again, err := ParseGateCode(g.String()); err != nil || again != g {
			t.Fatalf("%+v: %+v, %v", g, again, err)
		}
	})
}

func TestAnyTemplateVerifiesWithItsOwnValuesOnly(t *testing.T) {
	phone := fixedKey(t, "phone")
	bytes32 := rapid.Custom(func(t *rapid.T) [32]byte { return [32]byte(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "bytes")) })
	rapid.Check(t, func(t *rapid.T) {
		challenge, other := bytes32.Draw(t, "challenge"), bytes32.Draw(t, "other challenge")
		claim, event := bytes32.Draw(t, "claim"), genUUID(t, "event")
		text, err := SignClaim(rand.Reader, phone, challenge, event, claim)
		if err != nil {
			t.Fatal(err)
		}
		if err := VerifyClaim(&phone.PublicKey, text, challenge, event, claim); err != nil {
			t.Fatal(err)
		}
		if err := VerifyClaim(&phone.PublicKey, text, other, event, claim); other != challenge && !errors.Is(err, ErrTemplate) {
			t.Fatal(err)
		}
		if got, err := ChallengeOf(text); err != nil || got != challenge {
			t.Fatalf("%x, %v", got, err)
		}
	})
}

func TestANilSourceOfRandomnessSignsTheSameTwice(t *testing.T) {
	phone := fixedKey(t, "phone")
	sign := func() Code { return must[Code](t)(SignNonce(nil, phone, vecID, vecEvent, vecNonce)) }
	if first, second := sign(), sign(); first != second {
		t.Error("two signatures")
	}
	a := must[Code](t)(SignNonce(rand.Reader, phone, vecID, vecEvent, vecNonce))
	if a == sign() {
		t.Error("a random source was not used")
	}
}
