package issue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/audit"
	"portillon/server/fault"
	"portillon/server/pg"
	"portillon/server/repeat"
	"portillon/server/session"
	"portillon/server/ticket"
)

// Venue is a place with gates and one time zone (an IANA name).
type Venue struct {
	Venue    ticket.VenueID `json:"venue"`
	Name     string         `json:"name"`
	TimeZone string         `json:"time_zone"`
}

// VenueIn is a venue to make.
type VenueIn struct {
	Name     string `json:"name"`
	TimeZone string `json:"time_zone"`
}

// Gate is where people go in or out of a venue.
type Gate struct {
	Gate  ticket.GateID  `json:"gate"`
	Name  string         `json:"name"`
	Venue ticket.VenueID `json:"venue"`
}

// GateIn is a gate to make.
type GateIn struct {
	Name string `json:"name"`
}

// CreateVenue makes a venue. Needs the right admin everywhere.
func (s *Service) CreateVenue(ctx context.Context, by session.Caller, call repeat.Call, in VenueIn) (Venue, error) {
	if err := by.RequireEverywhere(session.Admin); err != nil {
		return Venue{}, err
	}
	var c checks
	in.Name = c.line("name", in.Name, maxName)
	in.TimeZone = c.timeZone("time_zone", in.TimeZone)
	if err := c.err(); err != nil {
		return Venue{}, err
	}
	id, _, err := s.once(ctx, by, call, func(ctx context.Context, tx pgx.Tx) (uuid.UUID, error) {
		id := uuid.New()
		if _, err := tx.Exec(ctx, `INSERT INTO venues (id, name, time_zone) VALUES (@id, @name, @time_zone)`,
			pgx.NamedArgs{"id": id, "name": in.Name, "time_zone": in.TimeZone}); err != nil {
			return id, fmt.Errorf("make the venue: %w", err)
		}
		return id, audit.Write(ctx, tx, by, audit.Act{Name: "venue.create", Venue: ticket.VenueID(id)})
	})
	if err != nil {
		return Venue{}, err
	}
	return s.venue(ctx, ticket.VenueID(id))
}

// once does what fresh does, in one transaction with the record of the call; a
// call that did it before only learns what it was.
func (s *Service) once(ctx context.Context, by session.Caller, call repeat.Call, fresh func(context.Context, pgx.Tx) (uuid.UUID, error)) (id uuid.UUID, repeated bool, err error) {
	err = pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) (err error) {
		if id, repeated, err = repeat.Find(ctx, tx, by, call); err != nil || repeated {
			return err
		}
		if id, err = fresh(ctx, tx); err != nil {
			return err
		}
		return repeat.Made(ctx, tx, by, call, id)
	})
	return id, repeated, err
}

// GetVenue reads a venue. Needs the right read there.
func (s *Service) GetVenue(ctx context.Context, by session.Caller, id ticket.VenueID) (Venue, error) {
	v, err := s.venue(ctx, id)
	if err != nil {
		return Venue{}, err
	}
	return v, by.Require(session.Read, id)
}

func (s *Service) venue(ctx context.Context, id ticket.VenueID) (Venue, error) {
	v := Venue{Venue: id}
	err := s.pool.QueryRow(ctx, `SELECT name, time_zone FROM venues WHERE id = @id`, pgx.NamedArgs{"id": id}).Scan(&v.Name, &v.TimeZone)
	if errors.Is(err, pgx.ErrNoRows) {
		return Venue{}, fault.New(fault.NotFound, "venue.not_found", "there is no such venue")
	}
	if err != nil {
		return Venue{}, fmt.Errorf("read the venue: %w", err)
	}
	return v, nil
}

// ListVenues lists the venues that the caller may read, by name.
func (s *Service) ListVenues(ctx context.Context, by session.Caller, cursor string) (List[Venue], error) {
	all, venues, err := readable(by)
	if err != nil {
		return List[Venue]{}, err
	}
	afterName, afterID, err := openNamed(cursor)
	if err != nil {
		return List[Venue]{}, err
	}
	rows, err := s.pool.Query(ctx, `
SELECT id, name, time_zone FROM venues
WHERE (@all OR id = ANY (@venues)) AND (name, id) > (@after_name, @after_id)
ORDER BY name, id LIMIT @limit`,
		pgx.NamedArgs{"all": all, "venues": uuids(venues), "after_name": afterName, "after_id": afterID, "limit": pageSize + 1})
	if err != nil {
		return List[Venue]{}, fmt.Errorf("list the venues: %w", err)
	}
	items, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (v Venue, err error) {
		return v, row.Scan(&v.Venue, &v.Name, &v.TimeZone)
	})
	if err != nil {
		return List[Venue]{}, fmt.Errorf("list the venues: %w", err)
	}
	return page(items, func(v Venue) string { return v.Venue.String() + v.Name }), nil
}

// openNamed opens the cursor of a list in the order of name and id.
func openNamed(cursor string) (name string, id uuid.UUID, err error) {
	text, err := openCursor(cursor)
	if err != nil || text == "" {
		return "", uuid.Nil, err
	}
	const length = 36
	if len(text) < length {
		return "", uuid.Nil, badCursor(nil)
	}
	if id, err = uuid.Parse(text[:length]); err != nil {
		return "", uuid.Nil, badCursor(err)
	}
	name = text[length:]
	if !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
		return "", uuid.Nil, badCursor(nil)
	}
	return name, id, nil
}

// uuids gives identifiers to the database, which has one type for all of them.
func uuids[T any](ids []ticket.Of[T]) []uuid.UUID {
	plain := make([]uuid.UUID, len(ids))
	for i, id := range ids {
		plain[i] = id.UUID()
	}
	return plain
}

// CreateGate makes a gate of a venue. Needs the right admin there.
func (s *Service) CreateGate(ctx context.Context, by session.Caller, call repeat.Call, venue ticket.VenueID, in GateIn) (Gate, error) {
	if _, err := s.venue(ctx, venue); err != nil {
		return Gate{}, err
	}
	if err := by.Require(session.Admin, venue); err != nil {
		return Gate{}, err
	}
	var c checks
	in.Name = c.line("name", in.Name, maxName)
	if err := c.err(); err != nil {
		return Gate{}, err
	}
	id, _, err := s.once(ctx, by, call, func(ctx context.Context, tx pgx.Tx) (uuid.UUID, error) {
		id := uuid.New()
		_, err := tx.Exec(ctx, `INSERT INTO gates (id, venue_id, name) VALUES (@id, @venue, @name)`,
			pgx.NamedArgs{"id": id, "venue": venue, "name": in.Name})
		if pg.IsUnique(err, "gates_venue_name_key") {
			return id, fault.New(fault.Conflict, "gate.name_taken", "this venue has a gate with this name")
		}
		if err != nil {
			return id, fmt.Errorf("make the gate: %w", err)
		}
		return id, audit.Write(ctx, tx, by, audit.Act{Name: "gate.create", Venue: venue, Subject: id})
	})
	if err != nil {
		return Gate{}, err
	}
	g := Gate{Gate: ticket.GateID(id), Venue: venue}
	err = s.pool.QueryRow(ctx, `SELECT name FROM gates WHERE id = @id`, pgx.NamedArgs{"id": id}).Scan(&g.Name)
	if err != nil {
		return Gate{}, fmt.Errorf("read the gate: %w", err)
	}
	return g, nil
}

// ListGates lists the gates of a venue by name; there is one page. Needs the
// right read there.
func (s *Service) ListGates(ctx context.Context, by session.Caller, venue ticket.VenueID) (List[Gate], error) {
	if _, err := s.GetVenue(ctx, by, venue); err != nil {
		return List[Gate]{}, err
	}
	rows, err := s.pool.Query(ctx, `SELECT id, name, venue_id FROM gates WHERE venue_id = @venue ORDER BY name, id`,
		pgx.NamedArgs{"venue": venue})
	if err != nil {
		return List[Gate]{}, fmt.Errorf("list the gates: %w", err)
	}
	items, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (g Gate, err error) {
		return g, row.Scan(&g.Gate, &g.Name, &g.Venue)
	})
	if err != nil {
		return List[Gate]{}, fmt.Errorf("list the gates: %w", err)
	}
	return List[Gate]{Items: append([]Gate{}, items...)}, nil
}
