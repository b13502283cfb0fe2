package issue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/audit"
	"portillon/server/fault"
	"portillon/server/keyring"
	"portillon/server/locale"
	"portillon/server/pg"
	"portillon/server/repeat"
	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/wallet"
)

// maxCount is how many tickets one act may issue.
const maxCount = 1000

// Holder is who the tickets are for; both may be empty.
type Holder struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

// TicketsIn is an order: tickets of one category, issued in one act to one
// address. Count is the number of Seats, or 1, unless given. Seat and ExternalID
// (the caller's own name for the ticket, unique per event) are for one ticket.
// Lease names the number of the first ticket; without one it is the lowest free.
type TicketsIn struct {
	Lease      string            `json:"lease,omitempty"`
	Category   ticket.CategoryID `json:"category"`
	Holder     Holder            `json:"holder"`
	Seat       string            `json:"seat"`
	Seats      []string          `json:"seats"`
	ExternalID string            `json:"external_id"`
	Count      *int              `json:"count"`
	Language   string            `json:"language,omitempty"` // in which the holder is written to: en (unless given), fr or cs
}

// meant is what a key stands for: the order without its lease. A form that never
// heard that its order was carried out has another lease by the time it asks again,
// and still means the same.
func (in TicketsIn) meant() ([]byte, error) {
	in.Lease = ""
	return json.Marshal(in)
}

// Issued is an order that was made, with the link that puts its tickets onto a
// phone.
type Issued struct {
	Order    ticket.OrderID `json:"order"`
	Tickets  []IssuedTicket `json:"tickets"` // by number
	ClaimURL string         `json:"claim_url"`
}

// IssuedTicket is one ticket of an order.
type IssuedTicket struct {
	Ticket   ticket.ID         `json:"ticket"`
	Number   int               `json:"number"`
	Seat     string            `json:"seat"`
	Category ticket.CategoryID `json:"category"`
	Status   ticket.Status     `json:"status"`
}

// order is a checked TicketsIn.
type order struct {
	event    Event
	lease    string
	category ticket.CategoryID
	admits   int
	holder   Holder
	external string
	language string
	seats    []string // one for each ticket
}

// Issue makes an order. Its tickets get the lowest numbers of the event that are
// free, or the number of the lease and the next free ones behind it. Needs the
// right issue at the event's venue. Faults besides those of single fields:
// ticket.external_id_taken (with the number of the ticket that has it), and
// number.lease_lost: nothing was issued, and the answer holds the number that the
// order would get now, under a new lease.
func (s *Service) Issue(ctx context.Context, by session.Caller, call repeat.Call, event ticket.EventID, in TicketsIn) (Issued, error) {
	e, err := s.eventFor(ctx, by, session.Issue, event)
	if err != nil {
		return Issued{}, err
	}
	o, err := s.checkOrder(ctx, e, in)
	if err != nil {
		return Issued{}, err
	}
	id, _, err := s.once(ctx, by, call, func(ctx context.Context, tx pgx.Tx) (uuid.UUID, error) {
		id := uuid.New()
		return id, s.insertOrder(ctx, tx, by, ticket.OrderID(id), o)
	})
	if fault.Is(err, leaseLost) {
		return Issued{}, s.offerAnother(ctx, by, event, err)
	}
	if err != nil {
		return Issued{}, err
	}
	return s.issued(ctx, ticket.OrderID(id))
}

// offerAnother adds to the fault the number that is free now. The new lease is not
// the old one with another number: the same order sent once more must not be
// carried out under a number that nobody has seen.
func (s *Service) offerAnother(ctx context.Context, by session.Caller, event ticket.EventID, lost error) error {
	next, err := s.changeLease(ctx, event, leaseChange{act: reserveLease, lease: newLeaseID(), by: by})
	if err != nil {
		return err
	}
	return fault.Of(lost).Fact("number", next.Number).Fact("lease", next.Lease).Fact("expires_at", next.ExpiresAt)
}

func (s *Service) checkOrder(ctx context.Context, e Event, in TicketsIn) (order, error) {
	var c checks
	o := order{
		event: e, lease: in.Lease, category: in.Category,
		holder:   Holder{Name: c.text("holder.name", in.Holder.Name, maxName), Email: c.email("holder.email", in.Holder.Email)},
		external: c.text("external_id", in.ExternalID, maxExternalID),
	}
	o.seats = c.seats(in)
	if o.language = cmp.Or(in.Language, locale.Languages[0].String()); !locale.Speaks(o.language) {
		c.add("language", unknown)
	}
	if o.external != "" && len(o.seats) > 1 {
		c.add("external_id", conflicting)
	}
	err := s.pool.QueryRow(ctx, `SELECT admits FROM categories WHERE id = @id AND event_id = @event`,
		pgx.NamedArgs{"id": in.Category, "event": e.Event}).Scan(&o.admits)
	switch {
	case in.Category.IsZero():
		c.add("category", required)
	case errors.Is(err, pgx.ErrNoRows):
		c.add("category", unknown)
	case err != nil:
		return order{}, fmt.Errorf("read the category: %w", err)
	}
	return o, c.err()
}

// seats is one seat for each ticket, empty where none is named.
func (c *checks) seats(in TicketsIn) []string {
	count := max(1, len(in.Seats))
	set(&count, in.Count)
	switch {
	case count < 1 || count > maxCount:
		c.add("count", outOfRange)
		return nil
	case len(in.Seats) > 0 && len(in.Seats) != count:
		c.add("seats", conflicting)
		return nil
	case in.Seat != "" && (count > 1 || len(in.Seats) > 0):
		c.add("seat", conflicting)
		return nil
	}
	seats := make([]string, count)
	for i, seat := range in.Seats {
		seats[i] = c.text(fmt.Sprintf("seats[%d]", i), seat, maxSeat)
	}
	if in.Seat != "" {
		seats[0] = c.text("seat", in.Seat, maxSeat)
	}
	return seats
}

// insertOrder works under the lock of the event, which changeLeases takes: looking
// for free numbers and external ids is race-free, and the constraints stand behind.
func (s *Service) insertOrder(ctx context.Context, tx pgx.Tx, by session.Caller, id ticket.OrderID, o order) error {
	spent, err := changeLeases(ctx, tx, o.event.Event, leaseChange{act: spendLease, lease: o.lease, by: by, count: len(o.seats)})
	if err != nil {
		return err
	}
	numbers := spent.numbers
	if err := externalIDFree(ctx, tx, o); err != nil {
		return err
	}
	ids := make([]uuid.UUID, len(numbers))
	for i := range ids {
		ids[i] = uuid.New()
	}
	code := wallet.HashClaimCode(s.ring.ClaimCode(keyring.ScopeOrder, id.UUID(), 1))
	args := pgx.NamedArgs{
		"order": id, "event": o.event.Event, "email": o.holder.Email, "language": o.language, "hash": code[:],
		"ids": ids, "numbers": numbers, "seats": o.seats, "category": o.category, "admits": o.admits,
		"holder_name": o.holder.Name, "holder_email": o.holder.Email, "external_id": o.external,
	}
	batch := &pgx.Batch{}
	for _, sql := range orderStatements {
		batch.Queue(sql, args)
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return issueFault(err)
	}
	if err := s.mailOrder(ctx, tx, id, o); err != nil {
		return err
	}
	act := audit.Act{
		Name: "ticket.issue", Venue: o.event.Venue, Event: o.event.Event, Ticket: ticket.ID(ids[0]), Subject: id,
		Details: map[string]any{"number": numbers[0]},
	}
	if err := audit.Write(ctx, tx, by, act); err != nil || len(ids) == 1 {
		return err
	}
	if _, err := tx.Exec(ctx, repeatAct, args); err != nil {
		return fmt.Errorf("audit the other tickets: %w", err)
	}
	return nil
}

// repeatAct gives the order's other tickets the audit row of the first: a
// thousand rows in one statement, while the event's lock is held.
const repeatAct = `
INSERT INTO audit (at, actor, person_id, device_id, token_id, act, venue_id, event_id, ticket_id, subject_id, details, request_id)
SELECT a.at, a.actor, a.person_id, a.device_id, a.token_id, a.act, a.venue_id, a.event_id, n.id, a.subject_id,
  jsonb_build_object('number', n.number), a.request_id
FROM audit a, unnest((@ids::uuid[])[2:], (@numbers::integer[])[2:]) AS n (id, number)
WHERE a.ticket_id = (@ids::uuid[])[1]`

// The policy on re-entry is read here, under the event's lock, and not from what
// was read before: a change of it meanwhile must not pass these tickets by.
var orderStatements = []string{
	`INSERT INTO orders (id, event_id, email, language) VALUES (@order, @event, @email, @language)`,
	`INSERT INTO claim_codes (hash, order_id, serial) VALUES (@hash, @order, 1)`,
	`
INSERT INTO tickets (id, event_id, category_id, order_id, number, admits, reentry, holder_name, holder_email, seat, external_id)
SELECT n.id, e.id, @category, @order, n.number, @admits, e.reentry, @holder_name, @holder_email, n.seat, nullif(@external_id, '')
FROM events e, unnest(@ids::uuid[], @numbers::integer[], @seats::text[]) AS n (id, number, seat)
WHERE e.id = @event`,
	`
INSERT INTO numbers (event_id, number, ticket_id, followed)
SELECT @event, n.number, n.id, lead(n.number) OVER (ORDER BY n.number) IS NOT DISTINCT FROM n.number + 1
  OR EXISTS (SELECT FROM numbers x WHERE x.event_id = @event AND x.number = n.number + 1)
FROM unnest(@ids::uuid[], @numbers::integer[]) AS n (id, number)`,
	`
UPDATE numbers SET followed = true
WHERE event_id = @event AND NOT followed AND number IN (SELECT n - 1 FROM unnest(@numbers::integer[]) AS n)`,
	`INSERT INTO external_ids (event_id, external_id, ticket_id) SELECT @event, @external_id, (@ids::uuid[])[1] WHERE @external_id <> ''`,
}

// issueFault: these constraints only speak when somebody wrote without the
// event's lock.
func issueFault(err error) error {
	switch {
	case pg.IsUnique(err, "numbers_pkey"):
		return fault.New(fault.Conflict, "ticket.number_taken", "the number went to another ticket; send again").With(err)
	case pg.IsUnique(err, "external_ids_pkey"):
		return fault.New(fault.Conflict, "ticket.external_id_taken", "another ticket of this event has this external_id").With(err)
	}
	return fmt.Errorf("make the tickets: %w", err)
}

func externalIDFree(ctx context.Context, tx pgx.Tx, o order) error {
	if o.external == "" {
		return nil
	}
	var number int
	err := tx.QueryRow(ctx, `
SELECT t.number FROM external_ids x JOIN tickets t ON t.id = x.ticket_id WHERE x.event_id = @event AND x.external_id = @external_id`,
		pgx.NamedArgs{"event": o.event.Event, "external_id": o.external}).Scan(&number)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("look for the external id: %w", err)
	}
	return fault.New(fault.Conflict, "ticket.external_id_taken", "ticket number %d of this event has this external_id", number).Fact("number", number)
}

// issued reads what an order holds and derives its link.
func (s *Service) issued(ctx context.Context, id ticket.OrderID) (Issued, error) {
	out := Issued{Order: id}
	var serial uint32
	if err := s.pool.QueryRow(ctx, `SELECT claim_serial FROM orders WHERE id = @id`, pgx.NamedArgs{"id": id}).Scan(&serial); err != nil {
		return Issued{}, fmt.Errorf("read the order: %w", err)
	}
	rows, err := s.pool.Query(ctx, `SELECT id, number, seat, category_id, status FROM tickets WHERE order_id = @id ORDER BY number`,
		pgx.NamedArgs{"id": id})
	if err != nil {
		return Issued{}, fmt.Errorf("read the order: %w", err)
	}
	out.Tickets, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (t IssuedTicket, err error) {
		return t, row.Scan(&t.Ticket, &t.Number, &t.Seat, &t.Category, &t.Status)
	})
	if err != nil {
		return Issued{}, fmt.Errorf("read the order: %w", err)
	}
	out.ClaimURL = s.claimURL(s.ring.ClaimCode(keyring.ScopeOrder, id.UUID(), serial))
	return out, nil
}

// claimURL is a claim link. The code stands in the fragment, which browsers do
// not send: it is in no log on the way.
func (s *Service) claimURL(code string) string { return s.publicURL + "/w#" + code }
