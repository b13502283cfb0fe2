package wallet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/asn1"
	"math/big"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// mutator collects mutations of good codes.
type mutator struct {
	t     testing.TB
	phone *ecdsa.PrivateKey
	nonce Code // good proof over a nonce
	time  Code // good proof by time
	paper Code
	totp  Code
	list  []vecMutation
}

func makeMutations(t testing.TB) []vecMutation {
	m := &mutator{t: t, phone: fixedKey(t, "phone")}
	issuer := fixedKey(t, "issuer")
	code := must[Code](t)
	m.nonce = code(SignNonce(nil, m.phone, vecID, vecEvent, vecNonce))
	m.time = code(SignTime(nil, m.phone, vecID, vecEvent, vecTime))
	m.paper = code(SignPaper(nil, issuer, vecID, vecEvent, IssuerKeyID(&issuer.PublicKey)))
	m.totp = code(TOTPPattern(vecSecret[:20], vecID, vecTime))
	m.spellings()
	m.versions()
	m.prefixes()
	m.fields()
	m.signatures()
	m.headers()
	m.claims()
	m.texts()
	m.oneTimeCodes()
	m.foreign()
	return m.list
}

func (m *mutator) add(name, code, reason string) {
	m.list = append(m.list, vecMutation{name, code, "phone", vecEvent, reason, ""})
}

func (m *mutator) with(name, code, key string, event uuid.UUID, reason string) {
	m.list = append(m.list, vecMutation{name, code, key, event, reason, ""})
}

func (m *mutator) not(name, code, what string) {
	m.list = append(m.list, vecMutation{name, code, "phone", vecEvent, NotATicket, what})
}

// bytes changes the packed bytes under the same prefix.
func (m *mutator) bytes(code Code, change func(raw []byte)) string {
	text := code.String()
	raw, err := DecodeBase45(text[4:])
	if err != nil {
		m.t.Fatal(err)
	}
	change(raw)
	return text[:4] + EncodeBase45(raw)
}

func (m *mutator) spellings() {
	n := m.nonce.String()
	if !strings.Contains(n, " ") || strings.HasSuffix(n, " ") {
		m.t.Fatal("choose a nonce whose code has a space inside")
	}
	m.add("empty", "", Malformed)
	m.add("only white space", " \n", Malformed)
	m.add("space behind", n+" ", Malformed)
	m.add("space before", " "+n, Malformed)
	m.add("line feed behind", n+"\n", Malformed)
	m.add("carriage return behind", n+"\r", Malformed)
	m.add("spaces removed inside", strings.ReplaceAll(n, " ", ""), Malformed)
	m.add("lower case", strings.ToLower(n), Malformed)
	m.add("last character missing", n[:len(n)-1], Malformed)
	m.add("last group missing", n[:len(n)-3], Malformed)
	m.add("one group more", n+"000", Malformed)
	m.add("only the prefix", "PT1:", Malformed)
	m.add("character outside the alphabet", n[:4]+"a"+n[5:], Malformed)
	m.add("group above 65535", n[:4]+":::"+n[7:], Malformed)
	m.add("code twice", n+n, Malformed)
	m.add("too long to be looked at", strings.Repeat("A", MaxCode+1), Malformed)
}

func (m *mutator) versions() {
	set := func(b byte) func([]byte) { return func(raw []byte) { raw[0] = b } }
	m.add("version 2", m.bytes(m.nonce, set(0x21)), UnsupportedVersion)
	m.add("version 0", m.bytes(m.nonce, set(0x01)), UnsupportedVersion)
	m.add("version 2 by time", m.bytes(m.time, set(0x22)), UnsupportedVersion)
	m.add("version 2 on paper", m.bytes(m.paper, set(0x23)), UnsupportedVersion)
	m.add("kind time with the size of a nonce", m.bytes(m.nonce, set(0x12)), Malformed)
	m.add("kind nonce with the size of a time", m.bytes(m.time, set(0x11)), Malformed)
	m.add("kind 0", m.bytes(m.nonce, set(0x10)), Malformed)
	m.add("kind 15", m.bytes(m.nonce, set(0x1f)), Malformed)
	m.add("kind paper in a proof", m.bytes(m.nonce, set(0x13)), Malformed)
	m.add("kind time on paper", m.bytes(m.paper, set(0x12)), Malformed)
}

func (m *mutator) prefixes() {
	n, t, p := m.nonce.String()[4:], m.time.String()[4:], m.paper.String()[4:]
	m.add("proof of a newer wallet", "PT2:"+n, UnsupportedVersion)
	m.add("paper of a newer printer", "PS2:"+p, UnsupportedVersion)
	m.add("pattern of a newer wallet", "PK9"+m.totp.String()[3:], UnsupportedVersion)
	m.add("newer prefix without a body", "PT2:", NotATicket)
	m.list[len(m.list)-1].What = WhatOther
	m.add("proof called paper", "PS1:"+n, Malformed)
	m.add("proof by time called paper", "PS1:"+t, Malformed)
	m.add("paper called proof", "PT1:"+p, Malformed)
	m.add("proof called one-time code", "PK1:"+n, Malformed)
	m.add("proof called gate code", "PG1:"+n, Malformed)
	m.not("proof with an unknown prefix", "PX1:"+n, WhatOther)
	m.not("proof without a prefix", n, WhatOther)
}

func (m *mutator) fields() {
	flip := func(at int) func([]byte) { return func(raw []byte) { raw[at] ^= 1 } }
	m.add("another ticket", m.bytes(m.nonce, flip(1)), "bad_signature")
	m.add("another generation", m.bytes(m.nonce, flip(17)), "bad_signature")
	m.add("another nonce", m.bytes(m.nonce, flip(33)), "bad_signature")
	m.add("another time", m.bytes(m.time, flip(21)), "bad_signature")
	m.with("another event", m.nonce.String(), "phone", vecOtherEvent, "bad_signature")
	m.with("another event by time", m.time.String(), "phone", vecOtherEvent, "bad_signature")
	m.with("another phone's key", m.nonce.String(), "other_phone", vecEvent, "bad_signature")
	m.with("paper, another ticket", m.bytes(m.paper, flip(16)), "issuer", vecEvent, "bad_signature")
	m.with("paper, another issuer key id", m.bytes(m.paper, flip(18)), "issuer", vecEvent, "bad_signature")
	m.with("paper, another event", m.paper.String(), "issuer", vecOtherEvent, "bad_signature")
	m.with("paper, checked with the phone's key", m.paper.String(), "phone", vecEvent, "bad_signature")
	swapped := m.nonce
	swapped.Signature = m.time.Signature
	m.add("signature of the proof by time", swapped.String(), "bad_signature")
}

func (m *mutator) signatures() {
	n := elliptic.P256().Params().N
	set := func(name string, reason string, r, s *big.Int) {
		c := m.nonce
		r.FillBytes(c.Signature[:32])
		s.FillBytes(c.Signature[32:])
		m.add(name, c.String(), reason)
	}
	r, s := new(big.Int).SetBytes(m.nonce.Signature[:32]), new(big.Int).SetBytes(m.nonce.Signature[32:])
	zero, one := new(big.Int), big.NewInt(1)
	set("r and s zero", "bad_signature", zero, zero)
	set("r zero", "bad_signature", zero, s)
	set("s zero", "bad_signature", r, zero)
	set("r and s one", "bad_signature", one, one)
	set("r the order", "bad_signature", n, s)
	set("s the order", "bad_signature", r, n)
	set("r and s exchanged", "bad_signature", s, r)
	set("r one more", "bad_signature", new(big.Int).Add(r, one), s)
	// The other signature of ECDSA is as good: nothing may be keyed on a
	// code's text.
	set("s negated, harmless", "ok", r, new(big.Int).Sub(n, s))
	der, err := asn1.Marshal(struct{ R, S *big.Int }{r, s})
	if err != nil {
		m.t.Fatal(err)
	}
	m.add("signature in DER", m.input()+"."+b64u(der), Malformed)
}

// input is the signing input of the good proof over a nonce.
func (m *mutator) input() string { return must[string](m.t)(m.nonce.phoneInput(vecEvent)) }

// sign puts the phone's true signature under any header and claims: what a
// doctored wallet can do.
func (m *mutator) sign(header, claims string) string {
	return must[string](m.t)(signText(nil, m.phone, signingInput(header, claims)))
}

func (m *mutator) good() (header, claims string) {
	return keyHeader(vecID.String(), typNonce), `{"aud":"` + b64u(vecEvent[:]) + `","nonce":"` + b64u(vecNonce[:]) + `"}`
}

func (m *mutator) headers() {
	header, claims := m.good()
	kid := vecID.String()
	member := func(text string) string { return strings.TrimSuffix(header, "}") + "," + text + "}" }
	none := strings.Replace(header, "ES256", "none", 1)
	m.add("alg none without signature", signingInput(none, claims)+".", Malformed)
	m.add("alg none with a good signature", m.sign(none, claims), Malformed)
	pub := PublicKeyOf(&m.phone.PublicKey)
	mac := hmac.New(sha256.New, pub[:])
	confused := signingInput(strings.Replace(header, "ES256", "HS256", 1), claims)
	mac.Write([]byte(confused))
	m.add("alg HS256 keyed with the public key", confused+"."+b64u(mac.Sum(nil)), Malformed)
	m.add("alg ES384", m.sign(strings.Replace(header, "ES256", "ES384", 1), claims), Malformed)
	m.add("embedded jwk", m.sign(member(`"jwk":`+string(JWK(&m.phone.PublicKey))), claims), Malformed)
	m.add("jku", m.sign(member(`"jku":"https://example.org/jwks.json"`), claims), Malformed)
	m.add("x5u", m.sign(member(`"x5u":"https://example.org/x"`), claims), Malformed)
	m.add("crit", m.sign(member(`"crit":["exp"],"exp":0`), claims), Malformed)
	m.add("b64 false", m.sign(member(`"b64":false,"crit":["b64"]`), claims), Malformed)
	m.add("duplicate kid", m.sign(member(`"kid":"`+kid+`"`), claims), Malformed)
	m.add("duplicate alg", m.sign(`{"alg":"ES256",`+header[1:], claims), Malformed)
	m.add("white space in the header", m.sign(strings.Replace(header, `,"kid"`, `, "kid"`, 1), claims), Malformed)
	m.add("members of the header in another order", m.sign(`{"typ":"pt+jwt","kid":"`+kid+`","alg":"ES256"}`, claims), Malformed)
	m.add("escaped letter in the header", m.sign(strings.Replace(header, `"alg"`, `"\u0061lg"`, 1), claims), Malformed)
	m.add("typ of a plain token", m.sign(strings.Replace(header, "pt+jwt", "JWT", 1), claims), Malformed)
	m.add("typ in capitals", m.sign(strings.Replace(header, "pt+jwt", "PT+JWT", 1), claims), Malformed)
	m.add("typ of the other kind", m.sign(strings.Replace(header, "pt+jwt", "ptt+jwt", 1), claims), Malformed)
	m.add("key id too short", m.sign(keyHeader(kid[:22], typNonce), claims), Malformed)
	m.add("paper as a text", m.paper.paperInput(vecEvent)+"."+b64u(m.paper.Signature[:]), Malformed)
}

func (m *mutator) claims() {
	header, claims := m.good()
	timeHeader := keyHeader(vecID.String(), typTime)
	aud := `{"aud":"` + b64u(vecEvent[:]) + `"`
	m.add("one claim more", m.sign(header, strings.TrimSuffix(claims, "}")+`,"exp":9999999999}`), Malformed)
	m.add("duplicate nonce", m.sign(header, strings.TrimSuffix(claims, "}")+`,"nonce":"`+b64u(vecNonce[:])+`"}`), Malformed)
	m.add("claims in another order", m.sign(header, `{"nonce":"`+b64u(vecNonce[:])+`","aud":"`+b64u(vecEvent[:])+`"}`), Malformed)
	m.add("white space in the claims", m.sign(header, claims+" "), Malformed)
	m.add("audience as a list", m.sign(header, `{"aud":["`+b64u(vecEvent[:])+`"],"nonce":"`+b64u(vecNonce[:])+`"}`), Malformed)
	m.add("nonce of 15 bytes", m.sign(header, aud+`,"nonce":"`+b64u(vecNonce[:15])+`"}`), Malformed)
	for _, iat := range []string{"01", "-1", "+1", "1.0", "1e9", `"1764530100"`, "4294967296", "null", ""} {
		m.add("iat "+iat, m.sign(timeHeader, aud+`,"iat":`+iat+`}`), Malformed)
	}
	other := `{"aud":"` + b64u(vecOtherEvent[:]) + `","nonce":"` + b64u(vecNonce[:]) + `"}`
	m.add("signed for another event", m.sign(header, other), "bad_signature")
}

func (m *mutator) texts() {
	text := m.nonce.Text(vecEvent)
	parts := strings.Split(text, ".")
	m.add("text, good", text, "ok")
	m.with("text, checked for another event", text, "phone", vecOtherEvent, "bad_signature")
	m.with("text, another phone's key", text, "other_phone", vecEvent, "bad_signature")
	claiming := m.nonce
	claiming.Form, claiming.Audience = FormText, vecOtherEvent
	m.add("text, another event claimed over a good signature", claiming.String(), "bad_signature")
	m.add("padded signature", text+"==", Malformed)
	m.add("padded header", parts[0]+"=."+parts[1]+"."+parts[2], Malformed)
	stray := "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := stray[strings.IndexByte(stray, text[len(text)-1])^1]
	m.add("stray bits in the signature", text[:len(text)-1]+string(last), Malformed)
	m.add("line break in the signature", text[:len(text)-2]+"\n"+text[len(text)-2:], Malformed)
	m.add("standard base64 alphabet", strings.NewReplacer("-", "+", "_", "/").Replace(text), Malformed)
	m.add("four parts", text+".", Malformed)
	m.add("two parts", parts[0]+"."+parts[1], Malformed)
	m.add("empty claims", parts[0]+".."+parts[2], Malformed)
	m.add("header and claims exchanged", parts[1]+"."+parts[0]+"."+parts[2], Malformed)
	m.add("space before the text", " "+text, Malformed)
	m.not("JSON serialization", `{"payload":"`+parts[1]+`","protected":"`+parts[0]+`","signature":"`+parts[2]+`"}`, WhatOther)
	claim := must[string](m.t)(SignClaim(nil, m.phone, vecChallenge, vecEvent, HashClaimCode("x")))
	session := must[string](m.t)(SignSession(nil, m.phone, vecChallenge, vecTicket))
	transfer := must[string](m.t)(SignTransfer(nil, m.phone, vecChallenge, vecTicket, HashAddress("a@example.org")))
	m.not("claim instead of a proof", claim, WhatOther)
	m.not("session instead of a proof", session, WhatOther)
	m.not("transfer instead of a proof", transfer, WhatOther)
}

func (m *mutator) oneTimeCodes() {
	k := m.totp.String()
	m.add("one-time code in lower case", strings.ToLower(k), Malformed)
	m.add("one-time code of seven digits", k[:len(k)-1], Malformed)
	m.add("letter in the one-time code", k[:len(k)-1]+"A", Malformed)
	m.add("letter in the time", k[:42]+"A"+k[43:], Malformed)
	m.add("time with a leading zero", k[:33]+"0"+k[34:], Malformed)
	m.add("stray bits in the ticket", k[:31]+"B"+k[32:], Malformed)
	m.add("digit outside base32", k[:4]+"1"+k[5:], Malformed)
	m.add("other separator", k[:32]+"."+k[33:], Malformed)
	m.add("signed time", k[:33]+"+"+k[34:], Malformed)
}

func (m *mutator) foreign() {
	gate := GateCode{vecDevice, vecNonce, 60}.String()
	m.not("a gate's code", gate, WhatGateCode)
	m.add("a gate's code with reserved bytes", gate[:len(gate)-1]+"1", Malformed)
	m.add("a gate's code cut short", gate[:len(gate)-3], Malformed)
	m.not("claim link", "https://tickets.example.org/w#"+ClaimCode(vecClaimKey[:], ScopeOrder, vecTicket, 0), WhatClaimLink)
	m.not("pairing link", "HTTPS://tickets.example.org:8443/gate#p.abc", WhatPairingLink)
	m.not("sign-in link", "http://127.0.0.1:8080/desk#s.abc", WhatSignInLink)
	m.not("link without a secret", "https://tickets.example.org/w", WhatLink)
	m.not("any link", "https://example.org/menu?table=4", WhatLink)
	m.not("network", "WIFI:T:WPA;S=foyer;P:secret;;", WhatWifi)
	m.not("article number", "4006381333931", WhatEAN)
	m.not("digits that are no article number", "4006381333932", WhatOther)
	m.not("contact", "BEGIN:VCARD\nVERSION:4.0\nEND:VCARD", WhatOther)
	m.not("binary", "\x00\u00ff\u00fe", WhatOther)
}
