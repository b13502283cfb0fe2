package issue

import (
	"context"
	"fmt"
	"strconv"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/keyring"
	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/wallet"
)

// readRegister reads what the lines of the file touch: a file of a hundred lines
// looks at a hundred tickets, however many the event has.
func readRegister(ctx context.Context, tx pgx.Tx, j *importing) (r register, err error) {
	var externals []string
	var numbers []int32
	for _, row := range j.table.Rows {
		if id := j.mapping.cell(row.Cells, colExternalID); id != "" {
			externals = append(externals, id)
		}
		if n, err := strconv.ParseInt(j.mapping.cell(row.Cells, colNumber), 10, 32); err == nil {
			numbers = append(numbers, int32(n))
		}
	}
	args := pgx.NamedArgs{"event": j.event.Event, "externals": externals, "numbers": numbers}
	r = register{external: map[string]*standing{}, numbers: map[int]*standing{}, leased: map[int]bool{}}
	rows, err := tx.Query(ctx, `
SELECT t.id, t.order_id, t.number, t.category_id, t.seat, t.holder_name, t.holder_email, t.admits, coalesce(t.external_id, ''), t.entries
FROM tickets t WHERE t.id IN (
  SELECT x.ticket_id FROM external_ids x WHERE x.event_id = @event AND x.external_id = ANY (@externals::text[])
  UNION SELECT n.ticket_id FROM numbers n WHERE n.event_id = @event AND n.number = ANY (@numbers::integer[]))`, args)
	if err != nil {
		return r, fmt.Errorf("read the tickets: %w", err)
	}
	var s standing
	_, err = pgx.ForEachRow(rows, []any{&s.id, &s.order, &s.number, &s.category, &s.seat, &s.holder.Name, &s.holder.Email, &s.admits, &s.external, &s.entries}, func() error {
		found := s
		r.numbers[s.number] = &found
		if s.external != "" {
			r.external[s.external] = &found
		}
		return nil
	})
	if err != nil {
		return r, fmt.Errorf("read the tickets: %w", err)
	}
	rows, err = tx.Query(ctx, `
SELECT number FROM number_leases WHERE event_id = @event AND number = ANY (@numbers::integer[]) AND expires_at > portillon_now()`, args)
	if err != nil {
		return r, fmt.Errorf("read the leases: %w", err)
	}
	leased, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		return r, fmt.Errorf("read the leases: %w", err)
	}
	for _, n := range leased {
		r.leased[n] = true
	}
	r.categories, err = readCategories(ctx, tx, j.event.Event, ticket.CategoryID{})
	return r, err
}

// batchRows are rows as columns, which is how one statement takes thousands.
type batchRows struct {
	ids, orders, categories      []uuid.UUID
	hashes                       [][]byte
	numbers, admits              []int32
	seats, names, emails, extern []string
}

// write carries the plan out, in as many statements for one line as for thousands.
// Numbers that the file names come first: what the search then finds is free of them.
func (s *Service) write(ctx context.Context, tx pgx.Tx, by session.Caller, j *importing) error {
	var named, unnamed []*planned
	for i := range j.lines {
		switch l := &j.lines[i]; {
		case l.Do != Create:
		case l.want.number > 0:
			named = append(named, l)
		default:
			unnamed = append(unnamed, l)
		}
	}
	if err := s.insertNew(ctx, tx, j, named); err != nil {
		return err
	}
	if len(unnamed) > 0 {
		spent, err := changeLeases(ctx, tx, j.event.Event, leaseChange{act: spendLease, by: by, count: len(unnamed)})
		if err != nil {
			return err
		}
		for i, l := range unnamed {
			l.want.number = int(spent.numbers[i])
		}
		if err := s.insertNew(ctx, tx, j, unnamed); err != nil {
			return err
		}
	}
	if err := updateKnown(ctx, tx, j); err != nil {
		return err
	}
	if err := j.record(ctx, tx, by); err != nil {
		return err
	}
	return s.mailImport(ctx, tx, j)
}

// insertNew makes the tickets of lines, each in an order of its own: whoever bought
// one gets a link to that one.
func (s *Service) insertNew(ctx context.Context, tx pgx.Tx, j *importing, lines []*planned) error {
	if len(lines) == 0 {
		return nil
	}
	var b batchRows
	for _, l := range lines {
		l.ticket = ticket.ID(uuid.New())
		l.order = ticket.OrderID(uuid.New())
		code := wallet.HashClaimCode(s.ring.ClaimCode(keyring.ScopeOrder, l.order.UUID(), 1))
		b.orders, b.hashes = append(b.orders, l.order.UUID()), append(b.hashes, code[:])
		b.add(l)
	}
	batch := &pgx.Batch{}
	for _, sql := range importStatements {
		batch.Queue(sql, b.args(j))
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return issueFault(err)
	}
	return nil
}

func (b *batchRows) add(l *planned) {
	b.ids = append(b.ids, l.ticket.UUID())
	b.categories = append(b.categories, l.want.category.UUID())
	b.numbers = append(b.numbers, int32(l.want.number))
	b.admits = append(b.admits, int32(l.want.admits))
	b.seats = append(b.seats, l.want.seat)
	b.names = append(b.names, l.want.holder.Name)
	b.emails = append(b.emails, l.want.holder.Email)
	b.extern = append(b.extern, l.ExternalID)
}

func (b *batchRows) args(j *importing) pgx.NamedArgs {
	return pgx.NamedArgs{
		"event": j.event.Event, "language": j.language, "ids": b.ids, "orders": b.orders, "hashes": b.hashes, "categories": b.categories, "numbers": b.numbers,
		"admits": b.admits, "seats": b.seats, "names": b.names, "emails": b.emails, "externals": b.extern,
	}
}

// history is what the audit says of each ticket: its number where it is new, which
// members changed where it is not.
func (j *importing) history() pgx.NamedArgs {
	var ids []uuid.UUID
	var details []map[string]any
	for _, l := range j.lines {
		switch l.Do {
		case Create:
			ids, details = append(ids, l.ticket.UUID()), append(details, map[string]any{"number": l.want.number})
		case Update:
			ids, details = append(ids, l.ticket.UUID()), append(details, map[string]any{"changed": l.changed})
		case Skip, LeaveOut:
		}
	}
	return pgx.NamedArgs{"ids": ids, "details": details}
}

// importStatements are orderStatements for many orders. A lease on a number of the
// file ends with it: its form hears so when it next asks.
var importStatements = []string{
	`DELETE FROM number_leases WHERE event_id = @event AND number = ANY (@numbers::integer[])`,
	`INSERT INTO orders (id, event_id, email, language) SELECT n.id, @event, n.email, @language FROM unnest(@orders::uuid[], @emails::text[]) AS n (id, email)`,
	`INSERT INTO claim_codes (hash, order_id, serial) SELECT n.hash, n.id, 1 FROM unnest(@hashes::bytea[], @orders::uuid[]) AS n (hash, id)`,
	`
INSERT INTO tickets (id, event_id, category_id, order_id, number, admits, reentry, holder_name, holder_email, seat, external_id)
SELECT n.id, e.id, n.category, n.order_id, n.number, n.admits, e.reentry, n.holder_name, n.holder_email, n.seat, n.external_id
FROM events e, unnest(@ids::uuid[], @categories::uuid[], @orders::uuid[], @numbers::integer[], @admits::integer[],
  @names::text[], @emails::text[], @seats::text[], @externals::text[])
  AS n (id, category, order_id, number, admits, holder_name, holder_email, seat, external_id)
WHERE e.id = @event`,
	`
INSERT INTO numbers (event_id, number, ticket_id, followed)
SELECT @event, n.number, n.id, lead(n.number) OVER (ORDER BY n.number) IS NOT DISTINCT FROM n.number + 1
  OR EXISTS (SELECT FROM numbers x WHERE x.event_id = @event AND x.number = n.number + 1)
FROM unnest(@ids::uuid[], @numbers::integer[]) AS n (id, number)`,
	`
UPDATE numbers SET followed = true
WHERE event_id = @event AND NOT followed AND number IN (SELECT n - 1 FROM unnest(@numbers::integer[]) AS n)`,
	`
INSERT INTO external_ids (event_id, external_id, ticket_id)
SELECT @event, n.external_id, n.id FROM unnest(@externals::text[], @ids::uuid[]) AS n (external_id, id)`,
}

// updateKnown changes the tickets whose locks settle took. An order of one ticket
// goes to that ticket's address.
func updateKnown(ctx context.Context, tx pgx.Tx, j *importing) error {
	var b batchRows
	for i := range j.lines {
		if j.lines[i].Do == Update {
			b.add(&j.lines[i])
		}
	}
	if len(b.ids) == 0 {
		return nil
	}
	batch := &pgx.Batch{}
	batch.Queue(`
UPDATE tickets t SET category_id = n.category, admits = n.admits, seat = n.seat, holder_name = n.name, holder_email = n.email
FROM unnest(@ids::uuid[], @categories::uuid[], @admits::integer[], @seats::text[], @names::text[], @emails::text[])
  AS n (id, category, admits, seat, name, email)
WHERE t.id = n.id`, b.args(j))
	batch.Queue(`
UPDATE orders o SET email = n.email
FROM unnest(@ids::uuid[], @emails::text[]) AS n (id, email) JOIN tickets t ON t.id = n.id
WHERE o.id = t.order_id AND o.email <> n.email`, b.args(j))
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("change the tickets: %w", err)
	}
	return nil
}
