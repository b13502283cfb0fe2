package claim

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/labstack/echo/v4"

	"portillon/server/news"
	"portillon/server/pgtest"
	"portillon/server/problem"
	"portillon/server/seal"
	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/wallet"
)

var quiet = slog.New(slog.DiscardHandler)

// claimKey derives the claim codes of these tests.
var claimKey = []byte("the claim key of tests: 32 bytes")

const iPhone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1"

// house is an event with an order of tickets on a running server.
type house struct {
	db    *pgtest.DB
	hub   *news.Hub
	url   string
	venue ticket.VenueID
	event ticket.EventID
	order ticket.OrderID
	// doors open in an hour, claims are possible since yesterday.
	tickets []ticket.ID
	code    string
}

func newHouse(t *testing.T, count int) house {
	t.Helper()
	return served(t, pgtest.New(t), count, "http://127.0.0.1")
}

func served(t *testing.T, db *pgtest.DB, count int, publicURL string) house {
	t.Helper()
	h := house{
		db: db, hub: news.New(db.Pool, db.URL, quiet), venue: ticket.VenueID(ticket.New[int]()),
		event: ticket.EventID(ticket.New[int]()), order: ticket.OrderID(ticket.New[int]()),
	}
	box, err := seal.New(make([]byte, seal.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	s := New(db.Pool, h.hub, box, nil, publicURL)
	e := echo.New()
	e.HTTPErrorHandler = problem.Handler(slog.New(slog.NewTextHandler(testLog{t}, nil)), nil)
	e.Use(session.New(db.Pool, box, publicURL, time.Now, quiet).Identify())
	e.POST("/v1/claims/challenge", s.HandleChallenge)
	e.POST("/v1/claims", s.HandleClaim)
	e.POST("/v1/wallet/challenge", s.HandleWalletChallenge)
	e.POST("/v1/wallet/session", s.HandleWalletSession)
	e.POST("/v1/wallet/totp", s.HandleTOTP)
	e.GET("/v1/wallet", s.HandleWallet)
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	h.url = server.URL
	h.build(t, count)
	return h
}

// testLog shows internal errors in the test's output.
type testLog struct{ t *testing.T }

func (l testLog) Write(b []byte) (int, error) { l.t.Log(string(b)); return len(b), nil }

func (h *house) build(t *testing.T, count int) {
	t.Helper()
	h.exec(t, `INSERT INTO venues (id, name, time_zone) VALUES (@venue, 'Odeon', 'Europe/Prague')`, nil)
	h.exec(t, `INSERT INTO events (id, venue_id, name, screen, doors_open_at, starts_at, ends_at, claim_from)
		SELECT @event, @venue, 'Amélie', 'Sál 2', now + interval '1 hour', now + interval '2 hours', now + interval '4 hours', now - interval '1 day'
		FROM (SELECT portillon_now() AS now) t`, nil)
	h.exec(t, `INSERT INTO categories (id, event_id, name) VALUES (@event, @event, 'Standard')`, nil)
	h.exec(t, `INSERT INTO orders (id, event_id) VALUES (@order, @event)`, nil)
	for i := range count {
		id := ticket.ID(ticket.New[int]())
		h.exec(t, `INSERT INTO tickets (id, event_id, category_id, order_id, number, admits, seat)
			VALUES (@ticket, @event, @event, @order, @number, 1, 'A' || @number::integer)`, pgx.NamedArgs{"ticket": id, "number": i + 1})
		h.tickets = append(h.tickets, id)
	}
	h.code = wallet.ClaimCode(claimKey, wallet.ScopeOrder, h.order.UUID(), 1)
	pgtest.Secret(t, h.code)
	hash := wallet.HashClaimCode(h.code)
	h.exec(t, `INSERT INTO claim_codes (hash, order_id, serial) VALUES (@hash, @order, 1)`, pgx.NamedArgs{"hash": hash[:]})
}

func (h house) exec(t *testing.T, sql string, args pgx.NamedArgs) {
	t.Helper()
	all := pgx.NamedArgs{"venue": h.venue, "event": h.event, "order": h.order}
	for name, value := range args {
		all[name] = value
	}
	if _, err := h.db.Pool.Exec(t.Context(), sql, all); err != nil {
		t.Fatal(err)
	}
}

// reissue makes a new link for one ticket.
func (h house) reissue(t *testing.T, id ticket.ID) string {
	t.Helper()
	var serial uint32
	if err := h.db.Pool.QueryRow(t.Context(), `UPDATE tickets SET claim_serial = claim_serial + 1 WHERE id = $1 RETURNING claim_serial`, id).Scan(&serial); err != nil {
		t.Fatal(err)
	}
	code := wallet.ClaimCode(claimKey, wallet.ScopeTicket, id.UUID(), serial)
	pgtest.Secret(t, code)
	hash := wallet.HashClaimCode(code)
	h.exec(t, `INSERT INTO claim_codes (hash, ticket_id, serial) VALUES (@hash, @ticket, @serial)`,
		pgx.NamedArgs{"hash": hash[:], "ticket": id, "serial": serial})
	return code
}

// print moves a ticket to paper.
func (h house) print(t *testing.T, id ticket.ID) {
	t.Helper()
	args := pgx.NamedArgs{"ticket": id}
	h.exec(t, `INSERT INTO claims (ticket_id, generation, kind) SELECT id, generation + 1, 'paper' FROM tickets WHERE id = @ticket`, args)
	h.exec(t, `UPDATE tickets SET generation = generation + 1 WHERE id = @ticket`, args)
}

func (h house) generation(t *testing.T, id ticket.ID) (generation int) {
	t.Helper()
	if err := h.db.Pool.QueryRow(t.Context(), `SELECT generation FROM tickets WHERE id = $1`, id).Scan(&generation); err != nil {
		t.Fatal(err)
	}
	return generation
}

// browser is a customer's browser: the reference phone and its cookies.
type browser struct {
	house
	wallet.Phone
	agent  string
	cookie *http.Cookie
}

func (h house) browser() *browser { return &browser{house: h, agent: iPhone} }

// answer is what a call got.
type answer struct {
	status int
	body   map[string]any
	cookie *http.Cookie
}

func (a answer) code() string { s, _ := a.body["code"].(string); return s }

func (a answer) field() (name, code string) {
	fields, _ := a.body["fields"].([]any)
	if len(fields) == 0 {
		return "", ""
	}
	f := fields[0].(map[string]any)
	return f["name"].(string), f["code"].(string)
}

func (a answer) fact(name string) any {
	facts, _ := a.body["facts"].(map[string]any)
	return facts[name]
}

func (a answer) list(name string) (items []map[string]any) {
	list, _ := a.body[name].([]any)
	for _, item := range list {
		items = append(items, item.(map[string]any))
	}
	return items
}

// tryCall is call for goroutines, which must not end the test.
func (b *browser) tryCall(method, path string, body any) (answer, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return answer{}, err
	}
	request, err := http.NewRequestWithContext(context.Background(), method, b.url+path, strings.NewReader(string(text)))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("User-Agent", b.agent)
	request.Header.Set("Content-Type", "application/json")
	if b.cookie != nil {
		request.AddCookie(b.cookie)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode}
	for _, c := range response.Cookies() {
		a.cookie = c
	}
	return a, json.NewDecoder(response.Body).Decode(&a.body)
}

func (b *browser) call(t *testing.T, method, path string, body any) answer {
	t.Helper()
	a, err := b.tryCall(method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	if a.cookie != nil {
		pgtest.Secret(t, a.cookie.Value)
		b.cookie = a.cookie
	}
	return a
}

// open opens a claim link.
func (b *browser) open(t *testing.T, code string) answer {
	t.Helper()
	a := b.call(t, "POST", "/v1/claims/challenge", map[string]string{"code": code})
	if challenge, ok := a.body["challenge"].(string); ok {
		pgtest.Secret(t, challenge)
	}
	return a
}

func challengeIn(a answer) (challenge [32]byte) {
	text, _ := a.body["challenge"].(string)
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) != 32 {
		return challenge // no challenge of ours: what is signed over it is refused
	}
	return [32]byte(raw)
}

// key is one item of a claim.
type key struct {
	Ticket ticket.ID       `json:"ticket"`
	JWK    json.RawMessage `json:"jwk"`
	Proof  string          `json:"proof"`
}

// signed makes a key for a ticket, or takes the one that it has, and signs.
func (b *browser) signed(t *testing.T, id ticket.ID, challenge [32]byte, code string) key {
	t.Helper()
	held := b.Find(id.UUID())
	if held == nil {
		var err error
		if held, err = b.Add(id.UUID(), b.event.UUID()); err != nil {
			t.Fatal(err)
		}
	}
	proof, err := held.SignClaim(challenge, code)
	if err != nil {
		t.Fatal(err)
	}
	return key{Ticket: id, JWK: held.JWK(), Proof: proof}
}

func (b *browser) send(t *testing.T, code string, keys ...key) answer {
	t.Helper()
	return b.call(t, "POST", "/v1/claims", map[string]any{"code": code, "keys": keys})
}

// claim does what the page does: open the link, make keys, sign, send.
func (b *browser) claim(t *testing.T, code string, tickets ...ticket.ID) answer {
	t.Helper()
	challenge := challengeIn(b.open(t, code))
	var keys []key
	for _, id := range tickets {
		keys = append(keys, b.signed(t, id, challenge, code))
	}
	a := b.send(t, code, keys...)
	for _, item := range a.list("tickets") {
		id, err := ticket.Parse[ticketOnly](item["ticket"].(string))
		if err != nil {
			t.Fatal(err)
		}
		b.Find(id.UUID()).Generation = uint8(item["generation"].(float64))
	}
	return a
}

type ticketOnly struct{}

// sessionWith opens a wallet session with the keys that the phone has.
func (b *browser) sessionWith(t *testing.T, tickets ...ticket.ID) answer {
	t.Helper()
	made := b.call(t, "POST", "/v1/wallet/challenge", struct{}{})
	pgtest.Secret(t, made.body["challenge"].(string))
	return b.sessionOver(t, challengeIn(made), tickets...)
}

func (b *browser) sessionOver(t *testing.T, challenge [32]byte, tickets ...ticket.ID) answer {
	t.Helper()
	var proofs []map[string]any
	for _, id := range tickets {
		held := b.Find(id.UUID())
		proof, err := held.SignSession(challenge)
		if err != nil {
			t.Fatal(err)
		}
		proofs = append(proofs, map[string]any{"ticket": id, "generation": held.Generation, "proof": proof})
	}
	return b.call(t, "POST", "/v1/wallet/session", map[string]any{"tickets": proofs})
}

func want(t *testing.T, what string, a answer, status int, code string) {
	t.Helper()
	if a.status != status || a.code() != code {
		t.Fatalf("%s: %d %v", what, a.status, a.body)
	}
}
