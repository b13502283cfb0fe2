// Package web carries the three pages inside the binary: their built files
// (dist, made by `make web`), their HTML and their headers of safety.
//
// It promises that whatever it names exists in this build, that the bytes of a
// content-hashed name never change, and that a binary compiled without a build
// says so in words instead of failing. It knows no routes, no sessions and no
// HTTP: the server mounts what it returns.
package web

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"io/fs"
	"mime"
	"path"
	"strings"
	"sync"

	"portillon/web/internal/manifest"
)

//go:embed all:dist
var embedded embed.FS

// Prefix is the address below which the server serves Asset: Prefix + name.
const Prefix = manifest.Prefix

// ErrNotBuilt is returned by Page when the binary was compiled without the
// pages; the File that comes with it says what to do.
var ErrNotBuilt = errors.New("the pages are not built: run `make web` and compile again")

// File is something to serve: its bytes as they are and as they are sent.
type File struct {
	// Name is the file's name below Prefix; empty for a page.
	Name string
	// Type is the value of Content-Type.
	Type string
	// ETag is the quoted strong entity tag of Body (RFC 9110, 8.8.3).
	ETag string
	// CacheControl is the value of Cache-Control: for ever under a name with a
	// content hash, always asked again under any other.
	CacheControl string
	// Policy is the value of Content-Security-Policy; empty where none matters.
	Policy string
	// Body, Gzip and Brotli are the same content; the latter two are nil where
	// they would save nothing.
	Body, Gzip, Brotli []byte
}

// Encoded returns the smallest form that the request's Accept-Encoding names,
// and its Content-Encoding, which is empty for the plain one. The answer's Vary
// has to name Accept-Encoding. Another form needs another tag: append the
// encoding to ETag before the closing quote, which Tag does.
func (f File) Encoded(accept string) (body []byte, encoding string) {
	switch {
	case f.Brotli != nil && accepts(accept, "br"):
		return f.Brotli, "br"
	case f.Gzip != nil && accepts(accept, "gzip"):
		return f.Gzip, "gzip"
	}
	return f.Body, ""
}

// Tag returns the entity tag of the form with that Content-Encoding.
func (f File) Tag(encoding string) string {
	if encoding == "" {
		return f.ETag
	}
	return strings.TrimSuffix(f.ETag, `"`) + "-" + encoding + `"`
}

// accepts says whether an Accept-Encoding header names an encoding without
// forbidding it by q=0 (RFC 9110, 12.5.3). Finer weights are not looked at: the
// smallest form is the best for everybody here.
func accepts(header, encoding string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, weight, _ := strings.Cut(part, ";")
		if !strings.EqualFold(strings.TrimSpace(name), encoding) {
			continue
		}
		weight = strings.ReplaceAll(weight, " ", "")
		return strings.Trim(strings.TrimPrefix(weight, "q="), "0.") != "" || !strings.HasPrefix(weight, "q=")
	}
	return false
}

// built is what the binary carries; ok is false when that is nothing.
type built struct {
	manifest manifest.Manifest
	files    map[string]File
	ok       bool
}

var current = sync.OnceValue(func() built { return load(FS()) })

// FS returns the built files, with those of their encodings that exist
// (name.gz, name.br), and manifest.json.
func FS() fs.FS {
	dist, err := fs.Sub(embedded, "dist")
	if err != nil {
		panic(err) // "dist" is a valid path
	}
	return dist
}

// Built says whether the binary was compiled with the pages.
func Built() bool { return current().ok }

// Asset returns the built file of that name, which the server serves under
// Prefix + name. Service workers are not among them.
func Asset(name string) (File, bool) {
	file, found := current().files[name]
	return file, found && !strings.HasSuffix(name, serviceSuffix)
}

// Service returns a page's service worker, to be served as /<page>-sw.js (from
// the root, so that its scope may be the page's own address).
func Service(page string) (File, bool) {
	file, found := current().files[page+serviceSuffix]
	return file, found
}

// Services returns the pages that have a service worker.
func Services() []string { return []string{"gate", "wallet"} }

// Entry returns the names of what a page loads first; ok is false for an
// unknown page and in a binary without pages.
func Entry(page string) (js, css []string, ok bool) {
	entry, ok := current().manifest.Pages[page]
	return entry.JS, entry.CSS, ok
}

const serviceSuffix = "-sw.js"

// load reads a build folder. An unreadable one counts as none: the check that
// release builds are whole is a test, and a running server has better things
// to do than to stop at it.
func load(dist fs.FS) built {
	m, err := manifest.Read(dist)
	if err != nil {
		return built{}
	}
	decoders := map[string]bool{}
	for _, page := range m.Pages {
		for _, name := range page.Decoder {
			decoders[name] = true
		}
	}
	files := make(map[string]File, len(m.Files))
	for name := range m.Files {
		body, err := fs.ReadFile(dist, name)
		if err != nil {
			return built{}
		}
		file := File{Name: name, Type: contentType(name), ETag: tag(body), CacheControl: cacheFor(name), Body: body}
		file.Gzip = optional(dist, name+".gz")
		file.Brotli = optional(dist, name+".br")
		if strings.HasSuffix(name, ".js") {
			file.Policy = workerPolicy(decoders[name])
		}
		files[name] = file
	}
	return built{manifest: m, files: files, ok: true}
}

// optional returns a file's content, or nil when there is none.
func optional(dist fs.FS, name string) []byte {
	content, err := fs.ReadFile(dist, name)
	if err != nil {
		return nil
	}
	return content
}

// contentType does not ask the machine's own table first, which differs from
// place to place and may be wrong.
func contentType(name string) string {
	switch ext := path.Ext(name); ext {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".wasm":
		return "application/wasm"
	case ".json":
		return "application/json"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	default:
		return mime.TypeByExtension(ext)
	}
}

func cacheFor(name string) string {
	if strings.HasSuffix(name, serviceSuffix) {
		return "no-cache"
	}
	return "public, max-age=31536000, immutable"
}

func tag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
}
