package client

import (
	"context"
	"net/http"
	"time"

	"portillon/server/ticket"
)

// NumberLease is a number that is kept for a form for 15 s. The lease is a
// credential.
type NumberLease struct {
	Lease     string    `json:"lease"`
	Number    int       `json:"number"`
	ExpiresAt time.Time `json:"expires_at"` // by the database's clock
}

// ReserveNumber reserves the lowest free number of an event.
func (c *Client) ReserveNumber(ctx context.Context, event ticket.EventID) (NumberLease, error) {
	return Do[NumberLease](ctx, c, http.MethodPost, "/v1/events/"+event.String()+"/numbers", nil)
}

// RenewNumber keeps a number for another 15 s. The problem number.lease_ended asks
// for a new one.
func (c *Client) RenewNumber(ctx context.Context, lease string) (NumberLease, error) {
	return Do[NumberLease](ctx, c, http.MethodPost, "/v1/number-leases/"+lease+"/renew", nil)
}

// ReleaseNumber gives a number back.
func (c *Client) ReleaseNumber(ctx context.Context, lease string) error {
	_, err := Do[struct{}](ctx, c, http.MethodPost, "/v1/number-leases/"+lease+"/release", nil)
	return err
}
