package ticket

import (
	"errors"

	"github.com/google/uuid"
)

// Of is an identifier of one kind of thing. Each kind is a type of its own, so
// that a gate can never be passed for an event.
type Of[T any] uuid.UUID

type (
	ticketKind   struct{}
	orderKind    struct{}
	eventKind    struct{}
	venueKind    struct{}
	gateKind     struct{}
	categoryKind struct{}
	personKind   struct{}
	deviceKind   struct{}
	tokenKind    struct{}
	keyKind      struct{}
)

// The identifiers of the product's things, and Key, the idempotency key of one
// scan: a UUID made by the scanner, the same however often the scan is sent.
type (
	ID         = Of[ticketKind]
	OrderID    = Of[orderKind]
	EventID    = Of[eventKind]
	VenueID    = Of[venueKind]
	GateID     = Of[gateKind]
	CategoryID = Of[categoryKind]
	PersonID   = Of[personKind]
	DeviceID   = Of[deviceKind]
	TokenID    = Of[tokenKind]
	Key        = Of[keyKind]
)

// New makes a random identifier (RFC 9562, version 4) from crypto/rand.
func New[T any]() Of[T] { return Of[T](uuid.New()) }

var errLength = errors.New("an identifier is a UUID of 36 characters")

// Parse reads the 36-character text form of an identifier (RFC 9562, section 4)
// in either case, and none of the other spellings that UUID libraries accept.
func Parse[T any](text string) (Of[T], error) {
	if len(text) != 36 {
		return Of[T]{}, errLength
	}
	id, err := uuid.Parse(text)
	return Of[T](id), err
}

// UUID gives the identifier to packages that do not know its kind.
func (id Of[T]) UUID() uuid.UUID { return uuid.UUID(id) }

// String is the canonical text form.
func (id Of[T]) String() string { return uuid.UUID(id).String() }

// IsZero reports whether the identifier was never set; encoding/json's omitzero
// asks it.
func (id Of[T]) IsZero() bool { return id == Of[T]{} }

// MarshalText writes the canonical text form.
func (id Of[T]) MarshalText() ([]byte, error) { return uuid.UUID(id).MarshalText() }

// UnmarshalText reads what Parse reads.
func (id *Of[T]) UnmarshalText(text []byte) error {
	parsed, err := Parse[T](string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}
