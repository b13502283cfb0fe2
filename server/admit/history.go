package admit

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/nonce"
	"portillon/server/ticket"
)

const countStale = `
SELECT count(*) FROM attempts
WHERE ticket_id = @ticket AND received_at > @now::timestamptz - @picture_within::interval AND reason = 'stale_nonce' AND NOT dry_run`

// readSilence asks for signs of life of a device since an answer of its: what it
// showed, what it scanned, and the lease that its page renews. Leases that have
// ended are kept for a minute, and after that the device is silent anyway.
const readSilence = `
SELECT
  EXISTS (SELECT FROM receipts WHERE device_id = @device AND shown_at > @at::timestamptz - @receipts_within::interval),
  EXISTS (SELECT FROM nonce_leases WHERE device_id = @device AND opened_at <= @at AND expires_at > @at)
    AND NOT EXISTS (SELECT FROM nonce_leases WHERE device_id = @device AND expires_at > @now),
  greatest(
    (SELECT max(shown_at) FROM receipts WHERE device_id = @device AND shown_at > @at::timestamptz - @receipts_within::interval),
    (SELECT max(expires_at) - @lease_for::interval FROM nonce_leases WHERE device_id = @device AND expires_at > @now),
    (SELECT max(received_at) FROM attempts
      WHERE event_id = @event AND received_at >= @at AND received_at > @now::timestamptz - @silent_for::interval AND device_id = @device))`

// readHistory reads what only few decisions turn on, under the ticket's lock.
func readHistory(ctx context.Context, tx pgx.Tx, f ticket.Facts) (*ticket.History, error) {
	h := &ticket.History{}
	args := historyOf(f)
	var seen *time.Time
	var batch pgx.Batch
	batch.Queue(countStale, args).QueryRow(func(row pgx.Row) error { return row.Scan(&h.Stale) })
	if f.Last != nil && !f.Last.Device.IsZero() {
		batch.Queue(readSilence, args).QueryRow(func(row pgx.Row) error { return row.Scan(&h.Receipts, &h.LeaseEnded, &seen) })
	}
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	h.SeenAt = value(seen)
	return h, nil
}

// historyOf are the arguments of both statements.
func historyOf(f ticket.Facts) pgx.NamedArgs {
	args := pgx.NamedArgs{
		"ticket": f.Ticket.ID, "event": f.Event.ID, "now": f.Now, "device": nil, "at": nil,
		"picture_within": ticket.PictureWithin, "receipts_within": ticket.ReceiptsWithin, "silent_for": ticket.SilentFor,
		"lease_for": nonce.LeaseFor,
	}
	if f.Last != nil {
		args["device"], args["at"] = f.Last.Device, f.Last.At
	}
	return args
}

// insertSuperseded takes back, in the name of nobody, the admission whose answer was
// lost.
const insertSuperseded = `
INSERT INTO undos (ticket_id, key, at, reason, superseded_by)
VALUES (@ticket, @lost, @at, 'its answer was never shown', @key)`

// supersede queues what makes room for a recovered entry, before that is written.
func supersede(batch *pgx.Batch, a Answer) {
	batch.Queue(takeBackFrom, pgx.NamedArgs{
		"ticket": a.Facts.Ticket.ID, "at": a.Facts.Now, "people": a.Recovers.People, "in": true,
	})
}
