package wallet

import (
	"os"
	"strings"
	"testing"
)

func TestTheSpecificationShowsTheVectors(t *testing.T) {
	raw, err := os.ReadFile("SPEC.md")
	if err != nil {
		t.Fatal(err)
	}
	spec, v := string(raw), loadVectors(t)
	shown := []string{v.Papers[0].Code, v.TOTP[0].Code, v.TOTP[0].SecretHex, v.GateCodes[0].Code, vecEvent.String(),
		vecTicket.String(), vecDevice.String(), vecID.String(), b64u(vecEvent[:]), b64u(vecNonce[:])}
	byTime := false
	for _, p := range v.Proofs {
		if first := len(shown) == 10; first || p.Kind == "time" && !byTime {
			shown = append(shown, p.Packed, p.Text)
			byTime = p.Kind == "time"
		}
	}
	for _, p := range v.Templates {
		shown = append(shown, p.Text)
	}
	if len(shown) != 17 {
		t.Fatalf("%d examples", len(shown))
	}
	for _, example := range shown {
		if !strings.Contains(spec, example) {
			t.Errorf("not in SPEC.md: %s", example)
		}
	}
	for _, word := range []string{Malformed, UnsupportedVersion, NotATicket, WhatClaimLink, WhatPairingLink, WhatSignInLink,
		WhatGateCode, WhatLink, WhatWifi, WhatEAN, WhatOther, typNonce, typTime, typPaper, typClaim, typSession, typTransfer} {
		if !strings.Contains(spec, word) {
			t.Errorf("SPEC.md does not say %q", word)
		}
	}
}
