package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// buildTests bundles what only tests need into web/.test: every *.test.ts below
// web, which `node --test` runs there (Node 20 does not read TypeScript), every
// *.bench.ts, which is a program of its own, and the galleries of the pages.
func buildTests(web string) error {
	b, err := newBuild(web)
	if err != nil {
		return err
	}
	sources, err := testSources(b.web)
	if err != nil {
		return err
	}
	if len(sources) == 0 {
		return fmt.Errorf("no *.test.ts below %s", web)
	}
	out := filepath.Join(b.web, ".test")
	if err := empty(out); err != nil {
		return err
	}
	result := api.Build(api.BuildOptions{
		AbsWorkingDir: b.web,
		EntryPoints:   sources,
		Outbase:       b.web,
		Outdir:        out,
		OutExtension:  map[string]string{".js": ".mjs"},
		Bundle:        true,
		Format:        api.FormatESModule,
		Platform:      api.PlatformNode,
		Target:        api.ES2022,
		Sourcemap:     api.SourceMapInline,
		TsconfigRaw:   `{"compilerOptions":{"verbatimModuleSyntax":true}}`,
		Loader:        map[string]api.Loader{".wasm": api.LoaderBinary, ".css": api.LoaderEmpty},
		Define: map[string]string{
			"PORTILLON_WORKERS":  "{}",
			"PORTILLON_MESSAGES": "{}",
		},
		Write:    true,
		LogLevel: api.LogLevelWarning,
	})
	if len(result.Errors) > 0 {
		return fmt.Errorf("%d errors in the tests, see above", len(result.Errors))
	}
	return buildGallery(b.web)
}

// testSources lists the tests and benchmarks below web, without those of strangers.
func testSources(web string) ([]string, error) {
	var sources []string
	err := filepath.WalkDir(web, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != web && (entry.Name() == "node_modules" || strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case strings.HasSuffix(path, ".test.ts"), strings.HasSuffix(path, ".bench.ts"):
			relative, err := filepath.Rel(web, path)
			if err != nil {
				return err
			}
			sources = append(sources, "."+string(os.PathSeparator)+relative)
		}
		return nil
	})
	slices.Sort(sources)
	return sources, err
}
