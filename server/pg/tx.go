package pg

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrOutcomeUnknown means that the connection was lost while the commit was under
// way: the transaction may or may not have happened. Only asking again with the
// same key can tell.
var ErrOutcomeUnknown = errors.New("the outcome of the commit is unknown")

const (
	txAttempts = 6
	// The commit is not cut short when the caller goes away, or its outcome would
	// be unknown for no reason; it still ends.
	commitPatience   = 15 * time.Second
	rollbackPatience = 5 * time.Second
)

// Tx runs fn in a READ COMMITTED transaction and commits it when fn returns nil.
// When the server chose this transaction as the victim of a deadlock or of a
// serialization failure, the whole of fn runs again, at most 6 times in all: fn
// must therefore set what it returns afresh in every run, and do nothing outside
// the transaction. fn may change the isolation level with its first statement.
//
// It returns fn's error as it is. An error of the commit is returned as the
// server's (the transaction did not happen), as pgx.ErrTxCommitRollback (fn
// swallowed an error: it did not happen either) or as ErrOutcomeUnknown.
func Tx(ctx context.Context, pool *pgxpool.Pool, fn func(ctx context.Context, tx pgx.Tx) error) error {
	return run(ctx, pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, fn)
}

// Snapshot runs fn in a read-only transaction in which every statement sees the
// same state of the database, for reports and exports.
func Snapshot(ctx context.Context, pool *pgxpool.Pool, fn func(ctx context.Context, tx pgx.Tx) error) error {
	return run(ctx, pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, fn)
}

func run(ctx context.Context, pool *pgxpool.Pool, o pgx.TxOptions, fn func(ctx context.Context, tx pgx.Tx) error) error {
	for attempt := 1; ; attempt++ {
		err := once(ctx, pool, o, fn)
		if !Retryable(err) || attempt == txAttempts {
			return err
		}
		// Between half and all of 2, 4, 8 … ms, so that two victims part.
		limit := time.Millisecond << attempt
		if pause(ctx, limit/2+rand.N(limit/2)) != nil { //nolint:gosec // only spreads the retries
			return err
		}
	}
}

func once(ctx context.Context, pool *pgxpool.Pool, o pgx.TxOptions, fn func(ctx context.Context, tx pgx.Tx) error) error {
	tx, err := pool.BeginTx(ctx, o)
	if err != nil {
		return err
	}
	// After a commit this does nothing; after an error or a panic of fn it leaves a
	// clean connection, or none.
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackPatience)
		defer cancel()
		_ = tx.Rollback(ctx)
	}()
	if err := fn(ctx, tx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return commit(ctx, tx)
}

func commit(ctx context.Context, tx pgx.Tx) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitPatience)
	defer cancel()
	err := tx.Commit(ctx)
	if err == nil || errors.Is(err, pgx.ErrTxCommitRollback) || pgconn.SafeToRetry(err) {
		return err
	}
	// Only an ordinary ERROR promises that the transaction was rolled back. A
	// server that is told to stop may say so after it has written the commit.
	var said *pgconn.PgError
	if errors.As(err, &said) && (said.SeverityUnlocalized == "ERROR" || said.Severity == "ERROR") {
		return err
	}
	return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
}
