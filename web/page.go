package web

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"sync"

	"portillon/web/internal/manifest"
	"portillon/web/locales"
)

//go:embed shared/shell.html shared/unbuilt.html wallet/page.html gate/page.html desk/page.html
var templates embed.FS

// pagePolicy lets a page load what this server serves and nothing else, and
// start as a worker only what passes the Trusted Types policy "portillon"
// (shared/trusted.ts). blob: images are stills of the camera.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
	"media-src 'self' blob:; connect-src 'self'; worker-src 'self'; manifest-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types portillon"

// workerPolicy is the policy of scripts that may run as a worker: a worker
// takes its own response's policy, not its page's. Only the decoder compiles
// wasm.
func workerPolicy(decoder bool) string {
	if decoder {
		return "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'"
	}
	return "default-src 'none'; script-src 'self'; connect-src 'self'"
}

// Names returns the pages that there are.
func Names() []string { return []string{"wallet", "gate", "desk"} }

// Page returns the HTML of a page in a language (a tag of locales.Languages;
// any other gives the first). The same build gives the same bytes. In a binary
// without pages the error is ErrNotBuilt and the File is a page that says so.
// An unknown name is a programming error and returns one too.
func Page(name, language string) (File, error) {
	if !slices.Contains(locales.Languages(), language) {
		language = locales.Languages()[0]
	}
	if !slices.Contains(Names(), name) {
		return File{}, fmt.Errorf("there is no page %q", name)
	}
	return rendered()[name+" "+language]()
}

// rendered has one function for each page and language, which renders once.
var rendered = sync.OnceValue(func() map[string]func() (File, error) {
	functions := map[string]func() (File, error){}
	for _, name := range Names() {
		for _, language := range locales.Languages() {
			functions[name+" "+language] = sync.OnceValues(func() (File, error) {
				return render(current(), name, language)
			})
		}
	}
	return functions
})

// view is what the templates see.
type view struct {
	Name, Language, Icon, Messages string
	JS, CSS                        []string
}

// render makes a page of a given build.
func render(b built, name, language string) (File, error) {
	entry, found := b.manifest.Pages[name]
	if !found {
		body, err := templates.ReadFile("shared/unbuilt.html")
		if err != nil {
			return File{}, err
		}
		return html(body), ErrNotBuilt
	}
	say, err := speaker(language)
	if err != nil {
		return File{}, err
	}
	shell, err := template.New("shell.html").Funcs(template.FuncMap{"say": say}).
		ParseFS(templates, "shared/shell.html", name+"/page.html")
	if err != nil {
		return File{}, err
	}
	var out bytes.Buffer
	err = shell.Execute(&out, view{
		Name: name, Language: language,
		Icon:     manifest.Prefix + b.manifest.Icon,
		Messages: manifest.Prefix + entry.Messages[language],
		JS:       addresses(entry.JS), CSS: addresses(entry.CSS),
	})
	if err != nil {
		return File{}, err
	}
	return html(out.Bytes()), nil
}

// html wraps a page's bytes. Pages are asked for again each time, since their
// address is the same in every build.
func html(body []byte) File {
	return File{
		Type: "text/html; charset=utf-8", ETag: tag(body), CacheControl: "no-cache",
		Policy: pagePolicy, Body: body, Gzip: zip(body),
	}
}

// zip returns the gzip form, or nil when it is no smaller. Writing to memory
// cannot fail.
func zip(body []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(body); err != nil || w.Close() != nil || out.Len() >= len(body) {
		return nil
	}
	return out.Bytes()
}

func addresses(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = manifest.Prefix + name
	}
	return all
}

// speaker returns the templates' `say`: the plain message of a key. A missing
// one fails the page, so that a test sees it.
func speaker(language string) (func(key string) (string, error), error) {
	content, err := locales.FS.ReadFile(language + ".json")
	if err != nil {
		return nil, err
	}
	var catalogue map[string]any
	if err := json.Unmarshal(content, &catalogue); err != nil {
		return nil, fmt.Errorf("%s.json: %w", language, err)
	}
	return func(key string) (string, error) {
		text, plain := catalogue[key].(string)
		if !plain {
			return "", fmt.Errorf("%s.json has no plain message %s", language, key)
		}
		return text, nil
	}, nil
}
