package claim

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/server/fault"
	"portillon/server/pg"
	"portillon/server/seal"
	"portillon/server/ticket"
	"portillon/wallet"
)

// totpSecretSize is the length of a shared secret in bytes (RFC 4226, R6).
const totpSecretSize = 20

// TOTPOut is what a phone or an authenticator app needs to make one-time codes
// (RFC 6238) for one claim of a ticket. The codes that it makes are read after the
// ticket's number.
type TOTPOut struct {
	Ticket     ticket.ID `json:"ticket"`
	Generation uint8     `json:"generation"`
	Number     int       `json:"number"`
	Secret     string    `json:"secret"` // base32 without padding (RFC 4648, section 6)
	Algorithm  string    `json:"algorithm"`
	Digits     int       `json:"digits"`
	Period     int       `json:"period"` // seconds
	ServerTime time.Time `json:"server_time"`
}

// TOTP gives a claim's secret for one-time codes to whoever signs with its key. A
// claim has one secret and gets the same again; the next claim ends it. Faults:
// request.fields, wallet.proof_refused, claim.challenge_ended, claim.moved,
// claim.event_over, totp.not_for_event.
func (s *Service) TOTP(ctx context.Context, in ProofIn) (TOTPOut, error) {
	challenge, err := wallet.ChallengeOf(in.Proof)
	if err != nil {
		return TOTPOut{}, fault.Fields(fault.Field{Name: "proof", Code: "proof_refused"})
	}
	var out TOTPOut
	err = pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		proofs := []ProofIn{in}
		keys, err := readKeys(ctx, tx, proofs)
		if err != nil {
			return err
		}
		if len(verified(proofs, keys, challenge)) == 0 {
			return fault.New(fault.Unauthenticated, "wallet.proof_refused", "the signature is not by the key of this ticket")
		}
		if _, err := useUp(ctx, tx, forSession, challenge, nil); err != nil {
			return err
		}
		c, err := readTOTPClaim(ctx, tx, in)
		if err != nil {
			return err
		}
		secret, err := s.totpSecret(ctx, tx, in, c.Now)
		out = TOTPOut{
			Ticket: in.Ticket, Generation: in.Generation, Number: c.Number,
			Secret:    base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secret),
			Algorithm: "SHA1", Digits: 8, Period: wallet.TOTPPeriod, ServerTime: utc(c.Now),
		}
		return err
	})
	if err != nil {
		return TOTPOut{}, err
	}
	return out, nil
}

// totpClaim is what must be known of a claim to give it one-time codes.
type totpClaim struct {
	Now        time.Time        `db:"now"`
	Generation int16            `db:"generation"` // the ticket's
	Number     int              `db:"number"`
	Freshness  ticket.Freshness `db:"freshness"`
	EndsAt     time.Time        `db:"ends_at"`
}

// readTOTPClaim takes no lock: a secret that is given while the ticket moves away
// opens nothing, since it belongs to the older generation.
func readTOTPClaim(ctx context.Context, tx pgx.Tx, in ProofIn) (totpClaim, error) {
	rows, err := tx.Query(ctx, `
SELECT portillon_now() AS now, t.generation, t.number, e.freshness, e.ends_at
FROM tickets t JOIN events e ON e.id = t.event_id WHERE t.id = @ticket`, pgx.NamedArgs{"ticket": in.Ticket})
	if err != nil {
		return totpClaim{}, fmt.Errorf("read the claim: %w", err)
	}
	c, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[totpClaim])
	switch {
	case err != nil:
		return c, fmt.Errorf("read the claim: %w", err)
	case c.Generation != int16(in.Generation):
		return c, fault.New(fault.Conflict, "claim.moved", "the ticket has moved to another phone or to paper")
	case c.Freshness == ticket.Live:
		return c, fault.New(fault.Conflict, "totp.not_for_event", "this event takes living codes only; show the code of the ticket page")
	case !c.Now.Before(c.EndsAt):
		return c, fault.New(fault.Conflict, "claim.event_over", "the event is over")
	}
	return c, nil
}

// totpSecret is the claim's secret, made when there is none. Of two who ask at once
// the second reads what the first has made, in a statement of its own.
func (s *Service) totpSecret(ctx context.Context, tx pgx.Tx, in ProofIn, now time.Time) ([]byte, error) {
	fresh := make([]byte, totpSecretSize)
	_, _ = rand.Read(fresh) // never fails: crypto/rand ends the program instead
	args := pgx.NamedArgs{
		"ticket": in.Ticket, "generation": int16(in.Generation), "now": now,
		"sealed": s.box.Seal(totpName(in.Ticket, in.Generation), fresh),
	}
	_, err := tx.Exec(ctx, `
INSERT INTO one_time_codes (ticket_id, generation, sealed, created_at) VALUES (@ticket, @generation, @sealed, @now)
ON CONFLICT ON CONSTRAINT one_time_codes_pkey DO NOTHING`, args)
	if err != nil {
		return nil, fmt.Errorf("keep the secret: %w", err)
	}
	var sealed []byte
	err = tx.QueryRow(ctx, `SELECT sealed FROM one_time_codes WHERE ticket_id = @ticket AND generation = @generation`, args).Scan(&sealed)
	if err != nil {
		return nil, fmt.Errorf("read the secret: %w", err)
	}
	return OpenTOTP(s.box, in.Ticket, in.Generation, sealed)
}

// OpenTOTP opens the sealed secret of a claim. The error is seal.ErrKey also when it
// is another claim's.
func OpenTOTP(box *seal.Box, id ticket.ID, generation uint8, sealed []byte) ([]byte, error) {
	secret, err := box.Open(totpName(id, generation), sealed)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the one-time codes of ticket %s", id), err)
	}
	return secret, nil
}

// totpName binds a sealed secret to its ticket and generation.
func totpName(id ticket.ID, generation uint8) string {
	return fmt.Sprintf("one-time codes %s %d", id, generation)
}
