package admit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/server/pg"
)

const (
	dayPrefix = "attempts_"
	dayLayout = "20060102"
	// oldRows is how many rows without a day of their own go in one step: their
	// locks and their log are small, and a step that fails loses little.
	oldRows = 2000
)

// Dropped says what DropDays removed.
type Dropped struct {
	Days int   // whole days
	Rows int64 // rows that had lain in the default partition
}

// DropDays removes the attempts of days (UTC) that ended more than so many days
// ago; 0 keeps them for ever. A day goes whole, as its partition. It may run
// anywhere and at any time, also twice at once: what is gone is gone, and whoever
// finds another at work leaves it to him.
//
// Dropping a partition takes the whole log for a moment, and doors queue behind
// whoever waits for it: so it neither waits for it nor has it longer than 50 ms,
// and ends with an error instead. What was dropped before stays dropped, and the
// next run goes on.
func (s *Service) DropDays(ctx context.Context, kept int) (done Dropped, err error) {
	if kept <= 0 {
		return done, nil
	}
	var now time.Time
	if err := s.pool.QueryRow(ctx, `SELECT portillon_now()`).Scan(&now); err != nil {
		return done, fmt.Errorf("read the day: %w", err)
	}
	first := now.UTC().Truncate(24*time.Hour).AddDate(0, 0, -kept) // that is kept
	days, err := s.days(ctx)
	if err != nil {
		return done, err
	}
	for _, day := range days {
		if !day.Before(first) {
			continue
		}
		dropped, err := s.dropDay(ctx, day)
		if err != nil {
			return done, err
		}
		if dropped {
			done.Days++
		}
	}
	done.Rows, err = s.dropRows(ctx, first)
	return done, err
}

// days are the days that have a partition, the oldest first.
func (s *Service) days(ctx context.Context) (all []time.Time, err error) {
	rows, err := s.pool.Query(ctx, `
SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'attempts'::regclass ORDER BY c.relname`)
	if err != nil {
		return nil, fmt.Errorf("list the days: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("list the days: %w", err)
	}
	for _, name := range names {
		// The default partition has no day, and what an operator attached by hand is his.
		if day, err := time.Parse(dayLayout, strings.TrimPrefix(name, dayPrefix)); err == nil {
			all = append(all, day)
		}
	}
	return all, nil
}

// dropDay drops one day's partition. Detaching it without a lock of the log is not
// possible beside a default partition.
func (s *Service) dropDay(ctx context.Context, day time.Time) (dropped bool, err error) {
	err = pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		// The limit of the statement is that of all its locks together.
		if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '50ms'; SET LOCAL statement_timeout = '50ms'`); err != nil {
			return fmt.Errorf("bound the wait: %w", err)
		}
		var free bool
		err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock(hashtextextended(current_schema() || ' attempts', 0))`).Scan(&free)
		if err != nil || !free {
			return err
		}
		// The catalogue itself, in a statement of its own: names that are looked up come from
		// a memory that need not have heard yet what the last holder of the lock did.
		err = tx.QueryRow(ctx, `
SELECT EXISTS (SELECT FROM pg_class WHERE relname = @name AND relnamespace = current_schema()::regnamespace)`,
			pgx.NamedArgs{"name": dayPrefix + day.Format(dayLayout)}).Scan(&dropped)
		if err != nil || !dropped {
			return err
		}
		_, err = tx.Exec(ctx, `DROP TABLE `+pgx.Identifier{dayPrefix + day.Format(dayLayout)}.Sanitize())
		return err
	})
	if err != nil {
		return false, fmt.Errorf("drop the attempts of %s: %w", day.Format(time.DateOnly), err)
	}
	return dropped, nil
}

// dropRows deletes what lies in the default partition from before a day, in steps
// between which others have their turn.
func (s *Service) dropRows(ctx context.Context, before time.Time) (rows int64, err error) {
	for {
		tag, err := s.pool.Exec(ctx, `
DELETE FROM attempts_default WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM attempts_default WHERE received_at < @before LIMIT @step FOR UPDATE SKIP LOCKED))`,
			pgx.NamedArgs{"before": before, "step": oldRows})
		if err != nil {
			return rows, fmt.Errorf("delete old attempts without a day: %w", err)
		}
		rows += tag.RowsAffected()
		if tag.RowsAffected() < oldRows {
			return rows, nil
		}
	}
}
