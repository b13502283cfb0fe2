package pg

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// streamBatch is how many rows are in memory at a time.
	streamBatch = 500
	// streamPatience is how long a reader may take over a batch.
	streamPatience = 2 * time.Minute
)

// Stream gives the rows of a query to fn one after the other, all of one moment, and
// keeps none of them: the server is asked for the next few when the last were taken.
// What fn has done with a row cannot be taken back, so that nothing here is repeated.
func Stream(ctx context.Context, pool *pgxpool.Pool, sql string, args pgx.NamedArgs, fn func(pgx.CollectableRow) error) error {
	return once(ctx, pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "SET LOCAL idle_in_transaction_session_timeout = "+strconv.FormatInt(streamPatience.Milliseconds(), 10))
		if err != nil {
			return fmt.Errorf("begin the stream: %w", err)
		}
		if _, err := tx.Exec(ctx, "DECLARE stream NO SCROLL CURSOR FOR "+sql, args); err != nil {
			return fmt.Errorf("begin the stream: %w", err)
		}
		for {
			// Described each time: what a FETCH gives depends on the cursor, not on its text.
			rows, err := tx.Query(ctx, "FETCH "+strconv.Itoa(streamBatch)+" FROM stream", pgx.QueryExecModeDescribeExec)
			if err != nil {
				return fmt.Errorf("go on with the stream: %w", err)
			}
			n, err := each(rows, fn)
			if err != nil || n < streamBatch {
				return err
			}
		}
	})
}

func each(rows pgx.Rows, fn func(pgx.CollectableRow) error) (n int, err error) {
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return n, err
		}
		n++
	}
	return n, rows.Err()
}
