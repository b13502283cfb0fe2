package challenge

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/server/session"
	"portillon/server/ticket"
)

// holding is one ticket of a wallet session, as far as its stream must know it.
type holding struct {
	Ticket      ticket.ID
	Generation  uint8 // that the wallet holds
	Current     uint8 // that counts
	Revoked     bool
	Venue       ticket.VenueID
	Event       ticket.EventID
	DoorsOpenAt time.Time
	EndsAt      time.Time
}

// moved: another phone, or paper, has the ticket now.
func (h holding) moved() bool { return h.Generation != h.Current }

// doorHours are from the opening of the doors to the event's end.
func (h holding) doorHours(now time.Time) bool {
	return !h.Revoked && !now.Before(h.DoorsOpenAt) && now.Before(h.EndsAt)
}

// holdings reads how the caller's tickets stand, and the time.
func (s *Service) holdings(ctx context.Context, by session.Caller) (held []holding, now time.Time, err error) {
	tickets := make([]ticket.ID, len(by.Wallet))
	generations := make([]int16, len(by.Wallet))
	for i, w := range by.Wallet {
		tickets[i], generations[i] = w.Ticket, int16(w.Generation)
	}
	rows, err := s.pool.Query(ctx, `
SELECT t.id, w.generation, t.generation, t.status = 'revoked', e.venue_id, e.id, e.doors_open_at, e.ends_at, portillon_now()
FROM unnest(@tickets::uuid[], @generations::smallint[]) AS w (ticket_id, generation)
JOIN tickets t ON t.id = w.ticket_id
JOIN events e ON e.id = t.event_id
ORDER BY e.doors_open_at, t.id`, pgx.NamedArgs{"tickets": tickets, "generations": generations})
	if err != nil {
		return nil, now, fmt.Errorf("read the wallet's tickets: %w", err)
	}
	held, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (h holding, err error) {
		err = row.Scan(&h.Ticket, &h.Generation, &h.Current, &h.Revoked, &h.Venue, &h.Event, &h.DoorsOpenAt, &h.EndsAt, &now)
		return h, err
	})
	if err != nil {
		return nil, now, fmt.Errorf("read the wallet's tickets: %w", err)
	}
	return held, now, nil
}

// VenueNonce is what a wallet that polls learns of one venue.
type VenueNonce struct {
	Venue       ticket.VenueID `json:"venue"`
	Open        bool           `json:"open"`
	Nonce       string         `json:"nonce,omitempty"`
	IssuedAt    time.Time      `json:"issued_at,omitzero"`
	AcceptedFor int            `json:"accepted_for,omitempty"` // seconds from IssuedAt
}

// WalletNonces are the nonces of the venues at whose doors the wallet's tickets
// count now. NextDoorsOpenAt is set when there is none yet.
type WalletNonces struct {
	Venues          []VenueNonce `json:"venues"`
	ServerTime      time.Time    `json:"server_time"`
	NextDoorsOpenAt time.Time    `json:"next_doors_open_at,omitzero"`
}

// WalletNonces answers a wallet whose stream is cut. The fault is
// session.wallet_required.
func (s *Service) WalletNonces(ctx context.Context, by session.Caller) (WalletNonces, error) {
	if err := by.Require(session.Wallet, ticket.VenueID{}); err != nil {
		return WalletNonces{}, err
	}
	held, now, err := s.holdings(ctx, by)
	if err != nil {
		return WalletNonces{}, err
	}
	out := WalletNonces{Venues: []VenueNonce{}, ServerTime: utc(now)}
	for _, venue := range openVenues(held, now) {
		st, err := s.feed(venue).recent(ctx)
		if err != nil {
			return WalletNonces{}, err
		}
		v := VenueNonce{Venue: venue, Open: st.open}
		if st.open {
			v.Nonce, v.IssuedAt, v.AcceptedFor = st.nonce.Text(), utc(st.nonce.IssuedAt), seconds(st.nonce.AcceptedFor)
		}
		out.Venues = append(out.Venues, v)
	}
	if next, ok := nextDoors(held, now); ok && len(out.Venues) == 0 {
		out.NextDoorsOpenAt = utc(next.DoorsOpenAt)
	}
	return out, nil
}

// openVenues are those at whose doors one of the tickets counts now.
func openVenues(held []holding, now time.Time) []ticket.VenueID {
	var venues []ticket.VenueID
	for _, h := range held {
		if !h.moved() && h.doorHours(now) && !slices.Contains(venues, h.Venue) {
			venues = append(venues, h.Venue)
		}
	}
	return venues
}

// nextDoors is the ticket whose doors open next. The holdings are in that order.
func nextDoors(held []holding, now time.Time) (holding, bool) {
	for _, h := range held {
		if !h.moved() && !h.Revoked && now.Before(h.DoorsOpenAt) {
			return h, true
		}
	}
	return holding{}, false
}
