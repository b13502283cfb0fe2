// Package problem turns faults into answers: application/problem+json (RFC 9457)
// with a stable code. It is the one place where a kind of fault becomes a status.
// It promises that nothing of an internal error's text leaves the server, and
// that every answer carries the request id under which the log tells the rest.
package problem

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"portillon/server/fault"
)

// Document is the body of every error answer.
type Document struct {
	Type      string         `json:"type"`
	Title     string         `json:"title"`
	Status    int            `json:"status"`
	Code      string         `json:"code"`
	Detail    string         `json:"detail,omitempty"`
	RequestID string         `json:"request_id"`
	Fields    []fault.Field  `json:"fields,omitempty"`
	Facts     map[string]any `json:"facts,omitempty"`
}

// ContentType of a Document (RFC 9457, section 3).
const ContentType = "application/problem+json"

var statuses = map[fault.Kind]int{
	fault.Internal:        http.StatusInternalServerError,
	fault.Invalid:         http.StatusBadRequest,
	fault.Unauthenticated: http.StatusUnauthorized,
	fault.Forbidden:       http.StatusForbidden,
	fault.NotFound:        http.StatusNotFound,
	fault.Conflict:        http.StatusConflict,
	fault.Gone:            http.StatusGone,
	fault.TooMany:         http.StatusTooManyRequests,
	fault.Unavailable:     http.StatusServiceUnavailable,
}

// Status is the HTTP status of a kind of fault.
func Status(kind fault.Kind) int {
	if status, ok := statuses[kind]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// Classify sees what an error of the layers below means; nil when it cannot
// tell. The server sets it to know the database's errors.
type Classify func(error) *fault.Error

// Handler is echo's error handler. Its default looks at the outer error type
// only, which loses the fault inside a wrapped error.
func Handler(log *slog.Logger, classify Classify) echo.HTTPErrorHandler {
	return func(err error, c echo.Context) {
		if c.Response().Committed { // nobody can be told but the log
			log.WarnContext(c.Request().Context(), "an answer broke off", "error", err.Error(), "route", c.Path(), "request_id", RequestID(c))
			return
		}
		e := of(err, classify)
		if e.Kind == fault.Internal {
			log.ErrorContext(c.Request().Context(), "internal error", "error", err.Error(), "route", c.Path(), "request_id", RequestID(c))
		}
		Write(c, e)
	}
}

func of(err error, classify Classify) *fault.Error {
	var e *fault.Error
	if errors.As(err, &e) {
		return e
	}
	if classify != nil {
		if e := classify(err); e != nil {
			return e
		}
	}
	var he *echo.HTTPError
	if errors.As(err, &he) {
		switch he.Code {
		case http.StatusNotFound:
			return fault.New(fault.NotFound, "route.not_found", "there is nothing at this address; see /v1/docs")
		case http.StatusMethodNotAllowed:
			return fault.New(fault.NotFound, "route.method_not_allowed", "this address does not take this method; see /v1/docs")
		}
	}
	return fault.Of(err)
}

// Write sends the fault as a problem document.
func Write(c echo.Context, e *fault.Error) {
	status := Status(e.Kind)
	if e.Code == "route.method_not_allowed" {
		status = http.StatusMethodNotAllowed
	}
	doc := Document{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Code: e.Code,
		Detail: e.Detail, RequestID: RequestID(c), Fields: e.Fields, Facts: e.Facts,
	}
	header := c.Response().Header()
	if e.RetryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(int((e.RetryAfter+time.Second-1)/time.Second)))
	}
	if status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", "Bearer")
	}
	header.Set(echo.HeaderContentType, ContentType)
	c.Set(codeKey, e.Code)
	c.Response().WriteHeader(status)
	if c.Request().Method != http.MethodHead {
		_ = json.NewEncoder(c.Response()).Encode(doc) // the caller is gone; nobody is left to tell
	}
}

const codeKey = "portillon.problem_code"

// Code is the code of the problem that was answered, "" for none. For the log.
func Code(c echo.Context) string {
	code, _ := c.Get(codeKey).(string)
	return code
}

// RequestID of this request, as in the X-Request-Id header of its answer.
func RequestID(c echo.Context) string {
	return c.Response().Header().Get(echo.HeaderXRequestID)
}
