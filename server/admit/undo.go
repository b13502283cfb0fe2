package admit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/server/audit"
	"portillon/server/fault"
	"portillon/server/news"
	"portillon/server/pg"
	"portillon/server/repeat"
	"portillon/server/session"
	"portillon/server/ticket"
)

// undoWithin is how long whoever admitted may take it back; a supervisor may at
// any time.
const undoWithin = 15 * time.Minute

// UndoIn names the admission to take back, and why.
type UndoIn struct {
	Ticket ticket.ID
	Key    ticket.Key
	Reason string
	Call   repeat.Call
}

// UndoOut is the ticket afterwards.
type UndoOut struct {
	Ticket  ticket.ID     `json:"ticket"`
	Key     ticket.Key    `json:"key"`
	Status  ticket.Status `json:"status"`
	Entries int           `json:"entries"`
	Inside  int           `json:"inside"`
	At      time.Time     `json:"at"`
}

// Undo takes an admission back: a new record, never a deletion. Faults:
// undo.reason, scan.not_found, undo.already_undone, undo.not_yours,
// undo.left_since.
func (s *Service) Undo(ctx context.Context, by session.Caller, in UndoIn) (UndoOut, error) {
	err := by.Require(session.Scan, ticket.VenueID{})
	if err != nil && !by.May(session.Supervise, ticket.VenueID{}) {
		return UndoOut{}, err
	}
	if in.Reason, err = checkReason(in.Reason); err != nil {
		return UndoOut{}, err
	}
	var out UndoOut
	var repeated bool
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err = pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) (err error) {
		a, err := readAdmission(ctx, tx, in)
		if err != nil {
			return err
		}
		if !by.May(session.Scan, a.Venue) {
			if err := by.Require(session.Supervise, a.Venue); err != nil {
				return err
			}
		}
		if _, repeated, err = repeat.Find(ctx, tx, by, in.Call); err != nil {
			return err
		}
		if repeated {
			out, err = readUndone(ctx, tx, in)
			return err
		}
		if _, err := tx.Exec(ctx, lockTicket, pgx.NamedArgs{"ticket": in.Ticket}); err != nil {
			return fmt.Errorf("lock the ticket: %w", err)
		}
		if a, err = readAdmission(ctx, tx, in); err != nil { // as it is under the lock
			return err
		}
		if err := mayUndo(by, a); err != nil {
			return err
		}
		out, err = takeBack(ctx, tx, by, in, a)
		return err
	})
	if err == nil && !repeated {
		s.hub.Publish(ctx, news.Item{Ticket: in.Ticket, What: news.Undone, At: out.At})
	}
	return out, err
}

type admissionRow struct {
	Now       time.Time
	At        time.Time
	Person    ticket.PersonID
	Direction ticket.Direction
	People    int
	Gate      ticket.GateID
	Event     ticket.EventID
	Venue     ticket.VenueID
	UndoneAt  *time.Time
	Passed    bool // somebody passed the other way with this ticket since
}

func readAdmission(ctx context.Context, tx pgx.Tx, in UndoIn) (admissionRow, error) {
	rows, err := tx.Query(ctx, `
SELECT portillon_now() AS now, a.at, a.person_id AS person, a.direction, a.people, a.gate_id AS gate,
  a.event_id AS event, e.venue_id AS venue, u.at AS undone_at,
  EXISTS (SELECT FROM admissions o WHERE o.ticket_id = a.ticket_id AND o.direction <> a.direction AND o.at > a.at
    AND NOT EXISTS (SELECT FROM undos x WHERE x.ticket_id = o.ticket_id AND x.key = o.key)) AS passed
FROM admissions a JOIN events e ON e.id = a.event_id
LEFT JOIN undos u ON u.ticket_id = a.ticket_id AND u.key = a.key
WHERE a.ticket_id = @ticket AND a.key = @key`, pgx.NamedArgs{"ticket": in.Ticket, "key": in.Key})
	if err != nil {
		return admissionRow{}, fmt.Errorf("read the admission: %w", err)
	}
	a, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[admissionRow])
	if errors.Is(err, pgx.ErrNoRows) {
		return a, fault.New(fault.NotFound, "scan.not_found", "no admission of this ticket has this key; look at the ticket's history")
	}
	return a, err
}

func mayUndo(by session.Caller, a admissionRow) error {
	switch {
	case a.UndoneAt != nil:
		return fault.New(fault.Conflict, "undo.already_undone", "this entry was taken back before; scan the ticket again to let the guest in").
			Fact("at", a.UndoneAt.UTC())
	case a.Passed:
		return leftSince()
	case by.May(session.Supervise, a.Venue):
		return nil
	case a.Person != by.Person:
		return fault.New(fault.Forbidden, "undo.not_yours", "only whoever admitted may take it back; call a supervisor")
	case a.Now.Sub(a.At) > undoWithin:
		return fault.New(fault.Forbidden, "undo.too_late", "this was more than 15 minutes ago; call a supervisor")
	}
	return nil
}

func leftSince() error {
	return fault.New(fault.Conflict, "undo.left_since", "somebody has passed the other way with this ticket since; take that back first")
}

func takeBack(ctx context.Context, tx pgx.Tx, by session.Caller, in UndoIn, a admissionRow) (UndoOut, error) {
	out := UndoOut{Ticket: in.Ticket, Key: in.Key, At: a.Now}
	_, err := tx.Exec(ctx, `
INSERT INTO undos (ticket_id, key, at, device_id, person_id, reason)
VALUES (@ticket, @key, @at, @device, @person, @reason)`, pgx.NamedArgs{
		"ticket": in.Ticket, "key": in.Key, "at": a.Now, "device": null(by.Device), "person": null(by.Person), "reason": in.Reason,
	})
	if err != nil {
		return out, fmt.Errorf("write the undo: %w", err)
	}
	err = tx.QueryRow(ctx, takeBackFrom, pgx.NamedArgs{
		"ticket": in.Ticket, "at": a.Now, "people": a.People, "in": a.Direction == ticket.In,
	}).Scan(&out.Status, &out.Entries, &out.Inside)
	if pg.Constraint(err) == "tickets_inside_check" || pg.Constraint(err) == "tickets_entries_check" {
		return out, leftSince()
	}
	if err != nil {
		return out, fmt.Errorf("give the entry back: %w", err)
	}
	if err := repeat.Made(ctx, tx, by, in.Call, in.Ticket.UUID()); err != nil {
		return out, err
	}
	return out, audit.Write(ctx, tx, by, audit.Act{
		Name: "scan.undo", Venue: a.Venue, Event: a.Event, Ticket: in.Ticket, Subject: in.Key, Reason: in.Reason,
		Details: map[string]any{"people": a.People, "direction": a.Direction, "gate": a.Gate},
	})
}

// takeBackFrom counts back. What is left of extra is what the entries that remain
// need of it, and the ticket stays used while those still fill it.
const takeBackFrom = `
UPDATE tickets t SET entries = n.entries, inside = n.inside, extra = n.extra,
  used_at = CASE WHEN n.entries = 0 THEN NULL ELSE used_at END,
  status = CASE WHEN n.open THEN 'active' ELSE status END,
  status_since = CASE WHEN n.open THEN @at ELSE status_since END
FROM (
  SELECT id, c.entries, c.inside, x.extra, o.status = 'used' AND (reentry OR c.entries < admits + x.extra) AS open
  FROM tickets o,
    LATERAL (SELECT CASE WHEN @in THEN o.entries - @people ELSE o.entries END AS entries,
      CASE WHEN @in THEN o.inside - @people ELSE o.inside + @people END AS inside) c,
    LATERAL (SELECT greatest(0, least(o.extra, CASE WHEN reentry THEN c.inside ELSE c.entries END - admits)) AS extra) x
  WHERE id = @ticket) n
WHERE t.id = n.id
RETURNING t.status, t.entries, t.inside`

// readUndone is the answer of an undo that was done before and whose answer was
// lost.
func readUndone(ctx context.Context, tx pgx.Tx, in UndoIn) (UndoOut, error) {
	out := UndoOut{Ticket: in.Ticket, Key: in.Key}
	err := tx.QueryRow(ctx, `
SELECT t.status, t.entries, t.inside, u.at FROM tickets t JOIN undos u ON u.ticket_id = t.id
WHERE t.id = @ticket AND u.key = @key`, pgx.NamedArgs{"ticket": in.Ticket, "key": in.Key}).
		Scan(&out.Status, &out.Entries, &out.Inside, &out.At)
	return out, err
}
