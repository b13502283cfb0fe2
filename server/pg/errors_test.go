package pg_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/server/pg"
	"portillon/server/pgtest"
)

func TestErrorsOfTheServerAreToldApart(t *testing.T) {
	t.Parallel()
	db := accounts(t)
	holder, err := db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Rollback(context.Background()) }()
	if _, err := holder.Exec(t.Context(), add, 2); err != nil {
		t.Fatal(err)
	}
	for sql, want := range map[string]struct {
		constraint                           string
		unique, lock, retryable, unavailable bool
	}{
		`insert into accounts values (1, 0)`:                                {constraint: "accounts_pkey", unique: true},
		`update accounts set amount = -1 where id = 1`:                      {constraint: "accounts_amount_check"},
		`select from accounts where id = 2 for update nowait`:               {lock: true},
		`set lock_timeout = 1; update accounts set amount = 1 where id = 2`: {lock: true},
		`set statement_timeout = 1; select pg_sleep(60)`:                    {unavailable: true}, // 57014
		`do $$ begin raise exception 'x' using errcode = '40P01'; end $$`:   {retryable: true},
		`do $$ begin raise exception 'x' using errcode = '53300'; end $$`:   {unavailable: true},
		`do $$ begin raise exception 'x' using errcode = '57P03'; end $$`:   {unavailable: true},
		`do $$ begin raise exception 'x' using errcode = '08006'; end $$`:   {unavailable: true},
		`select nonsense`: {},
	} {
		_, err := db.Pool.Exec(t.Context(), sql)
		err = fmt.Errorf("wrapped: %w", err)
		if got := pg.Constraint(err); got != want.constraint {
			t.Errorf("%s: Constraint is %q", sql, got)
		}
		if pg.IsUnique(err, "") != want.unique || pg.IsUnique(err, "accounts_pkey") != want.unique || pg.IsUnique(err, "other") {
			t.Errorf("%s: IsUnique is wrong", sql)
		}
		if pg.LockTimeout(err) != want.lock || pg.Retryable(err) != want.retryable || pg.Unavailable(err) != want.unavailable {
			t.Errorf("%s: LockTimeout %v, Retryable %v, Unavailable %v for %v", sql, pg.LockTimeout(err), pg.Retryable(err), pg.Unavailable(err), err)
		}
	}
}

func TestWhatIsNotTheDatabasesIsNotUnavailable(t *testing.T) {
	t.Parallel()
	for _, err := range []error{nil, errors.New("other"), pgx.ErrNoRows, pgx.ErrTxCommitRollback, context.Canceled} {
		if pg.Unavailable(err) {
			t.Errorf("%v is Unavailable", err)
		}
	}
	if !pg.Unavailable(context.DeadlineExceeded) {
		t.Error("a deadline that has passed is not Unavailable")
	}
}

func TestADatabaseThatIsAwayIsUnavailable(t *testing.T) {
	t.Parallel()
	s := start(t, pg.Options{DataDir: madeFolder(t)})
	pool, err := pg.Open(t.Context(), s.URL(), pg.PoolOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	stop(t, s)
	err = pg.Tx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `select 1`)
		return err
	})
	if !pg.Unavailable(err) || errors.Is(err, pg.ErrOutcomeUnknown) {
		t.Errorf("with a connection from before, the error is %v", err)
	}
	if _, err := pg.Open(t.Context(), s.URL(), pg.PoolOptions{}); !pg.Unavailable(err) {
		t.Errorf("a new connection says %v", err)
	}
	pool.Close()
	if err := pool.Ping(t.Context()); !pg.Unavailable(err) {
		t.Errorf("a closed pool says %v", err)
	}
}

func TestAConnectionCutInAStatementIsUnavailable(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Empty())
	relay := pgtest.NewRelay(t, db)
	pool, err := pg.Open(t.Context(), relay.URL, pg.PoolOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	relay.CutNext(pgtest.Cut{At: "find me"})
	if _, err := pool.Exec(t.Context(), `select 'find me'`); !pg.Unavailable(err) {
		t.Errorf("the cut connection says %v", err)
	}
	if _, err := pool.Exec(t.Context(), `select 'find me'`); err != nil {
		t.Errorf("the next connection says %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := pool.Exec(ctx, `select pg_sleep(60)`); !pg.Unavailable(err) {
		t.Errorf("a deadline says %v", err)
	}
}
