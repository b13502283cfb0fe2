package exchange_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"pgregory.net/rapid"

	"portillon/server/exchange"
	"portillon/server/fault"
)

func TestTheEncodingIsFoundOutOrRefusedWithTheLine(t *testing.T) {
	const czech, french = "id,name\n1,Jiří Dvořák\n2,Žofie Čechová\n", "id,name\n1,Zoë\n2,Hélène à Angoulême\n"
	coded := func(page *charmap.Charmap, text string) string {
		coded, err := page.NewEncoder().String(text)
		if err != nil {
			t.Fatal(err)
		}
		return coded
	}
	wide := func(order unicode.Endianness, text string) string {
		coded, err := unicode.UTF16(order, unicode.UseBOM).NewEncoder().String(text)
		if err != nil {
			t.Fatal(err)
		}
		return coded
	}
	for name, c := range map[string]struct {
		file   string
		chosen exchange.Encoding
		is     exchange.Encoding
		text   string
		code   string
		line   int
	}{
		"UTF-8":                     {file: czech, is: exchange.UTF8, text: czech},
		"UTF-8 with a mark":         {file: "\xef\xbb\xbf" + czech, is: exchange.UTF8, text: czech},
		"UTF-16, little":            {file: wide(unicode.LittleEndian, czech), is: exchange.UTF16, text: czech},
		"UTF-16, big":               {file: wide(unicode.BigEndian, czech), is: exchange.UTF16, text: czech},
		"Windows-1250":              {file: coded(charmap.Windows1250, czech), is: exchange.Windows1250, text: czech},
		"Windows-1252":              {file: coded(charmap.Windows1252, french), is: exchange.Windows1252, text: french},
		"the same in both":          {file: "id,name\n1,Andr\xe9\n", is: exchange.Windows1252, text: "id,name\n1,André\n"},
		"č or è":                    {file: "id,name\n1,Eva\n2,\xe8\n", code: "import.encoding", line: 3},
		"č, chosen":                 {file: "id,name\n2,\xe8\n", chosen: exchange.Windows1250, is: exchange.Windows1250, text: "id,name\n2,č\n"},
		"chosen wrongly":            {file: "id,name\n1,Eva\n2,\xe8\n", chosen: exchange.UTF8, code: "import.encoding", line: 3},
		"a byte that means nothing": {file: "id,name\n1,\x81\n", chosen: exchange.Windows1252, code: "import.encoding", line: 2},
		"UTF-16 without its mark":   {file: wide(unicode.LittleEndian, "id,n\n1,2\n")[2:], code: "import.encoding", line: 1},
		"half a character":          {file: wide(unicode.LittleEndian, czech) + "x", code: "import.encoding", line: 4},
		"UTF-16 where none is":      {file: czech, chosen: exchange.UTF16, code: "import.encoding", line: 1},
		"a workbook":                {file: "PK\x03\x04...", code: "import.workbook"},
		"an encoding of its own":    {file: czech, chosen: "ebcdic", code: "request.fields"},
	} {
		table, err := exchange.Read([]byte(c.file), exchange.Options{Encoding: c.chosen})
		if c.code != "" {
			refused(t, name, err, c.code, c.line)
			continue
		}
		if err != nil || table.Encoding != c.is {
			t.Errorf("%s: %q, %v", name, table.Encoding, err)
			continue
		}
		want, err := exchange.Read([]byte(c.text), exchange.Options{Encoding: exchange.UTF8})
		if err != nil || !reflect.DeepEqual(table.Rows, want.Rows) {
			t.Errorf("%s: %v, want %v, %v", name, table.Rows, want.Rows, err)
		}
	}
}

func refused(t *testing.T, name string, err error, code string, line int) {
	t.Helper()
	var e *fault.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("%s: %v, want %s", name, err, code)
		return
	}
	if got, _ := e.Facts["line"].(int); got != line {
		t.Errorf("%s: line %d, want %d", name, got, line)
	}
}

func TestATableIsReadWithTheLinesAtWhichItsRowsBegin(t *testing.T) {
	for name, c := range map[string]struct {
		file      string
		separator exchange.Separator
		rows      []exchange.Row
	}{
		"commas":                  {"a,b\n1,2\n", exchange.Comma, []exchange.Row{{2, []string{"1", "2"}}}},
		"semicolons, with commas": {"a;b\n1,5;2\n", exchange.Semicolon, []exchange.Row{{2, []string{"1,5", "2"}}}},
		"tabs":                    {"a\tb\n1\t2\n", exchange.Tab, []exchange.Row{{2, []string{"1", "2"}}}},
		"separators in quotes":    {"\"a;;;\",b\n1,2\n", exchange.Comma, []exchange.Row{{2, []string{"1", "2"}}}},
		"a line in a cell":        {"a,b\n\"x\ny\",2\n3,4\n", exchange.Comma, []exchange.Row{{2, []string{"x\ny", "2"}}, {4, []string{"3", "4"}}}},
		"quotes in quotes":        {"a,b\n\"say \"\"no\"\"\",2\n", exchange.Comma, []exchange.Row{{2, []string{`say "no"`, "2"}}}},
		"sep=":                    {"sep=;\na;b\n1;2\n", exchange.Semicolon, []exchange.Row{{3, []string{"1", "2"}}}},
		"empty lines":             {"\na,b\n\n,\n1,2\n", exchange.Comma, []exchange.Row{{5, []string{"1", "2"}}}},
		"old line ends":           {"a,b\r1,2\r", exchange.Comma, []exchange.Row{{2, []string{"1", "2"}}}},
		"one column":              {"a\n1,2\n", exchange.Comma, []exchange.Row{{2, []string{"1", "2"}}}},
		"space around":            {"a,b\n 1 ,e\u0301\n", exchange.Comma, []exchange.Row{{2, []string{"1", "é"}}}},
	} {
		table, err := exchange.Read([]byte(c.file), exchange.Options{})
		if err != nil || table.Separator != c.separator || !reflect.DeepEqual(table.Rows, c.rows) {
			t.Errorf("%s: %s %v, %v", name, table.Separator, table.Rows, err)
		}
	}
}

func TestAFileThatCannotBeReadIsRefusedWithTheLineAndACode(t *testing.T) {
	for name, c := range map[string]struct {
		file, code string
		line       int
	}{
		"nothing":                {"", "import.empty", 0},
		"headings only":          {"a,b\n", "import.empty", 0},
		"two separators":         {"a,b;c\n1,2;3\n", "import.separator", 1},
		"a quote inside":         {"a,b\n1,2\n1,x\"y\n", "import.quotes", 3},
		"a quote without end":    {"a,b\n1,\"x\n3,4\n", "import.quotes", 3},
		"a cell without end":     {"a,b\n1," + strings.Repeat("x", exchange.MaxCell+1) + "\n", "import.cell", 2},
		"columns without end":    {"a,b\n1" + strings.Repeat(",", exchange.MaxColumns) + "\n", "import.columns", 2},
		"more lines than it may": {"a\n" + strings.Repeat("1\n", exchange.MaxRows+1), "import.rows", exchange.MaxRows + 2},
	} {
		_, err := exchange.Read([]byte(c.file), exchange.Options{})
		refused(t, name, err, c.code, c.line)
	}
}

// T99
func TestWhatIsWrittenInEitherFlavourIsReadBackCellByCell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		flavour := rapid.SampledFrom([]exchange.Flavour{exchange.Machine, exchange.Spreadsheet}).Draw(t, "flavour")
		language := rapid.SampledFrom([]string{"en", "fr", "cs"}).Draw(t, "language")
		cell := rapid.StringMatching(`[a-zčé"',;=+@'-]{1,8}|[=+'@-][a-z;,"']{0,4}|x\ny`)
		rows := rapid.SliceOfN(rapid.SliceOfN(cell, 3, 3), 1, 6).Draw(t, "rows")
		var out bytes.Buffer
		w, err := exchange.NewWriter(&out, flavour, language)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range append([][]string{{"one", "two", "three"}}, rows...) {
			if err := w.Write(append([]string{}, row...)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if marked := bytes.HasPrefix(out.Bytes(), []byte("\xef\xbb\xbf")); marked != (flavour == exchange.Spreadsheet) {
			t.Fatalf("a mark: %v", marked)
		}
		table, err := exchange.Read(out.Bytes(), exchange.Options{})
		if err != nil {
			t.Fatalf("%v of\n%s", err, out.String())
		}
		if len(table.Rows) != len(rows) {
			t.Fatalf("%d rows of %d", len(table.Rows), len(rows))
		}
		for i, row := range table.Rows {
			if !reflect.DeepEqual(row.Cells, rows[i]) {
				t.Fatalf("%q became %q", rows[i], row.Cells)
			}
		}
	})
}

func TestNoCellForSpreadsheetsBeginsAsAFormula(t *testing.T) {
	var out bytes.Buffer
	w, err := exchange.NewWriter(&out, exchange.Spreadsheet, "cs")
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Write([]string{"=1+1", "+420", "-5", "@SUM", "'=x", "a=b"})
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "\xef\xbb\xbf'=1+1;'+420;'-5;'@SUM;''=x;a=b\r\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
