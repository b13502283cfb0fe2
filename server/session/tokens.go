package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/audit"
	"portillon/server/fault"
	"portillon/server/pg"
	"portillon/server/repeat"
	"portillon/server/seal"
	"portillon/server/ticket"
)

// APIToken is a credential for programs. It acts for its person and can do what
// both its scopes and the person's roles allow.
type APIToken struct {
	TokenID    ticket.TokenID  `json:"token_id"`
	Name       string          `json:"name"`
	Scopes     []Scope         `json:"scopes"`
	Venue      ticket.VenueID  `json:"venue,omitzero"`
	Person     ticket.PersonID `json:"person"`
	PersonName string          `json:"person_name"`
	CreatedAt  time.Time       `json:"created_at"`
	ExpiresAt  *time.Time      `json:"expires_at"`
	RevokedAt  *time.Time      `json:"revoked_at"`
	// Token is set in the answer that makes the token only.
	Token string `json:"token,omitempty"`
}

// TokenIn makes a token; a zero Venue is every venue, a nil ExpiresAt is never.
type TokenIn struct {
	Name      string
	Scopes    []Scope
	Venue     ticket.VenueID
	ExpiresAt *time.Time
	Repeat    repeat.Call
}

// CreateToken makes a token that acts for the caller's person. The caller must be
// an admin at its venue, or everywhere. A token makes no token that can more or
// lasts longer than itself. Faults: request.fields, session.right_missing,
// session.person_required, request.key_conflict.
func (s *Service) CreateToken(ctx context.Context, by Caller, in TokenIn) (APIToken, error) {
	if err := in.allowed(by); err != nil {
		return APIToken{}, err
	}
	if fields := in.fields(); len(fields) > 0 {
		return APIToken{}, fault.Fields(fields...)
	}
	var id ticket.TokenID
	err := pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		earlier, found, err := repeat.Find(ctx, tx, by, in.Repeat)
		if err != nil {
			return err
		}
		if found {
			id = ticket.TokenID(earlier)
			return nil
		}
		id = ticket.TokenID(uuid.New())
		return s.addToken(ctx, tx, by, id, in)
	})
	if err != nil {
		return APIToken{}, err
	}
	made, err := s.readToken(ctx, s.pool, id)
	made.Token = s.tokenSecret(id)
	return made, err
}

func (s *Service) tokenSecret(id ticket.TokenID) string {
	return TokenPrefix + s.box.Secret("token", id)
}

func (in TokenIn) allowed(by Caller) error {
	err := by.Require(Admin, in.Venue)
	if in.Venue.IsZero() {
		err = by.RequireEverywhere(Admin)
	}
	if err != nil {
		return err
	}
	if by.Person.IsZero() {
		return fault.New(fault.Forbidden, "session.person_required", "a token acts for a person; say for whom")
	}
	for _, scope := range in.Scopes {
		if by.Kind == ByToken && !by.HoldsScope(scope) {
			return fault.New(fault.Forbidden, "session.right_missing", "a token cannot give the scope %q, which it has not", scope).Fact("right", string(scope))
		}
	}
	return nil
}

func (in *TokenIn) fields() []fault.Field {
	fields := nameFields(in.Name)
	if len(in.Scopes) == 0 {
		fields = append(fields, fault.Field{Name: "scopes", Code: "required"})
	}
	in.Scopes = slices.Compact(slices.Sorted(slices.Values(in.Scopes)))
	for _, scope := range in.Scopes {
		if !scope.Known() {
			return append(fields, fault.Field{Name: "scopes", Code: "unknown"})
		}
	}
	return fields
}

func (s *Service) addToken(ctx context.Context, tx pgx.Tx, by Caller, id ticket.TokenID, in TokenIn) error {
	scopes := make([]string, len(in.Scopes))
	for i, scope := range in.Scopes {
		scopes[i] = string(scope)
	}
	var timely bool
	err := tx.QueryRow(ctx, `
INSERT INTO api_tokens (id, name, token_hash, scopes, person_id, venue_id, expires_at)
SELECT @token_id, @name, @hash, @scopes, @person, @venue, coalesce(@expires_at, m.expires_at)
FROM (SELECT (SELECT expires_at FROM api_tokens WHERE id = @maker) AS expires_at) m
RETURNING coalesce(expires_at > portillon_now() AND expires_at <= coalesce((SELECT expires_at FROM api_tokens WHERE id = @maker), 'infinity'), true)`,
		pgx.NamedArgs{
			"token_id": id, "name": in.Name, "hash": seal.Hash(s.tokenSecret(id)), "scopes": scopes, "person": by.Person,
			"venue": null(in.Venue), "expires_at": in.ExpiresAt, "maker": null(by.Token),
		}).Scan(&timely)
	if pg.Constraint(err) == "api_tokens_venue_id_fkey" {
		return fault.Fields(fault.Field{Name: "venue", Code: "unknown"})
	}
	if err != nil {
		return fmt.Errorf("make the token: %w", err)
	}
	if !timely {
		return fault.Fields(fault.Field{Name: "expires_at", Code: "out_of_range"})
	}
	if err := repeat.Made(ctx, tx, by, in.Repeat, id.UUID()); err != nil {
		return err
	}
	return audit.Write(ctx, tx, by, audit.Act{
		Name: "token.create", Venue: in.Venue, Subject: id, Details: map[string]any{"scopes": scopes},
	})
}

// TokensIn asks for a page of the tokens. Cursor is the Next of the page before.
type TokensIn struct{ Cursor string }

const apiColumns = `t.id, t.name, t.scopes, t.venue_id, t.person_id, p.name, t.created_at, t.expires_at, t.revoked_at`

// ListTokens lists the tokens, the newest first: all for an admin of everywhere,
// otherwise those of the venues that the caller is an admin of.
func (s *Service) ListTokens(ctx context.Context, by Caller, in TokensIn) (items []APIToken, next string, err error) {
	if err := by.Require(Admin, ticket.VenueID{}); err != nil {
		return nil, "", err
	}
	rows, err := s.pool.Query(ctx, `
SELECT `+apiColumns+` FROM api_tokens t JOIN people p ON p.id = t.person_id
WHERE (@all OR t.venue_id = ANY (@venues))
  AND (@cursor::uuid IS NULL OR (t.created_at, t.id) < (SELECT c.created_at, c.id FROM api_tokens c WHERE c.id = @cursor))
ORDER BY t.created_at DESC, t.id DESC LIMIT @limit`,
		pgx.NamedArgs{"all": by.MayEverywhere(Admin), "venues": adminVenues(by), "cursor": cursorID(in.Cursor), "limit": pageSize + 1})
	if err != nil {
		return nil, "", fmt.Errorf("list the tokens: %w", err)
	}
	items, err = pgx.CollectRows(rows, toToken)
	if err != nil {
		return nil, "", fmt.Errorf("list the tokens: %w", err)
	}
	items, next = page(items, func(t APIToken) string { return t.TokenID.String() })
	return items, next, nil
}

// RevokeToken ends a token from the next request on; a revoked one stays so.
// Faults: token.not_found, session.right_missing.
func (s *Service) RevokeToken(ctx context.Context, by Caller, id ticket.TokenID) (APIToken, error) {
	var revoked APIToken
	err := pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		t, err := s.readToken(ctx, tx, id)
		if err != nil {
			return err
		}
		err = by.Require(Admin, t.Venue)
		if t.Venue.IsZero() {
			err = by.RequireEverywhere(Admin)
		}
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `UPDATE api_tokens SET revoked_at = portillon_now() WHERE id = @token_id AND revoked_at IS NULL`,
			pgx.NamedArgs{"token_id": id})
		if err != nil {
			return fmt.Errorf("revoke the token: %w", err)
		}
		if tag.RowsAffected() > 0 {
			if err := audit.Write(ctx, tx, by, audit.Act{Name: "token.revoke", Venue: t.Venue, Subject: id}); err != nil {
				return err
			}
		}
		revoked, err = s.readToken(ctx, tx, id)
		return err
	})
	return revoked, err
}

func (s *Service) readToken(ctx context.Context, q querier, id ticket.TokenID) (APIToken, error) {
	rows, err := q.Query(ctx, `SELECT `+apiColumns+` FROM api_tokens t JOIN people p ON p.id = t.person_id WHERE t.id = @token_id`,
		pgx.NamedArgs{"token_id": id})
	if err != nil {
		return APIToken{}, fmt.Errorf("read the token: %w", err)
	}
	t, err := pgx.CollectExactlyOneRow(rows, toToken)
	if errors.Is(err, pgx.ErrNoRows) {
		return APIToken{}, fault.New(fault.NotFound, "token.not_found", "there is no such token")
	}
	if err != nil {
		return APIToken{}, fmt.Errorf("read the token: %w", err)
	}
	return t, nil
}

func toToken(row pgx.CollectableRow) (APIToken, error) {
	var t APIToken
	var venue *ticket.VenueID
	var scopes []string
	err := row.Scan(&t.TokenID, &t.Name, &scopes, &venue, &t.Person, &t.PersonName, &t.CreatedAt, &t.ExpiresAt, &t.RevokedAt)
	t.Scopes, t.Venue = toScopes(scopes), orZero(venue)
	t.CreatedAt, t.ExpiresAt, t.RevokedAt = stored(t.CreatedAt), storedOrNil(t.ExpiresAt), storedOrNil(t.RevokedAt)
	return t, err
}

func toScopes(scopes []string) []Scope {
	list := make([]Scope, len(scopes))
	for i, s := range scopes {
		list[i] = Scope(s)
	}
	return list
}
