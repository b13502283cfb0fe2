package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/ticket"
)

// querier is the pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// known is what signing in needs of a person.
type known struct {
	id       ticket.PersonID
	name     string
	email    string
	password *string
	pin      *string
	factor   *uuid.UUID // the second factor, once it was confirmed
}

// stamp names the present password and second factor without telling them.
func (k known) stamp() []byte { return stamp(k.password, k.factor) }

// person finds somebody who is not disabled, by id or by e-mail address.
func (s *Service) person(ctx context.Context, id ticket.PersonID, email string) (known, error) {
	var k known
	err := s.pool.QueryRow(ctx, `
SELECT p.id, p.name, p.email, p.password_hash, p.pin_hash, f.id
FROM people p LEFT JOIN second_factors f ON f.person_id = p.id AND f.confirmed_at IS NOT NULL
WHERE (p.id = @person OR p.email = @email) AND p.disabled_at IS NULL`,
		pgx.NamedArgs{"person": null(id), "email": email}).Scan(&k.id, &k.name, &k.email, &k.password, &k.pin, &k.factor)
	if errors.Is(err, pgx.ErrNoRows) {
		return known{}, personNotFound()
	}
	if err != nil {
		return known{}, fmt.Errorf("find the person: %w", err)
	}
	return k, nil
}

// PeopleIn asks for a page of the people. Cursor is the Next of the page before.
type PeopleIn struct{ Cursor string }

const peopleColumns = `p.id, p.name, p.email, p.disabled_at IS NOT NULL, p.password_hash IS NOT NULL, p.pin_hash IS NOT NULL,
  EXISTS (SELECT FROM second_factors f WHERE f.person_id = p.id AND f.confirmed_at IS NOT NULL), p.created_at`

// ListPeople lists the people by name: all of them for an admin of everywhere,
// otherwise those with a role at a venue that the caller is an admin of.
func (s *Service) ListPeople(ctx context.Context, by Caller, in PeopleIn) (items []Person, next string, err error) {
	if err := by.Require(Admin, ticket.VenueID{}); err != nil {
		return nil, "", err
	}
	rows, err := s.pool.Query(ctx, `
SELECT `+peopleColumns+` FROM people p
WHERE (@all OR EXISTS (SELECT FROM person_roles r WHERE r.person_id = p.id AND r.venue_id = ANY (@venues)))
  AND (@cursor::uuid IS NULL OR (p.name, p.id) > (SELECT c.name, c.id FROM people c WHERE c.id = @cursor))
ORDER BY p.name, p.id LIMIT @limit`,
		pgx.NamedArgs{"all": by.MayEverywhere(Admin), "venues": adminVenues(by), "cursor": cursorID(in.Cursor), "limit": pageSize + 1})
	if err != nil {
		return nil, "", fmt.Errorf("list the people: %w", err)
	}
	items, err = pgx.CollectRows(rows, toPerson)
	if err != nil {
		return nil, "", fmt.Errorf("list the people: %w", err)
	}
	items, next = page(items, func(p Person) string { return p.Person.String() })
	return items, next, s.fillGrants(ctx, items)
}

// GetPerson shows one of those whom ListPeople lists. Faults: person.not_found,
// session.right_missing.
func (s *Service) GetPerson(ctx context.Context, by Caller, person ticket.PersonID) (Person, error) {
	if err := by.Require(Admin, ticket.VenueID{}); err != nil {
		return Person{}, err
	}
	p, err := s.readPerson(ctx, person)
	if err != nil {
		return Person{}, err
	}
	for _, g := range p.Grants {
		if !g.Venue.IsZero() && by.May(Admin, g.Venue) {
			return p, nil
		}
	}
	return p, by.RequireEverywhere(Admin)
}

// PersonByEmail finds a person, disabled or not. Fault: person.not_found.
func (s *Service) PersonByEmail(ctx context.Context, by Caller, email string) (Person, error) {
	var id ticket.PersonID
	err := s.pool.QueryRow(ctx, `SELECT id FROM people WHERE email = @email`, pgx.NamedArgs{"email": canonical(email)}).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return Person{}, personNotFound()
	}
	if err != nil {
		return Person{}, fmt.Errorf("find the person: %w", err)
	}
	p, err := s.readPerson(ctx, id)
	if err != nil {
		return Person{}, err
	}
	return p, requireOver(by, p.Grants)
}

func (s *Service) readPerson(ctx context.Context, person ticket.PersonID) (Person, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+peopleColumns+` FROM people p WHERE p.id = @person`, pgx.NamedArgs{"person": person})
	if err != nil {
		return Person{}, fmt.Errorf("read the person: %w", err)
	}
	p, err := pgx.CollectExactlyOneRow(rows, toPerson)
	if errors.Is(err, pgx.ErrNoRows) {
		return Person{}, personNotFound()
	}
	if err != nil {
		return Person{}, fmt.Errorf("read the person: %w", err)
	}
	p.Grants, err = readGrants(ctx, s.pool, person)
	return p, err
}

func toPerson(row pgx.CollectableRow) (Person, error) {
	var p Person
	var created time.Time
	err := row.Scan(&p.Person, &p.Name, &p.Email, &p.Disabled, &p.HasPassword, &p.HasPIN, &p.HasSecondFactor, &created)
	p.CreatedAt, p.Grants = stored(created), []Grant{}
	return p, err
}

func (s *Service) fillGrants(ctx context.Context, people []Person) error {
	at := make(map[ticket.PersonID]int, len(people))
	ids := make([]ticket.PersonID, len(people))
	for i, p := range people {
		at[p.Person], ids[i] = i, p.Person
	}
	rows, err := s.pool.Query(ctx, `
SELECT person_id, venue_id, role, can_override FROM person_roles WHERE person_id = ANY (@ids) ORDER BY venue_id NULLS FIRST`,
		pgx.NamedArgs{"ids": ids})
	if err != nil {
		return fmt.Errorf("read the roles: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var person ticket.PersonID
		g, err := scanGrant(rows, &person)
		if err != nil {
			return fmt.Errorf("read the roles: %w", err)
		}
		people[at[person]].Grants = append(people[at[person]].Grants, g)
	}
	return rows.Err()
}

func readGrants(ctx context.Context, q querier, person ticket.PersonID) ([]Grant, error) {
	rows, err := q.Query(ctx, `
SELECT venue_id, role, can_override FROM person_roles WHERE person_id = @person ORDER BY venue_id NULLS FIRST`,
		pgx.NamedArgs{"person": person})
	if err != nil {
		return nil, fmt.Errorf("read the roles: %w", err)
	}
	grants, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Grant, error) { return scanGrant(row) })
	if err != nil {
		return nil, fmt.Errorf("read the roles: %w", err)
	}
	return grants, nil
}

// scanGrant reads venue_id, role, can_override after the given columns.
func scanGrant(row pgx.CollectableRow, before ...any) (Grant, error) {
	var g Grant
	var venue *ticket.VenueID
	err := row.Scan(append(before, &venue, &g.Role, &g.CanOverride)...)
	g.Venue = orZero(venue)
	return g, err
}

// adminVenues are the venues that the caller is an admin of by name; whoever is
// one everywhere is asked for by MayEverywhere.
func adminVenues(by Caller) []ticket.VenueID {
	venues := []ticket.VenueID{}
	if !by.Venue.IsZero() {
		if by.May(Admin, by.Venue) {
			venues = append(venues, by.Venue)
		}
		return venues
	}
	for _, g := range by.Grants {
		if !g.Venue.IsZero() && by.May(Admin, g.Venue) {
			venues = append(venues, g.Venue)
		}
	}
	return venues
}
