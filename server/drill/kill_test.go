package drill_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/ticket"
)

// The drill's measures. In each round every ticket is presented under a key of its
// own by some clients at once, and something is killed meanwhile.
const (
	killClients    = 64
	killTickets    = 48 // a round
	killPresenters = 3  // of a ticket, at different gates
)

// backWithin is how soon every server decides again, from when the database accepts
// connections and the killed one may be started. Small runs are made on machines
// that have other things to do.
func backWithin() time.Duration { return time.Duration(large(5, 30)) * time.Second }

// kill -9 of a server and of the database, most of them around a COMMIT. The clients'
// own logs, which nothing of this touches, are compared with the books.
func TestWhoeverIsKilledWhatWasAnsweredIsInTheBooksOnce(t *testing.T) {
	rounds := large(100, 10)
	for _, form := range forms() {
		t.Run(form.name, func(t *testing.T) {
			w := newWard(t, rounds, form)
			var report killReport
			for n := 0; n < rounds && !t.Failed(); n++ {
				w.round(t, blowOf(n), &report)
			}
			t.Log(report.String())
			if report.inCommit*10 < report.kills*3 {
				t.Errorf("only %d of %d kills came during a commit", report.inCommit, report.kills)
			}
			if n := w.Count(t, "admissions"); n != report.tickets {
				t.Errorf("%d admissions of %d tickets", n, report.tickets)
			}
		})
	}
}

// killReport is what is printed.
type killReport struct {
	kills, ofServer, ofDatabase int
	inCommit                    int
	at                          [done + 1]int
	tickets, visits, calls      int
	admitted, refused           int
	slowest                     time.Duration
}

func (r *killReport) String() string {
	return fmt.Sprintf("%d kills: %d of a server, %d of the database; %d during a commit (%d %s, %d %s, %d %s); "+
		"%d tickets, %d visits in %d calls, %d told admitted, %d told used; back within %.2f s at the slowest",
		r.kills, r.ofServer, r.ofDatabase, r.inCommit, r.at[sent], sent, r.at[running], running, r.at[done], done,
		r.tickets, r.visits, r.calls, r.admitted, r.refused, r.slowest.Seconds())
}

// blow is what is killed, and when.
type blow struct {
	database bool
	server   int // otherwise
	at       moment
}

func blowOf(n int) blow {
	return blow{database: n%2 == 1, server: n / 2 % 2, at: [...]moment{running, done, sent, never}[n/2%4]}
}

// round has every ticket presented, kills, revives, and compares.
func (w *ward) round(t *testing.T, b blow, report *killReport) {
	t.Helper()
	tickets := w.unused[:killTickets]
	w.unused = w.unused[killTickets:]
	codes := w.sign(t, tickets)
	visits := make([]visit, 0, killTickets*killPresenters)
	for _, id := range tickets {
		for range killPresenters {
			visits = append(visits, visit{ticket: id, key: servertest.NewKey()})
		}
	}
	rand.Shuffle(len(visits), func(i, j int) { visits[i], visits[j] = visits[j], visits[i] })

	struck := w.arm(b)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		together(killClients, func(i int) {
			for n := i; n < len(visits); n += killClients {
				w.insist(t, i, &visits[n], codes[visits[n].ticket])
			}
		})
	}()
	var unexpected <-chan time.Time
	if b.at == never {
		unexpected = time.After(rand.N(50 * time.Millisecond))
	}
	at := b.at
	select {
	case <-struck:
	case <-unexpected:
		w.kill(b, 0)
	case <-finished: // too few commits for it
		at = never
		w.kill(b, 0)
	}
	took := w.revive(t, b, codes[tickets[0]])
	<-finished
	report.add(b, at, took, visits)
	w.compare(t, tickets, visits)
}

func (r *killReport) add(b blow, at moment, took time.Duration, visits []visit) {
	r.kills++
	r.at[at]++
	if at != never {
		r.inCommit++
	}
	if b.database {
		r.ofDatabase++
	} else {
		r.ofServer++
	}
	r.slowest = max(r.slowest, took)
	r.tickets += killTickets
	r.visits += len(visits)
	for _, v := range visits {
		r.calls += v.calls
		if v.reason == ticket.Admitted {
			r.admitted++
		} else {
			r.refused++
		}
	}
}

// arm makes one of the first commits that admit somebody deadly.
func (w *ward) arm(b blow) (struck <-chan struct{}) {
	killed := make(chan struct{})
	var seen atomic.Int64
	nth := 1 + rand.Int64N(3)
	var deadly strike = func(at moment, of commit) bool {
		if at != b.at || !of.admits || seen.Add(1) != nth {
			return false
		}
		w.kill(b, of.backend)
		close(killed)
		return true
	}
	for i, wire := range w.wires {
		if wire.strike.Store(nil); b.database || b.server == i {
			wire.strike.Store(&deadly)
		}
	}
	return killed
}

// insist presents a code until somebody knows, at one server after the other.
func (w *ward) insist(t *testing.T, i int, v *visit, code string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		a, err := w.ask(ctx, i, i+v.calls, v.key, client.Scan{Code: code})
		v.calls++
		if v.reason = a.Reason; err == nil {
			return
		}
		if !client.RetryLater(err) || ctx.Err() != nil {
			t.Errorf("after %d calls: %v", v.calls, err)
			return
		}
		time.Sleep(20*time.Millisecond + rand.N(40*time.Millisecond))
	}
}

// compare holds the clients' logs against the books, and asks under every key once
// more, at another server than the last time.
func (w *ward) compare(t *testing.T, tickets []ticket.ID, visits []visit) {
	t.Helper()
	holders, codes := holdersOf(t, w.House, tickets), w.sign(t, tickets)
	for _, id := range tickets {
		if len(holders[id]) != 1 {
			t.Errorf("ticket %s was admitted under %d keys", id, len(holders[id]))
			return
		}
	}
	together(killClients, func(i int) {
		for n := i; n < len(visits); n += killClients {
			v := visits[n]
			want := ticket.AlreadyUsed
			if holders[v.ticket][0] == v.key {
				want = ticket.Admitted
			}
			if v.reason != want {
				t.Errorf("ticket %s: told %s after %d calls, the books say %s", v.ticket, v.reason, v.calls, want)
			}
			a, err := w.ask(context.Background(), i, i+v.calls, v.key, client.Scan{Code: codes[v.ticket]})
			for tries := 0; client.RetryLater(err) && tries < 50; tries++ { // the machine has other things to do
				a, err = w.ask(context.Background(), i, i+v.calls, v.key, client.Scan{Code: codes[v.ticket]})
			}
			if err != nil || a.Reason != want || a.Replayed != (want == ticket.Admitted) {
				t.Errorf("ticket %s: asked again: %s, replayed %v, %v; the books say %s", v.ticket, a.Reason, a.Replayed, err, want)
			}
		}
	})
}
