package report

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/server/fault"
)

// Window is the time that a report is about, in buckets of Step seconds. What is
// zero is chosen: the event's door hours, with the scans of the day before and
// after them, in at most 60 buckets.
type Window struct {
	From, To time.Time
	Step     int
}

// Limits of a window. A bucket of less than a minute says nothing about a door.
const (
	minStep    = 60
	maxStep    = 24 * 60 * 60
	maxBuckets = 500
	// around is how far before the doors and after the end scans are looked for
	// that widen a window that nobody has chosen.
	around = 24 * time.Hour
	// fewBuckets is how many a chosen step makes at most.
	fewBuckets = 60
)

// steps are those that are chosen from, in seconds; clocks show their multiples.
var steps = []int{60, 300, 600, 900, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, maxStep}

// span is a time from and to before.
type span struct{ from, to time.Time }

// setWindow takes what was asked for, chooses the rest, and refuses what is too
// long or too fine.
func (r *Report) setWindow(ctx context.Context, tx pgx.Tx, asked Window, hours span) error {
	if asked.Step != 0 && (asked.Step < minStep || asked.Step > maxStep) {
		return fault.Fields(fault.Field{Name: "step", Code: "out_of_range"})
	}
	if asked.From.IsZero() || asked.To.IsZero() {
		var err error
		if hours, err = r.scanned(ctx, tx, hours); err != nil {
			return err
		}
	}
	chosen := hours
	if !asked.From.IsZero() {
		chosen.from = asked.From
	}
	if !asked.To.IsZero() {
		chosen.to = asked.To
	}
	if !chosen.from.Before(chosen.to) {
		return fault.Fields(fault.Field{Name: "to", Code: "not_in_order"})
	}
	r.Step = asked.Step
	if r.Step == 0 {
		r.Step = stepFor(chosen.to.Sub(chosen.from))
	}
	step := time.Duration(r.Step) * time.Second
	if asked.From.IsZero() {
		chosen.from = chosen.from.Truncate(step)
	}
	r.From, r.To = chosen.from.UTC(), chosen.to.UTC()
	if r.buckets() > maxBuckets {
		return fault.Fields(fault.Field{Name: "step", Code: "out_of_range"})
	}
	return nil
}

// stepFor is the finest step that makes few buckets of so long a time; of more than
// sixty days, the longest.
func stepFor(long time.Duration) int {
	for _, step := range steps {
		if long <= time.Duration(step)*time.Second*fewBuckets {
			return step
		}
	}
	return maxStep
}

// buckets is how many there are.
func (r *Report) buckets() int {
	step := time.Duration(r.Step) * time.Second
	return int((r.To.Sub(r.From) + step - 1) / step)
}

// scanned widens hours by the scans of the day around them. The bounds are given as
// values, so that the days of the log that do not matter are not looked into.
func (r *Report) scanned(ctx context.Context, tx pgx.Tx, hours span) (span, error) {
	var first, last *time.Time
	err := tx.QueryRow(ctx, `
SELECT min(received_at), max(received_at) FROM attempts
WHERE event_id = @event AND received_at >= @from AND received_at < @to`,
		pgx.NamedArgs{"event": r.Event, "from": hours.from.Add(-around), "to": hours.to.Add(around)}).Scan(&first, &last)
	if err != nil {
		return hours, fmt.Errorf("find the first and the last attempt: %w", err)
	}
	if first != nil && first.Before(hours.from) {
		hours.from = *first
	}
	if last != nil && !last.Before(hours.to) {
		hours.to = last.Truncate(time.Second).Add(time.Second)
	}
	return hours, nil
}
