// Package locale speaks the product's languages from the catalogues that the
// pages use too. It promises a sentence for every key in every language; a key
// that no catalogue has is a fault of ours and comes back as itself. It does not
// know what the sentences are about.
package locale

import (
	"fmt"
	"slices"
	"sync"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/language"

	"portillon/web/locales"
)

// Languages that there are, the fallback first.
var Languages = []language.Tag{language.English, language.French, language.Czech}

// Speaks reports whether there is a language of this name: "en", "fr" or "cs".
func Speaks(name string) bool {
	return slices.ContainsFunc(Languages, func(tag language.Tag) bool { return tag.String() == name })
}

var matcher = language.NewMatcher(Languages)

// Catalogue is the messages in all languages.
type Catalogue struct {
	byLanguage map[string]*i18n.Localizer
	plain      sync.Map // sentences without values, by language and key: the door says them at every scan
}

// Load reads the embedded catalogues.
func Load() (*Catalogue, error) {
	bundle := i18n.NewBundle(language.English)
	c := &Catalogue{byLanguage: map[string]*i18n.Localizer{}}
	for _, tag := range Languages {
		name := tag.String() + ".json"
		content, err := locales.FS.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("catalogue %s: %w", name, err)
		}
		if _, err := bundle.ParseMessageFileBytes(content, name); err != nil {
			return nil, fmt.Errorf("catalogue %s: %w", name, err)
		}
	}
	for _, tag := range Languages {
		c.byLanguage[tag.String()] = i18n.NewLocalizer(bundle, tag.String())
	}
	return c, nil
}

// Match picks the language for an Accept-Language header (RFC 9110, section
// 12.5.4): "en", "fr" or "cs".
func Match(acceptLanguage string) string {
	wanted, _, err := language.ParseAcceptLanguage(acceptLanguage)
	if err != nil {
		return Languages[0].String()
	}
	_, i, confidence := matcher.Match(wanted...)
	if confidence == language.No {
		return Languages[0].String()
	}
	return Languages[i].String()
}

// Text is the sentence of a key in a language that Match returned.
func (c *Catalogue) Text(lang, key string, values map[string]any) string {
	if len(values) > 0 {
		return c.localize(lang, key, values)
	}
	which := [2]string{lang, key}
	if text, ok := c.plain.Load(which); ok {
		return text.(string)
	}
	text := c.localize(lang, key, nil)
	if text != key { // keys that nobody has could be any text
		c.plain.Store(which, text)
	}
	return text
}

func (c *Catalogue) localize(lang, key string, values map[string]any) string {
	localizer, ok := c.byLanguage[lang]
	if !ok {
		localizer = c.byLanguage[Languages[0].String()]
	}
	text, err := localizer.Localize(&i18n.LocalizeConfig{MessageID: key, TemplateData: values})
	if err != nil || text == "" {
		return key
	}
	return text
}
