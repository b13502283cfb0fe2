package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The shell plays the tests: what they would write into the folder of dumps.
const (
	clean  = `printf '\\.table s.t\n1\n' > "$PORTILLON_TEST_DUMP_DIR/a.dump"; printf MTIzNDU2Nzg= > "$PORTILLON_TEST_DUMP_DIR/a.secrets"`
	leaked = `printf '\\.table s.t\n12345678\n' > "$PORTILLON_TEST_DUMP_DIR/a.dump"; printf MTIzNDU2Nzg= > "$PORTILLON_TEST_DUMP_DIR/a.secrets"`
)

func TestTheCodeIsTheCommandsOrThatOfTheSearch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script  string
		partial bool
		code    int
	}{
		"a command that fails":            {clean + "; exit 7", false, 7},
		"a clean run":                     {clean, false, 0},
		"a leak":                          {leaked, false, 1},
		"nothing was searched":            {"true", false, 1},
		"nothing was searched, in a part": {"true", true, 0},
	} {
		code, err := run([]string{"sh", "-c", c.script}, c.partial)
		if code != c.code {
			t.Errorf("%s: the code is %d, %v", name, code, err)
		}
	}
}

func TestTheCommandGetsAServerAndNothingIsLeftOfIt(t *testing.T) {
	t.Parallel()
	seen := filepath.Join(t.TempDir(), "seen")
	code, err := run([]string{"sh", "-c", `printf '%s\n%s\n' "$PORTILLON_TEST_DATABASE_URL" "$PORTILLON_TEST_DUMP_DIR" > ` + seen}, true)
	if code != 0 || err != nil {
		t.Fatal(code, err)
	}
	text, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	url, dumps, _ := strings.Cut(string(text), "\n")
	if !strings.HasPrefix(url, "postgres://") {
		t.Errorf("the URL is %q", url)
	}
	if _, err := os.Stat(filepath.Dir(strings.TrimSpace(dumps))); err == nil {
		t.Errorf("%s is still there", dumps)
	}
}
