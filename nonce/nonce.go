package nonce

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"portillon/server/seal"
	"portillon/server/ticket"
)

// Service issues values.
type Service struct{ pool *pgxpool.Pool }

// New makes a Service on the pool of a migrated database.
func New(pool *pgxpool.Pool) *Service { return &Service{pool: pool} }

// Current gives the venue's value of this epoch and makes it if nobody has; open
// is false, and the value empty but for ServerTime, when no gate of the venue is
// held or was within Tail.
func (s *Service) Current(ctx context.Context, venue ticket.VenueID) (n Nonce, open bool, err error) {
	var epoch int64
	var value []byte
	var issuedAt *time.Time
	err = s.pool.QueryRow(ctx, `
WITH t AS MATERIALIZED (SELECT portillon_now() AS now),
e AS (SELECT now, floor(extract(epoch FROM now) / @epoch_s)::bigint AS epoch FROM t)
SELECT e.now, e.epoch, n.nonce, n.issued_at, EXISTS (
  SELECT 1 FROM nonce_leases l JOIN gates g ON g.id = l.gate_id
  WHERE g.venue_id = @venue AND g.closed_at IS NULL AND l.expires_at > e.now - @tail::interval)
FROM e LEFT JOIN nonces n ON n.venue_id = @venue AND n.epoch = e.epoch`,
		pgx.NamedArgs{"venue": venue, "tail": Tail, "epoch_s": epochSeconds}).
		Scan(&n.ServerTime, &epoch, &value, &issuedAt, &open)
	if err != nil {
		return Nonce{}, false, fmt.Errorf("read the venue's nonce: %w", err)
	}
	if !open {
		return Nonce{ServerTime: n.ServerTime}, false, nil
	}
	if value == nil {
		return s.make(ctx, venue, epoch)
	}
	return pushed(value, *issuedAt, n.ServerTime, epoch), true, nil
}

// make inserts, else reads in a second statement: one that waited for another
// server's insert would not see that row itself.
func (s *Service) make(ctx context.Context, venue ticket.VenueID, epoch int64) (Nonce, bool, error) {
	var fresh [Size]byte
	_, _ = rand.Read(fresh[:]) // never fails: crypto/rand ends the program instead
	args := pgx.NamedArgs{"nonce": fresh[:], "venue": venue, "epoch": epoch}
	var issuedAt, now time.Time
	value := fresh[:]
	err := s.pool.QueryRow(ctx, `
INSERT INTO nonces (nonce, venue_id, epoch)
SELECT @nonce, @venue, @epoch FROM set_config('synchronous_commit', 'off', true)
ON CONFLICT (venue_id, epoch) DO NOTHING RETURNING issued_at, issued_at`, args).Scan(&issuedAt, &now)
	made := err == nil
	if errors.Is(err, pgx.ErrNoRows) {
		err = s.pool.QueryRow(ctx, `
SELECT nonce, issued_at, portillon_now() FROM nonces WHERE venue_id = @venue AND epoch = @epoch`,
			args).Scan(&value, &issuedAt, &now)
	}
	if err != nil {
		return Nonce{}, false, fmt.Errorf("make the venue's nonce: %w", err)
	}
	if made && epoch%int64(sweepAt/Epoch) == 0 {
		// The value is made, and a door waits for it. Old rows do no harm: what
		// could not be swept now, the next sweep takes.
		_ = s.sweep(ctx)
	}
	return pushed(value, issuedAt, now, epoch), true, nil
}

func pushed(value []byte, issuedAt, now time.Time, epoch int64) Nonce {
	return Nonce{
		Value: [Size]byte(value), IssuedAt: issuedAt, ServerTime: now, AcceptedFor: ticket.PushedFor,
		RenewedAt: time.Unix((epoch+1)*epochSeconds, 0),
	}
}

const epochSeconds = int64(Epoch / time.Second)

// Show makes a value that only this device will accept. It needs no lease: the
// device is there and shows it.
func (s *Service) Show(ctx context.Context, venue ticket.VenueID, device ticket.DeviceID) (Nonce, error) {
	var n Nonce
	_, _ = rand.Read(n.Value[:]) // never fails: crypto/rand ends the program instead
	err := s.pool.QueryRow(ctx, `
INSERT INTO nonces (nonce, venue_id, device_id) VALUES (@nonce, @venue, @device) RETURNING issued_at`,
		pgx.NamedArgs{"nonce": n.Value[:], "venue": venue, "device": device}).Scan(&n.IssuedAt)
	if err != nil {
		return Nonce{}, fmt.Errorf("make the device's nonce: %w", err)
	}
	n.ServerTime, n.AcceptedFor = n.IssuedAt, ticket.ShownFor
	return n, nil
}

// sweep forgets old values. The quarter of an hour comes round often enough:
// there are no more than some thousand rows of a venue and day.
func (s *Service) sweep(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM nonces WHERE nonce IN (
  SELECT nonce FROM nonces WHERE issued_at < portillon_now() - @keep::interval
  ORDER BY nonce FOR UPDATE SKIP LOCKED)`, pgx.NamedArgs{"keep": keepFor})
	if err != nil {
		return fmt.Errorf("forget old nonces: %w", err)
	}
	return nil
}

// VenueOfGate is where a gate stands; found is false for an unknown gate.
func VenueOfGate(ctx context.Context, tx pgx.Tx, gate ticket.GateID) (venue ticket.VenueID, found bool, err error) {
	err = tx.QueryRow(ctx, `SELECT venue_id FROM gates WHERE id = @gate`, pgx.NamedArgs{"gate": gate}).Scan(&venue)
	if errors.Is(err, pgx.ErrNoRows) {
		return venue, false, nil
	}
	if err != nil {
		return venue, false, fmt.Errorf("look the gate up: %w", err)
	}
	return venue, true, nil
}

// VenueOfLease is where a living lease's gate stands, for the caller who must
// know whether somebody may renew it.
func VenueOfLease(ctx context.Context, tx pgx.Tx, id string) (venue ticket.VenueID, found bool, err error) {
	err = tx.QueryRow(ctx, `
SELECT g.venue_id FROM nonce_leases l JOIN gates g ON g.id = l.gate_id WHERE l.hash = @hash`,
		pgx.NamedArgs{"hash": seal.Hash(id)}).Scan(&venue)
	if errors.Is(err, pgx.ErrNoRows) {
		return venue, false, nil
	}
	if err != nil {
		return venue, false, fmt.Errorf("look the lease up: %w", err)
	}
	return venue, true, nil
}
