package ticket

import "time"

// Wrong one-time codes lock the kind for their ticket, for a while only: a stranger
// who types a guest's number must not keep the guest outside. The clock is the
// database's.
const (
	TOTPTries     = 5               // so many wrong codes …
	TOTPTryWithin = time.Minute     // … within this time lock the kind …
	TOTPLockedFor = 5 * time.Minute // … for so long
)

// Tries are the wrong one-time codes that count against a claim.
type Tries struct {
	Wrong       []time.Time // those of the last TOTPTryWithin, oldest first
	LockedUntil time.Time   // zero: never locked
}

// Locked reports whether no code counts now.
func (t Tries) Locked(now time.Time) bool { return now.Before(t.LockedUntil) }

// Wronged counts one more wrong code. The one that locks ends the count.
func (t Tries) Wronged(now time.Time) Tries {
	next := Tries{LockedUntil: t.LockedUntil}
	for _, at := range t.Wrong {
		if now.Sub(at) < TOTPTryWithin {
			next.Wrong = append(next.Wrong, at)
		}
	}
	if next.Wrong = append(next.Wrong, now); len(next.Wrong) >= TOTPTries {
		return Tries{LockedUntil: now.Add(TOTPLockedFor)}
	}
	return next
}

// refuseOneTime is the answer to a one-time code that is not known to be right. It
// stands where other codes have their signature, so that a guesser learns nothing of
// the ticket, not even that it belongs to another gate; and whoever does not belong
// to the gate may not guess there.
func refuseOneTime(s Scan, f Facts) Decision {
	switch {
	case !f.Assigned:
		return Judge(NotAssigned)
	case s.Code.Locked:
		return Judge(TOTPLocked)
	}
	return Judge(TOTPWrong)
}

// checkOneTime judges a one-time code that is right. The lock comes last, since it
// is the one thing here that somebody may override.
func checkOneTime(s Scan, f Facts, arrived time.Time) (Decision, bool) {
	switch {
	case s.Code.Outside:
		d := Judge(ClockSkew)
		d.Skew = s.Code.IssuedAt.Sub(arrived)
		return d, true
	case s.Code.Spent, f.ProofUsed:
		return Judge(TOTPReplayed), true
	}
	if d, failed := checkFallback(s, f); failed {
		return d, true
	}
	if s.Code.Locked {
		return Judge(TOTPLocked), true
	}
	return Decision{}, false
}
