package challenge

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"portillon/server/fault"
	"portillon/server/news"
	"portillon/server/session"
	"portillon/server/ticket"
)

// Rhythm of a stream.
const (
	// A stream that has nothing to say speaks up so often: proxies cut what is silent,
	// and a phone that is gone is found by what it does not acknowledge (deadAfter).
	// While nonces come, nothing else is needed.
	commentAfter = 11 * time.Second
	lookEvery    = 5 * time.Minute // an event's times may have been changed
	retryFrom    = 2 * time.Second // when a browser connects again: spread, so
	retrySpread  = 3 * time.Second // that all phones do not come at once
)

// errBehind ends the stream of a reader who does not keep up.
var errBehind = errors.New("the reader lies too far behind")

// Stream is one wallet's stream. Open makes it, Run feeds it. There are as many as
// there are phones in the queues, so each is kept small.
type Stream struct {
	s  *Service
	by session.Caller

	changed chan struct{} // one of the feeds has something new

	mu     sync.Mutex         // of all that follows; not held while the stream waits
	direct func([]byte) error // writes without waiting, or fails; nil where that cannot be
	drop   func()             // ends the stream that direct could not write to

	held    []holding // without those that moved away
	present []ticket.ID
	items   <-chan *news.Item
	cancel  func()

	follows []following
	waiting time.Time // the opening of doors that was announced

	server, read time.Time // the database's time and the process's when it was read
	spoke, looks time.Time // when something was sent, when to look again; the process's time
}

// following is a venue's feed, and the version of its state that was sent.
type following struct {
	*feed
	seen uint64
}

// Open prepares the stream of a wallet session. It returns nil without a fault
// when none of the session's tickets is the wallet's any more: there is nothing
// to follow. Close the stream in any case.
// Faults: session.wallet_required, server.stopping, wallet.too_many_streams.
func (s *Service) Open(ctx context.Context, by session.Caller) (*Stream, error) {
	if err := by.Require(session.Wallet, ticket.VenueID{}); err != nil {
		return nil, err
	}
	st := &Stream{s: s, by: by, changed: make(chan struct{}, 1), looks: s.now().Add(lookEvery)}
	for _, w := range by.Wallet {
		st.present = append(st.present, w.Ticket)
	}
	if err := s.enter(); err != nil {
		return nil, err
	}
	st.items, st.cancel = s.hub.SubscribeTickets(st.present...) // before the look, so that nothing falls between
	if _, err := st.look(ctx); err != nil || len(st.held) == 0 {
		st.cancel()
		s.leave()
		return nil, err
	}
	st.present = st.present[:0:0]
	for _, h := range st.held {
		st.present = append(st.present, h.Ticket)
	}
	if !s.presence.enter(st.present) { //nolint:contextcheck // the writer serves all streams and outlives this one
		st.present = nil
		st.Close()
		return nil, fault.New(fault.TooMany, "wallet.too_many_streams", "this ticket has too many open streams; close some pages").Wait(5 * time.Second)
	}
	return st, nil
}

// Close ends the stream: the wallet is no longer present.
func (st *Stream) Close() {
	st.mu.Lock()
	defer st.mu.Unlock()
	for i := range st.follows {
		st.follows[i].unlisten(st)
	}
	st.cancel()
	st.s.presence.leave(st.present)
	st.s.leave()
}

// look reads how the tickets stand, lets go of those that moved away and returns
// them, and follows the venues of the rest.
func (st *Stream) look(ctx context.Context) (moved []holding, err error) {
	all, now, err := st.s.holdings(ctx, st.by)
	if err != nil {
		return nil, err
	}
	st.server, st.read = now, st.s.now()
	before := st.held
	st.held = nil
	for _, h := range all {
		switch {
		case !h.moved():
			st.held = append(st.held, h)
		case had(before, h):
			moved = append(moved, h)
		}
	}
	for _, h := range st.held {
		if st.at(h.Venue) == nil && now.Before(h.EndsAt) {
			f := st.s.feed(h.Venue)
			st.follows = append(st.follows, following{feed: f})
			f.listen(st) //nolint:contextcheck // the feed serves all streams and outlives this one
		}
	}
	return moved, nil
}

// at is what the stream follows of a venue, nil when nothing.
func (st *Stream) at(venue ticket.VenueID) *following {
	for i := range st.follows {
		if st.follows[i].venue == venue {
			return &st.follows[i]
		}
	}
	return nil
}

// had: this very claim counted before.
func had(before []holding, h holding) bool {
	for _, b := range before {
		if b.Ticket == h.Ticket && b.Generation == h.Generation {
			return true
		}
	}
	return false
}

func holds(held []holding, t ticket.ID) bool {
	for _, h := range held {
		if h.Ticket == t {
			return true
		}
	}
	return false
}

// Run writes events until ctx ends, the server stops, the reader fails or no
// ticket is the wallet's any more. Write must be done with the bytes when it
// returns, and gives up on a dead reader by itself.
func (st *Stream) Run(ctx context.Context, write func([]byte) error) error {
	if err := st.begin(write); err != nil {
		return err
	}
	return st.follow(ctx, write)
}

// begin sends what is known. It is apart from follow so that it may need a larger
// stack than the hours that come after it.
func (st *Stream) begin(write func([]byte) error) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	retry := retryFrom + rand.N(retrySpread) //nolint:gosec // nobody gains by guessing it
	if err := write(fmt.Appendf(nil, "retry: %d\n\n", retry.Milliseconds())); err != nil {
		return err
	}
	return st.tell(write)
}

func (st *Stream) follow(ctx context.Context, write func([]byte) error) error {
	st.mu.Lock()
	due := time.NewTimer(st.untilDue())
	st.mu.Unlock()
	defer due.Stop()
	for {
		err := st.await(ctx, write, due)
		switch {
		case errors.Is(err, errOver):
			return nil
		case err != nil:
			return err
		}
	}
}

// stir tells what is new in the feeds: at once if that can be, by the stream's own
// goroutine if the stream is busy or its connection cannot do it. A reader whose
// connection takes nothing more is dropped: he has not read for many nonces.
func (st *Stream) stir() {
	if !st.mu.TryLock() {
		touch(st.changed)
		return
	}
	defer st.mu.Unlock()
	if st.direct == nil {
		touch(st.changed)
		return
	}
	if err := st.tell(st.direct); err != nil {
		st.drop()
	}
}

// errOver ends a stream without a fault.
var errOver = errors.New("over")

// await waits for the next thing to do and does it, but for nonces: those tell
// sends.
func (st *Stream) await(ctx context.Context, write func([]byte) error, due *time.Timer) error {
	var item *news.Item
	select {
	case <-ctx.Done():
		return errOver
	case <-st.s.closing:
		return errOver
	case <-st.changed:
	case <-due.C:
	case i, ok := <-st.items:
		if !ok {
			return errBehind
		}
		item = i
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if item != nil {
		if err := st.hear(ctx, write, item); err != nil {
			return err
		}
	}
	if err := st.remind(ctx, write); err != nil {
		return err
	}
	if err := st.tell(write); err != nil {
		return err
	}
	due.Reset(st.untilDue())
	return nil
}

// remind does what is due by the time alone.
func (st *Stream) remind(ctx context.Context, write func([]byte) error) error {
	now := st.s.now()
	if !now.Before(st.looks) {
		st.looks = now.Add(lookEvery)
		return st.again(ctx, write)
	}
	if now.Sub(st.spoke) >= commentAfter {
		return st.send(write, []byte(": here\n\n"))
	}
	return nil // doors open, or an event is over
}

func (st *Stream) send(write func([]byte) error, text []byte) error {
	st.spoke = st.s.now()
	return write(text)
}

// tell sends the nonces that the wallet has not got, or says what it waits for.
func (st *Stream) tell(write func([]byte) error) error {
	now := st.serverNow()
	open := openVenues(st.held, now)
	for _, venue := range open {
		f := st.at(venue)
		state := f.last()
		if state.version == 0 || state.version == f.seen {
			continue
		}
		text := state.event
		if f.seen == 0 { // its time was the truth when it was encoded
			text = state.encode(venue, st.s.now())
		}
		f.seen = state.version
		if err := st.send(write, text); err != nil {
			return err
		}
	}
	if len(open) > 0 {
		st.waiting = time.Time{}
		return nil
	}
	for i := range st.follows {
		st.follows[i].seen = 0
	}
	return st.tellWaiting(now, write)
}

type waitingEvent struct {
	Venue       ticket.VenueID `json:"venue"`
	Event       ticket.EventID `json:"event"`
	DoorsOpenAt time.Time      `json:"doors_open_at"`
	ServerTime  time.Time      `json:"server_time"`
}

func (st *Stream) tellWaiting(now time.Time, write func([]byte) error) error {
	next, ok := nextDoors(st.held, now)
	if !ok || next.DoorsOpenAt.Equal(st.waiting) {
		return nil
	}
	st.waiting = next.DoorsOpenAt
	return st.send(write, event("waiting", waitingEvent{
		Venue: next.Venue, Event: next.Event, DoorsOpenAt: utc(next.DoorsOpenAt), ServerTime: utc(now),
	}))
}

// serverNow is the database's time by the latest that this process read of it.
func (st *Stream) serverNow() time.Time {
	server, read := st.server, st.read
	for _, f := range st.follows {
		if s := f.last(); s.read.After(read) {
			server, read = s.nonce.ServerTime, s.read
		}
	}
	return server.Add(st.s.now().Sub(read))
}

// untilDue is how long until doors open, an event ends, or remind has to do.
func (st *Stream) untilDue() time.Duration {
	process, now := st.s.now(), st.serverNow()
	until := min(st.looks.Sub(process), st.spoke.Add(commentAfter).Sub(process))
	for _, h := range st.held {
		for _, t := range []time.Time{h.DoorsOpenAt, h.EndsAt} {
			if d := t.Sub(now); d > 0 {
				until = min(until, d)
			}
		}
	}
	return max(until, 0) + justNow
}

// ticketEvent is news of one ticket.
type ticketEvent struct {
	Ticket     ticket.ID `json:"ticket"`
	What       news.What `json:"what"`
	At         time.Time `json:"at,omitzero"`
	Gate       string    `json:"gate,omitempty"`
	Gates      []string  `json:"gates,omitempty"`
	Generation uint8     `json:"generation,omitempty"`
}

// hear passes news on. Moved is looked up: the item may be about the very claim
// by which this wallet got the ticket.
func (st *Stream) hear(ctx context.Context, write func([]byte) error, item *news.Item) error {
	if item.What == news.Missed {
		if err := st.send(write, []byte("event: refresh\ndata: {}\n\n")); err != nil {
			return err
		}
	}
	if item.What == news.Missed || item.What == news.Moved {
		return st.again(ctx, write)
	}
	if !holds(st.held, item.Ticket) {
		return nil
	}
	e := ticketEvent{Ticket: item.Ticket, What: item.What, Gate: item.Gate, Gates: item.Gates}
	if !item.At.IsZero() {
		e.At = utc(item.At)
	}
	if err := st.send(write, event("ticket", e)); err != nil {
		return err
	}
	if item.What == news.Revoked || item.What == news.Released {
		return st.again(ctx, write)
	}
	return nil
}

// again looks anew, says which tickets have moved away, and ends the stream when
// none is left.
func (st *Stream) again(ctx context.Context, write func([]byte) error) error {
	moved, err := st.look(ctx)
	if err != nil {
		return err
	}
	for _, h := range moved {
		if err := st.send(write, event("ticket", ticketEvent{
			Ticket: h.Ticket, What: news.Moved, At: utc(st.server), Generation: h.Current,
		})); err != nil {
			return err
		}
	}
	if len(st.held) == 0 {
		return errOver
	}
	if len(moved) > 0 {
		st.letGo(moved)
	}
	return nil
}

// letGo: a phone that has lost a ticket is no sign of life for it.
func (st *Stream) letGo(moved []holding) {
	gone := make([]ticket.ID, len(moved))
	for i, h := range moved {
		gone[i] = h.Ticket
	}
	st.s.presence.leave(gone)
	kept := st.present[:0]
	for _, t := range st.present {
		if !holds(moved, t) {
			kept = append(kept, t)
		}
	}
	st.present = kept
}
