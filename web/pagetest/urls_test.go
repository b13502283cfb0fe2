package pagetest_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/server/client"
	"portillon/server/pgtest"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/web"
)

// A guest who opens the text of a code with his own camera, a mail filter that
// follows links, a browser that loads ahead: none of them may change a ticket.
func TestNoTicketChangesWhenEveryAddressOfTheProductIsOpened(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	nonce := karel.Hold(t)
	phone, issued := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	unclaimed := h.Issue(h.Event.Event, client.NewTickets{Category: h.Family.Category})
	code := phone.Signed(t, issued.Ticket, nonce)
	ids := map[string]string{
		"venue": h.Venue.Venue.String(), "event": h.Event.Event.String(), "ticket": issued.Ticket.String(),
		"device": karel.Device.String(), "person": karel.Person.String(), "pairing": pairing(t, h).Pairing.String(),
	}
	addresses := everyAddress(h, ids, code, unclaimed.ClaimURL)
	t.Logf("%d addresses", len(addresses))

	device, token := deviceAndToken(t, h)
	callers := map[string]caller{
		"nobody":                 {http: jar(t, h)},
		"the ticket's phone":     {http: phone.HTTP},
		"a controller's device":  {http: jar(t, h), token: device},
		"an admin by API":        {http: jar(t, h), token: token},
		"an admin at the desk":   {http: atDesk(t, h)},
		"a device and its guest": {http: phone.HTTP, token: device},
	}
	answered := map[string]bool{}
	for name, by := range callers {
		before := sums(t, h)
		for _, address := range addresses {
			_ = by.open(t, http.MethodHead, address)
			if by.open(t, http.MethodGet, address) < http.StatusBadRequest {
				answered[address] = true
			}
		}
		after := sums(t, h)
		for _, table := range slices.Sorted(maps.Keys(before)) {
			if before[table] != after[table] {
				t.Errorf("%s changed %s by opening addresses", name, table)
			}
		}
	}
	// Else this would say little.
	for _, route := range h.Routes() {
		if address := h.URL + filled(route.Path, ids); route.Method == http.MethodGet && !answered[address] {
			t.Errorf("%s was answered to nobody", address)
		}
	}
}

// passing are the tables that a visit may touch: signs of life, and values that
// are worth nothing without a signature.
var passing = []string{"presence", "nonces", "nonce_leases", "sessions"}

// sums is a checksum of every other table.
func sums(t *testing.T, h *servertest.House) map[string]string {
	t.Helper()
	ctx := context.Background()
	rows, err := h.DB.Pool.Query(ctx, `SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename <> ALL($1)`, passing)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, table := range tables {
		name := pgx.Identifier{table}.Sanitize()
		var sum string
		if err := h.DB.Pool.QueryRow(ctx, fmt.Sprintf(`SELECT md5(coalesce(string_agg(t::text, E'\n' ORDER BY t::text), '')) FROM %s t`, name)).Scan(&sum); err != nil {
			t.Fatal(err)
		}
		all[table] = sum
	}
	for _, table := range []string{"tickets", "claims", "admissions"} {
		if all[table] == "" {
			t.Fatalf("no table %s", table)
		}
	}
	return all
}

// everyAddress is each address that the product has or could be thought to have.
func everyAddress(h *servertest.House, ids map[string]string, code, claimURL string) (all []string) {
	for _, route := range h.Routes() {
		all = append(all, filled(route.Path, ids))
	}
	all = append(all, "/", "/w", "/gate", "/desk", "/healthz", "/readyz", "/.well-known/jwks.json", "/v1/docs", "/v1/openapi.yaml", "/favicon.ico", "/robots.txt")
	for _, name := range web.Services() {
		all = append(all, "/"+name+"-sw.js")
	}
	_ = fs.WalkDir(web.FS(), ".", func(name string, entry fs.DirEntry, _ error) error {
		if _, served := web.Asset(name); served && !entry.IsDir() {
			all = append(all, web.Prefix+name)
		}
		return nil
	})
	_, secret, _ := strings.Cut(claimURL, "#")
	escaped, scan := url.PathEscape(code), url.Values{"code": {code}, "gate": {h.Gate.Gate.String()}, "people": {"1"}}.Encode()
	all = append(all, "/"+escaped, "/w/"+escaped, "/w?"+scan, "/gate?"+scan, "/v1/scans?"+scan, "/v1/scans/"+escaped,
		"/w/"+secret, "/w?code="+secret, "/v1/claims?code="+secret, "/v1/claims/challenge?code="+secret, "/v1/claims/"+secret)
	for i, path := range all {
		all[i] = h.URL + path
	}
	slices.Sort(all)
	return append(slices.Compact(all), claimURL)
}

// filled is a route's path with ids in it; one that nobody has gets the ticket's.
func filled(path string, ids map[string]string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if name, ok := strings.CutPrefix(part, ":"); ok {
			parts[i] = cmp.Or(ids[name], ids["ticket"])
		}
	}
	return strings.Join(parts, "/")
}

// caller opens addresses with what it has.
type caller struct {
	http  *http.Client
	token string
}

// open opens an address and reads what comes; of a stream its beginning.
func (c caller) open(t *testing.T, method, address string) (status int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, address, err)
	}
	defer func() { _ = response.Body.Close() }()
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		_, err = response.Body.Read(make([]byte, 256))
	} else {
		_, err = io.Copy(io.Discard, response.Body)
	}
	if err != nil && method == http.MethodGet {
		t.Errorf("%s %s: %v", method, address, err)
	}
	return response.StatusCode
}

func jar(t *testing.T, h *servertest.House) *http.Client {
	t.Helper()
	cookies, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Transport: h.HTTP.Transport, Jar: cookies}
}

// atDesk is an admin who has signed in at the desk by a one-time link.
func atDesk(t *testing.T, h *servertest.House) *http.Client {
	t.Helper()
	desk := jar(t, h)
	_, code, _ := strings.Cut(h.Member("Olga", session.Grant{Role: session.AdminRole}).SignInLink, "#s.")
	_, err := client.Do[struct{}](context.Background(), client.New(h.URL, "", desk), http.MethodPost, "/v1/session/link", map[string]string{"code": code})
	if err != nil {
		t.Fatal(err)
	}
	return desk
}

// deviceAndToken are the credentials of a device with a controller signed on, and
// of a program with every scope.
func deviceAndToken(t *testing.T, h *servertest.House) (device, token string) {
	t.Helper()
	ctx := context.Background()
	id, device, err := h.Session.PairDevice(ctx, servertest.Operator, h.Venue.Venue, "another phone")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Session.SignOn(ctx, id, h.Person("Pavel", session.Supervisor, h.Venue.Venue)); err != nil {
		t.Fatal(err)
	}
	made, err := h.Session.CreateToken(ctx, servertest.Operator.For(h.Person("Eva", session.AdminRole, ticket.VenueID{})), session.TokenIn{
		Name: "test", Scopes: []session.Scope{session.ScopeAdmin, session.ScopeScan},
	})
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Secret(t, device)
	pgtest.Secret(t, made.Token)
	return device, made.Token
}
