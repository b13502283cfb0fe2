package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/audit"
	"portillon/server/fault"
	"portillon/server/pg"
	"portillon/server/repeat"
	"portillon/server/seal"
	"portillon/server/ticket"
	"portillon/server/useragent"
)

// PairingState is how far a pairing has come.
type PairingState string

// The states of a pairing, in their order.
const (
	PairingWaiting   PairingState = "waiting"   // nobody has opened the link
	PairingOpened    PairingState = "opened"    // a browser has; the desk must say whether it is the right one
	PairingConfirmed PairingState = "confirmed" // it may collect its credential
	PairingCollected PairingState = "collected" // it has
	PairingRefused   PairingState = "refused"
	PairingExpired   PairingState = "expired"
)

// Pairing is a link that makes a browser a gate device, as the desk sees it.
type Pairing struct {
	Pairing    uuid.UUID       `json:"pairing"`
	Venue      ticket.VenueID  `json:"venue"`
	State      PairingState    `json:"state"`
	DeviceName string          `json:"device_name,omitempty"`
	Browser    string          `json:"browser,omitempty"`
	OpenedAt   *time.Time      `json:"opened_at,omitempty"`
	ExpiresAt  time.Time       `json:"expires_at"`
	Device     ticket.DeviceID `json:"device,omitzero"`
	// PairingLink is set in the answer that makes the pairing only.
	PairingLink string `json:"pairing_link,omitempty"`
}

// PairingIn makes a pairing link. A device named here keeps that name. A link
// that is Unattended pairs whoever opens it first, without asking the desk: for
// demonstrations. TTL is 5 minutes when zero.
type PairingIn struct {
	Venue      ticket.VenueID
	Name       string
	Unattended bool
	TTL        time.Duration
	Repeat     repeat.Call
}

// pairing is a row of the table, read under its lock or for show.
type pairing struct {
	id          uuid.UUID
	venue       ticket.VenueID
	createdBy   ticket.PersonID
	unattended  bool
	name        string
	userAgent   string
	collectHash []byte
	openedAt    *time.Time
	expiresAt   time.Time
	expired     bool
	decidedBy   *ticket.PersonID
	confirmed   *bool
	device      *ticket.DeviceID
}

const pairingSelect = `
SELECT id, venue_id, created_by, unattended, coalesce(device_name, ''), coalesce(user_agent, ''), collect_hash,
  opened_at, expires_at, expires_at <= portillon_now(), decided_by, confirmed, device_id
FROM pairings `

func readPairing(ctx context.Context, q querier, where string, args pgx.NamedArgs) (pairing, error) {
	rows, err := q.Query(ctx, pairingSelect+where, args)
	if err != nil {
		return pairing{}, fmt.Errorf("read the pairing: %w", err)
	}
	p, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (p pairing, err error) {
		err = row.Scan(&p.id, &p.venue, &p.createdBy, &p.unattended, &p.name, &p.userAgent, &p.collectHash,
			&p.openedAt, &p.expiresAt, &p.expired, &p.decidedBy, &p.confirmed, &p.device)
		return p, err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return pairing{}, fault.New(fault.NotFound, "pairing.not_found", "there is no such pairing; make another link at the desk")
	}
	if err != nil {
		return pairing{}, fmt.Errorf("read the pairing: %w", err)
	}
	return p, nil
}

func (p pairing) state() PairingState {
	switch {
	case p.device != nil:
		return PairingCollected
	case p.confirmed != nil && !*p.confirmed:
		return PairingRefused
	case p.expired:
		return PairingExpired
	case p.confirmed != nil:
		return PairingConfirmed
	case p.openedAt != nil:
		return PairingOpened
	}
	return PairingWaiting
}

func (p pairing) show() Pairing {
	return Pairing{
		Pairing: p.id, Venue: p.venue, State: p.state(), DeviceName: p.name, Browser: useragent.Name(p.userAgent),
		OpenedAt: storedOrNil(p.openedAt), ExpiresAt: stored(p.expiresAt), Device: orZero(p.device),
	}
}

// Pairing makes a link; the caller acts for a person. Faults: request.fields,
// session.right_missing, session.person_required, request.key_conflict.
func (s *Service) Pairing(ctx context.Context, by Caller, in PairingIn) (Pairing, error) {
	if err := by.Require(Admin, in.Venue); err != nil {
		return Pairing{}, err
	}
	if in.Venue.IsZero() {
		return Pairing{}, fault.Fields(fault.Field{Name: "venue", Code: "required"})
	}
	if by.Person.IsZero() {
		return Pairing{}, fault.New(fault.Forbidden, "session.person_required", "a pairing link is made by a person; say for whom")
	}
	if fields := nameFields(in.Name); in.Name != "" && len(fields) > 0 {
		return Pairing{}, fault.Fields(fields...)
	}
	if in.TTL == 0 {
		in.TTL = PairingTTL
	}
	var id uuid.UUID
	err := pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		earlier, found, err := repeat.Find(ctx, tx, by, in.Repeat)
		if err != nil {
			return err
		}
		if found {
			id = earlier
			return nil
		}
		id = uuid.New()
		return s.addPairing(ctx, tx, by, id, in)
	})
	if err != nil {
		return Pairing{}, err
	}
	made, err := readPairing(ctx, s.pool, `WHERE id = @pairing`, pgx.NamedArgs{"pairing": id})
	out := made.show()
	out.PairingLink = s.publicURL + "/gate#p." + s.pairingCode(id)
	return out, err
}

func (s *Service) pairingCode(id uuid.UUID) string { return s.box.Secret("pairing", id) }

func (s *Service) addPairing(ctx context.Context, tx pgx.Tx, by Caller, id uuid.UUID, in PairingIn) error {
	_, err := tx.Exec(ctx, `
INSERT INTO pairings (id, venue_id, code_hash, created_by, expires_at, unattended, device_name)
VALUES (@pairing, @venue, @hash, @person, portillon_now() + @ttl::interval, @unattended, nullif(@name, ''))`,
		pgx.NamedArgs{
			"pairing": id, "venue": in.Venue, "hash": seal.Hash(s.pairingCode(id)), "person": by.Person,
			"ttl": in.TTL, "unattended": in.Unattended, "name": in.Name,
		})
	if pg.Constraint(err) == "pairings_venue_id_fkey" {
		return fault.Fields(fault.Field{Name: "venue", Code: "unknown"})
	}
	if err != nil {
		return fmt.Errorf("make the pairing: %w", err)
	}
	if err := sweepPairings(ctx, tx); err != nil {
		return err
	}
	if err := repeat.Made(ctx, tx, by, in.Repeat, id); err != nil {
		return err
	}
	return audit.Write(ctx, tx, by, audit.Act{
		Name: "pairing.create", Venue: in.Venue, Subject: id, Details: map[string]any{"unattended": in.Unattended},
	})
}

// sweepPairings forgets pairings that ended long ago; the devices stay.
func sweepPairings(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `
DELETE FROM pairings WHERE id IN (
  SELECT id FROM pairings WHERE expires_at < portillon_now() - @kept::interval
  ORDER BY expires_at LIMIT 100 FOR UPDATE SKIP LOCKED)`, pgx.NamedArgs{"kept": endedKept})
	if err != nil {
		return fmt.Errorf("sweep the pairings: %w", err)
	}
	return nil
}

// ShowPairing tells the desk how far a pairing has come. Faults:
// pairing.not_found, session.right_missing.
func (s *Service) ShowPairing(ctx context.Context, by Caller, id uuid.UUID) (Pairing, error) {
	p, err := readPairing(ctx, s.pool, `WHERE id = @pairing`, pgx.NamedArgs{"pairing": id})
	if err != nil {
		return Pairing{}, err
	}
	return p.show(), by.Require(Admin, p.venue)
}

// DecidePairing says whether the browser that opened the link is the right one;
// the same decision again is fine. Faults: pairing.not_found,
// session.right_missing, pairing.not_opened, pairing.decided, pairing.expired.
func (s *Service) DecidePairing(ctx context.Context, by Caller, id uuid.UUID, confirm bool) (Pairing, error) {
	var out Pairing
	err := pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		p, err := readPairing(ctx, tx, `WHERE id = @pairing FOR UPDATE`, pgx.NamedArgs{"pairing": id})
		if err != nil {
			return err
		}
		if err := by.Require(Admin, p.venue); err != nil {
			return err
		}
		if p.confirmed != nil && *p.confirmed == confirm {
			out = p.show()
			return nil
		}
		if err := p.decidable(confirm); err != nil {
			return err
		}
		if err := decide(ctx, tx, by, p, confirm); err != nil {
			return err
		}
		p, err = readPairing(ctx, tx, `WHERE id = @pairing`, pgx.NamedArgs{"pairing": id})
		out = p.show()
		return err
	})
	return out, err
}

func (p pairing) decidable(confirm bool) error {
	switch state := p.state(); {
	case state == PairingOpened, state == PairingWaiting && !confirm:
		return nil
	case state == PairingWaiting:
		return fault.New(fault.Conflict, "pairing.not_opened", "no browser has opened the link yet")
	case state == PairingExpired:
		return pairingExpired()
	}
	return fault.New(fault.Conflict, "pairing.decided", "this pairing is decided; revoke the device if it is the wrong one")
}

func pairingExpired() error {
	return fault.New(fault.Gone, "pairing.expired", "this pairing has lapsed; make another link at the desk")
}

func decide(ctx context.Context, tx pgx.Tx, by Caller, p pairing, confirm bool) error {
	_, err := tx.Exec(ctx, `
UPDATE pairings SET confirmed = @confirm, decided_at = portillon_now(), decided_by = @person,
  expires_at = greatest(expires_at, portillon_now() + @ttl::interval)
WHERE id = @pairing`,
		pgx.NamedArgs{"confirm": confirm, "person": null(by.Person), "ttl": PairingTTL, "pairing": p.id})
	if err != nil {
		return fmt.Errorf("decide the pairing: %w", err)
	}
	act := "pairing.refuse"
	if confirm {
		act = "pairing.confirm"
	}
	return audit.Write(ctx, tx, by, audit.Act{Name: act, Venue: p.venue, Subject: p.id})
}
