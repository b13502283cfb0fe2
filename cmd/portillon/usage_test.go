package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCommandLinesThatMakeNoSenseExitWithTwoAndSayWhy(t *testing.T) {
	gate := newKey().String()
	for line, says := range map[string]string{
		"scan":                      "missing flags: --gate",
		"scan --gate " + gate:       `expected "<code>"`,
		"scan --gate G --token t X": "36 characters",
		"nonsense":                  "unexpected argument nonsense",
		"scan --token t --gate " + gate + " --direction up X": "must be one of",
		"event list": "--token is missing",
		"event list --token t --url tickets.example":          "not the address of a server",
		"wallet claim --key k https://tickets.example/desk#s": "not a claim link",
		"wallet claim --key k https://tickets.example/w":      "not a claim link",
		"event add --venue " + gate + " --starts tomorrow X":  "--starts",
		"staff add --name A --email a@b.c --role boss":        "must be one of",
	} {
		_, stderr, code := shell(t, "", strings.Fields(line)...)
		if code != exitUsage || !strings.Contains(stderr, says) {
			t.Errorf("%q: exit %d, %q, want %q", line, code, stderr, says)
		}
	}
}

func TestASecretIsReadFromTheFileThatItsVariableNames(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("pta_fromfile\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PORTILLON_TOKEN_FILE", file)
	if _, stderr, code := shell(t, "", "event", "list", "--url", "http://127.0.0.1:1"); code != exitFailed {
		t.Errorf("exit %d, the token was not found: %s", code, stderr)
	}
	t.Setenv("PORTILLON_TOKEN", "pta_other")
	if _, stderr, code := shell(t, "", "event", "list", "--url", "http://127.0.0.1:1"); code != exitUsage || !strings.Contains(stderr, "both PORTILLON_TOKEN") {
		t.Errorf("exit %d with both: %s", code, stderr)
	}
	t.Setenv("PORTILLON_TOKEN", "")
	t.Setenv("PORTILLON_TOKEN_FILE", file+".absent")
	if _, stderr, code := shell(t, "", "event", "list"); code != exitUsage || !strings.Contains(stderr, "PORTILLON_TOKEN_FILE") {
		t.Errorf("exit %d with a file that is not there: %s", code, stderr)
	}
}
