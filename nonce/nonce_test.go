package nonce_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"portillon/nonce"
	"portillon/server/fault"
	"portillon/server/pg"
	"portillon/server/pgtest"
	"portillon/server/ticket"
)

// door is a venue with a gate and a device with a person.
type door struct {
	db    *pgtest.DB
	venue ticket.VenueID
	gate  ticket.GateID
	by    nonce.Holder
}

func newDoor(t *testing.T, db *pgtest.DB) door {
	t.Helper()
	d := door{
		db: db, venue: ticket.VenueID(ticket.New[int]()), gate: ticket.GateID(ticket.New[int]()),
		by: nonce.Holder{Device: ticket.DeviceID(ticket.New[int]()), Person: ticket.PersonID(ticket.New[int]())},
	}
	for _, sql := range []string{
		`INSERT INTO venues (id, name, time_zone) VALUES (@venue, 'Odeon', 'Europe/Prague')`,
		`INSERT INTO gates (id, venue_id, name) VALUES (@gate, @venue, 'Main')`,
		`INSERT INTO people (id, email, name) VALUES (@person, @person::uuid || '@example.org', 'Karel')`,
		`INSERT INTO devices (id, venue_id, name, token_hash) VALUES (@device, @venue, 'Handheld', @device::uuid::text::bytea)`,
	} {
		_, err := db.Pool.Exec(t.Context(), sql, pgx.NamedArgs{
			"venue": d.venue, "gate": d.gate, "person": d.by.Person, "device": d.by.Device})
		if err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func (d door) in(t *testing.T, act func(ctx context.Context, tx pgx.Tx) error) error {
	t.Helper()
	return pg.Tx(t.Context(), d.db.Pool, act)
}

func (d door) hold(t *testing.T) nonce.Lease {
	t.Helper()
	var lease nonce.Lease
	err := d.in(t, func(ctx context.Context, tx pgx.Tx) (err error) {
		lease, err = nonce.Hold(ctx, tx, d.gate, d.by)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Secret(t, lease.ID)
	return lease
}

func (d door) renew(t *testing.T, id string) (lease nonce.Lease, err error) {
	t.Helper()
	err = d.in(t, func(ctx context.Context, tx pgx.Tx) (err error) {
		lease, err = nonce.Renew(ctx, tx, id, d.by)
		return err
	})
	return lease, err
}

func (d door) close(t *testing.T, id string) {
	t.Helper()
	if err := d.in(t, func(ctx context.Context, tx pgx.Tx) error {
		_, err := nonce.Close(ctx, tx, id, d.by)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func (d door) release(t *testing.T, id string) {
	t.Helper()
	if err := d.in(t, func(ctx context.Context, tx pgx.Tx) error { return nonce.Release(ctx, tx, id) }); err != nil {
		t.Fatal(err)
	}
}

func current(t *testing.T, s *nonce.Service, venue ticket.VenueID) (nonce.Nonce, bool) {
	t.Helper()
	n, open, err := s.Current(t.Context(), venue)
	if err != nil {
		t.Fatal(err)
	}
	return n, open
}

// row is what the admission will read of a value; nil when there is nothing.
func (d door) row(t *testing.T, value [nonce.Size]byte) *ticket.Nonce {
	t.Helper()
	var n ticket.Nonce
	var device *ticket.DeviceID
	err := d.db.Pool.QueryRow(t.Context(), `SELECT venue_id, device_id, issued_at FROM nonces WHERE nonce = $1`, value[:]).
		Scan(&n.Venue, &device, &n.IssuedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	if device != nil {
		n.Device = *device
	}
	return &n
}

func secondPool(t *testing.T, db *pgtest.DB) *pgxpool.Pool {
	t.Helper()
	pool, err := pg.Open(t.Context(), db.URL, pg.PoolOptions{MaxConns: 8, Schema: db.Schema})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func TestTwoServersThatAskAtOnceGetOneValueAnEpoch(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	d := newDoor(t, db)
	d.hold(t)
	servers := []*nonce.Service{nonce.New(db.Pool), nonce.New(secondPool(t, db))}
	for range 20 {
		db.Shift(t, nonce.Epoch)
		d.hold(t) // the lease of the epoch before has lapsed
		var mu sync.Mutex
		values := map[[nonce.Size]byte]time.Time{}
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i := range 12 {
			wg.Go(func() {
				<-start
				n, open, err := servers[i%2].Current(context.Background(), d.venue)
				mu.Lock()
				defer mu.Unlock()
				if err != nil || !open {
					t.Errorf("open %v, error %v", open, err)
				}
				values[n.Value] = n.RenewedAt
			})
		}
		close(start)
		wg.Wait()
		// The race may straddle the end of an epoch; then there are two values of
		// two epochs, and never two of one.
		epochs := map[time.Time]bool{}
		for _, at := range values {
			epochs[at] = true
		}
		if len(values) != len(epochs) || len(values) > 2 {
			t.Fatalf("%d values in %d epochs", len(values), len(epochs))
		}
	}
	var rows, epochs int
	if err := db.Pool.QueryRow(t.Context(), `SELECT count(*), count(DISTINCT epoch) FROM nonces`).Scan(&rows, &epochs); err != nil {
		t.Fatal(err)
	}
	if rows != epochs || rows < 20 {
		t.Fatalf("%d rows for %d epochs", rows, epochs)
	}
}

func TestAValueIsRenewedAtEachEpochAndKeepsItsTimeOfIssue(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	d := newDoor(t, db)
	d.hold(t)
	s := nonce.New(db.Pool)
	first, _ := current(t, s, d.venue)
	db.Shift(t, nonce.Epoch)
	second, open := current(t, s, d.venue)
	if !open || first.Value == second.Value {
		t.Fatalf("open %v; the value of the next epoch is the same: %v", open, first.Value == second.Value)
	}
	if second.AcceptedFor != 35*time.Second || second.IssuedAt.Before(first.IssuedAt) || second.ServerTime.Before(second.IssuedAt) {
		t.Fatalf("%+v after %+v", second, first)
	}
	if until := second.RenewedAt.Sub(second.ServerTime); until <= 0 || until > nonce.Epoch {
		t.Fatalf("renewed in %v", until)
	}
	found := d.row(t, second.Value)
	if found == nil || found.Venue != d.venue || !found.Device.IsZero() || !found.IssuedAt.Equal(second.IssuedAt) {
		t.Fatalf("found %+v", found)
	}
}

func TestValuesAreMadeForAMinuteAfterTheLastLease(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, d door, id string) time.Duration{
		"that lapsed":         func(*testing.T, door, string) time.Duration { return nonce.LeaseFor },
		"that was given back": func(t *testing.T, d door, id string) time.Duration { d.release(t, id); return 0 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			d := newDoor(t, db)
			s := nonce.New(db.Pool)
			if n, open := current(t, s, d.venue); open || n.Value != [nonce.Size]byte{} || n.ServerTime.IsZero() {
				t.Fatalf("before any lease: open %v, %+v", open, n)
			}
			lives := end(t, d, d.hold(t).ID)
			db.Shift(t, lives+nonce.Tail-3*time.Second)
			if _, open := current(t, s, d.venue); !open {
				t.Fatal("dark within the minute")
			}
			db.Shift(t, 4*time.Second)
			if _, open := current(t, s, d.venue); open {
				t.Fatal("open after the minute")
			}
		})
	}
}

func TestAClosedGateIsDarkAtOnceUntilSomebodyHoldsItAnew(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	d := newDoor(t, db)
	s := nonce.New(db.Pool)
	mine, colleague := d.hold(t), d.hold(t)
	if mine.Reopened || colleague.Reopened {
		t.Fatal("a gate that was never closed was reopened")
	}
	d.close(t, mine.ID)
	if _, open := current(t, s, d.venue); open {
		t.Fatal("open after it was closed")
	}
	for _, id := range []string{mine.ID, colleague.ID} {
		if _, err := d.renew(t, id); !fault.Is(err, "nonce.gate_closed") {
			t.Fatalf("renewal at a closed gate: %v", err)
		}
	}
	if lease := d.hold(t); !lease.Reopened || lease.Gate != d.gate || lease.Venue != d.venue {
		t.Fatalf("%+v", lease)
	}
	if _, open := current(t, s, d.venue); !open {
		t.Fatal("dark after a new hold")
	}
	if _, err := d.renew(t, colleague.ID); !fault.Is(err, "nonce.lease_ended") {
		t.Fatalf("a lease that ended with the gate came back: %v", err)
	}
}

func TestALeaseIsRenewedWhileItLivesAndNeverAfter(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	d := newDoor(t, db)
	lease := d.hold(t)
	if got := lease.ExpiresAt.Sub(lease.ServerTime); got != nonce.LeaseFor {
		t.Fatalf("a lease of %v", got)
	}
	db.Shift(t, 10*time.Second)
	renewed, err := d.renew(t, lease.ID)
	if err != nil || renewed.ExpiresAt.Sub(renewed.ServerTime) != nonce.LeaseFor || renewed.Gate != d.gate || renewed.Venue != d.venue {
		t.Fatalf("%+v, %v", renewed, err)
	}
	other := d
	other.by.Device = ticket.DeviceID(ticket.New[int]())
	if _, err := other.renew(t, lease.ID); !fault.Is(err, "nonce.lease_ended") {
		t.Fatalf("another device renewed it: %v", err)
	}
	db.Shift(t, nonce.LeaseFor)
	if _, err := d.renew(t, lease.ID); !fault.Is(err, "nonce.lease_ended") || fault.Of(err).Kind != fault.Gone {
		t.Fatalf("renewal after the lease: %v", err)
	}
	given := d.hold(t)
	d.release(t, given.ID)
	if _, err := d.renew(t, given.ID); !fault.Is(err, "nonce.lease_ended") {
		t.Fatalf("renewal after it was given back: %v", err)
	}
	d.release(t, "nothing of ours")
}

func TestWhoeverTouchesTheLeasesSweepsTheDeadOnes(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	d := newDoor(t, db)
	for range 3 {
		d.hold(t)
	}
	db.Shift(t, nonce.LeaseFor+nonce.Tail+time.Second)
	d.hold(t)
	var rows int
	if err := db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM nonce_leases`).Scan(&rows); err != nil {
		t.Fatal(err)
	}
	if rows != 1 {
		t.Fatalf("%d leases are kept", rows)
	}
}

func TestOldValuesAreForgottenAndYoungOnesKept(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	d := newDoor(t, db)
	s := nonce.New(db.Pool)
	old, err := s.Show(t.Context(), d.venue, d.by.Device)
	if err != nil {
		t.Fatal(err)
	}
	db.Shift(t, 50*time.Hour)
	young, err := s.Show(t.Context(), d.venue, d.by.Device)
	if err != nil {
		t.Fatal(err)
	}
	for range 91 { // a quarter of an hour of epochs: one of them sweeps
		d.hold(t)
		current(t, s, d.venue)
		db.Shift(t, nonce.Epoch)
	}
	for _, want := range []struct {
		n    nonce.Nonce
		kept bool
	}{{old, false}, {young, true}} {
		if kept := d.row(t, want.n.Value) != nil; kept != want.kept {
			t.Errorf("kept %v, want %v", kept, want.kept)
		}
	}
}

func TestAValueIsGivenAlsoWhenOldOnesCannotBeForgotten(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	d := newDoor(t, db)
	if _, err := db.Pool.Exec(t.Context(), `
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no deletion today''; END';
CREATE TRIGGER refuse BEFORE DELETE ON nonces FOR EACH STATEMENT EXECUTE FUNCTION refuse()`); err != nil {
		t.Fatal(err)
	}
	s := nonce.New(db.Pool)
	for range 91 { // a quarter of an hour of epochs: one of them sweeps
		d.hold(t)
		if n, open := current(t, s, d.venue); !open || d.row(t, n.Value) == nil {
			t.Fatalf("open %v, the value %s", open, n.Text())
		}
		db.Shift(t, nonce.Epoch)
	}
}

func TestAShownValueBelongsToItsDeviceAndNeedsNoLease(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	d := newDoor(t, db)
	s := nonce.New(db.Pool)
	n, err := s.Show(t.Context(), d.venue, d.by.Device)
	if err != nil {
		t.Fatal(err)
	}
	if n.AcceptedFor != time.Minute {
		t.Fatalf("accepted for %v", n.AcceptedFor)
	}
	if found := d.row(t, n.Value); found == nil || found.Device != d.by.Device || found.Venue != d.venue {
		t.Errorf("found %+v", found)
	}
	if _, open := current(t, s, d.venue); open {
		t.Fatal("a shown value opened the venue")
	}
}

func TestNobodysValueCrossesVenues(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	here, there := newDoor(t, db), newDoor(t, db)
	s := nonce.New(db.Pool)
	lease := here.hold(t)
	if _, open := current(t, s, there.venue); open {
		t.Fatal("a lease here opened the venue there")
	}
	there.hold(t)
	a, _ := current(t, s, here.venue)
	b, _ := current(t, s, there.venue)
	if a.Value == b.Value {
		t.Fatal("two venues share a value")
	}
	here.close(t, lease.ID)
	if _, open := current(t, s, there.venue); !open {
		t.Fatal("closing a gate here darkened the venue there")
	}
}

func TestAVenueStaysOpenWhileOneOfItsGatesIs(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	d := newDoor(t, db)
	balcony := d
	balcony.gate = ticket.GateID(ticket.New[int]())
	if _, err := db.Pool.Exec(t.Context(), `INSERT INTO gates (id, venue_id, name) VALUES (@gate, @venue, 'Balcony')`,
		pgx.NamedArgs{"gate": balcony.gate, "venue": d.venue}); err != nil {
		t.Fatal(err)
	}
	main := d.hold(t)
	balcony.hold(t)
	d.close(t, main.ID)
	if _, open := current(t, nonce.New(db.Pool), d.venue); !open {
		t.Fatal("the main gate closed the balcony")
	}
}
