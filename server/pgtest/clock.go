package pgtest

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// clockScript replaces the schema's portillon_now(), which defaults of columns and
// all statements call, by one that adds the shift in a table of one row. The names
// are qualified because the caller's search path need not be the schema.
func clockScript(schema string) string {
	return fmt.Sprintf(`
	create table %[1]s.test_clock (shift interval not null);
	insert into %[1]s.test_clock values ('0');
	create or replace function %[1]s.portillon_now() returns timestamptz language sql volatile
	as 'select clock_timestamp() + shift from %[1]s.test_clock';`, schema)
}

// Shift moves the schema's clock on by d, or back when d is negative. Every
// transaction that has not yet begun its next statement sees it, in every process.
func (db *DB) Shift(t testing.TB, d time.Duration) {
	t.Helper()
	db.moveClock(t, `update test_clock set shift = shift + $1::interval`, d)
}

// SetShift sets the schema's clock to the true time plus d.
func (db *DB) SetShift(t testing.TB, d time.Duration) {
	t.Helper()
	db.moveClock(t, `update test_clock set shift = $1::interval`, d)
}

func (db *DB) moveClock(t testing.TB, sql string, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tag, err := db.Pool.Exec(ctx, sql, d)
	if err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("move the clock by %v: %v (%d rows)", d, err, tag.RowsAffected())
	}
}

// Now is the time by the schema's clock, in UTC, to the microsecond.
func (db *DB) Now(t testing.TB) time.Time {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var now time.Time
	if err := db.Pool.QueryRow(ctx, `select portillon_now()`).Scan(&now); err != nil {
		t.Fatalf("read the clock: %v", err)
	}
	return now
}
