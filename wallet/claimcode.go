package wallet

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"

	"github.com/google/uuid"
)

// The scopes of a claim code: all tickets of an order, or one ticket.
const (
	ScopeOrder  = "order"
	ScopeTicket = "ticket"
)

// ClaimCode derives the secret in the fragment of a claim link: base64url of
// HMAC-SHA-256 under the claim key over "claim" ‖ scope byte ("o" or "t") ‖
// id ‖ serial (uint32, big-endian); 43 characters. Raising the serial ends the
// old link. It panics on a scope it does not know and on a claim key under 32
// bytes: a code from an empty key could be guessed by anybody.
func ClaimCode(claimKey []byte, scope string, id uuid.UUID, serial uint32) string {
	if scope != ScopeOrder && scope != ScopeTicket {
		panic("wallet: unknown scope of a claim code")
	}
	if len(claimKey) < 32 {
		panic("wallet: claim key too short")
	}
	mac := hmac.New(sha256.New, claimKey)
	mac.Write([]byte("claim" + scope[:1]))
	mac.Write(id[:])
	mac.Write(binary.BigEndian.AppendUint32(nil, serial))
	return b64u(mac.Sum(nil))
}

// HashClaimCode is what the database keeps of a claim code and what a claim
// signs: SHA-256 of its text as it stands in the link.
func HashClaimCode(code string) [32]byte { return sha256.Sum256([]byte(code)) }
