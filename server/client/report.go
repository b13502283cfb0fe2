package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"portillon/server/ticket"
)

// Report is how an event stands. Tickets, Entries and Inside are of the moment At;
// the rest is of what happened from From until before To.
type Report struct {
	Event        ticket.EventID `json:"event"`
	Venue        ticket.VenueID `json:"venue"`
	TimeZone     string         `json:"time_zone"`
	At           time.Time      `json:"at"`
	From         time.Time      `json:"from"`
	To           time.Time      `json:"to"`
	StepS        int            `json:"step_s"` // seconds of a bucket
	Tickets      ReportTickets  `json:"tickets"`
	Entries      int            `json:"entries"` // people
	Inside       int            `json:"inside"`  // people
	Attempts     ReportAttempts `json:"attempts"`
	Reasons      []ReportReason `json:"reasons"`
	Unattributed []ReportReason `json:"unattributed"` // at the venue, of codes that named no ticket
	Gates        []ReportGate   `json:"gates"`
	People       []ReportPerson `json:"people"`
}

// ReportTickets counts tickets.
type ReportTickets struct {
	Issued    int `json:"issued"`
	Active    int `json:"active"`
	Used      int `json:"used"`
	Held      int `json:"held"`
	Revoked   int `json:"revoked"`
	Claimed   int `json:"claimed"`
	Phone     int `json:"phone"`
	Paper     int `json:"paper"`
	Unclaimed int `json:"unclaimed"`
}

// ReportAttempts counts what was scanned.
type ReportAttempts struct {
	Answered  int `json:"answered"`
	Admitted  int `json:"admitted"`
	Refused   int `json:"refused"`
	Replayed  int `json:"replayed"`
	DryRuns   int `json:"dry_runs"`
	Elsewhere int `json:"elsewhere"`
}

// ReportReason is how often something was answered; OverTime has one count a bucket.
type ReportReason struct {
	Reason   ticket.Reason `json:"reason"`
	Class    ticket.Class  `json:"class"`
	Attempts int           `json:"attempts"`
	OverTime []int         `json:"over_time"`
}

// ReportGate is what happened at a gate.
type ReportGate struct {
	Gate      ticket.GateID `json:"gate"`
	Name      string        `json:"gate_name"`
	Admitted  int           `json:"admitted"`
	Refused   int           `json:"refused"`
	PeopleIn  int           `json:"people_in"`
	PeopleOut int           `json:"people_out"`
}

// ReportPerson is what somebody did.
type ReportPerson struct {
	Person    ticket.PersonID `json:"person"`
	Name      string          `json:"person_name"`
	Admitted  int             `json:"admitted"`
	Refused   int             `json:"refused"`
	Overrides int             `json:"overrides"`
	LookUps   int             `json:"look_ups"`
	Undos     int             `json:"undos"`
}

// EventReport counts an event. The query may have from and to (RFC 3339) and step
// (seconds).
func (c *Client) EventReport(ctx context.Context, event ticket.EventID, query url.Values) (Report, error) {
	path := "/v1/events/" + event.String() + "/report"
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return Do[Report](ctx, c, http.MethodGet, path, nil)
}
