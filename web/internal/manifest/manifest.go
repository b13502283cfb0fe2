// Package manifest says what a build of the pages consists of. The build
// command writes it, the embedding package reads it; it knows neither how the
// files are made nor how they are served.
package manifest

import (
	"encoding/json"
	"fmt"
	"io/fs"
)

// File is the manifest's name inside the build folder.
const File = "manifest.json"

// Prefix is where the server mounts content-hashed files; a name in the
// manifest without it is served from the root (service workers).
const Prefix = "/assets/"

// Manifest lists one build. Names are paths below the build folder.
type Manifest struct {
	// Build changes with any file of the build.
	Build string `json:"build"`
	// Pages has an entry for wallet, gate and desk.
	Pages map[string]Page `json:"pages"`
	// Icon is the name of the site's icon.
	Icon string `json:"icon"`
	// Files has every file that may be served, by name.
	Files map[string]Sizes `json:"files"`
}

// Page names what one page loads.
type Page struct {
	// JS and CSS are loaded with the page, in this order.
	JS  []string `json:"js"`
	CSS []string `json:"css"`
	// Lazy is loaded only when the page comes to need it.
	Lazy []string `json:"lazy,omitempty"`
	// Messages is the page's part of the catalogue, by language.
	Messages map[string]string `json:"messages"`
	// Decoder are the worker that reads codes and the wasm it loads.
	Decoder []string `json:"decoder,omitempty"`
	// Service is the page's service worker: a fixed name without a hash.
	Service string `json:"service,omitempty"`
}

// Sizes are in bytes: as it is, and as sent in each encoding. An encoding that
// saves nothing has no file and the size 0.
type Sizes struct {
	Plain  int `json:"plain"`
	Gzip   int `json:"gzip,omitempty"`
	Brotli int `json:"brotli,omitempty"`
}

// Wire returns the bytes that a client with gzip alone receives, which is the
// measure of the size budgets: every browser has gzip everywhere, and brotli
// only where the connection is secure.
func (s Sizes) Wire() int {
	if s.Gzip > 0 {
		return s.Gzip
	}
	return s.Plain
}

// Read reads the manifest of a build folder. An error that is fs.ErrNotExist
// means that nothing has been built.
func Read(dist fs.FS) (Manifest, error) {
	content, err := fs.ReadFile(dist, File)
	if err != nil {
		return Manifest{}, err
	}
	var m Manifest
	if err := json.Unmarshal(content, &m); err != nil {
		return Manifest{}, fmt.Errorf("%s: %w", File, err)
	}
	return m, nil
}
