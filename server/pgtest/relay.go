package pgtest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// Relay stands between a pool and the test server and cuts connections where a
// test wants it. It speaks TCP to the pool, so that a fault-injecting proxy can
// stand before it in turn.
type Relay struct {
	// URL leads to the schema of the DB through the relay.
	URL string
	// Addr is the relay's host:port.
	Addr string

	network, address string // of the server
	listener         net.Listener

	mu     sync.Mutex
	closed bool
	ends   map[net.Conn]struct{}
	cut    *Cut
}

// Cut is where the next cut happens.
type Cut struct {
	// At is what the message from the client holds: a part of a statement, or
	// "commit\x00" ("commit" alone is in "read committed").
	At string
	// Deliver says whether the server still gets the message: a commit then
	// happens, and nobody hears of it.
	Deliver bool
}

// NewRelay starts a relay to the database. It ends with the test.
func NewRelay(t testing.TB, db *DB) *Relay {
	t.Helper()
	config, err := pgconn.ParseConfig(db.URL)
	if err != nil {
		t.Fatalf("read the URL of the test database: %v", err)
	}
	r := &Relay{ends: map[net.Conn]struct{}{}}
	r.network, r.address = pgconn.NetworkAddress(config.Host, config.Port)
	if r.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatalf("listen: %v", err)
	}
	r.Addr = r.listener.Addr().String()
	query := url.Values{"sslmode": {"disable"}, "options": {"-csearch_path=" + db.Schema}}
	r.URL = (&url.URL{Scheme: "postgres", User: url.UserPassword(config.User, config.Password), Host: r.Addr,
		Path: "/" + config.Database, RawQuery: query.Encode()}).String()
	var served sync.WaitGroup
	served.Go(func() { r.serve(&served) })
	t.Cleanup(func() {
		_ = r.listener.Close()
		r.mu.Lock()
		r.closed = true
		r.mu.Unlock()
		r.CutAll()
		served.Wait()
	})
	return r
}

// CutNext cuts the connection on which the next such message comes, once.
func (r *Relay) CutNext(at Cut) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = &at
}

// CutAll cuts all connections now; new ones are let through.
func (r *Relay) CutAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for end := range r.ends {
		_ = end.Close()
	}
}

func (r *Relay) serve(served *sync.WaitGroup) {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(r.network, r.address)
		if err != nil {
			_ = client.Close()
			continue
		}
		if !r.keep(client, server) {
			continue
		}
		served.Go(func() { r.toServer(client, server) })
		served.Go(func() {
			_, _ = io.Copy(client, server)
			r.drop(client, server)
		})
	}
}

// keep notes both ends, for CutAll, unless the relay has ended meanwhile.
func (r *Relay) keep(ends ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, end := range ends {
		r.ends[end] = struct{}{}
		if r.closed {
			_ = end.Close()
		}
	}
	return !r.closed
}

func (r *Relay) drop(ends ...net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, end := range ends {
		_ = end.Close()
		delete(r.ends, end)
	}
}

// toServer passes on what the client sends. pgx writes a message, and a batch of
// them, at once, so that what is read at once is enough to look at.
func (r *Relay) toServer(client, server net.Conn) {
	defer r.drop(client, server)
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if n > 0 && !r.pass(client, server, buffer[:n]) {
			return
		}
		if err != nil {
			return
		}
	}
}

// pass delivers one piece, and reports whether the connection goes on.
func (r *Relay) pass(client, server net.Conn, piece []byte) bool {
	r.mu.Lock()
	cut := r.cut
	if cut != nil && bytes.Contains(piece, []byte(cut.At)) {
		r.cut = nil
	} else {
		cut = nil
	}
	r.mu.Unlock()
	if cut == nil {
		_, err := server.Write(piece)
		return err == nil
	}
	_ = client.Close() // first, so that the answer finds nobody
	if cut.Deliver {
		_, err := server.Write(piece)
		// The server has read it all when it closes at the end of our half.
		if half, ok := server.(interface{ CloseWrite() error }); ok && err == nil {
			err = half.CloseWrite()
		}
		if err == nil || errors.Is(err, net.ErrClosed) {
			_, _ = io.Copy(io.Discard, server)
		}
	}
	return false
}
