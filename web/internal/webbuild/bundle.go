package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"portillon/web/internal/manifest"
)

// pages are bundled one by one, so that what the browser loads first is one
// file of each kind and only what is imported dynamically becomes a chunk.
// update says when the page's service worker takes a new build: a gate must
// not change under a controller's hands. No service worker: no page offline.
var pages = []struct{ name, address, update string }{
	{name: "wallet", address: "/w", update: "at_once"},
	{name: "gate", address: "/gate", update: "when_told"},
	{name: "desk"},
}

// building collects one build in memory.
type building struct {
	web      string
	manifest manifest.Manifest
	files    map[string][]byte // by name below dist
	maps     map[string][]byte // source maps: kept beside, never embedded
}

func newBuild(web string) (*building, error) {
	absolute, err := filepath.Abs(web)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(absolute, "node_modules")); err != nil {
		return nil, errors.New("web/node_modules is missing: run `make web`, or `npm ci` in web first")
	}
	return &building{
		web:      absolute,
		manifest: manifest.Manifest{Pages: map[string]manifest.Page{}, Files: map[string]manifest.Sizes{}},
		files:    map[string][]byte{},
		maps:     map[string][]byte{},
	}, nil
}

// everything builds in the order in which addresses become known: what pages
// name, the pages, and last the service workers, which name it all.
func (b *building) everything() error {
	if err := b.icon(); err != nil {
		return err
	}
	for _, page := range pages {
		messages, err := b.messages(page.name)
		if err != nil {
			return err
		}
		entry := manifest.Page{Messages: messages}
		if page.update != "" {
			entry.Service = page.name + "-sw.js"
		}
		if entry.Decoder, err = b.decoder(page.name); err != nil {
			return err
		}
		if err := b.page(page.name, &entry); err != nil {
			return err
		}
		b.manifest.Pages[page.name] = entry
	}
	return b.services()
}

// page bundles <name>/main.ts and the styles it imports.
func (b *building) page(name string, entry *manifest.Page) error {
	workers := map[string]string{}
	if len(entry.Decoder) > 0 {
		workers["decoder"] = manifest.Prefix + entry.Decoder[0]
	}
	if entry.Service != "" {
		workers["service"] = "/" + entry.Service
	}
	addresses := map[string]string{}
	for language, file := range entry.Messages {
		addresses[language] = manifest.Prefix + file
	}
	options := b.options(name+"/main.ts", name)
	options.Splitting = true
	options.Define = map[string]string{
		"PORTILLON_WORKERS":  literal(workers),
		"PORTILLON_MESSAGES": literal(addresses),
	}
	outputs, err := b.bundle(options)
	if err != nil {
		return err
	}
	main, err := entryOf(outputs, name+"/main.ts")
	if err != nil {
		return err
	}
	entry.JS = atOnce(outputs, main)
	if css := outputs[main].CSSBundle; css != "" {
		entry.CSS = []string{filepath.Base(css)}
	}
	for output := range outputs {
		if strings.HasSuffix(output, ".js") && !slices.Contains(entry.JS, output) {
			entry.Lazy = append(entry.Lazy, output)
		}
	}
	slices.Sort(entry.Lazy)
	return nil
}

// atOnce lists a script and all that it imports statically, itself or through
// another: the browser needs them before the first line runs, so the page names
// them and they count as part of the first visit.
func atOnce(outputs map[string]output, main string) []string {
	names := []string{main}
	for i := 0; i < len(names); i++ {
		for _, imported := range outputs[names[i]].Imports {
			name := filepath.Base(imported.Path)
			if _, ours := outputs[name]; ours && imported.Kind == "import-statement" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// decoder bundles <page>/decoder.worker.ts, if the page has one, together with
// the wasm that it imports.
func (b *building) decoder(page string) ([]string, error) {
	source := page + "/decoder.worker.ts"
	if _, err := os.Stat(filepath.Join(b.web, source)); err != nil {
		return nil, nil //nolint:nilerr // a page without a decoder
	}
	outputs, err := b.bundle(b.options(source, "decoder"))
	if err != nil {
		return nil, err
	}
	main, err := entryOf(outputs, source)
	if err != nil {
		return nil, err
	}
	decoder := []string{main}
	for output := range outputs {
		if strings.HasSuffix(output, ".wasm") {
			decoder = append(decoder, output)
		}
	}
	return decoder, nil
}

// services bundles the service workers. Their names have no hash: the browser
// finds a new build by reading the same address again.
func (b *building) services() error {
	var err error
	if b.manifest.Build, err = b.fingerprint(); err != nil {
		return err
	}
	for _, page := range pages {
		entry := b.manifest.Pages[page.name]
		if entry.Service == "" {
			continue
		}
		options := b.options(page.name+"/service.worker.ts", strings.TrimSuffix(entry.Service, ".js"))
		options.EntryNames = "[name]"
		options.Define = map[string]string{"PORTILLON_OFFLINE": literal(map[string]any{
			"page": page.address, "build": b.manifest.Build, "update": page.update, "assets": b.assets(entry),
		})}
		if _, err := b.bundle(options); err != nil {
			return err
		}
	}
	return nil
}

// assets returns the addresses of all that a page may need without network.
func (b *building) assets(entry manifest.Page) []string {
	names := slices.Concat(entry.JS, entry.CSS, entry.Lazy, entry.Decoder, []string{b.manifest.Icon})
	for _, file := range entry.Messages {
		names = append(names, file)
	}
	slices.Sort(names)
	for i := range names {
		names[i] = manifest.Prefix + names[i]
	}
	return names
}

// options are common to all bundles; source is below web, name is the output's.
func (b *building) options(source, name string) api.BuildOptions {
	return api.BuildOptions{
		AbsWorkingDir:       b.web,
		EntryPointsAdvanced: []api.EntryPoint{{InputPath: source, OutputPath: name}},
		EntryNames:          "[name]-[hash]",
		ChunkNames:          name + "-[name]-[hash]",
		AssetNames:          "[name]-[hash]",
		Outdir:              filepath.Join(b.web, "dist"),
		PublicPath:          strings.TrimSuffix(manifest.Prefix, "/"),
		Bundle:              true,
		Format:              api.FormatESModule,
		Platform:            api.PlatformBrowser,
		Target:              api.ES2022,
		Charset:             api.CharsetUTF8,
		MinifyWhitespace:    true,
		MinifyIdentifiers:   true,
		MinifySyntax:        true,
		LegalComments:       api.LegalCommentsNone,
		Sourcemap:           api.SourceMapExternal,
		Metafile:            true,
		Loader:              map[string]api.Loader{".wasm": api.LoaderFile, ".svg": api.LoaderFile},
		TsconfigRaw:         `{"compilerOptions":{"verbatimModuleSyntax":true}}`,
		LogLevel:            api.LogLevelWarning,
	}
}

// output is what esbuild's metafile says of one file.
type output struct {
	EntryPoint string `json:"entryPoint"`
	CSSBundle  string `json:"cssBundle"`
	Imports    []struct {
		Path string `json:"path"`
		Kind string `json:"kind"` // "import-statement" or "dynamic-import" between scripts
	} `json:"imports"`
}

// bundle runs esbuild, keeps the files and returns what it says of each, by
// its name below dist.
func (b *building) bundle(options api.BuildOptions) (map[string]output, error) {
	result := api.Build(options)
	if len(result.Errors) > 0 {
		return nil, fmt.Errorf("%s: %d errors, see above", options.EntryPointsAdvanced[0].InputPath, len(result.Errors))
	}
	for _, file := range result.OutputFiles {
		name := filepath.Base(file.Path)
		if strings.HasSuffix(name, ".map") {
			b.maps[name] = file.Contents
			continue
		}
		b.files[name] = file.Contents
	}
	var meta struct {
		Outputs map[string]output `json:"outputs"`
	}
	if err := json.Unmarshal([]byte(result.Metafile), &meta); err != nil {
		return nil, fmt.Errorf("metafile: %w", err)
	}
	outputs := make(map[string]output, len(meta.Outputs))
	for path, out := range meta.Outputs {
		if !strings.HasSuffix(path, ".map") {
			outputs[filepath.Base(path)] = out
		}
	}
	return outputs, nil
}

// entryOf finds the output that a source became.
func entryOf(outputs map[string]output, source string) (string, error) {
	for name, out := range outputs {
		if out.EntryPoint == source && strings.HasSuffix(name, ".js") {
			return name, nil
		}
	}
	return "", fmt.Errorf("%s became nothing", source)
}

// literal is a JavaScript literal for a define.
func literal(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // maps of strings always marshal
	}
	return string(text)
}
