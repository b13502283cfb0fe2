package session

import (
	"context"
	"crypto/subtle"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/audit"
	"portillon/server/fault"
	"portillon/server/pg"
	"portillon/server/seal"
	"portillon/server/ticket"
	"portillon/server/useragent"
)

// OpenPairingIn is what a browser sends that opened a pairing link. Key is its
// Idempotency-Key: with the same key a lost answer is given again.
type OpenPairingIn struct {
	Code      string
	Name      string
	UserAgent string
	Key       uuid.UUID
	RequestID string
}

// OpenedPairing lets the browser that opened the link fetch its credential.
type OpenedPairing struct {
	Collect string       `json:"collect"`
	State   PairingState `json:"state"`
}

// OpenPairing ties the link to the browser that opens it first; the desk is asked
// whether it is the right one. Faults: pairing.not_found, pairing.expired,
// pairing.already_opened, pairing.refused, request.fields.
func (s *Service) OpenPairing(ctx context.Context, in OpenPairingIn) (OpenedPairing, error) {
	in.Name = strings.TrimSpace(in.Name)
	if fields := nameFields(in.Name); in.Name != "" && len(fields) > 0 {
		return OpenedPairing{}, fault.Fields(fields...)
	}
	if in.Key == uuid.Nil {
		in.Key = uuid.New() // nobody can repeat this one
	}
	if in.Name == "" {
		in.Name = useragent.Name(in.UserAgent)
	}
	if in.Name == "" {
		in.Name = "Gate device"
	}
	hash := seal.Hash(strings.TrimPrefix(strings.TrimSpace(in.Code), "p."))
	var out OpenedPairing
	err := pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		p, err := readPairing(ctx, tx, `WHERE code_hash = @hash FOR UPDATE`, pgx.NamedArgs{"hash": hash})
		if err != nil {
			return err
		}
		out = OpenedPairing{Collect: s.box.Secret("collect "+in.Key.String(), p.id)}
		if p.openedAt == nil {
			out.State, err = s.openPairing(ctx, tx, p, in, out.Collect)
			return err
		}
		out.State, err = p.openedBy(out.Collect)
		return err
	})
	if err != nil {
		return OpenedPairing{}, err
	}
	return out, nil
}

// openedBy answers whoever opens a link that has been opened.
func (p pairing) openedBy(collect string) (PairingState, error) {
	if subtle.ConstantTimeCompare(p.collectHash, seal.Hash(collect)) != 1 {
		return "", fault.New(fault.Conflict, "pairing.already_opened", "another browser has opened this link; make another one at the desk")
	}
	if state := p.state(); state != PairingExpired {
		return state, nil
	}
	return "", pairingExpired()
}

func (s *Service) openPairing(ctx context.Context, tx pgx.Tx, p pairing, in OpenPairingIn, collect string) (PairingState, error) {
	switch p.state() {
	case PairingExpired:
		return "", pairingExpired()
	case PairingRefused:
		return "", fault.New(fault.Gone, "pairing.refused", "the desk has withdrawn this link; make another one")
	default:
	}
	_, err := tx.Exec(ctx, `
UPDATE pairings SET opened_at = portillon_now(), device_name = coalesce(device_name, @name), user_agent = @user_agent,
  collect_hash = @hash, expires_at = greatest(expires_at, portillon_now() + @ttl::interval)
WHERE id = @pairing`,
		pgx.NamedArgs{
			"name": in.Name, "user_agent": clip(in.UserAgent), "hash": seal.Hash(collect), "ttl": PairingTTL, "pairing": p.id,
		})
	if err != nil {
		return "", fmt.Errorf("open the pairing: %w", err)
	}
	by := System.For(p.createdBy)
	by.RequestID = in.RequestID
	if err := audit.Write(ctx, tx, by, audit.Act{Name: "pairing.open", Venue: p.venue, Subject: p.id}); err != nil {
		return "", err
	}
	if !p.unattended {
		return PairingOpened, nil
	}
	return PairingConfirmed, decide(ctx, tx, by, p, true)
}

// clip bounds a header that is kept, in bytes, and leaves valid UTF-8.
func clip(userAgent string) string {
	return strings.ToValidUTF8(userAgent[:min(len(userAgent), 300)], "")
}

// CollectedPairing is where a pairing stands, and the device's credential once it
// was confirmed.
type CollectedPairing struct {
	State  PairingState    `json:"state"`
	Device ticket.DeviceID `json:"device,omitzero"`
	Token  string          `json:"token,omitempty"`
	Name   string          `json:"name,omitempty"`
	Venue  ticket.VenueID  `json:"venue,omitzero"`
}

// CollectPairing gives the browser that opened the link its credential as soon as
// the desk has confirmed; it can be asked again until the pairing lapses, since
// the first answer may be lost. Faults: pairing.not_found, pairing.expired.
func (s *Service) CollectPairing(ctx context.Context, collect, requestID string) (CollectedPairing, error) {
	var out CollectedPairing
	err := pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		p, err := readPairing(ctx, tx, `WHERE collect_hash = @hash FOR UPDATE`, pgx.NamedArgs{"hash": seal.Hash(collect)})
		if err != nil {
			return err
		}
		if p.expired {
			return pairingExpired()
		}
		out = CollectedPairing{State: p.state()}
		if out.State != PairingConfirmed && out.State != PairingCollected {
			return nil
		}
		if p.device == nil {
			by := System.For(orZero(p.decidedBy))
			by.RequestID = requestID
			if p.device, err = s.collectDevice(ctx, tx, by, p); err != nil {
				return err
			}
		}
		out = CollectedPairing{
			State: PairingConfirmed, Device: *p.device, Token: s.deviceSecret(*p.device), Name: p.name, Venue: p.venue,
		}
		return nil
	})
	if err != nil {
		return CollectedPairing{}, err
	}
	return out, nil
}

func (s *Service) collectDevice(ctx context.Context, tx pgx.Tx, by Caller, p pairing) (*ticket.DeviceID, error) {
	device, err := s.addDevice(ctx, tx, by, deviceIn{venue: p.venue, name: p.name, userAgent: p.userAgent, pairedBy: by.Person})
	if err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, `UPDATE pairings SET device_id = @device WHERE id = @pairing`, pgx.NamedArgs{"device": device, "pairing": p.id})
	if err != nil {
		return nil, fmt.Errorf("collect the pairing: %w", err)
	}
	return &device, nil
}
