package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAPageGetsOnlyItsPartOfTheCatalogueByteForByte(t *testing.T) {
	catalogue := []byte(`{"wallet.b":{"one":"1 < 2","other":"l’été"},"gate.a":"x","wallet.a":"a & b"}`)
	got, err := pick(catalogue, []string{"wallet."})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"wallet.a":"a & b","wallet.b":{"one":"1 < 2","other":"l’été"}}` + "\n"; string(got) != want {
		t.Fatalf("got %s, want %s", got, want)
	}
}

func TestEmptyingAFolderKeepsWhatGitNeeds(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{".gitkeep", "old-ABC.js", "old-ABC.js.gz"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := empty(folder); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 1 || filepath.Base(left[0]) != ".gitkeep" {
		t.Fatalf("left are %v", left)
	}
}

func TestAnEncodingThatSavesNothingIsNotWritten(t *testing.T) {
	folder := t.TempDir()
	sizes, err := writeCompressed(folder, "short.json", []byte("{}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if sizes.Plain != 2 || sizes.Gzip != 0 || sizes.Brotli != 0 || sizes.Wire() != 2 {
		t.Errorf("sizes of a file of two bytes: %+v", sizes)
	}
	sizes, err = writeCompressed(folder, "long.json", bytes.Repeat([]byte("ticket "), 100), nil)
	if err != nil {
		t.Fatal(err)
	}
	if sizes.Gzip == 0 || sizes.Brotli == 0 || sizes.Wire() != sizes.Gzip {
		t.Errorf("sizes of a repetitive file: %+v", sizes)
	}
	if _, err := os.Stat(filepath.Join(folder, "short.json.gz")); !os.IsNotExist(err) {
		t.Error("wrote an encoding that is larger than the file")
	}
}

func TestEncodingsAreTakenOverOnlyFromTheSameContent(t *testing.T) {
	folder, long := t.TempDir(), bytes.Repeat([]byte("ticket "), 100)
	before := map[string][]byte{"a.js": long, "a.js.gz": []byte("kept"), "b.js": []byte("older"), "b.js.gz": []byte("stale")}
	for name, want := range map[string]bool{"a.js": true, "b.js": false} {
		if _, err := writeCompressed(folder, name, long, before); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(folder, name+".gz"))
		if err != nil {
			t.Fatal(err)
		}
		if took := bytes.Equal(got, before[name+".gz"]); took != want {
			t.Errorf("%s: took over: %t", name, took)
		}
	}
}

func TestABuildWithoutItsInputsNamesTheCommand(t *testing.T) {
	_, err := newBuild(t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "npm ci") {
		t.Fatalf("got %v", err)
	}
}

func TestTheSameInputsGiveTheSameNamesAndBytes(t *testing.T) {
	first, second := buildOnce(t), buildOnce(t)
	if first.manifest.Build != second.manifest.Build || len(first.files) != len(second.files) {
		t.Fatalf("%s with %d files, then %s with %d", first.manifest.Build, len(first.files), second.manifest.Build, len(second.files))
	}
	for name, content := range first.files {
		if !bytes.Equal(content, second.files[name]) {
			t.Errorf("%s differs", name)
		}
	}
}

func TestAServiceWorkerNamesEveryFileThatItsPageMayNeed(t *testing.T) {
	b := buildOnce(t)
	for name, page := range b.manifest.Pages {
		if page.Service == "" {
			continue
		}
		for _, address := range b.assets(page) {
			if !bytes.Contains(b.files[page.Service], []byte(address)) {
				t.Errorf("%s: the service worker does not keep %s", name, address)
			}
		}
		if !bytes.Contains(b.files[page.Service], []byte(b.manifest.Build)) {
			t.Errorf("%s: the service worker does not change with the build", name)
		}
	}
}

// buildOnce bundles the real pages in memory.
func buildOnce(t *testing.T) *building {
	t.Helper()
	b, err := newBuild("../..")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.everything(); err != nil {
		t.Fatal(err)
	}
	return b
}
