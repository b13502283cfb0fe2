package challenge

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"portillon/server/ticket"
)

// beatEvery is how often the wallets with an open stream are marked anew. The
// door asks for a sign of life within 30 s, so it has to be less than that.
const beatEvery = 20 * time.Second

// Limits of the table's statements and of one ticket's streams.
const (
	markAtOnce    = 5000 // rows of one statement
	markFor       = 5 * time.Second
	streamsTicket = 16
)

// presence keeps the table of the wallets that are listening. What streams open
// and close while one statement is under way goes into the next, so that ten
// thousand phones that come back at once cost a few statements.
type presence struct {
	pool *pgxpool.Pool
	log  *slog.Logger
	beat time.Duration

	mu      sync.Mutex
	live    map[ticket.ID]int      // streams of a ticket in this process
	changed map[ticket.ID]struct{} // to be written
	wake    chan struct{}
	stop    chan struct{}
	once    sync.Once
	ended   chan struct{} // nil until the first stream
}

func newPresence(pool *pgxpool.Pool, log *slog.Logger) *presence {
	return &presence{
		pool: pool, log: log, beat: beatEvery, live: map[ticket.ID]int{}, changed: map[ticket.ID]struct{}{},
		wake: make(chan struct{}, 1), stop: make(chan struct{}),
	}
}

// enter counts a stream of these tickets; false says that one has too many.
func (p *presence) enter(tickets []ticket.ID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range tickets {
		if p.live[t] >= streamsTicket {
			return false
		}
	}
	for _, t := range tickets {
		p.live[t]++
		p.changed[t] = struct{}{}
	}
	if p.ended == nil {
		p.ended = make(chan struct{})
		go p.run()
	}
	touch(p.wake)
	return true
}

func (p *presence) leave(tickets []ticket.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range tickets {
		if p.live[t]--; p.live[t] <= 0 {
			delete(p.live, t)
			p.changed[t] = struct{}{}
		}
	}
	touch(p.wake)
}

func (p *presence) run() {
	defer close(p.ended)
	beat := time.NewTicker(p.beat)
	defer beat.Stop()
	for {
		select {
		case <-p.wake:
		case <-beat.C:
			p.markAll()
		case <-p.stop:
			p.flush()
			return
		}
		p.flush()
	}
}

func (p *presence) markAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for t := range p.live {
		p.changed[t] = struct{}{}
	}
}

// close writes what is left. No stream may come after it.
func (p *presence) close() {
	p.mu.Lock()
	ended := p.ended
	p.mu.Unlock()
	if ended == nil {
		return
	}
	p.once.Do(func() { close(p.stop) })
	<-ended
}

func (p *presence) take() (here, gone []ticket.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for t := range p.changed {
		if p.live[t] > 0 {
			here = append(here, t)
		} else {
			gone = append(gone, t)
		}
	}
	clear(p.changed)
	return here, gone
}

// flush writes what changed. A failure only makes the door more lenient until
// the next beat, so it is logged and not tried again.
func (p *presence) flush() {
	here, gone := p.take()
	err := p.write(here, `
INSERT INTO presence (ticket_id, seen_at)
SELECT id, now FROM (SELECT portillon_now() AS now) t, unnest(@tickets::uuid[]) AS id ORDER BY id
ON CONFLICT (ticket_id) DO UPDATE SET seen_at = excluded.seen_at`)
	if err == nil {
		err = p.write(gone, `
DELETE FROM presence WHERE ticket_id IN (
  SELECT ticket_id FROM presence WHERE ticket_id = ANY(@tickets) ORDER BY ticket_id FOR UPDATE)`)
	}
	if err != nil {
		p.log.Error("signs of life are not written", "error", err.Error())
	}
}

// write runs the statement for the tickets in one order, so that two servers
// never wait for each other.
func (p *presence) write(tickets []ticket.ID, statement string) error {
	slices.SortFunc(tickets, func(a, b ticket.ID) int { return bytes.Compare(a[:], b[:]) })
	for chunk := range slices.Chunk(tickets, markAtOnce) {
		ctx, cancel := context.WithTimeout(context.Background(), markFor)
		_, err := p.pool.Exec(ctx, statement, pgx.NamedArgs{"tickets": chunk})
		cancel()
		if err != nil {
			return fmt.Errorf("presence: %w", err)
		}
	}
	return nil
}
