package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"portillon/server/ticket"
)

// Values of a desk session. person is whom it is for; stamp changes with the
// password, which ends the person's other sessions; byLink lets somebody who came
// by a one-time link set a password without the old one; seen is when the
// session was last prolonged.
const (
	keyPerson = "person"
	keyStamp  = "stamp"
	keyByLink = "by_link"
	keySeen   = "seen"
)

// prolongAfter spares a write for each request of a desk.
const prolongAfter = 10 * time.Minute

// newCookies sets scs up: tokens are stored hashed, which it does not do by
// itself, and the cookie takes the __Host- prefix where TLS allows it (RFC 6265bis,
// section 4.1.3.2: Secure, Path=/ and no Domain).
func newCookies(kept scs.CtxStore, secure bool) *scs.SessionManager {
	m := scs.New()
	m.Store = kept
	m.HashTokenInStore = true
	m.IdleTimeout = SessionIdle
	m.Lifetime = SessionLifetime
	m.Cookie = scs.SessionCookie{
		Name: cookieName(secure), Path: "/", HttpOnly: true, Secure: secure,
		SameSite: http.SameSiteLaxMode, Persist: true,
	}
	return m
}

func cookieName(secure bool) string {
	if secure {
		return "__Host-portillon"
	}
	return "portillon"
}

// open starts a desk session for the person and sets its cookie; a session that
// the browser had before ends.
func (s *Service) open(ctx context.Context, w http.ResponseWriter, r *http.Request, person ticket.PersonID, stamp []byte, byLink bool) error {
	if err := s.end(ctx, r); err != nil {
		return err
	}
	ctx, err := s.cookies.Load(ctx, "")
	if err != nil {
		return fmt.Errorf("start a session: %w", err)
	}
	s.cookies.Put(ctx, keyPerson, person.String())
	s.cookies.Put(ctx, keyStamp, stamp)
	s.cookies.Put(ctx, keyByLink, byLink)
	return s.save(ctx, w)
}

// save stores the session of the context and sends its cookie.
func (s *Service) save(ctx context.Context, w http.ResponseWriter) error {
	s.cookies.Put(ctx, keySeen, s.now().Unix())
	token, expiry, err := s.cookies.Commit(ctx)
	if err != nil {
		return fmt.Errorf("store the session: %w", err)
	}
	s.cookies.WriteSessionCookie(ctx, w, token, expiry)
	return nil
}

// prolong stores the context's session for another idle time. It goes on only if
// nobody has ended it since this request loaded it: a request that overlaps a
// sign-out must not bring the session back.
func (s *Service) prolong(ctx context.Context, w http.ResponseWriter) (goesOn bool, err error) {
	err = s.save(context.WithValue(ctx, prolonging{}, true), w)
	if errors.Is(err, errEnded) {
		return false, nil
	}
	return err == nil, err
}

// renew changes the token of the context's session after the password changed:
// the session goes on under the new stamp, all the person's others end.
func (s *Service) renew(ctx context.Context, w http.ResponseWriter, stamp []byte) error {
	if err := s.cookies.RenewToken(ctx); err != nil {
		return fmt.Errorf("renew the session: %w", err)
	}
	s.cookies.Put(ctx, keyStamp, stamp)
	s.cookies.Put(ctx, keyByLink, false)
	return s.save(ctx, w)
}

// restamp lets the context's session go on under the new stamp after the second
// factor changed; all the person's others end. The token stays: should the answer be
// lost, the same call can be sent again.
func (s *Service) restamp(ctx context.Context, w http.ResponseWriter, stamp []byte) error {
	s.cookies.Put(ctx, keyStamp, stamp)
	return s.save(ctx, w)
}

// end deletes the session that the request's cookie names, if there is one.
func (s *Service) end(ctx context.Context, r *http.Request) error {
	token := cookieValue(r, s.cookies.Cookie.Name)
	if token == "" {
		return nil
	}
	ctx, err := s.cookies.Load(context.WithoutCancel(ctx), token)
	if err == nil {
		err = s.cookies.Destroy(ctx)
	}
	if err != nil {
		return fmt.Errorf("end the session: %w", err)
	}
	return nil
}

// cookieValue is the value of the request's first cookie of that name, "" for none.
func cookieValue(r *http.Request, name string) string {
	if found := r.CookiesNamed(name); len(found) > 0 {
		return found[0].Value
	}
	return ""
}

// forget tells the browser to drop the cookie.
func (s *Service) forget(ctx context.Context, w http.ResponseWriter) {
	s.cookies.WriteSessionCookie(ctx, w, "", time.Time{})
}

// store keeps desk sessions in the table sessions. scs's own store for pgx asks
// the database's clock directly and takes no context; this one goes by
// portillon_now() and converts scs's deadline, which is by the process's clock.
type store struct {
	pool *pgxpool.Pool
	now  func() time.Time
}

// FindCtx gives the data of a session that has not lapsed.
func (k store) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	var data []byte
	err := k.pool.QueryRow(ctx, `SELECT data FROM sessions WHERE token = @token AND expiry > portillon_now()`,
		pgx.NamedArgs{"token": token}).Scan(&data)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, false, nil
	}
	return data, err == nil, err
}

// prolonging marks the context of a commit that only prolongs: scs has one
// Commit for that and for a new session.
type prolonging struct{}

// errEnded: the session to prolong is not there any more.
var errEnded = errors.New("the session has ended")

// CommitCtx stores a session until the expiry, which is by the process's clock.
func (k store) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	args := pgx.NamedArgs{"token": token, "data": data, "left": expiry.Sub(k.now())}
	if ctx.Value(prolonging{}) != nil {
		updated, err := k.pool.Exec(ctx, `
UPDATE sessions SET data = @data, expiry = portillon_now() + @left::interval WHERE token = @token`, args)
		if err == nil && updated.RowsAffected() == 0 {
			return errEnded
		}
		return err
	}
	_, err := k.pool.Exec(ctx, `
INSERT INTO sessions (token, data, expiry)
VALUES (@token, @data, portillon_now() + @left::interval)
ON CONFLICT (token) DO UPDATE SET data = EXCLUDED.data, expiry = EXCLUDED.expiry`, args)
	return err
}

// DeleteCtx ends a session.
func (k store) DeleteCtx(ctx context.Context, token string) error {
	_, err := k.pool.Exec(ctx, `DELETE FROM sessions WHERE token = @token`, pgx.NamedArgs{"token": token})
	return err
}

// sweep deletes what has lapsed; whoever signs in does it, and leaves to others
// what they sweep at this moment.
func (k store) sweep(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `
DELETE FROM sessions WHERE token IN (
  SELECT token FROM sessions WHERE expiry <= portillon_now() ORDER BY expiry LIMIT 100 FOR UPDATE SKIP LOCKED)`)
	return err
}

// Find completes scs.Store, as do Commit and Delete; scs never calls these three
// on a scs.CtxStore.
func (k store) Find(token string) ([]byte, bool, error) {
	return k.FindCtx(context.Background(), token)
}

// Commit: see Find.
func (k store) Commit(token string, data []byte, expiry time.Time) error {
	return k.CommitCtx(context.Background(), token, data, expiry)
}

// Delete: see Find.
func (k store) Delete(token string) error { return k.DeleteCtx(context.Background(), token) }
