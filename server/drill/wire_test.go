package drill_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// wire stands between a server and its database, and understands as much of what
// they say (PostgreSQL's manual, "Message Formats") as it takes to see each COMMIT
// of the door's own connections go by, whichever way it was sent.
type wire struct {
	// url leads to the database through the wire; a proxy may stand before it.
	url, address string

	listener          net.Listener
	network, database string // address of the database
	strike            atomic.Pointer[strike]
	torn              atomic.Int64 // connections that ended without a word and not by us

	mu   sync.Mutex
	ends map[net.Conn]bool
}

// strike is told of every moment of every commit; true cuts the connection there.
type strike func(at moment, of commit) (cut bool)

// commit is what is struck.
type commit struct {
	backend int  // process that commits
	admits  bool // guests: it is not only the log of those refused
}

// moment is how far a commit has come.
type moment int

const (
	never   moment = iota
	sent           // the server sent it, and the database has not got it
	running        // the database has got it
	done           // the database has answered, and the server has not heard it
)

func (m moment) String() string {
	return [...]string{"between commits", "before COMMIT arrived", "while COMMIT ran", "before its answer arrived"}[m]
}

// newWire makes a wire to the database that databaseURL names, and to its schema.
func newWire(t *testing.T, databaseURL, schema string) *wire {
	t.Helper()
	config, err := pgconn.ParseConfig(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{ends: map[net.Conn]bool{}}
	w.network, w.database = pgconn.NetworkAddress(config.Host, config.Port)
	if w.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	w.address = w.listener.Addr().String()
	query := url.Values{"sslmode": {"disable"}, "options": {"-csearch_path=" + schema}}
	w.url = (&url.URL{
		Scheme: "postgres", User: url.UserPassword(config.User, config.Password), Host: w.address,
		Path: "/" + config.Database, RawQuery: query.Encode(),
	}).String()
	var served sync.WaitGroup
	served.Go(func() { w.serve(&served) })
	t.Cleanup(func() {
		_ = w.listener.Close()
		w.hangUp()
		served.Wait()
	})
	return w
}

// at is the wire's URL, by way of a proxy in front of it.
func (w *wire) at(proxy string) string { return strings.Replace(w.url, w.address, proxy, 1) }

// hangUp ends all connections.
func (w *wire) hangUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for end := range w.ends {
		_ = end.Close()
	}
	w.ends = nil
}

func (w *wire) serve(served *sync.WaitGroup) {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(w.network, w.database)
		if err != nil {
			_ = client.Close() // the database is away
			continue
		}
		w.mu.Lock()
		open := w.ends != nil
		if open {
			w.ends[client], w.ends[server] = true, true
		}
		w.mu.Unlock()
		c := &call{wire: w, client: client, server: server, statements: map[string]string{}}
		if !open {
			c.end()
			return
		}
		served.Go(func() { c.carry(served) })
	}
}

// call is one connection.
type call struct {
	wire           *wire
	client, server net.Conn
	door           bool // it is one of those that scans are decided on
	statements     map[string]string
	backend        atomic.Int64 // process id
	admits         atomic.Bool  // the transaction that is under way
	committing     atomic.Bool
	over           atomic.Bool
}

func (c *call) end() {
	c.over.Store(true)
	_ = c.client.Close()
	_ = c.server.Close()
	c.wire.mu.Lock()
	defer c.wire.mu.Unlock()
	delete(c.wire.ends, c.client)
	delete(c.wire.ends, c.server)
}

// struck asks whether it is here that the connection is cut.
func (c *call) struck(at moment) bool {
	strike := c.wire.strike.Load()
	if !c.door || strike == nil || !(*strike)(at, commit{int(c.backend.Load()), c.admits.Load()}) {
		return false
	}
	c.end()
	return true
}

// carry passes on the first message, which tells what the connection is for, and
// then both directions.
func (c *call) carry(served *sync.WaitGroup) {
	defer c.end()
	from := bufio.NewReaderSize(c.client, 64<<10)
	first, err := message(from, 0)
	if err != nil {
		return
	}
	c.door = bytes.Contains(first, []byte("application_name\x00portillon door\x00"))
	if _, err := c.server.Write(first); err != nil {
		return
	}
	served.Go(c.back)
	said := c.forth(from)
	if !said && !c.over.Load() && binary.BigEndian.Uint32(first[4:]) != cancelRequest {
		c.wire.torn.Add(1)
	}
}

// cancelRequest takes the place of the protocol's version on a connection that only
// cancels a statement of another.
const cancelRequest = 80877102

// forth passes on what the server of ours says, and reports whether it took its
// leave. What came together goes on together, but for what stands behind a COMMIT
// that is struck.
func (c *call) forth(from *bufio.Reader) (said bool) {
	to := bufio.NewWriterSize(c.server, 64<<10)
	begun := false
	for {
		m, err := message(from, 1)
		if err != nil {
			return false
		}
		if c.commits(m) {
			if to.Flush() != nil || c.struck(sent) {
				return false
			}
			begun = true
			c.committing.Store(true)
		}
		if _, err := to.Write(m); err != nil {
			return false
		}
		if from.Buffered() > 0 {
			continue
		}
		if to.Flush() != nil || begun && c.struck(running) {
			return false
		}
		begun = false
		if m[0] == 'X' { // Terminate
			return true
		}
	}
}

// commits reports whether a message makes the database commit, and keeps in mind what.
func (c *call) commits(m []byte) bool {
	var text string
	switch fields := bytes.SplitN(m[5:], []byte{0}, 3); {
	case m[0] == 'Q': // Query
		text = string(fields[0])
	case m[0] == 'P' && len(fields) == 3: // Parse: the statement's name and its text
		c.statements[string(fields[0])] = string(fields[1])
		return false
	case m[0] == 'B' && len(fields) == 3: // Bind: the portal's name and the statement's
		text = c.statements[string(fields[1])]
	}
	switch {
	case strings.HasPrefix(strings.ToLower(text), "begin"):
		c.admits.Store(false)
	case strings.Contains(text, "INSERT INTO admissions"):
		c.admits.Store(true)
	}
	return strings.EqualFold(text, "commit")
}

// back passes on what the database says.
func (c *call) back() {
	defer c.end()
	from, to := bufio.NewReaderSize(c.server, 64<<10), bufio.NewWriterSize(c.client, 64<<10)
	for {
		m, err := message(from, 1)
		if err != nil {
			return
		}
		switch {
		case m[0] == 'K' && len(m) >= 9: // BackendKeyData
			c.backend.Store(int64(binary.BigEndian.Uint32(m[5:])))
		case m[0] == 'C' && string(m[5:]) == "COMMIT\x00" && c.committing.Swap(false): // CommandComplete
			if c.struck(done) {
				return
			}
		}
		if _, err := to.Write(m); err != nil {
			return
		}
		if from.Buffered() == 0 && to.Flush() != nil {
			return
		}
	}
}

// message reads one: a type of that many bytes, the length with itself, the rest.
func message(from *bufio.Reader, typed int) ([]byte, error) {
	head, err := from.Peek(typed + 4)
	if err != nil {
		return nil, err
	}
	m := make([]byte, typed+int(binary.BigEndian.Uint32(head[typed:])))
	_, err = io.ReadFull(from, m)
	return m, err
}
