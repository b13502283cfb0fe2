package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

// galleryPrefix is where the tests of the pages serve web/.test/gallery.
const galleryPrefix = "/gallery/"

// buildGallery bundles <page>/gallery.ts, which draws a page's sample states
// without a server, into web/.test/gallery: <page>.js, <page>.css and the
// page's messages. The names have no hash: the tests say them.
//
// A page that has no gallery yet gets none; that each page has one is a test.
func buildGallery(web string) error {
	out := filepath.Join(web, ".test", "gallery")
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, page := range pages {
		source := page.name + "/gallery.ts"
		if _, err := os.Stat(filepath.Join(web, source)); err != nil {
			continue
		}
		b := &building{web: web, files: map[string][]byte{}}
		names, err := b.messages(page.name)
		if err != nil {
			return err
		}
		addresses := map[string]string{}
		for language, name := range names {
			plain := page.name + "." + language + ".json"
			addresses[language] = galleryPrefix + plain
			if err := os.WriteFile(filepath.Join(out, plain), b.files[name], 0o644); err != nil {
				return err
			}
		}
		if err := bundleGallery(b, source, page.name, out, addresses); err != nil {
			return err
		}
	}
	return nil
}

// bundleGallery runs esbuild as for the product, but into one script and with
// names that can be read.
func bundleGallery(b *building, source, name, out string, messages map[string]string) error {
	options := b.options(source, name)
	options.EntryNames = "[name]"
	options.Outdir = out
	options.MinifyWhitespace, options.MinifyIdentifiers, options.MinifySyntax = false, false, false
	options.Sourcemap = api.SourceMapInline
	options.Write = true
	options.Define = map[string]string{"PORTILLON_WORKERS": "{}", "PORTILLON_MESSAGES": literal(messages)}
	if result := api.Build(options); len(result.Errors) > 0 {
		return fmt.Errorf("%s: %d errors, see above", source, len(result.Errors))
	}
	return nil
}
