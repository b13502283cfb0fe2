package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"portillon/server/client"
	"portillon/server/pgtest"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
)

// The columns of the table. Whoever has a venue has the first one.
const (
	noOne           = 'n'
	aWallet         = 'w'
	bareDevice      = 'd' // a device without a person
	controller      = 'c' // on a device, as the next two
	overrider       = 'o' // a controller with the right to override
	supervisor      = 's'
	deskStaff       = 'k' // a controller signed in at the desk
	admin           = 'a' // of one venue, at the desk
	chief           = 'A' // admin of every venue, at the desk
	tokenScan       = '1' // tokens of the chief, for the first venue only
	tokenRead       = '2'
	tokenIssue      = '3'
	tokenAdmin      = '4'
	tokenEverywhere = '*' // a token with scope admin for every venue
	everyColumn     = "ndwcoskaA1234*"
)

// rights says who may make each call: about his own venue's things, and about
// another's. Whoever is not named is answered 401 or 403.
var rights = map[string]struct{ own, other string }{
	"POST /v1/session":                    {everyColumn, everyColumn},
	"DELETE /v1/session":                  {everyColumn, everyColumn},
	"POST /v1/session/link":               {everyColumn, everyColumn},
	"GET /v1/me":                          {"dcoskaA1234*", "dcoskaA1234*"},
	"POST /v1/me/password":                {"kaA", "kaA"},
	"POST /v1/me/pin":                     {"kaA", "kaA"},
	"GET /v1/people":                      {"aA4*", "aA4*"},
	"POST /v1/people":                     {"aA4*", "A*"},
	"GET /v1/people/:person":              {"aA4*", "A*"},
	"PATCH /v1/people/:person":            {"aA4*", "A*"},
	"POST /v1/people/:person/link":        {"aA4*", "A*"},
	"POST /v1/pairings":                   {"aA4*", "A*"},
	"GET /v1/pairings/:pairing":           {"aA4*", "A*"},
	"POST /v1/pairings/:pairing/confirm":  {"aA4*", "A*"},
	"POST /v1/pairings/:pairing/refuse":   {"aA4*", "A*"},
	"POST /v1/pairings/open":              {everyColumn, everyColumn},
	"POST /v1/pairings/collect":           {everyColumn, everyColumn},
	"GET /v1/devices":                     {"aA4*", "A*"},
	"POST /v1/devices/:device/revoke":     {"aA4*", "A*"},
	"GET /v1/device":                      {"dcos", "dcos"},
	"POST /v1/device/sign-on":             {"dcos", "dcos"},
	"POST /v1/device/sign-off":            {"dcos", "dcos"},
	"GET /v1/tokens":                      {"aA4*", "aA4*"},
	"POST /v1/tokens":                     {"aA4*", "A*"},
	"POST /v1/tokens/:token/revoke":       {"aA4*", "A*"},
	"POST /v1/qr":                         {"dcoskaA1234*", "dcoskaA1234*"},
	"GET /v1/venues":                      {"aA24*", "aA24*"},
	"POST /v1/venues":                     {"A*", "A*"},
	"GET /v1/venues/:venue":               {"aA24*", "A*"},
	"GET /v1/venues/:venue/gates":         {"aA24*", "A*"},
	"POST /v1/venues/:venue/gates":        {"aA4*", "A*"},
	"GET /v1/events":                      {"aA24*", "A*"},
	"POST /v1/events":                     {"aA4*", "A*"},
	"GET /v1/events/:event":               {"aA24*", "A*"},
	"PATCH /v1/events/:event":             {"aA4*", "A*"},
	"GET /v1/events/:event/categories":    {"aA24*", "A*"},
	"POST /v1/events/:event/categories":   {"aA4*", "A*"},
	"GET /v1/events/:event/tickets":       {"aA24*", "A*"},
	"POST /v1/events/:event/tickets":      {"aA34*", "A*"},
	"GET /v1/events/:event/report":        {"aA24*", "A*"},
	"POST /v1/events/:event/imports":      {"aA4*", "A*"},
	"GET /v1/events/:event/tickets.csv":   {"aA4*", "A*"},
	"GET /v1/events/:event/attempts.csv":  {"aA4*", "A*"},
	"GET /v1/events/:event/mails":         {"aA4*", "A*"},
	"GET /v1/tickets/:ticket":             {"aA24*", "A*"},
	"POST /v1/tickets/:ticket/revoke":     {"aA34*", "A*"},
	"POST /v1/tickets/:ticket/reinstate":  {"aA34*", "A*"},
	"POST /v1/tickets/:ticket/hold":       {"aA34*", "A*"},
	"POST /v1/tickets/:ticket/release":    {"aA34*", "A*"},
	"POST /v1/tickets/:ticket/link":       {"aA4*", "A*"},
	"POST /v1/tickets/:ticket/resend":     {"aA34*", "A*"},
	"POST /v1/tickets/:ticket/allow-move": {"aA34*", "A*"},
	"POST /v1/tickets/:ticket/reissue":    {"aA34*", "A*"},
	"POST /v1/tickets/:ticket/print":      {"aA34*", "A*"},
	"POST /v1/claims/challenge":           {everyColumn, everyColumn},
	"POST /v1/claims":                     {everyColumn, everyColumn},
	"POST /v1/claims/move":                {everyColumn, everyColumn},
	"POST /v1/claims/move/confirm":        {everyColumn, everyColumn},
	"POST /v1/claims/moved":               {everyColumn, everyColumn},
	"POST /v1/claims/not-me":              {everyColumn, everyColumn},
	"POST /v1/wallet/challenge":           {everyColumn, everyColumn},
	"POST /v1/wallet/session":             {everyColumn, everyColumn},
	"POST /v1/wallet/short":               {everyColumn, everyColumn},
	"POST /v1/wallet/totp":                {everyColumn, everyColumn},
	"GET /v1/wallet":                      {"w", "w"},
	"GET /v1/wallet/nonce":                {"w", "w"},
	"GET /v1/wallet/stream":               {"w", "w"},
	"POST /v1/me/second-factor":           {"kaA", "kaA"},
	"POST /v1/me/second-factor/confirm":   {"kaA", "kaA"},
	"POST /v1/me/second-factor/remove":    {"kaA", "kaA"},

	"POST /v1/people/:person/second-factor/remove": {"aA4*", "A*"},
	"POST /v1/nonces":                      {"cos", ""},
	"POST /v1/nonce-leases/:lease/renew":   {"cos", ""},
	"POST /v1/nonce-leases/:lease/release": {everyColumn, everyColumn},
	"POST /v1/nonce-leases/:lease/close":   {"cos", ""},
	"POST /v1/events/:event/numbers":       {"aA34*", "A*"},
	// Another person's lease is none, once the right is there: 410.
	"POST /v1/number-leases/:lease/renew":   {"aA34*", "A*"},
	"POST /v1/number-leases/:lease/release": {everyColumn, everyColumn},
	// Another venue's gate is a verdict, not_assigned: see below.
	"POST /v1/scans":                 {"cos1", "cos1"},
	"POST /v1/scans/override":        {"cos1", "cos1"},
	"POST /v1/tickets/:ticket/admit": {"os", "os"},
	"POST /v1/gates/:gate/search":    {"cos1", ""},
	"POST /v1/scans/shown":           {"dcos", "dcos"},
	// What a device says of another venue is quarantined.
	"POST /v1/scans/batch": {"dcos", "dcos"},
	"POST /v1/scans/undo":  {"cos1aA", "A"},
}

// side is one venue with one of everything that a path or a body may name.
type side struct {
	*servertest.House
	ids map[string]string
}

func newSide(t *testing.T, s *servertest.Server) side {
	h := servertest.Furnish(t, s)
	ctx := context.Background()
	keeper := h.Controller("Karel", session.Controller)
	phone, issued := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Paper.Category})
	key := servertest.NewKey()
	keeper.AskAs(t, key, client.Scan{Code: phone.Signed(t, issued.Ticket, keeper.Hold(t))})
	boss := h.Person("Boss", session.AdminRole, h.Venue.Venue)
	token, err := h.Session.CreateToken(ctx, servertest.Operator.For(boss), session.TokenIn{
		Name: "spare", Scopes: []session.Scope{session.ScopeRead}, Venue: h.Venue.Venue,
	})
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Secret(t, token.Token)
	pairing := servertest.Must(client.Do[map[string]any](ctx, h.Admin, http.MethodPost, "/v1/pairings", map[string]any{"venue": h.Venue.Venue, "name": "spare"}))(t)
	held := servertest.Must(keeper.HoldGate(ctx, h.Gate.Gate))(t)
	number := servertest.Must(h.Admin.ReserveNumber(ctx, h.Event.Event))(t)
	if _, err := h.DB.Pool.Exec(ctx, `UPDATE number_leases SET expires_at = expires_at + interval '1 hour'`); err != nil {
		t.Fatal(err)
	}
	return side{House: h, ids: map[string]string{
		"venue": h.Venue.Venue.String(), "gate": h.Gate.Gate.String(), "event": h.Event.Event.String(),
		"category": h.Paper.Category.String(), "ticket": issued.Ticket.String(), "key": key.String(),
		"person": h.Person("Spare", session.Controller, h.Venue.Venue).String(), "device": keeper.Device.String(),
		"token": token.TokenID.String(), "pairing": pairing["pairing"].(string), "lease": held.Lease,
		"number-lease": number.Lease,
	}}
}

// body is something that the call can decode and whose venue it can find.
func (s side) body(route string, own bool) any {
	name := "thing " + uuid.NewString()[:8]
	later := time.Now().Add(time.Hour).UTC()
	switch route {
	case "POST /v1/people":
		return map[string]any{"name": name, "email": uuid.NewString() + "@example.org", "grants": []any{map[string]any{"venue": s.ids["venue"], "role": "controller"}}}
	case "PATCH /v1/people/:person":
		return map[string]any{"name": name}
	case "POST /v1/me/password":
		return map[string]any{"password": "a long enough passphrase"}
	case "POST /v1/me/second-factor":
		return map[string]any{"current": "a long enough passphrase"}
	case "POST /v1/me/second-factor/remove":
		return map[string]any{"current": "a long enough passphrase", "otp": "000000"}
	case "POST /v1/me/pin":
		return map[string]any{"pin": "395718"}
	case "POST /v1/pairings":
		return map[string]any{"venue": s.ids["venue"], "name": name}
	case "POST /v1/tokens":
		return map[string]any{"name": name, "scopes": []string{"read"}, "venue": s.ids["venue"]}
	case "POST /v1/qr":
		return map[string]any{"text": "https://example.org"}
	case "POST /v1/venues":
		return map[string]any{"name": name, "time_zone": "Europe/Prague"}
	case "POST /v1/venues/:venue/gates":
		return map[string]any{"name": name}
	case "POST /v1/events":
		return map[string]any{"venue": s.ids["venue"], "name": name, "doors_open_at": later, "starts_at": later, "ends_at": later.Add(time.Hour)}
	case "PATCH /v1/events/:event":
		return map[string]any{"name": name}
	case "POST /v1/events/:event/categories":
		return map[string]any{"name": name}
	case "POST /v1/events/:event/tickets":
		return map[string]any{"category": s.ids["category"]}
	case "POST /v1/nonces":
		return map[string]any{"gate": s.ids["gate"]}
	case "POST /v1/scans":
		return map[string]any{"gate": s.ids["gate"], "code": "no code"}
	case "POST /v1/scans/override":
		return map[string]any{"gate": s.ids["gate"], "code": "no code", "reason": "test"}
	case "POST /v1/tickets/:ticket/admit":
		return map[string]any{"gate": s.ids["gate"], "reason": "test"}
	case "POST /v1/gates/:gate/search":
		return map[string]any{"q": "Eva"}
	case "POST /v1/scans/shown":
		return map[string]any{"scans": []any{map[string]any{"ticket": s.ids["ticket"], "key": s.ids["key"]}}}
	case "POST /v1/scans/batch":
		return map[string]any{"sent_at": time.Now(), "scans": []any{map[string]any{"key": uuid.NewString()}}}
	case "POST /v1/scans/undo":
		if own { // of an admission that is nobody's: whose it is, is another question than the right
			return map[string]any{"ticket": s.ids["ticket"], "key": uuid.NewString(), "reason": "test"}
		}
		return map[string]any{"ticket": s.ids["ticket"], "key": s.ids["key"], "reason": "test"}
	case "POST /v1/tickets/:ticket/link", "POST /v1/wallet/challenge":
		return map[string]any{}
	}
	if strings.HasPrefix(route, "POST /v1/tickets/") {
		return map[string]any{"reason": "test"}
	}
	return map[string]any{"code": "none"}
}

// asker makes calls as one column of the table.
type asker struct {
	http  *http.Client
	token string
}

// askers makes every column's caller, at the venue of this side.
func (s side) askers(t *testing.T) map[rune]asker {
	t.Helper()
	ctx := context.Background()
	withToken := func(token string) asker { return asker{http: s.HTTP, token: token} }
	onDevice := func(name string, grant *session.Grant) asker {
		device, token := servertest.Must2(s.Session.PairDevice(ctx, servertest.Operator, s.Venue.Venue, name))(t)
		pgtest.Secret(t, token)
		if grant == nil {
			return withToken(token)
		}
		person := s.Member(name, *grant)
		if err := s.Session.SignOn(ctx, device, person.Person); err != nil {
			t.Fatal(err)
		}
		return withToken(token)
	}
	byCookie := func(name string, grant session.Grant) asker {
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		a := asker{http: &http.Client{Transport: s.HTTP.Transport, Jar: jar}}
		_, code, _ := strings.Cut(s.Member(name, grant).SignInLink, "#s.")
		if status := a.ask(t, s.URL, http.MethodPost, "/v1/session/link", map[string]string{"code": code}); status != http.StatusOK {
			t.Fatalf("sign in: %d", status)
		}
		return a
	}
	here := s.Venue.Venue
	boss := s.Person("Chief", session.AdminRole, ticket.VenueID{})
	token := func(scope session.Scope, venue ticket.VenueID) asker {
		made := servertest.Must(s.Session.CreateToken(ctx, servertest.Operator.For(boss), session.TokenIn{
			Name: string(scope), Scopes: []session.Scope{scope}, Venue: venue,
		}))(t)
		pgtest.Secret(t, made.Token)
		return withToken(made.Token)
	}
	phone, _ := s.Claimed(s.Event.Event, client.NewTickets{Category: s.Standard.Category})
	return map[rune]asker{
		noOne:           {http: s.HTTP},
		aWallet:         {http: phone.HTTP},
		bareDevice:      onDevice("bare", nil),
		controller:      onDevice("controller", &session.Grant{Venue: here, Role: session.Controller}),
		overrider:       onDevice("overrider", &session.Grant{Venue: here, Role: session.Controller, CanOverride: true}),
		supervisor:      onDevice("supervisor", &session.Grant{Venue: here, Role: session.Supervisor}),
		deskStaff:       byCookie("desk", session.Grant{Venue: here, Role: session.Controller}),
		admin:           byCookie("admin", session.Grant{Venue: here, Role: session.AdminRole}),
		chief:           byCookie("chief", session.Grant{Role: session.AdminRole}),
		tokenScan:       token(session.ScopeScan, here),
		tokenRead:       token(session.ScopeRead, here),
		tokenIssue:      token(session.ScopeIssue, here),
		tokenAdmin:      token(session.ScopeAdmin, here),
		tokenEverywhere: token(session.ScopeAdmin, ticket.VenueID{}),
	}
}

func (a asker) ask(t *testing.T, url, method, path string, body any) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel() // ends a stream
	encoded, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodGet {
		encoded = nil
	}
	request, err := http.NewRequestWithContext(ctx, method, url+path, bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	if encoded != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Idempotency-Key", uuid.NewString())
	if a.token != "" {
		request.Header.Set("Authorization", "Bearer "+a.token)
	}
	response, err := a.http.Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

func TestEveryRouteAnswersEveryCallerAsTheTableOfRightsSays(t *testing.T) {
	t.Parallel()
	s := servertest.New(t)
	own, other := newSide(t, s), newSide(t, s)
	askers := own.askers(t)
	routes := map[string]bool{}
	for _, r := range s.Routes() {
		name := r.Method + " " + r.Path
		routes[name] = true
		row, known := rights[name]
		if !known {
			t.Errorf("%s has no row in the table of rights", name)
			continue
		}
		for about, who := range map[string]string{"own": row.own, "other": row.other} {
			place := own
			if about == "other" {
				place = other
			}
			path := strings.Replace(r.Path, "number-leases/:lease", "number-leases/:number-lease", 1)
			for id, value := range place.ids {
				path = strings.ReplaceAll(path, ":"+id, value)
			}
			if name == "GET /v1/events" || name == "GET /v1/devices" {
				path += "?venue=" + place.ids["venue"]
			}
			for column, asker := range askers {
				if changesTheAsker[name] && strings.ContainsRune(who, column) {
					continue // allowed, and it would be another caller afterwards
				}
				status := asker.ask(t, s.URL, r.Method, path, place.body(name, about == "own"))
				refused := status == http.StatusUnauthorized && !answersWrongSecrets[name] || status == http.StatusForbidden
				if refused == strings.ContainsRune(who, column) {
					t.Errorf("%s by %c about %s: %d", name, column, about, status)
				}
				if status >= 500 {
					t.Errorf("%s by %c about %s: %d", name, column, about, status)
				}
			}
		}
	}
	for name := range rights {
		if !routes[name] {
			t.Errorf("the table of rights has a row for %s, which is no route", name)
		}
	}
}

// answersWrongSecrets say 401 to whoever brings a wrong password or link.
var answersWrongSecrets = map[string]bool{"POST /v1/session": true, "POST /v1/session/link": true}

// changesTheAsker are calls after which a column would stand for somebody else.
var changesTheAsker = map[string]bool{
	"DELETE /v1/session": true, "POST /v1/device/sign-off": true, "POST /v1/me/password": true,
	"POST /v1/devices/:device/revoke": true, "POST /v1/tokens/:token/revoke": true,
}

func TestADeviceAtAnotherVenuesGateIsToldSoAsAVerdict(t *testing.T) {
	t.Parallel()
	s := servertest.New(t)
	own, other := servertest.Furnish(t, s), servertest.Furnish(t, s)
	karel := own.Controller("Karel", session.Controller)
	phone, issued := other.Claimed(other.Event.Event, client.NewTickets{Category: other.Standard.Category})
	nonce := other.Controller("Petr", session.Controller).Hold(t)
	a := karel.AskAs(t, servertest.NewKey(), client.Scan{Gate: other.Gate.Gate, Code: phone.Signed(t, issued.Ticket, nonce)})
	if a.Reason != ticket.NotAssigned {
		t.Errorf("got %s", a.Reason)
	}
}
