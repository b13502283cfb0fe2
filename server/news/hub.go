package news

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"portillon/server/ticket"
)

// What happened. The words are those of the wallet's stream.
type What string

// The news of a ticket, those of a venue's gates, and Missed, which tells every
// subscriber that items may have been lost.
const (
	Admitted  What = "admitted"
	Left      What = "left"
	Undone    What = "undone"
	WrongGate What = "wrong_gate"
	Moved     What = "moved"
	Held      What = "held"
	Released  What = "released"
	Revoked   What = "revoked"
	Gates     What = "gates"
	Missed    What = "missed"
)

// Item is one piece of news about a ticket, or about a venue's gates.
type Item struct {
	Ticket     ticket.ID      `json:"ticket,omitzero"`
	Venue      ticket.VenueID `json:"venue,omitzero"`
	What       What           `json:"what"`
	At         time.Time      `json:"at,omitzero"`          // the database's time
	Gate       string         `json:"gate,omitempty"`       // the name of the gate that admitted
	Gates      []string       `json:"gates,omitempty"`      // wrong_gate: the names of the right ones
	Generation uint8          `json:"generation,omitempty"` // moved: of the new claim, if known
}

// Limits of what the hub keeps for others.
const (
	inbox  = 32      // items that a subscriber may lie behind
	outbox = 1 << 14 // items that wait for the database
)

// Hub hands items on. Make one for a process with New and let Run run.
type Hub struct {
	pool *pgxpool.Pool
	url  string
	log  *slog.Logger
	self string // this process among the others

	mu      sync.Mutex
	readers map[uuid.UUID]map[*reader]struct{}
	out     []Item
	wake    chan struct{} // something is in out
	ready   chan struct{} // closed when this process listens for the first time
	once    sync.Once
}

type reader struct {
	items chan *Item // shared by all readers: an empty inbox costs little
	about []uuid.UUID
	gone  bool
}

// New makes a hub. It listens and notifies on two connections of its own to
// databaseURL, or to the pool's database when that is empty.
func New(pool *pgxpool.Pool, databaseURL string, log *slog.Logger) *Hub {
	return &Hub{
		pool: pool, url: databaseURL, log: log, self: rand.Text(),
		readers: map[uuid.UUID]map[*reader]struct{}{},
		wake:    make(chan struct{}, 1), ready: make(chan struct{}),
	}
}

// Publish tells this process at once and the others soon. It never blocks and
// never fails: what does not fit is left out. Call it after the commit.
func (h *Hub) Publish(_ context.Context, items ...Item) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, item := range items {
		h.hand(item)
	}
	if room := outbox - len(h.out); room < len(items) {
		items = items[:room]
	}
	h.out = append(h.out, items...)
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// SubscribeTickets gives the news of these tickets until cancel is called. The
// channel is closed by cancel, and earlier when its reader lies too far behind. The
// items are everybody's: nobody may change them.
func (h *Hub) SubscribeTickets(tickets ...ticket.ID) (items <-chan *Item, cancel func()) {
	about := make([]uuid.UUID, len(tickets))
	for i, t := range tickets {
		about[i] = t.UUID()
	}
	return h.subscribe(about)
}

// SubscribeVenue gives the news of a venue's gates, as SubscribeTickets does.
func (h *Hub) SubscribeVenue(venue ticket.VenueID) (items <-chan *Item, cancel func()) {
	return h.subscribe([]uuid.UUID{venue.UUID()})
}

func (h *Hub) subscribe(about []uuid.UUID) (<-chan *Item, func()) {
	r := &reader{items: make(chan *Item, inbox), about: about}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range about {
		if h.readers[id] == nil {
			h.readers[id] = map[*reader]struct{}{}
		}
		h.readers[id][r] = struct{}{}
	}
	return r.items, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.drop(r)
	}
}

// hand gives an item to its readers. The lock is held.
func (h *Hub) hand(item Item) {
	id := item.Ticket.UUID()
	if item.Ticket.IsZero() {
		id = item.Venue.UUID()
	}
	for r := range h.readers[id] {
		h.give(r, &item)
	}
}

func (h *Hub) give(r *reader, item *Item) {
	select {
	case r.items <- item:
	default:
		h.drop(r)
	}
}

func (h *Hub) drop(r *reader) {
	if r.gone {
		return
	}
	r.gone = true
	close(r.items)
	for _, id := range r.about {
		delete(h.readers[id], r)
		if len(h.readers[id]) == 0 {
			delete(h.readers, id)
		}
	}
}

// missed tells everybody that there was a gap.
func (h *Hub) missed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	told := map[*reader]bool{}
	for _, readers := range h.readers {
		for r := range readers {
			if !told[r] {
				told[r] = true
				h.give(r, &Item{What: Missed})
			}
		}
	}
}

// take empties the outbox.
func (h *Hub) take() []Item {
	h.mu.Lock()
	defer h.mu.Unlock()
	items := h.out
	h.out = nil
	return items
}

// putBack keeps items that could not be sent before those that came since.
func (h *Hub) putBack(items []Item) {
	h.mu.Lock()
	defer h.mu.Unlock()
	items = append(items, h.out...)
	h.out = items[:min(len(items), outbox)]
}

// Listening is closed when this process hears the others for the first time.
func (h *Hub) Listening() <-chan struct{} { return h.ready }
