package exchange

import (
	"cmp"
	"encoding/csv"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"portillon/server/fault"
)

// What a file may hold at most.
const (
	MaxBytes   = 16 << 20
	MaxRows    = 20_000
	MaxColumns = 200
	MaxCell    = 4_000 // characters
)

// Options are what a person says about a file; what is empty is found out.
type Options struct {
	Encoding  Encoding
	Separator Separator
}

// Separator is what stands between cells, by its name.
type Separator string

// The separators that are read.
const (
	Comma     Separator = "comma"
	Semicolon Separator = "semicolon"
	Tab       Separator = "tab"
)

// Separators are all of them, in the order in which a form offers them.
var Separators = []Separator{Comma, Semicolon, Tab}

var signs = map[Separator]rune{Comma: ',', Semicolon: ';', Tab: '\t'}

func named(sign rune) Separator {
	for name, s := range signs {
		if s == sign {
			return name
		}
	}
	return ""
}

// Table is a file that was read.
type Table struct {
	Encoding  Encoding
	Separator Separator
	Headings  []string
	Rows      []Row
}

// Row is one line of a table. A row may end lines later than it begins: Line is
// where, from 1 and with the headings.
type Row struct {
	Line  int
	Cells []string
}

// Read reads a whole file. Faults, each with the line where there is one:
// import.workbook, import.encoding, import.separator, import.quotes, import.empty,
// import.columns, import.cell, import.rows.
func Read(raw []byte, o Options) (Table, error) {
	text, encoding, marked, err := decode(raw, o.Encoding)
	if err != nil {
		return Table{}, err
	}
	if !strings.Contains(text, "\n") {
		text = strings.ReplaceAll(text, "\r", "\n") // as old systems end lines
	}
	skipped := 0
	// Spreadsheets write and obey a first line that names the separator.
	if first, rest, found := strings.Cut(text, "\n"); found {
		if sign, ok := strings.CutPrefix(strings.TrimSuffix(first, "\r"), "sep="); ok && len(sign) == 1 {
			text, skipped = rest, 1
			o.Separator = cmp.Or(o.Separator, named(rune(sign[0])))
		}
	}
	t := Table{Encoding: encoding, Separator: o.Separator}
	if t.Separator == "" {
		if t.Separator, err = separator(text); err != nil {
			return Table{}, err
		}
	}
	if signs[t.Separator] == 0 {
		return Table{}, fault.Fields(fault.Field{Name: "separator", Code: "unknown"})
	}
	return t, t.read(text, skipped, marked)
}

// read fills the table; what it has read when it fails is of no use.
func (t *Table) read(text string, skipped int, marked bool) error {
	reader := csv.NewReader(strings.NewReader(text))
	reader.Comma = signs[t.Separator]
	reader.FieldsPerRecord = -1 // a short line is the fault of one ticket, not of the file
	for {
		cells, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return malformed(err, skipped)
		}
		line, _ := reader.FieldPos(0)
		row := Row{Line: line + skipped, Cells: cells}
		if err := row.tidy(marked); err != nil {
			return err
		}
		switch {
		case row.blank():
		case t.Headings == nil:
			t.Headings = row.Cells
		case len(t.Rows) == MaxRows:
			return at(row.Line, fault.New(fault.Invalid, "import.rows", "the file has more than %d lines; split it", MaxRows).Fact("limit", MaxRows))
		default:
			t.Rows = append(t.Rows, row)
		}
	}
	if len(t.Rows) == 0 {
		return fault.New(fault.Invalid, "import.empty", "the file holds no line besides its headings")
	}
	return nil
}

// tidy puts the cells into the form in which they are compared, and takes the mark
// of text off where the flavour for spreadsheets has put it.
func (r Row) tidy(marked bool) error {
	if len(r.Cells) > MaxColumns {
		return at(r.Line, fault.New(fault.Invalid, "import.columns", "line %d has more than %d columns", r.Line, MaxColumns).Fact("limit", MaxColumns))
	}
	for i, cell := range r.Cells {
		if utf8.RuneCountInString(cell) > MaxCell {
			return at(r.Line, fault.New(fault.Invalid, "import.cell", "line %d, column %d: the cell has more than %d characters; is a quotation mark missing?", r.Line, i+1, MaxCell).
				Fact("column", i+1).Fact("limit", MaxCell))
		}
		if marked {
			cell = bare(cell)
		}
		r.Cells[i] = strings.TrimSpace(norm.NFC.String(cell))
	}
	return nil
}

func (r Row) blank() bool {
	for _, cell := range r.Cells {
		if cell != "" {
			return false
		}
	}
	return true
}

func at(line int, e *fault.Error) error { return e.Fact("line", line) }

func malformed(err error, skipped int) error {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return err
	}
	line := parse.Line + skipped
	begun := parse.StartLine + skipped
	return at(line, fault.New(fault.Invalid, "import.quotes", "line %d, character %d: a quotation mark stands where none can; the row begins in line %d", line, parse.Column, begun).
		Fact("column", parse.Column).Fact("begins", begun).With(err))
}

// separator is the one that stands most often between the headings.
func separator(text string) (Separator, error) {
	counts, quoted, begun := map[Separator]int{}, false, false
	for _, r := range text {
		if r == '\n' && begun && !quoted {
			break
		}
		begun = begun || r != '\n' && r != '\r'
		if r == '"' {
			quoted = !quoted
		}
		if quoted {
			continue
		}
		if name := named(r); name != "" {
			counts[name]++
		}
	}
	best, second := Comma, 0
	for _, s := range Separators {
		switch n := counts[s]; {
		case n > counts[best]:
			best, second = s, counts[best]
		case s != best && n > second:
			second = n
		}
	}
	if counts[best] > 0 && counts[best] == second {
		return "", at(1, fault.New(fault.Invalid, "import.separator", "line 1 could be separated in two ways; say which"))
	}
	return best, nil
}
