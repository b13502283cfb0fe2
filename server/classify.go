package server

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/server/admit"
	"portillon/server/fault"
	"portillon/server/pg"
)

// classify sees what an error of the database means to a caller: nobody knows
// yet, so the same call with the same key is the right next step.
func classify(err error) *fault.Error {
	switch {
	case errors.Is(err, pg.ErrOutcomeUnknown):
		return again("database.outcome_unknown", "it is not known whether this was done; repeat with the same key").With(err)
	case errors.Is(err, context.Canceled):
		return fault.New(fault.Unavailable, "request.gone", "the caller went away before the answer").With(err)
	case pg.Retryable(err), errors.Is(err, pgx.ErrTxCommitRollback), errors.Is(err, admit.ErrChanged):
		return again("database.contended", "too many wanted the same thing at once; repeat with the same key").With(err)
	case pg.LockTimeout(err), errors.Is(err, context.DeadlineExceeded):
		return again("database.busy", "this took too long and was given up; repeat with the same key").With(err)
	case pg.Unavailable(err):
		return again("database.unavailable", "the database does not answer at the moment; repeat with the same key").With(err)
	}
	return nil
}

func again(code, detail string) *fault.Error {
	return fault.New(fault.Unavailable, code, "%s", detail).Wait(time.Second)
}
