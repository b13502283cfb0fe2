package ticket

import "time"

// History is what is read only when the other facts leave a decision open: see
// Decision.WantsHistory.
type History struct {
	Stale int // times that this ticket's code was too old within PictureWithin

	// Of the device whose answer stands against the scan, if any:
	Receipts   bool      // it sent a receipt in the hour before that answer, or since
	LeaseEnded bool      // it held a gate when it answered, and holds none any more
	SeenAt     time.Time // its latest sign of life; zero: none that is known
}

// PictureAfter codes that were too old within PictureWithin are no bad luck any
// more: probably a picture is being shown.
const (
	PictureAfter  = 3
	PictureWithin = time.Minute
)

const (
	// SilentFor is how long a device that still holds its gate has to be silent
	// before an answer of its counts as lost.
	SilentFor = 10 * time.Second
	// ReceiptsWithin is how long before an answer a receipt shows that its device
	// sends receipts.
	ReceiptsWithin = time.Hour
)

// suspect looks at a code that is too old once more: a picture of a code gets old,
// and a living one does not stay so.
func suspect(f Facts, d Decision) Decision {
	switch {
	case d.Reason != StaleNonce:
	case f.History == nil:
		d.WantsHistory = true
	case f.History.Stale >= PictureAfter-1:
		d.Class, d.Picture = ClassAsk, true
	}
	return d
}

// forgive looks at a use once more that may be of a lost answer.
func forgive(s Scan, f Facts, d Decision) Decision {
	switch {
	case !perhapsLost(s, f, d):
	case f.History == nil:
		d.WantsHistory = true
	case f.History.lost(f):
		return recovered(s, f, d)
	}
	return d
}

// perhapsLost reports whether the use that stands against a scan may be of an answer
// that nobody ever saw: the same phone comes again, with a proof that no picture
// can be, to an event that wants such answers taken back.
func perhapsLost(s Scan, f Facts, d Decision) bool {
	last := f.Last
	switch {
	case f.Event.Rescan != Recover, last == nil, s.Direction == Out:
		return false
	case d.Reason != AlreadyUsed && d.Reason != AlreadyInside && d.Reason != EntriesExhausted:
		return false
	case !last.Ordinary, last.Shown, last.Device.IsZero(), f.LeftSince:
		return false
	}
	return s.Code.Signs == SignsNonce && last.Generation == s.Code.Generation && f.Now.Sub(last.At) <= f.Event.RescanWindow
}

// lost: the device says normally what it showed, and has not been there since.
func (h *History) lost(f Facts) bool {
	if !h.Receipts {
		return false
	}
	seen := f.Last.At
	if h.SeenAt.After(seen) {
		seen = h.SeenAt
	}
	return h.LeaseEnded || f.Now.Sub(seen) >= SilentFor
}

// recovered judges the use anew as if the lost answer had never been given.
func recovered(s Scan, f Facts, refused Decision) Decision {
	before := *f.Ticket
	before.Entries -= f.Last.People
	before.Inside -= f.Last.People
	remain := before.Entries
	if f.Event.Reentry {
		remain = before.Inside
	}
	before.Extra = max(0, min(before.Extra, remain-before.Admits)) // as an undo leaves it
	f.Ticket = &before
	if s.People == 0 {
		s.People = f.Last.People // as many as were asked for then
	}
	d := checkUse(s, f)
	if d.Reason != Admitted {
		return refused
	}
	d.Recovers, d.Recovered, d.First = f.Last, true, refused.First
	return d
}
