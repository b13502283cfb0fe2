package session

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/labstack/echo/v4"

	"portillon/server/fault"
	"portillon/server/seal"
	"portillon/server/ticket"
)

const callerKey = "portillon.caller"

// From is the caller of the request, no one before Identify has run.
func From(c echo.Context) Caller {
	by, _ := c.Get(callerKey).(Caller)
	return by
}

// Identify puts the Caller into the request's context: by the bearer credential
// if there is one, else by the cookies. A bearer that is unknown, revoked or
// lapsed is the fault session.unknown_credential and never silently no one; a
// cookie that has lapsed is no one, since browsers send it by themselves.
//
// For the same reason a request that changes something and shows no bearer must
// come from a page of ours: fault session.foreign_origin otherwise.
func (s *Service) Identify() echo.MiddlewareFunc { return s.identifying(s.identify) }

func (s *Service) identifying(identify func(c echo.Context) (Caller, error)) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			by, err := identify(c)
			if err != nil {
				return err
			}
			by.RequestID = c.Response().Header().Get(echo.HeaderXRequestID)
			c.Set(callerKey, by)
			return next(c)
		}
	}
}

func (s *Service) identify(c echo.Context) (Caller, error) {
	r := c.Request()
	if header := r.Header.Get(echo.HeaderAuthorization); header != "" {
		return s.byBearer(r.Context(), header)
	}
	if err := s.sameOrigin(r); err != nil {
		return Caller{}, err
	}
	by, err := s.byCookie(c)
	if err != nil {
		return Caller{}, err
	}
	by.Wallet, err = s.byWallet(r)
	if len(by.Wallet) > 0 && by.Kind == NoOne {
		by.Kind = ByWallet
	}
	return by, err
}

// sameOrigin refuses what another site's page makes a browser send. Every browser
// that our pages run in sends Sec-Fetch-Site or Origin with what is not a GET; a
// request with neither comes from a program, which nobody can trick.
func (s *Service) sameOrigin(r *http.Request) error {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return nil
	}
	foreign := fault.New(fault.Forbidden, "session.foreign_origin", "only pages of this server may send this")
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "", "same-origin", "none":
	default:
		return foreign
	}
	text := r.Header.Get(echo.HeaderOrigin)
	if text == "" {
		return nil
	}
	origin, err := url.Parse(text)
	if err != nil || origin.Host == "" {
		return foreign
	}
	if origin.Host == r.Host || s.origin != nil && origin.Scheme == s.origin.Scheme && origin.Host == s.origin.Host {
		return nil
	}
	return foreign
}

func unknownCredential() error {
	return fault.New(fault.Unauthenticated, "session.unknown_credential", "this credential is unknown, revoked or has lapsed; pair the device again or make a new token")
}

// bearer is the credential of an Authorization header, "" when there is none.
func bearer(header string) string {
	scheme, credential, _ := strings.Cut(header, " ")
	credential = strings.TrimSpace(credential)
	if !strings.EqualFold(scheme, "Bearer") || len(credential) > 100 {
		return ""
	}
	return credential
}

func deviceCredential(header string) (string, bool) {
	credential := bearer(header)
	return credential, strings.HasPrefix(credential, DevicePrefix)
}

func (s *Service) byBearer(ctx context.Context, header string) (Caller, error) {
	credential := bearer(header)
	switch {
	case strings.HasPrefix(credential, DevicePrefix):
		return s.byDevice(ctx, credential)
	case strings.HasPrefix(credential, TokenPrefix):
		return s.byToken(ctx, credential)
	}
	return Caller{}, unknownCredential()
}

func (s *Service) byToken(ctx context.Context, credential string) (Caller, error) {
	by := Caller{Kind: ByToken}
	var venue *ticket.VenueID
	var scopes []string
	err := s.readCaller(ctx, &by, `
SELECT t.id, t.scopes, t.venue_id, p.id, p.name, r.role, r.venue_id, coalesce(r.can_override, false)
FROM api_tokens t
JOIN people p ON p.id = t.person_id AND p.disabled_at IS NULL
LEFT JOIN person_roles r ON r.person_id = p.id
WHERE t.token_hash = @hash AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > portillon_now())`,
		pgx.NamedArgs{"hash": seal.Hash(credential)}, &by.Token, &scopes, &venue, &by.Person, &by.PersonName)
	by.Venue, by.Scopes = orZero(venue), toScopes(scopes)
	return by, err
}

// readCaller reads one row for each role: the given columns, then role, venue_id
// and can_override, which are NULL for somebody without any. No row at all is an
// unknown credential.
func (s *Service) readCaller(ctx context.Context, by *Caller, query string, args pgx.NamedArgs, columns ...any) error {
	rows, err := s.pool.Query(ctx, query, args)
	if err != nil {
		return fmt.Errorf("identify the caller: %w", err)
	}
	var role *Role
	var venue *ticket.VenueID
	var canOverride, found bool
	_, err = pgx.ForEachRow(rows, append(columns, &role, &venue, &canOverride), func() error {
		found = true
		if role != nil {
			by.Grants = append(by.Grants, Grant{Venue: orZero(venue), Role: *role, CanOverride: canOverride})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("identify the caller: %w", err)
	}
	if !found {
		return unknownCredential()
	}
	return nil
}

// byCookie reads the desk session and its person; no one when either has ended.
func (s *Service) byCookie(c echo.Context) (Caller, error) {
	r := c.Request()
	token := cookieValue(r, s.cookies.Cookie.Name)
	if token == "" {
		return Caller{Kind: NoOne}, nil
	}
	ctx, err := s.cookies.Load(r.Context(), token)
	if err != nil {
		return Caller{}, fmt.Errorf("load the session: %w", err)
	}
	by, present, err := s.atDesk(ctx, s.cookies.GetString(ctx, keyPerson))
	if err != nil || by.Kind == NoOne || !bytes.Equal(present, s.cookies.GetBytes(ctx, keyStamp)) {
		return Caller{Kind: NoOne}, err
	}
	if s.now().Sub(time.Unix(s.cookies.GetInt64(ctx, keySeen), 0)) > prolongAfter {
		if goesOn, err := s.prolong(ctx, c.Response()); err != nil || !goesOn {
			return Caller{Kind: NoOne}, err
		}
	}
	c.SetRequest(r.WithContext(ctx))
	return by, nil
}

// atDesk reads a person who is not disabled, his roles and the stamp of his
// present password and second factor. A lapsed session has no person, "", who is no one.
func (s *Service) atDesk(ctx context.Context, person string) (Caller, []byte, error) {
	if person == "" {
		return Caller{Kind: NoOne}, nil, nil
	}
	by := Caller{Kind: ByCookie}
	var password *string
	var factor *uuid.UUID
	err := s.readCaller(ctx, &by, `
SELECT p.id, p.name, p.password_hash, f.id, r.role, r.venue_id, coalesce(r.can_override, false)
FROM people p LEFT JOIN person_roles r ON r.person_id = p.id
LEFT JOIN second_factors f ON f.person_id = p.id AND f.confirmed_at IS NOT NULL
WHERE p.id = @person AND p.disabled_at IS NULL`,
		pgx.NamedArgs{"person": person}, &by.Person, &by.PersonName, &password, &factor)
	if fault.Is(err, "session.unknown_credential") {
		return Caller{Kind: NoOne}, nil, nil
	}
	return by, stamp(password, factor), err
}

// byWallet reads the tickets of the wallet cookie; none when it has lapsed.
func (s *Service) byWallet(r *http.Request) ([]WalletTicket, error) {
	secret := cookieValue(r, WalletCookieName(onTLS(s.publicURL)))
	if secret == "" {
		return nil, nil
	}
	rows, err := s.pool.Query(r.Context(), `
SELECT t.ticket_id, t.generation FROM wallet_sessions s
JOIN wallet_session_tickets t ON t.session_hash = s.hash
WHERE s.hash = @hash AND s.expires_at > portillon_now()`, pgx.NamedArgs{"hash": seal.Hash(secret)})
	if err != nil {
		return nil, fmt.Errorf("identify the wallet: %w", err)
	}
	tickets, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t WalletTicket, err error) {
		err = row.Scan(&t.Ticket, &t.Generation)
		return t, err
	})
	if err != nil {
		return nil, fmt.Errorf("identify the wallet: %w", err)
	}
	return tickets, nil
}
