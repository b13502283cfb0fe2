package drill_test

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/ticket"
)

// A desk that holds tickets' rows must not stop the doors, whichever server they ask.
// Two rows are held, one that is scanned at each server, until both clients were told
// that nobody knows, which is after their patience of about 2.5 s, or until both
// scans were seen to wait.
func TestARowThatSomebodyHoldsMakesOnlyItsOwnScanWait(t *testing.T) {
	const gates = 16
	for _, form := range forms() {
		t.Run(form.name, func(t *testing.T) {
			c := newCrew(t, gates, form)
			coach := c.NewCategory(c.Event.Event, client.NewCategory{Name: "Coach party", Admits: 100})
			for name, until := range map[string]func(*crew, *testing.T, []*insistence){
				"beyond_their_patience": func(_ *crew, _ *testing.T, all []*insistence) {
					for _, one := range all {
						<-one.told
					}
				},
				"within_their_patience": (*crew).awaitWaiters,
			} {
				t.Run(name, func(t *testing.T) { c.holdRows(t, gates, coach, until) })
			}
		})
	}
}

// insistence is the scan of a ticket whose row is held, by a client who insists.
type insistence struct {
	told, answered chan struct{} // for the first time, which may be that nobody knows; at last
	answer         client.ScanAnswer
	unanswered     int
}

func (c *crew) holdRows(t *testing.T, gates int, coach client.Category, until func(*crew, *testing.T, []*insistence)) {
	_, codes := c.issued(t, coach, 4*gates)
	held, heldCodes := c.issued(t, c.Standard, 2)
	before := c.scanUntil(t, gates, codes, 20*int64(gates), func(chan<- struct{}) {})

	tx := servertest.Must(c.DB.Pool.Begin(context.Background()))(t)
	if _, err := tx.Exec(context.Background(), `SELECT FROM tickets WHERE id = ANY($1) ORDER BY id FOR UPDATE`, held); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	var insisting []*insistence
	var holding time.Duration
	during := c.scanUntil(t, gates, codes, math.MaxInt64, func(done chan<- struct{}) {
		for i := range held {
			one := &insistence{told: make(chan struct{}), answered: make(chan struct{})}
			insisting = append(insisting, one)
			go c.insistOnce(t, i, heldCodes[i], one)
		}
		until(c, t, insisting)
		holding = time.Since(begun)
		if err := tx.Rollback(context.Background()); err != nil {
			t.Error(err)
		}
		for _, one := range insisting {
			<-one.answered
		}
		close(done)
	})
	for i, one := range insisting {
		if one.answer.Reason != ticket.Admitted {
			t.Errorf("the scan of a row that was held: %+v after %d times nobody knew", one.answer, one.unanswered)
		}
		if n := c.Count(t, "admissions WHERE ticket_id = $1", held[i]); n != 1 {
			t.Errorf("%d admissions of a ticket whose row was held", n)
		}
	}
	usual, p99 := share(before, .99), share(during, .99)
	t.Logf("held %.1f s: %d scans at %d gates, p50 %s p99 %s; before p50 %s p99 %s; its own scans were unanswered %d and %d times",
		holding.Seconds(), len(during), gates, share(during, .5), p99, share(before, .5), usual, insisting[0].unanswered, insisting[1].unanswered)
	if limit := max(100*time.Millisecond, 5*usual); p99 > limit {
		t.Errorf("p99 at the other gates is %s, more than %s", p99, limit)
	}
}

// scanUntil scans at every gate, most times or until done is closed, and gives how
// long each took.
func (c *crew) scanUntil(t *testing.T, gates int, codes []string, most int64, while func(done chan<- struct{})) []time.Duration {
	t.Helper()
	done := make(chan struct{})
	times := make([][]time.Duration, gates)
	var scans atomic.Int64
	var all sync.WaitGroup
	for i := range gates {
		all.Go(func() {
			for n := 0; scans.Add(1) <= most; n++ {
				select {
				case <-done:
					return
				default:
				}
				begun := time.Now()
				scan := client.Scan{Gate: c.Gate.Gate, Code: codes[(n*gates+i)%len(codes)], People: 1}
				a, err := c.doors[i].Scan(context.Background(), servertest.NewKey(), scan)
				times[i] = append(times[i], time.Since(begun))
				if client.RetryLater(err) {
					continue // it took very long, which counts
				}
				if err != nil || a.Reason != ticket.Admitted && a.Reason != ticket.EntriesExhausted {
					t.Errorf("gate %d: %s %v", i, a.Reason, err)
					return
				}
			}
		})
	}
	while(done)
	all.Wait()
	var together []time.Duration
	for _, some := range times {
		together = append(together, some...)
	}
	return together
}

// insistOnce scans at a door until it is answered.
func (c *crew) insistOnce(t *testing.T, door int, code string, one *insistence) {
	defer close(one.answered)
	key, scan := servertest.NewKey(), client.Scan{Gate: c.Gate.Gate, Code: code}
	first, err := c.doors[door].Scan(context.Background(), key, scan)
	close(one.told)
	one.answer = first
	if err == nil {
		return
	}
	if !client.RetryLater(err) {
		t.Errorf("an answer that is not to be repeated: %v", err)
		return
	}
	again, more, err := insist(context.Background(), c.doors[door], key, scan)
	if err != nil {
		t.Errorf("insisting: %v", err)
	}
	one.answer, one.unanswered = again, 1+more
}

// awaitWaiters waits until so many sessions wait for a lock in this schema.
func (c *crew) awaitWaiters(t *testing.T, all []*insistence) {
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		var waiting int
		err := c.DB.Pool.QueryRow(context.Background(), `
SELECT count(DISTINCT l.pid) FROM pg_locks l JOIN pg_locks h ON h.transactionid = l.transactionid AND h.granted
  JOIN pg_locks r ON r.pid = h.pid JOIN pg_class c ON c.oid = r.relation
WHERE NOT l.granted AND c.relnamespace = current_schema()::regnamespace`).Scan(&waiting)
		if err != nil {
			t.Error(err)
			return
		}
		if waiting >= len(all) {
			return
		}
	}
	t.Errorf("fewer than %d wait for the rows", len(all))
}
