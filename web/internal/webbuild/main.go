// Command webbuild makes the pages: it bundles web/{wallet,gate,desk} with
// esbuild's Go API, splits the message catalogue by page and language,
// precompresses everything and writes it with a manifest to web/dist, from
// where package web embeds it.
//
// It lives here and not in cmd because it is no program of the product: nobody
// installs it, and as an internal package of web it may know its folders.
// esbuild is thereby never linked into the server. npm only brings the inputs
// (web/node_modules).
//
// It promises that the same inputs give the same bytes. It does not know how
// the files are served, nor the size budgets: package web tests those, since
// the HTML counts.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
)

func main() {
	web := flag.String("web", "web", "the folder of the pages")
	tests := flag.Bool("tests", false, "bundle the tests (*.test.ts) and the galleries of sample states into .test instead")
	flag.Parse()

	run := build
	if *tests {
		run = buildTests
	}
	if err := run(*web); err != nil {
		fmt.Fprintln(os.Stderr, "webbuild:", err)
		os.Exit(1)
	}
}

// build makes the pages below the folder web and says what each file weighs.
func build(web string) error {
	b, err := newBuild(web)
	if err != nil {
		return err
	}
	if err := b.everything(); err != nil {
		return err
	}
	if err := b.write(); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(b.manifest.Files)) {
		size := b.manifest.Files[name]
		fmt.Printf("%8d  gzip %7d  br %7d  %s\n", size.Plain, size.Gzip, size.Brotli, name)
	}
	return nil
}
