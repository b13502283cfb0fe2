package admit

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"portillon/server/fault"
	"portillon/server/locale"
	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/server/wire"
)

// maxCode is the longest code that is looked at, in bytes. The body's own limit
// leaves room for JSON around it.
const maxCode = 4096

// Judge decides about a scan: Service.Scan.
type Judge func(ctx context.Context, by session.Caller, in ScanIn) (Answer, error)

// Handlers answer the door's calls.
type Handlers struct {
	door *Service
	scan Judge
	text *locale.Catalogue
	now  func() time.Time
}

// NewHandlers makes the HTTP side of the door. scan takes the place of door.Scan, to
// measure what is around it; nil leaves it.
func NewHandlers(door *Service, scan Judge, text *locale.Catalogue, now func() time.Time) *Handlers {
	if scan == nil {
		scan = door.Scan
	}
	return &Handlers{door: door, scan: scan, text: text, now: now}
}

// ScanRequest is the body of POST /v1/scans.
type ScanRequest struct {
	Gate         ticket.GateID    `json:"gate"`
	Code         string           `json:"code"`
	Direction    ticket.Direction `json:"direction"`
	People       int              `json:"people"`
	ScannedAt    *time.Time       `json:"scanned_at"` // by the device's clock, for the record
	PhoneOffline bool             `json:"phone_offline"`
	DryRun       bool             `json:"dry_run"`
}

// HandleScan is POST /v1/scans: 200 with a verdict for every decided scan.
func (h *Handlers) HandleScan(c echo.Context) error {
	req, _, err := wire.Body[ScanRequest](c, maxCode+wire.SmallBody)
	if err != nil {
		return err
	}
	arrived := h.now() // not before: how long a client takes to send is not our waiting
	if req.Code == "" {
		return fault.Fields(fault.Field{Name: "code", Code: "required"})
	}
	return h.judge(c, h.scan, ScanIn{
		Gate: req.Gate, Code: req.Code, Direction: req.Direction, People: req.People,
		PhoneOffline: req.PhoneOffline, DryRun: req.DryRun, ScannedAt: req.ScannedAt, Arrived: arrived,
	})
}

func (in ScanIn) check() error {
	var fields []fault.Field
	if in.Gate.IsZero() {
		fields = append(fields, fault.Field{Name: "gate", Code: "required"})
	}
	if len(in.Code) > maxCode {
		fields = append(fields, fault.Field{Name: "code", Code: "too_long"})
	}
	if in.Direction != "" && in.Direction != ticket.In && in.Direction != ticket.Out {
		fields = append(fields, fault.Field{Name: "direction", Code: "unknown"})
	}
	if in.People < 0 || in.People > 100 {
		fields = append(fields, fault.Field{Name: "people", Code: "out_of_range"})
	}
	if len(fields) > 0 {
		return fault.Fields(fields...)
	}
	return nil
}

// OverrideRequest is the body of POST /v1/scans/override: a code, or the ticket of
// a refusal that was shown.
type OverrideRequest struct {
	Gate         ticket.GateID `json:"gate"`
	Code         string        `json:"code"`
	Ticket       ticket.ID     `json:"ticket"`
	People       int           `json:"people"`
	PhoneOffline bool          `json:"phone_offline"`
	Reason       string        `json:"reason"`
}

// HandleOverride is POST /v1/scans/override.
func (h *Handlers) HandleOverride(c echo.Context) error {
	req, _, err := wire.Body[OverrideRequest](c, maxCode+wire.SmallBody)
	if err != nil {
		return err
	}
	arrived := h.now()
	if (req.Code == "") == req.Ticket.IsZero() {
		return fault.Fields(fault.Field{Name: "code", Code: "one_of_code_and_ticket"})
	}
	return h.judge(c, h.door.Override, ScanIn{
		Gate: req.Gate, Code: req.Code, Ticket: req.Ticket, People: req.People, PhoneOffline: req.PhoneOffline,
		Reason: req.Reason, Arrived: arrived,
	})
}

// LookUpRequest is the body of POST /v1/tickets/{ticket}/admit.
type LookUpRequest struct {
	Gate   ticket.GateID `json:"gate"`
	People int           `json:"people"`
	Reason string        `json:"reason"`
}

// HandleLookUp is POST /v1/tickets/{ticket}/admit.
func (h *Handlers) HandleLookUp(c echo.Context) error {
	in := ScanIn{}
	if err := in.Ticket.UnmarshalText([]byte(c.Param("ticket"))); err != nil {
		return errTicket
	}
	req, _, err := wire.Body[LookUpRequest](c, wire.SmallBody)
	if err != nil {
		return err
	}
	in.Arrived, in.Gate, in.People, in.Reason = h.now(), req.Gate, req.People, req.Reason
	return h.judge(c, h.door.LookUp, in)
}

// SearchRequest is the body of POST /v1/gates/{gate}/search. The words of a search are
// names, which belong into no address.
type SearchRequest struct {
	Q string `json:"q"`
}

// HandleSearch is POST /v1/gates/{gate}/search.
func (h *Handlers) HandleSearch(c echo.Context) error {
	in := SearchIn{}
	if err := in.Gate.UnmarshalText([]byte(c.Param("gate"))); err != nil {
		return errGate
	}
	req, _, err := wire.Body[SearchRequest](c, wire.SmallBody)
	if err != nil {
		return err
	}
	in.Q = req.Q
	found, err := h.door.Search(c.Request().Context(), session.From(c), in)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, found)
}

// judge checks what all scans have in common, asks for the judgement and answers.
func (h *Handlers) judge(c echo.Context, verb Judge, in ScanIn) error {
	if err := in.check(); err != nil {
		return err
	}
	key, err := wire.Key(c)
	if err != nil {
		return err
	}
	if in.Key = ticket.Key(key); in.Key.IsZero() {
		return fault.New(fault.Invalid, "request.idempotency_key", "send Idempotency-Key: a UUID made once for this scan")
	}
	answer, err := verb(c.Request().Context(), session.From(c), in)
	if err != nil {
		return err
	}
	c.Set("portillon.reason", string(answer.Reason))
	return c.JSON(http.StatusOK, h.body(c, answer))
}

// ShownRequest is the body of POST /v1/scans/shown.
type ShownRequest struct {
	Scans []Shown `json:"scans"`
}

// ShownAnswer says how many of the receipts are kept.
type ShownAnswer struct {
	Kept int `json:"kept"`
}

// HandleShown is POST /v1/scans/shown.
func (h *Handlers) HandleShown(c echo.Context) error {
	req, _, err := wire.Body[ShownRequest](c, wire.LargeBody)
	if err != nil {
		return err
	}
	kept, err := h.door.Receive(c.Request().Context(), session.From(c), req.Scans)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, ShownAnswer{Kept: kept})
}

// ScanAnswer is the body of a decided scan. What a scanner needs and no more:
// no address, no secret, no other holder.
type ScanAnswer struct {
	Verdict   ticket.Verdict   `json:"verdict"`
	Class     ticket.Class     `json:"class"`
	Reason    ticket.Reason    `json:"reason"`
	Replayed  bool             `json:"replayed"`
	Recovered bool             `json:"recovered"`
	DryRun    bool             `json:"dry_run"`
	Title     string           `json:"title"`
	Advice    string           `json:"advice"`
	Actions   []string         `json:"actions"`
	Kind      ticket.Kind      `json:"kind,omitempty"`
	Direction ticket.Direction `json:"direction,omitempty"`
	People    int              `json:"people,omitempty"`
	Remaining *int             `json:"remaining,omitempty"`
	At        time.Time        `json:"at,omitzero"`
	MovedAt   time.Time        `json:"moved_at,omitzero"`
	Skew      *float64         `json:"seconds_skew,omitempty"`
	NotBefore time.Time        `json:"not_before,omitzero"`
	NotAfter  time.Time        `json:"not_after,omitzero"`
	Is        string           `json:"is,omitempty"`
	Gates     []gateBody       `json:"gates,omitempty"`
	Ticket    *ticketBody      `json:"ticket,omitempty"`
	FirstUse  *firstUseBody    `json:"first_use,omitempty"`
	Over      []ticket.Reason  `json:"overridden,omitempty"` // admitted by judgement against these
	Server    time.Time        `json:"server_time"`
}

type gateBody struct {
	Gate ticket.GateID `json:"gate"`
	Name string        `json:"name"`
}

type ticketBody struct {
	Ticket      ticket.ID      `json:"ticket"`
	Number      int            `json:"number"`
	Status      ticket.Status  `json:"status"`
	Category    string         `json:"category"`
	Seat        string         `json:"seat"`
	Holder      string         `json:"holder,omitempty"`
	Event       ticket.EventID `json:"event"`
	EventName   string         `json:"event_name"`
	Screen      string         `json:"screen"`
	DoorsOpenAt time.Time      `json:"doors_open_at"`
	StartsAt    time.Time      `json:"starts_at"`
	EndsAt      time.Time      `json:"ends_at"`
	Venue       ticket.VenueID `json:"venue"`
	VenueName   string         `json:"venue_name"`
	TimeZone    string         `json:"time_zone"`
}

type firstUseBody struct {
	At         time.Time     `json:"at"`
	SecondsAgo int           `json:"seconds_ago"`
	Gate       ticket.GateID `json:"gate"`
	GateName   string        `json:"gate_name"`
	Person     string        `json:"person"`
	SameDevice bool          `json:"same_device"`
	SameClaim  bool          `json:"same_claim"`
	SameNonce  bool          `json:"same_nonce"`
	Shown      bool          `json:"shown"`
}

func (h *Handlers) body(c echo.Context, a Answer) ScanAnswer {
	lang := locale.Match(c.Request().Header.Get("Accept-Language"))
	body := ScanAnswer{
		Verdict: a.Verdict, Class: a.Class, Reason: a.Reason, Replayed: a.Replayed, Recovered: a.Recovered, DryRun: a.DryRun,
		Title:   h.text.Text(lang, "reason."+string(a.Reason), nil),
		Advice:  h.text.Text(lang, "advice."+string(a.Reason), nil),
		Actions: actions(a), Kind: a.Kind, Direction: a.Direction, People: a.People,
		At: a.At, MovedAt: a.MovedAt, Is: a.What, Over: a.Over, Server: a.Facts.Now,
	}
	if a.Picture {
		body.Advice = h.text.Text(lang, "gate.probably_picture", nil)
	}
	switch a.Reason {
	case ticket.TooEarly:
		body.NotBefore = a.Validity
	case ticket.TooLate:
		body.NotAfter = a.Validity
	case ticket.ClockSkew:
		seconds := a.Skew.Seconds()
		body.Skew = &seconds
	case ticket.WrongGate:
		for _, g := range a.Facts.Category.Gates {
			body.Gates = append(body.Gates, gateBody{Gate: g.ID, Name: g.Name})
		}
	case ticket.Admitted, ticket.ChoosePeople, ticket.AlreadyInside, ticket.EntriesExhausted:
		body.Remaining = &a.Remaining
	}
	if a.tellsTicket() {
		body.Ticket = ticketOf(a.Facts)
	}
	if a.First != nil {
		body.FirstUse = firstUseOf(a.First)
	}
	return body
}

// tellsTicket: nothing is said about a ticket before its signature is good.
func (a Answer) tellsTicket() bool {
	return a.Facts.SignatureGood && a.Facts.Ticket != nil
}

func ticketOf(f ticket.Facts) *ticketBody {
	t := &ticketBody{
		Ticket: f.Ticket.ID, Number: f.Ticket.Number, Status: f.Ticket.Status, Category: f.Category.Name, Seat: f.Ticket.Seat,
		Event: f.Event.ID, EventName: f.Event.Name, Screen: f.Event.Screen, DoorsOpenAt: f.Event.DoorsOpenAt,
		StartsAt: f.Event.StartsAt, EndsAt: f.Event.EndsAt, Venue: f.Event.Venue.ID, VenueName: f.Event.Venue.Name,
		TimeZone: f.Event.Venue.TimeZone,
	}
	if f.Event.Venue.ID != f.Gate.Venue {
		t.Seat = "" // another house's guests are its own affair
	} else if f.Event.ShowNames {
		t.Holder = f.Ticket.Holder
	}
	return t
}

func firstUseOf(u *ticket.FirstUse) *firstUseBody {
	return &firstUseBody{
		At: u.At, SecondsAgo: int(u.Ago.Seconds()), Gate: u.Gate.ID, GateName: u.Gate.Name, Person: u.PersonName,
		SameDevice: u.SameDevice, SameClaim: u.SameClaim, SameNonce: u.SameNonce, Shown: u.Shown,
	}
}

// actions are the buttons that belong to the answer, each the same call again
// under the same key with one more member.
func actions(a Answer) []string {
	switch a.Reason {
	case ticket.NeedsAssist:
		return []string{"phone_offline"}
	case ticket.ChoosePeople:
		return []string{"people"}
	}
	if a.mayOverride {
		return []string{"override"}
	}
	return []string{}
}

// ShortRequest is the body of POST /v1/wallet/short.
type ShortRequest struct {
	Proof string `json:"proof"`
}

// HandleShort is POST /v1/wallet/short: the signature in the proof is the
// credential.
func (h *Handlers) HandleShort(c echo.Context) error {
	req, _, err := wire.Body[ShortRequest](c, wire.SmallBody)
	if err != nil {
		return err
	}
	short, err := h.door.Short(c.Request().Context(), req.Proof)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, short)
}

// UndoRequest is the body of POST /v1/scans/undo.
type UndoRequest struct {
	Ticket ticket.ID  `json:"ticket"`
	Key    ticket.Key `json:"key"`
	Reason string     `json:"reason"`
}

// HandleUndo is POST /v1/scans/undo.
func (h *Handlers) HandleUndo(c echo.Context) error {
	req, raw, err := wire.Body[UndoRequest](c, wire.SmallBody)
	if err != nil {
		return err
	}
	call, err := wire.Call(c, "undo", raw)
	if err != nil {
		return err
	}
	undone, err := h.door.Undo(c.Request().Context(), session.From(c), UndoIn{
		Ticket: req.Ticket, Key: req.Key, Reason: req.Reason, Call: call,
	})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, undone)
}
