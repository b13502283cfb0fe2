package issue

import (
	"net/mail"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"portillon/server/fault"
)

// The longest texts, in characters; an address is limited by RFC 5321, section
// 4.5.3.1.3.
const (
	maxName       = 200
	maxSeat       = 60
	maxExternalID = 120
	maxReason     = 500
	maxEmail      = 254
	maxTimeZone   = 64
)

// Codes of fields at fault.
const (
	required     = "required"
	tooLong      = "too_long"
	controlChars = "control_characters"
	invalid      = "invalid"
	unknown      = "unknown"
	outOfRange   = "out_of_range"
	notInOrder   = "not_in_order"
	conflicting  = "conflicting"
	ambiguous    = "ambiguous"
)

// checks collects the fields at fault, so that a form learns of all at once.
type checks struct{ fields []fault.Field }

func (c *checks) add(name, code string) {
	c.fields = append(c.fields, fault.Field{Name: name, Code: code})
}

// err is nil when nothing is at fault.
func (c *checks) err() error {
	if len(c.fields) == 0 {
		return nil
	}
	return fault.Fields(c.fields...)
}

// text is a line as it is kept: in Unicode's composed form (NFC), so that two
// spellings of one name are one name, and without space around it. Empty is fine.
func (c *checks) text(name, value string, longest int) string {
	value = strings.TrimSpace(norm.NFC.String(value))
	switch {
	case strings.ContainsFunc(value, misleading):
		c.add(name, controlChars)
	case utf8.RuneCountInString(value) > longest:
		c.add(name, tooLong)
	}
	return value
}

// line is a text that must not be empty.
func (c *checks) line(name, value string, longest int) string {
	value = c.text(name, value, longest)
	if value == "" {
		c.add(name, required)
	}
	return value
}

// misleading are characters that break a line or turn its direction, so that
// staff would read something else than what is written.
func misleading(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control) || r == utf8.RuneError
}

// email takes an address without a display name, or nothing. Whether somebody
// reads it only a mail can tell.
func (c *checks) email(name, value string) string {
	value = c.text(name, value, maxEmail)
	if value == "" {
		return value
	}
	address, err := mail.ParseAddress(value)
	if err != nil || address.Address != value || address.Name != "" {
		c.add(name, invalid)
	}
	return value
}

func (c *checks) timeZone(name, value string) string {
	value = c.line(name, value, maxTimeZone)
	if value == "" {
		return value
	}
	if _, err := time.LoadLocation(value); err != nil || value == "Local" {
		c.add(name, unknown)
	}
	return value
}

func oneOf[T ~string](c *checks, name string, value T, allowed ...T) {
	for _, a := range allowed {
		if value == a {
			return
		}
	}
	c.add(name, unknown)
}

// at is a time as it is kept and given: UTC, whole milliseconds.
func at(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// years that a showing may lie in; what is outside is a slip of the pen.
const (
	firstYear = 2000
	lastYear  = 2200
)

func (c *checks) time(name string, t time.Time) time.Time {
	t = at(t)
	switch {
	case t.IsZero():
		c.add(name, required)
	case t.Year() < firstYear || t.Year() > lastYear:
		c.add(name, outOfRange)
	}
	return t
}
