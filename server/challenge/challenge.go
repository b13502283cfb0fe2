package challenge

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"portillon/nonce"
	"portillon/server/audit"
	"portillon/server/fault"
	"portillon/server/news"
	"portillon/server/pg"
	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/wallet"
)

// Service holds gates' leases and wallets' streams.
type Service struct {
	pool     *pgxpool.Pool
	nonces   *nonce.Service
	hub      *news.Hub
	log      *slog.Logger
	now      func() time.Time
	presence *presence

	ctx  context.Context // of the feeds
	stop context.CancelFunc

	mu      sync.Mutex
	feeds   map[ticket.VenueID]*feed
	closing chan struct{} // closed by Shutdown: streams end
	closed  bool
	streams int
	idle    sync.WaitGroup // the streams that are still open
}

// New makes a Service. Now is the process's clock; it only measures how long
// things take.
func New(pool *pgxpool.Pool, nonces *nonce.Service, hub *news.Hub, log *slog.Logger, now func() time.Time) *Service {
	ctx, stop := context.WithCancel(context.Background())
	return &Service{
		pool: pool, nonces: nonces, hub: hub, log: log, now: now, presence: newPresence(pool, log),
		ctx: ctx, stop: stop, feeds: map[ticket.VenueID]*feed{}, closing: make(chan struct{}),
	}
}

// HoldIn asks for a nonce at a gate. Kind is pushed (the default: a lease on the
// venue's nonce) or shown (a nonce of this device).
type HoldIn struct {
	Gate ticket.GateID `json:"gate"`
	Kind ticket.Kind   `json:"kind"`
}

// Held is a gate page's nonce, and the lease that keeps it coming if it is a
// pushed one. AcceptedFor is in seconds from IssuedAt.
type Held struct {
	Lease          string      `json:"lease,omitempty"`
	Nonce          string      `json:"nonce"`
	Kind           ticket.Kind `json:"kind"`
	Code           string      `json:"code,omitempty"` // shown: what the gate page draws
	IssuedAt       time.Time   `json:"issued_at"`
	AcceptedFor    int         `json:"accepted_for"`
	LeaseExpiresAt time.Time   `json:"lease_expires_at,omitzero"`
	ServerTime     time.Time   `json:"server_time"`
}

// Hold opens a lease on a gate, and the gate with it, or makes a nonce for the
// device to show. Faults: gate.not_found, and those of Caller.Require.
func (s *Service) Hold(ctx context.Context, by session.Caller, in HoldIn) (Held, error) {
	var fields []fault.Field
	if in.Gate.IsZero() {
		fields = append(fields, fault.Field{Name: "gate", Code: "required"})
	}
	if in.Kind != "" && in.Kind != ticket.Pushed && in.Kind != ticket.Shown {
		fields = append(fields, fault.Field{Name: "kind", Code: "unknown_word"})
	}
	if fields != nil {
		return Held{}, fault.Fields(fields...)
	}
	var lease nonce.Lease
	var venue ticket.VenueID
	err := pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) (err error) {
		if venue, err = gateOf(ctx, tx, by, in.Gate); err != nil || in.Kind == ticket.Shown {
			return err
		}
		if lease, err = nonce.Hold(ctx, tx, in.Gate, holder(by)); err != nil || !lease.Reopened {
			return err
		}
		return audit.Write(ctx, tx, by, audit.Act{Name: "gate.open", Venue: venue, Subject: in.Gate})
	})
	if err != nil {
		return Held{}, err
	}
	if in.Kind == ticket.Shown {
		return s.show(ctx, venue, by.Device)
	}
	s.hub.Publish(ctx, news.Item{Venue: venue, What: news.Gates, At: lease.ServerTime})
	return s.held(ctx, lease)
}

// Renew prolongs a lease of this device. Faults: nonce.lease_ended,
// nonce.gate_closed, and those of Caller.Require.
func (s *Service) Renew(ctx context.Context, by session.Caller, id string) (Held, error) {
	var lease nonce.Lease
	err := pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) (err error) {
		if err := leaseOf(ctx, tx, by, id); err != nil {
			return err
		}
		lease, err = nonce.Renew(ctx, tx, id, holder(by))
		return err
	})
	if err != nil {
		return Held{}, err
	}
	return s.held(ctx, lease)
}

// Release gives a lease back. Whoever has the id may, and an unknown id is no
// fault: a page that is being closed sends it and cannot read an answer.
func (s *Service) Release(ctx context.Context, id string) error {
	return pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		return nonce.Release(ctx, tx, id)
	})
}

// Close closes the gate of a lease: its wallets are told at once. Faults:
// nonce.lease_ended, and those of Caller.Require.
func (s *Service) Close(ctx context.Context, by session.Caller, id string) error {
	var lease nonce.Lease
	err := pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) (err error) {
		if err := leaseOf(ctx, tx, by, id); err != nil {
			return err
		}
		if lease, err = nonce.Close(ctx, tx, id, holder(by)); err != nil {
			return err
		}
		return audit.Write(ctx, tx, by, audit.Act{Name: "gate.close", Venue: lease.Venue, Subject: lease.Gate})
	})
	if err != nil {
		return err
	}
	s.hub.Publish(ctx, news.Item{Venue: lease.Venue, What: news.Gates, At: lease.ServerTime})
	return nil
}

// gateOf checks that this device may hold the gate, and says where it stands.
func gateOf(ctx context.Context, tx pgx.Tx, by session.Caller, gate ticket.GateID) (ticket.VenueID, error) {
	venue, found, err := nonce.VenueOfGate(ctx, tx, gate)
	if err != nil {
		return venue, err
	}
	if !found {
		return venue, fault.New(fault.NotFound, "gate.not_found", "there is no such gate")
	}
	return venue, requireDoor(by, venue)
}

// leaseOf checks that this device may touch the lease. An unknown lease passes:
// the act itself says that it has ended.
func leaseOf(ctx context.Context, tx pgx.Tx, by session.Caller, id string) error {
	venue, found, err := nonce.VenueOfLease(ctx, tx, id)
	if err != nil || !found {
		return err
	}
	return requireDoor(by, venue)
}

// requireDoor: a gate is held by a device with a person; an API token scans, but
// has no page that a lease could stand for.
func requireDoor(by session.Caller, venue ticket.VenueID) error {
	if err := by.Require(session.Scan, venue); err != nil {
		return err
	}
	return by.Require(session.Device, venue)
}

func holder(by session.Caller) nonce.Holder {
	return nonce.Holder{Device: by.Device, Person: by.Person}
}

func (s *Service) held(ctx context.Context, lease nonce.Lease) (Held, error) {
	n, open, err := s.nonces.Current(ctx, lease.Venue)
	if err != nil {
		return Held{}, err
	}
	if !open { // somebody closed the gate in between
		return Held{}, fault.New(fault.Conflict, "nonce.gate_closed", "the gate was closed; hold it again to open it")
	}
	h := heldOf(n, ticket.Pushed)
	h.Lease, h.LeaseExpiresAt = lease.ID, utc(lease.ExpiresAt)
	return h, nil
}

func (s *Service) show(ctx context.Context, venue ticket.VenueID, device ticket.DeviceID) (Held, error) {
	n, err := s.nonces.Show(ctx, venue, device)
	if err != nil {
		return Held{}, err
	}
	h := heldOf(n, ticket.Shown)
	h.Code = wallet.GateCode{Device: uuid.UUID(device), Nonce: n.Value, AcceptedFor: uint8(h.AcceptedFor)}.String()
	return h, nil
}

func heldOf(n nonce.Nonce, kind ticket.Kind) Held {
	return Held{
		Nonce: n.Text(), Kind: kind, IssuedAt: utc(n.IssuedAt),
		AcceptedFor: seconds(n.AcceptedFor), ServerTime: utc(n.ServerTime),
	}
}

func seconds(d time.Duration) int { return int(d / time.Second) }

func utc(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// Streams is how many wallets are listening to this process.
func (s *Service) Streams() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams
}

// enter counts a stream in, unless the process is stopping.
func (s *Service) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fault.New(fault.Unavailable, "server.stopping", "this server is stopping; connect again").Wait(time.Second)
	}
	s.streams++
	s.idle.Add(1)
	return nil
}

func (s *Service) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams--
	s.idle.Done()
}

// Shutdown ends every stream and takes no new one. Call it before the HTTP
// server's own Shutdown, which would wait for streams for ever. It returns when
// they have ended and the wallets are no longer marked as present, or with ctx's
// error.
func (s *Service) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.closing)
	}
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		s.idle.Wait()
		s.presence.close()
		s.stop()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		s.stop()
		return ctx.Err()
	}
}
