package session_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/labstack/echo/v4"

	"portillon/server/pgtest"
	"portillon/server/problem"
	"portillon/server/seal"
	"portillon/server/session"
	"portillon/server/ticket"
)

// house is the service behind real HTTP with a real database.
type house struct {
	t      *testing.T
	db     *pgtest.DB
	s      *session.Service
	url    string
	venue  ticket.VenueID
	other  ticket.VenueID // another venue
	ahead  atomic.Int64   // how far the process's clock, which stands, is ahead, in nanoseconds
	admins atomic.Int64
	caller atomic.Value // the last request's session.Caller
}

func open(t *testing.T) *house { return openAt(t, "http://gate.test") }

func openAt(t *testing.T, publicURL string) *house {
	t.Helper()
	h := &house{t: t, db: pgtest.New(t)}
	box, err := seal.New(bytes.Repeat([]byte{7}, seal.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	now := func() time.Time { return start.Add(time.Duration(h.ahead.Load())) }
	log := slog.New(slog.DiscardHandler)
	h.s = session.New(h.db.Pool, box, publicURL, now, log)
	server := httptest.NewServer(h.routes(log))
	t.Cleanup(server.Close)
	h.url = server.URL
	h.venue, h.other = h.addVenue("Aurora"), h.addVenue("Ponrepo")
	return h
}

func (h *house) routes(log *slog.Logger) http.Handler {
	e := echo.New()
	e.HTTPErrorHandler = problem.Handler(log, nil)
	e.IPExtractor = echo.ExtractIPFromXFFHeader()
	e.Use(h.s.Identify(), func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			h.caller.Store(session.From(c))
			return next(c)
		}
	})
	e.POST("/v1/session", h.s.HandleSignIn)
	e.DELETE("/v1/session", h.s.HandleSignOut)
	e.POST("/v1/session/link", h.s.HandleSignInLink)
	e.GET("/v1/me", h.s.HandleMe)
	e.POST("/v1/me/password", h.s.HandleSetPassword)
	e.POST("/v1/me/pin", h.s.HandleSetPIN)
	e.POST("/v1/me/second-factor", h.s.HandleBeginFactor)
	e.POST("/v1/me/second-factor/confirm", h.s.HandleConfirmFactor)
	e.POST("/v1/me/second-factor/remove", h.s.HandleRemoveFactor)
	e.POST("/v1/people/:person/second-factor/remove", h.s.HandleResetFactor)
	e.GET("/v1/people", h.s.HandleListPeople)
	e.POST("/v1/people", h.s.HandleAddPerson)
	e.GET("/v1/people/:person", h.s.HandleGetPerson)
	e.PATCH("/v1/people/:person", h.s.HandleChangePerson)
	e.POST("/v1/people/:person/link", h.s.HandlePersonLink)
	e.POST("/v1/pairings", h.s.HandleCreatePairing)
	e.GET("/v1/pairings/:pairing", h.s.HandleGetPairing)
	e.POST("/v1/pairings/:pairing/confirm", h.s.HandleConfirmPairing)
	e.POST("/v1/pairings/:pairing/refuse", h.s.HandleRefusePairing)
	e.POST("/v1/pairings/open", h.s.HandleOpenPairing)
	e.POST("/v1/pairings/collect", h.s.HandleCollectPairing)
	e.GET("/v1/devices", h.s.HandleListDevices)
	e.POST("/v1/devices/:device/revoke", h.s.HandleRevokeDevice)
	e.GET("/v1/device", h.s.HandleDevice)
	e.POST("/v1/device/sign-on", h.s.HandleSignOn)
	e.POST("/v1/device/sign-off", h.s.HandleSignOff)
	e.GET("/v1/tokens", h.s.HandleListTokens)
	e.POST("/v1/tokens", h.s.HandleCreateToken)
	e.POST("/v1/tokens/:token/revoke", h.s.HandleRevokeToken)
	return e
}

// client is one browser or program: its cookie or bearer, and extra headers.
type client struct {
	h       *house
	headers map[string]string
	cookies map[string]*http.Cookie
}

func (h *house) browser() *client {
	return &client{h: h, headers: map[string]string{}, cookies: map[string]*http.Cookie{}}
}

func (h *house) bearer(token string) *client {
	pgtest.Secret(h.t, token)
	return h.browser().with("Authorization", "Bearer "+token)
}

// with is the same browser sending one header more.
func (b *client) with(name, value string) *client {
	headers := map[string]string{name: value}
	for k, v := range b.headers {
		if k != name {
			headers[k] = v
		}
	}
	return &client{h: b.h, headers: headers, cookies: b.cookies}
}

// reply is an answer, decoded as far as tests look at it.
type reply struct {
	status int
	header http.Header
	raw    string
	body   map[string]any
}

func (r reply) code() string                       { return r.text("code") }
func (r reply) text(name string) string            { s, _ := r.body[name].(string); return s }
func (r reply) fact(name string) any               { f, _ := r.body["facts"].(map[string]any); return f[name] }
func (r reply) items() []any                       { items, _ := r.body["items"].([]any); return items }
func (r reply) under(name string) reply            { m, _ := r.body[name].(map[string]any); return reply{body: m} }
func (b *client) get(path string) reply            { return b.send(http.MethodGet, path, nil) }
func (b *client) post(path string, body any) reply { return b.send(http.MethodPost, path, body) }

type object = map[string]any

// send is safe to call from many goroutines as long as no answer sets a cookie.
func (b *client) send(method, path string, body any) reply {
	b.h.t.Helper()
	var reader io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			b.h.t.Fatal(err)
		}
		reader = bytes.NewReader(raw)
	}
	req, err := http.NewRequest(method, b.h.url+path, reader)
	if err != nil {
		b.h.t.Fatal(err)
	}
	for name, value := range b.headers {
		req.Header.Set(name, value)
	}
	for _, cookie := range b.cookies {
		req.AddCookie(cookie)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.h.t.Error(err)
		return reply{}
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		b.h.t.Error(err)
	}
	for _, cookie := range resp.Cookies() {
		if cookie.MaxAge < 0 {
			delete(b.cookies, cookie.Name)
			continue
		}
		pgtest.Secret(b.h.t, cookie.Value)
		b.cookies[cookie.Name] = &http.Cookie{Name: cookie.Name, Value: cookie.Value}
	}
	r := reply{status: resp.StatusCode, header: resp.Header, raw: string(raw)}
	_ = json.Unmarshal(raw, &r.body) // an answer that is no object has no fields
	return r
}

// want fails the test unless the answer has this status and, for a problem, code.
func (r reply) want(t *testing.T, status int, code string) reply {
	t.Helper()
	if r.status != status || r.code() != code {
		t.Fatalf("answered %d %q, want %d %q: %s", r.status, r.code(), status, code, r.raw)
	}
	return r
}

func (h *house) addVenue(name string) ticket.VenueID {
	h.t.Helper()
	id := ticket.VenueID(uuid.New())
	h.exec(`INSERT INTO venues (id, name, time_zone) VALUES (@id, @name, 'Europe/Prague')`, pgx.NamedArgs{"id": id, "name": name})
	return id
}

func (h *house) exec(sql string, args pgx.NamedArgs) {
	h.t.Helper()
	if _, err := h.db.Pool.Exec(h.t.Context(), sql, args); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) count(sql string, args ...any) int {
	h.t.Helper()
	var n int
	if err := h.db.Pool.QueryRow(h.t.Context(), sql, args...).Scan(&n); err != nil {
		h.t.Fatal(err)
	}
	return n
}

func everywhere(role session.Role) []session.Grant { return []session.Grant{{Role: role}} }

func at(venue ticket.VenueID, role session.Role) []session.Grant {
	return []session.Grant{{Venue: venue, Role: role}}
}

// staff adds somebody with a link instead of a password.
func (h *house) staff(name string, grants []session.Grant) session.Person {
	h.t.Helper()
	p, err := h.s.AddPerson(h.t.Context(), session.Operator, session.PersonIn{
		Name: name, Email: strings.ToLower(name) + "@example.org", Grants: grants,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	pgtest.Secret(h.t, secretOf(p.SignInLink))
	return p
}

// atDesk adds somebody and signs him in by his link.
func (h *house) atDesk(name string, grants []session.Grant) (*client, session.Person) {
	h.t.Helper()
	p := h.staff(name, grants)
	b := h.browser()
	b.post("/v1/session/link", object{"code": secretOf(p.SignInLink)}).want(h.t, http.StatusOK, "")
	return b, p
}

// admin is another admin of everywhere each time.
func (h *house) admin() *client {
	h.t.Helper()
	b, _ := h.atDesk("Admin"+strconv.Itoa(int(h.admins.Add(1))), everywhere(session.AdminRole))
	return b
}

// secretOf is what a link has behind its fragment's letter.
func secretOf(link string) string {
	_, fragment, _ := strings.Cut(link, "#")
	_, secret, _ := strings.Cut(fragment, ".")
	return secret
}

func (h *house) setPassword(p session.Person, password string) {
	h.t.Helper()
	pgtest.Secret(h.t, password)
	if _, err := h.s.SetPassword(h.t.Context(), session.Operator, p.Person, session.PasswordIn{Password: password}); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) setPIN(p session.Person, pin string) {
	h.t.Helper()
	if err := h.s.SetPIN(h.t.Context(), session.Operator, p.Person, pin); err != nil {
		h.t.Fatal(err)
	}
}

// device pairs one directly.
func (h *house) device(name string) (*client, ticket.DeviceID) {
	h.t.Helper()
	id, token, err := h.s.PairDevice(h.t.Context(), session.Operator, h.venue, name)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.bearer(token), id
}
