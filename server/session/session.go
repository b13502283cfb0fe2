// Package session knows who asks: people with roles, their passwords, PINs
// and second factors, one-time links, the desk's cookie, gate devices and who is signed on to them,
// API tokens, and the cookie of a wallet. Identify puts the Caller into every
// request; package rights says what a Caller may do.
//
// It promises that whatever identifies somebody is kept hashed; that a disabled
// person and a revoked device or token are no one from the next request on; that
// each one-time link lets one browser in; and that no stranger's wrong guesses
// keep the owner out who asks from elsewhere. It does not know tickets, events or
// scans.
package session

import (
	"context"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"portillon/server/crowd"
	"portillon/server/seal"
	"portillon/server/ticket"
)

// How long what is handed out lasts.
const (
	LinkTTL         = 24 * time.Hour     // a person's one-time link
	PairingTTL      = 5 * time.Minute    // each step of a pairing
	SessionIdle     = 12 * time.Hour     // a desk session that nobody uses
	SessionLifetime = 7 * 24 * time.Hour // a desk session in all

	linkAgain = time.Minute    // a link that was used, for the same Idempotency-Key
	endedKept = 24 * time.Hour // what has ended says how for so long
)

// Prefixes of bearer credentials; 43 characters of base64url follow.
const (
	DevicePrefix = "ptd_"
	TokenPrefix  = "pta_"
)

// Service identifies callers and keeps people, devices and tokens.
type Service struct {
	pool      *pgxpool.Pool
	box       *seal.Box
	publicURL string
	origin    *url.URL
	now       func() time.Time
	log       *slog.Logger
	cookies   *scs.SessionManager
	limits    *limits
	devices   *crowd.Line[*deviceAsked]
	lately    *lately
	hashing   chan struct{} // one slot for each hash under way: each takes 19 MiB
}

// New makes the service. publicURL is the address that people's browsers use: its
// scheme decides the cookies' names and attributes, and links begin with it.
// now serves the sign-in limits only; what is stored has the database's time.
func New(pool *pgxpool.Pool, box *seal.Box, publicURL string, now func() time.Time, log *slog.Logger) *Service {
	s := &Service{
		pool: pool, box: box, publicURL: strings.TrimRight(publicURL, "/"), now: now, log: log,
		limits: newLimits(now), hashing: make(chan struct{}, hashesAtOnce),
	}
	s.devices, s.lately = s.newDeviceLine(), newLately(now)
	s.origin, _ = url.Parse(s.publicURL) // nil: then only the request's own host is an origin
	s.cookies = newCookies(store{pool: pool, now: now}, onTLS(s.publicURL))
	return s
}

// stored is the time as it is answered: UTC, milliseconds.
func stored(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

func storedOrNil(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := stored(*t)
	return &u
}

// null makes a zero identifier NULL.
func null[T any](id ticket.Of[T]) *ticket.Of[T] {
	if id.IsZero() {
		return nil
	}
	return &id
}

// orZero makes NULL a zero identifier.
func orZero[T any](id *ticket.Of[T]) ticket.Of[T] {
	if id == nil {
		return ticket.Of[T]{}
	}
	return *id
}

// pageSize bounds every list of this package.
const pageSize = 200

// page cuts a list that was read with one item more than a page has.
func page[T any](items []T, cursor func(T) string) ([]T, string) {
	if len(items) <= pageSize {
		return items, ""
	}
	items = items[:pageSize]
	return items, cursor(items[len(items)-1])
}

// cursorID reads a list's cursor: the last item's identifier, nil for the start.
// A cursor that is none starts anew.
func cursorID(cursor string) *uuid.UUID {
	id, err := ticket.Parse[struct{}](cursor)
	if err != nil {
		return nil
	}
	last := id.UUID()
	return &last
}

// hold takes a slot for work that needs much memory; release gives it back.
func (s *Service) hold(ctx context.Context) (release func(), err error) {
	select {
	case s.hashing <- struct{}{}:
		return func() { <-s.hashing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
