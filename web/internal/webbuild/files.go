package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"

	"portillon/web/internal/manifest"
)

// spoken are the parts of the catalogue, by key prefix, that a page needs.
var spoken = map[string][]string{
	"wallet": {"common.", "error.", "wallet."},
	"gate":   {"common.", "error.", "gate.", "reason.", "advice."},
	"desk":   {"common.", "error.", "desk.", "reason.", "advice."},
}

// icon adds the site's icon under a content-hashed name.
func (b *building) icon() error {
	content, err := os.ReadFile(filepath.Join(b.web, "shared", "icon.svg"))
	if err != nil {
		return err
	}
	b.manifest.Icon = b.add("icon", ".svg", content)
	return nil
}

// messages adds a page's part of every language and returns the names by language.
func (b *building) messages(page string) (map[string]string, error) {
	sources, err := filepath.Glob(filepath.Join(b.web, "locales", "*.json"))
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, source := range sources {
		content, err := os.ReadFile(source)
		if err != nil {
			return nil, err
		}
		part, err := pick(content, spoken[page])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
		language := strings.TrimSuffix(filepath.Base(source), ".json")
		names[language] = b.add(page+"."+language, ".json", part)
	}
	return names, nil
}

// pick returns the messages of a catalogue whose keys have one of the
// prefixes, in the order of their keys.
func pick(catalogue []byte, prefixes []string) ([]byte, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(catalogue, &all); err != nil {
		return nil, err
	}
	maps.DeleteFunc(all, func(key string, _ json.RawMessage) bool {
		return !slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
	})
	return encode(all, "")
}

// add keeps content under its content-hashed name, which it returns.
func (b *building) add(name, ext string, content []byte) string {
	name += "-" + hash(content) + ext
	b.files[name] = content
	return name
}

// hash is 8 characters in esbuild's alphabet, so that all names look alike.
func hash(content []byte) string {
	sum := sha256.Sum256(content)
	return base32.StdEncoding.EncodeToString(sum[:5])
}

// fingerprint changes with anything that a page shows: the bundles, by their
// names, and the HTML, which the server renders from templates.
func (b *building) fingerprint() (string, error) {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(b.files)) {
		fmt.Fprintln(sum, name)
	}
	templates, err := filepath.Glob(filepath.Join(b.web, "*", "*.html"))
	if err != nil {
		return "", err
	}
	for _, template := range templates {
		content, err := os.ReadFile(template)
		if err != nil {
			return "", err
		}
		sum.Write(content)
	}
	return base32.StdEncoding.EncodeToString(sum.Sum(nil)[:10]), nil
}

// write replaces the content of dist (and of .maps) by this build: it writes the
// new files first and then removes what is left of older builds, so that a
// compiler that embeds dist meanwhile finds a whole build nearly always.
func (b *building) write() error {
	dist := filepath.Join(b.web, "dist")
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return err
	}
	before := remember(dist)
	keep := map[string]bool{manifest.File: true}
	for _, name := range slices.Sorted(maps.Keys(b.files)) {
		sizes, err := writeCompressed(dist, name, b.files[name], before)
		if err != nil {
			return err
		}
		b.manifest.Files[name] = sizes
		keep[name], keep[name+".gz"], keep[name+".br"] = true, sizes.Gzip > 0, sizes.Brotli > 0
	}
	text, err := encode(b.manifest, "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dist, manifest.File), text, 0o644); err != nil {
		return err
	}
	if err := removeAllBut(dist, keep); err != nil {
		return err
	}
	sourceMaps := filepath.Join(b.web, ".maps")
	if err := empty(sourceMaps); err != nil {
		return err
	}
	for name, content := range b.maps {
		if err := os.WriteFile(filepath.Join(sourceMaps, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// empty removes all files of a folder but .gitkeep, and makes it if it is not there.
func empty(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return removeAllBut(folder, nil)
}

// removeAllBut removes all files of a folder but those to keep and .gitkeep.
func removeAllBut(folder string, keep map[string]bool) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() == ".gitkeep" || keep[entry.Name()] {
			continue
		}
		if err := os.RemoveAll(filepath.Join(folder, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// remember reads what a folder holds, by name; what cannot be read is made anew.
func remember(folder string) map[string][]byte {
	before := map[string][]byte{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return before
	}
	for _, entry := range entries {
		if content, err := os.ReadFile(filepath.Join(folder, entry.Name())); err == nil {
			before[entry.Name()] = content
		}
	}
	return before
}

// writeCompressed writes a file and those of its encodings that are smaller.
// Encodings of the same file from the build before are taken over: the wasm
// alone takes seconds.
func writeCompressed(folder, name string, content []byte, before map[string][]byte) (manifest.Sizes, error) {
	sizes := manifest.Sizes{Plain: len(content)}
	if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
		return sizes, err
	}
	for _, encoding := range []struct {
		ext      string
		size     *int
		compress func([]byte) []byte
	}{
		{".gz", &sizes.Gzip, zip},
		{".br", &sizes.Brotli, brot},
	} {
		compressed, known := before[name+encoding.ext]
		if !known || !bytes.Equal(before[name], content) {
			compressed = encoding.compress(content)
		}
		if len(compressed) >= len(content) {
			continue
		}
		*encoding.size = len(compressed)
		if err := os.WriteFile(filepath.Join(folder, name+encoding.ext), compressed, 0o644); err != nil {
			return sizes, err
		}
	}
	return sizes, nil
}

// zip and brot write to memory, where their writers have no way to fail.
func zip(content []byte) []byte {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	_, wrote := w.Write(content)
	mustNot(cmp.Or(err, wrote, w.Close()))
	return out.Bytes()
}

func brot(content []byte) []byte {
	var out bytes.Buffer
	w := brotli.NewWriterLevel(&out, brotli.BestCompression)
	_, wrote := w.Write(content)
	mustNot(cmp.Or(wrote, w.Close()))
	return out.Bytes()
}

func mustNot(err error) {
	if err != nil {
		panic(err)
	}
}

// encode writes JSON without the escapes that HTML would need: messages are
// full of apostrophes, arrows and the like, and every byte is budgeted.
func encode(value any, indent string) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	err := encoder.Encode(value)
	return out.Bytes(), err
}
