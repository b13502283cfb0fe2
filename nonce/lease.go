package nonce

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"portillon/server/fault"
	"portillon/server/seal"
	"portillon/server/ticket"
)

// Holder is who holds a gate: a device and the person signed on to it.
type Holder struct {
	Device ticket.DeviceID
	Person ticket.PersonID
}

// Hold opens a lease on a gate for LeaseFor. A gate that was closed is open
// again by it. The caller has looked the gate's venue up (VenueOfGate) and
// knows that the holder may.
func Hold(ctx context.Context, tx pgx.Tx, gate ticket.GateID, by Holder) (Lease, error) {
	lease := Lease{ID: newLeaseID(), Gate: gate}
	reopened, err := tx.Exec(ctx, `UPDATE gates SET closed_at = NULL WHERE id = @gate AND closed_at IS NOT NULL`,
		pgx.NamedArgs{"gate": gate})
	if err != nil {
		return Lease{}, fmt.Errorf("open the gate: %w", err)
	}
	lease.Reopened = reopened.RowsAffected() > 0
	err = tx.QueryRow(ctx, `
WITH t AS MATERIALIZED (SELECT portillon_now() AS now),
made AS (
  INSERT INTO nonce_leases (hash, gate_id, device_id, person_id, opened_at, expires_at)
  SELECT @hash, @gate, @device, @person, t.now, t.now + @lease_for::interval FROM t
  RETURNING opened_at, expires_at)
SELECT g.venue_id, made.opened_at, made.expires_at FROM made, gates g WHERE g.id = @gate`,
		pgx.NamedArgs{"hash": seal.Hash(lease.ID), "gate": gate, "device": by.Device, "person": by.Person, "lease_for": LeaseFor}).
		Scan(&lease.Venue, &lease.ServerTime, &lease.ExpiresAt)
	if err != nil {
		return Lease{}, fmt.Errorf("hold the gate: %w", err)
	}
	return lease, sweepLeases(ctx, tx)
}

// Renew prolongs a living lease of this device to LeaseFor from now, in the name
// of the person who is signed on now. Faults: nonce.gate_closed when the gate was
// closed by its button, nonce.lease_ended when the lease lapsed or was given
// back; a new hold helps in both cases.
func Renew(ctx context.Context, tx pgx.Tx, id string, by Holder) (Lease, error) {
	lease := Lease{ID: id}
	err := tx.QueryRow(ctx, `
WITH t AS MATERIALIZED (SELECT portillon_now() AS now)
UPDATE nonce_leases l SET expires_at = t.now + @lease_for::interval, person_id = @person
FROM gates g, t
WHERE l.hash = @hash AND l.device_id = @device AND l.expires_at > t.now
  AND g.id = l.gate_id AND g.closed_at IS NULL
RETURNING l.gate_id, g.venue_id, l.expires_at, t.now`,
		pgx.NamedArgs{"hash": seal.Hash(id), "device": by.Device, "person": by.Person, "lease_for": LeaseFor}).
		Scan(&lease.Gate, &lease.Venue, &lease.ExpiresAt, &lease.ServerTime)
	if errors.Is(err, pgx.ErrNoRows) {
		return Lease{}, whyNot(ctx, tx, id, by)
	}
	if err != nil {
		return Lease{}, fmt.Errorf("renew the lease: %w", err)
	}
	return lease, sweepLeases(ctx, tx)
}

func whyNot(ctx context.Context, tx pgx.Tx, id string, by Holder) error {
	var closed bool
	err := tx.QueryRow(ctx, `
SELECT g.closed_at IS NOT NULL FROM nonce_leases l JOIN gates g ON g.id = l.gate_id
WHERE l.hash = @hash AND l.device_id = @device`,
		pgx.NamedArgs{"hash": seal.Hash(id), "device": by.Device}).Scan(&closed)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
	case err != nil:
		return fmt.Errorf("look the lease up: %w", err)
	case closed:
		return fault.New(fault.Conflict, "nonce.gate_closed", "the gate was closed; hold it again to open it")
	}
	return fault.New(fault.Gone, "nonce.lease_ended", "the lease has lapsed or was given back; hold the gate again")
}

// Release gives a lease back at once. It is no fault if there is none: the page
// that sends it is gone and nobody would read the answer. Values are made for
// Tail longer, since the controller may only have taken a call.
func Release(ctx context.Context, tx pgx.Tx, id string) error {
	_, err := tx.Exec(ctx, `
UPDATE nonce_leases SET expires_at = least(expires_at, portillon_now()) WHERE hash = @hash`,
		pgx.NamedArgs{"hash": seal.Hash(id)})
	if err != nil {
		return fmt.Errorf("give the lease back: %w", err)
	}
	return sweepLeases(ctx, tx)
}

// Close closes the gate of a lease of this device, lapsed or not: no value is
// made for it from now on, whoever else holds it, until somebody holds it anew.
// The fault is nonce.lease_ended when there is no such lease.
func Close(ctx context.Context, tx pgx.Tx, id string, by Holder) (Lease, error) {
	lease := Lease{ID: id}
	err := tx.QueryRow(ctx, `
WITH t AS MATERIALIZED (SELECT portillon_now() AS now)
UPDATE gates g SET closed_at = coalesce(g.closed_at, t.now)
FROM nonce_leases l, t
WHERE l.hash = @hash AND l.device_id = @device AND g.id = l.gate_id
RETURNING g.id, g.venue_id, t.now`,
		pgx.NamedArgs{"hash": seal.Hash(id), "device": by.Device}).
		Scan(&lease.Gate, &lease.Venue, &lease.ServerTime)
	if errors.Is(err, pgx.ErrNoRows) {
		return Lease{}, fault.New(fault.Gone, "nonce.lease_ended", "the lease has lapsed or was given back; hold the gate again")
	}
	if err != nil {
		return Lease{}, fmt.Errorf("close the gate: %w", err)
	}
	lease.ExpiresAt = lease.ServerTime
	_, err = tx.Exec(ctx, `
UPDATE nonce_leases SET expires_at = least(expires_at, @now) WHERE gate_id = @gate`,
		pgx.NamedArgs{"gate": lease.Gate, "now": lease.ServerTime})
	if err != nil {
		return Lease{}, fmt.Errorf("end the gate's leases: %w", err)
	}
	return lease, nil
}

// sweepLeases forgets the leases that keep nothing open any more. Those that
// another transaction is touching are left to it.
func sweepLeases(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `
DELETE FROM nonce_leases WHERE hash IN (
  SELECT hash FROM nonce_leases WHERE expires_at < portillon_now() - @tail::interval
  ORDER BY hash FOR UPDATE SKIP LOCKED)`, pgx.NamedArgs{"tail": Tail})
	if err != nil {
		return fmt.Errorf("sweep the leases: %w", err)
	}
	return nil
}

func newLeaseID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return base64.RawURLEncoding.EncodeToString(b[:])
}
