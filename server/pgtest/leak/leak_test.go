package leak

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestASecretIsFoundWhereverItStandsAndItsTableNamed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(rapid.StringMatching(`tok_[A-Za-z0-9_-]{4,60}`), 1, 20).Draw(t, "secrets")
		secret := rapid.SampledFrom(secrets).Draw(t, "secret")
		decoded, err := base64.RawURLEncoding.DecodeString(secret)
		forms := []string{secret, hex.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte(secret))}
		if err == nil && len(decoded) >= minDecoded {
			forms = append(forms, hex.EncodeToString(decoded), base64.StdEncoding.EncodeToString(decoded))
		}
		form := rapid.SampledFrom(forms).Draw(t, "form")
		noise := rapid.StringMatching(`[ \t\\xN0-9]{0,40}`)
		dump := TableLine("s.first") + noise.Draw(t, "first") + "\n" +
			TableLine("s.second") + noise.Draw(t, "before") + form + noise.Draw(t, "after") + "\n" +
			TableLine("s.third") + noise.Draw(t, "third") + "\n"
		found := NewFinder(secrets).In([]byte(dump))
		if !slices.ContainsFunc(found, func(p Place) bool { return p.Table == "s.second" }) {
			t.Fatalf("found %v in %q", found, dump)
		}
		if slices.ContainsFunc(found, func(p Place) bool { return p.Table != "s.second" }) {
			t.Fatalf("found too much: %v in %q", found, dump)
		}
	})
}

func TestNothingIsFoundInWhatHoldsNoSecret(t *testing.T) {
	t.Parallel()
	f := NewFinder([]string{"tok_abcdefghijkl", "short"})
	for _, dump := range []string{"", "tok_abcdefghijk", "tok_abcdefghijKl", "short", "ok_abcdefghijkl"} {
		if found := f.In([]byte(dump)); len(found) != 0 {
			t.Errorf("%q: %v", dump, found)
		}
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAFolderIsSearchedForTheSecretsOfAllProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const secret = "a-secret-of-one-process"
	write(t, dir, "1"+SecretsSuffix, base64.StdEncoding.EncodeToString([]byte(secret))+"\n")
	write(t, dir, "2"+DumpSuffix, TableLine("s.innocent")+"1\n")
	report, err := Search(dir)
	if err != nil || len(report.Found) != 0 || report.Secrets != 1 {
		t.Errorf("the report is %+v, %v", report, err)
	}
	write(t, dir, "3"+DumpSuffix, TableLine("s.guilty")+"1\t"+secret+"\n")
	report, err = Search(dir)
	if err != nil || len(report.Found) != 1 {
		t.Fatalf("the report is %+v, %v", report, err)
	}
	if found := report.Found[0]; !strings.Contains(found, "s.guilty") || !strings.Contains(found, "3.dump") || strings.Contains(found, secret) {
		t.Errorf("the report says %q", found)
	}
}

func TestAFolderWithoutDumpsOrWithoutSecretsProvesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"1" + DumpSuffix, "1" + SecretsSuffix} {
		if _, err := Search(dir); !errors.Is(err, ErrNothing) {
			t.Errorf("before %s: %v", name, err)
		}
		write(t, dir, name, "")
	}
	if _, err := Search(dir); !errors.Is(err, ErrNothing) {
		t.Errorf("with an empty list of secrets: %v", err)
	}
}

func BenchmarkTenThousandSecretsIn100MB(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func(n int) string {
		const letters = "0123456789abcdef"
		var s strings.Builder
		for range n {
			s.WriteByte(letters[random.IntN(16)])
		}
		return s.String()
	}
	var secrets []string
	for range 10_000 {
		secrets = append(secrets, "portillon_tok_"+text(32))
	}
	var dump strings.Builder
	for dump.Len() < 100<<20 {
		fmt.Fprintf(&dump, "%s\t%s\tportillon_tok_\t\\\\x%s\n", text(36), time.Unix(random.Int64N(1e9), 0), text(64))
	}
	all := []byte(dump.String())
	b.SetBytes(int64(len(all)))
	for b.Loop() {
		if found := NewFinder(secrets).In(all); len(found) != 0 {
			b.Fatal(found)
		}
	}
}
