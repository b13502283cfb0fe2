package admit_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"portillon/server/client"
	"portillon/server/pg"
	"portillon/server/pgtest"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
)

// The history of one ticket that lets in one person: a scan under a key is
// admitted once, replayed under that key for ever, and refused under any other.
type (
	presented struct{ key int }
	answered  struct {
		admitted, replayed bool
		unknown            bool // no answer came: it may have happened or not
	}
)

// oneEntry is the specification. Its state is the key that was admitted, 0 none.
var oneEntry = porcupine.Model{
	Init: func() any { return 0 },
	Step: func(state, input, output any) (bool, any) {
		holder, key, a := state.(int), input.(presented).key, output.(answered)
		switch {
		case a.unknown && holder == 0:
			return true, key // judged as if it had happened: a later answer must then agree
		case a.unknown:
			return true, holder
		case holder == 0:
			return a.admitted && !a.replayed, key
		case holder == key:
			return a.admitted && a.replayed, holder
		}
		return !a.admitted, holder
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}

// history has clients present keys at the same time and keeps what they saw.
func history(clients, scans int, ask func(client, key int) answered) []porcupine.Operation {
	var mu sync.Mutex
	var operations []porcupine.Operation
	start := time.Now()
	together(clients, func(c int) {
		for range scans {
			key := 1 + rand.IntN(3)
			call := time.Since(start).Nanoseconds()
			answer := ask(c, key)
			back := time.Since(start).Nanoseconds()
			mu.Lock()
			operations = append(operations, porcupine.Operation{ClientId: c, Input: presented{key}, Call: call, Output: answer, Return: back})
			mu.Unlock()
		}
	})
	return operations
}

// A run is several tickets, each with a history of its own.
const linearClients, linearScans, linearRuns, ticketsARun = 16, 2, 10, 25

func TestTheRealAdmissionIsLinearizable(t *testing.T) {
	t.Parallel()
	inBothForms(t, linearizable)
}

func linearizable(t *testing.T, opts ...servertest.Option) {
	h := servertest.NewHouse(t, opts...)
	second := servertest.On(t, h.DB, opts...)
	karel := h.Controller("Karel", session.Controller)
	doors := []*servertest.Gatekeeper{karel, karel.At(second)}
	for run := range linearRuns / len(forms) {
		phone, id := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
		code := phone.Signed(t, id.Ticket, karel.Hold(t))
		keys := []ticket.Key{servertest.NewKey(), servertest.NewKey(), servertest.NewKey()}
		operations := history(linearClients, linearScans, func(c, key int) answered {
			a, err := doors[c%2].Scan(context.Background(), keys[key-1], client.Scan{Gate: h.Gate.Gate, Code: code})
			if err != nil {
				t.Errorf("a scan has no answer: %v", err)
				return answered{unknown: true}
			}
			return answered{admitted: a.Reason == ticket.Admitted, replayed: a.Replayed}
		})
		if !porcupine.CheckOperations(oneEntry, operations) {
			t.Fatalf("run %d is not linearizable: %+v", run, operations)
		}
	}
}

// naive is the same act on a table of its own: lock, read, decide, write. Only
// the words that lock differ, so that it shows what they are for, and that the
// checker sees when they are missing.
type naive struct {
	pool *pgxpool.Pool
	lock string // "FOR NO KEY UPDATE", or nothing
}

func (n naive) scan(ctx context.Context, key int) (a answered, err error) {
	err = pg.Tx(ctx, n.pool, func(ctx context.Context, tx pgx.Tx) error {
		a = answered{}
		if _, err := tx.Exec(ctx, `SELECT FROM one_ticket `+n.lock); err != nil {
			return err
		}
		var holder *int
		if err := tx.QueryRow(ctx, `SELECT key FROM one_ticket`).Scan(&holder); err != nil {
			return err
		}
		switch {
		case holder == nil:
			a.admitted = true
			_, err := tx.Exec(ctx, `UPDATE one_ticket SET key = $1`, key)
			return err
		case *holder == key:
			a = answered{admitted: true, replayed: true}
		}
		return nil
	})
	return a, err
}

// rejected counts in how many runs the checker refuses this implementation.
func rejected(t *testing.T, lock string) (runs int) {
	t.Helper()
	db := pgtest.New(t, pgtest.Empty(), pgtest.MaxConns(linearClients))
	n := naive{pool: db.Pool, lock: lock}
	ctx := context.Background()
	if _, err := db.Pool.Exec(ctx, `CREATE TABLE one_ticket (key integer)`); err != nil {
		t.Fatal(err)
	}
	warm(t, db.Pool)
	for range linearRuns {
		accepted := true
		for i := 0; i < ticketsARun && accepted; i++ {
			n.reset(t)
			accepted = porcupine.CheckOperations(oneEntry, history(linearClients, linearScans, func(_, key int) answered {
				a, err := n.scan(ctx, key)
				if err != nil {
					t.Errorf("a scan failed: %v", err)
					return answered{unknown: true}
				}
				return a
			}))
		}
		if !accepted {
			runs++
		}
	}
	return runs
}

// reset makes the ticket unused.
func (n naive) reset(t *testing.T) {
	t.Helper()
	for _, sql := range []string{`TRUNCATE one_ticket`, `INSERT INTO one_ticket VALUES (NULL)`} {
		if _, err := n.pool.Exec(context.Background(), sql); err != nil {
			t.Fatal(err)
		}
	}
}

// warm opens all connections, so that scans do not queue for their making.
func warm(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	errs := make([]error, linearClients)
	together(linearClients, func(i int) {
		errs[i] = pg.Tx(context.Background(), pool, func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `SELECT pg_sleep(0.05)`) // holds the connection while the others come
			return err
		})
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestTheCheckerRejectsAnAdmissionWithoutItsLockInEveryRun(t *testing.T) {
	if runs := rejected(t, ""); runs != linearRuns {
		t.Errorf("rejected in %d of %d runs", runs, linearRuns)
	}
}

func TestTheCheckerAcceptsTheSameAdmissionWithItsLock(t *testing.T) {
	if runs := rejected(t, "FOR NO KEY UPDATE"); runs != 0 {
		t.Errorf("rejected in %d of %d runs", runs, linearRuns)
	}
}
