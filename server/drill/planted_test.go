package drill_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"portillon/server/pgtest"
)

// faultName names, in the environment, the planted fault that is there.
const faultName = "DRILL_FAULT"

// planted are faults that somebody could make one day: the random lives have to find
// every one of them. A fault is a change of the source's text that makes it depend on
// whether the fault is there, so that one build holds them all. A text that is no
// longer there exactly once fails the test; write the same fault anew for the source as
// it is then.
var planted = []struct {
	name    string
	changes []change
}{
	{"no_lock", []change{
		{
			"server/admit/read.go", "queue(batch, lock, args, func(t ticketRow)",
			`queue(batch, otherwise(otherwise(lock, "no_lock", " FOR NO KEY UPDATE", ""), "no_lock", " SKIP LOCKED", ""), args, func(t ticketRow)`,
		},
	}},
	{"the_key_is_looked_up_after_the_rules", []change{
		{
			"server/ticket/decide.go", "\tif f.SameKey != nil {\n\t\treturn replay(s, f)\n\t}\n\tif !f.Assigned {",
			"\tif f.SameKey != nil && planted != \"the_key_is_looked_up_after_the_rules\" {\n\t\treturn replay(s, f)\n\t}\n\tif !f.Assigned {",
		},
		{
			"server/ticket/decide.go", "\td := forgive(s, f, checkUse(s, f))\n",
			"\tif f.SameKey != nil {\n\t\treturn replay(s, f)\n\t}\n\td := forgive(s, f, checkUse(s, f))\n",
		},
	}},
	{"the_generation_is_not_checked", []change{
		{
			"server/ticket/decide.go", "s.Code.Generation != f.Ticket.Generation && s.Code.Signs != SignsNothing",
			`planted != "the_generation_is_not_checked" && s.Code.Generation != f.Ticket.Generation && s.Code.Signs != SignsNothing`,
		},
	}},
	{"an_undo_does_not_count_back", []change{
		{
			"server/admit/undo.go", "tx.QueryRow(ctx, takeBackFrom, ",
			`tx.QueryRow(ctx, otherwise(takeBackFrom, "an_undo_does_not_count_back", "CASE WHEN @in THEN o.entries - @people ELSE o.entries END AS entries", "o.entries AS entries"), `,
		},
	}},
	{"the_admission_is_inserted_before_the_update", []change{
		{
			"server/admit/admit.go", "\tbatch.Queue(update, args).QueryRow(",
			"\tif planted == \"the_admission_is_inserted_before_the_update\" {\n\t\tbatch.Queue(insertAdmission, args)\n\t}\n\tbatch.Queue(update, args).QueryRow(",
		},
		{
			"server/admit/admit.go", "\t})\n\tbatch.Queue(insertAdmission, args)\n",
			"\t})\n\tif planted != \"the_admission_is_inserted_before_the_update\" {\n\t\tbatch.Queue(insertAdmission, args)\n\t}\n",
		},
		{
			"server/admit/engine.go", "second.Queue(enterMany, entriesOf(entering))",
			`second.Queue(otherwise(otherwise(enterMany, "the_admission_is_inserted_before_the_update", "RETURNING d.*, t.event_id, t.entries, t.inside)", "RETURNING d.*, t.event_id)"),
				"the_admission_is_inserted_before_the_update", "  entries, inside, kind, generation, nonce, moved_at, 'ordinary', passage\nFROM entered\n",
				"  (SELECT entries FROM tickets WHERE id = ticket_id), (SELECT inside FROM tickets WHERE id = ticket_id), kind, generation, nonce, moved_at, 'ordinary', passage\nFROM entered\n"), entriesOf(entering))`,
		},
	}},
}

// change replaces a text that occurs exactly once in a file.
type change struct{ file, text, by string }

// help is what the changed source calls, in a file of its own in each of the packages.
const help = `
import (
	"os"
	"strings"
)

var planted = os.Getenv("` + faultName + `")

// otherwise changes a statement where the fault is there.
func otherwise(statement, name, text, by string) string {
	if planted != name {
		return statement
	}
	return strings.Replace(statement, text, by, 1)
}

var _ = otherwise
`

// A fault is planted without a hook in the product: the compiler is told to read a
// changed copy of the file (go build -overlay).
func TestEachPlantedFaultIsFoundByTheRandomLives(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	binary := plant(t, root)
	t.Logf("built in %.1f s", time.Since(begun).Seconds())
	database := pgtest.New(t, pgtest.Empty()).URL // so that none of them starts a server of its own
	for _, form := range forms() {
		for _, fault := range planted {
			t.Run(form.name+"/"+fault.name, func(t *testing.T) {
				t.Parallel()
				begun := time.Now()
				if how := run(t, binary, database, form, fault.name); how == "" {
					t.Errorf("not found by the random lives")
				} else {
					t.Logf("found in %.1f s: %s", time.Since(begun).Seconds(), how)
				}
			})
		}
	}
}

// plant builds this package's tests over the changed source.
func plant(t *testing.T, root string) (binary string) {
	t.Helper()
	dir := t.TempDir()
	sources := map[string]string{}
	for _, fault := range planted {
		for _, c := range fault.changes {
			if sources[c.file] == "" {
				source, err := os.ReadFile(filepath.Join(root, c.file))
				if err != nil {
					t.Fatal(err)
				}
				sources[c.file] = string(source)
			}
			if n := strings.Count(sources[c.file], c.text); n != 1 {
				t.Fatalf("%s has %d times, and not once:\n%s\nplant the fault anew in the source as it is now", c.file, n, c.text)
			}
			sources[c.file] = strings.Replace(sources[c.file], c.text, c.by, 1)
		}
	}
	for _, of := range []string{"admit", "ticket"} {
		sources["server/"+of+"/planted.go"] = "package " + of + "\n" + help
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for file, source := range sources {
		copied := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(copied, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(root, file)] = copied
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	written := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(written, list, 0o600); err != nil {
		t.Fatal(err)
	}
	binary = filepath.Join(dir, "planted.test")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-overlay", written, "-o", binary, "./server/drill")
	cmd.Dir = root
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the faulty product: %v\n%s", err, said)
	}
	return binary
}

// run lets the random lives live with a fault, and gives their first complaint.
func run(t *testing.T, binary, database string, of pair, fault string) (complaint string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-test.run", "^TestWhateverHappensToTicketsEveryAnswerAndRowIsAsTheModelSays$/^"+of.name+"$", "-rapid.shrinktime=1ms")
	cmd.Env = append(os.Environ(), faultName+"="+fault, pgtest.DatabaseURL+"="+database)
	said, err := cmd.CombinedOutput()
	if err == nil {
		return ""
	}
	_, after, ok := bytes.Cut(said, []byte("[rapid] "))
	for ok && !bytes.HasPrefix(after, []byte("failed")) && !bytes.HasPrefix(after, []byte("flaky")) { // a race need not happen twice
		_, after, ok = bytes.Cut(after, []byte("[rapid] "))
	}
	if !ok {
		t.Errorf("the run failed otherwise than by its model: %v\n%s", err, said)
		return "?"
	}
	line, _, _ := bytes.Cut(after, []byte("\n"))
	return strings.ToValidUTF8(string(line), "?")
}
