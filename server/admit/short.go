package admit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/fault"
	"portillon/server/pg"
	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/wallet"
)

// shortKept is how long a code that has lapsed is kept, for scans whose answer
// was lost.
const shortKept = time.Hour

// Hash is the keyed hash under which short codes are kept: six digits could be
// guessed from any other.
type Hash func(venue [16]byte, digits string) []byte

// ShortOut is a short code and when it lapses.
type ShortOut struct {
	Code       string    `json:"code"` // six digits
	ExpiresAt  time.Time `json:"expires_at"`
	ServerTime time.Time `json:"server_time"`
}

// Short gives six digits for a fresh proof, to be typed at a gate of its venue
// within a minute, once. A new code ends the ticket's earlier one. Faults:
// wallet.proof_refused, short.stale.
func (s *Service) Short(ctx context.Context, proof string) (ShortOut, error) {
	refused := fault.New(fault.Invalid, "wallet.proof_refused", "sign the present nonce with the ticket's key")
	code, err := wallet.Parse(proof)
	if err != nil || code.Kind != wallet.KindNonce {
		return ShortOut{}, refused
	}
	var out ShortOut
	err = pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
SELECT portillon_now() AS now, t.event_id, e.venue_id, c.public_key, n.issued_at
FROM tickets t JOIN events e ON e.id = t.event_id
JOIN claims c ON c.ticket_id = t.id AND c.generation = t.generation AND c.kind = 'phone'
LEFT JOIN nonces n ON n.nonce = @nonce AND n.venue_id = e.venue_id AND n.device_id IS NULL
WHERE t.id = @ticket AND t.generation = @generation`,
			pgx.NamedArgs{"ticket": ticket.ID(code.Ticket), "generation": int16(code.Generation), "nonce": code.Nonce[:]})
		if err != nil {
			return fmt.Errorf("read the claim: %w", err)
		}
		r, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[shortRow])
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return refused
		case err != nil:
			return fmt.Errorf("read the claim: %w", err)
		}
		key, err := wallet.ParsePublicKey([64]byte(r.PublicKey))
		if err != nil || code.VerifyPhone(key, r.Event) != nil {
			return refused
		}
		if r.IssuedAt == nil || r.Now.Sub(*r.IssuedAt) > ticket.PushedFor {
			return fault.New(fault.Conflict, "short.stale", "the nonce is too old; sign the present one")
		}
		out = ShortOut{ExpiresAt: r.Now.Add(ticket.ShortFor), ServerTime: r.Now}
		out.Code, err = s.giveShort(ctx, tx, code, r.Venue, r.Now)
		return err
	})
	return out, err
}

// shortRow is what must be known to give a short code. IssuedAt is the nonce's.
type shortRow struct {
	Now       time.Time      `db:"now"`
	Event     uuid.UUID      `db:"event_id"`
	Venue     ticket.VenueID `db:"venue_id"`
	PublicKey []byte         `db:"public_key"`
	IssuedAt  *time.Time     `db:"issued_at"`
}

// giveShort finds six digits that are free at the venue.
func (s *Service) giveShort(ctx context.Context, tx pgx.Tx, code wallet.Code, venue ticket.VenueID, now time.Time) (string, error) {
	_, err := tx.Exec(ctx, `DELETE FROM short_codes WHERE ticket_id = @ticket AND used_at IS NULL`,
		pgx.NamedArgs{"ticket": ticket.ID(code.Ticket)})
	if err != nil {
		return "", fmt.Errorf("end the earlier code: %w", err)
	}
	// What another phone sweeps at this moment is left to it: two sweeps that
	// waited for each other's rows would be a deadlock.
	_, err = tx.Exec(ctx, `
DELETE FROM short_codes WHERE (venue_id, hash) IN (
  SELECT venue_id, hash FROM short_codes WHERE expires_at < @kept_until ORDER BY expires_at LIMIT 100 FOR UPDATE SKIP LOCKED)`,
		pgx.NamedArgs{"kept_until": now.Add(-shortKept)})
	if err != nil {
		return "", fmt.Errorf("sweep the short codes: %w", err)
	}
	for range 20 {
		n, err := rand.Int(rand.Reader, big.NewInt(1_000_000))
		if err != nil {
			return "", err
		}
		digits := fmt.Sprintf("%06d", n)
		tag, err := tx.Exec(ctx, `
INSERT INTO short_codes (venue_id, hash, ticket_id, generation, nonce, made_at, expires_at)
VALUES (@venue, @hash, @ticket, @generation, @nonce, @now, @expires)
ON CONFLICT ON CONSTRAINT short_codes_pkey DO NOTHING`, pgx.NamedArgs{
			"venue": venue, "hash": s.hash(venue, digits), "ticket": ticket.ID(code.Ticket), "generation": int16(code.Generation),
			"nonce": code.Nonce[:], "now": now, "expires": now.Add(ticket.ShortFor),
		})
		if err != nil {
			return "", fmt.Errorf("keep the short code: %w", err)
		}
		if tag.RowsAffected() == 1 {
			return digits, nil
		}
	}
	return "", fault.New(fault.Unavailable, "short.none_free", "no short code is free; show the QR code, or try again").Wait(time.Second)
}

// digitsOf reads what somebody typed: six digits, with spaces forgiven.
func digitsOf(text string) (string, bool) {
	digits := make([]byte, 0, 6)
	for i := range len(text) {
		switch c := text[i]; {
		case c == ' ':
		case c < '0' || c > '9' || len(digits) == 6:
			return "", false
		default:
			digits = append(digits, c)
		}
	}
	return string(digits), len(digits) == 6
}

// findShort finds what the digits stand for at the gate's venue, spent or not. What
// this device admitted by them is found even when they are forgotten: the answer
// may have been lost.
func (s *Service) findShort(ctx context.Context, tx pgx.Tx, by session.Caller, in ScanIn, p *presented) error {
	var venue ticket.VenueID
	switch err := tx.QueryRow(ctx, `SELECT venue_id FROM gates WHERE id = @gate`, pgx.NamedArgs{"gate": in.Gate}).Scan(&venue); {
	case errors.Is(err, pgx.ErrNoRows):
		return errGate
	case err != nil:
		return fmt.Errorf("find the gate: %w", err)
	}
	*p = presented{digits: p.digits, verified: true, short: s.hash(venue, p.digits)}
	p.facts.Signs = ticket.SignsShort
	var generation int16
	err := tx.QueryRow(ctx, `
SELECT ticket_id, generation, nonce, expires_at, used_at IS NOT NULL FROM short_codes WHERE venue_id = @venue AND hash = @hash`,
		pgx.NamedArgs{"venue": venue, "hash": p.short}).
		Scan(&p.ticket, &generation, &p.facts.Nonce, &p.facts.Expires, &p.facts.Spent)
	if errors.Is(err, pgx.ErrNoRows) {
		err = tx.QueryRow(ctx, `
SELECT ticket_id, generation FROM admissions
WHERE key = @key AND kind = 'short' AND device_id IS NOT DISTINCT FROM @device AND person_id = @person LIMIT 1`,
			pgx.NamedArgs{"key": in.Key, "device": null(by.Device), "person": by.Person}).Scan(&p.ticket, &generation)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		*p = presented{digits: p.digits, refused: ticket.UnknownNonce}
		return nil
	}
	p.facts.Generation = uint8(generation)
	return err
}
