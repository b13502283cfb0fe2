package wallet

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"errors"
	"io"
	"strings"

	"github.com/google/uuid"
)

// ErrTemplate means that a text is not the expected template with the
// expected values: another purpose, another challenge, another ticket.
var ErrTemplate = errors.New("wallet: not the expected template")

func plainHeader(typ string) string { return `{"alg":"ES256","typ":"` + typ + `"}` }

func claimInput(challenge [32]byte, event uuid.UUID, claim [32]byte) string {
	return signingInput(plainHeader(typClaim),
		`{"aud":"`+b64u(event[:])+`","claim":"`+b64u(claim[:])+`","nonce":"`+b64u(challenge[:])+`"}`)
}

func sessionInput(challenge [32]byte, ticket uuid.UUID) string {
	return signingInput(plainHeader(typSession),
		`{"nonce":"`+b64u(challenge[:])+`","sub":"`+b64u(ticket[:])+`"}`)
}

func transferInput(challenge [32]byte, ticket uuid.UUID, address [32]byte) string {
	return signingInput(plainHeader(typTransfer),
		`{"nonce":"`+b64u(challenge[:])+`","sub":"`+b64u(ticket[:])+`","to":"`+b64u(address[:])+`"}`)
}

// SignClaim signs the server's challenge when a ticket moves onto a phone:
// for an event, with the hash of the claim code (HashClaimCode). It gives a
// compact JWS. Rand is as for SignNonce.
func SignClaim(rand io.Reader, key *ecdsa.PrivateKey, challenge [32]byte, event uuid.UUID, claim [32]byte) (string, error) {
	return signText(rand, key, claimInput(challenge, event, claim))
}

// VerifyClaim checks a claim against the key that is being bound. The error is
// ErrTemplate, ErrSignature or ErrKey.
func VerifyClaim(pub *ecdsa.PublicKey, text string, challenge [32]byte, event uuid.UUID, claim [32]byte) error {
	return verifyText(pub, text, claimInput(challenge, event, claim))
}

// SignSession signs the server's challenge to open a wallet session for a
// ticket. Rand is as for SignNonce.
func SignSession(rand io.Reader, key *ecdsa.PrivateKey, challenge [32]byte, ticket uuid.UUID) (string, error) {
	return signText(rand, key, sessionInput(challenge, ticket))
}

// VerifySession checks a session's signature. Errors are those of VerifyClaim.
func VerifySession(pub *ecdsa.PublicKey, text string, challenge [32]byte, ticket uuid.UUID) error {
	return verifyText(pub, text, sessionInput(challenge, ticket))
}

// SignTransfer signs a ticket away to an address, given by its hash
// (HashAddress). Rand is as for SignNonce.
func SignTransfer(rand io.Reader, key *ecdsa.PrivateKey, challenge [32]byte, ticket uuid.UUID, address [32]byte) (string, error) {
	return signText(rand, key, transferInput(challenge, ticket, address))
}

// VerifyTransfer checks a transfer. Errors are those of VerifyClaim.
func VerifyTransfer(pub *ecdsa.PublicKey, text string, challenge [32]byte, ticket uuid.UUID, address [32]byte) error {
	return verifyText(pub, text, transferInput(challenge, ticket, address))
}

// HashAddress is SHA-256 of an e-mail address exactly as it is sent beside
// the signature: neither trimmed nor folded.
func HashAddress(address string) [32]byte { return sha256.Sum256([]byte(address)) }

// ChallengeOf reads the challenge out of a claim, session or transfer, so that
// the server can look up whether it issued it. Nothing is verified. The error
// is ErrTemplate.
func ChallengeOf(text string) (challenge [32]byte, err error) {
	const member = `"nonce":"`
	const chars = 43
	header, claims, _, err := cutText(text)
	if err != nil || header != plainHeader(typClaim) && header != plainHeader(typSession) && header != plainHeader(typTransfer) {
		return challenge, ErrTemplate
	}
	at := strings.Index(claims, member) + len(member)
	if at < len(member) || len(claims) < at+chars || !fromB64u(challenge[:], claims[at:at+chars]) {
		return [32]byte{}, ErrTemplate
	}
	return challenge, nil
}

func signText(rand io.Reader, key *ecdsa.PrivateKey, input string) (string, error) {
	sig, err := signES256(rand, key, input)
	if err != nil {
		return "", err
	}
	return input + "." + b64u(sig[:]), nil
}

// verifyText compares the text with the filled template before it looks at
// the signature. The signature has one spelling too.
func verifyText(pub *ecdsa.PublicKey, text, input string) error {
	tail, ok := strings.CutPrefix(text, input+".")
	var sig [64]byte
	if !ok || !fromB64u(sig[:], tail) {
		return ErrTemplate
	}
	return verifyES256(pub, input, sig[:])
}
