package problem

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"portillon/server/fault"
)

var update = flag.Bool("update", false, "rewrite the golden documents")

var errDatabase = errors.New("dial tcp 10.1.2.3: password for alice@example.org is wrong")

// answers has an error of each sort, some wrapped as layers wrap them.
var answers = map[string]error{
	"invalid":      fault.Fields(fault.Field{Name: "code", Code: "required"}),
	"conflict":     fmt.Errorf("issue: %w", fault.New(fault.Conflict, "number_taken", "take the next").Fact("next", 12)),
	"too_many":     fault.New(fault.TooMany, "session.too_many_tries", "wait").Wait(1500 * time.Millisecond),
	"unknown":      fmt.Errorf("read the ticket: %w", errDatabase),
	"unavailable":  fmt.Errorf("commit: %w", io.ErrUnexpectedEOF),
	"unauthorized": fault.New(fault.Unauthenticated, "session.required", "sign in"),
	"no_route":     echo.ErrNotFound,
	"no_method":    echo.ErrMethodNotAllowed,
}

func TestEachErrorBecomesItsGoldenDocument(t *testing.T) {
	for name, cause := range answers {
		t.Run(name, func(t *testing.T) {
			var logged bytes.Buffer
			e := echo.New()
			e.HTTPErrorHandler = Handler(slog.New(slog.NewTextHandler(&logged, nil)), func(err error) *fault.Error {
				if errors.Is(err, io.ErrUnexpectedEOF) {
					return fault.New(fault.Unavailable, "database.outcome_unknown", "repeat with the same key").Wait(time.Second)
				}
				return nil
			})
			e.GET("/", func(c echo.Context) error {
				c.Response().Header().Set(echo.HeaderXRequestID, "the-request")
				return cause
			})
			answer := httptest.NewRecorder()
			e.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))

			var body bytes.Buffer
			fmt.Fprintf(&body, "%d %s\nRetry-After: %s\n", answer.Code, answer.Header().Get("Content-Type"), answer.Header().Get("Retry-After"))
			if err := json.Indent(&body, answer.Body.Bytes(), "", "  "); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(golden, body.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(want, body.Bytes()) {
				t.Errorf("got\n%s\nwant\n%s", body.Bytes(), want)
			}
			if strings.Contains(answer.Body.String(), "alice") {
				t.Error("an internal error's text left the server")
			}
			if name == "unknown" && !strings.Contains(logged.String(), "the-request") {
				t.Error("the log does not tell the request")
			}
		})
	}
}
