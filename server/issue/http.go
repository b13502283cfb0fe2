package issue

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"portillon/server/exchange"
	"portillon/server/repeat"
	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/server/wire"
)

// HandleCreateVenue answers POST /v1/venues.
func (s *Service) HandleCreateVenue(c echo.Context) error {
	return create(c, "venue", wire.SmallBody, s.CreateVenue)
}

// HandleListVenues answers GET /v1/venues?cursor=.
func (s *Service) HandleListVenues(c echo.Context) error {
	list, err := s.ListVenues(c.Request().Context(), session.From(c), c.QueryParam("cursor"))
	return answer(c, http.StatusOK, list, err)
}

// HandleGetVenue answers GET /v1/venues/{venue}.
func (s *Service) HandleGetVenue(c echo.Context) error { return read(c, "venue", s.GetVenue) }

// HandleCreateGate answers POST /v1/venues/{venue}/gates.
func (s *Service) HandleCreateGate(c echo.Context) error {
	return createIn(c, "venue", "gate", wire.SmallBody, s.CreateGate)
}

// HandleListGates answers GET /v1/venues/{venue}/gates.
func (s *Service) HandleListGates(c echo.Context) error { return read(c, "venue", s.ListGates) }

// HandleCreateEvent answers POST /v1/events.
func (s *Service) HandleCreateEvent(c echo.Context) error {
	return create(c, "event", wire.SmallBody, s.CreateEvent)
}

// HandleListEvents answers GET /v1/events?venue=&from=&cursor=.
func (s *Service) HandleListEvents(c echo.Context) error {
	q := EventQuery{Cursor: c.QueryParam("cursor")}
	var fields checks
	if text := c.QueryParam("venue"); text != "" {
		if err := q.Venue.UnmarshalText([]byte(text)); err != nil {
			fields.add("venue", invalid)
		}
	}
	if text := c.QueryParam("from"); text != "" {
		from, err := time.Parse(time.RFC3339, text)
		if err != nil {
			fields.add("from", invalid)
		}
		q.From = from
	}
	if err := fields.err(); err != nil {
		return err
	}
	list, err := s.ListEvents(c.Request().Context(), session.From(c), q)
	return answer(c, http.StatusOK, list, err)
}

// HandleGetEvent answers GET /v1/events/{event}.
func (s *Service) HandleGetEvent(c echo.Context) error { return read(c, "event", s.GetEvent) }

// HandleChangeEvent answers PATCH /v1/events/{event}.
func (s *Service) HandleChangeEvent(c echo.Context) error {
	id, err := eventID(c)
	if err != nil {
		return err
	}
	change, _, err := wire.Body[EventChange](c, wire.SmallBody)
	if err != nil {
		return err
	}
	event, err := s.ChangeEvent(c.Request().Context(), session.From(c), id, change)
	return answer(c, http.StatusOK, event, err)
}

// HandleListCategories answers GET /v1/events/{event}/categories.
func (s *Service) HandleListCategories(c echo.Context) error {
	return read(c, "event", s.ListCategories)
}

// HandleCreateCategory answers POST /v1/events/{event}/categories.
func (s *Service) HandleCreateCategory(c echo.Context) error {
	return createIn(c, "event", "category", wire.LargeBody, s.CreateCategory)
}

// HandleIssue answers POST /v1/events/{event}/tickets.
func (s *Service) HandleIssue(c echo.Context) error {
	return createIn(c, "event", "tickets", wire.LargeBody, s.Issue)
}

// HandleReserveNumber answers POST /v1/events/{event}/numbers.
func (s *Service) HandleReserveNumber(c echo.Context) error {
	id, err := eventID(c)
	if err != nil {
		return err
	}
	lease, err := s.ReserveNumber(c.Request().Context(), session.From(c), id)
	return answer(c, http.StatusCreated, lease, err)
}

// HandleRenewNumber answers POST /v1/number-leases/{lease}/renew.
func (s *Service) HandleRenewNumber(c echo.Context) error {
	lease, err := s.RenewNumber(c.Request().Context(), session.From(c), c.Param("lease"))
	return answer(c, http.StatusOK, lease, err)
}

// HandleReleaseNumber answers POST /v1/number-leases/{lease}/release. The page that
// sends it may be closing: the act must not end with the connection.
func (s *Service) HandleReleaseNumber(c echo.Context) error {
	if err := s.ReleaseNumber(context.WithoutCancel(c.Request().Context()), c.Param("lease")); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// HandleListTickets answers GET /v1/events/{event}/tickets?cursor=&q=&status=.
func (s *Service) HandleListTickets(c echo.Context) error {
	id, err := eventID(c)
	if err != nil {
		return err
	}
	q := TicketQuery{Q: c.QueryParam("q"), Status: ticket.Status(c.QueryParam("status")), Cursor: c.QueryParam("cursor")}
	list, err := s.ListTickets(c.Request().Context(), session.From(c), id, q)
	return answer(c, http.StatusOK, list, err)
}

// HandleImport answers POST /v1/events/{event}/imports. The body is the file; the
// query says what is known of it: dry_run, encoding, separator, all_category, language, mails, and for
// each member of a ticket its column.
func (s *Service) HandleImport(c echo.Context) error {
	id, err := eventID(c)
	if err != nil {
		return err
	}
	query := c.QueryParams()
	in := ImportIn{
		Options: exchange.Options{Encoding: exchange.Encoding(query.Get("encoding")), Separator: exchange.Separator(query.Get("separator"))},
		Columns: map[string]string{}, Category: query.Get("all_category"), DryRun: query.Get("dry_run") == "true",
		Language: query.Get("language"), NoMails: query.Get("mails") == "false",
	}
	for _, member := range Columns {
		if column := query.Get(member); column != "" {
			in.Columns[member] = column
		}
	}
	if in.File, err = wire.File(c, exchange.MaxBytes); err != nil {
		return err
	}
	call, err := wire.Call(c, "import", append([]byte(query.Encode()+"\n"), in.File...))
	if err != nil {
		return err
	}
	out, err := s.Import(c.Request().Context(), session.From(c), call, id, in)
	return answer(c, http.StatusOK, out, err)
}

// HandleExportTickets answers GET /v1/events/{event}/tickets.csv?flavour=&lang=.
func (s *Service) HandleExportTickets(c echo.Context) error {
	id, err := eventID(c)
	if err != nil {
		return err
	}
	return wire.Table(c, "tickets.csv", func(ctx context.Context, f exchange.Flavour, write func([]string) error) error {
		return s.ExportTickets(ctx, session.From(c), id, f, write)
	})
}

// HandleGetTicket answers GET /v1/tickets/{ticket}.
func (s *Service) HandleGetTicket(c echo.Context) error { return read(c, "ticket", s.GetTicket) }

// HandleRevoke answers POST /v1/tickets/{ticket}/revoke.
func (s *Service) HandleRevoke(c echo.Context) error { return perform(c, "ticket.revoke", s.Revoke) }

// HandleReinstate answers POST /v1/tickets/{ticket}/reinstate.
func (s *Service) HandleReinstate(c echo.Context) error {
	return perform(c, "ticket.reinstate", s.Reinstate)
}

// HandleHold answers POST /v1/tickets/{ticket}/hold.
func (s *Service) HandleHold(c echo.Context) error { return perform(c, "ticket.hold", s.Hold) }

// HandleRelease answers POST /v1/tickets/{ticket}/release.
func (s *Service) HandleRelease(c echo.Context) error {
	return perform(c, "ticket.release", s.Release)
}

// HandleAllowMove answers POST /v1/tickets/{ticket}/allow-move.
func (s *Service) HandleAllowMove(c echo.Context) error {
	return perform(c, "ticket.allow_move", s.AllowMove)
}

// HandleResend answers POST /v1/tickets/{ticket}/resend.
func (s *Service) HandleResend(c echo.Context) error { return perform(c, "ticket.resend", s.Resend) }

// HandleListMails answers GET /v1/events/{event}/mails?cursor=&state=.
func (s *Service) HandleListMails(c echo.Context) error {
	id, err := eventID(c)
	if err != nil {
		return err
	}
	list, err := s.ListMails(c.Request().Context(), session.From(c), id, c.QueryParam("state"), c.QueryParam("cursor"))
	return answer(c, http.StatusOK, list, err)
}

// HandleReissue answers POST /v1/tickets/{ticket}/reissue.
func (s *Service) HandleReissue(c echo.Context) error {
	return perform(c, "ticket.reissue", s.Reissue)
}

// HandlePrint answers POST /v1/tickets/{ticket}/print.
func (s *Service) HandlePrint(c echo.Context) error { return perform(c, "ticket.print", s.Print) }

// HandleShowLink answers POST /v1/tickets/{ticket}/link.
func (s *Service) HandleShowLink(c echo.Context) error {
	if _, _, err := body[struct{}](c, wire.SmallBody); err != nil {
		return err
	}
	return read(c, "ticket", s.ShowLink)
}

// ReasonRequest is the body of an act on a ticket.
type ReasonRequest struct {
	Reason string `json:"reason"`
}

func eventID(c echo.Context) (id ticket.EventID, err error) {
	err = pathID(c, "event", &id)
	return id, err
}

// pathID reads the identifier with this name from the path.
func pathID[T any](c echo.Context, name string, id *ticket.Of[T]) (err error) {
	*id, err = wire.ID[T](c, name)
	return err
}

// body is wire.Body, and the empty object where nothing was sent.
func body[T any](c echo.Context, limit int64) (value T, raw []byte, err error) {
	if c.Request().ContentLength == 0 {
		return value, nil, nil
	}
	return wire.Body[T](c, limit)
}

// answer sends the value, or hands the error on.
func answer[T any](c echo.Context, status int, value T, err error) error {
	if err != nil {
		return err
	}
	// Answers hold links, names and addresses, which no cache may keep.
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return c.JSON(status, value)
}

// read answers what belongs to the thing that the path names.
func read[K, Out any](c echo.Context, name string, verb func(context.Context, session.Caller, ticket.Of[K]) (Out, error)) error {
	id, err := wire.ID[K](c, name)
	if err != nil {
		return err
	}
	out, err := verb(c.Request().Context(), session.From(c), id)
	return answer(c, http.StatusOK, out, err)
}

// meaning is a body that may be worded otherwise when it is sent again with its
// key; meant gives what stays the same.
type meaning interface{ meant() ([]byte, error) }

// create answers what the body asks to be made.
func create[In, Out any](c echo.Context, what string, limit int64, verb func(context.Context, session.Caller, repeat.Call, In) (Out, error)) error {
	in, raw, err := wire.Body[In](c, limit)
	if err != nil {
		return err
	}
	if said, ok := any(in).(meaning); ok {
		if raw, err = said.meant(); err != nil {
			return err
		}
	}
	call, err := wire.Call(c, what, raw)
	if err != nil {
		return err
	}
	out, err := verb(c.Request().Context(), session.From(c), call, in)
	return answer(c, http.StatusCreated, out, err)
}

// createIn is create inside the thing that the path names.
func createIn[K, In, Out any](c echo.Context, parent, what string, limit int64,
	verb func(context.Context, session.Caller, repeat.Call, ticket.Of[K], In) (Out, error),
) error {
	id, err := wire.ID[K](c, parent)
	if err != nil {
		return err
	}
	return create(c, what, limit, func(ctx context.Context, by session.Caller, call repeat.Call, in In) (Out, error) {
		return verb(ctx, by, call, id, in)
	})
}

// perform answers an act on the ticket that the path names.
func perform[Out any](c echo.Context, what string, verb func(context.Context, session.Caller, repeat.Call, ticket.ID, string) (Out, error)) error {
	var id ticket.ID
	if err := pathID(c, "ticket", &id); err != nil {
		return err
	}
	in, raw, err := body[ReasonRequest](c, wire.SmallBody)
	if err != nil {
		return err
	}
	call, err := wire.Call(c, what, raw)
	if err != nil {
		return err
	}
	out, err := verb(c.Request().Context(), session.From(c), call, id, in.Reason)
	return answer(c, http.StatusOK, out, err)
}
