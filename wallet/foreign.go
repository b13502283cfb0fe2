package wallet

import "strings"

// What a camera at a door meets that is not a ticket. The words are those of
// the pages' messages.
const (
	WhatClaimLink   = "claim_link"
	WhatPairingLink = "pairing_link"
	WhatSignInLink  = "sign_in_link"
	WhatGateCode    = "gate_code"
	WhatLink        = "link"
	WhatWifi        = "wifi"
	WhatEAN         = "ean"
	WhatOther       = "other"
)

func notATicket(what string) error { return &ParseError{Reason: NotATicket, What: what} }

// foreign names a text that has none of the prefixes of a ticket.
func foreign(code string) error {
	switch {
	case strings.HasPrefix(code, prefixGate):
		if _, err := ParseGateCode(code); err != nil {
			return err
		}
		return notATicket(WhatGateCode)
	case isOtherVersion(code):
		return unsupported("prefix %s", code[:4])
	case isMangled(code):
		return malformed("a code whose case or spaces were changed")
	case hasPrefixFold(code, "https://"), hasPrefixFold(code, "http://"):
		return notATicket(whatLink(code))
	case hasPrefixFold(code, "WIFI:"):
		return notATicket(WhatWifi)
	case isEAN(code):
		return notATicket(WhatEAN)
	}
	return notATicket(WhatOther)
}

// isOtherVersion recognises codes of a wallet or printer that is newer than
// this program: our prefix with another digit and a body that could be ours.
func isOtherVersion(code string) bool {
	if len(code) < totpChars || code[0] != 'P' || !strings.Contains("TSK", code[1:2]) ||
		code[2] < '2' || code[2] > '9' || code[3] != ':' {
		return false
	}
	for i := range len(code) {
		if values45[code[i]] == 0 {
			return false
		}
	}
	return true
}

// isMangled recognises our codes behind a keyboard wedge with the wrong case
// or with white space around: worth another try, unlike a foreign code.
func isMangled(code string) bool {
	code = strings.TrimSpace(code)
	for _, prefix := range []string{prefixProof, prefixPaper, prefixTOTP, prefixGate} {
		if hasPrefixFold(code, prefix) {
			return true
		}
	}
	return code == "" || strings.HasPrefix(code, "eyJ")
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// whatLink tells our three kinds of link, which carry a secret in their
// fragment, from any other. The host is not compared: a link of another
// installation deserves the same answer.
func whatLink(link string) string {
	path, fragment, _ := strings.Cut(link, "#")
	path, _, _ = strings.Cut(path, "?")
	if fragment == "" {
		return WhatLink
	}
	switch path[strings.LastIndexByte(path, '/'):] {
	case "/w":
		return WhatClaimLink
	case "/gate":
		return WhatPairingLink
	case "/desk":
		return WhatSignInLink
	}
	return WhatLink
}

// isEAN recognises the article numbers GTIN-8, -12 and -13 by their check
// digit, so that a long ticket number is not called a bar code.
func isEAN(code string) bool {
	n := len(code)
	if n != 8 && n != 12 && n != 13 || !isDigits(code, n) {
		return false
	}
	sum := 0
	for i := range n {
		weight := 1
		if (n-i)%2 == 0 {
			weight = 3
		}
		sum += weight * int(code[i]-'0')
	}
	return sum%10 == 0
}
