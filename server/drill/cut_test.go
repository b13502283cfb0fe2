package drill_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
)

// Cuts come where they hurt: a COMMIT that never arrives, one that is done and
// nobody hears of it, and anywhere else in what a server and its database, or a
// phone and its server, say to each other.
func TestWhateverIsCutTheHistoryIsLinearizableAndWhoInsistsEndsWithTheTruth(t *testing.T) {
	const clients, asks, keys = 16, 2, 3
	tickets, least := large(1000, 5), large(200, 2)
	for _, form := range forms() {
		t.Run(form.name, func(t *testing.T) {
			f := newFront(t, clients, form)
			c := &crew{House: f.House}
			c.doors = append(c.doors, f.Controller("Undisturbed", session.Controller))
			var ids []ticket.ID
			var histories []*history
			var visits [][]visit
			stop := f.trouble(t)
			for n := 0; n < tickets || !f.cuts.enough(least) && n < 20*tickets; n++ {
				id, code := c.issued(t, c.Standard, 1)
				ids = append(ids, id[0])
				all := []ticket.Key{servertest.NewKey(), servertest.NewKey(), servertest.NewKey()}
				h := &history{start: time.Now()}
				some := make([]visit, clients*asks)
				together(clients, func(i int) {
					for a := range asks {
						key := rand.IntN(keys)
						some[i*asks+a] = f.insist(t, i, visit{ticket: id[0], key: all[key]}, code[0], h.of(i, key+1))
					}
				})
				histories, visits = append(histories, h), append(visits, some)
			}
			stop()
			operations := 0
			for _, h := range histories {
				h.check(t)
				operations += len(h.operations)
			}
			admitted := f.truth(t, ids, visits)
			t.Logf("%d tickets, %d asks in %d calls, %d asks admitted; cut: %s", len(ids), len(ids)*clients*asks, operations, admitted, f.cuts)
			if !f.cuts.enough(least) {
				t.Errorf("some of the cuts happened less than %d times", least)
			}
		})
	}
}

// visit is one presentation of a ticket, as its client's own log has it.
type visit struct {
	ticket ticket.ID
	key    ticket.Key
	calls  int // until there was an answer
	reason ticket.Reason
}

// truth compares what clients were told with the books, and gives how many were
// admitted.
func (f *front) truth(t *testing.T, ids []ticket.ID, visits [][]visit) (admitted int) {
	t.Helper()
	holders := holdersOf(t, f.House, ids)
	for n, some := range visits {
		holder := holders[ids[n]]
		if len(holder) != 1 {
			t.Errorf("ticket %s was admitted under %d keys", ids[n], len(holder))
			continue
		}
		for _, v := range some {
			want := ticket.AlreadyUsed
			if v.key == holder[0] {
				want = ticket.Admitted
				admitted++
			}
			if v.reason != want {
				t.Errorf("ticket %s: told %s after %d calls, the books say %s", v.ticket, v.reason, v.calls, want)
			}
		}
	}
	return admitted
}

// holdersOf are the keys under which tickets were admitted and not taken back.
func holdersOf(t *testing.T, h *servertest.House, ids []ticket.ID) map[ticket.ID][]ticket.Key {
	t.Helper()
	rows, err := h.DB.Pool.Query(context.Background(), `
SELECT ticket_id, key FROM admissions a WHERE ticket_id = ANY($1)
  AND NOT EXISTS (SELECT FROM undos u WHERE u.ticket_id = a.ticket_id AND u.key = a.key)`, ids)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	holders := map[ticket.ID][]ticket.Key{}
	for rows.Next() {
		var id ticket.ID
		var key ticket.Key
		if err := rows.Scan(&id, &key); err != nil {
			t.Fatal(err)
		}
		holders[id] = append(holders[id], key)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return holders
}

// front is a house whose two servers, each a process of its own, can be reached, and
// reach their database, only over lines that break. The house itself is on a third,
// undisturbed server.
type front struct {
	*servertest.House
	wires    [2]*wire
	database [2]*toxiproxy.Proxy // before the wires
	doors    []*servertest.Gatekeeper
	lines    []*toxiproxy.Proxy // each client's own
	cuts     *cuts
}

// cuts counts by kind.
type cuts struct {
	wires                         []*wire // count the connections that are torn anywhere
	sent, done                    atomic.Int64
	admitting                     atomic.Int64 // of those sent and done
	request, answer, reset, quiet atomic.Int64
}

func newFront(t *testing.T, clients int, of pair) *front {
	t.Helper()
	f := &front{House: servertest.NewHouse(t), cuts: &cuts{}}
	proxies := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	proxy := func(name, upstream string) *toxiproxy.Proxy {
		p := toxiproxy.NewProxy(proxies, name, "127.0.0.1:0", upstream)
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Stop)
		return p
	}
	var servers [2]*child
	for i := range servers {
		f.wires[i] = newWire(t, f.DB.URL, f.DB.Schema)
		f.database[i] = proxy(fmt.Sprintf("database %d", i), f.wires[i].address)
		servers[i] = startChild(t, f.wires[i].at(f.database[i].Listen), of.plain[i])
	}
	f.cuts.wires = f.wires[:]
	for i := range clients {
		line := proxy(fmt.Sprintf("client %d", i), strings.TrimPrefix(servers[i%2].url, "http://"))
		g := *f.Controller(fmt.Sprintf("Controller %d", i), session.Controller)
		// A connection for each call, or the transport would itself repeat what was cut.
		g.Client = client.New("http://"+line.Listen, g.Token(), &http.Client{Transport: &http.Transport{DisableKeepAlives: true}})
		f.doors, f.lines = append(f.doors, &g), append(f.lines, line)
	}
	return f
}

// insist repeats a visit under its key until somebody knows. Every third call meets
// a fault on the client's own line.
func (f *front) insist(t *testing.T, i int, v visit, code string, note func(call time.Time, answer heard)) visit {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		v.calls++
		mend, count := func() {}, (*atomic.Int64)(nil)
		if rand.IntN(3) == 0 {
			mend, count = f.fault(t, i)
		}
		call := time.Now()
		a, err := f.doors[i].Scan(ctx, v.key, client.Scan{Gate: f.Gate.Gate, Code: code})
		mend()
		note(call, heard{admitted: a.Reason == ticket.Admitted, replayed: a.Replayed, lost: err != nil})
		if v.reason = a.Reason; err == nil {
			return v
		}
		if !client.RetryLater(err) || ctx.Err() != nil {
			t.Errorf("after %d calls: %v", v.calls, err)
			return v
		}
		if count != nil && client.Wait(err) == 0 { // not the server's own answer that nobody knows
			count.Add(1)
		}
		time.Sleep(rand.N(4 * time.Millisecond))
	}
}

// fault breaks a client's line for one call.
func (f *front) fault(t *testing.T, i int) (mend func(), count *atomic.Int64) {
	switch rand.IntN(4) {
	case 0: // a part of the request arrives at most
		return poison(t, f.lines[i], "limit_data", "upstream", "bytes", rand.IntN(300)), &f.cuts.request
	case 1: // a part of the answer arrives at most
		return poison(t, f.lines[i], "limit_data", "downstream", "bytes", rand.IntN(300)), &f.cuts.answer
	case 2: // the connection is reset as soon as the answer comes
		return poison(t, f.lines[i], "reset_peer", "downstream", "timeout", 0), &f.cuts.reset
	}
	// Nothing comes, and then the end; the server goes on with what it was asked.
	return poison(t, f.lines[i], "timeout", "downstream", "timeout", 1+rand.IntN(20)), &f.cuts.quiet
}

// poison adds a fault to a proxy until it is mended.
func poison(t *testing.T, p *toxiproxy.Proxy, kind, stream, attribute string, value int) (mend func()) {
	toxic, err := p.Toxics.AddToxicJson(strings.NewReader(fmt.Sprintf(
		`{"type": %q, "stream": %q, "attributes": {%q: %d}}`, kind, stream, attribute, value)))
	if err != nil {
		t.Error(err)
		return func() {}
	}
	return func() {
		if err := p.Toxics.RemoveToxic(context.Background(), toxic.Name); err != nil {
			t.Error(err)
		}
	}
}

// trouble begins on the lines to the database, and ends with stop.
func (f *front) trouble(t *testing.T) (stop func()) {
	t.Helper()
	// Of the commits that let somebody in every third never arrives, and every third
	// of those that do is done unheard; of the others every twentieth.
	var commits strike = func(at moment, of commit) bool {
		rarity := 20
		if of.admits {
			rarity = 3
		}
		switch {
		case at == running || rand.IntN(rarity) > 0:
			return false
		case at == sent:
			f.cuts.sent.Add(1)
		case at == done:
			f.cuts.done.Add(1)
		}
		if of.admits {
			f.cuts.admitting.Add(1)
		}
		return true
	}
	ended := make(chan struct{})
	var all sync.WaitGroup
	for i := range f.wires {
		f.wires[i].strike.Store(&commits)
		all.Go(func() {
			for {
				select {
				case <-ended:
					return
				case <-time.After(rand.N(200 * time.Millisecond)):
				}
				mend := poison(t, f.database[i], "limit_data", []string{"upstream", "downstream"}[rand.IntN(2)], "bytes", rand.IntN(4000))
				time.Sleep(rand.N(20 * time.Millisecond))
				mend()
			}
		})
	}
	return func() {
		close(ended)
		all.Wait()
		for _, w := range f.wires {
			w.strike.Store(nil)
		}
	}
}

func (c *cuts) kinds() map[string]int64 {
	return map[string]int64{
		sent.String(): c.sent.Load(), done.String(): c.done.Load(), "of these, of an admission": c.admitting.Load(), "anywhere before the database": c.anywhere(),
		"in the request": c.request.Load(), "in the answer": c.answer.Load(), "reset at the answer": c.reset.Load(),
		"silence": c.quiet.Load(),
	}
}

func (c *cuts) String() string { return fmt.Sprint(c.kinds()) }

func (c *cuts) anywhere() (n int64) {
	for _, w := range c.wires {
		n += w.torn.Load()
	}
	return n
}

// enough reports whether every kind has happened so often.
func (c *cuts) enough(least int) bool {
	for _, n := range c.kinds() {
		if n < int64(least) {
			return false
		}
	}
	return true
}
