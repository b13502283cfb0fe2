package session_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/pgtest"
	"portillon/server/seal"
	"portillon/server/session"
	"portillon/server/ticket"
)

const password = "a long enough password"

func (h *house) from(address string) *client { return h.browser().with("X-Forwarded-For", address) }

func signIn(b *client, email, password string) reply {
	return b.post("/v1/session", object{"email": email, "password": password})
}

func TestWhateverIsWrongAtSigningInTheAnswerIsTheSame(t *testing.T) {
	t.Parallel()
	h := open(t)
	p := h.staff("Eva", nil)
	h.staff("Nopassword", nil)
	h.setPassword(p, password)
	var first reply
	for i, c := range [][2]string{{p.Email, "another password"}, {"nobody@example.org", password}, {"nopassword@example.org", ""}, {"nul\x00", password}, {strings.Repeat("x", 3000), password}} {
		r := signIn(h.from("198.51.100."+strconv.Itoa(i)), c[0], c[1]).want(t, http.StatusUnauthorized, "session.wrong_credentials")
		if i == 0 {
			first = r
		}
		if r.raw != first.raw || len(r.header["Set-Cookie"]) > 0 {
			t.Errorf("%q is told apart: %s", c[0], r.raw)
		}
	}
	signIn(h.browser(), p.Email, password).want(t, http.StatusOK, "")
}

func TestTheCookieHasAllItsAttributesWithAndWithoutTLS(t *testing.T) {
	t.Parallel()
	for publicURL, want := range map[string]struct {
		name   string
		secure bool
	}{
		"http://gate.test":   {"portillon", false},
		"https://gate.test/": {"__Host-portillon", true},
		"HTTPS://gate.test":  {"__Host-portillon", true},
	} {
		h := openAt(t, publicURL)
		p := h.staff("Eva", nil)
		r := h.browser().post("/v1/session/link", object{"code": secretOf(p.SignInLink)}).want(t, http.StatusOK, "")
		cookie, err := http.ParseSetCookie(r.header.Get("Set-Cookie"))
		if err != nil {
			t.Fatal(err)
		}
		pgtest.Secret(t, cookie.Value)
		if cookie.Name != want.name || cookie.Secure != want.secure || !cookie.HttpOnly || cookie.Path != "/" ||
			cookie.Domain != "" || cookie.SameSite != http.SameSiteLaxMode {
			t.Errorf("%s: %s", publicURL, r.header.Get("Set-Cookie"))
		}
		if d := time.Duration(cookie.MaxAge) * time.Second; d < session.SessionIdle-time.Minute || d > session.SessionIdle+time.Minute {
			t.Errorf("%s: the cookie lasts %v", publicURL, d)
		}
	}
}

func TestASweepOfSessionsWaitsForNobody(t *testing.T) {
	t.Parallel()
	h := open(t)
	ctx := context.Background()
	p := h.staff("Eva", nil)
	h.setPassword(p, password)
	if _, err := h.db.Pool.Exec(ctx, `
INSERT INTO sessions (token, data, expiry) SELECT 'lapsed ' || n, '', portillon_now() - interval '1 hour' FROM generate_series(1, 3) AS n`); err != nil {
		t.Fatal(err)
	}
	other, err := h.db.Pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Rollback(ctx) }()
	if _, err := other.Exec(ctx, `DELETE FROM sessions WHERE token = 'lapsed 2'`); err != nil {
		t.Fatal(err)
	}
	answered := make(chan int, 1)
	go func() { answered <- signIn(h.browser(), p.Email, password).status }()
	select {
	case status := <-answered:
		if status != http.StatusOK {
			t.Fatalf("signing in while another's sweep is under way: %d", status)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("signing in waits for another's sweep")
	}
	if err := other.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := h.db.Pool.QueryRow(ctx, `SELECT count(*) FROM sessions WHERE token LIKE 'lapsed %'`).Scan(&left); err != nil || left != 1 {
		t.Errorf("%d lapsed sessions are left, %v; want the one that was held", left, err)
	}
}

func TestADeskSessionEndsWhenItIsIdleAndIsProlongedByUse(t *testing.T) {
	t.Parallel()
	h := open(t)
	idle, _ := h.atDesk("Eva", nil)
	h.db.Shift(t, session.SessionIdle-time.Minute)
	idle.get("/v1/me").want(t, http.StatusOK, "")
	h.db.Shift(t, 2*time.Minute)
	idle.get("/v1/me").want(t, http.StatusUnauthorized, "session.required")

	busy, _ := h.atDesk("Karel", nil)
	move := func(d time.Duration) { h.db.Shift(t, d); h.ahead.Add(int64(d)) }
	move(11 * time.Hour)
	if r := busy.get("/v1/me").want(t, http.StatusOK, ""); r.header.Get("Set-Cookie") == "" {
		t.Error("a session in use is not prolonged")
	}
	if r := busy.get("/v1/me").want(t, http.StatusOK, ""); r.header.Get("Set-Cookie") != "" {
		t.Error("every request writes the session")
	}
}

func TestSigningOutEndsTheSessionForWhoeverHasTheCookie(t *testing.T) {
	t.Parallel()
	h := open(t)
	b, _ := h.atDesk("Eva", nil)
	thief := &client{h: h, cookies: map[string]*http.Cookie{"portillon": b.cookies["portillon"]}}
	thief.get("/v1/me").want(t, http.StatusOK, "")
	b.send(http.MethodDelete, "/v1/session", nil).want(t, http.StatusNoContent, "")
	if len(b.cookies) != 0 {
		t.Error("the cookie stays")
	}
	thief.get("/v1/me").want(t, http.StatusUnauthorized, "session.required")
	b.send(http.MethodDelete, "/v1/session", nil).want(t, http.StatusNoContent, "")
}

func TestSigningInAgainEndsTheBrowsersEarlierSession(t *testing.T) {
	t.Parallel()
	h := open(t)
	b, p := h.atDesk("Eva", nil)
	before := &client{h: h, cookies: map[string]*http.Cookie{"portillon": b.cookies["portillon"]}}
	h.setPassword(p, password)
	signIn(b, p.Email, password).want(t, http.StatusOK, "")
	if b.cookies["portillon"].Value == before.cookies["portillon"].Value {
		t.Error("the token is the one from before signing in")
	}
	before.get("/v1/me").want(t, http.StatusUnauthorized, "session.required")
	if n := h.count(`SELECT count(*) FROM sessions`); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

func TestANewPasswordEndsThePersonsOtherSessionsAndKeepsThisOne(t *testing.T) {
	t.Parallel()
	h := open(t)
	p := h.staff("Eva", nil)
	h.setPassword(p, password)
	here, there := h.browser(), h.browser()
	signIn(here, p.Email, password).want(t, http.StatusOK, "")
	signIn(there, p.Email, password).want(t, http.StatusOK, "")
	pgtest.Secret(t, "quite another password")
	here.post("/v1/me/password", object{"password": "quite another password", "current": password}).want(t, http.StatusNoContent, "")
	here.get("/v1/me").want(t, http.StatusOK, "")
	there.get("/v1/me").want(t, http.StatusUnauthorized, "session.required")
	signIn(h.browser(), p.Email, password).want(t, http.StatusUnauthorized, "session.wrong_credentials")
	device, _ := h.device("Handheld")
	device.post("/v1/me/password", object{"password": password}).want(t, http.StatusForbidden, "session.desk_required")
	device.post("/v1/me/pin", object{"pin": "271828"}).want(t, http.StatusForbidden, "session.desk_required")
	h.browser().post("/v1/me/pin", object{"pin": "271828"}).want(t, http.StatusForbidden, "session.desk_required")
}

func TestARequestThatOverlapsASignOutDoesNotBringTheSessionBack(t *testing.T) {
	t.Parallel()
	h := open(t)
	b, _ := h.atDesk("Eva", nil)
	h.db.Shift(t, 11*time.Hour)
	h.ahead.Add(int64(11 * time.Hour)) // the next request prolongs
	signOut, err := h.db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = signOut.Rollback(context.Background()) })
	if _, err := signOut.Exec(t.Context(), `DELETE FROM sessions`); err != nil {
		t.Fatal(err)
	}
	answered := make(chan reply, 1)
	go func() { answered <- b.get("/v1/me") }()
	h.awaitWaiting(signOut)
	if err := signOut.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := <-answered
	r.want(t, http.StatusUnauthorized, "session.required")
	if n := h.count(`SELECT count(*) FROM sessions`); n != 0 || r.header.Get("Set-Cookie") != "" {
		t.Errorf("%d sessions after the sign-out, cookie %q", n, r.header.Get("Set-Cookie"))
	}
}

// awaitWaiting returns once somebody waits for this transaction.
func (h *house) awaitWaiting(tx pgx.Tx) {
	h.t.Helper()
	patience, cancel := context.WithTimeout(h.t.Context(), 20*time.Second)
	defer cancel()
	for h.count(`SELECT count(*) FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))`, tx.Conn().PgConn().PID()) == 0 {
		if patience.Err() != nil {
			h.t.Fatal("nobody waits")
		}
	}
}

func TestOnlyOurOwnPagesMayChangeAnything(t *testing.T) {
	t.Parallel()
	h := openAt(t, "https://gate.test")
	b, _ := h.atDesk("Eva", nil)
	host := strings.TrimPrefix(h.url, "http://")
	for _, c := range []struct {
		headers map[string]string
		foreign bool
	}{
		{map[string]string{}, false}, // no browser
		{map[string]string{"Origin": "https://gate.test", "Sec-Fetch-Site": "same-origin"}, false},
		{map[string]string{"Origin": "http://" + host}, false},
		{map[string]string{"Sec-Fetch-Site": "none"}, false},
		{map[string]string{"Sec-Fetch-Site": "cross-site"}, true},
		{map[string]string{"Sec-Fetch-Site": "same-site", "Origin": "https://gate.test"}, true},
		{map[string]string{"Origin": "https://evil.test"}, true},
		{map[string]string{"Origin": "http://gate.test"}, true},
		{map[string]string{"Origin": "https://gate.test.evil.test"}, true},
		{map[string]string{"Origin": "null"}, true},
	} {
		page := &client{h: h, headers: c.headers, cookies: b.cookies}
		signedIn := page.post("/v1/me/pin", object{"pin": "271828"})
		stranger := &client{h: h, headers: c.headers, cookies: map[string]*http.Cookie{}}
		link := stranger.post("/v1/session/link", object{"code": "x"})
		if c.foreign {
			signedIn.want(t, http.StatusForbidden, "session.foreign_origin")
			link.want(t, http.StatusForbidden, "session.foreign_origin")
			page.get("/v1/me").want(t, http.StatusOK, "")
			continue
		}
		signedIn.want(t, http.StatusNoContent, "")
		link.want(t, http.StatusNotFound, "link.unknown")
	}
	device, _ := h.device("Handheld")
	device.with("Origin", "https://evil.test").post("/v1/device/sign-off", nil).want(t, http.StatusOK, "")
}

func TestWrongPasswordsWaitLongerAndLongerButNotTheOwnerElsewhere(t *testing.T) {
	t.Parallel()
	h := open(t)
	p := h.staff("Eva", nil)
	h.setPassword(p, password)
	stranger, owner := h.from("203.0.113.9"), h.from("192.0.2.1")
	for range 5 {
		signIn(stranger, p.Email, "guess guess guess").want(t, http.StatusUnauthorized, "session.wrong_credentials")
	}
	for _, wait := range []int{1, 2, 4, 8, 16, 32} {
		r := signIn(stranger, p.Email, "guess guess guess").want(t, http.StatusTooManyRequests, "session.too_many_tries")
		if r.header.Get("Retry-After") != strconv.Itoa(wait) {
			t.Errorf("Retry-After %s, want %d", r.header.Get("Retry-After"), wait)
		}
		h.ahead.Add(int64(time.Duration(wait) * time.Second))
		signIn(stranger, p.Email, "guess guess guess").want(t, http.StatusUnauthorized, "session.wrong_credentials")
	}
	signIn(stranger, p.Email, password).want(t, http.StatusTooManyRequests, "session.too_many_tries")
	signIn(owner, p.Email, password).want(t, http.StatusOK, "")
	h.ahead.Add(int64(time.Hour + time.Minute))
	signIn(stranger, p.Email, password).want(t, http.StatusOK, "")
}

func TestOneWhoForgotHisPasswordDoesNotKeepHisColleaguesFromChangingTheirs(t *testing.T) {
	t.Parallel()
	h := open(t)
	eva, karel := h.staff("Eva", nil), h.staff("Karel", nil)
	h.setPassword(eva, password)
	h.setPassword(karel, password)
	forgetful, colleague := h.browser(), h.browser()
	signIn(forgetful, eva.Email, password).want(t, http.StatusOK, "")
	signIn(colleague, karel.Email, password).want(t, http.StatusOK, "")
	change := func(b *client, current string) reply {
		return b.post("/v1/me/password", object{"password": "quite another password", "current": current})
	}
	for range 55 {
		change(forgetful, "I have forgotten it").want(t, http.StatusForbidden, "session.wrong_password")
		h.ahead.Add(int64(5 * time.Minute)) // the longest that one has to wait
		h.db.Shift(t, 5*time.Minute)
	}
	h.ahead.Add(-int64(5 * time.Minute))
	change(forgetful, password).want(t, http.StatusTooManyRequests, "session.too_many_tries")
	change(colleague, password).want(t, http.StatusNoContent, "")
}

// walletCookie makes a wallet session with one ticket and gives its cookie.
func (h *house) walletCookie(lasts time.Duration) (*http.Cookie, ticket.ID) {
	h.t.Helper()
	value, id := seal.Random(), ticket.ID(uuid.New())
	pgtest.Secret(h.t, value)
	h.exec(`
WITH e AS (INSERT INTO events (id, venue_id, name, doors_open_at, starts_at, ends_at, claim_from)
           VALUES (gen_random_uuid(), @venue, 'Film', now(), now(), now() + interval '2 hours', now()) RETURNING id),
c AS (INSERT INTO categories (id, event_id, name) SELECT gen_random_uuid(), id, 'Standard' FROM e RETURNING id, event_id),
o AS (INSERT INTO orders (id, event_id) SELECT gen_random_uuid(), event_id FROM c RETURNING id),
t AS (INSERT INTO tickets (id, event_id, category_id, order_id, number, admits) SELECT @ticket, c.event_id, c.id, o.id, 1, 1 FROM c, o RETURNING id),
k AS (INSERT INTO claims (ticket_id, generation, kind) SELECT id, 3, 'paper' FROM t RETURNING ticket_id, generation),
s AS (INSERT INTO wallet_sessions (hash, expires_at) VALUES (@hash, portillon_now() + @lasts::interval) RETURNING hash)
INSERT INTO wallet_session_tickets (ticket_id, generation, session_hash) SELECT k.ticket_id, k.generation, s.hash FROM k, s`,
		pgx.NamedArgs{"venue": h.venue, "ticket": id, "hash": seal.Hash(value), "lasts": lasts})
	return &http.Cookie{Name: session.WalletCookieName(false), Value: value}, id
}

func TestOneBrowserMayBeADeskAndAWalletAtOnce(t *testing.T) {
	t.Parallel()
	h := open(t)
	cookie, id := h.walletCookie(time.Hour)
	wallet := h.browser()
	wallet.cookies[cookie.Name] = cookie
	wallet.get("/v1/me").want(t, http.StatusUnauthorized, "session.required")
	by := h.caller.Load().(session.Caller)
	if by.Kind != session.ByWallet || len(by.Wallet) != 1 || by.Wallet[0] != (session.WalletTicket{Ticket: id, Generation: 3}) {
		t.Fatalf("the wallet's caller is %+v", by)
	}
	both, _ := h.atDesk("Eva", nil)
	both.cookies[cookie.Name] = cookie
	both.get("/v1/me").want(t, http.StatusOK, "")
	by = h.caller.Load().(session.Caller)
	if by.Kind != session.ByCookie || by.Require(session.Wallet, ticket.VenueID{}) != nil || by.Require(session.Staff, ticket.VenueID{}) != nil {
		t.Errorf("the caller with both cookies is %+v", by)
	}
	h.db.Shift(t, time.Hour)
	wallet.get("/v1/me")
	if by = h.caller.Load().(session.Caller); by.Kind != session.NoOne || by.May(session.Wallet, ticket.VenueID{}) {
		t.Errorf("a lapsed wallet session is %+v", by)
	}
}
