package issue

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/server/fault"
	"portillon/server/pg"
	"portillon/server/session"
	"portillon/server/ticket"
)

// NumberLease is a number that a form keeps while it is open. Lease is a
// credential: whoever has it may give the number back.
type NumberLease struct {
	Lease     string    `json:"lease"`
	Number    int       `json:"number"`
	ExpiresAt time.Time `json:"expires_at"` // by the database's clock
}

// ReserveNumber puts the lowest number of the event that is neither used nor
// reserved under a lease of leaseFor. Needs the right issue at the event's venue.
func (s *Service) ReserveNumber(ctx context.Context, by session.Caller, event ticket.EventID) (NumberLease, error) {
	if _, err := s.eventFor(ctx, by, session.Issue, event); err != nil {
		return NumberLease{}, err
	}
	return s.changeLease(ctx, event, leaseChange{act: reserveLease, lease: newLeaseID(), by: by})
}

// RenewNumber prolongs a living lease of this caller to leaseFor from now. Needs
// the right issue at the event's venue. The fault number.lease_ended says that it
// has lapsed, was given back, or that its ticket is issued.
func (s *Service) RenewNumber(ctx context.Context, by session.Caller, lease string) (NumberLease, error) {
	event, found, err := s.eventOfLease(ctx, lease)
	if err != nil {
		return NumberLease{}, err
	}
	if !found {
		return NumberLease{}, leaseEnded()
	}
	if _, err := s.eventFor(ctx, by, session.Issue, event); err != nil {
		return NumberLease{}, err
	}
	return s.changeLease(ctx, event, leaseChange{act: renewLease, lease: lease, by: by})
}

// ReleaseNumber gives a number back at once. Whoever has the lease may, and an
// unknown one is no fault: a page that is being closed sends it and cannot read an
// answer.
func (s *Service) ReleaseNumber(ctx context.Context, lease string) error {
	event, found, err := s.eventOfLease(ctx, lease)
	if err != nil || !found {
		return err
	}
	_, err = s.changeLease(ctx, event, leaseChange{act: giveBackLease, lease: lease})
	return err
}

// changeLease makes a change in a transaction of its own.
func (s *Service) changeLease(ctx context.Context, event ticket.EventID, change leaseChange) (lease NumberLease, err error) {
	err = pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		changed, err := changeLeases(ctx, tx, event, change)
		lease = changed.lease
		return err
	})
	return lease, err
}

func leaseEnded() error {
	return fault.New(fault.Gone, "number.lease_ended", "the lease has lapsed, was given back, or its ticket is issued; reserve a number again")
}
