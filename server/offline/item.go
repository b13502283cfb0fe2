package offline

import (
	"crypto/sha256"
	"encoding/json"
	"time"

	"portillon/server/admit"
	"portillon/server/session"
	"portillon/server/ticket"
)

// Limits of one item.
const (
	maxCode   = 4096 // bytes, as at the door
	maxPeople = 100
)

// What a device did with a guest.
const (
	admitted   = "admitted"
	refused    = "refused"
	unreadable = "unreadable" // the item does not say
)

// Item is one passage, or one guest who was sent away.
type Item struct {
	Key          ticket.Key       `json:"key"`
	Gate         ticket.GateID    `json:"gate"`
	Event        *ticket.EventID  `json:"event"` // that the device took the code for; null: it knew none
	Code         string           `json:"code"`
	Direction    ticket.Direction `json:"direction"`
	People       int              `json:"people"`
	Verdict      string           `json:"verdict"` // admitted or refused
	Reason       ticket.Reason    `json:"reason"`  // what the device answered
	ScannedAt    time.Time        `json:"scanned_at"`
	PhoneOffline bool             `json:"phone_offline"`
	Person       ticket.PersonID  `json:"person"` // who was signed on
	Pack         string           `json:"pack"`   // serial of what it was judged by
}

// parse reads an item; ok is false if it is none. A device may be newer than this
// server, so that members which are not known are passed over. The key is told
// whenever there is one, so that the device knows which of its items is meant.
func parse(raw json.RawMessage) (item Item, ok bool) {
	if err := json.Unmarshal(raw, &item); err != nil {
		var only struct {
			Key ticket.Key `json:"key"`
		}
		_ = json.Unmarshal(raw, &only) // without a key it stays nameless
		return Item{Key: only.Key, Verdict: unreadable}, false
	}
	// The database counts in microseconds.
	item.ScannedAt = item.ScannedAt.UTC().Truncate(time.Microsecond)
	switch {
	case item.Key.IsZero(),
		item.Verdict != admitted && item.Verdict != refused,
		!plausible(item.ScannedAt),
		len(item.Code) > maxCode,
		item.People < 0 || item.People > maxPeople,
		item.Direction != "" && item.Direction != ticket.In && item.Direction != ticket.Out:
		return Item{Key: item.Key, Verdict: unreadable}, false
	}
	if item.Direction == "" {
		item.Direction = ticket.In
	}
	return item, true
}

// plausible: a clock may be wrong by decades, and still the database can count.
func plausible(at time.Time) bool { return at.Year() >= 1970 && at.Year() < 2200 }

// keyOf makes a key for an item whose own cannot be used. The same bytes make the
// same key.
func keyOf(raw json.RawMessage) ticket.Key {
	sum := sha256.Sum256(raw)
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // a UUID of version 8 (RFC 9562)
	return ticket.Key(sum[:16])
}

// upload is one item on its way to its word.
type upload struct {
	*Service
	by       session.Caller
	sentAt   time.Time // by the device's clock
	received time.Time // by the database's clock
	raw      json.RawMessage
	item     Item
	readable bool
	code     admit.LateCode
	full     bool // the device is revoked and has handed in as much as it may

	key   ticket.Key     // under which it is kept
	event ticket.EventID // zero: nobody knows
	named bool           // the ticket that the code names exists
	late  admit.Late
	out   Outcome
}

// corrected is when it happened by the database's clock: what the device's clock was
// wrong by when it sent, it was wrong by when it scanned.
func (u *upload) corrected() time.Time { return u.item.ScannedAt.Add(u.received.Sub(u.sentAt)) }
