package servertest

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"portillon/server/client"
	"portillon/server/pgtest"
	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/wallet"
)

// House is a cinema: a venue with two gates and an evening's showing, an admin,
// and whoever a test adds.
type House struct {
	*Server
	Venue    client.Venue
	Gate     client.Gate // of the second, see Side
	Side     client.Gate
	Event    client.Event
	Standard client.Category
	Family   client.Category // admits 4
	Paper    client.Category // may be printed
	Admin    *client.Client  // an API token with every scope but scan
	t        testing.TB
}

// Gatekeeper is a device with a person signed on.
type Gatekeeper struct {
	*client.Client
	Device ticket.DeviceID
	Person ticket.PersonID
	Name   string
	token  string
	house  *House
}

// NewHouse starts a server with a house in it.
func NewHouse(t testing.TB, opts ...Option) *House {
	t.Helper()
	return Furnish(t, New(t, opts...))
}

// Furnish puts a house into a running server.
func Furnish(t testing.TB, s *Server) *House {
	t.Helper()
	h := &House{Server: s, t: t}
	admin := h.Person("Alena", session.AdminRole, ticket.VenueID{})
	token, err := s.Session.CreateToken(context.Background(), Operator.For(admin), session.TokenIn{
		Name: "test", Scopes: []session.Scope{session.ScopeAdmin},
	})
	h.must(err)
	pgtest.Secret(t, token.Token)
	h.Admin = s.Client(token.Token)
	h.Venue = Must(post[client.Venue](h.Admin, "/v1/venues", map[string]string{"name": "Odéon", "time_zone": "Europe/Prague"}))(t)
	h.Gate = h.NewGate("Main entrance")
	h.Side = h.NewGate("Balcony")
	h.Event = h.NewEvent("The Third Man", "Screen 1", -10*time.Minute, nil)
	h.Standard = h.NewCategory(h.Event.Event, client.NewCategory{Name: "Standard"})
	h.Family = h.NewCategory(h.Event.Event, client.NewCategory{Name: "Family", Admits: 4})
	h.Paper = h.NewCategory(h.Event.Event, client.NewCategory{Name: "Box office", Paper: true})
	return h
}

func (h *House) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// Must is the value of a call that has to succeed: Must(f())(t).
func Must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// Must2 is Must for two values.
func Must2[A, B any](a A, b B, err error) func(testing.TB) (A, B) {
	return func(t testing.TB) (A, B) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return a, b
	}
}

func post[T any](c *client.Client, path string, body any) (T, error) {
	return client.Do[T](context.Background(), c, http.MethodPost, path, body, client.WithKey(ticket.Key(uuid.New())))
}

// Person adds somebody with a role; a zero venue is every one.
func (h *House) Person(name string, role session.Role, venue ticket.VenueID) ticket.PersonID {
	h.t.Helper()
	return h.Member(name, session.Grant{Venue: venue, Role: role}).Person
}

// Member adds somebody with a one-time link.
func (h *House) Member(name string, grant session.Grant) session.Person {
	h.t.Helper()
	p, err := h.Session.AddPerson(context.Background(), Operator, session.PersonIn{
		Name:   name,
		Email:  fmt.Sprintf("%s.%s@example.org", strings.ReplaceAll(strings.ToLower(name), " ", "."), uuid.NewString()[:8]),
		Grants: []session.Grant{grant},
	})
	h.must(err)
	_, code, _ := strings.Cut(p.SignInLink, "#s.")
	pgtest.Secret(h.t, code)
	return p
}

// NewGate adds a gate to the venue.
func (h *House) NewGate(name string) client.Gate {
	h.t.Helper()
	return Must(post[client.Gate](h.Admin, "/v1/venues/"+h.Venue.Venue.String()+"/gates", map[string]string{"name": name}))(h.t)
}

// NewEvent adds a showing whose doors open after the given time from now; it
// starts half an hour later and lasts two hours.
func (h *House) NewEvent(name, screen string, doors time.Duration, policy *client.Policy) client.Event {
	h.t.Helper()
	open := h.DB.Now(h.t).Add(doors).UTC().Truncate(time.Second)
	return Must(post[client.Event](h.Admin, "/v1/events", client.NewEvent{
		Venue: h.Venue.Venue, Name: name, Screen: screen, DoorsOpenAt: open, StartsAt: open.Add(30 * time.Minute),
		EndsAt: open.Add(150 * time.Minute), Policy: policy,
	}))(h.t)
}

// NewCategory adds a category to an event.
func (h *House) NewCategory(event ticket.EventID, in client.NewCategory) client.Category {
	h.t.Helper()
	return Must(post[client.Category](h.Admin, "/v1/events/"+event.String()+"/categories", in))(h.t)
}

// Issue issues tickets of a category, by one order.
func (h *House) Issue(event ticket.EventID, in client.NewTickets) client.Issued {
	h.t.Helper()
	return Must(post[client.Issued](h.Admin, "/v1/events/"+event.String()+"/tickets", in))(h.t)
}

// Controller pairs a device and signs a new person on to it.
func (h *House) Controller(name string, role session.Role) *Gatekeeper {
	h.t.Helper()
	return h.gatekeeper(name, session.Grant{Venue: h.Venue.Venue, Role: role})
}

// Overrider is a controller with the right to let in by judgement.
func (h *House) Overrider(name string) *Gatekeeper {
	h.t.Helper()
	return h.gatekeeper(name, session.Grant{Venue: h.Venue.Venue, Role: session.Controller, CanOverride: true})
}

func (h *House) gatekeeper(name string, grant session.Grant) *Gatekeeper {
	h.t.Helper()
	ctx := context.Background()
	person := h.Member(name, grant).Person
	device, token, err := h.Session.PairDevice(ctx, Operator, h.Venue.Venue, "phone of "+name+" "+uuid.NewString()[:8])
	h.must(err)
	pgtest.Secret(h.t, token)
	h.must(h.Session.SignOn(ctx, device, person))
	return &Gatekeeper{Client: h.Client(token), Device: device, Person: person, Name: name, token: token, house: h}
}

// At is the same device and person on another server of the same database.
func (g *Gatekeeper) At(s *Server) *Gatekeeper {
	copied := *g
	copied.Client = client.New(s.URL, g.token, s.HTTP)
	return &copied
}

// Token is the device's credential.
func (g *Gatekeeper) Token() string { return g.token }

// AtDesk signs a new person in at the desk, by cookie.
func (h *House) AtDesk(name string, grant session.Grant) *client.Client {
	h.t.Helper()
	jar, err := cookiejar.New(nil)
	h.must(err)
	c := client.New(h.URL, "", &http.Client{Transport: h.HTTP.Transport, Jar: jar})
	_, code, _ := strings.Cut(h.Member(name, grant).SignInLink, "#s.")
	_, err = client.Do[map[string]any](context.Background(), c, http.MethodPost, "/v1/session/link", map[string]string{"code": code})
	h.must(err)
	return c
}

// Ask presents a code at the house's main gate under a new key.
func (g *Gatekeeper) Ask(t testing.TB, code string) client.ScanAnswer {
	t.Helper()
	return g.AskAs(t, NewKey(), client.Scan{Code: code})
}

// AskAs presents a scan under a key; without a gate it is the main one.
func (g *Gatekeeper) AskAs(t testing.TB, key ticket.Key, scan client.Scan) client.ScanAnswer {
	t.Helper()
	if scan.Gate.IsZero() {
		scan.Gate = g.house.Gate.Gate
	}
	return Must(g.Scan(context.Background(), key, scan))(t)
}

// NewKey makes the idempotency key of one scan.
func NewKey() ticket.Key { return ticket.Key(uuid.New()) }

// Phone is the reference phone with the tickets of one order on it.
type Phone struct {
	*client.Phone
	HTTP  *http.Client // with the wallet's cookie
	house *House
}

// NewPhone makes an empty phone.
func (h *House) NewPhone() *Phone {
	jar, err := cookiejar.New(nil)
	h.must(err)
	own := &http.Client{Transport: h.HTTP.Transport, Jar: jar}
	return &Phone{Phone: client.NewPhone(h.URL, &wallet.Phone{}, own), HTTP: own, house: h}
}

// Claimed issues one ticket and claims it: the phone and the ticket.
func (h *House) Claimed(event ticket.EventID, in client.NewTickets) (*Phone, client.IssuedTicket) {
	h.t.Helper()
	issued := h.Issue(event, in)
	phone := h.NewPhone()
	phone.Take(h.t, issued.ClaimURL)
	return phone, issued.Tickets[0]
}

// Take claims what a link offers.
func (p *Phone) Take(t testing.TB, claimURL string) {
	t.Helper()
	_, code, _ := strings.Cut(claimURL, "#")
	if _, err := p.Claim(context.Background(), code, func() error { return nil }); err != nil {
		t.Fatalf("claim: %v", err)
	}
}

// Signed is the phone's code over a nonce.
func (p *Phone) Signed(t testing.TB, id ticket.ID, nonce [16]byte) string {
	t.Helper()
	held := p.Keys.Find(id.UUID())
	if held == nil {
		t.Fatalf("ticket %s is not on this phone", id)
	}
	code, err := held.SignNonce(nonce)
	if err != nil {
		t.Fatal(err)
	}
	return code.String()
}

// Timed is the phone's code by its clock.
func (p *Phone) Timed(t testing.TB, id ticket.ID, at time.Time) string {
	t.Helper()
	code, err := p.Keys.Find(id.UUID()).SignTime(at.Unix())
	if err != nil {
		t.Fatal(err)
	}
	return code.String()
}

// Hold holds the main gate and gives the nonce of now.
func (g *Gatekeeper) Hold(t testing.TB) [16]byte {
	t.Helper()
	held := Must(g.HoldGate(context.Background(), g.house.Gate.Gate))(t)
	return NonceOf(t, held.Nonce)
}

// NonceOf decodes a nonce.
func NonceOf(t testing.TB, text string) (nonce [16]byte) {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || copy(nonce[:], raw) != 16 {
		t.Fatalf("%q is not a nonce", text)
	}
	return nonce
}
