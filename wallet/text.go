package wallet

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// The media types of the templates, one for each purpose, so that nothing
// signed for one is good for another (RFC 8725, section 3.11).
const (
	typNonce    = "pt+jwt"
	typTime     = "ptt+jwt"
	typPaper    = "ps+jwt"
	typClaim    = "pe+jwt"
	typSession  = "pw+jwt"
	typTransfer = "px+jwt"
)

// maxText is a little longer than the longest template, a claim.
const maxText = 400

// signingInput is the JWS signing input (RFC 7515, section 5.1) of a header
// and claims that are already spelt.
func signingInput(header, claims string) string {
	return b64u([]byte(header)) + "." + b64u([]byte(claims))
}

func keyHeader(kid, typ string) string {
	return `{"alg":"ES256","kid":"` + kid + `","typ":"` + typ + `"}`
}

// phoneInput fills the template of a phone's proof.
func (c Code) phoneInput(event uuid.UUID) (string, error) {
	aud := `{"aud":"` + b64u(event[:])
	switch {
	case c.Kind == KindNonce:
		return signingInput(keyHeader(c.KeyID.String(), typNonce),
			aud+`","nonce":"`+b64u(c.Nonce[:])+`"}`), nil
	case c.Kind == KindTime && isUint32(c.IssuedAt):
		return signingInput(keyHeader(c.KeyID.String(), typTime),
			aud+`","iat":`+strconv.FormatInt(c.IssuedAt, 10)+`}`), nil
	}
	return "", fmt.Errorf("wallet: no phone proof of kind %s at %d", c.Kind, c.IssuedAt)
}

// paperInput fills the template of a paper code.
func (c Code) paperInput(event uuid.UUID) string {
	return signingInput(keyHeader(b64u(c.IssuerKey[:]), typPaper),
		`{"aud":"`+b64u(event[:])+`","sub":"`+c.KeyID.String()+`"}`)
}

// parseText reads the text form by cutting the template's fixed parts away;
// it never interprets JSON. Parse compares the whole with what the fields
// print, so only the exact template survives.
func parseText(code string) (Code, error) {
	header, claims, signature, err := cutText(code)
	if err != nil {
		return Code{}, err
	}
	c := Code{Form: FormText}
	kid, typ, ok := cutHeader(header)
	if !ok {
		return Code{}, otherText(header)
	}
	raw := make([]byte, 17)
	if !fromB64u(raw, kid) || !fromB64u(c.Signature[:], signature) {
		return Code{}, malformed("text proof: key id or signature")
	}
	c.KeyID = keyID(raw)
	switch typ {
	case typNonce:
		c.Kind = KindNonce
		ok = c.cutClaims(claims, `","nonce":"`, `"}`)
	case typTime:
		c.Kind = KindTime
		ok = c.cutClaims(claims, `","iat":`, `}`)
	default:
		return Code{}, otherText(header)
	}
	if !ok {
		return Code{}, malformed("text proof: claims")
	}
	return c, nil
}

// cutText splits a compact JWS and decodes the first two parts.
func cutText(code string) (header, claims, signature string, err error) {
	parts := strings.Split(code[:min(len(code), maxText)], ".")
	if len(code) > maxText || len(parts) != 3 {
		return "", "", "", malformed("not a compact JWS")
	}
	h, err := base64.RawURLEncoding.DecodeString(parts[0])
	if err != nil {
		return "", "", "", malformed("header: %w", err)
	}
	p, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", "", "", malformed("claims: %w", err)
	}
	return string(h), string(p), parts[2], nil
}

func cutHeader(header string) (kid, typ string, ok bool) {
	rest, ok := strings.CutPrefix(header, `{"alg":"ES256","kid":"`)
	if !ok {
		return "", "", false
	}
	kid, rest, ok = strings.Cut(rest, `","typ":"`)
	if !ok {
		return "", "", false
	}
	typ, ok = strings.CutSuffix(rest, `"}`)
	return kid, typ, ok
}

func (c *Code) cutClaims(claims, middle, end string) bool {
	rest, ok := strings.CutPrefix(claims, `{"aud":"`)
	if !ok {
		return false
	}
	aud, rest, ok := strings.Cut(rest, middle)
	if !ok || !fromB64u(c.Audience[:], aud) {
		return false
	}
	value, ok := strings.CutSuffix(rest, end)
	if !ok {
		return false
	}
	if c.Kind == KindNonce {
		return fromB64u(c.Nonce[:], value)
	}
	at, err := strconv.ParseUint(value, 10, 32)
	c.IssuedAt = int64(at)
	return err == nil
}

// otherText tells the phone's other signatures, which are no tickets, from
// tokens that are nothing of ours.
func otherText(header string) error {
	for _, typ := range []string{typClaim, typSession, typTransfer} {
		if header == plainHeader(typ) {
			return notATicket(WhatOther)
		}
	}
	return malformed("text proof: header")
}
