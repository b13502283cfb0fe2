package client

import (
	"context"
	"net/http"
	"time"

	"portillon/server/ticket"
)

// Hold is the answer of POST /v1/nonces and of a renewal: the lease on a gate
// and the nonce of now. The lease is a credential.
type Hold struct {
	Lease          string    `json:"lease,omitempty"`
	Nonce          string    `json:"nonce"` // base64url of 16 bytes
	Kind           string    `json:"kind"`  // pushed or shown
	Code           string    `json:"code,omitempty"`
	IssuedAt       time.Time `json:"issued_at"`
	AcceptedFor    float64   `json:"accepted_for"` // seconds from IssuedAt
	LeaseExpiresAt time.Time `json:"lease_expires_at,omitzero"`
	ServerTime     time.Time `json:"server_time"`
}

// HoldGate opens a lease on a gate for 15 s, so that its venue's wallets get
// nonces.
func (c *Client) HoldGate(ctx context.Context, gate ticket.GateID) (Hold, error) {
	return Do[Hold](ctx, c, http.MethodPost, "/v1/nonces", struct {
		Gate ticket.GateID `json:"gate"`
	}{gate})
}

// RenewLease prolongs a lease. The problem nonce.lease_ended asks for a new one.
func (c *Client) RenewLease(ctx context.Context, lease string) (Hold, error) {
	return Do[Hold](ctx, c, http.MethodPost, "/v1/nonce-leases/"+lease+"/renew", nil)
}

// ReleaseLease gives a lease back. Nonces go on for 60 s after the last one.
func (c *Client) ReleaseLease(ctx context.Context, lease string) error {
	_, err := Do[struct{}](ctx, c, http.MethodPost, "/v1/nonce-leases/"+lease+"/release", nil)
	return err
}

// CloseGate gives a lease back and closes its gate: no nonce is made for it from
// now on.
func (c *Client) CloseGate(ctx context.Context, lease string) error {
	_, err := Do[struct{}](ctx, c, http.MethodPost, "/v1/nonce-leases/"+lease+"/close", nil)
	return err
}

// Scan is one act of presenting a code at a gate.
type Scan struct {
	Gate         ticket.GateID    `json:"gate"`
	Code         string           `json:"code"`
	Direction    ticket.Direction `json:"direction,omitempty"`
	People       int              `json:"people,omitempty"`
	ScannedAt    *time.Time       `json:"scanned_at,omitempty"`
	PhoneOffline bool             `json:"phone_offline,omitempty"`
	DryRun       bool             `json:"dry_run,omitempty"`
}

// ScanAnswer is the decision. Fields that do not belong to a reason are zero.
type ScanAnswer struct {
	Verdict     ticket.Verdict   `json:"verdict"`
	Class       ticket.Class     `json:"class"`
	Reason      ticket.Reason    `json:"reason"`
	Replayed    bool             `json:"replayed"`
	Recovered   bool             `json:"recovered"`
	DryRun      bool             `json:"dry_run"`
	Title       string           `json:"title"`
	Advice      string           `json:"advice"`
	Actions     []string         `json:"actions"`
	Kind        ticket.Kind      `json:"kind,omitempty"`
	Direction   ticket.Direction `json:"direction,omitempty"`
	People      int              `json:"people,omitempty"`
	Remaining   *int             `json:"remaining,omitempty"`
	At          time.Time        `json:"at,omitzero"`
	MovedAt     time.Time        `json:"moved_at,omitzero"`
	SecondsSkew *float64         `json:"seconds_skew,omitempty"` // the phone's clock ahead of the server's
	NotBefore   time.Time        `json:"not_before,omitzero"`
	NotAfter    time.Time        `json:"not_after,omitzero"`
	Is          string           `json:"is,omitempty"` // what a code that is no ticket is
	Gates       []Gate           `json:"gates,omitempty"`
	Ticket      *ScannedTicket   `json:"ticket,omitempty"`
	FirstUse    *FirstUse        `json:"first_use,omitempty"`
	Overridden  []ticket.Reason  `json:"overridden,omitempty"` // admitted by judgement against these
	ServerTime  time.Time        `json:"server_time,omitzero"`
}

// ScannedTicket is what the door is told about a ticket.
type ScannedTicket struct {
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
	EndsAt      time.Time      `json:"ends_at,omitzero"`
	Venue       ticket.VenueID `json:"venue"`
	VenueName   string         `json:"venue_name"`
	TimeZone    string         `json:"time_zone"`
}

// FirstUse is the use that stands against a scan; the seconds are by the
// database's clock.
type FirstUse struct {
	At         time.Time     `json:"at"`
	SecondsAgo int           `json:"seconds_ago"`
	Gate       ticket.GateID `json:"gate"`
	GateName   string        `json:"gate_name"`
	Person     string        `json:"person"`
	SameDevice bool          `json:"same_device"`
	SameClaim  bool          `json:"same_claim"`
	SameNonce  bool          `json:"same_nonce"`
	Shown      bool          `json:"shown"` // its answer was seen on a scanner's screen
}

// Scan asks for the decision. The key is made once for the scan; a call that
// RetryLater says may be repeated is repeated with it.
func (c *Client) Scan(ctx context.Context, key ticket.Key, scan Scan, opts ...Option) (ScanAnswer, error) {
	return Do[ScanAnswer](ctx, c, http.MethodPost, "/v1/scans", scan, append(opts, WithKey(key))...)
}

// Undone is a ticket after one of its admissions was taken back.
type Undone struct {
	Ticket  ticket.ID     `json:"ticket"`
	Key     ticket.Key    `json:"key"`
	Status  ticket.Status `json:"status"`
	Entries int           `json:"entries"`
	Inside  int           `json:"inside"`
	At      time.Time     `json:"at"`
}

// Undo takes back the admission of a ticket that was made under the key.
func (c *Client) Undo(ctx context.Context, id ticket.ID, key ticket.Key, reason string, opts ...Option) (Undone, error) {
	return Do[Undone](ctx, c, http.MethodPost, "/v1/scans/undo", struct {
		Ticket ticket.ID  `json:"ticket"`
		Key    ticket.Key `json:"key"`
		Reason string     `json:"reason"`
	}{id, key, reason}, opts...)
}

// Short is six digits that stand for a fresh proof for a minute.
type Short struct {
	Code       string    `json:"code"`
	ExpiresAt  time.Time `json:"expires_at"`
	ServerTime time.Time `json:"server_time"`
}
