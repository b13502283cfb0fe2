package issue

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"portillon/server/pgtest"
	"portillon/server/problem"
	"portillon/server/seal"
	"portillon/server/session"
)

// desk is the place behind real HTTP, asked with an API token of the admin.
type desk struct {
	*place
	url   string
	token string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	p := newPlace(t)
	box, err := seal.New(make([]byte, seal.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	p.exec(`INSERT INTO person_roles (person_id, role) VALUES ($1, 'admin')`, p.admin.Person)
	log := slog.New(slog.DiscardHandler)
	who := session.New(p.db.Pool, box, publicURL, time.Now, log)
	token := must(who.CreateToken(t.Context(), p.admin, session.TokenIn{
		Name: "desk", Scopes: []session.Scope{session.ScopeRead, session.ScopeIssue, session.ScopeAdmin},
	}))(t)
	pgtest.Secret(t, token.Token)

	e := echo.New()
	e.HTTPErrorHandler = problem.Handler(log, nil)
	e.Use(who.Identify())
	route(e, p.s)
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	return &desk{place: p, url: server.URL, token: token.Token}
}

func route(e *echo.Echo, s *Service) {
	e.POST("/v1/venues", s.HandleCreateVenue)
	e.GET("/v1/venues", s.HandleListVenues)
	e.GET("/v1/venues/:venue", s.HandleGetVenue)
	e.POST("/v1/venues/:venue/gates", s.HandleCreateGate)
	e.GET("/v1/venues/:venue/gates", s.HandleListGates)
	e.POST("/v1/events", s.HandleCreateEvent)
	e.GET("/v1/events", s.HandleListEvents)
	e.GET("/v1/events/:event", s.HandleGetEvent)
	e.PATCH("/v1/events/:event", s.HandleChangeEvent)
	e.GET("/v1/events/:event/categories", s.HandleListCategories)
	e.POST("/v1/events/:event/categories", s.HandleCreateCategory)
	e.POST("/v1/events/:event/tickets", s.HandleIssue)
	e.GET("/v1/events/:event/tickets", s.HandleListTickets)
	e.POST("/v1/events/:event/numbers", s.HandleReserveNumber)
	e.POST("/v1/number-leases/:lease/renew", s.HandleRenewNumber)
	e.POST("/v1/number-leases/:lease/release", s.HandleReleaseNumber)
	e.GET("/v1/tickets/:ticket", s.HandleGetTicket)
	e.POST("/v1/tickets/:ticket/revoke", s.HandleRevoke)
	e.POST("/v1/tickets/:ticket/reinstate", s.HandleReinstate)
	e.POST("/v1/tickets/:ticket/hold", s.HandleHold)
	e.POST("/v1/tickets/:ticket/release", s.HandleRelease)
	e.POST("/v1/tickets/:ticket/link", s.HandleShowLink)
	e.POST("/v1/tickets/:ticket/reissue", s.HandleReissue)
	e.POST("/v1/tickets/:ticket/print", s.HandlePrint)
}

// send sends one request; path is a format-free path below /v1, key may be nil.
func (d *desk) send(method, path, body string, key uuid.UUID) (status int, answer map[string]any, raw string) {
	d.Helper()
	request, err := http.NewRequestWithContext(d.Context(), method, d.url+"/v1"+path, bytes.NewReader([]byte(body)))
	if err != nil {
		d.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+d.token)
	request.Header.Set("Content-Type", "application/json")
	if key != uuid.Nil {
		request.Header.Set("Idempotency-Key", key.String())
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		d.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		d.Fatal(err)
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		d.Fatalf("%s %s: %d %s: %v", method, path, response.StatusCode, text, err)
	}
	if url, ok := answer["claim_url"].(string); ok {
		d.secret(url)
	}
	if response.StatusCode < 300 && response.Header.Get("Cache-Control") != "no-store" {
		d.Errorf("%s %s may be kept by caches", method, path)
	}
	return response.StatusCode, answer, string(text)
}

// want sends and fails unless the status is the one wanted.
func (d *desk) want(status int, method, path, body string) map[string]any {
	d.Helper()
	got, answer, raw := d.send(method, path, body, uuid.Nil)
	if got != status {
		d.Fatalf("%s %s: %d %s, want %d", method, path, got, raw, status)
	}
	return answer
}

func text(answer map[string]any, name string) string {
	value, _ := answer[name].(string)
	return value
}

func TestAShowIsSetUpAndSoldOverHTTP(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	venue := "/venues/" + text(d.want(201, "POST", "/venues", `{"name":"Ponrepo","time_zone":"Europe/Prague"}`), "venue")
	gate := text(d.want(201, "POST", venue+"/gates", `{"name":"Main"}`), "gate")
	if text(d.want(200, "GET", venue, ""), "name") != "Ponrepo" {
		t.Error("the venue has another name")
	}
	if items := d.want(200, "GET", venue+"/gates", "")["items"].([]any); len(items) != 1 {
		t.Errorf("gates %v", items)
	}
	made := d.want(201, "POST", "/events", `{"venue":"`+strings.TrimPrefix(venue, "/venues/")+`","name":"Stalker",
		"doors_open_at":"2031-03-01T19:30:00+01:00","starts_at":"2031-03-01T20:00:00+01:00","ends_at":"2031-03-01T22:40:00+01:00",
		"policy":{"freshness":"live"}}`)
	if text(made, "doors_open_at") != "2031-03-01T18:30:00Z" || text(made, "claim_from") != "2031-02-26T18:30:00Z" {
		t.Errorf("times %v", made)
	}
	event := "/events/" + text(made, "event")
	changed := d.want(200, "PATCH", event, `{"screen":"3","policy":{"rescan_window_s":60}}`)
	policy := changed["policy"].(map[string]any)
	if text(changed, "screen") != "3" || policy["freshness"] != "live" || policy["rescan_window_s"] != 60.0 {
		t.Errorf("changed %v", changed)
	}
	category := text(d.want(201, "POST", event+"/categories", `{"name":"Standard","paper":true,"gates":["`+gate+`"]}`), "category")
	issued := d.want(201, "POST", event+"/tickets", `{"category":"`+category+`","holder":{"name":"Jana","email":"jana@example.org"},"seats":["1","2"]}`)
	first := issued["tickets"].([]any)[0].(map[string]any)
	if first["number"] != 1.0 || first["seat"] != "1" || first["category"] != category || first["status"] != "active" {
		t.Errorf("issued %v", first)
	}
	ticket := "/tickets/" + text(first, "ticket")
	for _, path := range []string{"/venues", "/events", event, event + "/categories", event + "/tickets?q=jana&status=active", ticket,
		"/events?from=2031-01-01T00:00:00Z&venue=" + strings.TrimPrefix(venue, "/venues/")} {
		d.want(200, "GET", path, "")
	}
	for _, act := range []string{"hold", "release", "revoke", "reinstate"} {
		if answer := d.want(200, "POST", ticket+"/"+act, `{"reason":"because"}`); text(answer, "status") == "" || answer["history"] == nil {
			t.Errorf("%s answers %v", act, answer)
		}
	}
	if text(d.want(200, "POST", ticket+"/link", ``), "claim_url") != text(issued, "claim_url") {
		t.Error("the link shown is another one")
	}
	d.want(200, "POST", ticket+"/link", `{}`)
	if text(d.want(200, "POST", ticket+"/reissue", `{"reason":"lost"}`), "claim_url") == text(issued, "claim_url") {
		t.Error("reissue gave the old link")
	}
	if code := text(d.want(200, "POST", ticket+"/print", `{}`), "code"); len(code) != 133 {
		t.Errorf("the paper code has %d characters", len(code))
	}
}

func TestALostAnswerIsGivenAgainByteForByte(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	event := "/events/" + d.event.Event.String()
	for path, body := range map[string]string{
		"/venues":             `{"name":"Arena","time_zone":"UTC"}`,
		event + "/categories": `{"name":"Student"}`,
		event + "/tickets":    `{"category":"` + d.plain.Category.String() + `","count":2}`,
		"/venues/" + d.venue.Venue.String() + "/gates": `{"name":"Back"}`,
	} {
		key := uuid.New()
		status, _, first := d.send("POST", path, body, key)
		again, _, second := d.send("POST", path, body, key)
		if status != 201 || again != 201 || first != second {
			t.Errorf("%s: %d %s, then %d %s", path, status, first, again, second)
		}
		other := strings.NewReplacer(`"name":"`, `"name":"x`, `"count":2`, `"count":3`).Replace(body)
		conflict, answer, _ := d.send("POST", path, other, key)
		if conflict != 409 || text(answer, "code") != "request.key_conflict" {
			t.Errorf("%s with another body: %d %v", path, conflict, answer)
		}
	}
	// The same body for another parent is another request.
	key := uuid.New()
	id := d.one(d.plain)
	if status, _, raw := d.send("POST", "/tickets/"+id.String()+"/revoke", `{"reason":"x"}`, key); status != 200 {
		t.Fatal(raw)
	}
	if status, answer, _ := d.send("POST", "/tickets/"+d.one(d.plain).String()+"/revoke", `{"reason":"x"}`, key); status != 409 {
		t.Errorf("the key revoked a second ticket: %d %v", status, answer)
	}
}

func TestARequestThatDoesNotFitIsRefusedWithItsCode(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := "/tickets/" + d.one(d.plain).String()
	for _, c := range []struct {
		status       int
		method, path string
		body, code   string
	}{
		{400, "POST", "/venues", `{"name":"x","timezone":"UTC"}`, "request.body"},
		{400, "POST", "/venues", ``, "request.body"},
		{400, "POST", "/events", `{"venue":"x"}`, "request.body"},
		{400, "POST", "/venues", `{"name":"` + strings.Repeat("x", 5000) + `"}`, "request.too_large"},
		{404, "GET", "/venues/main", "", "venue.not_found"},
		{404, "GET", "/events/" + uuid.NewString(), "", "event.not_found"},
		{404, "GET", "/tickets/" + uuid.NewString(), "", "ticket.not_found"},
		{404, "POST", "/tickets/1/revoke", `{"reason":"x"}`, "ticket.not_found"},
		{400, "POST", id + "/revoke", `{}`, "request.fields"},
		{400, "POST", id + "/revoke", ``, "request.fields"},
		{400, "POST", id + "/link", `{"reason":"x"}`, "request.body"},
		{409, "POST", id + "/print", `{}`, "ticket.paper_not_allowed"},
		{400, "GET", "/events?from=yesterday&venue=here", "", "request.fields"},
		{400, "GET", "/events?cursor=" + url.QueryEscape("%"), "", "request.cursor"},
		{400, "GET", "/events/" + d.event.Event.String() + "/tickets?status=lost", "", "request.fields"},
		{400, "PATCH", "/events/" + d.event.Event.String(), `{"venue":"` + d.venue.Venue.String() + `"}`, "request.body"},
	} {
		if answer := d.want(c.status, c.method, c.path, c.body); text(answer, "code") != c.code {
			t.Errorf("%s %s: %v, want %s", c.method, c.path, answer, c.code)
		}
	}
	d.token = ""
	if answer := d.want(401, "GET", id, ""); text(answer, "code") != "session.unknown_credential" {
		t.Errorf("a wrong bearer: %v", answer)
	}
}
