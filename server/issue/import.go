package issue

import (
	"cmp"
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/audit"
	"portillon/server/exchange"
	"portillon/server/fault"
	"portillon/server/locale"
	"portillon/server/pg"
	"portillon/server/repeat"
	"portillon/server/session"
	"portillon/server/ticket"
)

// ImportIn is a file of tickets that were sold elsewhere. What it says of the file
// may be empty: it is found out then, or remembered. Columns gives for members of
// Columns a heading, or #3 for the third column; Category is the name or the id of the
// category of new tickets whose line names none. Language is that in which the holders
// of new tickets are written to, en unless given; with NoMails they are not.
type ImportIn struct {
	File     []byte
	Options  exchange.Options
	Columns  map[string]string
	Category string
	Language string
	NoMails  bool
	DryRun   bool
}

// ImportCounts counts lines. Leases are numbers that were taken away from open forms.
type ImportCounts struct {
	Lines  int `json:"lines"`
	Create int `json:"create"`
	Update int `json:"update"`
	Skip   int `json:"skip"`
	Error  int `json:"error"`
	Leases int `json:"leases"`
}

// Imported is what came of a file, or of a dry run what would come of it. Sample are
// its first rows. An answer that is given again with its key has the counts only.
type Imported struct {
	Import      uuid.UUID          `json:"import,omitzero"`
	DryRun      bool               `json:"dry_run"`
	Encoding    exchange.Encoding  `json:"encoding"`
	Separator   exchange.Separator `json:"separator"`
	Headings    []string           `json:"headings"`
	Sample      [][]string         `json:"sample"`
	Mapping     Mapping            `json:"mapping"`
	MappingFrom MappingFrom        `json:"mapping_from"`
	Counts      ImportCounts       `json:"counts"`
	Lines       []ImportLine       `json:"lines"`
}

// sampleRows is how many rows a preview shows.
const sampleRows = 5

// analyzeFrom is how many new tickets make the planner's statistics worth a look.
const analyzeFrom = 500

// Import takes in a file: each line whose external id is new makes a ticket with a
// link of its own, a known one changes its ticket where it says something else, and a
// line with an error is left out and told. A dry run gives the same verdicts and
// changes nothing. Needs the right admin at the event's venue. Faults are those of
// exchange.Read, import.no_external_id and request.fields.
func (s *Service) Import(ctx context.Context, by session.Caller, call repeat.Call, event ticket.EventID, in ImportIn) (Imported, error) {
	e, err := s.eventFor(ctx, by, session.Admin, event)
	if err != nil {
		return Imported{}, err
	}
	table, err := exchange.Read(in.File, in.Options)
	if err != nil {
		return Imported{}, err
	}
	j := importing{event: e, table: table, language: cmp.Or(in.Language, locale.Languages[0].String()), quiet: in.NoMails, dryRun: in.DryRun}
	if !locale.Speaks(j.language) {
		return Imported{}, fault.Fields(fault.Field{Name: "language", Code: unknown})
	}
	if j.mapping, j.from, err = mapping(ctx, s.pool, e.Venue, in.Columns, table.Headings); err != nil {
		return Imported{}, err
	}
	if err := j.mapping.check(); err != nil && !in.DryRun {
		return Imported{}, err
	}
	if j.common, err = s.commonCategory(ctx, event, in.Category); err != nil {
		return Imported{}, err
	}
	if in.DryRun {
		err := pg.Snapshot(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error { return j.plan(ctx, tx) })
		return j.answer(), err
	}
	return s.carryOut(ctx, by, call, j)
}

// importing is an import on its way.
type importing struct {
	event    Event
	table    exchange.Table
	mapping  Mapping
	from     MappingFrom
	common   ticket.CategoryID
	language string
	quiet    bool // no mail to holders
	dryRun   bool
	id       uuid.UUID
	lines    []planned
}

func (s *Service) commonCategory(ctx context.Context, event ticket.EventID, named string) (ticket.CategoryID, error) {
	if named == "" {
		return ticket.CategoryID{}, nil
	}
	all, err := s.categories(ctx, event, ticket.CategoryID{})
	if err != nil {
		return ticket.CategoryID{}, err
	}
	for _, k := range all {
		if k.Name == named || k.Category.String() == named {
			return k.Category, nil
		}
	}
	return ticket.CategoryID{}, fault.Fields(fault.Field{Name: "all_category", Code: unknown})
}

func (s *Service) carryOut(ctx context.Context, by session.Caller, call repeat.Call, j importing) (Imported, error) {
	id, repeated, err := s.once(ctx, by, call, func(ctx context.Context, tx pgx.Tx) (uuid.UUID, error) {
		j.id = uuid.New()
		if err := lockEvent(ctx, tx, j.event.Event); err != nil {
			return uuid.Nil, err
		}
		if err := j.plan(ctx, tx); err != nil {
			return uuid.Nil, err
		}
		if err := j.settle(ctx, tx); err != nil {
			return uuid.Nil, err
		}
		return j.id, s.write(ctx, tx, by, &j)
	})
	if err != nil {
		return Imported{}, err
	}
	if repeated {
		return s.importedBefore(ctx, id, j)
	}
	out := j.answer()
	if out.Counts.Create >= analyzeFrom {
		// The door's statements are planned by what is known of the tables. Whoever
		// imported has an answer all the same: autovacuum comes round to it too.
		_, _ = s.pool.Exec(ctx, `ANALYZE tickets, numbers, external_ids`)
	}
	return out, nil
}

// plan reads the register and decides about the lines.
func (j *importing) plan(ctx context.Context, tx pgx.Tx) error {
	r, err := readRegister(ctx, tx, j)
	if err != nil {
		return err
	}
	j.lines = plan(j.table, j.mapping, j.common, r)
	return nil
}

// settle locks the tickets that are to be changed, in the order of their ids, and
// plans again: somebody may have entered on one of them meanwhile. Tickets that stand
// as the file says are left to the door.
func (j *importing) settle(ctx context.Context, tx pgx.Tx) error {
	var ids []uuid.UUID
	for _, l := range j.lines {
		if l.Do == Update {
			ids = append(ids, l.ticket.UUID())
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, `SELECT id FROM tickets WHERE id = ANY (@ids) ORDER BY id FOR NO KEY UPDATE`, pgx.NamedArgs{"ids": ids}); err != nil {
		return fmt.Errorf("lock the tickets: %w", err)
	}
	return j.plan(ctx, tx)
}

func (j *importing) counts() (n ImportCounts) {
	for _, l := range j.lines {
		n.Lines++
		switch l.Do {
		case Create:
			n.Create++
		case Update:
			n.Update++
		case Skip:
			n.Skip++
		case LeaveOut:
			n.Error++
		}
		if l.Lease {
			n.Leases++
		}
	}
	return n
}

func (j *importing) answer() Imported {
	out := Imported{
		Import: j.id, DryRun: j.dryRun, Encoding: j.table.Encoding, Separator: j.table.Separator, Headings: j.table.Headings,
		Mapping: j.mapping, MappingFrom: j.from, Counts: j.counts(), Lines: make([]ImportLine, len(j.lines)), Sample: [][]string{},
	}
	for i, l := range j.lines {
		out.Lines[i] = l.ImportLine
	}
	for _, row := range j.table.Rows[:min(sampleRows, len(j.table.Rows))] {
		out.Sample = append(out.Sample, row.Cells)
	}
	return out
}

// importedBefore is the answer to a call that comes again with its key.
func (s *Service) importedBefore(ctx context.Context, id uuid.UUID, j importing) (Imported, error) {
	j.id, j.lines = id, nil
	out := j.answer()
	err := s.pool.QueryRow(ctx, `SELECT mapping, counts FROM imports WHERE id = @id`, pgx.NamedArgs{"id": id}).Scan(&out.Mapping, &out.Counts)
	if err != nil {
		return Imported{}, fmt.Errorf("read the import: %w", err)
	}
	return out, nil
}

// record leaves the one act of the import, and its row in the life of each ticket
// that it made or changed.
func (j *importing) record(ctx context.Context, tx pgx.Tx, by session.Caller) error {
	_, err := tx.Exec(ctx, `
INSERT INTO imports (id, event_id, venue_id, headings, mapping, counts) VALUES (@id, @event, @venue, @headings, @mapping, @counts)`,
		pgx.NamedArgs{"id": j.id, "event": j.event.Event, "venue": j.event.Venue, "headings": hashTitles(j.table.Headings),
			"mapping": j.mapping, "counts": j.counts()})
	if err != nil {
		return fmt.Errorf("record the import: %w", err)
	}
	n := j.counts()
	act := audit.Act{
		Name: importAct, Venue: j.event.Venue, Event: j.event.Event, Subject: j.id,
		Details: map[string]any{"lines": n.Lines, "create": n.Create, "update": n.Update, "skip": n.Skip, "error": n.Error, "leases": n.Leases},
	}
	if err := audit.Write(ctx, tx, by, act); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, actOfEach, j.history()); err != nil {
		return fmt.Errorf("audit the tickets: %w", err)
	}
	return nil
}

const importAct = "ticket.import"

// actOfEach repeats the row that was written last, see repeatAct.
const actOfEach = `
INSERT INTO audit (at, actor, person_id, device_id, token_id, act, venue_id, event_id, ticket_id, subject_id, details, request_id)
SELECT a.at, a.actor, a.person_id, a.device_id, a.token_id, a.act, a.venue_id, a.event_id, n.id, a.subject_id, n.details, a.request_id
FROM audit a, unnest(@ids::uuid[], @details::jsonb[]) AS n (id, details)
WHERE a.id = (SELECT lastval())`
