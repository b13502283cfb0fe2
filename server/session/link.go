package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/audit"
	"portillon/server/fault"
	"portillon/server/pg"
	"portillon/server/seal"
	"portillon/server/ticket"
)

// signInURL is the link with a one-time secret. It stands in the fragment, which
// no server log and no mail scanner's GET ever sees; the page sends it by a button.
func (s *Service) signInURL(secret string) string { return s.publicURL + "/desk#s." + secret }

// firstLink is the secret of the link that a person is made with; it is derived,
// so that the answer which made the person can be given again.
func (s *Service) firstLink(person ticket.PersonID) string { return s.box.Secret("first link", person) }

// SignInLink makes a link that signs the person in once within ttl, and lets him
// set a password without the old one; earlier links that were not used end. The
// caller must be an admin wherever the person has a role. Faults:
// person.not_found, person.disabled, session.right_missing.
func (s *Service) SignInLink(ctx context.Context, by Caller, person ticket.PersonID, ttl time.Duration) (string, error) {
	link, _, err := s.signInLink(ctx, by, person, ttl)
	return link, err
}

func (s *Service) signInLink(ctx context.Context, by Caller, person ticket.PersonID, ttl time.Duration) (link string, expires time.Time, err error) {
	secret := seal.Random()
	err = pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		had, err := lockPerson(ctx, tx, person)
		if err != nil {
			return err
		}
		if err := requireOver(by, had); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
UPDATE one_time_links SET expires_at = portillon_now()
WHERE person_id = @person AND used_at IS NULL AND expires_at > portillon_now()`, pgx.NamedArgs{"person": person})
		if err != nil {
			return fmt.Errorf("end the earlier links: %w", err)
		}
		if err := addLink(ctx, tx, person, secret, ttl); err != nil {
			return err
		}
		err = tx.QueryRow(ctx, `
SELECT l.expires_at FROM one_time_links l JOIN people p ON p.id = l.person_id AND p.disabled_at IS NULL
WHERE l.hash = @hash`, pgx.NamedArgs{"hash": seal.Hash(secret)}).Scan(&expires)
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.New(fault.Conflict, "person.disabled", "this person is disabled; enable him first")
		}
		if err != nil {
			return fmt.Errorf("read the link: %w", err)
		}
		return audit.Write(ctx, tx, by, audit.Act{Name: "person.link", Subject: person})
	})
	return s.signInURL(secret), stored(expires), err
}

func addLink(ctx context.Context, tx pgx.Tx, person ticket.PersonID, secret string, ttl time.Duration) error {
	_, err := tx.Exec(ctx, `
INSERT INTO one_time_links (hash, person_id, expires_at) VALUES (@hash, @person, portillon_now() + @ttl::interval)`,
		pgx.NamedArgs{"hash": seal.Hash(secret), "person": person, "ttl": ttl})
	if err != nil {
		return fmt.Errorf("make the link: %w", err)
	}
	return sweepLinks(ctx, tx)
}

// sweepLinks forgets links that ended long ago; until then they say how.
func sweepLinks(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `
DELETE FROM one_time_links WHERE hash IN (
  SELECT hash FROM one_time_links WHERE least(expires_at, used_at) < portillon_now() - @kept::interval
  ORDER BY least(expires_at, used_at) LIMIT 100 FOR UPDATE SKIP LOCKED)`, pgx.NamedArgs{"kept": endedKept})
	if err != nil {
		return fmt.Errorf("sweep the links: %w", err)
	}
	return nil
}

// useLink uses a one-time link up. Of two who send it at once one wins. Whoever
// used it gets in again (again is true) with the same key within linkAgain, since
// the answer with his cookie may have been lost; the zero key repeats nothing.
// Faults: link.unknown, link.used, link.expired.
func useLink(ctx context.Context, tx pgx.Tx, code string, key uuid.UUID) (k known, again bool, err error) {
	args := pgx.NamedArgs{
		"hash": linkHash(code), "key": keyHash(key), "again": linkAgain,
	}
	k, found, err := linkedPerson(ctx, tx, `
UPDATE one_time_links l SET used_at = portillon_now(), used_key = @key FROM people p
WHERE l.hash = @hash AND l.used_at IS NULL AND l.expires_at > portillon_now()
  AND p.id = l.person_id AND p.disabled_at IS NULL
RETURNING p.id, p.name, p.password_hash, (SELECT f.id FROM second_factors f WHERE f.person_id = p.id AND f.confirmed_at IS NOT NULL)`, args)
	if found || err != nil {
		return k, false, err
	}
	// In a statement of its own: it sees what a use that was waited for has written.
	k, found, err = linkedPerson(ctx, tx, `
SELECT p.id, p.name, p.password_hash, f.id FROM one_time_links l JOIN people p ON p.id = l.person_id AND p.disabled_at IS NULL
LEFT JOIN second_factors f ON f.person_id = p.id AND f.confirmed_at IS NOT NULL
WHERE l.hash = @hash AND l.used_key = @key AND l.used_at > portillon_now() - @again::interval`, args)
	if found || err != nil {
		return k, true, err
	}
	return known{}, false, whyNoLink(ctx, tx, args)
}

func linkHash(code string) []byte {
	return seal.Hash(strings.TrimPrefix(strings.TrimSpace(code), "s."))
}

// linkOwner is the person of a link, used or not; nobody for one that is none.
func (s *Service) linkOwner(ctx context.Context, code string) (known, error) {
	var person ticket.PersonID
	err := s.pool.QueryRow(ctx, `SELECT person_id FROM one_time_links WHERE hash = @hash`,
		pgx.NamedArgs{"hash": linkHash(code)}).Scan(&person)
	if err == nil {
		k, err := s.person(ctx, person, "")
		if fault.Is(err, "person.not_found") { // disabled: useLink says what of the link
			return known{}, nil
		}
		return k, err
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return known{}, nil
	}
	return known{}, fmt.Errorf("find whose link it is: %w", err)
}

func linkedPerson(ctx context.Context, tx pgx.Tx, query string, args pgx.NamedArgs) (k known, found bool, err error) {
	err = tx.QueryRow(ctx, query, args).Scan(&k.id, &k.name, &k.password, &k.factor)
	if errors.Is(err, pgx.ErrNoRows) {
		return known{}, false, nil
	}
	if err != nil {
		return known{}, false, fmt.Errorf("use the link: %w", err)
	}
	return k, true, nil
}

// keyHash is what is kept of a key: with the link's secret it lets somebody in.
func keyHash(key uuid.UUID) []byte {
	if key == uuid.Nil {
		return nil
	}
	return seal.Hash(key.String())
}

func whyNoLink(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs) error {
	var used bool
	err := tx.QueryRow(ctx, `SELECT used_at IS NOT NULL FROM one_time_links WHERE hash = @hash`, args).Scan(&used)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return fault.New(fault.NotFound, "link.unknown", "this link is not one of ours, or lapsed long ago; copy it whole, or ask an admin for another one")
	case err != nil:
		return fmt.Errorf("look the link up: %w", err)
	case used:
		return fault.New(fault.Gone, "link.used", "this link has been used; ask an admin for another one")
	}
	return fault.New(fault.Gone, "link.expired", "this link has lapsed; ask an admin for another one")
}
