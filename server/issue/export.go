package issue

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/server/exchange"
	"portillon/server/pg"
	"portillon/server/session"
	"portillon/server/ticket"
)

// exported are the headings of the table of tickets: first what an import reads
// again, under the names that it guesses, then what became of the ticket.
var exported = append(append([]string{}, Columns...),
	"status", "status_since", "claim", "entries", "inside", "extra", "used_at", "created_at", "ticket")

// ExportTickets writes an event's tickets by number, headings first. Times are UTC
// for machines and the venue's for spreadsheets. Needs the right admin at its venue.
func (s *Service) ExportTickets(ctx context.Context, by session.Caller, event ticket.EventID, f exchange.Flavour, write func([]string) error) error {
	e, err := s.eventFor(ctx, by, session.Admin, event)
	if err != nil {
		return err
	}
	clock, err := exchange.ClockFor(f, e.TimeZone)
	if err != nil {
		return err
	}
	if err := write(append([]string{}, exported...)); err != nil {
		return err
	}
	return pg.Stream(ctx, s.pool, `SELECT t.created_at,`+selectTickets+`WHERE t.event_id = @event ORDER BY t.number`, pgx.NamedArgs{"event": event},
		func(row pgx.CollectableRow) error {
			var made time.Time
			var l Listed
			if err := row.Scan(append([]any{&made}, l.targets()...)...); err != nil {
				return err
			}
			return write([]string{
				l.ExternalID, strconv.Itoa(l.Number), l.CategoryName, l.Seat, l.Holder.Name, l.Holder.Email, strconv.Itoa(l.Admits),
				string(l.Status), clock(&l.StatusSince), l.Claim, strconv.Itoa(l.Entries), strconv.Itoa(l.Inside), strconv.Itoa(l.Extra),
				clock(l.UsedAt), clock(&made), l.Ticket.String(),
			})
		})
}
