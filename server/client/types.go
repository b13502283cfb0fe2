package client

import (
	"time"

	"portillon/server/ticket"
)

// List is one page of a list; Next is empty on the last.
type List[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next"`
}

// Venue is a place with gates and one time zone.
type Venue struct {
	Venue    ticket.VenueID `json:"venue"`
	Name     string         `json:"name"`
	TimeZone string         `json:"time_zone"`
}

// Gate is where people go in or out of a venue.
type Gate struct {
	Gate  ticket.GateID  `json:"gate"`
	Name  string         `json:"name"`
	Venue ticket.VenueID `json:"venue,omitzero"`
}

// Policy is what an event wants at its doors. Empty fields take the server's
// defaults when an event is made.
type Policy struct {
	Freshness     ticket.Freshness `json:"freshness,omitempty"`
	Rescan        ticket.Rescan    `json:"rescan,omitempty"`
	RescanWindowS int              `json:"rescan_window_s,omitempty"`
	Reentry       bool             `json:"reentry,omitempty"`
	Offline       string           `json:"offline,omitempty"`
	ShowNames     *bool            `json:"show_names,omitempty"`
}

// Event is one showing at one venue.
type Event struct {
	Event       ticket.EventID `json:"event"`
	Venue       ticket.VenueID `json:"venue"`
	VenueName   string         `json:"venue_name,omitempty"`
	TimeZone    string         `json:"time_zone,omitempty"`
	Name        string         `json:"name"`
	Screen      string         `json:"screen"`
	DoorsOpenAt time.Time      `json:"doors_open_at"`
	StartsAt    time.Time      `json:"starts_at"`
	EndsAt      time.Time      `json:"ends_at"`
	ClaimFrom   time.Time      `json:"claim_from"`
	Policy      Policy         `json:"policy"`
	Responsible Responsible    `json:"responsible"`
}

// Responsible is whom an event's acts of issuing are told by mail, and in which language.
type Responsible struct {
	Email    string `json:"email"`
	Language string `json:"language,omitempty"`
}

// Imported is what came of a file of tickets, or of a dry run what would come of it.
type Imported struct {
	DryRun    bool         `json:"dry_run"`
	Encoding  string       `json:"encoding"`
	Separator string       `json:"separator"`
	Counts    ImportCounts `json:"counts"`
	Lines     []ImportLine `json:"lines"`
}

// ImportCounts counts the lines of a file by what comes of them; Leases are numbers
// that were taken away from open forms.
type ImportCounts struct {
	Lines  int `json:"lines"`
	Create int `json:"create"`
	Update int `json:"update"`
	Skip   int `json:"skip"`
	Error  int `json:"error"`
	Leases int `json:"leases"`
}

// ImportLine is the verdict about one line, counted from 1.
type ImportLine struct {
	Line       int         `json:"line"`
	Do         string      `json:"do"` // create, update, skip, error
	ExternalID string      `json:"external_id"`
	Number     int         `json:"number"`
	Errors     []LineError `json:"errors,omitempty"`
}

// LineError is why a line is left out.
type LineError struct {
	Member string         `json:"member"`
	Code   string         `json:"code"`
	Facts  map[string]any `json:"facts,omitempty"`
}

// NewEvent is what POST /v1/events takes.
type NewEvent struct {
	Venue       ticket.VenueID `json:"venue"`
	Name        string         `json:"name"`
	Screen      string         `json:"screen,omitempty"`
	DoorsOpenAt time.Time      `json:"doors_open_at"`
	StartsAt    time.Time      `json:"starts_at"`
	EndsAt      time.Time      `json:"ends_at"`
	ClaimFrom   time.Time      `json:"claim_from,omitzero"`
	Policy      *Policy        `json:"policy,omitempty"`
	Responsible *Responsible   `json:"responsible,omitempty"`
}

// Category is a kind of ticket of an event.
type Category struct {
	Category   ticket.CategoryID `json:"category"`
	Name       string            `json:"name"`
	Admits     int               `json:"admits"`
	Paper      bool              `json:"paper"`
	Gates      []ticket.GateID   `json:"gates,omitempty"`
	ValidFrom  time.Time         `json:"valid_from,omitzero"`
	ValidUntil time.Time         `json:"valid_until,omitzero"`
}

// NewCategory is what POST /v1/events/{event}/categories takes. Admits 0 is one.
type NewCategory struct {
	Name       string          `json:"name"`
	Admits     int             `json:"admits,omitempty"`
	Paper      bool            `json:"paper,omitempty"`
	Gates      []ticket.GateID `json:"gates,omitempty"`
	ValidFrom  time.Time       `json:"valid_from,omitzero"`
	ValidUntil time.Time       `json:"valid_until,omitzero"`
}

// Holder is to whom tickets are issued.
type Holder struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

// NewTickets is what POST /v1/events/{event}/tickets takes. Count 0 is one, or
// as many as there are seats. Lease names the number of the first ticket.
type NewTickets struct {
	Lease      string            `json:"lease,omitempty"`
	Category   ticket.CategoryID `json:"category"`
	Holder     *Holder           `json:"holder,omitempty"`
	Seat       string            `json:"seat,omitempty"`
	Seats      []string          `json:"seats,omitempty"`
	ExternalID string            `json:"external_id,omitempty"`
	Count      int               `json:"count,omitempty"`
	Language   string            `json:"language,omitempty"` // of the mail to the holder
}

// Issued is an order: tickets of one act and their one claim link.
type Issued struct {
	Order    ticket.OrderID `json:"order"`
	Tickets  []IssuedTicket `json:"tickets"`
	ClaimURL string         `json:"claim_url"`
}

// IssuedTicket is a ticket of an order.
type IssuedTicket struct {
	Ticket   ticket.ID         `json:"ticket"`
	Number   int               `json:"number"`
	Seat     string            `json:"seat"`
	Category ticket.CategoryID `json:"category"`
	Status   ticket.Status     `json:"status"`
}

// Ticket is one ticket as an admin sees it. Event, Order, History and
// Admissions are those of one ticket's own page; a list leaves them out.
type Ticket struct {
	Ticket       ticket.ID         `json:"ticket"`
	Number       int               `json:"number"`
	Category     ticket.CategoryID `json:"category"`
	CategoryName string            `json:"category_name"`
	Seat         string            `json:"seat"`
	Holder       Holder            `json:"holder"`
	ExternalID   string            `json:"external_id,omitempty"`
	Status       ticket.Status     `json:"status"`
	StatusSince  time.Time         `json:"status_since,omitzero"`
	Claim        string            `json:"claim"`      // none, phone or paper
	Generation   int               `json:"generation"` // 0: never claimed
	Entries      int               `json:"entries"`
	Inside       int               `json:"inside"`
	Admits       int               `json:"admits"`
	Extra        int               `json:"extra,omitempty"` // entries beyond admits that staff gave
	UsedAt       time.Time         `json:"used_at,omitzero"`
	Event        ticket.EventID    `json:"event,omitzero"`
	EventName    string            `json:"event_name,omitempty"`
	Order        ticket.OrderID    `json:"order,omitzero"`
	History      []HistoryRow      `json:"history,omitempty"`
	Admissions   []AdmissionRow    `json:"admissions,omitempty"`
}

// HistoryRow is one act on a ticket.
type HistoryRow struct {
	At         time.Time       `json:"at"`
	Act        string          `json:"act"`
	Actor      string          `json:"actor"` // person, device, token, wallet, system or operator
	Person     ticket.PersonID `json:"person,omitzero"`
	PersonName string          `json:"person_name,omitempty"`
	Device     ticket.DeviceID `json:"device,omitzero"`
	DeviceName string          `json:"device_name,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	Details    map[string]any  `json:"details,omitempty"`
}

// AdmissionRow is one passage of a ticket.
type AdmissionRow struct {
	Key        ticket.Key       `json:"key"`
	At         time.Time        `json:"at"`
	Gate       ticket.GateID    `json:"gate"`
	GateName   string           `json:"gate_name"`
	Person     ticket.PersonID  `json:"person"`
	PersonName string           `json:"person_name"`
	Device     ticket.DeviceID  `json:"device,omitzero"`
	DeviceName string           `json:"device_name,omitempty"`
	People     int              `json:"people"`
	Direction  ticket.Direction `json:"direction"`
	Kind       ticket.Kind      `json:"kind"`
	Path       string           `json:"path"` // ordinary, override, look_up, recovery or offline
	Reason     string           `json:"reason,omitempty"`
	ShownAt    time.Time        `json:"shown_at,omitzero"` // its answer was on the scanner's screen by then
	Undone     *AdmissionUndo   `json:"undone,omitempty"`
}

// AdmissionUndo says who took an admission back, and why.
type AdmissionUndo struct {
	At         time.Time       `json:"at"`
	Person     ticket.PersonID `json:"person,omitzero"`
	PersonName string          `json:"person_name,omitempty"`
	Reason     string          `json:"reason"`
	// SupersededBy is the admission that took its place, when its answer was lost.
	SupersededBy ticket.Key `json:"superseded_by,omitzero"`
}

// ClaimLink is the answer that shows a claim link again, or a new one.
type ClaimLink struct {
	ClaimURL string `json:"claim_url"`
}

// Printed is a paper code; it is the ticket's only valid code from now on.
type Printed struct {
	Ticket     ticket.ID `json:"ticket"`
	Generation int       `json:"generation"`
	Code       string    `json:"code"`
	QRSVG      string    `json:"qr_svg"`
}

// Token is an API token; the secret is there only when it is made.
type Token struct {
	TokenID    ticket.TokenID  `json:"token_id"`
	Name       string          `json:"name"`
	Scopes     []string        `json:"scopes"`
	Venue      ticket.VenueID  `json:"venue,omitzero"`
	Person     ticket.PersonID `json:"person,omitzero"`
	PersonName string          `json:"person_name,omitempty"`
	CreatedAt  time.Time       `json:"created_at,omitzero"`
	ExpiresAt  time.Time       `json:"expires_at,omitzero"`
	RevokedAt  time.Time       `json:"revoked_at,omitzero"`
	Token      string          `json:"token,omitempty"`
}

// NewToken is what POST /v1/tokens takes. A zero venue is every one.
type NewToken struct {
	Name      string         `json:"name"`
	Scopes    []string       `json:"scopes"`
	Venue     ticket.VenueID `json:"venue,omitzero"`
	ExpiresAt time.Time      `json:"expires_at,omitzero"`
}

// Device is GET /v1/device: the paired device that asks, its gates, and who is
// signed on.
type Device struct {
	Device ticket.DeviceID `json:"device"`
	Name   string          `json:"name"`
	Venue  Venue           `json:"venue"`
	Gates  []Gate          `json:"gates"`
	Person *struct {
		Person ticket.PersonID `json:"person"`
		Name   string          `json:"name"`
		Rights []string        `json:"rights"`
	} `json:"person,omitempty"`
}
