package report

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"portillon/server/exchange"
	"portillon/server/fault"
	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/server/wire"
)

// HandleEvent answers GET /v1/events/{event}/report?from=&to=&step=; from and to are
// times (RFC 3339), step is a number of seconds.
func (s *Service) HandleEvent(c echo.Context) error {
	var event ticket.EventID
	if err := pathID(c, "event", &event); err != nil {
		return err
	}
	asked, err := window(c)
	if err != nil {
		return err
	}
	r, err := s.Of(c.Request().Context(), session.From(c), event, asked)
	if err != nil {
		return err
	}
	// It names staff, and is out of date at once.
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return c.JSON(http.StatusOK, r)
}

// pathID reads the identifier with this name from the path.
func pathID[T any](c echo.Context, name string, id *ticket.Of[T]) (err error) {
	*id, err = wire.ID[T](c, name)
	return err
}

func window(c echo.Context) (w Window, err error) {
	var wrong []fault.Field
	for name, to := range map[string]*time.Time{"from": &w.From, "to": &w.To} {
		text := c.QueryParam(name)
		if text == "" {
			continue
		}
		if *to, err = time.Parse(time.RFC3339, text); err != nil || to.Year() < 2000 || to.Year() > 9000 {
			wrong = append(wrong, fault.Field{Name: name, Code: "invalid"})
		}
	}
	if text := c.QueryParam("step"); text != "" {
		if w.Step, err = strconv.Atoi(text); err != nil || w.Step == 0 {
			wrong = append(wrong, fault.Field{Name: "step", Code: "invalid"})
		}
	}
	if len(wrong) > 0 {
		return w, fault.Fields(wrong...)
	}
	return w, nil
}

// HandleExportAttempts answers GET /v1/events/{event}/attempts.csv?flavour=&lang=.
func (s *Service) HandleExportAttempts(c echo.Context) error {
	var event ticket.EventID
	if err := pathID(c, "event", &event); err != nil {
		return err
	}
	return wire.Table(c, "attempts.csv", func(ctx context.Context, f exchange.Flavour, write func([]string) error) error {
		return s.ExportAttempts(ctx, session.From(c), event, f, write)
	})
}
