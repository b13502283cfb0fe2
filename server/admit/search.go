package admit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"portillon/server/audit"
	"portillon/server/fault"
	"portillon/server/locale"
	"portillon/server/pg"
	"portillon/server/session"
	"portillon/server/ticket"
)

// A search at the door finds a guest who is there, and lists nobody else.
const (
	searchLeast = 3   // letters and digits, unless it is a ticket's number
	searchMost  = 100 // characters
	searchFinds = 20
	searchAhead = 12 * time.Hour // until an event's doors open
)

// SearchIn asks for tickets at a gate: Q holds words of a name, the seat, the number
// or the external id, in any order; of each word the beginning is enough, of the
// number it is not.
type SearchIn struct {
	Gate ticket.GateID
	Q    string
}

// FoundTickets are what a search found, by event and number, at most 20; More says
// that others were left out.
type FoundTickets struct {
	Items      []FoundTicket `json:"items"`
	More       bool          `json:"more"`
	ServerTime time.Time     `json:"server_time"`
}

// FoundTicket is a ticket as far as a door needs it: no address, and no name where
// the event shows none.
type FoundTicket struct {
	Ticket    ticket.ID      `json:"ticket"`
	Number    int            `json:"number"`
	Category  string         `json:"category"`
	Seat      string         `json:"seat"`
	Holder    string         `json:"holder,omitempty"`
	Status    ticket.Status  `json:"status"`
	Claim     string         `json:"claim"` // none, phone or paper
	Admits    int            `json:"admits"`
	Remaining int            `json:"remaining"` // people that it may still let in
	Event     ticket.EventID `json:"event"`
	EventName string         `json:"event_name"`
	Screen    string         `json:"screen"`
	Doors     time.Time      `json:"doors_open_at"`
	Starts    time.Time      `json:"starts_at"`
	TimeZone  string         `json:"time_zone"`
	LastUse   *LastUse       `json:"last_use,omitempty"`
	Actions   []string       `json:"actions"` // admit, where the caller may let in without a code
}

// LastUse is the last entry that was not taken back, by the database's clock.
type LastUse struct {
	At         time.Time `json:"at"`
	SecondsAgo int       `json:"seconds_ago"`
	GateName   string    `json:"gate_name"`
	Person     string    `json:"person"`
}

// Search finds tickets of the events that are on at the gate's venue, or whose doors
// open there within twelve hours. Each search is in the audit, without its words.
// Faults: gate.not_found, request.fields, session.right_missing.
func (s *Service) Search(ctx context.Context, by session.Caller, in SearchIn) (FoundTickets, error) {
	asked, err := in.words()
	if err != nil {
		return FoundTickets{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var found FoundTickets
	err = pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		var venue ticket.VenueID
		err := tx.QueryRow(ctx, `SELECT venue_id, portillon_now() FROM gates WHERE id = @gate`, pgx.NamedArgs{"gate": in.Gate}).
			Scan(&venue, &found.ServerTime)
		if errors.Is(err, pgx.ErrNoRows) {
			return errGate
		}
		if err != nil {
			return fmt.Errorf("read the gate: %w", err)
		}
		if err := by.Require(session.Scan, venue); err != nil {
			return err
		}
		found.ServerTime = found.ServerTime.UTC()
		ids, err := matching(ctx, tx, venue, asked)
		if err != nil {
			return fmt.Errorf("search the tickets: %w", err)
		}
		found.More = len(ids) > searchFinds
		if found.Items, err = readFound(ctx, tx, ids[:min(len(ids), searchFinds)], found.ServerTime); err != nil {
			return fmt.Errorf("read what was found: %w", err)
		}
		if by.May(session.Override, venue) {
			for i := range found.Items {
				found.Items[i].allow()
			}
		}
		return audit.Write(ctx, tx, by, audit.Act{
			Name: "ticket.search", Venue: venue, Subject: in.Gate,
			Details: map[string]any{"words": len(asked), "found": len(ids)},
		})
	})
	return found, err
}

// words are what is searched for.
func (in SearchIn) words() ([]string, error) {
	var fields []fault.Field
	if in.Gate.IsZero() {
		fields = append(fields, fault.Field{Name: "gate", Code: "required"})
	}
	words := strings.Fields(locale.Fold(in.Q))
	_, notNumber := strconv.ParseInt(strings.TrimSpace(in.Q), 10, 32)
	switch {
	case utf8.RuneCountInString(in.Q) > searchMost:
		fields = append(fields, fault.Field{Name: "q", Code: "too_long"})
	case notNumber != nil && utf8.RuneCountInString(strings.Join(words, "")) < searchLeast:
		fields = append(fields, fault.Field{Name: "q", Code: "too_short"})
	}
	if len(fields) > 0 {
		return nil, fault.Fields(fields...)
	}
	return words, nil
}

// readTitles are what can be searched for, of all tickets of these events. They are
// compared here and not by the database, whose locale may not know their letters; of
// the 50,000 of a stadium that takes about a fifth of a second.
const readTitles = `
SELECT t.id, t.number, CASE WHEN e.show_names THEN t.holder_name ELSE '' END, t.seat, coalesce(t.external_id, '')
FROM events e JOIN tickets t ON t.event_id = e.id
WHERE e.venue_id = @venue AND e.doors_open_at <= portillon_now() + @ahead::interval AND e.ends_at > portillon_now()
ORDER BY e.starts_at, e.id, t.number`

// matching finds the tickets that have all the words, one more than are shown.
func matching(ctx context.Context, tx pgx.Tx, venue ticket.VenueID, asked []string) (ids []ticket.ID, err error) {
	rows, err := tx.Query(ctx, readTitles, pgx.NamedArgs{"venue": venue, "ahead": searchAhead})
	if err != nil {
		return nil, err
	}
	var id ticket.ID
	var number int
	var holder, seat, external string
	_, err = pgx.ForEachRow(rows, []any{&id, &number, &holder, &seat, &external}, func() error {
		if len(ids) <= searchFinds && matches(asked, strconv.Itoa(number), holder, seat, external) {
			ids = append(ids, id)
		}
		return nil
	})
	return ids, err
}

// matches reports whether each word is the number or begins a word of the others.
func matches(asked []string, number string, texts ...string) bool {
	folded := locale.Fold(strings.Join(texts, "\n"))
	for _, word := range asked {
		if word != number && !begins(folded, word) {
			return false
		}
	}
	return len(asked) > 0
}

// begins reports whether the word begins one of the words of the text, or several
// together: F12 finds F 12, and Minho Min-ho.
func begins(folded, word string) bool {
	for start := 0; start < len(folded); {
		i, j := start, 0
		for i < len(folded) && j < len(word) && (folded[i] == word[j] || folded[i] == ' ') {
			if folded[i] != ' ' {
				j++
			}
			i++
		}
		if j == len(word) {
			return true
		}
		next := strings.IndexByte(folded[start:], ' ')
		if next < 0 {
			return false
		}
		start += next + 1
	}
	return false
}

const readFoundTickets = `
SELECT t.id, t.number, c.name, t.seat, CASE WHEN e.show_names THEN t.holder_name ELSE '' END, t.status, coalesce(k.kind, 'none'), t.admits,
  greatest(0, t.admits + t.extra - CASE WHEN e.reentry THEN t.inside ELSE t.entries END),
  e.id, e.name, e.screen, e.doors_open_at, e.starts_at, v.time_zone, a.at, coalesce(g.name, ''), coalesce(p.name, '')
FROM tickets t JOIN categories c ON c.id = t.category_id JOIN events e ON e.id = t.event_id JOIN venues v ON v.id = e.venue_id
LEFT JOIN claims k ON k.ticket_id = t.id AND k.generation = t.generation
LEFT JOIN LATERAL (
  SELECT a.at, a.gate_id, a.person_id FROM admissions a
  WHERE a.ticket_id = t.id AND a.direction = 'in' AND NOT EXISTS (SELECT FROM undos u WHERE u.ticket_id = a.ticket_id AND u.key = a.key)
  ORDER BY a.at DESC LIMIT 1
) a ON true
LEFT JOIN gates g ON g.id = a.gate_id LEFT JOIN people p ON p.id = a.person_id
WHERE t.id = ANY(@ids)`

// readFound reads tickets in the order of their ids.
func readFound(ctx context.Context, tx pgx.Tx, ids []ticket.ID, now time.Time) ([]FoundTicket, error) {
	rows, err := tx.Query(ctx, readFoundTickets, pgx.NamedArgs{"ids": uuids(ids)})
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (f FoundTicket, err error) {
		var at *time.Time
		var use LastUse
		err = row.Scan(&f.Ticket, &f.Number, &f.Category, &f.Seat, &f.Holder, &f.Status, &f.Claim, &f.Admits, &f.Remaining,
			&f.Event, &f.EventName, &f.Screen, &f.Doors, &f.Starts, &f.TimeZone, &at, &use.GateName, &use.Person)
		f.Doors, f.Starts, f.Actions = f.Doors.UTC(), f.Starts.UTC(), []string{}
		if at != nil {
			use.At, use.SecondsAgo = at.UTC(), int(now.Sub(*at).Seconds())
			f.LastUse = &use
		}
		return f, err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b FoundTicket) int {
		return cmp.Compare(slices.Index(ids, a.Ticket), slices.Index(ids, b.Ticket))
	})
	return append([]FoundTicket{}, found...), nil
}

func uuids(ids []ticket.ID) [][16]byte {
	list := make([][16]byte, len(ids))
	for i, id := range ids {
		list[i] = id
	}
	return list
}

// allow offers to let in whoever the ticket would; the act itself judges afresh.
func (f *FoundTicket) allow() {
	if f.Status == ticket.Active && f.Remaining > 0 {
		f.Actions = append(f.Actions, "admit")
	}
}
