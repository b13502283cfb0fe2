package admit

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/server/pg"
	"portillon/server/session"
	"portillon/server/ticket"
)

const insertAttempt = `
INSERT INTO attempts (received_at, ticket_id, key, event_id, gate_id, device_id, person_id, kind, reason, class, replayed, dry_run, duration_us, scanned_at, happened_at)
VALUES (@received_at, @ticket, @key, @event, @gate, @device, @person, @kind, @reason, @class, @replayed, @dry_run, @duration_us, @scanned_at, @happened_at)`

// attempt logs what reached the door, in a savepoint: a log that cannot be
// written must not send a guest away. It is counted, and an alarm watches the
// count.
func (s *Service) attempt(ctx context.Context, tx pgx.Tx, by session.Caller, in ScanIn, a Answer) {
	took := max(0, s.now().Sub(in.Arrived))
	args := pgx.NamedArgs{
		"received_at": a.Facts.Now.Add(-took), "key": in.Key, "gate": in.Gate, "device": null(by.Device), "person": by.Person,
		"kind": a.loggedKind(), "reason": a.Reason, "class": a.Class, "replayed": a.Replayed, "dry_run": in.DryRun,
		"duration_us": took.Microseconds(), "scanned_at": in.ScannedAt, "happened_at": nullTime(a.happenedAt), "ticket": nil, "event": nil,
	}
	if t := a.Facts.Ticket; t != nil {
		args["ticket"], args["event"] = t.ID, a.Facts.Event.ID
	}
	var batch pgx.Batch
	batch.Queue(`SAVEPOINT attempt`)
	batch.Queue(insertAttempt, args)
	batch.Queue(`RELEASE SAVEPOINT attempt`)
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		// When even this fails the connection is lost, and the commit says so.
		_, _ = tx.Exec(ctx, `ROLLBACK TO SAVEPOINT attempt`)
		s.meter.AttemptLost()
		s.log.ErrorContext(ctx, "an attempt could not be logged; the scan went on", "error", err.Error(), "gate", in.Gate.String())
	}
}

// loggedKind: what had not even the form of a code is of no kind.
func (a Answer) loggedKind() ticket.Kind { return cmp.Or(a.Kind, ticket.None) }

// daysAhead is how many days of attempts have their partition made in advance.
const daysAhead = 14

// PrepareDays makes the partitions of today and the days ahead. It may run
// anywhere and at any time: what exists stays. Making one takes the whole log for
// a moment, and doors queue behind whoever waits for it; so it does not wait (for
// a backup that is reading, say), and the next run tries again. It does wait for
// another server that is at the same work, which keeps no door waiting.
func (s *Service) PrepareDays(ctx context.Context) error {
	return pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' attempts', 0))`); err != nil {
			return fmt.Errorf("wait for other servers: %w", err)
		}
		if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '50ms'`); err != nil {
			return fmt.Errorf("bound the wait: %w", err)
		}
		var today time.Time
		if err := tx.QueryRow(ctx, `SELECT portillon_now()`).Scan(&today); err != nil {
			return fmt.Errorf("read the day: %w", err)
		}
		day := today.UTC().Truncate(24 * time.Hour)
		for i := range daysAhead {
			if err := prepareDay(ctx, tx, day.AddDate(0, 0, i)); err != nil {
				return err
			}
		}
		return nil
	})
}

// prepareDay makes one day's partition unless it is there, or unless rows of that
// day already lie in the default partition, where they are as good.
func prepareDay(ctx context.Context, tx pgx.Tx, day time.Time) error {
	name := "attempts_" + day.Format("20060102")
	from, to := day.Format(time.DateOnly)+" 00:00:00+00", day.AddDate(0, 0, 1).Format(time.DateOnly)+" 00:00:00+00"
	var needed bool
	err := tx.QueryRow(ctx, `
SELECT NOT EXISTS (SELECT FROM pg_class WHERE relname = @name AND relnamespace = current_schema()::regnamespace)
  AND NOT EXISTS (SELECT FROM attempts_default WHERE received_at >= @from AND received_at < @to)`,
		pgx.NamedArgs{"name": name, "from": from, "to": to}).Scan(&needed)
	if err != nil || !needed {
		return err
	}
	_, err = tx.Exec(ctx, fmt.Sprintf(`CREATE TABLE %s PARTITION OF attempts FOR VALUES FROM ('%s') TO ('%s')`,
		pgx.Identifier{name}.Sanitize(), from, to))
	if err != nil {
		return fmt.Errorf("make the partition of %s: %w", day.Format(time.DateOnly), err)
	}
	return nil
}
