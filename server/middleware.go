package server

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"portillon/server/fault"
	"portillon/server/problem"
	"portillon/server/session"
	"portillon/server/ticket"
)

// requestID names the request in its answer, its log line and its audit rows. A
// caller's own id is not taken over: it could be anything.
func requestID(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Header().Set(echo.HeaderXRequestID, uuid.NewString())
		return next(c)
	}
}

// record writes one log line a request, with the outcome, and counts it. Only the
// route's pattern is logged: an address may hold a lease's id.
func record(log *slog.Logger, m *metrics, now func() time.Time) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			start := now()
			if err := next(c); err != nil {
				c.Error(err)
			}
			took := now().Sub(start)
			route, status := c.Path(), c.Response().Status
			if route == "" {
				route = "none"
			}
			stream := strings.HasPrefix(c.Response().Header().Get(echo.HeaderContentType), "text/event-stream")
			m.answered(route, methodLabel(c.Request().Method), status, took, stream)
			level := slog.LevelInfo
			switch {
			case problem.Code(c) == "request.gone":
				level = slog.LevelDebug
			case status >= 500:
				level = slog.LevelError
			case quiet[route]:
				level = slog.LevelDebug
			}
			attributes := []any{
				"method", c.Request().Method, "route", route, "status", status, "duration_us", took.Microseconds(),
				"caller", string(session.From(c).Kind), "request_id", problem.RequestID(c),
			}
			if code := problem.Code(c); code != "" {
				attributes = append(attributes, "code", code)
			}
			if reason, ok := c.Get("portillon.reason").(string); ok {
				attributes = append(attributes, "reason", reason)
			}
			log.Log(c.Request().Context(), level, "request", attributes...)
			return nil
		}
	}
}

// methodLabel bounds the label: a method is the client's own text.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodDelete:
		return method
	}
	return "other"
}

// quiet routes are asked every few seconds by machines.
var quiet = map[string]bool{"/healthz": true, "/readyz": true}

// bodyWithin is how long a body may take to arrive: one that trickles in would hold
// its connection for ever.
const bodyWithin = 10 * time.Second

// fileWithin is how long a file may take, in or out.
var fileWithin = map[string]time.Duration{importPath: 3 * time.Minute, ticketsPath: 10 * time.Minute, attemptsPath: 10 * time.Minute}

// prompt bounds the time that a body takes. A GET has none, and streams are GETs; of
// a file that is fetched the time is bounded in which it is taken.
func prompt(now func() time.Time) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			// Not every writer has deadlines (those of tests have none).
			control := http.NewResponseController(c.Response())
			within, file := fileWithin[c.Path()]
			switch {
			case c.Request().Method != http.MethodGet:
				_ = control.SetReadDeadline(now().Add(max(bodyWithin, within)))
			case file:
				_ = control.SetWriteDeadline(now().Add(within))
			}
			return next(c)
		}
	}
}

// recovered turns a panic into an internal fault; the server goes on.
func recovered(log *slog.Logger) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) (err error) {
			defer func() {
				if r := recover(); r != nil {
					log.Error("panic", "panic", fmt.Sprint(r), "stack", string(debug.Stack()), "route", c.Path(), "request_id", problem.RequestID(c))
					err = fault.New(fault.Internal, "internal", "this is our fault; try again, and tell the operator the request id")
				}
			}()
			return next(c)
		}
	}
}

// allow lets only callers with the route's right through. Whether they have it
// at the thing's venue is the verb's question, who reads which venue that is.
func allow(right session.Right) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if err := session.From(c).Require(right, ticket.VenueID{}); err != nil {
				return err
			}
			c.Response().Header().Set("Cache-Control", "no-store")
			return next(c)
		}
	}
}
