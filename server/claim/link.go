package claim

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/server/fault"
	"portillon/server/seal"
	"portillon/server/ticket"
	"portillon/wallet"
)

// maxCode is more than any claim code has.
const maxCode = 128

// link is what the code of a claim link names: an order's tickets that were not
// reissued since, or one reissued ticket.
type link struct {
	order  *ticket.OrderID
	ticket *ticket.ID
	serial int
	hash   [32]byte
}

// findLink looks a claim code up. An order's link ends when the order's serial is
// raised; a ticket's is checked with the ticket.
func findLink(ctx context.Context, tx pgx.Tx, code string) (link, error) {
	unknown := fault.New(fault.NotFound, "claim.code_unknown", "this is no claim link of ours; open the link from the mail once more")
	if code == "" || len(code) > maxCode {
		return link{}, unknown
	}
	l := link{hash: wallet.HashClaimCode(code)}
	var current *int
	err := tx.QueryRow(ctx, `
SELECT c.order_id, c.ticket_id, c.serial, o.claim_serial
FROM claim_codes c LEFT JOIN orders o ON o.id = c.order_id WHERE c.hash = @hash`,
		pgx.NamedArgs{"hash": l.hash[:]}).Scan(&l.order, &l.ticket, &l.serial, &current)
	if errors.Is(err, pgx.ErrNoRows) {
		return link{}, unknown
	}
	if err != nil {
		return link{}, fmt.Errorf("find the claim code: %w", err)
	}
	if current != nil && *current != l.serial {
		return link{}, errEnded()
	}
	return l, nil
}

// tickets are those that the link may claim now, by number.
func (l link) tickets(ctx context.Context, tx pgx.Tx) ([]bindable, error) {
	condition, args := l.condition()
	return collectTickets(ctx, tx, condition, args)
}

// lock locks those of the tickets that the link may claim, in the order of their
// ids. Others are not touched: whoever has one link must not keep a gate waiting
// for somebody else's ticket.
func (l link) lock(ctx context.Context, tx pgx.Tx, ids []ticket.ID) error {
	condition, args := l.condition()
	args["tickets"] = ids
	_, err := tx.Exec(ctx, `SELECT t.id FROM tickets t WHERE t.id = ANY(@tickets) AND `+condition+` ORDER BY t.id FOR NO KEY UPDATE`, args)
	if err != nil {
		return fmt.Errorf("lock the tickets: %w", err)
	}
	return nil
}

// condition is which tickets t the link may claim.
func (l link) condition() (string, pgx.NamedArgs) {
	if l.order != nil {
		return `t.order_id = @order AND t.claim_serial = 0`, pgx.NamedArgs{"order": *l.order}
	}
	return `t.id = @ticket AND t.claim_serial = @serial`, pgx.NamedArgs{"ticket": *l.ticket, "serial": l.serial}
}

func errEnded() *fault.Error {
	return fault.New(fault.Gone, "claim.code_ended", "a newer link has taken the place of this one; use the latest")
}

// Challenge is a value to sign, base64url of 32 bytes, once, until ExpiresAt.
type Challenge struct {
	Challenge  string    `json:"challenge"`
	ExpiresAt  time.Time `json:"expires_at"`
	ServerTime time.Time `json:"server_time"`
}

// purpose is what a challenge is for; each is good for one only.
type purpose string

// A claim's challenge waits for a customer who reads; a session's for a program.
const (
	forClaim   purpose = "claim"
	forSession purpose = "session"

	claimFor   = 15 * time.Minute
	sessionFor = 2 * time.Minute
)

// makeChallenge also sweeps the challenges that nobody came back with.
func makeChallenge(ctx context.Context, tx pgx.Tx, p purpose) (Challenge, error) {
	made := Challenge{Challenge: seal.Random()}
	good := claimFor
	if p == forSession {
		good = sessionFor
	}
	err := tx.QueryRow(ctx, `
WITH t AS MATERIALIZED (SELECT portillon_now() AS now)
INSERT INTO challenges (hash, purpose, expires_at) SELECT @hash, @purpose, now + @good::interval FROM t
RETURNING expires_at, (SELECT now FROM t)`,
		pgx.NamedArgs{"hash": seal.Hash(made.Challenge), "purpose": string(p), "good": good}).Scan(&made.ExpiresAt, &made.ServerTime)
	if err != nil {
		return Challenge{}, fmt.Errorf("make a challenge: %w", err)
	}
	made.ExpiresAt, made.ServerTime = utc(made.ExpiresAt), utc(made.ServerTime)
	_, err = tx.Exec(ctx, `
DELETE FROM challenges WHERE hash IN (
  SELECT hash FROM challenges WHERE expires_at < portillon_now() ORDER BY expires_at LIMIT 100 FOR UPDATE SKIP LOCKED)`)
	if err != nil {
		return Challenge{}, fmt.Errorf("sweep the challenges: %w", err)
	}
	return made, nil
}

// useUp takes a challenge out of the world. When it is not there any more, a
// receipt tells whether exactly this was done with it before: used is then false
// and the same answer may be given again, to the same keys. For a session there
// are no receipts.
func useUp(ctx context.Context, tx pgx.Tx, p purpose, challenge [32]byte, receipt []byte) (used bool, err error) {
	var expires time.Time
	err = tx.QueryRow(ctx, `
DELETE FROM challenges WHERE hash = @hash AND purpose = @purpose AND expires_at > portillon_now() RETURNING expires_at`,
		pgx.NamedArgs{"hash": seal.Hash(b64u(challenge[:])), "purpose": string(p)}).Scan(&expires)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, findReceipt(ctx, tx, p, receipt)
	case err != nil:
		return false, fmt.Errorf("use the challenge: %w", err)
	case receipt == nil:
		return true, nil
	}
	_, err = tx.Exec(ctx, `INSERT INTO challenges (hash, purpose, expires_at) VALUES (@hash, @purpose, @expires_at)`,
		pgx.NamedArgs{"hash": receipt, "purpose": string(p), "expires_at": expires})
	if err != nil {
		return false, fmt.Errorf("leave a receipt: %w", err)
	}
	return true, nil
}

func findReceipt(ctx context.Context, tx pgx.Tx, p purpose, receipt []byte) error {
	var found bool
	err := tx.QueryRow(ctx, `
SELECT EXISTS (SELECT FROM challenges WHERE hash = @hash AND purpose = @purpose AND expires_at > portillon_now())`,
		pgx.NamedArgs{"hash": receipt, "purpose": string(p)}).Scan(&found)
	if err != nil {
		return fmt.Errorf("look for a receipt: %w", err)
	}
	if !found {
		return fault.New(fault.Gone, "claim.challenge_ended", "this challenge is unknown, used or too old; ask for another and sign that")
	}
	return nil
}

// receiptOf names one act with a challenge: which keys for which tickets.
func receiptOf(challenge [32]byte, keys []boundKey) []byte {
	h := sha256.New()
	h.Write([]byte("portillon receipt"))
	h.Write(challenge[:])
	for _, k := range keys { // in the order of their tickets
		h.Write(k.ticket[:])
		h.Write(k.thumbprint[:])
	}
	return h.Sum(nil)
}
