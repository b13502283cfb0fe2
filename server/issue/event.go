package issue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/audit"
	"portillon/server/fault"
	"portillon/server/locale"
	"portillon/server/repeat"
	"portillon/server/session"
	"portillon/server/ticket"
)

// claimBefore is how long before the doors tickets can be claimed unless the
// event says otherwise: some browsers delete keys after a week without a visit.
const claimBefore = 72 * time.Hour

// Event is one showing at one venue. Times are UTC; TimeZone is its venue's.
type Event struct {
	Event       ticket.EventID `json:"event"`
	Venue       ticket.VenueID `json:"venue"`
	VenueName   string         `json:"venue_name"`
	TimeZone    string         `json:"time_zone"`
	Name        string         `json:"name"`
	Screen      string         `json:"screen"`
	DoorsOpenAt time.Time      `json:"doors_open_at"`
	StartsAt    time.Time      `json:"starts_at"`
	EndsAt      time.Time      `json:"ends_at"`
	ClaimFrom   time.Time      `json:"claim_from"`
	Policy      Policy         `json:"policy"`
	Responsible Responsible    `json:"responsible"`
}

// Responsible is whom the event's acts of issuing are told by mail, and in which
// language: en (unless given), fr or cs. Without an address nobody is.
type Responsible struct {
	Email    string `json:"email"`
	Language string `json:"language"`
}

// Policy is the door policy of an event.
type Policy struct {
	Freshness    ticket.Freshness `json:"freshness"`
	Rescan       ticket.Rescan    `json:"rescan"`
	RescanWindow int              `json:"rescan_window_s"` // seconds, at most a day
	Reentry      bool             `json:"reentry"`
	Offline      Offline          `json:"offline"`
	ShowNames    bool             `json:"show_names"`
}

// Offline is what a gate device without network may do.
type Offline string

// OfflineOff: nothing. OwnGate: admit tickets whose category names its gate.
// AnyGate: admit whatever verifies.
const (
	OfflineOff Offline = "off"
	OwnGate    Offline = "own_gate"
	AnyGate    Offline = "any"
)

const maxRescanWindow = 24 * 60 * 60 // seconds

// defaultPolicy is the policy of an event that says nothing about it.
var defaultPolicy = Policy{
	Freshness: ticket.Assisted, Rescan: ticket.ShowTime, RescanWindow: 300, Offline: OfflineOff, ShowNames: true,
}

// EventIn is an event to make. ClaimFrom is 72 hours before the doors unless
// given; of the policy only what is given differs from the ordinary one.
type EventIn struct {
	Venue       ticket.VenueID `json:"venue"`
	Name        string         `json:"name"`
	Screen      string         `json:"screen"`
	DoorsOpenAt time.Time      `json:"doors_open_at"`
	StartsAt    time.Time      `json:"starts_at"`
	EndsAt      time.Time      `json:"ends_at"`
	ClaimFrom   *time.Time     `json:"claim_from"`
	Policy      *PolicyIn      `json:"policy"`
	Responsible *Responsible   `json:"responsible"`
}

// PolicyIn is the part of a policy that is said.
type PolicyIn struct {
	Freshness    *ticket.Freshness `json:"freshness"`
	Rescan       *ticket.Rescan    `json:"rescan"`
	RescanWindow *int              `json:"rescan_window_s"`
	Reentry      *bool             `json:"reentry"`
	Offline      *Offline          `json:"offline"`
	ShowNames    *bool             `json:"show_names"`
}

func (p *PolicyIn) over(old Policy) Policy {
	if p == nil {
		return old
	}
	set(&old.Freshness, p.Freshness)
	set(&old.Rescan, p.Rescan)
	set(&old.RescanWindow, p.RescanWindow)
	set(&old.Reentry, p.Reentry)
	set(&old.Offline, p.Offline)
	set(&old.ShowNames, p.ShowNames)
	return old
}

func set[T any](field, given *T) {
	if given != nil {
		*field = *given
	}
}

// check puts the event's own fields right and names those that cannot be.
func (e *Event) check() error {
	var c checks
	e.Name = c.line("name", e.Name, maxName)
	e.Screen = c.text("screen", e.Screen, maxName)
	e.DoorsOpenAt = c.time("doors_open_at", e.DoorsOpenAt)
	e.StartsAt = c.time("starts_at", e.StartsAt)
	e.EndsAt = c.time("ends_at", e.EndsAt)
	e.ClaimFrom = at(e.ClaimFrom)
	if len(c.fields) == 0 {
		c.order(e)
	}
	e.Responsible.Email = c.email("responsible.email", e.Responsible.Email)
	if e.Responsible.Language = cmp.Or(e.Responsible.Language, locale.Languages[0].String()); !locale.Speaks(e.Responsible.Language) {
		c.add("responsible.language", unknown)
	}
	p := e.Policy
	oneOf(&c, "policy.freshness", p.Freshness, ticket.Live, ticket.Assisted, ticket.Open)
	oneOf(&c, "policy.rescan", p.Rescan, ticket.Strict, ticket.ShowTime, ticket.Recover)
	oneOf(&c, "policy.offline", p.Offline, OfflineOff, OwnGate, AnyGate)
	if p.RescanWindow < 0 || p.RescanWindow > maxRescanWindow {
		c.add("policy.rescan_window_s", outOfRange)
	}
	return c.err()
}

// order: doors, then the start, then the end; a link that opens only afterwards
// would be of no use.
func (c *checks) order(e *Event) {
	if e.StartsAt.Before(e.DoorsOpenAt) {
		c.add("starts_at", notInOrder)
	}
	if !e.EndsAt.After(e.StartsAt) {
		c.add("ends_at", notInOrder)
	}
	switch {
	case e.ClaimFrom.Year() < firstYear-1:
		c.add("claim_from", outOfRange)
	case !e.ClaimFrom.Before(e.EndsAt):
		c.add("claim_from", notInOrder)
	}
}

// CreateEvent makes an event. Needs the right admin at its venue.
func (s *Service) CreateEvent(ctx context.Context, by session.Caller, call repeat.Call, in EventIn) (Event, error) {
	if in.Venue.IsZero() {
		return Event{}, fault.Fields(fault.Field{Name: "venue", Code: required})
	}
	if _, err := s.venue(ctx, in.Venue); err != nil {
		return Event{}, err
	}
	if err := by.Require(session.Admin, in.Venue); err != nil {
		return Event{}, err
	}
	e := Event{
		Venue: in.Venue, Name: in.Name, Screen: in.Screen, DoorsOpenAt: in.DoorsOpenAt, StartsAt: in.StartsAt, EndsAt: in.EndsAt,
		ClaimFrom: in.DoorsOpenAt.Add(-claimBefore), Policy: in.Policy.over(defaultPolicy),
	}
	set(&e.ClaimFrom, in.ClaimFrom)
	set(&e.Responsible, in.Responsible)
	if err := e.check(); err != nil {
		return Event{}, err
	}
	id, _, err := s.once(ctx, by, call, func(ctx context.Context, tx pgx.Tx) (uuid.UUID, error) {
		e.Event = ticket.EventID(uuid.New())
		return e.Event.UUID(), insertEvent(ctx, tx, by, e)
	})
	if err != nil {
		return Event{}, err
	}
	return readEvent(ctx, s.pool, ticket.EventID(id))
}

func insertEvent(ctx context.Context, tx pgx.Tx, by session.Caller, e Event) error {
	_, err := tx.Exec(ctx, `
INSERT INTO events (id, venue_id, name, screen, doors_open_at, starts_at, ends_at, claim_from,
  freshness, rescan, rescan_window, reentry, offline, show_names, responsible_email, responsible_language)
VALUES (@id, @venue_id, @name, @screen, @doors_open_at, @starts_at, @ends_at, @claim_from,
  @freshness, @rescan, make_interval(secs => @rescan_window), @reentry, @offline, @show_names, @responsible_email, @responsible_language)`, e.args())
	if err != nil {
		return fmt.Errorf("make the event: %w", err)
	}
	return audit.Write(ctx, tx, by, audit.Act{Name: "event.create", Venue: e.Venue, Event: e.Event})
}

func (e *Event) args() pgx.NamedArgs {
	return pgx.NamedArgs{
		"id": e.Event, "venue_id": e.Venue, "name": e.Name, "screen": e.Screen,
		"doors_open_at": e.DoorsOpenAt, "starts_at": e.StartsAt, "ends_at": e.EndsAt, "claim_from": e.ClaimFrom,
		"freshness": string(e.Policy.Freshness), "rescan": string(e.Policy.Rescan), "rescan_window": float64(e.Policy.RescanWindow),
		"reentry": e.Policy.Reentry, "offline": string(e.Policy.Offline), "show_names": e.Policy.ShowNames,
		"responsible_email": e.Responsible.Email, "responsible_language": e.Responsible.Language,
	}
}

// selectEvents is the event as it is read everywhere; a condition follows.
const selectEvents = `
SELECT e.id, e.venue_id, v.name, v.time_zone, e.name, e.screen, e.doors_open_at, e.starts_at, e.ends_at, e.claim_from,
  e.freshness, e.rescan, extract(epoch FROM e.rescan_window)::integer, e.reentry, e.offline, e.show_names, e.responsible_email, e.responsible_language
FROM events e JOIN venues v ON v.id = e.venue_id `

func scanEvent(row pgx.CollectableRow) (e Event, err error) {
	err = row.Scan(&e.Event, &e.Venue, &e.VenueName, &e.TimeZone, &e.Name, &e.Screen, &e.DoorsOpenAt, &e.StartsAt, &e.EndsAt, &e.ClaimFrom,
		&e.Policy.Freshness, &e.Policy.Rescan, &e.Policy.RescanWindow, &e.Policy.Reentry, &e.Policy.Offline, &e.Policy.ShowNames,
		&e.Responsible.Email, &e.Responsible.Language)
	for _, t := range []*time.Time{&e.DoorsOpenAt, &e.StartsAt, &e.EndsAt, &e.ClaimFrom} {
		*t = t.UTC()
	}
	return e, err
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func readEvent(ctx context.Context, q querier, id ticket.EventID) (Event, error) {
	rows, err := q.Query(ctx, selectEvents+`WHERE e.id = @id`, pgx.NamedArgs{"id": id})
	if err != nil {
		return Event{}, fmt.Errorf("read the event: %w", err)
	}
	e, err := pgx.CollectExactlyOneRow(rows, scanEvent)
	if errors.Is(err, pgx.ErrNoRows) {
		return Event{}, fault.New(fault.NotFound, "event.not_found", "there is no such event")
	}
	if err != nil {
		return Event{}, fmt.Errorf("read the event: %w", err)
	}
	return e, nil
}

// eventFor reads an event for a caller who needs the right at its venue.
func (s *Service) eventFor(ctx context.Context, by session.Caller, right session.Right, id ticket.EventID) (Event, error) {
	e, err := readEvent(ctx, s.pool, id)
	if err != nil {
		return Event{}, err
	}
	if err := by.Require(right, e.Venue); err != nil {
		return Event{}, err
	}
	return e, nil
}

// GetEvent reads an event. Needs the right read at its venue.
func (s *Service) GetEvent(ctx context.Context, by session.Caller, id ticket.EventID) (Event, error) {
	return s.eventFor(ctx, by, session.Read, id)
}

// EventQuery selects events: of one venue, or of all that the caller may read;
// those that are not over at From (zero: all).
type EventQuery struct {
	Venue  ticket.VenueID
	From   time.Time
	Cursor string
}

// ListEvents lists events in the order of their doors. Needs the right read at
// the venue, or anywhere when none is named.
func (s *Service) ListEvents(ctx context.Context, by session.Caller, q EventQuery) (List[Event], error) {
	all, venues, err := readable(by)
	if err != nil {
		return List[Event]{}, err
	}
	if !q.Venue.IsZero() {
		if _, err := s.GetVenue(ctx, by, q.Venue); err != nil {
			return List[Event]{}, err
		}
		all, venues = false, []ticket.VenueID{q.Venue}
	}
	afterTime, afterID, err := openTimed(q.Cursor)
	if err != nil {
		return List[Event]{}, err
	}
	rows, err := s.pool.Query(ctx, selectEvents+`
WHERE (@all OR e.venue_id = ANY (@venues)) AND e.ends_at >= @from AND (e.doors_open_at, e.id) > (@after_time, @after_id)
ORDER BY e.doors_open_at, e.id LIMIT @limit`,
		pgx.NamedArgs{"all": all, "venues": uuids(venues), "from": q.From, "after_time": afterTime, "after_id": afterID, "limit": pageSize + 1})
	if err != nil {
		return List[Event]{}, fmt.Errorf("list the events: %w", err)
	}
	items, err := pgx.CollectRows(rows, scanEvent)
	if err != nil {
		return List[Event]{}, fmt.Errorf("list the events: %w", err)
	}
	return page(items, func(e Event) string {
		return strconv.FormatInt(e.DoorsOpenAt.UnixMicro(), 10) + " " + e.Event.String()
	}), nil
}

// openTimed opens the cursor of a list in the order of a time and id.
func openTimed(cursor string) (after time.Time, id uuid.UUID, err error) {
	text, err := openCursor(cursor)
	if err != nil || text == "" {
		return time.Time{}, uuid.Nil, err
	}
	micro, rest, _ := strings.Cut(text, " ")
	n, err := strconv.ParseInt(micro, 10, 64)
	if err != nil {
		return time.Time{}, uuid.Nil, badCursor(err)
	}
	if id, err = uuid.Parse(rest); err != nil {
		return time.Time{}, uuid.Nil, badCursor(err)
	}
	after = time.UnixMicro(n).UTC()
	if after.Year() < firstYear || after.Year() > lastYear {
		return time.Time{}, uuid.Nil, badCursor(nil)
	}
	return after, id, nil
}
