package server_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
)

// page is a buffer that a log may be written to from many goroutines.
type page struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *page) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

func TestLogAndMetricsTellWhatHappenedWithoutACodeATokenOrAName(t *testing.T) {
	t.Parallel()
	var log page
	h := servertest.NewHouse(t, servertest.LogTo(&log))
	karel := h.Controller("Karel Kontrolor", session.Controller)
	issued := h.Issue(h.Event.Event, client.NewTickets{
		Category: h.Standard.Category, Holder: &client.Holder{Name: "Jana Nováková", Email: "jana@example.org"}, Seat: "K1",
	})
	phone := h.NewPhone()
	phone.Take(t, issued.ClaimURL)
	held := servertest.Must(karel.HoldGate(context.Background(), h.Gate.Gate))(t)
	servertest.Must(karel.RenewLease(context.Background(), held.Lease))(t)
	code := phone.Signed(t, issued.Tickets[0].Ticket, servertest.NonceOf(t, held.Nonce))
	if a := karel.Ask(t, code); a.Reason != ticket.Admitted {
		t.Fatalf("got %s", a.Reason)
	}
	karel.Ask(t, code)
	if _, err := h.Client("pta_wrong").HoldGate(context.Background(), h.Gate.Gate); err == nil {
		t.Error("a wrong token was taken")
	}

	answer := httptest.NewRecorder()
	h.Metrics().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	metrics, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, claim, _ := strings.Cut(issued.ClaimURL, "#")
	for what, secret := range map[string]string{
		"the code": code, "a part of the code": code[20:60], "the claim code": claim, "the lease": held.Lease, "the nonce": held.Nonce,
		"the holder": "Nováková", "the address": "jana@", "the controller": "Kontrolor", "a wrong token": "pta_wrong", "the seat": "K1\"",
	} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log holds %s", what)
		}
		if bytes.Contains(metrics, []byte(secret)) {
			t.Errorf("the metrics hold %s", what)
		}
	}
	for _, line := range []string{
		`portillon_scans_total{class="admit",gate="` + h.Gate.Gate.String() + `",reason="admitted"} 1`,
		`portillon_scans_total{class="ask",gate="` + h.Gate.Gate.String() + `",reason="already_used"} 1`,
		`portillon_attempts_lost_total 0`,
		`portillon_http_requests_total{method="POST",route="/v1/scans",status="200"} 2`,
		`portillon_wallet_streams 0`,
	} {
		if !bytes.Contains(metrics, []byte(line)) {
			t.Errorf("the metrics do not say %s", line)
		}
	}
	for _, word := range []string{`"route":"/v1/nonce-leases/:lease/renew"`, `"reason":"already_used"`, `"code":"session.unknown_credential"`, `"request_id":"`} {
		if !strings.Contains(log.String(), word) {
			t.Errorf("the log does not say %s", word)
		}
	}
}

func TestHealthReadinessAndTheReferenceAnswerWithoutACredential(t *testing.T) {
	t.Parallel()
	s := servertest.New(t)
	get := func(path string) (int, string) {
		response, err := s.HTTP.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	for path, word := range map[string]string{
		"/healthz": "ok", "/readyz": "ready", "/.well-known/jwks.json": `"P-256"`, "/v1/openapi.yaml": "openapi: 3.1.0", "/v1/docs": "/v1/scans",
	} {
		if status, body := get(path); status != http.StatusOK || !strings.Contains(body, word) {
			t.Errorf("%s: %d without %q", path, status, word)
		}
	}
	if status, _ := get("/metrics"); status != http.StatusNotFound {
		t.Errorf("/metrics is on the public address: %d", status)
	}
	s.Pool.Close()
	for _, path := range []string{"/w", "/healthz"} { // also for a browser that brings a cookie
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, s.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.AddCookie(&http.Cookie{Name: "portillon-wallet", Value: strings.Repeat("A", 43)})
		response, err := s.HTTP.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s without a database, with a cookie: %d", path, response.StatusCode)
		}
	}
	if status, body := get("/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, "database.unavailable") {
		t.Errorf("/readyz without a database: %d %s", status, body)
	}
	if status, _ := get("/healthz"); status != http.StatusOK {
		t.Errorf("/healthz without a database: %d", status)
	}
}
