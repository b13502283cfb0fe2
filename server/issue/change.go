package issue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/server/audit"
	"portillon/server/fault"
	"portillon/server/pg"
	"portillon/server/session"
	"portillon/server/ticket"
)

// EventChange is what becomes different about an event; what is nil stays.
type EventChange struct {
	Name        *string      `json:"name"`
	Screen      *string      `json:"screen"`
	DoorsOpenAt *time.Time   `json:"doors_open_at"`
	StartsAt    *time.Time   `json:"starts_at"`
	EndsAt      *time.Time   `json:"ends_at"`
	ClaimFrom   *time.Time   `json:"claim_from"`
	Policy      *PolicyIn    `json:"policy"`
	Responsible *Responsible `json:"responsible"`
}

// over applies the change. A claim_from that kept the usual distance from the
// doors moves with them.
func (ch EventChange) over(e Event) Event {
	usual := e.ClaimFrom.Equal(e.DoorsOpenAt.Add(-claimBefore))
	set(&e.Name, ch.Name)
	set(&e.Screen, ch.Screen)
	set(&e.DoorsOpenAt, ch.DoorsOpenAt)
	set(&e.StartsAt, ch.StartsAt)
	set(&e.EndsAt, ch.EndsAt)
	if usual {
		e.ClaimFrom = e.DoorsOpenAt.Add(-claimBefore)
	}
	set(&e.ClaimFrom, ch.ClaimFrom)
	set(&e.Responsible, ch.Responsible)
	e.Policy = ch.Policy.over(e.Policy)
	return e
}

// ChangeEvent changes an event. Needs the right admin at its venue. A change of
// re-entry changes its tickets with it; re-entry cannot be taken away once a
// ticket was used more often than it admits (event.reentry_used).
func (s *Service) ChangeEvent(ctx context.Context, by session.Caller, id ticket.EventID, change EventChange) (Event, error) {
	if _, err := s.eventFor(ctx, by, session.Admin, id); err != nil {
		return Event{}, err
	}
	err := pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		if err := lockEvent(ctx, tx, id); err != nil {
			return err
		}
		old, err := readEvent(ctx, tx, id)
		if err != nil {
			return err
		}
		changed := change.over(old)
		if err := changed.check(); err != nil {
			return err
		}
		if err := updateEvent(ctx, tx, changed); err != nil {
			return err
		}
		if changed.Policy.Reentry != old.Policy.Reentry {
			if err := changeReentry(ctx, tx, id, changed.Policy.Reentry); err != nil {
				return err
			}
		}
		return audit.Write(ctx, tx, by, audit.Act{Name: "event.change", Venue: old.Venue, Event: id, Details: difference(old, changed)})
	})
	if err != nil {
		return Event{}, err
	}
	return readEvent(ctx, s.pool, id)
}

// lockEvent makes the acts that hand out numbers or change all tickets of an
// event come one after the other. NO KEY: rows that only refer to the event are
// not kept waiting.
func lockEvent(ctx context.Context, tx pgx.Tx, id ticket.EventID) error {
	return eventLocked(tx.QueryRow(ctx, lockOneEvent, pgx.NamedArgs{"id": id}))
}

const lockOneEvent = `SELECT true FROM events WHERE id = @id FOR NO KEY UPDATE`

func eventLocked(row pgx.Row) error {
	var locked bool
	err := row.Scan(&locked)
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.New(fault.NotFound, "event.not_found", "there is no such event")
	}
	if err != nil {
		return fmt.Errorf("lock the event: %w", err)
	}
	return nil
}

func updateEvent(ctx context.Context, tx pgx.Tx, e Event) error {
	_, err := tx.Exec(ctx, `
UPDATE events SET name = @name, screen = @screen, doors_open_at = @doors_open_at, starts_at = @starts_at,
  ends_at = @ends_at, claim_from = @claim_from, freshness = @freshness, rescan = @rescan,
  rescan_window = make_interval(secs => @rescan_window), reentry = @reentry, offline = @offline, show_names = @show_names,
  responsible_email = @responsible_email, responsible_language = @responsible_language
WHERE id = @id`, e.args())
	if err != nil {
		return fmt.Errorf("change the event: %w", err)
	}
	return nil
}

// changeReentry repeats the policy in the event's tickets, where the check on
// the counts needs it. The rows are locked in the order of their ids, as every
// writer of several tickets does, and written in a statement of its own, which
// sees what was admitted while the locks were waited for.
func changeReentry(ctx context.Context, tx pgx.Tx, id ticket.EventID, reentry bool) error {
	args := pgx.NamedArgs{"event": id, "reentry": reentry}
	if _, err := tx.Exec(ctx, `SELECT id FROM tickets WHERE event_id = @event ORDER BY id FOR NO KEY UPDATE`, args); err != nil {
		return fmt.Errorf("lock the tickets: %w", err)
	}
	_, err := tx.Exec(ctx, `
WITH next AS (
  SELECT id, CASE WHEN status NOT IN ('active', 'used') THEN status
    WHEN NOT @reentry AND entries >= admits + extra THEN 'used' ELSE 'active' END AS status
  FROM tickets WHERE event_id = @event)
UPDATE tickets t SET reentry = @reentry, status = next.status,
  status_since = CASE WHEN t.status = next.status THEN t.status_since ELSE portillon_now() END
FROM next WHERE t.id = next.id`, args)
	if pg.Constraint(err) == "tickets_entries_check" {
		return fault.New(fault.Conflict, "event.reentry_used", "tickets of this event were already used more than once; re-entry has to stay")
	}
	if err != nil {
		return fmt.Errorf("change the tickets: %w", err)
	}
	return nil
}

// difference names what changed, for the audit: times and policies with their
// old value, texts by name only.
func difference(old, changed Event) map[string]any {
	was := map[string]any{}
	note := func(name string, same bool, value any) {
		if !same {
			was[name] = value
		}
	}
	note("name", old.Name == changed.Name, true)
	note("screen", old.Screen == changed.Screen, true)
	note("doors_open_at", old.DoorsOpenAt.Equal(changed.DoorsOpenAt), old.DoorsOpenAt)
	note("starts_at", old.StartsAt.Equal(changed.StartsAt), old.StartsAt)
	note("ends_at", old.EndsAt.Equal(changed.EndsAt), old.EndsAt)
	note("claim_from", old.ClaimFrom.Equal(changed.ClaimFrom), old.ClaimFrom)
	note("responsible", old.Responsible == changed.Responsible, true)
	note("policy", old.Policy == changed.Policy, old.Policy)
	return map[string]any{"was": was}
}
