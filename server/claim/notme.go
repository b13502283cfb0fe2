package claim

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/audit"
	"portillon/server/fault"
	"portillon/server/news"
	"portillon/server/pg"
	"portillon/server/seal"
	"portillon/server/session"
	"portillon/server/ticket"
)

// NotMeCode is what follows the # in the link of the mail about a move: "no.", the
// move, and a secret that is derived from it and stored nowhere. No claim code has a
// point in it.
func NotMeCode(box *seal.Box, move uuid.UUID) string {
	return "no." + b64u(move[:]) + "." + box.Secret("not me", move)
}

// findMove reads which move a code is of. The fault is move.link_unknown.
func (s *Service) findMove(code string) (move uuid.UUID, err error) {
	unknown := fault.New(fault.NotFound, "move.link_unknown", "this is no link of ours; open the link from the mail once more")
	parts := strings.Split(code, ".")
	if len(code) > maxCode || len(parts) != 3 {
		return move, unknown
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(parts[1])
	if err != nil || len(raw) != len(move) {
		return move, unknown
	}
	move = uuid.UUID(raw)
	if subtle.ConstantTimeCompare([]byte(NotMeCode(s.box, move)), []byte(code)) != 1 {
		return uuid.UUID{}, unknown
	}
	return move, nil
}

// MovedTicket is a ticket of a move. Held: it is on hold. Stoppable: "not me" would
// put it on hold.
type MovedTicket struct {
	Ticket    ticket.ID `json:"ticket"`
	Number    int       `json:"number"`
	Seat      string    `json:"seat"`
	Category  string    `json:"category"`
	Admits    int       `json:"admits"`
	Held      bool      `json:"held"`
	Stoppable bool      `json:"stoppable"`
}

// MovedAway is what the holder is shown of a move: when it was, to what kind of
// browser, and what "not me" still does.
type MovedAway struct {
	At         time.Time     `json:"at"`
	Browser    string        `json:"browser"`
	Event      Event         `json:"event"`
	Tickets    []MovedTicket `json:"tickets"`
	ServerTime time.Time     `json:"server_time"`
}

// ShowMove shows the move that the link of a mail is about. It changes nothing: mail
// scanners follow links and run scripts. Fault: move.link_unknown.
func (s *Service) ShowMove(ctx context.Context, code string) (MovedAway, error) {
	return s.aboutMove(ctx, code, func(context.Context, pgx.Tx, uuid.UUID, MovedAway) error { return nil })
}

// NotMe puts the move's tickets on hold, for the holder who did not move them. It is
// for the time until doors open; the staff sees to what comes then. What was given to
// somebody else or got a new link since is not touched: it is another's. Pressed
// twice, it gives the same answer. Faults: move.link_unknown, move.doors_open,
// move.settled when there is nothing left to stop.
func (s *Service) NotMe(ctx context.Context, by session.Caller, code string) (MovedAway, error) {
	var held []ticket.ID
	out, err := s.aboutMove(ctx, code, func(ctx context.Context, tx pgx.Tx, move uuid.UUID, m MovedAway) (err error) {
		held, err = s.holdMove(ctx, tx, by, move, m)
		return err
	})
	if err != nil {
		return MovedAway{}, err
	}
	for _, id := range held {
		s.hub.Publish(ctx, news.Item{Ticket: id, What: news.Held, At: out.ServerTime})
	}
	if len(held) == 0 {
		return out, nil
	}
	return s.ShowMove(ctx, code)
}

func (s *Service) holdMove(ctx context.Context, tx pgx.Tx, by session.Caller, move uuid.UUID, m MovedAway) (held []ticket.ID, err error) {
	stopped := false
	for _, t := range m.Tickets {
		stopped = stopped || t.Held
		if t.Stoppable {
			held = append(held, t.Ticket)
		}
	}
	switch {
	case len(held) == 0 && stopped:
		return nil, nil
	case !m.ServerTime.Before(m.Event.DoorsOpenAt):
		return nil, fault.New(fault.Conflict, "move.doors_open", "doors are open; go to the staff at the entrance")
	case len(held) == 0:
		return nil, fault.New(fault.Conflict, "move.settled", "these tickets have a new link, another holder, or were used since; ask the staff")
	}
	args := pgx.NamedArgs{"move": move, "tickets": held}
	updated, err := tx.Exec(ctx, `
UPDATE tickets SET status = 'held', status_since = portillon_now() WHERE id = ANY(@tickets) AND status = 'active'`, args)
	if err != nil {
		return nil, fmt.Errorf("put the tickets on hold: %w", err)
	}
	if int(updated.RowsAffected()) != len(held) {
		return nil, fmt.Errorf("%d tickets changed under their lock", len(held)-int(updated.RowsAffected()))
	}
	if _, err := tx.Exec(ctx, `UPDATE moves SET not_me_at = coalesce(not_me_at, portillon_now()) WHERE id = @move`, args); err != nil {
		return nil, fmt.Errorf("write down that it was not the holder: %w", err)
	}
	for _, id := range held {
		err := audit.Write(ctx, tx, by, audit.Act{
			Name: "ticket.not_me", Venue: m.Event.Venue, Event: m.Event.Event, Ticket: id, Subject: move,
			Details: map[string]any{"was": string(ticket.Active), "is": string(ticket.HeldStatus)},
		})
		if err != nil {
			return nil, err
		}
	}
	return held, nil
}

// aboutMove locks the move's tickets, reads how they stand, and does what is to be
// done under the lock.
func (s *Service) aboutMove(ctx context.Context, code string, do func(context.Context, pgx.Tx, uuid.UUID, MovedAway) error) (MovedAway, error) {
	move, err := s.findMove(code)
	if err != nil {
		return MovedAway{}, err
	}
	var out MovedAway
	err = pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
SELECT t.id FROM tickets t WHERE t.id IN (SELECT k.ticket_id FROM claims k WHERE k.move_id = @move) ORDER BY t.id FOR NO KEY UPDATE`,
			pgx.NamedArgs{"move": move})
		if err != nil {
			return fmt.Errorf("lock the tickets: %w", err)
		}
		if out, err = readMove(ctx, tx, move); err != nil {
			return err
		}
		return do(ctx, tx, move, out)
	})
	if err != nil {
		return MovedAway{}, err
	}
	return out, nil
}

func readMove(ctx context.Context, tx pgx.Tx, move uuid.UUID) (m MovedAway, err error) {
	e := &m.Event
	err = tx.QueryRow(ctx, `
SELECT m.at, m.browser, e.id, e.name, e.screen, v.id, v.name, v.time_zone, e.doors_open_at, e.starts_at, e.ends_at, portillon_now()
FROM moves m JOIN events e ON e.id = m.event_id JOIN venues v ON v.id = e.venue_id WHERE m.id = @move`, pgx.NamedArgs{"move": move}).
		Scan(&m.At, &m.Browser, &e.Event, &e.Name, &e.Screen, &e.Venue, &e.VenueName, &e.TimeZone, &e.DoorsOpenAt, &e.StartsAt, &e.EndsAt, &m.ServerTime)
	if errors.Is(err, pgx.ErrNoRows) {
		return m, fault.New(fault.NotFound, "move.link_unknown", "this is no link of ours; open the link from the mail once more")
	}
	if err != nil {
		return m, fmt.Errorf("read the move: %w", err)
	}
	m.At, m.ServerTime, m.Event = utc(m.At), utc(m.ServerTime), e.inUTC()
	// A ticket with a newer serial than the claim's has a new link: it is another's now.
	rows, err := tx.Query(ctx, `
SELECT t.id, t.number, t.seat, c.name, t.admits, t.status = 'held' AND t.claim_serial = k.serial, t.status = 'active' AND t.claim_serial = k.serial
FROM claims k JOIN tickets t ON t.id = k.ticket_id JOIN categories c ON c.id = t.category_id
WHERE k.move_id = @move ORDER BY t.number`, pgx.NamedArgs{"move": move})
	if err != nil {
		return m, fmt.Errorf("read the tickets of the move: %w", err)
	}
	m.Tickets, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (t MovedTicket, err error) {
		err = row.Scan(&t.Ticket, &t.Number, &t.Seat, &t.Category, &t.Admits, &t.Held, &t.Stoppable)
		t.Stoppable = t.Stoppable && m.ServerTime.Before(m.Event.DoorsOpenAt)
		return t, err
	})
	if err != nil {
		return m, fmt.Errorf("read the tickets of the move: %w", err)
	}
	return m, nil
}
