package pg_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"portillon/server/pg"
	"portillon/server/pgtest"
)

// accounts is a schema with two rows, on a server that finds deadlocks soon.
func accounts(t *testing.T) *pgtest.DB {
	t.Helper()
	db := pgtest.New(t, pgtest.Empty(), pgtest.Pool(func(o *pg.PoolOptions) {
		o.Settings = map[string]string{"deadlock_timeout": "10ms"}
	}))
	for _, sql := range []string{
		`create table accounts (id int constraint accounts_pkey primary key, amount int not null constraint accounts_amount_check check (amount >= 0))`,
		`create table owners (id int constraint owners_account_fkey references accounts deferrable initially deferred)`,
		`insert into accounts values (1, 100), (2, 100)`,
	} {
		if _, err := db.Pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

func amount(t *testing.T, pool *pgxpool.Pool, id int) (n int) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), `select amount from accounts where id = $1`, id).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

const add = `update accounts set amount = amount + 1 where id = $1`

// together runs two functions at once; meet waits, in the first run of each, until
// both are there.
func together(t *testing.T, one func(run int, meet func()) error) {
	t.Helper()
	var both, ended sync.WaitGroup
	both.Add(2)
	for who := range 2 {
		ended.Go(func() {
			var once sync.Once
			meet := func() {
				once.Do(func() {
					both.Done()
					both.Wait()
				})
			}
			if err := one(who, meet); err != nil {
				t.Errorf("%d: %v", who, err)
			}
		})
	}
	ended.Wait()
}

func TestTheVictimOfADeadlockRunsAgain(t *testing.T) {
	t.Parallel()
	db := accounts(t)
	var mu sync.Mutex
	runs := 0
	together(t, func(who int, meet func()) error {
		return pg.Tx(t.Context(), db.Pool, func(ctx context.Context, tx pgx.Tx) error {
			mu.Lock()
			runs++
			mu.Unlock()
			if _, err := tx.Exec(ctx, add, 1+who); err != nil {
				return err
			}
			meet()
			_, err := tx.Exec(ctx, add, 2-who)
			return err
		})
	})
	if runs < 3 {
		t.Errorf("there were %d runs: no deadlock, and nothing was tested", runs)
	}
	if a, b := amount(t, db.Pool, 1), amount(t, db.Pool, 2); a != 102 || b != 102 {
		t.Errorf("the amounts are %d and %d", a, b)
	}
}

func TestTheVictimOfASerializationFailureRunsAgain(t *testing.T) {
	t.Parallel()
	db := accounts(t)
	var mu sync.Mutex
	runs := 0
	together(t, func(_ int, meet func()) error {
		return pg.Tx(t.Context(), db.Pool, func(ctx context.Context, tx pgx.Tx) error {
			mu.Lock()
			runs++
			mu.Unlock()
			if _, err := tx.Exec(ctx, `set transaction isolation level repeatable read`); err != nil {
				return err
			}
			var n int
			if err := tx.QueryRow(ctx, `select amount from accounts where id = 1`).Scan(&n); err != nil {
				return err
			}
			meet()
			_, err := tx.Exec(ctx, `update accounts set amount = $1 where id = 1`, n+1)
			return err
		})
	})
	if runs < 3 {
		t.Errorf("there were %d runs: no conflict, and nothing was tested", runs)
	}
	if a := amount(t, db.Pool, 1); a != 102 {
		t.Errorf("the amount is %d: an update was lost", a)
	}
}

func TestRunningAgainHasAnEnd(t *testing.T) {
	t.Parallel()
	db := accounts(t)
	runs := 0
	err := pg.Tx(t.Context(), db.Pool, func(ctx context.Context, tx pgx.Tx) error {
		runs++
		_, err := tx.Exec(ctx, `do $$ begin raise exception 'again' using errcode = '40001'; end $$`)
		return err
	})
	if !pg.Retryable(err) || runs != 6 {
		t.Errorf("after %d runs: %v", runs, err)
	}
}

func TestAnErrorOrAPanicUndoesTheTransactionAndGivesTheConnectionBack(t *testing.T) {
	t.Parallel()
	db := accounts(t)
	refused := errors.New("refused")
	err := pg.Tx(t.Context(), db.Pool, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, add, 1)
		return errors.Join(refused, err)
	})
	if !errors.Is(err, refused) {
		t.Errorf("the error is %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = pg.Tx(t.Context(), db.Pool, func(ctx context.Context, tx pgx.Tx) error {
			_, _ = tx.Exec(ctx, add, 1)
			panic("a bug")
		})
	}()
	if n := amount(t, db.Pool, 1); n != 100 || db.Pool.Stat().AcquiredConns() != 0 {
		t.Errorf("the amount is %d, %d connections are out", n, db.Pool.Stat().AcquiredConns())
	}
}

func TestACommitThatTheServerTurnsIntoARollbackIsAnError(t *testing.T) {
	t.Parallel()
	db := accounts(t)
	err := pg.Tx(t.Context(), db.Pool, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, add, 1)
		_, _ = tx.Exec(ctx, `insert into accounts values (1, 0)`) // its error is swallowed
		return err
	})
	if !errors.Is(err, pgx.ErrTxCommitRollback) || errors.Is(err, pg.ErrOutcomeUnknown) || amount(t, db.Pool, 1) != 100 {
		t.Errorf("the commit says %v", err)
	}
}

func TestAConstraintThatFailsAtTheCommitIsAKnownOutcomeWithItsName(t *testing.T) {
	t.Parallel()
	db := accounts(t)
	err := pg.Tx(t.Context(), db.Pool, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `insert into owners values (3)`)
		return err
	})
	if pg.Constraint(err) != "owners_account_fkey" || errors.Is(err, pg.ErrOutcomeUnknown) || pg.Unavailable(err) {
		t.Errorf("the commit says %v", err)
	}
}

func TestAConnectionCutAtTheCommitLeavesTheOutcomeUnknown(t *testing.T) {
	t.Parallel()
	for delivered, want := range map[bool]int{true: 101, false: 100} {
		db := accounts(t)
		relay := pgtest.NewRelay(t, db)
		pool, err := pg.Open(t.Context(), relay.URL, pg.PoolOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		relay.CutNext(pgtest.Cut{At: "commit\x00", Deliver: delivered})
		runs := 0
		err = pg.Tx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error {
			runs++
			_, err := tx.Exec(ctx, add, 1)
			return err
		})
		if !errors.Is(err, pg.ErrOutcomeUnknown) || !pg.Unavailable(err) || runs != 1 {
			t.Errorf("delivered %v, %d runs: %v", delivered, runs, err)
		}
		// The row's lock tells when the server has ended the transaction.
		if _, err := db.Pool.Exec(t.Context(), `select from accounts where id = 1 for update`); err != nil {
			t.Fatal(err)
		}
		if n := amount(t, db.Pool, 1); n != want {
			t.Errorf("delivered %v: the amount is %d, not %d", delivered, n, want)
		}
	}
}

func TestACallerThatGoesAwayBeforeTheCommitUndoesIt(t *testing.T) {
	t.Parallel()
	db := accounts(t)
	ctx, leave := context.WithCancel(t.Context())
	err := pg.Tx(ctx, db.Pool, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, add, 1)
		leave()
		return err
	})
	if !errors.Is(err, context.Canceled) || errors.Is(err, pg.ErrOutcomeUnknown) || amount(t, db.Pool, 1) != 100 {
		t.Errorf("the transaction says %v", err)
	}
}

func TestASnapshotSeesOneStateAndCannotWrite(t *testing.T) {
	t.Parallel()
	db := accounts(t)
	err := pg.Snapshot(t.Context(), db.Pool, func(ctx context.Context, tx pgx.Tx) error {
		var before, after int
		if err := tx.QueryRow(ctx, `select amount from accounts where id = 1`).Scan(&before); err != nil {
			return err
		}
		if _, err := db.Pool.Exec(ctx, add, 1); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, `select amount from accounts where id = 1`).Scan(&after); err != nil {
			return err
		}
		if before != after {
			t.Errorf("the snapshot saw %d, then %d", before, after)
		}
		if _, err := tx.Exec(ctx, add, 1); err == nil {
			t.Error("the snapshot could write")
		}
		return nil
	})
	if err != nil && !errors.Is(err, pgx.ErrTxCommitRollback) {
		t.Error(err)
	}
}
