package challenge

import (
	"context"
	"encoding/json"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"portillon/nonce"
	"portillon/server/ticket"
)

// How the servers on one database agree on a venue's nonce: each asks for it at
// least so often, and at once when it hears of a gate or when an epoch ends.
const (
	askEvery = time.Second
	askFor   = 3 * time.Second
	justNow  = 5 * time.Millisecond
)

// feed is one venue's nonce in this process. While streams listen, a goroutine
// asks the database and tells them; polls in between share its last answer.
type feed struct {
	s     *Service
	venue ticket.VenueID

	asking sync.Mutex // one question at a time

	// state is read by every stream when it is told of a change, so without the lock.
	state atomic.Pointer[state]

	mu        sync.Mutex
	asked     time.Time // by the process's clock
	err       error     // of that question; the state is then an older one
	listeners map[*Stream]struct{}
	end       context.CancelFunc // of the goroutine; nil when nobody listens
}

// state is what is known of a venue's nonce. It never changes: there is a new one.
type state struct {
	version uint64 // 0: nothing yet; another for another nonce, or none
	open    bool
	nonce   nonce.Nonce // ServerTime is when it was read
	read    time.Time   // the same by the process's clock
	event   []byte      // encoded once for all streams
}

func (st *state) serverTime(now time.Time) time.Time {
	return st.nonce.ServerTime.Add(now.Sub(st.read))
}

func (s *Service) feed(venue ticket.VenueID) *feed {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.feeds[venue]
	if f == nil {
		f = &feed{s: s, venue: venue, listeners: map[*Stream]struct{}{}}
		f.state.Store(&state{})
		s.feeds[venue] = f
	}
	return f
}

// listen has the stream stirred whenever the state changes.
func (f *feed) listen(st *Stream) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listeners[st] = struct{}{}
	if f.end == nil {
		var ctx context.Context
		ctx, f.end = context.WithCancel(f.s.ctx)
		go f.run(ctx)
	}
}

func (f *feed) unlisten(st *Stream) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.listeners, st)
	if len(f.listeners) == 0 && f.end != nil {
		f.end()
		f.end = nil
	}
}

func (f *feed) run(ctx context.Context) {
	items, cancel := f.s.hub.SubscribeVenue(f.venue)
	defer func() { cancel() }()
	failing := false
	for {
		st, err := f.ask(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failing {
			f.s.log.ErrorContext(ctx, "the venue's nonce cannot be read; wallets fall back to timed codes",
				"venue", f.venue.String(), "error", err.Error())
		}
		failing = err != nil
		timer := time.NewTimer(f.pause(st, err))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		case _, ok := <-items:
			timer.Stop()
			if !ok { // too much at once: what is true is in the database
				items, cancel = f.s.hub.SubscribeVenue(f.venue)
			}
		}
	}
}

// pause ends with the epoch, so that the next nonce comes when it is due.
func (f *feed) pause(st *state, err error) time.Duration {
	if err != nil || !st.open {
		return askEvery
	}
	due := st.nonce.RenewedAt.Sub(st.serverTime(f.s.now()))
	return min(askEvery, max(due, 0)+justNow)
}

// ask asks the database and tells the listeners of a change.
func (f *feed) ask(ctx context.Context) (*state, error) {
	f.asking.Lock()
	defer f.asking.Unlock()
	return f.askLocked(ctx)
}

// recent is the state as of at most askEvery ago. Many who ask at once cause one
// question, and a database that does not answer is not asked by each of them.
func (f *feed) recent(ctx context.Context) (*state, error) {
	f.asking.Lock()
	defer f.asking.Unlock()
	f.mu.Lock()
	st, asked, err := f.last(), f.asked, f.err
	f.mu.Unlock()
	now := f.s.now()
	due := st.open && err == nil && !st.serverTime(now).Before(st.nonce.RenewedAt)
	if !asked.IsZero() && now.Sub(asked) < askEvery && !due {
		return st, err
	}
	return f.askLocked(ctx)
}

func (f *feed) askLocked(ctx context.Context) (*state, error) {
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), askFor)
	defer cancel()
	n, open, err := f.s.nonces.Current(asking, f.venue)
	now, told, err := f.learn(n, open, err)
	stir(told)
	return now, err
}

// learn keeps an answer of the database and gives the streams to be told of it.
func (f *feed) learn(n nonce.Nonce, open bool, err error) (*state, []*Stream, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked, f.err = f.s.now(), err
	before := f.last()
	if err != nil {
		return before, nil, err
	}
	changed := before.version == 0 || open != before.open || n.Value != before.nonce.Value
	now := &state{version: before.version, open: open, nonce: n, read: f.asked, event: before.event}
	if changed {
		now.version++
		now.event = now.encode(f.venue, now.read)
	}
	f.state.Store(now)
	if !changed {
		return now, nil, nil
	}
	return now, slices.Collect(maps.Keys(f.listeners)), nil
}

// share is how many streams one processor tells before another helps.
const share = 256

// stir tells streams of a change, on all processors if there are many. No stream
// waits for another: what does not go at once is left to its own goroutine.
func stir(streams []*Stream) {
	hands := min(runtime.GOMAXPROCS(0), 1+len(streams)/share)
	var all sync.WaitGroup
	for hand := range hands {
		all.Go(func() {
			for i := hand; i < len(streams); i += hands {
				streams[i].stir()
			}
		})
	}
	all.Wait()
}

func (f *feed) last() *state { return f.state.Load() }

func touch(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// nonceEvent is what a wallet gets; AcceptedFor is in seconds from IssuedAt.
type nonceEvent struct {
	Venue       ticket.VenueID `json:"venue"`
	Nonce       string         `json:"nonce"`
	IssuedAt    time.Time      `json:"issued_at"`
	ServerTime  time.Time      `json:"server_time"`
	AcceptedFor int            `json:"accepted_for"`
}

type closedEvent struct {
	Venue      ticket.VenueID `json:"venue"`
	ServerTime time.Time      `json:"server_time"`
}

// encode makes the state's event as it is true now.
func (st *state) encode(venue ticket.VenueID, now time.Time) []byte {
	at := utc(st.serverTime(now))
	if !st.open {
		return event("closed", closedEvent{Venue: venue, ServerTime: at})
	}
	return event("nonce", nonceEvent{
		Venue: venue, Nonce: st.nonce.Text(), IssuedAt: utc(st.nonce.IssuedAt),
		ServerTime: at, AcceptedFor: seconds(st.nonce.AcceptedFor),
	})
}

// event is one server-sent event (HTML standard, section 9.2). JSON has no line
// breaks, so the data is one line.
func event(name string, data any) []byte {
	text, err := json.Marshal(data)
	if err != nil {
		panic("challenge: an event that is not JSON: " + err.Error()) // our own structs
	}
	return []byte("event: " + name + "\ndata: " + string(text) + "\n\n")
}
