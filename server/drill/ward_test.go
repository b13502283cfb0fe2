package drill_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"portillon/migrations"
	"portillon/server/client"
	"portillon/server/pg"
	"portillon/server/pgtest"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
)

// ward is a house with two servers in processes of their own and a database of its
// own, all of which are killed. The house itself is on a server in this process.
type ward struct {
	*servertest.House
	phone   *servertest.Phone
	unused  []ticket.ID
	doors   []*servertest.Gatekeeper
	options pg.Options
	cluster *pg.Server
	form    pair
	wires   [2]*wire // from the servers to the database
	servers [2]*child
	urls    [2]atomic.Pointer[string] // where the servers are now
	http    *http.Client
}

func newWard(t *testing.T, rounds int, of pair) *ward {
	t.Helper()
	w := &ward{form: of, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: killClients}, Timeout: 20 * time.Second}}
	dir, err := pgtest.TempFolder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	// As an operator runs it: what is committed is on the disk.
	w.options = pg.Options{DataDir: filepath.Join(dir, "pg"), Offline: true, Settings: map[string]string{"max_connections": "200"}}
	w.startCluster(t)
	t.Cleanup(func() { w.stopCluster(t) })
	ctx := context.Background()
	pool, err := pg.Open(ctx, w.cluster.URL(), pg.PoolOptions{MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if _, err := pg.Migrate(ctx, pool, migrations.FS); err != nil {
		t.Fatal(err)
	}
	for i := range w.wires {
		w.wires[i] = newWire(t, w.cluster.URL(), "public")
	}
	w.House = servertest.Furnish(t, servertest.On(t, &pgtest.DB{Pool: pool, URL: w.cluster.URL(), Schema: "public"}))
	t.Cleanup(w.http.CloseIdleConnections)
	for i := range w.servers {
		w.startServer(t, i)
	}
	for i := range killClients {
		w.doors = append(w.doors, w.Controller(fmt.Sprintf("Controller %d", i), session.Controller))
	}
	w.phone = w.NewPhone()
	for len(w.unused) < rounds*killTickets {
		some := w.Issue(w.Event.Event, client.NewTickets{Category: w.Standard.Category, Count: min(100, rounds*killTickets-len(w.unused))})
		w.phone.Take(t, some.ClaimURL)
		for _, one := range some.Tickets {
			w.unused = append(w.unused, one.Ticket)
		}
	}
	return w
}

func (w *ward) startCluster(t *testing.T) {
	t.Helper()
	var err error
	if w.cluster, err = pg.Start(context.Background(), w.options); err != nil {
		t.Fatal(err)
	}
}

func (w *ward) stopCluster(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := w.cluster.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func (w *ward) startServer(t *testing.T, i int) {
	t.Helper()
	w.servers[i] = startChild(t, w.wires[i].url, w.form.plain[i])
	w.urls[i].Store(&w.servers[i].url)
}

// ask is one call at one of the servers, wherever that is now.
func (w *ward) ask(ctx context.Context, door, server int, key ticket.Key, scan client.Scan) (client.ScanAnswer, error) {
	scan.Gate = w.Gate.Gate
	return client.New(*w.urls[server%2].Load(), w.doors[door].Token(), w.http).Scan(ctx, key, scan)
}

// sign makes a code for each ticket over a nonce of now.
func (w *ward) sign(t *testing.T, tickets []ticket.ID) map[ticket.ID]string {
	t.Helper()
	var held client.Hold
	until(t, func() (err error) {
		held, err = w.doors[0].HoldGate(context.Background(), w.Gate.Gate)
		return err
	})
	nonce, codes := servertest.NonceOf(t, held.Nonce), map[ticket.ID]string{}
	for _, id := range tickets {
		codes[id] = w.phone.Signed(t, id, nonce)
	}
	return codes
}

// kill is kill -9 of a server, or of the database's first process and of the one
// that commits, if any.
func (w *ward) kill(b blow, backend int) {
	if !b.database {
		w.servers[b.server].strike()
		return
	}
	_ = syscall.Kill(w.cluster.PID(), syscall.SIGKILL)
	if backend > 0 {
		_ = syscall.Kill(backend, syscall.SIGKILL)
	}
}

// revive starts again what was killed, and gives how long it took until every server
// decided, from when the database accepted connections.
func (w *ward) revive(t *testing.T, b blow, code string) time.Duration {
	t.Helper()
	if b.database {
		<-w.cluster.Done()
		w.stopCluster(t)
		w.startCluster(t)
	}
	begun := time.Now()
	if !b.database {
		w.servers[b.server].kill() // it is dead, and is buried
		w.startServer(t, b.server)
	}
	for i := range w.servers {
		until(t, func() error {
			_, err := w.ask(context.Background(), 0, i, servertest.NewKey(), client.Scan{Code: code, DryRun: true})
			return err
		})
	}
	took := time.Since(begun)
	if took > backWithin() {
		t.Errorf("the servers decide again only %.1f s after the database does", took.Seconds())
	}
	w.DB.Pool.Reset()
	w.Pool.Reset()
	return took
}

// until repeats f until it has no error.
func until(t *testing.T, f func() error) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
