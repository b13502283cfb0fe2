package locale

import (
	"testing"

	"portillon/server/ticket"
)

func TestEveryReasonHasATitleAndAnAdviceInEveryLanguage(t *testing.T) {
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range ticket.Rules {
		seen := map[string]string{}
		for _, tag := range Languages {
			for _, key := range []string{"reason." + string(rule.Reason), "advice." + string(rule.Reason)} {
				text := c.Text(tag.String(), key, nil)
				if text == key {
					t.Errorf("%s: no sentence for %s", tag, key)
				}
				if other, twice := seen[text]; twice {
					t.Errorf("%s: %q is in %s too: is it translated?", tag, text, other)
				}
				seen[text] = tag.String()
			}
		}
	}
}

func TestAnAcceptLanguageHeaderPicksTheNearestLanguage(t *testing.T) {
	for header, want := range map[string]string{
		"":                         "en",
		"cs-CZ,cs;q=0.9,en;q=0.8":  "cs",
		"fr-CH, fr;q=0.9, *;q=0.5": "fr",
		"de":                       "en",
		"de, fr;q=0.5":             "fr",
		"not a header;;;":          "en",
	} {
		if got := Match(header); got != want {
			t.Errorf("Match(%q) = %q, want %q", header, got, want)
		}
	}
}

func TestAKeyWithoutASentenceComesBackAsItself(t *testing.T) {
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Text("fr", "reason.no_such_reason", nil); got != "reason.no_such_reason" {
		t.Errorf("got %q", got)
	}
}
