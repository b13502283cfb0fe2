// Package repeat makes creating calls repeatable: what a caller made under an
// Idempotency-Key is found again by the same caller with the same key, so that a
// lost answer costs nothing. It promises that one key makes one thing for at least
// a week, or for good when it is the operator's own, and that no answer is stored:
// the second answer is made anew from the thing. It does not know what the thing is.
package repeat

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/fault"
	"portillon/server/rights"
)

// Call is one creating call. A zero Key is a caller who does not mean to repeat.
type Call struct {
	Key  uuid.UUID
	Act  string   // what is made: "event", "tickets"
	Hash [32]byte // of the request's body: see Hash
}

// Hash is the SHA-256 of what was asked for; a key that comes again with
// another body is a mistake of the caller. It is stored: leave passwords out of
// the body, which a plain hash would give away.
func Hash(body []byte) [32]byte { return sha256.Sum256(body) }

// Find looks for what the caller made with this key, and otherwise takes the key
// until the transaction ends: a second call with it waits and then finds the
// first one's. The fault "request.key_conflict" says that the key made something
// else, or from another body.
func Find(ctx context.Context, tx pgx.Tx, by rights.Caller, call Call) (resource uuid.UUID, found bool, err error) {
	if call.Key == uuid.Nil {
		return uuid.Nil, false, nil
	}
	lock := "repeat " + actor(by) + " " + call.Key.String()
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || @lock, 0))`,
		pgx.NamedArgs{"lock": lock}); err != nil {
		return uuid.Nil, false, fmt.Errorf("take the key: %w", err)
	}
	var act string
	var hash []byte
	err = tx.QueryRow(ctx, `SELECT act, body_hash, resource_id FROM repeats WHERE actor = @actor AND key = @key`,
		pgx.NamedArgs{"actor": actor(by), "key": call.Key}).Scan(&act, &hash, &resource)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return uuid.Nil, false, nil
	case err != nil:
		return uuid.Nil, false, fmt.Errorf("look the key up: %w", err)
	case act != call.Act || [32]byte(hash) != call.Hash:
		return uuid.Nil, false, fault.New(fault.Conflict, "request.key_conflict",
			"this Idempotency-Key was used for something else; make a new key for a new request")
	}
	return resource, true, nil
}

// Made records what the call made, in the same transaction.
func Made(ctx context.Context, tx pgx.Tx, by rights.Caller, call Call, resource uuid.UUID) error {
	if call.Key == uuid.Nil {
		return nil
	}
	_, err := tx.Exec(ctx, `
INSERT INTO repeats (actor, key, act, body_hash, resource_id)
VALUES (@actor, @key, @act, @hash, @resource)`,
		pgx.NamedArgs{"actor": actor(by), "key": call.Key, "act": call.Act, "hash": call.Hash[:], "resource": resource})
	if err != nil {
		return fmt.Errorf("record the key: %w", err)
	}
	return sweep(ctx, tx)
}

// kept is how long a key is known: longer than anybody repeats a call.
const kept = 7 * 24 * time.Hour

// sweep forgets old keys. The operator's are kept: they are few, and whoever sets
// a house up by commands with keys runs them again months later.
func sweep(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `
DELETE FROM repeats WHERE (actor, key) IN (
  SELECT actor, key FROM repeats WHERE actor <> 'operator' AND at < portillon_now() - @kept::interval
  ORDER BY at LIMIT 100 FOR UPDATE SKIP LOCKED)`, pgx.NamedArgs{"kept": kept})
	if err != nil {
		return fmt.Errorf("sweep the keys: %w", err)
	}
	return nil
}

func actor(by rights.Caller) string {
	switch by.Kind {
	case rights.ByToken:
		return "token " + by.Token.String()
	case rights.ByDevice:
		return "device " + by.Device.String()
	case rights.ByCookie:
		return "person " + by.Person.String()
	}
	return string(by.Kind)
}
