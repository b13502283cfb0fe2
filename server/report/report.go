package report

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"portillon/server/fault"
	"portillon/server/pg"
	"portillon/server/session"
	"portillon/server/ticket"
)

// Service counts.
type Service struct {
	pool *pgxpool.Pool
}

// New makes the service.
func New(pool *pgxpool.Pool) *Service { return &Service{pool: pool} }

// Report is how an event stands. Tickets, Entries and Inside are of the moment At;
// everything else is of what happened from From until before To. Times are UTC;
// TimeZone is the venue's, for whoever shows them.
type Report struct {
	Event    ticket.EventID `json:"event"`
	Venue    ticket.VenueID `json:"venue"`
	TimeZone string         `json:"time_zone"`
	At       time.Time      `json:"at"`
	From     time.Time      `json:"from"`
	To       time.Time      `json:"to"`
	Step     int            `json:"step_s"` // seconds of a bucket; the last may be shorter

	Tickets  Tickets  `json:"tickets"`
	Entries  int      `json:"entries"` // people let in, less those taken back
	Inside   int      `json:"inside"`  // people
	Attempts Attempts `json:"attempts"`
	Reasons  []Reason `json:"reasons"` // the most frequent first
	// Unattributed are attempts at the venue's gates whose code named no ticket: a
	// gate serves every event, so that nobody knows for which one they were meant.
	Unattributed []Reason `json:"unattributed"`
	Gates        []Gate   `json:"gates"`  // at which something happened, by name
	People       []Person `json:"people"` // who did something, by name
}

// Tickets counts tickets. Issued is Active + Used + Held + Revoked; what is not
// revoked is in exactly one of Phone, Paper and Unclaimed.
type Tickets struct {
	Issued    int `json:"issued"`
	Active    int `json:"active"`
	Used      int `json:"used"`
	Held      int `json:"held"`
	Revoked   int `json:"revoked"`
	Claimed   int `json:"claimed"` // Phone + Paper
	Phone     int `json:"phone"`
	Paper     int `json:"paper"`
	Unclaimed int `json:"unclaimed"`
}

// Attempts counts what was scanned of the event's tickets. Answered is Admitted +
// Refused; answers given again and dry runs are counted apart and nowhere else.
type Attempts struct {
	Answered  int `json:"answered"`
	Admitted  int `json:"admitted"` // passages, in or out
	Refused   int `json:"refused"`  // all that did not let in, also for another try
	Replayed  int `json:"replayed"`
	DryRuns   int `json:"dry_runs"`
	Elsewhere int `json:"elsewhere"` // of Answered: at the gates of other venues
}

// Reason is how often something was answered, and when: OverTime has one count a
// bucket from From on.
type Reason struct {
	Reason   ticket.Reason `json:"reason"`
	Class    ticket.Class  `json:"class"`
	Attempts int           `json:"attempts"`
	OverTime []int         `json:"over_time"`
}

// Gate is what happened at one of the venue's gates.
type Gate struct {
	Gate      ticket.GateID `json:"gate"`
	Name      string        `json:"gate_name"`
	Admitted  int           `json:"admitted"`
	Refused   int           `json:"refused"`
	PeopleIn  int           `json:"people_in"` // less those taken back
	PeopleOut int           `json:"people_out"`
}

// Person is what somebody did at the venue's gates. Overrides and look-ups are
// counted also when they were taken back; an undo belongs to whoever took back.
type Person struct {
	Person    ticket.PersonID `json:"person"`
	Name      string          `json:"person_name"`
	Admitted  int             `json:"admitted"`
	Refused   int             `json:"refused"`
	Overrides int             `json:"overrides"`
	LookUps   int             `json:"look_ups"`
	Undos     int             `json:"undos"`
}

// Of counts an event within a window. Needs the right read at its venue. All
// figures are of one snapshot. Faults: event.not_found, request.fields.
func (s *Service) Of(ctx context.Context, by session.Caller, event ticket.EventID, asked Window) (Report, error) {
	var r Report
	err := pg.Snapshot(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		r = Report{Event: event, Reasons: []Reason{}, Unattributed: []Reason{}, Gates: []Gate{}, People: []Person{}}
		hours, err := r.readEvent(ctx, tx)
		if err != nil {
			return err
		}
		if err := by.Require(session.Read, r.Venue); err != nil {
			return err
		}
		if err := r.setWindow(ctx, tx, asked, hours); err != nil {
			return err
		}
		if err := r.countTickets(ctx, tx); err != nil {
			return err
		}
		return r.countDoors(ctx, tx)
	})
	return r, err
}

// readEvent reads whose event it is and its hours.
func (r *Report) readEvent(ctx context.Context, tx pgx.Tx) (hours span, err error) {
	err = tx.QueryRow(ctx, `
SELECT e.venue_id, v.time_zone, e.doors_open_at, e.ends_at, portillon_now()
FROM events e JOIN venues v ON v.id = e.venue_id WHERE e.id = @event`, pgx.NamedArgs{"event": r.Event}).
		Scan(&r.Venue, &r.TimeZone, &hours.from, &hours.to, &r.At)
	if errors.Is(err, pgx.ErrNoRows) {
		return hours, fault.New(fault.NotFound, "event.not_found", "there is no such event")
	}
	if err != nil {
		return hours, fmt.Errorf("read the event: %w", err)
	}
	r.At = r.At.UTC()
	return hours, nil
}

// countTickets counts the tickets and the people by the tickets' rows, which every
// entry and undo writes.
func (r *Report) countTickets(ctx context.Context, tx pgx.Tx) error {
	t := &r.Tickets
	err := tx.QueryRow(ctx, `
SELECT count(*),
  count(*) FILTER (WHERE t.status = 'active'), count(*) FILTER (WHERE t.status = 'used'),
  count(*) FILTER (WHERE t.status = 'held'), count(*) FILTER (WHERE t.status = 'revoked'),
  count(*) FILTER (WHERE t.status <> 'revoked' AND k.kind = 'phone'),
  count(*) FILTER (WHERE t.status <> 'revoked' AND k.kind = 'paper'),
  coalesce(sum(t.entries), 0), coalesce(sum(t.inside), 0)
FROM tickets t LEFT JOIN claims k ON k.ticket_id = t.id AND k.generation = t.generation
WHERE t.event_id = @event`, pgx.NamedArgs{"event": r.Event}).
		Scan(&t.Issued, &t.Active, &t.Used, &t.Held, &t.Revoked, &t.Phone, &t.Paper, &r.Entries, &r.Inside)
	if err != nil {
		return fmt.Errorf("count the tickets: %w", err)
	}
	t.Claimed = t.Phone + t.Paper
	t.Unclaimed = t.Issued - t.Revoked - t.Claimed
	return nil
}
