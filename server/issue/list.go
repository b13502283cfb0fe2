package issue

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"golang.org/x/text/unicode/norm"

	"portillon/server/fault"
	"portillon/server/session"
	"portillon/server/ticket"
)

// claimPaper is the Claim of a ticket that is bound to paper.
const claimPaper = "paper"

// Listed is a ticket as lists show it.
type Listed struct {
	Ticket       ticket.ID         `json:"ticket"`
	Number       int               `json:"number"`
	Category     ticket.CategoryID `json:"category"`
	CategoryName string            `json:"category_name"`
	Seat         string            `json:"seat"`
	Holder       Holder            `json:"holder"`
	ExternalID   string            `json:"external_id"`
	Status       ticket.Status     `json:"status"`
	StatusSince  time.Time         `json:"status_since"`
	Claim        string            `json:"claim"`      // none, phone or paper
	Generation   int               `json:"generation"` // 0: never claimed
	Entries      int               `json:"entries"`
	Inside       int               `json:"inside"`
	Admits       int               `json:"admits"`
	Extra        int               `json:"extra"` // entries beyond admits that staff gave
	UsedAt       *time.Time        `json:"used_at,omitempty"`
}

// selectTickets is the ticket as it is read everywhere, columns of the caller's
// first; a condition follows.
const selectTickets = `
  t.id, t.number, t.category_id, c.name, t.seat, t.holder_name, t.holder_email, coalesce(t.external_id, ''), t.status, t.status_since,
  coalesce(k.kind, 'none'), t.generation, t.entries, t.inside, t.admits, t.extra, t.used_at
FROM tickets t
JOIN categories c ON c.id = t.category_id
LEFT JOIN claims k ON k.ticket_id = t.id AND k.generation = t.generation `

func (l *Listed) targets() []any {
	return []any{&l.Ticket, &l.Number, &l.Category, &l.CategoryName, &l.Seat, &l.Holder.Name, &l.Holder.Email, &l.ExternalID,
		&l.Status, &l.StatusSince, &l.Claim, &l.Generation, &l.Entries, &l.Inside, &l.Admits, &l.Extra, &l.UsedAt}
}

func (l *Listed) toUTC() {
	l.StatusSince = l.StatusSince.UTC()
	l.UsedAt = inUTC(l.UsedAt)
}

// TicketQuery selects tickets of an event: Q is part of the holder's name, of
// the external id or of the seat, the beginning of the address, or the number;
// Status is one status. Both may be empty.
type TicketQuery struct {
	Q      string
	Status ticket.Status
	Cursor string
}

const maxQuery = 100 // characters

// ListTickets lists an event's tickets by number. Needs the right read at its
// venue.
func (s *Service) ListTickets(ctx context.Context, by session.Caller, event ticket.EventID, q TicketQuery) (List[Listed], error) {
	if _, err := s.eventFor(ctx, by, session.Read, event); err != nil {
		return List[Listed]{}, err
	}
	args, err := q.args()
	if err != nil {
		return List[Listed]{}, err
	}
	args["event"] = event
	rows, err := s.pool.Query(ctx, `SELECT`+selectTickets+`
WHERE t.event_id = @event AND t.number > @after AND (@status = '' OR t.status = @status)
  AND (@q = '' OR t.number = @number OR t.holder_name ILIKE @part OR t.holder_email ILIKE @beginning
    OR t.seat ILIKE @part OR t.external_id ILIKE @part)
ORDER BY t.number LIMIT @limit`, args)
	if err != nil {
		return List[Listed]{}, fmt.Errorf("list the tickets: %w", err)
	}
	items, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (l Listed, err error) {
		err = row.Scan(l.targets()...)
		l.toUTC()
		return l, err
	})
	if err != nil {
		return List[Listed]{}, fmt.Errorf("list the tickets: %w", err)
	}
	return page(items, func(l Listed) string { return strconv.Itoa(l.Number) }), nil
}

func (q TicketQuery) args() (pgx.NamedArgs, error) {
	var c checks
	text := strings.TrimSpace(norm.NFC.String(q.Q))
	if utf8.RuneCountInString(text) > maxQuery {
		c.add("q", tooLong)
	}
	if strings.ContainsFunc(text, misleading) {
		c.add("q", controlChars)
	}
	if q.Status != "" {
		oneOf(&c, "status", q.Status, ticket.Active, ticket.Used, ticket.HeldStatus, ticket.RevokedStatus)
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	after, err := openNumber(q.Cursor)
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		number = 0 // no ticket has it
	}
	literal := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text)
	return pgx.NamedArgs{
		"q": text, "number": int32(number), "part": "%" + literal + "%", "beginning": literal + "%",
		"status": string(q.Status), "after": after, "limit": pageSize + 1,
	}, nil
}

// openNumber opens the cursor of a list in the order of numbers.
func openNumber(cursor string) (int32, error) {
	text, err := openCursor(cursor)
	if err != nil || text == "" {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, badCursor(err)
	}
	return int32(n), nil
}

func ticketNotFound() error {
	return fault.New(fault.NotFound, "ticket.not_found", "there is no such ticket")
}
