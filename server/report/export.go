package report

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/exchange"
	"portillon/server/pg"
	"portillon/server/session"
	"portillon/server/ticket"
)

var attemptHeadings = []string{
	"received_at", "number", "seat", "reason", "class", "kind", "gate", "person", "device", "replayed", "dry_run", "duration_us", "ticket", "key", "happened_at",
}

const selectAttempts = `
SELECT a.received_at, t.number, t.seat, a.reason, a.class, a.kind, coalesce(g.name, ''), coalesce(p.name, ''), coalesce(d.name, ''),
  a.replayed, a.dry_run, a.duration_us, a.ticket_id, a.key, a.happened_at
FROM attempts a
LEFT JOIN tickets t ON t.id = a.ticket_id
LEFT JOIN gates g ON g.id = a.gate_id AND g.venue_id = @venue
LEFT JOIN people p ON p.id = a.person_id
LEFT JOIN devices d ON d.id = a.device_id AND d.venue_id = @venue
WHERE a.event_id = @event
ORDER BY a.received_at, a.key`

// ExportAttempts writes what was scanned of an event's tickets in the order of its
// arrival, headings first. Times are UTC for machines and the venue's for
// spreadsheets; gates and devices of other venues are not named. Needs the right
// admin at its venue.
func (s *Service) ExportAttempts(ctx context.Context, by session.Caller, event ticket.EventID, f exchange.Flavour, write func([]string) error) error {
	r := Report{Event: event}
	err := pg.Snapshot(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		_, err := r.readEvent(ctx, tx)
		return err
	})
	if err != nil {
		return err
	}
	if err := by.Require(session.Admin, r.Venue); err != nil {
		return err
	}
	clock, err := exchange.ClockFor(f, r.TimeZone)
	if err != nil {
		return err
	}
	if err := write(append([]string{}, attemptHeadings...)); err != nil {
		return err
	}
	return pg.Stream(ctx, s.pool, selectAttempts, pgx.NamedArgs{"event": event, "venue": r.Venue}, func(row pgx.CollectableRow) error {
		var a attemptLine
		if err := row.Scan(&a.at, &a.number, &a.seat, &a.reason, &a.class, &a.kind, &a.gate, &a.person, &a.device,
			&a.replayed, &a.dryRun, &a.took, &a.ticket, &a.key, &a.happened); err != nil {
			return err
		}
		return write(a.cells(clock))
	})
}

type attemptLine struct {
	at                   time.Time
	number               *int
	seat                 *string
	reason, class, kind  string
	gate, person, device string
	replayed, dryRun     bool
	took                 int // µs
	ticket, key          uuid.NullUUID
	happened             *time.Time // by a device without network, told afterwards
}

func (a attemptLine) cells(clock func(*time.Time) string) []string {
	var number, seat string
	if a.number != nil {
		number, seat = strconv.Itoa(*a.number), *a.seat
	}
	text := func(id uuid.NullUUID) string {
		if !id.Valid {
			return ""
		}
		return id.UUID.String()
	}
	return []string{
		clock(&a.at), number, seat, a.reason, a.class, a.kind, a.gate, a.person, a.device,
		strconv.FormatBool(a.replayed), strconv.FormatBool(a.dryRun), strconv.Itoa(a.took), text(a.ticket), text(a.key), clock(a.happened),
	}
}
