package locale_test

import (
	"testing"

	"portillon/server/locale"
)

func TestNamesAreComparedWithoutCaseAccentsAndSigns(t *testing.T) {
	t.Parallel()
	for a, b := range map[string]string{
		"María José de la Cruz": "maria JOSE de la cruz",
		"Nguyễn Văn An":         "Nguyen Van An",
		"O’Brien":               "o'brien",
		"İpek":                  "ipek",
		"Iılmaz":                "ıilmaz",
		"Straße":                "STRASSE",
		"Łukasz Øster":          "lukasz oster",
		"Đorđe":                 "dorde",
		"Min-ho Lee":            "min ho lee",
		"e\u0301clair":          "Éclair", // NFD and NFC
		"ﬁnn":                   "finn",
		"Ἀχιλλεύς":              "αχιλλευς",
		"Ёлкина":                "елкина",
	} {
		if locale.Fold(a) != locale.Fold(b) {
			t.Errorf("%q is %q, %q is %q", a, locale.Fold(a), b, locale.Fold(b))
		}
	}
	if words := locale.Fold(" محمد — 😀 , (Ali) "); words != "محمد ali" {
		t.Errorf("words: %q", words)
	}
	if locale.Fold("Anna Müller") == locale.Fold("Anna Miller") {
		t.Error("another vowel is another name")
	}
}
