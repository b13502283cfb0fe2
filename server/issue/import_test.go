package issue

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"pgregory.net/rapid"

	"portillon/server/exchange"
	"portillon/server/fault"
	"portillon/server/repeat"
	"portillon/server/session"
	"portillon/server/ticket"
)

// take imports a file in which new tickets are Standard unless they say otherwise.
func (p *place) take(file string, dry bool) Imported {
	p.Helper()
	return must(p.s.Import(p.Context(), p.admin, repeat.Call{}, p.event.Event, ImportIn{File: []byte(file), Category: "Standard", DryRun: dry}))(p)
}

func (p *place) export(f exchange.Flavour) string {
	p.Helper()
	var out bytes.Buffer
	w := must(exchange.NewWriter(&out, f, "cs"))(p)
	if err := p.s.ExportTickets(p.Context(), p.admin, p.event.Event, f, w.Write); err != nil {
		p.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		p.Fatal(err)
	}
	return out.String()
}

// told is a verdict in short: its line, what is done, the members and codes at fault.
func told(lines []ImportLine) (short []string) {
	for _, l := range lines {
		words := []string{strconv.Itoa(l.Line), string(l.Do)}
		for _, e := range l.Errors {
			words = append(words, e.Member+"="+e.Code)
		}
		short = append(short, strings.Join(words, " "))
	}
	return short
}

func TestEachLineIsCarriedOutOrLeftOutWithItsReason(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.one(p.plain) // number 1, issued here
	leased := must(p.s.ReserveNumber(t.Context(), p.admin, p.event.Event))(t)
	file := "ticket no;external id;type;seat;name;e-mail;people\n" +
		";A1;;F1;Eva;eva@example.org;\n" +
		"2;A2;standard;F2;;;2\n" + // under the lease
		"1;A3;;;;;\n" + // issued here
		";A1;;;;;\n" +
		"5;A5;Loge;;;;\n" +
		"2;A6;;;;;\n" +
		"zwei;A7;;;;nobody;0\n" +
		";;;;;;\n" +
		";A9;;\n" +
		"7;;;x;;;\n" +
		";B1;;\"two\nlines\";;;\n" +
		"9;B2;PRINT AT HOME;;=1+1;;;;;\n"
	got := p.take(file, false)
	want := []string{
		"2 create", "3 create", "4 error number=number_taken", "5 error external_id=twice_in_file", "6 error category=unknown",
		"7 error number=twice_in_file", "8 error number=invalid holder_email=invalid admits=out_of_range", "10 error =columns",
		"11 error external_id=required", "12 error seat=control_characters", "14 create",
	}
	if !reflect.DeepEqual(told(got.Lines), want) {
		t.Fatalf("\n%s\nwant\n%s", strings.Join(told(got.Lines), "\n"), strings.Join(want, "\n"))
	}
	if got.Counts != (ImportCounts{Lines: 11, Create: 3, Error: 8, Leases: 1}) || !got.Lines[1].Lease {
		t.Errorf("counts %+v", got.Counts)
	}
	if facts := got.Lines[2].Errors[0].Facts; facts["number"] != 1 || facts["external_id"] != "" || got.Lines[2].ExternalID != "A3" {
		t.Errorf("the taken number does not name both: %v", facts)
	}
	// Nothing was free but 3 for the line without a number: 1 is issued, 2 is the file's.
	listed := must(p.s.ListTickets(t.Context(), p.admin, p.event.Event, TicketQuery{}))(t).Items
	var rows []string
	for _, l := range listed {
		rows = append(rows, fmt.Sprintf("%d %s %s %s %s %d", l.Number, l.ExternalID, l.CategoryName, l.Seat, l.Holder.Name, l.Admits))
	}
	if want := []string{"1  Standard   1", "2 A2 Standard F2  2", "3 A1 Standard F1 Eva 1", "9 B2 Print at home  =1+1 1"}; !reflect.DeepEqual(rows, want) {
		t.Errorf("%q, want %q", rows, want)
	}
	// The form whose number it was is told when it next asks, and before anything is saved.
	_, err := p.s.RenewNumber(t.Context(), p.admin, leased.Lease)
	wantFault(t, err, "number.lease_ended")
	_, err = p.s.Issue(t.Context(), p.admin, repeat.Call{}, p.event.Event, TicketsIn{Category: p.plain.Category, Lease: leased.Lease})
	wantFault(t, err, leaseLost)
	if facts := fault.Of(err).Facts; facts["number"] != 4 {
		t.Errorf("the form is offered %v", facts)
	}
}

// T101
func TestTheSameFileAgainSkipsAndAnotherUpdatesByTheExternalID(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := "id,number,seat,name\nA,10,F1,Eva\nB,,F2,Jan\n"
	if n := p.take(first, false).Counts; n != (ImportCounts{Lines: 2, Create: 2}) {
		t.Fatalf("first %+v", n)
	}
	if n := p.take(first, false).Counts; n != (ImportCounts{Lines: 2, Skip: 2}) {
		t.Errorf("again %+v", n)
	}
	again := p.take("id,number,seat,name\nA,10,F9,Eva\nB,,F2,Jan\nC,,,\nA2,10,,\n", false)
	if n := again.Counts; n != (ImportCounts{Lines: 4, Create: 1, Update: 1, Skip: 1, Error: 1}) {
		t.Errorf("changed %+v", n)
	}
	moved := p.take("id,number\nA,11\n", false)
	if e := moved.Lines[0].Errors; len(e) != 1 || e[0].Code != numberFixed || e[0].Facts["number"] != 10 || e[0].Facts["wanted"] != 11 {
		t.Errorf("another number for A: %+v", moved.Lines)
	}
	// What somebody has come in on stays what it was; his seat may be corrected.
	id := p.byExternal("A")
	p.use(id, 1)
	entered := p.take("id,admits,seat\nA,4,F9\n", false)
	if !reflect.DeepEqual(told(entered.Lines), []string{"2 error admits=entered"}) {
		t.Errorf("admits after an entry: %v", told(entered.Lines))
	}
	if n := p.take("id,seat\nA,F7\n", false).Counts; n.Update != 1 || p.get(id).Seat != "F7" || p.get(id).Holder.Name != "Eva" {
		t.Errorf("a seat after an entry: %+v, %+v", n, p.get(id).Listed)
	}
	// One act an import, and a row in the life of each ticket that it touched.
	var acts, rows int
	p.read(`SELECT count(*) FILTER (WHERE ticket_id IS NULL), count(ticket_id) FROM audit WHERE act = 'ticket.import'`, &acts, &rows)
	if acts != 6 || rows != 5 {
		t.Errorf("%d acts, %d rows", acts, rows)
	}
	link := must(p.s.ShowLink(t.Context(), p.admin, id))(t)
	p.secret(link.ClaimURL)
}

func (p *place) byExternal(external string) (id ticket.ID) {
	p.Helper()
	p.read(`SELECT ticket_id FROM external_ids WHERE external_id = '`+external+`'`, &id)
	return id
}

func (p *place) read(sql string, to ...any) {
	p.Helper()
	if err := p.db.Pool.QueryRow(p.Context(), sql).Scan(to...); err != nil {
		p.Fatal(err)
	}
}

func TestColumnsAreGuessedInThreeLanguagesGivenAndRemembered(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for titles, want := range map[string]Mapping{
		"External ID,Number,Category,Seat,Name,E-mail,Admits":       {colExternalID: 1, colNumber: 2, colCategory: 3, colSeat: 4, colName: 5, colEmail: 6, colAdmits: 7},
		"Référence,Numéro,Catégorie,Siège,Nom,Courriel,Personnes":   {colExternalID: 1, colNumber: 2, colCategory: 3, colSeat: 4, colName: 5, colEmail: 6, colAdmits: 7},
		"Kód vstupenky,Číslo,Kategorie,Sedadlo,Jméno,E-mail,Osob":   {colExternalID: 1, colNumber: 2, colCategory: 3, colSeat: 4, colName: 5, colEmail: 6, colAdmits: 7},
		"external_id,number,category,seat,holder_name,holder_email": {colExternalID: 1, colNumber: 2, colCategory: 3, colSeat: 4, colName: 5, colEmail: 6},
		"foo,bar": {},
	} {
		got := p.take(titles+"\n"+strings.Repeat(",", strings.Count(titles, ","))+"x\n", true)
		if !reflect.DeepEqual(got.Mapping, want) || got.MappingFrom != MappingGuessed {
			t.Errorf("%s: %v %s", titles, got.Mapping, got.MappingFrom)
		}
	}
	file := []byte("foo,bar,bar\nX1,F1,2\n")
	in := ImportIn{File: file, Category: "Standard"}
	_, err := p.s.Import(t.Context(), p.admin, repeat.Call{}, p.event.Event, in)
	wantFault(t, err, "import.no_external_id")
	in.Columns = map[string]string{colExternalID: "foo", colSeat: "bar"}
	_, err = p.s.Import(t.Context(), p.admin, repeat.Call{}, p.event.Event, in)
	wantFault(t, err, "request.fields", "seat: ambiguous")
	in.Columns[colSeat] = "#2"
	given := must(p.s.Import(t.Context(), p.admin, repeat.Call{}, p.event.Event, in))(t)
	after := p.take(string(file), true)
	if given.MappingFrom != MappingGiven || after.MappingFrom != MappingRemembered || !reflect.DeepEqual(after.Mapping, given.Mapping) || after.Counts.Skip != 1 {
		t.Errorf("given %+v, after it %+v", given, after)
	}
}

// A table of a hundred columns of which one is ours.
func TestColumnsThatMeanNothingHereDoNoHarm(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var titles, cells []string
	for i := range 100 {
		titles, cells = append(titles, "column "+strconv.Itoa(i)), append(cells, strings.Repeat("x\n", 20))
	}
	titles[70], cells[70] = "Barcode", "B-70"
	var file bytes.Buffer
	w := csv.NewWriter(&file)
	_ = w.WriteAll([][]string{titles, cells})
	if got := p.take(file.String(), false); got.Counts.Create != 1 || got.Lines[0].ExternalID != "B-70" {
		t.Errorf("%+v", got)
	}
}

// T101
func TestADryRunSaysWhatTheRunThenDoes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.one(p.plain)
	numbers := rapid.SampledFrom([]string{"", "", "1", "2", "3", "5", "8", "x", "0"})
	rapid.Check(t, func(rt *rapid.T) {
		var file strings.Builder
		file.WriteString("id,number,category,seat,admits\n")
		for range rapid.IntRange(1, 8).Draw(rt, "lines") {
			fmt.Fprintf(&file, "%s,%s,%s,%s,%s\n", rapid.SampledFrom([]string{"", "A", "B", "C", "D", "E", "F"}).Draw(rt, "id"), numbers.Draw(rt, "number"),
				rapid.SampledFrom([]string{"", "standard", "Print at home", "Loge"}).Draw(rt, "category"), rapid.SampledFrom([]string{"", "F1", "F2"}).Draw(rt, "seat"),
				rapid.SampledFrom([]string{"", "1", "4", "101"}).Draw(rt, "admits"))
		}
		if rapid.Bool().Draw(rt, "leased") {
			if _, err := p.s.ReserveNumber(context.Background(), p.admin, p.event.Event); err != nil {
				rt.Fatal(err)
			}
		}
		before := p.export(exchange.Machine)
		said := p.take(file.String(), true)
		if p.export(exchange.Machine) != before {
			rt.Fatal("a dry run changed something")
		}
		did := p.take(file.String(), false)
		if !reflect.DeepEqual(said.Lines, did.Lines) || said.Counts != did.Counts {
			rt.Fatalf("said %v\n did %v", said.Lines, did.Lines)
		}
		again := p.take(file.String(), false)
		if n := again.Counts; n.Create+n.Update != 0 || n.Skip != did.Counts.Create+did.Counts.Update+did.Counts.Skip {
			rt.Fatalf("the same again: %+v after %+v\n%s", n, did.Counts, file.String())
		}
	})
}

// T99
func TestAnExportIsReadBackAsTheSameRows(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.issue(TicketsIn{Seats: []string{"K1", "K2"}, Holder: Holder{Name: "=Karel"}})
	p.take("id,number,category,seat,name,e-mail,admits\nA,7,Print at home,\"F;1\",\"Eva \"\"E\"\" Nová\",eva@example.org,3\n@B,,,'=x,+Jan,,\n", false)
	for _, f := range []exchange.Flavour{exchange.Machine, exchange.Spreadsheet} {
		back := p.take(p.export(f), false)
		if back.Counts != (ImportCounts{Lines: 4, Skip: 4}) || back.MappingFrom == MappingGiven {
			t.Errorf("%s into the same event: %v", f, told(back.Lines))
		}
	}
	for _, f := range []exchange.Flavour{exchange.Machine, exchange.Spreadsheet} {
		table := p.export(f)
		// Into another event, tickets that were issued here are known by their own id.
		other := must(p.s.CreateEvent(t.Context(), p.admin, repeat.Call{}, p.showing()))(t)
		for _, name := range []string{"Standard", "Print at home"} {
			must(p.s.CreateCategory(t.Context(), p.admin, repeat.Call{}, other.Event, CategoryIn{Name: name}))(t)
		}
		columns := map[string]string{colExternalID: "ticket"}
		for _, member := range Columns[1:] {
			columns[member] = member
		}
		got := must(p.s.Import(t.Context(), p.admin, repeat.Call{}, other.Event, ImportIn{File: []byte(table), Columns: columns}))(t)
		if got.Counts.Create != 4 {
			t.Fatalf("%s into another: %v", f, told(got.Lines))
		}
		here := must(p.s.ListTickets(t.Context(), p.admin, p.event.Event, TicketQuery{}))(t).Items
		there := must(p.s.ListTickets(t.Context(), p.admin, other.Event, TicketQuery{}))(t).Items
		for i := range here {
			a, b := here[i], there[i]
			if a.Number != b.Number || a.Seat != b.Seat || a.Holder != b.Holder || a.Admits != b.Admits || a.CategoryName != b.CategoryName {
				t.Errorf("%s: %+v became %+v", f, a, b)
			}
		}
	}
}

func TestACallThatComesAgainWithItsKeyGivesTheCountsOfTheFirst(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	in := ImportIn{File: []byte("id\nA\nB\n"), Category: "Standard"}
	call := repeat.Call{Key: uuid.New(), Act: "import", Hash: repeat.Hash(in.File)}
	first := must(p.s.Import(t.Context(), p.admin, call, p.event.Event, in))(t)
	second := must(p.s.Import(t.Context(), p.admin, call, p.event.Event, in))(t)
	if second.Import != first.Import || second.Counts != first.Counts || first.Counts.Create != 2 {
		t.Errorf("%+v, then %+v", first, second)
	}
	stranger := session.Caller{Kind: session.ByCookie, Grants: []session.Grant{{Role: session.AdminRole, Venue: ticket.VenueID{1}}}}
	_, err := p.s.Import(t.Context(), stranger, repeat.Call{}, p.event.Event, in)
	wantFault(t, err, "session.right_missing")
}

// counting counts what is sent to the database.
type counting struct{ statements int }

func (c *counting) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.statements++
	return ctx
}
func (c *counting) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (c *counting) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	c.statements += d.Batch.Len()
	return ctx
}
func (c *counting) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (c *counting) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

func manyLines(from, n int) []byte {
	var b strings.Builder
	b.WriteString("id,number,seat,name\n")
	for i := range n {
		number := ""
		if i%2 == 0 {
			number = strconv.Itoa(10*from + i + 1)
		}
		fmt.Fprintf(&b, "X%d,%s,F%d,Eva\n", from+i, number, i)
	}
	return []byte(b.String())
}

func TestAnImportSendsNoMoreStatementsForManyLinesThanForFew(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	count := &counting{}
	config := p.db.Pool.Config().Copy()
	config.ConnConfig.Tracer = count
	pool := must(pgxpool.NewWithConfig(t.Context(), config))(t)
	defer pool.Close()
	s := New(pool, p.ring, nil, nil, publicURL)
	send := func(from, n int) int {
		count.statements = 0
		got := must(s.Import(t.Context(), p.admin, repeat.Call{}, p.event.Event, ImportIn{File: manyLines(from, n), Category: "Standard"}))(t)
		if got.Counts.Create != n {
			t.Fatalf("%+v", got.Counts)
		}
		return count.statements
	}
	send(0, 2)
	few, many := send(100, 10), send(1000, 400)
	if few != many || few > 60 {
		t.Errorf("%d statements for 10 lines, %d for 400", few, many)
	}
}

// BenchmarkImport takes in 4,000 new tickets, half of them with numbers; the goal is
// under 2 s.
func BenchmarkImport(b *testing.B) {
	p := newPlace(b)
	for i := 0; b.Loop(); i++ {
		must(p.s.Import(b.Context(), p.admin, repeat.Call{}, p.event.Event, ImportIn{File: manyLines(i*10_000, 4000), Category: "Standard"}))(b)
	}
}
