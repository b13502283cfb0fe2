package issue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/pg"
	"portillon/server/session"
	"portillon/server/ticket"
)

// Ticket is a ticket with its life so far, oldest first.
type Ticket struct {
	Listed
	Event      ticket.EventID `json:"event"`
	EventName  string         `json:"event_name"`
	Order      ticket.OrderID `json:"order"`
	CreatedAt  time.Time      `json:"created_at"`
	History    []Act          `json:"history"`
	Admissions []Admission    `json:"admissions"`
}

// Act is one row of a ticket's history.
type Act struct {
	At         time.Time       `json:"at"`
	Act        string          `json:"act"`
	Actor      string          `json:"actor"` // person, device, token, wallet, system or operator
	Person     ticket.PersonID `json:"person,omitzero"`
	PersonName string          `json:"person_name,omitempty"`
	Device     ticket.DeviceID `json:"device,omitzero"`
	DeviceName string          `json:"device_name,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	Details    map[string]any  `json:"details"`
}

// Admission is one passage through a gate.
type Admission struct {
	Key        ticket.Key       `json:"key"`
	At         time.Time        `json:"at"`
	Gate       ticket.GateID    `json:"gate"`
	GateName   string           `json:"gate_name"`
	Person     ticket.PersonID  `json:"person"`
	PersonName string           `json:"person_name"`
	Device     ticket.DeviceID  `json:"device,omitzero"`
	DeviceName string           `json:"device_name,omitempty"`
	People     int              `json:"people"`
	Direction  ticket.Direction `json:"direction"`
	Kind       ticket.Kind      `json:"kind"`
	Path       string           `json:"path"` // ordinary, override, look_up, recovery or offline
	Reason     string           `json:"reason,omitempty"`
	ShownAt    time.Time        `json:"shown_at,omitzero"` // its answer was on the scanner's screen by then
	Undone     *Undo            `json:"undone,omitempty"`
}

// Undo says who took an admission back, and why.
type Undo struct {
	At         time.Time       `json:"at"`
	Person     ticket.PersonID `json:"person,omitzero"`
	PersonName string          `json:"person_name,omitempty"`
	Reason     string          `json:"reason"`
	// SupersededBy is the admission that took its place, when its answer was lost:
	// then nobody took it back.
	SupersededBy ticket.Key `json:"superseded_by,omitzero"`
}

// GetTicket reads a ticket with its history. Needs the right read at its venue.
func (s *Service) GetTicket(ctx context.Context, by session.Caller, id ticket.ID) (Ticket, error) {
	if err := s.mayTicket(ctx, by, session.Read, id); err != nil {
		return Ticket{}, err
	}
	return s.ticketWithLife(ctx, id)
}

// ticketWithLife reads the ticket, its history and its admissions as they were
// at one moment, so that they agree.
func (s *Service) ticketWithLife(ctx context.Context, id ticket.ID) (t Ticket, err error) {
	err = pg.Snapshot(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) (err error) {
		if t, err = readTicket(ctx, tx, id); err != nil {
			return err
		}
		if t.History, err = history(ctx, tx, id); err != nil {
			return fmt.Errorf("read the ticket's history: %w", err)
		}
		if t.Admissions, err = admissions(ctx, tx, id); err != nil {
			return fmt.Errorf("read the ticket's admissions: %w", err)
		}
		return nil
	})
	return t, err
}

func readTicket(ctx context.Context, q querier, id ticket.ID) (Ticket, error) {
	var t Ticket
	err := q.QueryRow(ctx, `SELECT t.event_id, e.name, t.order_id, t.created_at,`+selectTickets+`
JOIN events e ON e.id = t.event_id WHERE t.id = @id`, pgx.NamedArgs{"id": id}).
		Scan(append([]any{&t.Event, &t.EventName, &t.Order, &t.CreatedAt}, t.targets()...)...)
	if errors.Is(err, pgx.ErrNoRows) {
		return Ticket{}, ticketNotFound()
	}
	if err != nil {
		return Ticket{}, fmt.Errorf("read the ticket: %w", err)
	}
	t.CreatedAt = t.CreatedAt.UTC()
	t.toUTC()
	return t, nil
}

func history(ctx context.Context, q querier, id ticket.ID) ([]Act, error) {
	rows, err := q.Query(ctx, `
SELECT a.at, a.act, a.actor, a.person_id, coalesce(p.name, ''), a.device_id, coalesce(d.name, ''), coalesce(a.reason, ''), a.details
FROM audit a LEFT JOIN people p ON p.id = a.person_id LEFT JOIN devices d ON d.id = a.device_id
WHERE a.ticket_id = @id ORDER BY a.at, a.id`, pgx.NamedArgs{"id": id})
	if err != nil {
		return nil, err
	}
	acts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (a Act, err error) {
		var person, device *uuid.UUID
		err = row.Scan(&a.At, &a.Act, &a.Actor, &person, &a.PersonName, &device, &a.DeviceName, &a.Reason, &a.Details)
		a.At, a.Person, a.Device = a.At.UTC(), ticket.PersonID(value(person)), ticket.DeviceID(value(device))
		return a, err
	})
	return append([]Act{}, acts...), err
}

func admissions(ctx context.Context, q querier, id ticket.ID) ([]Admission, error) {
	rows, err := q.Query(ctx, `
SELECT a.key, a.at, a.gate_id, coalesce(g.name, ''), a.person_id, coalesce(p.name, ''), a.device_id, coalesce(d.name, ''),
  a.people, a.direction, a.kind, a.path, coalesce(a.reason, ''), u.at, u.person_id, coalesce(up.name, ''), coalesce(u.reason, ''), u.superseded_by, r.shown_at
FROM admissions a
LEFT JOIN receipts r ON r.ticket_id = a.ticket_id AND r.key = a.key
LEFT JOIN gates g ON g.id = a.gate_id LEFT JOIN people p ON p.id = a.person_id LEFT JOIN devices d ON d.id = a.device_id
LEFT JOIN undos u ON u.ticket_id = a.ticket_id AND u.key = a.key LEFT JOIN people up ON up.id = u.person_id
WHERE a.ticket_id = @id ORDER BY a.at, a.key`, pgx.NamedArgs{"id": id})
	if err != nil {
		return nil, err
	}
	admissions, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (a Admission, err error) {
		var device, undoPerson, by *uuid.UUID
		var undoAt, shownAt *time.Time
		var undo Undo
		err = row.Scan(&a.Key, &a.At, &a.Gate, &a.GateName, &a.Person, &a.PersonName, &device, &a.DeviceName,
			&a.People, &a.Direction, &a.Kind, &a.Path, &a.Reason, &undoAt, &undoPerson, &undo.PersonName, &undo.Reason, &by, &shownAt)
		a.At, a.Device = a.At.UTC(), ticket.DeviceID(value(device))
		if undoAt != nil {
			undo.At, undo.Person, undo.SupersededBy = undoAt.UTC(), ticket.PersonID(value(undoPerson)), ticket.Key(value(by))
			a.Undone = &undo
		}
		if shownAt != nil {
			a.ShownAt = shownAt.UTC()
		}
		return a, err
	})
	return append([]Admission{}, admissions...), err
}

func value(id *uuid.UUID) uuid.UUID {
	if id == nil {
		return uuid.Nil
	}
	return *id
}
