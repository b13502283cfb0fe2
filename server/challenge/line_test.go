package challenge

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"portillon/server/ticket"
)

// phone is a stream over a socket of its own, of which a test reads what it likes.
type phone struct {
	net.Conn
	lines *bufio.Scanner
}

func dial(t *testing.T, r replica, c *http.Cookie) phone {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := conn.Write([]byte("GET /v1/wallet/stream HTTP/1.1\r\nHost: door\r\nCookie: " + c.String() + "\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	return phone{conn, bufio.NewScanner(conn)}
}

// until reads lines until one begins so, and gives what follows.
func (p phone) until(t *testing.T, begins string) string {
	t.Helper()
	if err := p.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	for p.lines.Scan() {
		if rest, ok := strings.CutPrefix(p.lines.Text(), begins); ok {
			return rest
		}
	}
	t.Fatalf("the stream ended before %q: %v", begins, p.lines.Err())
	return ""
}

// streamsAt are the open streams of a venue.
func streamsAt(s *Service, venue ticket.VenueID) []*Stream {
	f := s.feed(venue)
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []*Stream
	for st := range f.listeners {
		all = append(all, st)
	}
	return all
}

func TestANonceIsEncodedOnceForAllWalletsOfItsVenue(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.replica(t)
	lease := h.hold(t, r).text(t, "lease")
	c := h.session(t, h.ticket(t, -time.Minute))
	const n = 10
	for range n {
		dial(t, r, c).until(t, "event: nonce")
	}
	var mu sync.Mutex
	var written [][]byte
	for _, st := range streamsAt(r.Service, h.venue) {
		st.mu.Lock()
		st.direct = func(text []byte) error {
			mu.Lock()
			defer mu.Unlock()
			written = append(written, text)
			return nil
		}
		st.mu.Unlock()
	}
	h.db.Shift(t, 10*time.Second)
	renew(t, h, r, lease)
	eventually(t, "every wallet has the next nonce", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(written) >= n
	})
	mu.Lock()
	defer mu.Unlock()
	for _, text := range written {
		if &text[0] != &written[0][0] {
			t.Fatalf("encoded anew: %s", text)
		}
	}
}

func TestAReaderWhoseConnectionIsFullIsDroppedAndTheOthersHearInTime(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.replica(t)
	lease := h.hold(t, r).text(t, "lease")
	c := h.session(t, h.ticket(t, -time.Minute))
	dial(t, r, c).until(t, "event: nonce")
	st := streamsAt(r.Service, h.venue)[0]
	st.mu.Lock()
	// Nobody reads. The kernel goes on making room until nothing is on its way.
	for took := time.Now(); time.Since(took) < 300*time.Millisecond; {
		switch err := st.direct(make([]byte, 1<<10)); {
		case err == nil:
			took = time.Now()
		case errors.Is(err, errFull):
			runtime.Gosched()
		default:
			t.Fatal(err)
		}
	}
	st.mu.Unlock()
	quick := dial(t, r, c)
	quick.until(t, "event: nonce")
	h.db.Shift(t, 10*time.Second)
	renew(t, h, r, lease)
	quick.until(t, "event: nonce")
	eventually(t, "only the one who reads is left", func() bool { return r.Streams() == 1 })
}

func TestEachBrowserIsToldAnotherTimeToComeBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.replica(t)
	c := h.session(t, h.ticket(t, -time.Minute))
	var told []int
	for range 8 {
		ms, err := strconv.Atoi(dial(t, r, c).until(t, "retry: "))
		if err != nil || ms < 2000 || ms >= 5000 {
			t.Fatalf("%d ms %v", ms, err)
		}
		told = append(told, ms)
	}
	slices.Sort(told)
	if told[0] == told[7] {
		t.Errorf("all at %v", told)
	}
}

// Not in parallel: the memory is the process's.
func TestAWalletAtTheDoorCostsLittleMemory(t *testing.T) {
	h := newHouse(t)
	r := h.replica(t)
	h.hold(t, r)
	cookies := make([]*http.Cookie, 20)
	for i := range cookies {
		cookies[i] = h.session(t, h.ticket(t, -time.Minute))
	}
	open := func(n int) {
		for i := range n {
			p := dial(t, r, cookies[i%len(cookies)])
			if err := p.SetReadDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			for seen := ""; !strings.Contains(seen, "event: nonce"); {
				var some [256]byte
				n, err := p.Read(some[:])
				if err != nil {
					t.Fatal(err)
				}
				seen += string(some[:n])
			}
		}
	}
	open(20) // what the process needs once
	before := inUse()
	const n = 200
	open(n)
	if each := (inUse() - before) / n; each > 20<<10 {
		t.Errorf("%d bytes for a stream and this test's end of it", each)
	}
}

// inUse is the memory of heap and stacks after two collections: the first lets stacks
// shrink.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse) // far below
}

func TestTwoWritersOfOneStreamDoNotMeet(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.replica(t)
	h.hold(t, r)
	p := dial(t, r, h.session(t, h.ticket(t, -time.Minute)))
	p.until(t, "event: nonce")
	st := streamsAt(r.Service, h.venue)[0]
	f := r.feed(h.venue)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for ctx.Err() == nil {
				now := *f.last()
				now.version += 1000
				f.state.Store(&now) // as if there were a new nonce
				st.stir()
				touch(st.changed)
			}
		})
	}
	for range 300 { // each whole event is followed by an empty line
		p.until(t, "data: {")
		if !p.lines.Scan() || p.lines.Text() != "" {
			t.Errorf("half an event: %q", p.lines.Text())
			break
		}
	}
	cancel()
	all.Wait()
}
