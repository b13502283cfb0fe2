package admit

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/pg"
	"portillon/server/pgtest"
	"portillon/server/ticket"
)

// A plan that was made while the tables were empty stays: on an empty and analysed
// schema, where reading a table whole is cheapest, no statement of the door does.
func TestNoStatementOfTheDoorReadsATableWhole(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Pool(func(o *pg.PoolOptions) { o.Settings = PoolOptions().Settings }))
	ctx := context.Background()
	if _, err := db.Pool.Exec(ctx, `ANALYZE`); err != nil {
		t.Fatal(err)
	}
	q := &question{in: ScanIn{Gate: ticket.GateID(uuid.New()), Key: ticket.Key(uuid.New())}}
	q.ticket, q.facts.Nonce = ticket.ID(uuid.New()), make([]byte, 16)
	w := &waiting{question: q}
	w.answer.Facts.Ticket = &ticket.Ticket{}
	reads, entries := listsOf([]*question{q}), entriesOf([]*waiting{w})
	history := historyOf(ticket.Facts{
		Now: time.Now(), Ticket: &ticket.Ticket{ID: q.ticket}, Last: &ticket.Admission{At: time.Now(), Device: ticket.DeviceID(uuid.New())},
	})
	one := pgx.NamedArgs{
		"number": 7, "gate": q.in.Gate, "key": q.in.Key, "device": nil, "person": ticket.PersonID(uuid.New()), "tickets": reads["tickets"],
		"ticket": q.ticket, "generation": int16(1), "step": int64(1), "wrong_at": []time.Time{}, "locked_until": nil,
	}
	for name, statement := range map[string]struct {
		sql  string
		args pgx.NamedArgs
	}{
		"lockTickets":     {lockTickets, reads},
		"lockFreeTickets": {lockFreeTickets, reads},
		"readClaims":      {readClaims, reads},
		"readAdmissions":  {readAdmissions, reads},
		"readKeys":        {readKeys, reads},
		"readPlaces":      {readPlaces, reads},
		"readGates":       {readGates, reads},
		"readNonces":      {readNonces, reads},
		"readAlive":       {readAlive, reads},
		"readLit":         {readLit, reads},
		"enterMany":       {enterMany, entries},
		"countStale":      {countStale, history},
		"readSilence":     {readSilence, history},
		"findNumbered":    {findNumbered, one},
		"lockNumbered":    {lockNumbered, reads},
		"readOneTime":     {readOneTime, one},
		"countWrong":      {countWrong, one},
		"useStep":         {useStep, one},
		"readAgainst":     {readAgainst, one},
	} {
		rows, err := db.Pool.Query(ctx, "EXPLAIN "+statement.sql, statement.args)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		plan := strings.Join(lines, "\n")
		if strings.Contains(plan, "Seq Scan") || strings.Contains(plan, "Materialize") || strings.Contains(plan, "Hash Join") {
			t.Errorf("%s reads more than it needs:\n%s", name, plan)
		}
	}
}
