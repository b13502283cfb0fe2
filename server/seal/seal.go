// Package seal keeps the installation's secrets: whatever must be in the
// database and must not be readable there is sealed with the operator's key, and
// one-time secrets are derived from it so that an answer can be given twice
// without being stored. It promises that a text dump of the database holds
// nothing that opens a door. It does not know what the secrets are for.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
)

// KeySize is the length of the operator's key in bytes.
const KeySize = 32

// Box seals and derives with one operator's key.
type Box struct {
	aead   cipher.AEAD
	derive []byte
}

// ErrKey says that a sealed value does not open with this operator's key.
var ErrKey = errors.New("the operator's key does not open this: is it the key of another installation?")

// New makes a Box from the operator's key of KeySize bytes.
func New(operatorKey []byte) (*Box, error) {
	if len(operatorKey) != KeySize {
		return nil, errors.New("the operator's key has 32 bytes")
	}
	sealing, err := hkdf.Key(sha256.New, operatorKey, nil, "portillon seal", 32)
	if err != nil {
		return nil, err
	}
	derive, err := hkdf.Key(sha256.New, operatorKey, nil, "portillon derive", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(sealing)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &Box{aead: aead, derive: derive}, nil
}

// Seal encrypts with AES-256-GCM; name is the associated data, so that a value
// cannot be moved to another place.
func (b *Box) Seal(name string, plain []byte) []byte {
	return b.aead.Seal(nil, nil, plain, []byte(name)) //nolint:gosec // this AEAD makes a random nonce itself
}

// Open reverses Seal, or returns ErrKey.
func (b *Box) Open(name string, sealed []byte) ([]byte, error) {
	plain, err := b.aead.Open(nil, nil, sealed, []byte(name))
	if err != nil {
		return nil, ErrKey
	}
	return plain, nil
}

// Secret derives the secret of one thing: 43 characters of base64url. The same
// purpose and id give the same secret, so a lost answer can be repeated.
func (b *Box) Secret(purpose string, id [16]byte) string {
	mac := hmac.New(sha256.New, b.derive)
	mac.Write([]byte(purpose))
	mac.Write([]byte{0})
	mac.Write(id[:])
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Random makes a secret of 32 random bytes: 43 characters of base64url.
func Random() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Hash is what the database keeps of a secret with 128 bits or more: SHA-256,
// since such a secret cannot be guessed from it.
func Hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
