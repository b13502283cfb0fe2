package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"portillon/server/ticket"
)

func serve(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return New(server.URL+"/", "pta_secret", server.Client())
}

func answer(contentType string, status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func TestACallSendsItsCredentialItsKeyAndItsBody(t *testing.T) {
	key := ticket.New[struct{}]()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"title":%q}`, strings.Join([]string{
			r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Idempotency-Key"), r.Header.Get("Content-Type"),
		}, " "))
	})
	got, err := c.Scan(t.Context(), ticket.Key(key), Scan{Code: "PT1:X"})
	want := "POST /v1/scans Bearer pta_secret " + key.String() + " application/json"
	if err != nil || got.Title != want {
		t.Fatalf("the server saw %q, %v, want %q", got.Title, err, want)
	}
}

func TestAProblemDocumentBecomesAnErrorWithItsCodeAndHowLongToWait(t *testing.T) {
	c := serve(t, answer("application/problem+json", 400,
		`{"status":400,"code":"request.fields","detail":"correct them","request_id":"r1","fields":[{"name":"gate","code":"required"}]}`))
	_, err := Do[struct{}](t.Context(), c, http.MethodGet, "/v1/me", nil)
	var problem *Problem
	if !errors.As(err, &problem) || problem.Code != "request.fields" || problem.RequestID != "r1" || problem.RetryAfter != 3*time.Second {
		t.Fatalf("got %#v", err)
	}
	if !IsProblem(err, "request.fields") || IsProblem(err, "other") || !strings.Contains(err.Error(), "gate required") {
		t.Errorf("the error says %q", err)
	}
}

func TestOnlyWhatMayBeAnsweredLaterIsWorthAnotherTry(t *testing.T) {
	page := `<html>sign in to this network</html>`
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		later   bool
	}{
		"nobody knows yet":                     {answer("application/problem+json", 503, `{"code":"database.unavailable"}`), true},
		"too many requests":                    {answer("application/problem+json", 429, `{"code":"request.too_many"}`), true},
		"a conflict":                           {answer("application/problem+json", 409, `{"code":"scan.key_conflict"}`), false},
		"a wrong credential":                   {answer("application/problem+json", 401, `{"code":"session.required"}`), false},
		"our own fault":                        {answer("application/problem+json", 500, `{"code":"internal"}`), false},
		"a proxy's page for a dead server":     {answer("text/html", 502, page), true},
		"a captive portal that answers 200":    {answer("text/html", 200, page), true},
		"some other server's 404":              {answer("text/html", 404, page), false},
		"JSON that is cut off":                 {answer("application/json", 200, `{"verdict":`), true},
		"a connection that is closed midway":   {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, true},
		"an answer that is shorter than it is": {cutShort, true},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Do[ScanAnswer](t.Context(), serve(t, c.handler), http.MethodGet, "/v1/me", nil)
			if err == nil || RetryLater(err) != c.later {
				t.Errorf("got %v, worth another try: %v", err, RetryLater(err))
			}
		})
	}
}

func cutShort(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "1000")
	_, _ = w.Write([]byte(`{"verdict":"admit"`))
}

func TestAnUnreachableServerIsWorthAnotherTryAndABrokenAddressIsNot(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for address, later := range map[string]bool{closed.URL: true, "no scheme": false, "ftp://127.0.0.1": false} {
		_, err := Do[struct{}](t.Context(), New(address, "", nil), http.MethodGet, "/v1/me", nil)
		if err == nil || RetryLater(err) != later {
			t.Errorf("%s: got %v, worth another try: %v", address, err, RetryLater(err))
		}
	}
}

func TestACallThatItsCallerGaveUpIsNotRepeated(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	_, err := Do[struct{}](ctx, c, http.MethodGet, "/v1/me", nil)
	if !errors.Is(err, context.Canceled) || RetryLater(err) {
		t.Errorf("got %v, worth another try: %v", err, RetryLater(err))
	}
}

func TestACertificateThatDoesNotFitIsNotWorthAnotherTry(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	_, err := Do[struct{}](t.Context(), New(server.URL, "", nil), http.MethodGet, "/v1/me", nil)
	if err == nil || RetryLater(err) {
		t.Errorf("got %v, worth another try: %v", err, RetryLater(err))
	}
}

func TestAllReadsPageAfterPageAndKeepsTheQuery(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		next := map[string]string{"": "b", "b": "c", "c": ""}[r.URL.Query().Get("cursor")]
		_, _ = fmt.Fprintf(w, `{"items":[{"name":%q}],"next":%q}`, r.URL.RawQuery, next)
	})
	query := url.Values{"q": {"x y"}}
	got, err := All[Venue](t.Context(), c, "/v1/venues", query)
	var names []string
	for _, v := range got {
		names = append(names, v.Name)
	}
	if err != nil || strings.Join(names, " ") != "q=x+y cursor=b&q=x+y cursor=c&q=x+y" {
		t.Fatalf("got %q, %v", names, err)
	}
	if query.Has("cursor") {
		t.Error("the caller's query was changed")
	}
}

func TestAnAnswerWithoutContentIsTheZeroValue(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	if err := c.ReleaseLease(t.Context(), "l"); err != nil {
		t.Fatal(err)
	}
}

func TestEventsOfAStreamAreReadAndCommentsPassedOver(t *testing.T) {
	text := "retry: 2000\n\n: here\n\nevent: nonce\ndata: {\"nonce\":\"a:b\"}\n\nevent:ticket\ndata:{}\n\nevent: nonce\ndata: {\"cut\":"
	var got []string
	err := readEvents(strings.NewReader(text), func(e StreamEvent) error {
		got = append(got, e.Event+" "+string(e.Data))
		return nil
	})
	if err != nil || strings.Join(got, "|") != `nonce {"nonce":"a:b"}|ticket {}` {
		t.Fatalf("got %q, %v", got, err)
	}
}
