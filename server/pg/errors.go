package pg

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"
)

// The codes are those of PostgreSQL's appendix A, "PostgreSQL Error Codes".

// code is the SQLSTATE of the server's error in err's chain, or empty.
func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Constraint is the name of the constraint that err says was violated, or empty.
func Constraint(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) && strings.HasPrefix(e.Code, "23") {
		return e.ConstraintName
	}
	return ""
}

// IsUnique reports whether err is a duplicate under that unique constraint or
// unique index; an empty name stands for any.
func IsUnique(err error, name string) bool {
	return code(err) == "23505" && (name == "" || Constraint(err) == name)
}

// Retryable reports whether the server undid the transaction only because of
// another one (deadlock, serialization failure): the same again may succeed.
func Retryable(err error) bool {
	c := code(err)
	return c == "40001" || c == "40P01"
}

// LockTimeout reports whether err is about a lock that somebody else kept for too
// long, or that was asked for with NOWAIT.
func LockTimeout(err error) bool { return code(err) == "55P03" }

// Unavailable reports whether err says that the database cannot be asked now: it
// is away, starting, stopping, out of connections or memory, or it interrupted the
// statement. Nobody knows the answer, and later somebody may. What the caller
// cancelled itself is not that.
func Unavailable(err error) bool {
	if err == nil {
		return false
	}
	if c := code(err); c != "" {
		return strings.HasPrefix(c, "08") || strings.HasPrefix(c, "53") || strings.HasPrefix(c, "57") ||
			c == "25P03" || c == "25P04" // idle in transaction, transaction timeout: the connection was ended
	}
	if errors.Is(err, ErrOutcomeUnknown) {
		return true
	}
	if errors.Is(err, context.Canceled) {
		return false
	}
	for _, away := range []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed, os.ErrDeadlineExceeded,
		context.DeadlineExceeded, puddle.ErrClosedPool} {
		if errors.Is(err, away) {
			return true
		}
	}
	var connect *pgconn.ConnectError
	var network net.Error
	// The driver's own errors about a connection all have this method; whatever it
	// says, they are not the server's.
	var connection interface{ SafeToRetry() bool }
	return errors.As(err, &connect) || errors.As(err, &network) || errors.As(err, &connection)
}
