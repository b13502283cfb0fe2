package claim

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"portillon/server/fault"
	"portillon/server/news"
	"portillon/server/pg"
	"portillon/server/post"
	"portillon/server/seal"
	"portillon/server/ticket"
)

// Service binds tickets to phones and opens wallet sessions.
type Service struct {
	pool      *pgxpool.Pool
	hub       *news.Hub
	box       *seal.Box
	post      *post.Service
	publicURL string
}

// New makes a Service for a server that is reached at publicURL. Without mail no
// ticket moves by itself: post may be nil.
func New(pool *pgxpool.Pool, hub *news.Hub, box *seal.Box, post *post.Service, publicURL string) *Service {
	return &Service{pool: pool, hub: hub, box: box, post: post, publicURL: publicURL}
}

// Event is what a wallet shows of an event. Times are UTC; TimeZone is the IANA
// name of the venue's.
type Event struct {
	Event       ticket.EventID `json:"event"`
	Name        string         `json:"name"`
	Screen      string         `json:"screen"`
	Venue       ticket.VenueID `json:"venue"`
	VenueName   string         `json:"venue_name"`
	TimeZone    string         `json:"time_zone"`
	DoorsOpenAt time.Time      `json:"doors_open_at"`
	StartsAt    time.Time      `json:"starts_at"`
	EndsAt      time.Time      `json:"ends_at"`
}

// Claimed says when and on what kind of browser a ticket was claimed. In JSON it
// is false for a ticket that was not.
type Claimed struct {
	At      time.Time `json:"at"`
	Browser string    `json:"browser"`
}

// Offered is a ticket of a claim link.
type Offered struct {
	Ticket    ticket.ID      `json:"ticket"`
	Event     ticket.EventID `json:"event"`
	Number    int            `json:"number"`
	Seat      string         `json:"seat"`
	Category  string         `json:"category"`
	Admits    int            `json:"admits"`
	Status    ticket.Status  `json:"status"`
	Claimed   any            `json:"claimed"` // false or a Claimed
	Paper     bool           `json:"paper"`   // printed: a claim ends the paper
	Claimable bool           `json:"claimable"`
	Movable   bool           `json:"movable"` // another phone has it, and digits by mail would move it
}

// Offer is what a claim link is for, and the challenge that a claim must sign
// until ExpiresAt. MoveTo is the address to which the digits of a move would be
// mailed, masked; "" where none can be.
type Offer struct {
	Challenge  string    `json:"challenge"`
	ExpiresAt  time.Time `json:"expires_at"`
	ServerTime time.Time `json:"server_time"`
	Event      Event     `json:"event"`
	ClaimFrom  time.Time `json:"claim_from"`
	Claimable  bool      `json:"claimable"`
	MoveTo     string    `json:"move_to"`
	Tickets    []Offered `json:"tickets"`
}

// Challenge shows what the link with this code is for and makes a challenge.
// Faults: claim.code_unknown, claim.code_ended.
func (s *Service) Challenge(ctx context.Context, code string) (Offer, error) {
	var offer Offer
	err := pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		l, err := findLink(ctx, tx, code)
		if err != nil {
			return err
		}
		tickets, err := l.tickets(ctx, tx)
		if err != nil {
			return err
		}
		if len(tickets) == 0 {
			return errEnded()
		}
		made, err := makeChallenge(ctx, tx, forClaim)
		if err != nil {
			return err
		}
		offer = s.offerOf(made, tickets)
		return nil
	})
	return offer, err
}

func (s *Service) offerOf(made Challenge, tickets []bindable) Offer {
	first := tickets[0]
	owner, _ := firstMovable(tickets, made.ServerTime)
	offer := Offer{
		Challenge: made.Challenge, ExpiresAt: made.ExpiresAt, ServerTime: made.ServerTime,
		Event: first.Event, ClaimFrom: utc(first.ClaimFrom),
	}
	for _, t := range tickets {
		o := Offered{
			Ticket: t.Ticket, Event: t.Event.Event, Number: t.Number, Seat: t.Seat, Category: t.Category,
			Admits: t.Admits, Status: t.Status, Claimed: false, Paper: t.Kind == paper,
			Claimable: t.refusal(made.ServerTime) == nil, Movable: t.unmovable(made.ServerTime, owner.Address) == nil,
		}
		if t.Kind == phone {
			o.Claimed = Claimed{At: utc(t.ClaimedAt), Browser: t.Browser}
		}
		offer.Claimable = offer.Claimable || o.Claimable
		offer.Tickets = append(offer.Tickets, o)
	}
	if s.post.On() {
		offer.MoveTo = post.Mask(owner.Address)
	}
	return offer
}

// Kinds of claims.
const (
	phone = "phone"
	paper = "paper"
)

// bindable is a ticket with what a claim must know of it.
type bindable struct {
	Ticket      ticket.ID
	Number      int
	Seat        string
	Category    string
	Admits      int
	Status      ticket.Status
	Generation  int16
	ClaimSerial int
	ClaimFrom   time.Time
	Event       Event
	Order       ticket.OrderID
	Address     string // to which the holder is written; it may be empty

	Entries   int
	Moves     int
	MovesLeft int
	TakenBack bool
	AtDoor    bool // somebody has tried to come in with it

	// The claim of the current generation; Kind is "" when there is none.
	Kind      string
	PublicKey []byte
	Browser   string
	Serial    int // of the link that made it
	ClaimedAt time.Time
}

// refusal is why the ticket cannot be claimed now, or nil. A phone that claimed
// with an older link does not stand in the way of a reissued one.
func (t bindable) refusal(now time.Time) *fault.Error {
	switch {
	case t.Status == ticket.RevokedStatus:
		return t.named("claim.ticket_revoked", "this ticket was revoked; ask who sold it")
	case t.Status == ticket.HeldStatus:
		return t.named("claim.ticket_held", "this ticket is on hold; ask who sold it")
	case t.Kind == phone && t.Serial == t.ClaimSerial:
		return t.named("claim.taken", "another phone has claimed this ticket; move it here by digits that are mailed to its holder, or ask for a new link").
			Fact("at", utc(t.ClaimedAt)).Fact("browser", t.Browser)
	case t.Status == ticket.Used:
		return t.named("claim.ticket_used", "this ticket has been used")
	case !now.Before(t.Event.EndsAt):
		return t.named("claim.event_over", "the event is over")
	case now.Before(t.ClaimFrom):
		return t.named("claim.too_early", "come back when tickets can be claimed").Fact("claim_from", utc(t.ClaimFrom))
	case t.Generation >= 255:
		return t.named("claim.generations_exhausted", "this ticket has moved too often; issue another")
	}
	return nil
}

// named is a fault about this ticket.
func (t bindable) named(code, detail string) *fault.Error {
	return fault.New(fault.Conflict, code, "%s", detail).Fact("ticket", t.Ticket.String()).Fact("number", t.Number)
}

// readTickets is followed by a condition and the order.
const readTickets = `
SELECT t.id, t.number, t.seat, c.name, t.admits, t.status, t.generation, t.claim_serial, e.claim_from,
  e.id, e.name, e.screen, v.id, v.name, v.time_zone, e.doors_open_at, e.starts_at, e.ends_at,
  coalesce(k.kind, ''), k.public_key, coalesce(k.browser, ''), coalesce(k.serial, 0), k.created_at,
  o.id, coalesce(nullif(t.holder_email, ''), o.email), t.entries, t.moves, t.moves_allowed - t.moves, t.taken_back,
  EXISTS (SELECT FROM attempts a WHERE a.ticket_id = t.id AND a.received_at >= t.created_at)
FROM tickets t
JOIN orders o ON o.id = t.order_id
JOIN categories c ON c.id = t.category_id
JOIN events e ON e.id = t.event_id
JOIN venues v ON v.id = e.venue_id
LEFT JOIN claims k ON k.ticket_id = t.id AND k.generation = t.generation
WHERE `

func collectTickets(ctx context.Context, tx pgx.Tx, condition string, args pgx.NamedArgs) ([]bindable, error) {
	rows, err := tx.Query(ctx, readTickets+condition+` ORDER BY t.number, t.id`, args)
	if err != nil {
		return nil, fmt.Errorf("read the tickets: %w", err)
	}
	tickets, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t bindable, err error) {
		var claimedAt *time.Time
		err = row.Scan(&t.Ticket, &t.Number, &t.Seat, &t.Category, &t.Admits, &t.Status, &t.Generation, &t.ClaimSerial, &t.ClaimFrom,
			&t.Event.Event, &t.Event.Name, &t.Event.Screen, &t.Event.Venue, &t.Event.VenueName, &t.Event.TimeZone,
			&t.Event.DoorsOpenAt, &t.Event.StartsAt, &t.Event.EndsAt,
			&t.Kind, &t.PublicKey, &t.Browser, &t.Serial, &claimedAt,
			&t.Order, &t.Address, &t.Entries, &t.Moves, &t.MovesLeft, &t.TakenBack, &t.AtDoor)
		if claimedAt != nil {
			t.ClaimedAt = *claimedAt
		}
		t.Event = t.Event.inUTC()
		return t, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the tickets: %w", err)
	}
	return tickets, nil
}

func (e Event) inUTC() Event {
	e.DoorsOpenAt, e.StartsAt, e.EndsAt = utc(e.DoorsOpenAt), utc(e.StartsAt), utc(e.EndsAt)
	return e
}

func utc(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
