package locales_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/language"

	"portillon/web/locales"
)

// categories are the CLDR plural categories that each language must spell out.
var categories = map[string][]string{
	"en": {"one", "other"},
	"fr": {"many", "one", "other"},
	"cs": {"few", "many", "one", "other"},
}

// reasons are all exact causes a scan may end with; each needs a title and an advice.
var reasons = strings.Fields(`admitted malformed unsupported_version not_a_ticket unknown_ticket
	bad_signature not_assigned wrong_event wrong_gate stale_nonce unknown_nonce wrong_controller
	clock_skew needs_assist fallback_refused totp_wrong totp_replayed totp_locked paper_not_allowed
	moved revoked held too_early too_late choose_people already_used already_inside not_inside
	entries_exhausted undone superseded not_in_pack`)

var placeholder = regexp.MustCompile(`\{\{\.([a-z][a-z0-9_]*)\}\}`)

// message is one entry: its forms by plural category, or a single form under "".
type message map[string]string

func TestEveryLanguageHasTheSameKeysAndPlaceholders(t *testing.T) {
	english := read(t, "en")
	for _, tag := range locales.Languages()[1:] {
		for _, complaint := range differences(english, read(t, tag)) {
			t.Errorf("%s: %s", tag, complaint)
		}
	}
}

func TestTheComparisonSeesAMissingKeyAnExtraKeyAndARenamedPlaceholder(t *testing.T) {
	english := map[string]message{"a": {"": "{{.gate}}"}, "b": {"": "x"}, "n": {"one": "{{.count}}", "other": "{{.count}}"}}
	other := map[string]message{"a": {"": "{{.door}}"}, "c": {"": "x"}, "n": {"": "{{.count}}"}}
	if got := differences(english, other); len(got) != 4 {
		t.Fatalf("want four complaints, got %q", got)
	}
}

func TestPluralMessagesSpellOutEveryCategoryOfTheirLanguage(t *testing.T) {
	for _, tag := range locales.Languages() {
		for key, forms := range read(t, tag) {
			if _, plain := forms[""]; plain {
				continue
			}
			if got := slices.Sorted(maps.Keys(forms)); !slices.Equal(got, categories[tag]) {
				t.Errorf("%s: %s has the forms %v, the language has %v", tag, key, got, categories[tag])
			}
		}
	}
}

func TestEveryReasonHasATitleAndOneSentenceOfAdviceInEveryLanguage(t *testing.T) {
	for _, tag := range locales.Languages() {
		catalogue := read(t, tag)
		for _, reason := range reasons {
			title, advice := catalogue["reason."+reason][""], catalogue["advice."+reason][""]
			if title == "" || utf8.RuneCountInString(title) > 30 {
				t.Errorf("%s: reason.%s must be a title of at most 30 characters: %q", tag, reason, title)
			}
			if advice == "" || utf8.RuneCountInString(advice) > 120 || strings.Count(advice, ".") != 1 || !strings.HasSuffix(advice, ".") {
				t.Errorf("%s: advice.%s must be one sentence of at most 120 characters: %q", tag, reason, advice)
			}
		}
		for key := range catalogue {
			place, reason, _ := strings.Cut(key, ".")
			if (place == "reason" || place == "advice") && !slices.Contains(reasons, reason) {
				t.Errorf("%s: %s belongs to no reason", tag, key)
			}
		}
	}
}

func TestNoTwoReasonsShareATitle(t *testing.T) {
	for _, tag := range locales.Languages() {
		seen := map[string]string{}
		catalogue := read(t, tag)
		for _, reason := range reasons {
			title := catalogue["reason."+reason][""]
			if first, twice := seen[title]; twice {
				t.Errorf("%s: %s and %s are both called %q", tag, first, reason, title)
			}
			seen[title] = reason
		}
	}
}

func TestTheServersMessageLibraryReadsEveryFile(t *testing.T) {
	bundle := i18n.NewBundle(language.English)
	for _, tag := range locales.Languages() {
		file, err := bundle.LoadMessageFileFS(locales.FS, tag+".json")
		if err != nil {
			t.Fatal(err)
		}
		if got, want := len(file.Messages), len(read(t, tag)); got != want {
			t.Errorf("%s: the library finds %d messages, the file has %d", tag, got, want)
		}
	}
}

func TestNoKeyIsWrittenTwice(t *testing.T) {
	for _, tag := range locales.Languages() {
		decoder := json.NewDecoder(bytes.NewReader(file(t, tag)))
		seen, depth, name := map[string]bool{}, 0, true
		for token, err := decoder.Token(); err == nil; token, err = decoder.Token() {
			switch token := token.(type) {
			case json.Delim:
				depth += map[json.Delim]int{'{': 1, '}': -1}[token]
				name = true
			case string:
				if depth == 1 && name {
					if seen[token] {
						t.Errorf("%s: %s is there twice", tag, token)
					}
					seen[token] = true
				}
				name = depth != 1 || !name
			}
		}
	}
}

func differences(english, other map[string]message) []string {
	var complaints []string
	for key, want := range english {
		got, found := other[key]
		_, wantPlain := want[""]
		_, gotPlain := got[""]
		switch {
		case !found:
			complaints = append(complaints, fmt.Sprintf("%s is missing", key))
		case wantPlain != gotPlain:
			complaints = append(complaints, fmt.Sprintf("%s counts in one language only", key))
		case !slices.Equal(placeholders(want), placeholders(got)):
			complaints = append(complaints, fmt.Sprintf("%s has the placeholders %v, English has %v", key, placeholders(got), placeholders(want)))
		}
	}
	for key := range other {
		if _, found := english[key]; !found {
			complaints = append(complaints, fmt.Sprintf("%s is not in English", key))
		}
	}
	return complaints
}

// placeholders returns the sorted names that any form of a message uses.
func placeholders(forms message) []string {
	names := map[string]bool{}
	for _, text := range forms {
		for _, match := range placeholder.FindAllStringSubmatch(text, -1) {
			names[match[1]] = true
		}
		if rest := placeholder.ReplaceAllString(text, ""); strings.Contains(rest, "{{") {
			names["unreadable placeholder in "+text] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func read(t *testing.T, tag string) map[string]message {
	t.Helper()
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(file(t, tag), &entries); err != nil {
		t.Fatalf("%s: %v", tag, err)
	}
	catalogue := make(map[string]message, len(entries))
	for key, raw := range entries {
		var text string
		forms := message{}
		if json.Unmarshal(raw, &text) == nil {
			forms[""] = text
		} else if err := json.Unmarshal(raw, &forms); err != nil {
			t.Fatalf("%s: %s is neither a text nor plural forms: %v", tag, key, err)
		}
		catalogue[key] = forms
	}
	return catalogue
}

func file(t *testing.T, tag string) []byte {
	t.Helper()
	content, err := locales.FS.ReadFile(tag + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return content
}
