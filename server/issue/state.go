package issue

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/audit"
	"portillon/server/fault"
	"portillon/server/pg"
	"portillon/server/repeat"
	"portillon/server/session"
	"portillon/server/ticket"
)

// locked is a ticket whose row this transaction holds.
type locked struct {
	id           ticket.ID
	event        ticket.EventID
	venue        ticket.VenueID
	order        ticket.OrderID
	status       ticket.Status
	generation   int
	claimSerial  uint32
	usedUp       bool // by its counts, whatever its status says
	paperAllowed bool
}

// act is an act on one ticket: the right is checked, the row locked, do changes
// it and says what goes into the audit. A call repeated with its key changes
// nothing and is told so. Needs a reason unless reasonless.
type act struct {
	name       string
	right      session.Right
	reasonless bool
	do         func(ctx context.Context, tx pgx.Tx, t locked) (details map[string]any, err error)
}

// performed says which act was done, by the subject of its audit row, and whether
// a call before this one did it.
type performed struct {
	act      uuid.UUID
	repeated bool
}

// perform does the act once a key.
func (s *Service) perform(ctx context.Context, by session.Caller, call repeat.Call, id ticket.ID, reason string, a act) (done performed, err error) {
	if err := s.mayTicket(ctx, by, a.right, id); err != nil {
		return done, err
	}
	var c checks
	if reason = c.text("reason", reason, maxReason); reason == "" && !a.reasonless {
		c.add("reason", required)
	}
	if err := c.err(); err != nil {
		return done, err
	}
	done.act, done.repeated, err = s.once(ctx, by, call, func(ctx context.Context, tx pgx.Tx) (uuid.UUID, error) {
		t, err := lockTicket(ctx, tx, id)
		if err != nil {
			return uuid.Nil, err
		}
		details, err := a.do(ctx, tx, t)
		if err != nil {
			return uuid.Nil, err
		}
		this := uuid.New()
		return this, audit.Write(ctx, tx, by,
			audit.Act{Name: a.name, Venue: t.venue, Event: t.event, Ticket: id, Subject: this, Reason: reason, Details: details})
	})
	return done, err
}

// mayTicket: a ticket's venue never changes, so the right is checked without the
// lock and a stranger cannot hold a row that a gate needs.
func (s *Service) mayTicket(ctx context.Context, by session.Caller, right session.Right, id ticket.ID) error {
	var venue ticket.VenueID
	err := s.pool.QueryRow(ctx, `SELECT e.venue_id FROM tickets t JOIN events e ON e.id = t.event_id WHERE t.id = @id`,
		pgx.NamedArgs{"id": id}).Scan(&venue)
	if errors.Is(err, pgx.ErrNoRows) {
		return ticketNotFound()
	}
	if err != nil {
		return fmt.Errorf("read the ticket's venue: %w", err)
	}
	return by.Require(right, venue)
}

// lockTicket takes the lock that admissions take. The row is read by the locking
// statement, which sees it as it is after the wait; what is joined never changes.
func lockTicket(ctx context.Context, tx pgx.Tx, id ticket.ID) (locked, error) {
	t := locked{id: id}
	err := tx.QueryRow(ctx, `
SELECT t.event_id, e.venue_id, t.order_id, t.status, t.generation, t.claim_serial, NOT t.reentry AND t.entries >= t.admits + t.extra, c.paper
FROM tickets t JOIN events e ON e.id = t.event_id JOIN categories c ON c.id = t.category_id
WHERE t.id = @id FOR NO KEY UPDATE OF t`, pgx.NamedArgs{"id": id}).
		Scan(&t.event, &t.venue, &t.order, &t.status, &t.generation, &t.claimSerial, &t.usedUp, &t.paperAllowed)
	if errors.Is(err, pgx.ErrNoRows) {
		return locked{}, ticketNotFound()
	}
	if err != nil {
		return locked{}, fmt.Errorf("lock the ticket: %w", err)
	}
	return t, nil
}

// open is the status of a ticket that nobody keeps from entering.
func (t locked) open() ticket.Status {
	if t.usedUp {
		return ticket.Used
	}
	return ticket.Active
}

// refuse is the fault of an act that the ticket's status does not allow.
func (t locked) refuse(code, detail string) error {
	return fault.New(fault.Conflict, code, "%s", detail).Fact("status", string(t.status))
}

func setStatus(ctx context.Context, tx pgx.Tx, t locked, status ticket.Status) (map[string]any, error) {
	_, err := tx.Exec(ctx, `UPDATE tickets SET status = @status, status_since = portillon_now() WHERE id = @id`,
		pgx.NamedArgs{"id": t.id, "status": string(status)})
	if err != nil {
		return nil, fmt.Errorf("set the ticket's status: %w", err)
	}
	return map[string]any{"was": string(t.status), "is": string(status)}, nil
}

// change performs an act that changes the status, and tells the wallets.
func (s *Service) change(ctx context.Context, by session.Caller, call repeat.Call, id ticket.ID, reason, news string, a act) (Ticket, error) {
	a.right = session.Issue
	done, err := s.perform(ctx, by, call, id, reason, a)
	if err != nil {
		return Ticket{}, err
	}
	if !done.repeated {
		s.tell(ctx, id, news)
	}
	return s.ticketWithLife(ctx, id)
}

// tell is called after the commit: the caller may be gone by then, the wallets
// are to know all the same.
func (s *Service) tell(ctx context.Context, id ticket.ID, what string) {
	s.news(context.WithoutCancel(ctx), id, what)
}

// Revoke ends a ticket, used or not (the audit says what it was). Needs the
// right issue and a reason. Fault: ticket.revoked when it is already.
func (s *Service) Revoke(ctx context.Context, by session.Caller, call repeat.Call, id ticket.ID, reason string) (Ticket, error) {
	return s.change(ctx, by, call, id, reason, newsRevoked, act{name: "ticket.revoke", do: func(ctx context.Context, tx pgx.Tx, t locked) (map[string]any, error) {
		if t.status == ticket.RevokedStatus {
			return nil, t.refuse("ticket.revoked", "the ticket is revoked already")
		}
		return setStatus(ctx, tx, t, ticket.RevokedStatus)
	}})
}

// Reinstate takes a revocation back: the ticket is active again, or used if its
// entries say so. Needs the right issue and a reason. Fault: ticket.not_revoked.
func (s *Service) Reinstate(ctx context.Context, by session.Caller, call repeat.Call, id ticket.ID, reason string) (Ticket, error) {
	return s.change(ctx, by, call, id, reason, newsReleased, act{name: "ticket.reinstate", do: func(ctx context.Context, tx pgx.Tx, t locked) (map[string]any, error) {
		if t.status != ticket.RevokedStatus {
			return nil, t.refuse("ticket.not_revoked", "only a revoked ticket can be reinstated")
		}
		return setStatus(ctx, tx, t, t.open())
	}})
}

// Hold keeps an active ticket from entering until it is released. Needs the
// right issue and a reason. Fault: ticket.not_active.
func (s *Service) Hold(ctx context.Context, by session.Caller, call repeat.Call, id ticket.ID, reason string) (Ticket, error) {
	return s.change(ctx, by, call, id, reason, newsHeld, act{name: "ticket.hold", do: func(ctx context.Context, tx pgx.Tx, t locked) (map[string]any, error) {
		if t.status != ticket.Active {
			return nil, t.refuse("ticket.not_active", "only an active ticket can be held")
		}
		return setStatus(ctx, tx, t, ticket.HeldStatus)
	}})
}

// Release ends a hold. Needs the right issue and a reason. Fault:
// ticket.not_held.
func (s *Service) Release(ctx context.Context, by session.Caller, call repeat.Call, id ticket.ID, reason string) (Ticket, error) {
	return s.change(ctx, by, call, id, reason, newsReleased, act{name: "ticket.release", do: func(ctx context.Context, tx pgx.Tx, t locked) (map[string]any, error) {
		if t.status != ticket.HeldStatus {
			return nil, t.refuse("ticket.not_held", "only a held ticket can be released")
		}
		return setStatus(ctx, tx, t, t.open())
	}})
}

// AllowMove lets the ticket move to another phone by mailed digits once more. Needs
// the right issue and a reason. Faults: ticket.revoked, ticket.generations_used_up.
func (s *Service) AllowMove(ctx context.Context, by session.Caller, call repeat.Call, id ticket.ID, reason string) (Ticket, error) {
	_, err := s.perform(ctx, by, call, id, reason, act{name: "ticket.allow_move", right: session.Issue, do: func(ctx context.Context, tx pgx.Tx, t locked) (map[string]any, error) {
		if err := t.refuseRevoked(); err != nil {
			return nil, err
		}
		_, err := tx.Exec(ctx, `UPDATE tickets SET moves_allowed = moves_allowed + 1 WHERE id = @id`, pgx.NamedArgs{"id": id})
		if pg.Constraint(err) == "tickets_moves_allowed_check" {
			return nil, fault.New(fault.Conflict, "ticket.generations_used_up", "this ticket has moved too often; issue another one").With(err)
		}
		if err != nil {
			return nil, fmt.Errorf("allow a move: %w", err)
		}
		return nil, nil
	}})
	if err != nil {
		return Ticket{}, err
	}
	return s.ticketWithLife(ctx, id)
}
