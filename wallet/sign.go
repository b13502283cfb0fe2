package wallet

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/asn1"
	"errors"
	"fmt"
	"io"
	"math/big"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
)

// ErrSignature means that a signature is not the key's over the template
// filled with the expected values.
var ErrSignature = errors.New("wallet: signature does not verify")

// ErrKey means that a key is missing or not on P-256.
var ErrKey = errors.New("wallet: not a P-256 key")

// SignNonce makes a proof over a nonce of the server. A nil rand gives the
// deterministic signature of RFC 6979; otherwise Go's own secure source is
// used whatever rand is, as crypto/ecdsa does. The error is ErrKey or the
// library's.
func SignNonce(rand io.Reader, key *ecdsa.PrivateKey, id KeyID, event uuid.UUID, nonce [16]byte) (Code, error) {
	return signPhone(rand, key, event, Code{Kind: KindNonce, Form: FormPacked, KeyID: id, Nonce: nonce})
}

// SignTime makes a proof over the phone's clock, in Unix seconds, which have
// to fit in 32 bits. Rand is as for SignNonce.
func SignTime(rand io.Reader, key *ecdsa.PrivateKey, id KeyID, event uuid.UUID, iat int64) (Code, error) {
	return signPhone(rand, key, event, Code{Kind: KindTime, Form: FormPacked, KeyID: id, IssuedAt: iat})
}

func signPhone(rand io.Reader, key *ecdsa.PrivateKey, event uuid.UUID, c Code) (Code, error) {
	input, err := c.phoneInput(event)
	if err != nil {
		return Code{}, err
	}
	c.Signature, err = signES256(rand, key, input)
	if err != nil {
		return Code{}, err
	}
	return c, nil
}

// SignPaper makes a paper code with the issuer key of that id. Rand is as for
// SignNonce.
func SignPaper(rand io.Reader, key *ecdsa.PrivateKey, id KeyID, event uuid.UUID, issuer [4]byte) (Code, error) {
	c := Code{Kind: KindPaper, Form: FormPacked, KeyID: id, IssuerKey: issuer}
	var err error
	c.Signature, err = signES256(rand, key, c.paperInput(event))
	if err != nil {
		return Code{}, err
	}
	return c, nil
}

// VerifyPhone checks a proof of a phone against the ticket's key and event. In
// text form the event claimed has to be the ticket's. The error is
// ErrSignature, or ErrKey for an unusable key; a code of another kind is
// ErrSignature too.
func (c Code) VerifyPhone(pub *ecdsa.PublicKey, event uuid.UUID) error {
	input, err := c.phoneInput(event)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSignature, err)
	}
	if c.Form == FormText && c.Audience != event {
		return fmt.Errorf("%w: signed for another event", ErrSignature)
	}
	return verifyES256(pub, input, c.Signature[:])
}

// VerifyPaper checks a paper code against the issuer's key and the ticket's
// event. Errors are those of VerifyPhone.
func (c Code) VerifyPaper(pub *ecdsa.PublicKey, event uuid.UUID) error {
	if c.Kind != KindPaper {
		return fmt.Errorf("%w: a code of kind %s", ErrSignature, c.Kind)
	}
	return verifyES256(pub, c.paperInput(event), c.Signature[:])
}

// signES256 signs as JWS does (RFC 7518, section 3.4): r and s, 32 bytes each.
func signES256(rand io.Reader, key *ecdsa.PrivateKey, input string) (sig [64]byte, err error) {
	if key == nil || key.Curve != elliptic.P256() {
		return sig, ErrKey
	}
	digest := sha256.Sum256([]byte(input))
	der, err := key.Sign(rand, digest[:], crypto.SHA256)
	if err != nil {
		return sig, fmt.Errorf("wallet: sign: %w", err)
	}
	var rs struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &rs); err != nil {
		return sig, fmt.Errorf("wallet: sign: %w", err)
	}
	rs.R.FillBytes(sig[:32])
	rs.S.FillBytes(sig[32:])
	return sig, nil
}

func verifyES256(pub *ecdsa.PublicKey, input string, sig []byte) error {
	if pub == nil || pub.Curve != elliptic.P256() {
		return ErrKey
	}
	if jwt.SigningMethodES256.Verify(input, sig, pub) != nil {
		return ErrSignature
	}
	return nil
}
