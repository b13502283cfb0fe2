package wallet

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func reasonOf(err error) string {
	var perr *ParseError
	if errors.As(err, &perr) {
		return perr.Reason
	}
	return ""
}

// goodCodes is one code of each kind and form.
func goodCodes(t testing.TB) map[string]Code {
	phone, issuer := fixedKey(t, "phone"), fixedKey(t, "issuer")
	code := must[Code](t)
	all := map[string]Code{
		"nonce": code(SignNonce(nil, phone, vecID, vecEvent, vecNonce)),
		"time":  code(SignTime(nil, phone, vecID, vecEvent, vecTime)),
		"paper": code(SignPaper(nil, issuer, vecID, vecEvent, IssuerKeyID(&issuer.PublicKey))),
		"totp":  code(TOTPPattern(vecSecret[:20], vecID, vecTime)),
	}
	all["nonce as text"] = code(Parse(all["nonce"].Text(vecEvent)))
	all["time as text"] = code(Parse(all["time"].Text(vecEvent)))
	return all
}

func TestSizesOfCodesAreThoseOfTheSpecification(t *testing.T) {
	all := goodCodes(t)
	for name, want := range map[string]int{
		"nonce": 151, "time": 133, "paper": 133, "totp": 52, "nonce as text": 258, "time as text": 238,
	} {
		if got := len(all[name].String()); got != want {
			t.Errorf("%s: %d characters, want %d", name, got, want)
		}
	}
	for name, want := range map[string]int{"nonce": 98, "time": 86, "paper": 86} {
		raw, err := DecodeBase45(all[name].String()[4:])
		if err != nil || len(raw) != want {
			t.Errorf("%s: %d bytes, want %d (%v)", name, len(raw), want, err)
		}
	}
	if got := len(GateCode{vecDevice, vecNonce, 60}.String()); got != 58 {
		t.Errorf("gate code: %d characters", got)
	}
}

// Every position of a proof, prefix included, with each other character of the
// alphabet: none may be admitted, none may be taken for another kind.
func TestAProofWithAnyOneCharacterChangedIsRefused(t *testing.T) {
	t.Parallel()
	pub := &fixedKey(t, "phone").PublicKey
	for _, name := range []string{"nonce", "time"} {
		good := goodCodes(t)[name].String()
		counts := map[string]int{}
		for at := range len(good) {
			for _, char := range []byte(alphabet45) {
				if char == good[at] {
					continue
				}
				changed := good[:at] + string(char) + good[at+1:]
				reason, _ := judge(changed, pub, vecEvent)
				counts[reason]++
				if c, err := Parse(changed); err == nil && c.Kind.String() != name {
					t.Errorf("%s at %d: becomes %s", string(char), at, c.Kind)
				}
			}
		}
		tried := counts[Malformed] + counts[UnsupportedVersion] + counts[NotATicket] + counts["bad_signature"]
		if tried != len(good)*44 || len(counts) != 4 {
			t.Errorf("%s: %v", name, counts)
		}
		t.Logf("%s: %v", name, counts)
	}
}

func TestAPaperCodeWithAnyOneCharacterChangedIsRefused(t *testing.T) {
	t.Parallel()
	pub := &fixedKey(t, "issuer").PublicKey
	good := goodCodes(t)["paper"].String()
	for at := range len(good) {
		for _, char := range []byte(alphabet45) {
			changed := good[:at] + string(char) + good[at+1:]
			if reason, _ := judge(changed, pub, vecEvent); reason == "ok" && changed != good {
				t.Errorf("%s at %d is accepted", string(char), at)
			}
		}
	}
}

func TestATextFormWithAnyOneCharacterChangedIsRefused(t *testing.T) {
	t.Parallel()
	pub := &fixedKey(t, "phone").PublicKey
	good := goodCodes(t)["nonce as text"].String()
	for at := range len(good) {
		for _, char := range []byte("Aa0-_.= \n{\"" + string(good[at]^1)) {
			changed := good[:at] + string(char) + good[at+1:]
			if reason, _ := judge(changed, pub, vecEvent); reason == "ok" && changed != good {
				t.Errorf("%q at %d is accepted", char, at)
			}
		}
	}
}

func TestACodeThatNobodyMadeHasNoSpelling(t *testing.T) {
	for name, c := range map[string]Code{
		"zero":                     {},
		"no kind":                  {Form: FormPacked},
		"text of paper":            {Form: FormText, Kind: KindPaper},
		"time before 1970":         {Form: FormPacked, Kind: KindTime, IssuedAt: -1},
		"time beyond 32 bits":      {Form: FormText, Kind: KindTime, IssuedAt: 1 << 32},
		"one-time code, letters":   {Form: FormPacked, Kind: KindTOTP, IssuedAt: vecTime, OTP: "1234567x"},
		"one-time code, early":     {Form: FormPacked, Kind: KindTOTP, IssuedAt: 5, OTP: "12345678"},
		"one-time code, no digits": {Form: FormPacked, Kind: KindTOTP, IssuedAt: vecTime},
	} {
		if got := c.String(); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, at := range []int64{-1, 1 << 32} {
		if _, err := SignTime(nil, fixedKey(t, "phone"), vecID, vecEvent, at); err == nil {
			t.Errorf("signed for %d", at)
		}
	}
}

func TestErrorsAndLogsNeverContainTheCode(t *testing.T) {
	for _, m := range loadVectors(t).Mutations {
		_, err := Parse(m.Code)
		if err == nil || len(m.Code) < 16 {
			continue
		}
		for at := 0; at+16 <= len(m.Code); at += 16 {
			if strings.Contains(err.Error(), m.Code[at:at+16]) {
				t.Errorf("%s: %v", m.Name, err)
			}
		}
	}
	var out bytes.Buffer
	c := goodCodes(t)["nonce"]
	slog.New(slog.NewTextHandler(&out, nil)).Info("scan", "code", c)
	if !strings.Contains(out.String(), vecTicket.String()) || strings.Contains(out.String(), c.String()[20:40]) {
		t.Error(out.String())
	}
}

func TestAGateCodeIsParsedOnlyAsOne(t *testing.T) {
	good := GateCode{vecDevice, vecNonce, 60}.String()
	newer := "PG1:" + EncodeBase45(append([]byte{0x25}, make([]byte, 35)...))
	for code, reason := range map[string]string{
		good[:57]: Malformed, "PG1:" + strings.Repeat(":", 54): Malformed, newer: UnsupportedVersion, "": NotATicket,
		goodCodes(t)["nonce"].String(): NotATicket, good + " ": Malformed,
		"PG1:" + EncodeBase45(append([]byte{0x11}, make([]byte, 35)...)): Malformed,
	} {
		if _, err := ParseGateCode(code); reasonOf(err) != reason {
			t.Errorf("%q: %v, want %s", code, err, reason)
		}
	}
}

func TestWhatIsSignedForOnePurposeIsGoodForNoOther(t *testing.T) {
	phone := fixedKey(t, "phone")
	pub := &phone.PublicKey
	other := [32]byte{1}
	claim := must[string](t)(SignClaim(nil, phone, vecChallenge, vecEvent, other))
	session := must[string](t)(SignSession(nil, phone, vecChallenge, vecTicket))
	transfer := must[string](t)(SignTransfer(nil, phone, vecChallenge, vecTicket, other))
	verifiers := map[string]func(text string) error{
		claim:    func(text string) error { return VerifyClaim(pub, text, vecChallenge, vecEvent, other) },
		session:  func(text string) error { return VerifySession(pub, text, vecChallenge, vecTicket) },
		transfer: func(text string) error { return VerifyTransfer(pub, text, vecChallenge, vecTicket, other) },
	}
	for good, verify := range verifiers {
		if err := verify(good); err != nil {
			t.Error(err)
		}
		for text := range verifiers {
			if err := verify(text); text != good && !errors.Is(err, ErrTemplate) {
				t.Errorf("%v", err)
			}
		}
		for _, text := range []string{"", good + "=", good + " ", good[:len(good)-1], good + ".", strings.ToLower(good)} {
			if err := verify(text); !errors.Is(err, ErrTemplate) {
				t.Errorf("%v", err)
			}
		}
		swapped := good[:strings.LastIndexByte(good, '.')+1] + rfc7515Sig
		if err := verify(swapped); !errors.Is(err, ErrSignature) {
			t.Errorf("another signature: %v", err)
		}
	}
}

func TestATemplateHoldsForItsOwnValuesOnly(t *testing.T) {
	phone := fixedKey(t, "phone")
	pub, other, zero := &phone.PublicKey, [32]byte{1}, [32]byte{}
	claim := must[string](t)(SignClaim(nil, phone, vecChallenge, vecEvent, other))
	session := must[string](t)(SignSession(nil, phone, vecChallenge, vecTicket))
	transfer := must[string](t)(SignTransfer(nil, phone, vecChallenge, vecTicket, other))
	for name, err := range map[string]error{
		"claim, challenge":    VerifyClaim(pub, claim, zero, vecEvent, other),
		"claim, event":        VerifyClaim(pub, claim, vecChallenge, vecOtherEvent, other),
		"claim, code":         VerifyClaim(pub, claim, vecChallenge, vecEvent, zero),
		"session, challenge":  VerifySession(pub, session, zero, vecTicket),
		"session, ticket":     VerifySession(pub, session, vecChallenge, uuid.Nil),
		"transfer, challenge": VerifyTransfer(pub, transfer, zero, vecTicket, other),
		"transfer, ticket":    VerifyTransfer(pub, transfer, vecChallenge, uuid.Nil, other),
		"transfer, address":   VerifyTransfer(pub, transfer, vecChallenge, vecTicket, zero),
	} {
		if !errors.Is(err, ErrTemplate) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := VerifyClaim(&fixedKey(t, "other_phone").PublicKey, claim, vecChallenge, vecEvent, other); !errors.Is(err, ErrSignature) {
		t.Errorf("another key: %v", err)
	}
}

func TestNoChallengeIsReadFromATextThatIsNoTemplate(t *testing.T) {
	phone := fixedKey(t, "phone")
	for name, text := range map[string]string{
		"empty":       "",
		"proof":       goodCodes(t)["nonce as text"].String(),
		"no nonce":    signingInput(plainHeader(typClaim), `{"aud":"x"}`) + ".",
		"short nonce": signingInput(plainHeader(typClaim), `{"nonce":"x"}`) + ".",
		"other type":  must[string](t)(signText(nil, phone, signingInput(plainHeader("JWT"), `{"nonce":"`+b64u(vecChallenge[:])+`"}`))),
		"long":        strings.Repeat("A", 5000),
	} {
		if c, err := ChallengeOf(text); !errors.Is(err, ErrTemplate) || c != [32]byte{} {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAClaimCodeIsNotMadeFromAWeakKeyOrForAnUnknownScope(t *testing.T) {
	for name, call := range map[string]func(){
		"short key":     func() { ClaimCode(make([]byte, 31), ScopeOrder, vecTicket, 0) },
		"unknown scope": func() { ClaimCode(vecClaimKey[:], "event", vecTicket, 0) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}
