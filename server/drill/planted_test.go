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
)

// planted are faults that somebody could make one day, each as a change of the
// source's text: the random lives have to find every one of them, in both forms of
// the act. A text that is no longer there exactly once fails the test; write the
// same fault anew for the source as it is then.
var planted = []struct {
	name    string
	changes []change
}{
	{"no lock", []change{
		{"server/admit/read.go", "WHERE id = ANY(@tickets) ORDER BY id FOR NO KEY UPDATE`", "WHERE id = ANY(@tickets) ORDER BY id`"},
		{"server/admit/read.go", "lockTickets + ` SKIP LOCKED`", "lockTickets"},
	}},
	{"the key is looked up after the rules", []change{
		{
			"server/ticket/decide.go", "\tif f.SameKey != nil {\n\t\treturn replay(s, f)\n\t}\n\tif !f.Assigned {",
			"\tif !f.Assigned {",
		},
		{
			"server/ticket/decide.go", "\td := forgive(s, f, checkUse(s, f))\n",
			"\tif f.SameKey != nil {\n\t\treturn replay(s, f)\n\t}\n\td := forgive(s, f, checkUse(s, f))\n",
		},
	}},
	{"the generation is not checked", []change{
		{"server/ticket/decide.go", "s.Code.Generation != f.Ticket.Generation && s.Code.Signs != SignsNothing", "false"},
	}},
	{"an undo does not count back", []change{
		{"server/admit/undo.go", "CASE WHEN @in THEN o.entries - @people ELSE o.entries END AS entries", "o.entries AS entries"},
	}},
	{"the admission is inserted before the update", []change{
		{
			"server/admit/admit.go", "\tbatch.Queue(update, args).QueryRow(",
			"\tbatch.Queue(insertAdmission, args)\n\tbatch.Queue(update, args).QueryRow(",
		},
		{"server/admit/admit.go", "\t})\n\tbatch.Queue(insertAdmission, args)\n", "\t})\n"},
		{"server/admit/many.go", "RETURNING d.*, t.event_id, t.entries, t.inside)", "RETURNING d.*, t.event_id)"},
		{
			"server/admit/many.go", "  entries, inside, kind, generation, nonce, moved_at, 'ordinary', passage\nFROM entered\n",
			"  (SELECT entries FROM tickets WHERE id = ticket_id), (SELECT inside FROM tickets WHERE id = ticket_id), kind, generation, nonce, moved_at, 'ordinary', passage\nFROM entered\n",
		},
	}},
}

// change replaces a text that occurs exactly once in a file.
type change struct{ file, text, by string }

// A fault is planted without a hook in the product: the compiler is told to read a
// changed copy of the file (go build -overlay).
func TestEachPlantedFaultIsFoundByTheRandomLives(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range planted {
		t.Run(strings.ReplaceAll(fault.name, " ", "_"), func(t *testing.T) {
			begun := time.Now()
			binary := plant(t, root, fault.changes)
			built := time.Since(begun)
			found := make([]string, len(forms))
			together(len(forms), func(i int) { found[i] = run(t, binary, forms[i].name) })
			for i, how := range found {
				if how == "" {
					t.Errorf("%s: not found in %d steps", forms[i].name, large(100_000, 1000))
				} else {
					t.Logf("%s: %s", forms[i].name, how)
				}
			}
			t.Logf("built in %.1f s, found in %.1f s", built.Seconds(), (time.Since(begun) - built).Seconds())
		})
	}
}

// plant builds this package's tests over the changed source.
func plant(t *testing.T, root string, changes []change) (binary string) {
	t.Helper()
	dir := t.TempDir()
	sources := map[string]string{}
	for _, c := range changes {
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
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for file, source := range sources {
		copied := filepath.Join(dir, filepath.Base(file))
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

// run lets the random lives live in one form, and gives their complaint.
func run(t *testing.T, binary, form string) (complaint string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-test.run", "^TestWhateverHappensToTicketsEveryAnswerAndRowIsAsTheModelSays$/^"+form+"$", "-rapid.shrinktime=1ms")
	said, err := cmd.CombinedOutput()
	if err == nil {
		return ""
	}
	_, after, ok := bytes.Cut(said, []byte("[rapid] "))
	for ok && !bytes.HasPrefix(after, []byte("failed")) && !bytes.HasPrefix(after, []byte("flaky")) { // a race need not happen twice
		_, after, ok = bytes.Cut(after, []byte("[rapid] "))
	}
	if !ok {
		t.Errorf("%s: the run failed otherwise than by its model: %v\n%s", form, err, said)
		return "?"
	}
	line, _, _ := bytes.Cut(after, []byte("\n"))
	return strings.ToValidUTF8(string(line), "?")
}
