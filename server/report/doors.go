package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"portillon/server/ticket"
)

// attemptRow counts attempts that have all of this in common. Event is false of
// those whose code named no ticket.
type attemptRow struct {
	Event    bool
	Bucket   int
	Reason   ticket.Reason
	Class    ticket.Class
	Gate     ticket.GateID
	Person   ticket.PersonID
	Replayed bool
	DryRun   bool
	Attempts int
}

// countAttempts reads the log once. Bounds are values, so that only the days that
// matter are opened. What a device without network told afterwards counts when it
// happened, and may have been told two days later.
const countAttempts = `
SELECT event_id IS NOT NULL AS event,
  floor(extract(epoch FROM coalesce(happened_at, received_at) - @from::timestamptz) / @step::integer)::integer AS bucket,
  reason, class, gate_id AS gate, person_id AS person, replayed, dry_run, count(*) AS attempts
FROM attempts
WHERE (event_id = @event OR event_id IS NULL AND gate_id = ANY (@gates))
  AND received_at >= @from::timestamptz - interval '5 minutes' AND received_at < @to::timestamptz + interval '48 hours'
  AND coalesce(happened_at, received_at) >= @from AND coalesce(happened_at, received_at) < @to
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8`

// passageRow counts admissions that have all of this in common.
type passageRow struct {
	Gate      ticket.GateID
	Person    ticket.PersonID
	Direction ticket.Direction
	Path      string
	Undone    bool
	Passages  int
	People    int
}

const countEntries = `
SELECT a.gate_id AS gate, a.person_id AS person, a.direction, a.path, u.key IS NOT NULL AS undone, count(*) AS passages, sum(a.people) AS people
FROM tickets t JOIN admissions a ON a.ticket_id = t.id
LEFT JOIN undos u ON u.ticket_id = a.ticket_id AND u.key = a.key
WHERE t.event_id = @event AND a.at >= @from AND a.at < @to
GROUP BY 1, 2, 3, 4, 5`

// undoRow counts what a person took back; the system's have none.
type undoRow struct {
	Person ticket.PersonID
	Undos  int
}

const countUndos = `
SELECT u.person_id AS person, count(*) AS undos
FROM tickets t JOIN undos u ON u.ticket_id = t.id
WHERE t.event_id = @event AND u.at >= @from AND u.at < @to AND u.person_id IS NOT NULL
GROUP BY 1`

type named struct {
	ID   [16]byte
	Name string
}

// countDoors counts what the doors did within the window.
func (r *Report) countDoors(ctx context.Context, tx pgx.Tx) error {
	t := newTotals(r.buckets())
	gates, err := list[named](ctx, tx, "the gates", `SELECT id, name FROM gates WHERE venue_id = @venue`, pgx.NamedArgs{"venue": r.Venue})
	if err != nil {
		return err
	}
	ids := make([][16]byte, 0, len(gates))
	for _, g := range gates {
		ids = append(ids, g.ID)
		t.gates[ticket.GateID(g.ID)] = &Gate{Gate: g.ID, Name: g.Name}
	}
	args := pgx.NamedArgs{"event": r.Event, "gates": ids, "from": r.From, "to": r.To, "step": r.Step}
	attempts, err := list[attemptRow](ctx, tx, "the attempts", countAttempts, args)
	if err != nil {
		return err
	}
	passages, err := list[passageRow](ctx, tx, "the admissions", countEntries, args)
	if err != nil {
		return err
	}
	undos, err := list[undoRow](ctx, tx, "the undos", countUndos, args)
	if err != nil {
		return err
	}
	for _, row := range attempts {
		t.addAttempts(&r.Attempts, row)
	}
	for _, row := range passages {
		t.addPassages(row)
	}
	for _, row := range undos {
		t.person(row.Person).Undos += row.Undos
	}
	people, err := list[named](ctx, tx, "the people", `SELECT id, name FROM people WHERE id = ANY (@ids)`, pgx.NamedArgs{"ids": t.peopleIDs()})
	if err != nil {
		return err
	}
	for _, p := range people {
		t.people[ticket.PersonID(p.ID)].Name = p.Name
	}
	t.into(r)
	return nil
}

func list[T any](ctx context.Context, tx pgx.Tx, what, sql string, args pgx.NamedArgs) ([]T, error) {
	rows, err := tx.Query(ctx, sql, args)
	if err != nil {
		return nil, fmt.Errorf("count %s: %w", what, err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	if err != nil {
		return nil, fmt.Errorf("count %s: %w", what, err)
	}
	return all, nil
}

// totals adds rows up.
type totals struct {
	buckets int
	reasons map[answerKind]*Reason
	unknown map[answerKind]*Reason // that named no ticket
	gates   map[ticket.GateID]*Gate
	people  map[ticket.PersonID]*Person
}

// answerKind: a reason has more than one class, by age or by repetition.
type answerKind struct {
	reason ticket.Reason
	class  ticket.Class
}

func newTotals(buckets int) *totals {
	return &totals{
		buckets: buckets, reasons: map[answerKind]*Reason{}, unknown: map[answerKind]*Reason{},
		gates: map[ticket.GateID]*Gate{}, people: map[ticket.PersonID]*Person{},
	}
}

func (t *totals) person(id ticket.PersonID) *Person {
	p := t.people[id]
	if p == nil {
		p = &Person{Person: id}
		t.people[id] = p
	}
	return p
}

func (t *totals) peopleIDs() [][16]byte {
	ids := make([][16]byte, 0, len(t.people))
	for id := range t.people {
		ids = append(ids, id)
	}
	return ids
}

// addAttempts counts a row where it belongs. Dry runs and replays are no answers of
// their own; the gates and people of another house are not told.
func (t *totals) addAttempts(sum *Attempts, row attemptRow) {
	switch {
	case row.DryRun && row.Event:
		sum.DryRuns += row.Attempts
	case row.Replayed && row.Event:
		sum.Replayed += row.Attempts
	case row.DryRun, row.Replayed:
	case !row.Event:
		count(t.unknown, row, t.buckets)
	default:
		count(t.reasons, row, t.buckets)
		sum.Answered += row.Attempts
		admitted, refused := row.Attempts, 0
		if row.Class != ticket.ClassAdmit {
			admitted, refused = 0, row.Attempts
		}
		sum.Admitted += admitted
		sum.Refused += refused
		gate := t.gates[row.Gate]
		if gate == nil {
			sum.Elsewhere += row.Attempts
			return
		}
		person := t.person(row.Person)
		gate.Admitted += admitted
		gate.Refused += refused
		person.Admitted += admitted
		person.Refused += refused
	}
}

func count(reasons map[answerKind]*Reason, row attemptRow, buckets int) {
	key := answerKind{row.Reason, row.Class}
	r := reasons[key]
	if r == nil {
		r = &Reason{Reason: row.Reason, Class: row.Class, OverTime: make([]int, buckets)}
		reasons[key] = r
	}
	r.Attempts += row.Attempts
	r.OverTime[row.Bucket] += row.Attempts
}

func (t *totals) addPassages(row passageRow) {
	gate := t.gates[row.Gate]
	if gate == nil {
		return
	}
	switch {
	case row.Undone:
	case row.Direction == ticket.Out:
		gate.PeopleOut += row.People
	default:
		gate.PeopleIn += row.People
	}
	switch row.Path {
	case "override":
		t.person(row.Person).Overrides += row.Passages
	case "look_up":
		t.person(row.Person).LookUps += row.Passages
	}
}

// into puts the totals into the report, in an order that does not change.
func (t *totals) into(r *Report) {
	r.Reasons, r.Unattributed = frequent(t.reasons), frequent(t.unknown)
	for _, g := range t.gates {
		if *g != (Gate{Gate: g.Gate, Name: g.Name}) {
			r.Gates = append(r.Gates, *g)
		}
	}
	slices.SortFunc(r.Gates, func(a, b Gate) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Gate.String(), b.Gate.String()))
	})
	for _, p := range t.people {
		r.People = append(r.People, *p)
	}
	slices.SortFunc(r.People, func(a, b Person) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Person.String(), b.Person.String()))
	})
}

func frequent(reasons map[answerKind]*Reason) []Reason {
	all := make([]Reason, 0, len(reasons))
	for _, one := range reasons {
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(b.Attempts, a.Attempts), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Class, b.Class))
	})
	return all
}
