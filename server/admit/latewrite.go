package admit

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"portillon/server/ticket"
)

// enterLate lets the books say what happened, whatever the ticket has become since.
// extra grows by what is beyond the ticket, so that the checks hold.
const enterLate = `
UPDATE tickets SET entries = entries + @people, inside = inside + @people, used_at = least(used_at, @at::timestamptz),
  extra = greatest(extra, CASE WHEN @reentry THEN inside ELSE entries END + @people - admits),
  status = CASE WHEN status = 'active' AND NOT @reentry AND entries + @people >= admits + extra THEN 'used' ELSE status END,
  status_since = CASE WHEN status = 'active' AND NOT @reentry AND entries + @people >= admits + extra THEN @at ELSE status_since END
WHERE id = @ticket
RETURNING status, entries, inside`

// most is how many people were inside at once by the ticket, as the books have it in
// the order of what happened.
const readMost = `
SELECT coalesce(max(inside), 0)::integer FROM (
  SELECT sum(CASE direction WHEN 'in' THEN people ELSE -people END) OVER (ORDER BY at, direction, key) AS inside
  FROM admissions a WHERE ticket_id = @ticket
    AND NOT EXISTS (SELECT FROM undos u WHERE u.ticket_id = a.ticket_id AND u.key = a.key)) line`

// shrinkExtra takes back what the way out of somebody, told later than the entries
// after it, shows not to have been too many.
const shrinkExtra = `
UPDATE tickets SET extra = greatest(0, inside - admits, least(extra, @most - admits)) WHERE id = @ticket AND extra > 0`

// write writes the passage at its own time, and finds out whether it was one too
// many. Where people go in and out, uploads of several devices come in any order, so
// that only the order of what happened can tell.
func (l *Late) write(ctx context.Context, tx pgx.Tx) error {
	t := l.facts.Ticket
	over := l.Direction == ticket.In && l.People > t.Admits+t.Extra-t.Entries
	before := 0
	if l.Reentry {
		if err := tx.QueryRow(ctx, readMost, pgx.NamedArgs{"ticket": l.Ticket}).Scan(&before); err != nil {
			return fmt.Errorf("count who was inside: %w", err)
		}
	}
	if err := l.enter(ctx, tx); err != nil {
		return err
	}
	if l.Reentry {
		most, err := settle(ctx, tx, l.Ticket)
		if err != nil {
			return err
		}
		over = l.Direction == ticket.In && most > max(t.Admits, before)
		l.Settled = most <= t.Admits
	}
	l.Double = over
	return nil
}

// settle counts anew what the ticket let in beyond itself, and gives the most people
// that were inside at once.
func settle(ctx context.Context, tx pgx.Tx, id ticket.ID) (most int, err error) {
	args := pgx.NamedArgs{"ticket": id}
	if err := tx.QueryRow(ctx, readMost, args).Scan(&most); err != nil {
		return 0, fmt.Errorf("count who was inside: %w", err)
	}
	args["most"] = most
	if _, err := tx.Exec(ctx, shrinkExtra, args); err != nil {
		return 0, fmt.Errorf("count what was too many: %w", err)
	}
	return most, nil
}

// enter writes the rows of a passage in or out.
func (p Passage) enter(ctx context.Context, tx pgx.Tx) error {
	args := pgx.NamedArgs{
		"ticket": p.Ticket, "key": p.Key, "at": p.At, "gate": p.Gate, "device": null(p.Device), "person": p.Person,
		"direction": p.Direction, "people": p.People, "kind": p.Kind, "generation": p.Generation, "nonce": p.Nonce,
		"moved_at": nil, "path": offline, "reason": nil, "passage": p.Proof, "reentry": p.Reentry,
	}
	update := enterLate
	if p.Direction == ticket.Out {
		update = leave
	}
	var status ticket.Status
	var entries, inside int
	err := tx.QueryRow(ctx, update, args).Scan(&status, &entries, &inside)
	if errors.Is(err, pgx.ErrNoRows) {
		return ErrChanged
	}
	if err != nil {
		return fmt.Errorf("write the passage: %w", err)
	}
	if _, err := tx.Exec(ctx, insertAdmission, args); err != nil {
		return fmt.Errorf("write the admission: %w", err)
	}
	return nil
}

// RecordExit writes a way out that was told before the entry it belongs to, now that
// there is one; left is false while still nobody is inside. The ticket's row has to
// be locked by this transaction. settled is Late.Settled.
func (s *Service) RecordExit(ctx context.Context, tx pgx.Tx, p Passage) (left, settled bool, err error) {
	p.Reentry = true // without that nobody is ever inside
	var admits int
	var made bool
	err = tx.QueryRow(ctx, `
SELECT admits, EXISTS (SELECT FROM admissions WHERE ticket_id = @ticket AND direction = 'out' AND passage = @proof)
FROM tickets WHERE id = @ticket AND reentry AND inside >= @people
  AND NOT EXISTS (SELECT FROM admissions WHERE ticket_id = @ticket AND key = @key)`,
		pgx.NamedArgs{"ticket": p.Ticket, "people": p.People, "key": p.Key, "proof": p.Proof}).Scan(&admits, &made)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, false, nil
	}
	if err != nil {
		return false, false, fmt.Errorf("see who is inside: %w", err)
	}
	if made {
		p.Proof = nil
	}
	if err := p.enter(ctx, tx); err != nil {
		return false, false, err
	}
	most, err := settle(ctx, tx, p.Ticket)
	return true, most <= admits, err
}
