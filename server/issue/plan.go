package issue

import (
	"slices"
	"strconv"
	"strings"

	"portillon/server/exchange"
	"portillon/server/ticket"
)

// Doing is what an import does about a line.
type Doing string

// What may be done about a line.
const (
	Create   Doing = "create"
	Update   Doing = "update"
	Skip     Doing = "skip" // the ticket is there and stands as the line says
	LeaveOut Doing = "error"
)

// ImportLine is the verdict about one line of a file. Number is 0 where the ticket
// gets the lowest free one.
type ImportLine struct {
	Line       int         `json:"line"` // of the file, from 1
	Do         Doing       `json:"do"`
	ExternalID string      `json:"external_id"`
	Number     int         `json:"number"`
	Lease      bool        `json:"lease,omitempty"` // the number is taken away from an open form
	Errors     []LineError `json:"errors,omitempty"`
}

// LineError is why a line is left out.
type LineError struct {
	Member string         `json:"member"`
	Column int            `json:"column"` // of the file, from 1; 0: none
	Code   string         `json:"code"`
	Facts  map[string]any `json:"facts,omitempty"`
}

// Codes of lines besides those of fields.
const (
	twiceInFile = "twice_in_file" // facts: first, its line
	numberTaken = "number_taken"  // facts: number, external_id and seat of the ticket that has it
	numberFixed = "number_fixed"  // facts: number, the ticket's, and wanted
	wasEntered  = "entered"       // facts: entries
	wrongWidth  = "columns"       // facts: count, want
)

// maxNumber leaves the search for the next number room to count.
const maxNumber = 999_999_999

// terms are what an import may say about a ticket.
type terms struct {
	number   int
	category ticket.CategoryID
	seat     string
	holder   Holder
	admits   int
}

// standing is a ticket as it stands before the import.
type standing struct {
	terms
	id       ticket.ID
	order    ticket.OrderID
	external string
	entries  int
}

// register is what a plan has to know of the event.
type register struct {
	categories []Category
	external   map[string]*standing // by external id
	numbers    map[int]*standing    // by number
	leased     map[int]bool
}

// planned is a line with what it comes to.
type planned struct {
	ImportLine
	ticket  ticket.ID // of an update, and once it is made of a new one
	order   ticket.OrderID
	want    terms
	changed []string // members, of an update
}

// plan decides about each line. It is a function of the file and the register alone:
// a dry run and the run that follows it cannot differ but by what happened between.
func plan(t exchange.Table, m Mapping, common ticket.CategoryID, r register) []planned {
	p := planner{table: t, mapping: m, common: common, register: r, ids: map[string]int{}, taken: map[int]int{}}
	lines := make([]planned, len(t.Rows))
	for i, row := range t.Rows {
		lines[i] = p.line(row)
	}
	return lines
}

type planner struct {
	table    exchange.Table
	mapping  Mapping
	common   ticket.CategoryID // of lines that name none
	register register
	ids      map[string]int // external ids, to their first line
	taken    map[int]int    // numbers of new tickets, to their first line
}

// line decides about one row; what is at fault with it is named as a whole.
func (p *planner) line(row exchange.Row) planned {
	l := planned{ImportLine: ImportLine{Line: row.Line}}
	if p.crooked(row) {
		l.fail("", 0, wrongWidth, map[string]any{"count": len(row.Cells), "want": len(p.table.Headings)})
		return l
	}
	var c checks
	l.ExternalID = c.text(colExternalID, p.mapping.cell(row.Cells, colExternalID), maxExternalID)
	known := p.known(row, l.ExternalID)
	if known == nil && l.ExternalID == "" {
		c.add(colExternalID, required)
	}
	if known != nil {
		l.ticket, l.order, l.want = known.id, known.order, known.terms
	}
	p.read(row, &l.want, known, &c)
	for _, f := range c.fields {
		l.fail(f.Name, p.mapping[f.Name], f.Code, nil)
	}
	p.once(&l)
	if known == nil {
		p.create(&l)
	} else {
		p.update(&l, known)
	}
	return l
}

func (l *planned) fail(member string, column int, code string, facts map[string]any) {
	l.Do = LeaveOut
	l.Errors = append(l.Errors, LineError{Member: member, Column: column, Code: code, Facts: facts})
}

// crooked: fewer cells than headings, or more, shift what stands in them. Separators
// at the end of a line that is complete do no harm.
func (p *planner) crooked(row exchange.Row) bool {
	want := len(p.table.Headings)
	return len(row.Cells) < want || slices.ContainsFunc(row.Cells[want:], func(cell string) bool { return cell != "" })
}

// known is the ticket that a row is about. Tickets that were issued here have no
// external id: in a table that was exported here, the number says which they are.
func (p *planner) known(row exchange.Row, external string) *standing {
	if external != "" {
		return p.register.external[external]
	}
	n, err := strconv.Atoi(p.mapping.cell(row.Cells, colNumber))
	if err != nil {
		return nil
	}
	if s := p.register.numbers[n]; s != nil && s.external == "" {
		return s
	}
	return nil
}

// read puts what the row says over what stands.
func (p *planner) read(row exchange.Row, w *terms, known *standing, c *checks) {
	cell := func(member string) (string, bool) {
		return p.mapping.cell(row.Cells, member), p.mapping[member] > 0
	}
	if text, _ := cell(colNumber); text != "" {
		w.number = c.number(colNumber, text, maxNumber)
	}
	before := w.category
	text, _ := cell(colCategory)
	p.category(w, known, c, text)
	if text, said := cell(colSeat); said {
		w.seat = c.text(colSeat, text, maxSeat)
	}
	if text, said := cell(colName); said {
		w.holder.Name = c.text(colName, text, maxName)
	}
	if text, said := cell(colEmail); said {
		w.holder.Email = c.email(colEmail, text)
	}
	if text, _ := cell(colAdmits); text != "" {
		w.admits = c.number(colAdmits, text, maxAdmits)
	} else if w.category != before {
		w.admits = p.admits(w.category)
	}
}

func (c *checks) number(name, text string, most int) int {
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		c.add(name, invalid)
		return 0
	case n < 1 || n > most:
		c.add(name, outOfRange)
		return 0
	}
	return n
}

// category finds what a cell names: a category by its name, in whatever case, or by
// its id. An empty one is the category that stands, or the common one, or the only one.
func (p *planner) category(w *terms, known *standing, c *checks, text string) {
	all := p.register.categories
	named := func(same func(Category) bool) bool {
		i := slices.IndexFunc(all, same)
		if i >= 0 {
			w.category = all[i].Category
		}
		return i >= 0
	}
	switch {
	case text == "" && known != nil:
	case text == "" && !p.common.IsZero():
		w.category = p.common
	case text == "" && len(all) == 1:
		w.category = all[0].Category
	case text == "":
		c.add(colCategory, required)
	case named(func(k Category) bool { return k.Name == text }),
		named(func(k Category) bool { return strings.EqualFold(k.Name, text) }),
		named(func(k Category) bool { return k.Category.String() == text }):
	default:
		c.add(colCategory, unknown)
	}
}

func (p *planner) admits(category ticket.CategoryID) int {
	for _, k := range p.register.categories {
		if k.Category == category {
			return k.Admits
		}
	}
	return 0
}

// once: the key of the import stands in a file once.
func (p *planner) once(l *planned) {
	if l.ExternalID == "" {
		return
	}
	if first, twice := p.ids[l.ExternalID]; twice {
		l.fail(colExternalID, p.mapping[colExternalID], twiceInFile, map[string]any{"first": first})
		return
	}
	p.ids[l.ExternalID] = l.Line
}

// create checks the number of a new ticket. One that a form keeps goes to the import:
// the ticket was sold, the form can have another.
func (p *planner) create(l *planned) {
	n, column := l.want.number, p.mapping[colNumber]
	l.Number = n
	if n > 0 {
		if has := p.register.numbers[n]; has != nil {
			l.fail(colNumber, column, numberTaken, map[string]any{"number": n, "external_id": has.external, "seat": has.seat})
		}
		if first, twice := p.taken[n]; twice {
			l.fail(colNumber, column, twiceInFile, map[string]any{"first": first})
		}
	}
	if l.Do == LeaveOut {
		return
	}
	l.Do = Create
	if n > 0 {
		p.taken[n] = l.Line
		l.Lease = p.register.leased[n]
	}
}

// update compares what stands with what the line says. A number is never given up,
// and what a ticket admits is settled once somebody has come in on it.
func (p *planner) update(l *planned, known *standing) {
	l.Number = known.number
	if w := l.want.number; w != known.number && w > 0 {
		l.fail(colNumber, p.mapping[colNumber], numberFixed, map[string]any{"number": known.number, "wanted": w})
	}
	if l.Do == LeaveOut {
		return
	}
	l.changed = l.want.difference(known.terms)
	switch {
	case len(l.changed) == 0:
		l.Do = Skip
	case l.ExternalID == "":
		l.fail(colExternalID, p.mapping[colExternalID], required, nil)
	case known.entries > 0 && (l.want.category != known.category || l.want.admits != known.admits):
		member := colAdmits
		if l.want.category != known.category {
			member = colCategory
		}
		l.fail(member, p.mapping[member], wasEntered, map[string]any{"entries": known.entries})
	default:
		l.Do = Update
	}
}

// difference names the members that differ.
func (w terms) difference(old terms) []string {
	var names []string
	note := func(name string, same bool) {
		if !same {
			names = append(names, name)
		}
	}
	note(colCategory, w.category == old.category)
	note(colSeat, w.seat == old.seat)
	note(colName, w.holder.Name == old.holder.Name)
	note(colEmail, w.holder.Email == old.holder.Email)
	note(colAdmits, w.admits == old.admits)
	return names
}
