package server_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// This file is the map of the walls: which package may know which. It is read
// from the sources, so it cannot be out of date. Moving a wall means changing a
// row here and the page that explains it (doc.go).

// where says in which files of a package something may be used.
type where int

const (
	nowhere   where = iota
	inHTTP          // in files named http.go only
	notInHTTP       // in all files but those named http.go
	anywhere
)

// row is what one package may know. What a row does not say is forbidden; tests
// have more freedom (inTests).
type row struct {
	folder string
	// may are the folders of ours that it may import.
	may string
	// echo is the web framework; it may be replaced, so few files know it.
	echo where
	// sql are pgx, database/sql and the job queue.
	sql where
	// machine is the clock and the environment of the process.
	machine where
	// pure packages know neither HTTP nor a database nor the network.
	pure bool
}

// common is what every capability stands on.
const common = "server/ticket wallet nonce server/audit server/post server/session server/rights server/problem " +
	"server/locale server/pg server/fault server/repeat server/seal server/keyring server/wire server/news server/useragent server/crowd server/exchange"

var table = []row{
	// Programs. The only place that reads the clock and the environment.
	{folder: "cmd/portillon", may: "server server/client server/load server/issue server/challenge server/session server/keyring server/repeat migrations nonce web " +
		"server/ticket server/rights server/pg server/fault server/locale server/seal server/audit server/post wallet", sql: anywhere, machine: anywhere},

	// The server builds everything and mounts it.
	{folder: "server", may: capabilities + " " + common + " server/client web migrations", echo: anywhere, sql: anywhere},

	// Capabilities: each is somebody's right, and none knows another.
	{folder: "server/issue", may: common, echo: inHTTP, sql: notInHTTP},
	{folder: "server/claim", may: common, echo: inHTTP, sql: notInHTTP},
	{folder: "server/challenge", may: common, echo: inHTTP, sql: notInHTTP},
	{folder: "server/admit", may: common, echo: inHTTP, sql: notInHTTP},
	{folder: "server/offline", may: common + " server/admit", echo: inHTTP, sql: notInHTTP},
	{folder: "server/report", may: common, echo: inHTTP, sql: notInHTTP},

	// The heart: rules and codes, as functions of what they are given.
	{folder: "server/ticket", pure: true},
	{folder: "wallet", pure: true},
	{folder: "nonce", may: "server/ticket server/pg server/fault server/seal", sql: anywhere},

	// What capabilities stand on.
	{folder: "server/fault", pure: true},
	{folder: "server/rights", may: "server/ticket server/fault", pure: true},
	{folder: "server/seal", may: "server/fault", pure: true},
	{folder: "server/exchange", may: "server/fault", pure: true},
	{folder: "server/useragent", pure: true},
	{folder: "server/crowd", pure: true},
	{folder: "server/locale", may: "server/ticket server/fault web/locales"},
	{folder: "server/pg", may: "server/fault migrations", sql: anywhere, machine: anywhere},
	{folder: "server/audit", may: "server/ticket server/rights server/pg server/fault", sql: anywhere},
	{folder: "server/repeat", may: "server/ticket server/rights server/pg server/fault", sql: anywhere},
	{folder: "server/news", may: "server/ticket server/pg server/fault", sql: anywhere},
	{folder: "server/keyring", may: "server/ticket server/rights server/session server/audit server/pg server/fault server/seal wallet", sql: anywhere},
	{folder: "server/session", may: "server/ticket server/rights server/audit server/repeat server/pg server/fault server/seal server/problem server/wire server/locale server/useragent server/crowd", echo: anywhere, sql: anywhere},
	{folder: "server/post", may: "server/ticket server/rights server/audit server/pg server/fault server/seal server/keyring server/locale wallet", sql: anywhere},
	{folder: "server/problem", may: "server/fault server/locale", echo: anywhere},
	{folder: "server/wire", may: "server/ticket server/fault server/repeat server/exchange server/locale", echo: anywhere},
	{folder: "migrations"},

	// The other side of the wire.
	{folder: "server/client", may: "server/ticket server/fault wallet"},

	// Measuring.
	{folder: "server/load", may: "server " + capabilities + " " + common, sql: anywhere, machine: anywhere},

	// For tests only: nothing else lists them.
	{folder: "server/pgtest", may: "server/pg server/fault server/pgtest/leak migrations", sql: anywhere, machine: anywhere},
	{folder: "server/pgtest/leak"},
	{folder: "server/pgtest/run", may: "server/pg server/pgtest server/pgtest/leak", machine: anywhere},
	{folder: "server/pgtest/leaks", may: "server/pgtest/leak", machine: anywhere},
	{folder: "server/servertest", may: "server server/client server/pgtest " + capabilities + " " + common + " web", sql: anywhere, machine: anywhere},
	{folder: "server/drill", may: "server"},

	// The pages.
	{folder: "web", may: "web/locales web/internal/manifest"},
	{folder: "web/locales", pure: true},
	{folder: "web/internal/manifest", pure: true},
	{folder: "web/internal/webbuild", may: "web/internal/manifest"},
	{folder: "web/pagetest", may: "web"},
}

const capabilities = "server/issue server/claim server/challenge server/admit server/offline server/report"

// inTests is what the tests of any package may import besides. Go itself
// refuses cycles. Libraries are free to tests.
const inTests = "server/pgtest server/pgtest/leak server/servertest server/client server/ticket server/pg server/fault server/rights " +
	"server/session server/issue server/post server/audit server/seal nonce wallet migrations web web/locales"

const module = "portillon/"

func TestEveryPackageKnowsOnlyWhatItsRowAllows(t *testing.T) {
	complaints, packages := check(t, os.DirFS(".."))
	for _, complaint := range complaints {
		t.Error(complaint)
	}
	if len(packages) < 10 {
		t.Errorf("read only %d packages: %v", len(packages), packages)
	}
}

func TestTheTableKeepsCapabilitiesApartButOfflineFromAdmit(t *testing.T) {
	for _, row := range table {
		if !slices.Contains(strings.Fields(capabilities), row.folder) {
			continue
		}
		for other := range strings.FieldsSeq(row.may) {
			allowed := row.folder == "server/offline" && other == "server/admit"
			if slices.Contains(strings.Fields(capabilities), other) && !allowed {
				t.Errorf("%s may import %s", row.folder, other)
			}
		}
	}
}

func TestTheTableNamesEachFolderOnceAndOnlyFoldersThatHaveRows(t *testing.T) {
	known := map[string]bool{}
	for _, row := range table {
		if known[row.folder] {
			t.Errorf("%s has two rows", row.folder)
		}
		known[row.folder] = true
	}
	for _, row := range table {
		for other := range strings.FieldsSeq(row.may) {
			if !known[other] {
				t.Errorf("%s may import %s, which has no row", row.folder, other)
			}
		}
	}
}

// TestThePlantedViolationIsFound shows for each rule that the check can fail.
func TestThePlantedViolationIsFound(t *testing.T) {
	for name, planted := range map[string]struct{ file, code, want string }{
		"a package without a row":            {"server/helper/x.go", `package helper`, "add a row"},
		"a capability that knows another":    {"server/admit/x.go", `package admit; import _ "portillon/server/claim"`, "imports server/claim"},
		"a package of tests in a product":    {"server/admit/x.go", `package admit; import _ "portillon/server/pgtest"`, "imports server/pgtest"},
		"echo outside http.go":               {"server/admit/admit.go", `package admit; import _ "github.com/labstack/echo/v4"`, "labstack/echo"},
		"pgx in http.go":                     {"server/admit/http.go", `package admit; import _ "github.com/jackc/pgx/v5"`, "jackc/pgx"},
		"database/sql in the wire":           {"server/wire/x.go", `package wire; import _ "database/sql"`, "database/sql"},
		"HTTP in the heart":                  {"server/ticket/x.go", `package ticket; import _ "net/http"`, "net/http"},
		"the clock in the heart":             {"wallet/x.go", `package wallet; import "time"; var _ = time.Now`, "time.Now"},
		"the clock under another name":       {"server/admit/x.go", `package admit; import clock "time"; func f(t clock.Time) { _ = clock.Since(t) }`, "time.Since"},
		"the environment in a service":       {"server/x.go", `package server; import "os"; var _ = os.Getenv("X")`, "os.Getenv"},
		"names without their package":        {"server/x.go", `package server; import . "time"; var _ = Now`, "dot import"},
		"a test that knows a foreign inside": {"server/admit/x_test.go", `package admit; import _ "portillon/server/claim"`, "imports server/claim"},
		"a file that is no Go":               {"server/x.go", `packag server`, "expected 'package'"},
	} {
		complaints, _ := check(t, fstest.MapFS{planted.file: {Data: []byte(planted.code)}})
		if len(complaints) != 1 || !strings.Contains(complaints[0], planted.want) {
			t.Errorf("%s: want one complaint with %q, got %q", name, planted.want, complaints)
		}
	}
}

func TestWhatIsAllowedIsNotComplainedAbout(t *testing.T) {
	complaints, packages := check(t, fstest.MapFS{
		"server/admit/http.go":        {Data: []byte(`package admit; import (_ "github.com/labstack/echo/v4"; _ "portillon/server/ticket")`)},
		"server/admit/admit.go":       {Data: []byte(`package admit; import (_ "github.com/jackc/pgx/v5"; "time"); var _ time.Duration`)},
		"server/admit/admit_test.go":  {Data: []byte(`package admit_test; import (_ "portillon/server/admit"; _ "portillon/server/pgtest"; "time"); var _ = time.Now`)},
		"server/offline/offline.go":   {Data: []byte(`package offline; import _ "portillon/server/admit"`)},
		"cmd/portillon/main.go":       {Data: []byte(`package main; import ("os"; _ "portillon/server"); var _ = os.Getenv("X")`)},
		"web/node_modules/x/y.go":     {Data: []byte(`package y`)},
		"server/admit/testdata/z.go":  {Data: []byte(`package z`)},
		".ci/tools/vulncheck/main.go": {Data: []byte(`package main`)},
	})
	if len(complaints) > 0 || len(packages) != 3 {
		t.Errorf("complaints %q, packages %v", complaints, packages)
	}
}

// check reads all Go files below root and returns what breaks the table, and
// the folders that it read.
func check(t *testing.T, root fs.FS) (complaints, packages []string) {
	t.Helper()
	rows := map[string]row{}
	for _, row := range table {
		rows[row.folder] = row
	}
	err := fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || entry.Name() == "node_modules"):
			return fs.SkipDir
		case path.Ext(file) != ".go":
			return nil
		}
		folder := path.Dir(file)
		if !slices.Contains(packages, folder) {
			packages = append(packages, folder)
		}
		row, found := rows[folder]
		if !found {
			complaints = append(complaints, fmt.Sprintf("%s: %s is not in the table of imports_test.go: add a row", file, folder))
			return nil
		}
		source, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		complaints = append(complaints, row.check(file, source)...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return complaints, packages
}

// check returns what one file does that its row does not allow.
func (r row) check(file string, source []byte) (complaints []string) {
	tree, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	test := strings.HasSuffix(file, "_test.go")
	names := map[string]string{} // of time and os in this file, to the path
	for _, spec := range tree.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return []string{err.Error()}
		}
		if complaint := r.refuses(imported, file, test); complaint != "" {
			complaints = append(complaints, file+" "+complaint)
		}
		if spec.Name != nil && spec.Name.Name == "." {
			complaints = append(complaints, file+" has a dot import of "+imported)
		}
		names[nameOf(spec, imported)] = imported
	}
	if !test && r.machine != anywhere {
		complaints = append(complaints, machineCalls(tree, names, file)...)
	}
	return complaints
}

// refuses says why this row does not let the file import that path; "" if it does.
func (r row) refuses(imported, file string, test bool) string {
	if folder, ours := strings.CutPrefix(imported, module); ours {
		allowed := strings.Fields(r.may)
		if test {
			allowed = append(allowed, append(strings.Fields(inTests), r.folder)...)
		}
		if !slices.Contains(allowed, folder) {
			return "imports " + folder
		}
		return ""
	}
	if test {
		return ""
	}
	http := path.Base(file) == "http.go"
	switch {
	case within(imported, "github.com/labstack/echo") && !r.echo.has(http),
		within(imported, "github.com/jackc/pgx", "database/sql", "github.com/riverqueue/river") && !r.sql.has(http),
		within(imported, "net") && r.pure && imported != "net/url" && imported != "net/netip" && imported != "net/mail":
		return "imports " + imported
	}
	return ""
}

func (w where) has(http bool) bool {
	return w == anywhere || w == inHTTP && http || w == notInHTTP && !http
}

// within says whether a path is one of the given ones or below it.
func within(imported string, paths ...string) bool {
	return slices.ContainsFunc(paths, func(p string) bool { return imported == p || strings.HasPrefix(imported, p+"/") })
}

// nameOf is the name by which a file calls an import.
func nameOf(spec *ast.ImportSpec, imported string) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	return path.Base(imported)
}

// machineCalls finds uses of the clock and of the environment.
func machineCalls(tree *ast.File, names map[string]string, file string) (complaints []string) {
	ast.Inspect(tree, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, ok := selector.X.(*ast.Ident)
		if !ok {
			return true
		}
		switch use := names[pkg.Name] + "." + selector.Sel.Name; use {
		case "time.Now", "time.Since", "time.Until", "os.Getenv", "os.LookupEnv", "os.Environ":
			complaints = append(complaints, file+" uses "+use)
		}
		return true
	})
	return complaints
}
