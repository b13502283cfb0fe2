package exchange

import (
	"fmt"
	"time"
)

// ClockFor says how a flavour writes times; nil is none. Machines read RFC 3339 in
// UTC, spreadsheets take the venue's own time for a time.
func ClockFor(f Flavour, timeZone string) (func(*time.Time) string, error) {
	place, layout := time.UTC, time.RFC3339Nano
	if f == Spreadsheet {
		var err error
		if place, err = time.LoadLocation(timeZone); err != nil {
			return nil, fmt.Errorf("the venue's time zone: %w", err)
		}
		layout = "2006-01-02 15:04:05"
	}
	return func(t *time.Time) string {
		if t == nil || t.IsZero() {
			return ""
		}
		return t.In(place).Format(layout)
	}, nil
}
