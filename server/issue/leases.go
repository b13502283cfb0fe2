package issue

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/server/fault"
	"portillon/server/seal"
	"portillon/server/session"
	"portillon/server/ticket"
)

// leaseFor is how long a number is kept without a sign of the form that shows it.
const leaseFor = 15 * time.Second

// leaseAct is what happens to leases.
type leaseAct int

const (
	reserveLease  leaseAct = iota // put the lowest free number under a new lease
	renewLease                    // prolong
	giveBackLease                 // end at once
	spendLease                    // turn the lease into numbers for tickets
)

// leaseChange is one change. A lease to spend may be empty: then the lowest free
// numbers are taken. Count is how many numbers are spent.
type leaseChange struct {
	act   leaseAct
	lease string
	by    session.Caller
	count int
}

// leaseChanged is what came of a change: the lease that was reserved or renewed,
// or the numbers that were spent.
type leaseChanged struct {
	lease   NumberLease
	numbers []int32
}

// changeLeases is the one way in which leases change and numbers are handed out:
// under the event's lock, after the lapsed leases were swept. What it finds holds
// until the transaction ends, since nobody else gets here before. The statements
// travel together, and each sees what was written, and how late it is, after the
// wait for the lock. Faults: event.not_found, number.lease_ended (renew),
// number.lease_lost (spend).
func changeLeases(ctx context.Context, tx pgx.Tx, event ticket.EventID, change leaseChange) (done leaseChanged, err error) {
	args := pgx.NamedArgs{
		"event": event, "hash": seal.Hash(change.lease), "person": null(change.by.Person), "token": null(change.by.Token),
		"lease_for": leaseFor, "forget_after": forgetAfter, "n": max(1, change.count), "lowest": change.act == reserveLease || change.lease == "",
	}
	done.lease.Lease = change.lease
	batch := &pgx.Batch{}
	batch.Queue(lockOneEvent, pgx.NamedArgs{"id": event}).QueryRow(eventLocked)
	batch.Queue(sweepLeases, args)
	switch change.act {
	case reserveLease:
		batch.Queue(forgetLeases, args)
		batch.Queue(insertLease, args).QueryRow(done.lease.read)
	case renewLease:
		batch.Queue(prolongLease, args).QueryRow(done.lease.read)
	case giveBackLease:
		batch.Queue(`DELETE FROM number_leases WHERE event_id = @event AND hash = @hash`, args)
	case spendLease:
		batch.Queue(lowestFree+`SELECT number FROM walk WHERE free ORDER BY number`, args).Query(func(rows pgx.Rows) (err error) {
			done.numbers, err = pgx.CollectRows(rows, pgx.RowTo[int32])
			return err
		})
		batch.Queue(`DELETE FROM number_leases WHERE `+own, args)
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return leaseChanged{}, fmt.Errorf("change the leases: %w", err)
	}
	if change.act == spendLease && len(done.numbers) == 0 {
		return leaseChanged{}, fault.New(fault.Conflict, leaseLost, "the lease has lapsed or was given back; nothing was issued")
	}
	return done, nil
}

// read reads what a statement returns of a lease; there is nothing to read when
// none was alive.
func (l *NumberLease) read(row pgx.Row) error {
	err := row.Scan(&l.Number, &l.ExpiresAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return leaseEnded()
	}
	l.ExpiresAt = at(l.ExpiresAt)
	return err
}

// leaseLost is the code of an order whose number is not its form's any more.
const leaseLost = "number.lease_lost"

// own is the condition that a lease is the caller's: to whoever else has heard of
// it, it is as good as none.
const own = `event_id = @event AND hash = @hash AND person_id IS NOT DISTINCT FROM @person AND token_id IS NOT DISTINCT FROM @token`

// lowestFree walks over the numbers of the event that no ticket has until n of
// them are free: under no lease but the one that is being spent. It begins with
// the lowest, or with the number of that lease, and nowhere when that is lost. A
// run of used numbers is passed in one step, however long it is.
const lowestFree = `
WITH RECURSIVE walk AS (
  SELECT start.number - 1 AS number, false AS free, 0 AS found
  FROM (SELECT 1 AS number WHERE @lowest UNION ALL SELECT number FROM number_leases WHERE NOT @lowest AND ` + own + `) start
  UNION ALL
  SELECT next.number, lease.is_free, w.found + lease.is_free::integer
  FROM walk w,
    LATERAL (
      SELECT CASE WHEN EXISTS (SELECT FROM numbers x WHERE x.event_id = @event AND x.number = w.number + 1) THEN (
        SELECT e.number + 1 FROM numbers e
        WHERE e.event_id = @event AND NOT e.followed AND e.number > w.number
          AND NOT EXISTS (SELECT FROM numbers x WHERE x.event_id = @event AND x.number = e.number + 1)
        ORDER BY e.number LIMIT 1)
      ELSE w.number + 1 END AS number) next,
    LATERAL (
      SELECT NOT EXISTS (SELECT FROM number_leases l WHERE l.event_id = @event AND l.number = next.number AND l.hash <> @hash) AS is_free) lease
  WHERE w.found < @n)
`

const insertLease = lowestFree + `, t AS MATERIALIZED (SELECT portillon_now() AS now)
INSERT INTO number_leases (event_id, number, hash, person_id, token_id, opened_at, expires_at)
SELECT @event, w.number, @hash, @person, @token, t.now, t.now + @lease_for::interval FROM walk w, t WHERE w.free
RETURNING number, expires_at`

const prolongLease = `
UPDATE number_leases SET expires_at = portillon_now() + @lease_for::interval WHERE ` + own + `
RETURNING number, expires_at`

const sweepLeases = `DELETE FROM number_leases WHERE event_id = @event AND expires_at <= portillon_now()`

// forgetAfter is how long the last leases of an event that nobody touches any more
// are left lying.
const forgetAfter = time.Hour

// forgetLeases ends leases of any event long after they could be taken for living
// ones, and only where nobody is at work: the locks of those events are not held.
const forgetLeases = `
DELETE FROM number_leases WHERE hash IN (
  SELECT hash FROM number_leases WHERE expires_at < portillon_now() - @forget_after::interval LIMIT 100 FOR UPDATE SKIP LOCKED)`

// eventOfLease is the event of a lease, for a caller who has not its lock yet. An
// event never changes under a lease.
func (s *Service) eventOfLease(ctx context.Context, lease string) (event ticket.EventID, found bool, err error) {
	err = s.pool.QueryRow(ctx, `SELECT event_id FROM number_leases WHERE hash = @hash`, pgx.NamedArgs{"hash": seal.Hash(lease)}).Scan(&event)
	if errors.Is(err, pgx.ErrNoRows) {
		return event, false, nil
	}
	if err != nil {
		return event, false, fmt.Errorf("look the lease up: %w", err)
	}
	return event, true, nil
}

// newLeaseID makes 128 random bits, as text.
func newLeaseID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// null is the identifier, or NULL for a zero one.
func null[T ~[16]byte](id T) any {
	if id == *new(T) {
		return nil
	}
	return [16]byte(id)
}
