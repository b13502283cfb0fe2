package issue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/audit"
	"portillon/server/fault"
	"portillon/server/pg"
	"portillon/server/repeat"
	"portillon/server/session"
	"portillon/server/ticket"
)

const maxAdmits = 100 // people on one ticket

// Category is a kind of ticket of an event. Without gates every gate of the
// venue serves it; without validity it is good from doors to the event's end.
type Category struct {
	Category   ticket.CategoryID `json:"category"`
	Event      ticket.EventID    `json:"event"`
	Name       string            `json:"name"`
	Admits     int               `json:"admits"` // people on one ticket
	Paper      bool              `json:"paper"`  // may be printed
	Gates      []ticket.GateID   `json:"gates"`
	ValidFrom  *time.Time        `json:"valid_from,omitempty"`
	ValidUntil *time.Time        `json:"valid_until,omitempty"`
}

// CategoryIn is a category to make; Admits is 1 unless given.
type CategoryIn struct {
	Name       string          `json:"name"`
	Admits     *int            `json:"admits"`
	Paper      bool            `json:"paper"`
	Gates      []ticket.GateID `json:"gates"`
	ValidFrom  *time.Time      `json:"valid_from"`
	ValidUntil *time.Time      `json:"valid_until"`
}

// CreateCategory makes a category. Needs the right admin at the event's venue.
func (s *Service) CreateCategory(ctx context.Context, by session.Caller, call repeat.Call, event ticket.EventID, in CategoryIn) (Category, error) {
	e, err := s.eventFor(ctx, by, session.Admin, event)
	if err != nil {
		return Category{}, err
	}
	cat, err := s.checkCategory(ctx, e, in)
	if err != nil {
		return Category{}, err
	}
	id, _, err := s.once(ctx, by, call, func(ctx context.Context, tx pgx.Tx) (uuid.UUID, error) {
		cat.Category = ticket.CategoryID(uuid.New())
		if err := insertCategory(ctx, tx, cat); err != nil {
			return uuid.Nil, err
		}
		return cat.Category.UUID(), audit.Write(ctx, tx, by,
			audit.Act{Name: "category.create", Venue: e.Venue, Event: event, Subject: cat.Category})
	})
	if err != nil {
		return Category{}, err
	}
	made, err := s.categories(ctx, event, ticket.CategoryID(id))
	if err != nil {
		return Category{}, err
	}
	return made[0], nil
}

func (s *Service) checkCategory(ctx context.Context, e Event, in CategoryIn) (Category, error) {
	var c checks
	cat := Category{Event: e.Event, Name: c.line("name", in.Name, maxName), Admits: 1, Paper: in.Paper}
	set(&cat.Admits, in.Admits)
	if cat.Admits < 1 || cat.Admits > maxAdmits {
		c.add("admits", outOfRange)
	}
	if in.ValidFrom != nil {
		t := c.time("valid_from", *in.ValidFrom)
		cat.ValidFrom = &t
	}
	if in.ValidUntil != nil {
		t := c.time("valid_until", *in.ValidUntil)
		cat.ValidUntil = &t
	}
	if cat.ValidFrom != nil && cat.ValidUntil != nil && !cat.ValidFrom.Before(*cat.ValidUntil) {
		c.add("valid_until", notInOrder)
	}
	cat.Gates = distinct(in.Gates)
	var here int
	err := s.pool.QueryRow(ctx, `SELECT count(*) FROM gates WHERE venue_id = @venue AND id = ANY (@gates)`,
		pgx.NamedArgs{"venue": e.Venue, "gates": uuids(cat.Gates)}).Scan(&here)
	if err != nil {
		return Category{}, fmt.Errorf("look for the gates: %w", err)
	}
	if here != len(cat.Gates) {
		c.add("gates", unknown)
	}
	return cat, c.err()
}

func distinct(gates []ticket.GateID) []ticket.GateID {
	var once []ticket.GateID
	for _, g := range gates {
		if !slices.Contains(once, g) {
			once = append(once, g)
		}
	}
	return once
}

func insertCategory(ctx context.Context, tx pgx.Tx, cat Category) error {
	_, err := tx.Exec(ctx, `
INSERT INTO categories (id, event_id, name, admits, paper, valid_from, valid_until)
VALUES (@id, @event, @name, @admits, @paper, @valid_from, @valid_until)`,
		pgx.NamedArgs{"id": cat.Category, "event": cat.Event, "name": cat.Name, "admits": cat.Admits, "paper": cat.Paper,
			"valid_from": cat.ValidFrom, "valid_until": cat.ValidUntil})
	if pg.IsUnique(err, "categories_event_name_key") {
		return fault.New(fault.Conflict, "category.name_taken", "this event has a category with this name")
	}
	if err != nil {
		return fmt.Errorf("make the category: %w", err)
	}
	_, err = tx.Exec(ctx, `INSERT INTO category_gates (category_id, gate_id) SELECT @id, g FROM unnest(@gates::uuid[]) AS g`,
		pgx.NamedArgs{"id": cat.Category, "gates": uuids(cat.Gates)})
	if err != nil {
		return fmt.Errorf("make the category's gates: %w", err)
	}
	return nil
}

// ListCategories lists an event's categories by name; there is one page. Needs
// the right read at its venue.
func (s *Service) ListCategories(ctx context.Context, by session.Caller, event ticket.EventID) (List[Category], error) {
	if _, err := s.eventFor(ctx, by, session.Read, event); err != nil {
		return List[Category]{}, err
	}
	items, err := s.categories(ctx, event, ticket.CategoryID{})
	return List[Category]{Items: items}, err
}

// categories reads the categories of an event, or the one that is given.
func (s *Service) categories(ctx context.Context, event ticket.EventID, one ticket.CategoryID) ([]Category, error) {
	return readCategories(ctx, s.pool, event, one)
}

func readCategories(ctx context.Context, q querier, event ticket.EventID, one ticket.CategoryID) ([]Category, error) {
	rows, err := q.Query(ctx, `
SELECT c.id, c.event_id, c.name, c.admits, c.paper, c.valid_from, c.valid_until,
  array(SELECT g.gate_id FROM category_gates g WHERE g.category_id = c.id ORDER BY g.gate_id)
FROM categories c WHERE c.event_id = @event AND (@all OR c.id = @one) ORDER BY c.name, c.id`,
		pgx.NamedArgs{"event": event, "all": one.IsZero(), "one": one})
	if err != nil {
		return nil, fmt.Errorf("read the categories: %w", err)
	}
	items, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c Category, err error) {
		var gates []uuid.UUID
		err = row.Scan(&c.Category, &c.Event, &c.Name, &c.Admits, &c.Paper, &c.ValidFrom, &c.ValidUntil, &gates)
		c.Gates = make([]ticket.GateID, len(gates))
		for i, g := range gates {
			c.Gates[i] = ticket.GateID(g)
		}
		c.ValidFrom, c.ValidUntil = inUTC(c.ValidFrom), inUTC(c.ValidUntil)
		return c, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the categories: %w", err)
	}
	return append([]Category{}, items...), nil
}

func inUTC(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}
