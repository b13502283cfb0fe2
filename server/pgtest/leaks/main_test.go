package main

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"portillon/server/pgtest/leak"
)

func TestTheCodeSaysWhetherASecretWasFoundOrNothingWasSearched(t *testing.T) {
	t.Parallel()
	const secret = "a-secret-of-somebody"
	list := base64.StdEncoding.EncodeToString([]byte(secret)) + "\n"
	for name, c := range map[string]struct {
		dump, secrets string
		code          int
	}{
		"clean":      {leak.TableLine("s.t") + "1\n", list, 0},
		"leak":       {leak.TableLine("s.guilty") + secret + "\n", list, 1},
		"no secrets": {leak.TableLine("s.t") + "1\n", "", 1},
	} {
		dir := t.TempDir()
		for file, text := range map[string]string{"1" + leak.DumpSuffix: c.dump, "1" + leak.SecretsSuffix: c.secrets} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var out, complaints bytes.Buffer
		if code := search([]string{dir}, &out, &complaints); code != c.code {
			t.Errorf("%s: the code is %d: %s", name, code, complaints.String())
		}
		if said := out.String() + complaints.String(); strings.Contains(said, secret) || name == "leak" && !strings.Contains(said, "s.guilty") {
			t.Errorf("%s: it says %q", name, said)
		}
	}
	var out, complaints bytes.Buffer
	if code := search([]string{t.TempDir()}, &out, &complaints); code != 1 {
		t.Errorf("an empty folder: the code is %d", code)
	}
}
