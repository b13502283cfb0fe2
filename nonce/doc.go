// Package nonce is what makes a code fresh: random values of a venue that are
// renewed every ten seconds, and the leases of the gate pages that keep them
// coming. It promises that all servers on one database give the same value for
// a venue and an epoch, that a value is made only while a gate is held or was
// within the last minute, and that its own row proves when it was issued. It
// does not know who may hold a gate, who listens, or what a code looks like:
// package challenge asks who it is, and the admission reads a value's row
// itself, in its own transaction.
//
// The time is the database's. A lapsed lease needs no background job: whoever
// touches the leases sweeps the dead ones.
package nonce

import (
	"encoding/base64"
	"time"

	"portillon/server/ticket"
)

// How long things last, in the database's time.
const (
	Epoch    = 10 * time.Second // a venue's value is renewed at each multiple of it
	LeaseFor = 15 * time.Second // a lease that nobody renews
	Tail     = 60 * time.Second // values are still made so long after the last lease
	keepFor  = 49 * time.Hour   // then a value's row is forgotten; what is told afterwards may be 48 h old
	sweepAt  = 15 * time.Minute // how often a new value sweeps the forgotten ones
)

// Size of a value in bytes.
const Size = 16

// Nonce is a value that was issued, as its reader learns of it.
type Nonce struct {
	Value       [Size]byte
	IssuedAt    time.Time
	ServerTime  time.Time     // when it was read
	AcceptedFor time.Duration // from IssuedAt
	// RenewedAt is when the next value will be due: the end of the epoch. Zero
	// for the value of one device.
	RenewedAt time.Time
}

// Text is the value in base64url, as wallets and gate pages get it.
func (n Nonce) Text() string { return base64.RawURLEncoding.EncodeToString(n.Value[:]) }

// Lease is a gate page's right that values are made for its gate. It lapses by
// itself. The ID is a credential (128 random bits, base64url, 22 characters):
// whoever has it may give the lease back; the database keeps its hash.
type Lease struct {
	ID         string
	Gate       ticket.GateID
	Venue      ticket.VenueID
	ExpiresAt  time.Time
	ServerTime time.Time
	Reopened   bool // the gate had been closed by its button until this hold
}
