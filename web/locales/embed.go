// Package locales holds the message catalogue: one file a language in go-i18n's
// JSON form, shared by the server and the pages. Keys are flat and start with
// the place that says them (common, error, wallet, gate, desk, reason, advice);
// a placeholder is {{.lower_snake}}; a message that counts is an object with
// every plural category its language has, chosen by {{.count}}.
//
// It promises that all files have the same keys and placeholders. It does not
// know which language a person reads.
package locales

import "embed"

// FS holds one <language>.json for each of Languages.
//
//go:embed *.json
var FS embed.FS

// Languages returns the BCP 47 tags of the catalogue, the fallback first.
func Languages() []string {
	return []string{"en", "fr", "cs"}
}
