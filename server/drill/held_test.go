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

// A desk that holds one ticket's row must not stop the doors. The row is held until
// the client that scans it was told that nobody knows, which is after its patience
// of about 2.5 s, or until it was seen to wait.
func TestARowThatSomebodyHoldsMakesOnlyItsOwnScanWait(t *testing.T) {
	const gates = 16
	for _, form := range forms {
		for name, until := range map[string]func(*crew, *testing.T, <-chan struct{}){
			"beyond_its_patience": func(_ *crew, _ *testing.T, told <-chan struct{}) { <-told },
			"within_its_patience": (*crew).awaitWaiter,
		} {
			t.Run(form.name+"/"+name, func(t *testing.T) {
				c := newCrew(t, gates, form.opts...)
				coach := c.NewCategory(c.Event.Event, client.NewCategory{Name: "Coach party", Admits: 100})
				_, codes := c.issued(t, coach, 4*gates)
				alone, held := c.issued(t, c.Standard, 1)
				before := c.scanUntil(t, gates, codes, 20*gates, func(chan<- struct{}) {})

				tx := servertest.Must(c.DB.Pool.Begin(context.Background()))(t)
				if _, err := tx.Exec(context.Background(), `SELECT FROM tickets WHERE id = $1 FOR UPDATE`, alone[0]); err != nil {
					t.Fatal(err)
				}
				begun, told, answered := time.Now(), make(chan struct{}), make(chan struct{})
				var answer client.ScanAnswer
				var unanswered int
				var holding time.Duration
				during := c.scanUntil(t, gates, codes, math.MaxInt64, func(done chan<- struct{}) {
					go c.insistOnce(t, held[0], told, answered, &answer, &unanswered)
					until(c, t, told)
					holding = time.Since(begun)
					if err := tx.Rollback(context.Background()); err != nil {
						t.Error(err)
					}
					<-answered
					close(done)
				})
				if answer.Reason != ticket.Admitted {
					t.Errorf("the scan of the row that was held: %+v after %d times nobody knew", answer, unanswered)
				}
				if n := c.Count(t, "admissions WHERE ticket_id = $1", alone[0]); n != 1 {
					t.Errorf("%d admissions of the ticket whose row was held", n)
				}
				usual, p99 := share(before, .99), share(during, .99)
				t.Logf("held %.1f s: %d scans at %d gates, p50 %s p99 %s; before p50 %s p99 %s; its own scan was unanswered %d times",
					holding.Seconds(), len(during), gates, share(during, .5), p99, share(before, .5), usual, unanswered)
				if limit := max(100*time.Millisecond, 5*usual); p99 > limit {
					t.Errorf("p99 at the other gates is %s, more than %s", p99, limit)
				}
			})
		}
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

// insistOnce scans until it is answered; told is closed when nobody knew for the
// first time, or at the answer.
func (c *crew) insistOnce(t *testing.T, code string, told, answered chan<- struct{}, answer *client.ScanAnswer, unanswered *int) {
	defer close(answered)
	key, scan := servertest.NewKey(), client.Scan{Gate: c.Gate.Gate, Code: code}
	first, err := c.doors[0].Scan(context.Background(), key, scan)
	close(told)
	*answer = first
	if err == nil {
		return
	}
	if !client.RetryLater(err) {
		t.Errorf("an answer that is not to be repeated: %v", err)
		return
	}
	again, more, err := insist(context.Background(), c.doors[0], key, scan)
	if err != nil {
		t.Errorf("insisting: %v", err)
	}
	*answer, *unanswered = again, 1+more
}

// awaitWaiter waits until somebody waits for a lock in this schema.
func (c *crew) awaitWaiter(t *testing.T, _ <-chan struct{}) {
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		var waits bool
		err := c.DB.Pool.QueryRow(context.Background(), `
SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_locks h ON h.transactionid = l.transactionid AND h.granted
  JOIN pg_locks r ON r.pid = h.pid JOIN pg_class c ON c.oid = r.relation
  WHERE NOT l.granted AND c.relnamespace = current_schema()::regnamespace)`).Scan(&waits)
		if err != nil {
			t.Error(err)
			return
		}
		if waits {
			return
		}
	}
	t.Error("nobody waits for the row")
}
