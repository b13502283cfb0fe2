package exchange

import (
	"encoding/csv"
	"io"
	"regexp"

	"portillon/server/fault"
)

// Flavour is for whom a table is written.
type Flavour string

// Machine: UTF-8, commas, cells as they are. Spreadsheet: with a byte order mark,
// the separator that the language's spreadsheets expect, and an apostrophe before
// each cell that would be a formula.
const (
	Machine     Flavour = "machine"
	Spreadsheet Flavour = "spreadsheet"
)

// ParseFlavour reads a flavour; empty is Machine.
func ParseFlavour(text string) (Flavour, error) {
	switch f := Flavour(text); f {
	case "":
		return Machine, nil
	case Machine, Spreadsheet:
		return f, nil
	}
	return "", fault.Fields(fault.Field{Name: "flavour", Code: "unknown"})
}

// formula is what a spreadsheet calculates, or what bare would take for a cell that
// harmless has changed. The wide signs are what some of them take for the narrow.
var formula = regexp.MustCompile(`^'*[=+\-@\t\r＝＋－＠]`)

func harmless(cell string) string {
	if formula.MatchString(cell) {
		return "'" + cell
	}
	return cell
}

// bare takes back what harmless has done.
func bare(cell string) string {
	if len(cell) > 1 && cell[0] == '\'' && formula.MatchString(cell) {
		return cell[1:]
	}
	return cell
}

// Writer writes a table row by row and keeps none of it.
type Writer struct {
	flavour Flavour
	csv     *csv.Writer
}

// NewWriter begins a table. Language is "en", "fr" or "cs": where the comma stands
// in numbers, spreadsheets expect semicolons between cells.
func NewWriter(w io.Writer, flavour Flavour, language string) (*Writer, error) {
	out := &Writer{flavour: flavour, csv: csv.NewWriter(w)}
	if flavour == Machine {
		return out, nil
	}
	if language != "en" {
		out.csv.Comma = ';'
	}
	out.csv.UseCRLF = true
	_, err := io.WriteString(w, markUTF8)
	return out, err
}

// Write adds a row. It changes the cells.
func (w *Writer) Write(cells []string) error {
	if w.flavour == Spreadsheet {
		for i := range cells {
			cells[i] = harmless(cells[i])
		}
	}
	return w.csv.Write(cells)
}

// Flush passes on what is waiting.
func (w *Writer) Flush() error {
	w.csv.Flush()
	return w.csv.Error()
}
