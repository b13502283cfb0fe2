package ticket

import (
	"bytes"
	"time"
)

// movedRecently is how long staff are told that a ticket moved to another phone.
const movedRecently = time.Hour

// Decision is the judgement of one scan.
type Decision struct {
	Reason   Reason
	Verdict  Verdict
	Class    Class
	Override Overrider
	Replayed bool

	Kind      Kind
	Direction Direction
	People    int       // admitted, or asked for
	Remaining int       // people that the ticket may still let in
	MovedAt   time.Time // admitted, and the ticket moved less than an hour before
	First     *FirstUse // why it is used
	Skew      time.Duration
	Validity  time.Time // the time that TooEarly and TooLate are about
	At        time.Time // when it was admitted: of the first answer if Replayed
	Over      []Reason  // admitted against these

	Recovers     *Admission // admitted, and this earlier one, whose answer was lost, is taken back
	Recovered    bool       // it is such an admission, or the repeated answer of one
	Picture      bool       // StaleNonce, so often that it is probably a picture
	WantsHistory bool       // not final: Facts.History has to be read, and the scan judged again
}

// Writes reports whether the decision is an admission still to be written.
func (d Decision) Writes() bool { return d.Reason == Admitted && !d.Replayed }

// FirstUse tells staff about the use that stands against this scan.
type FirstUse struct {
	At         time.Time
	Ago        time.Duration // by the database's clock
	Gate       Gate
	PersonName string
	SameDevice bool // the same scanner
	SameClaim  bool // the same phone or paper
	SameNonce  bool // the very same code shown: possibly a picture of it
	Shown      bool // the scanner said that its answer was on the screen
}

// Judge makes the decision that a reason stands for.
func Judge(reason Reason) Decision {
	r := RuleOf(reason)
	return Decision{Reason: reason, Verdict: r.Verdict, Class: r.Class, Override: r.Override}
}

// Decide judges one scan whose code has the right form. The checks stand in
// their fixed order (reasons.go); the first that fails is the reason.
func Decide(s Scan, f Facts) Decision { return DecideOver(s, f, Overriding{}) }

// DecideOver is Decide for somebody who wants to let in by judgement: a check that
// fails for a reason that he may override does not end it, and Over tells which
// they were. Every check is made, so that overriding one reason never hides
// another that he may not.
func DecideOver(s Scan, f Facts, by Overriding) Decision {
	if s.Direction == "" {
		s.Direction = In
	}
	d := suspect(f, decide(s, f, by))
	if d.Direction == "" {
		d.Direction = s.Direction
	}
	if d.Kind == "" {
		d.Kind = kindOf(s.Code, f.Nonce)
	}
	return d
}

// YieldsTo reports whether somebody with these rights may let in against the
// decision, when the ticket was let in so often by judgement before.
func (d Decision) YieldsTo(by Overriding, before int) bool {
	switch d.Override {
	case OverrideController:
		return by.Supervisor || by.Controller && before == 0
	case OverrideSupervisor:
		return by.Supervisor
	case OverrideNobody, OverrideButton:
	}
	return false
}

func decide(s Scan, f Facts, by Overriding) Decision {
	known := f.Ticket != nil && f.Claim != nil && f.Claim.Paper == (s.Code.Signs == SignsPaper)
	if s.Code.Signs == SignsNothing {
		known = f.Ticket != nil
	}
	if s.Code.Signs == SignsTOTP && !f.SignatureGood && (known || s.Code.Typed) {
		return refuseOneTime(s, f)
	}
	if !known {
		return Judge(UnknownTicket)
	}
	if !f.SignatureGood {
		return Judge(BadSignature)
	}
	if f.SameKey != nil {
		return replay(s, f)
	}
	if !f.Assigned {
		return Judge(NotAssigned)
	}
	var over []Reason
	for _, check := range []func(Scan, Facts) (Decision, bool){checkPlace, checkFreshness, checkTicket, checkTime} {
		d, failed := check(s, f)
		if failed && !d.YieldsTo(by, f.Overrides) {
			return d
		}
		if failed {
			over = append(over, d.Reason)
		}
	}
	d := forgive(s, f, checkUse(s, f))
	if d.Reason != Admitted && !d.WantsHistory && s.Direction == In && d.YieldsTo(by, f.Overrides) {
		over = append(over, d.Reason)
		d = admitted(s, f, min(max(1, s.People), f.Ticket.Admits), 0)
	}
	if d.Reason == Admitted {
		d.Over = over
	}
	return d
}

// replay repeats the first answer: an answer that was lost on the way must not
// be refused because of its own success.
func replay(s Scan, f Facts) Decision {
	a := f.SameKey
	switch {
	case a.Superseded:
		return Judge(Superseded)
	case a.Undone:
		return Judge(Undone)
	}
	d := Judge(Admitted)
	d.Replayed, d.Recovered = true, a.Recovery
	d.Kind, d.Direction, d.People = a.Kind, a.Direction, a.People
	switch {
	case a.Direction == Out:
		d.Remaining = a.Inside
	case f.Event.Reentry:
		d.Remaining = max(0, f.Ticket.Admits+f.Ticket.Extra-a.Inside)
	default:
		d.Remaining = max(0, f.Ticket.Admits+f.Ticket.Extra-a.Entries)
	}
	d.MovedAt = a.MovedAt
	d.At = a.At
	return d
}

// checkPlace: a gate serves every event of its venue whose doors have opened. An
// event that is over is too late there, not wrong: see checkTime.
func checkPlace(_ Scan, f Facts) (Decision, bool) {
	if f.Gate.Venue != f.Event.Venue.ID {
		d := Judge(WrongEvent)
		d.Override = OverrideNobody // it is another house's ticket
		return d, true
	}
	if f.Now.Before(f.Event.DoorsOpenAt) {
		return Judge(WrongEvent), true
	}
	if len(f.Category.Gates) == 0 {
		return Decision{}, false
	}
	for _, g := range f.Category.Gates {
		if g.ID == f.Gate.ID {
			return Decision{}, false
		}
	}
	return Judge(WrongGate), true
}

func checkFreshness(s Scan, f Facts) (Decision, bool) {
	if f.ProofUsed && s.Code.Signs != SignsTOTP {
		return Judge(StaleNonce), true
	}
	arrived := f.Now.Add(-f.Waited)
	switch s.Code.Signs {
	case SignsNonce:
		return checkNonce(s, f, arrived)
	case SignsTime:
		skew := s.Code.IssuedAt.Sub(arrived)
		if skew > TimedAhead || skew < -TimedBehind {
			d := Judge(ClockSkew)
			d.Skew = skew
			return d, true
		}
		return checkFallback(s, f)
	case SignsTOTP:
		return checkOneTime(s, f, arrived)
	case SignsShort:
		if s.Code.Spent || arrived.After(s.Code.Expires) {
			return Judge(StaleNonce), true
		}
	case SignsPaper:
		if !f.Category.Paper {
			return Judge(PaperNotAllowed), true
		}
	case SignsNothing: // a person vouches for it
	}
	return Decision{}, false
}

func checkNonce(_ Scan, f Facts, arrived time.Time) (Decision, bool) {
	n := f.Nonce
	if n == nil || n.Venue != f.Gate.Venue {
		return Judge(UnknownNonce), true
	}
	acceptedFor := PushedFor
	if !n.Device.IsZero() {
		if n.Device != f.Device {
			return Judge(WrongController), true
		}
		acceptedFor = ShownFor
	}
	if arrived.Sub(n.IssuedAt) > acceptedFor {
		return Judge(StaleNonce), true
	}
	return Decision{}, false
}

// checkFallback: the kinds that need no network prove less, so the event says
// when they count, and never while the wallet could have shown a living code.
func checkFallback(s Scan, f Facts) (Decision, bool) {
	switch {
	case f.Event.Freshness == Live, f.WalletLive:
		return Judge(FallbackRefused), true
	case f.Event.Freshness == Assisted && !s.PhoneOffline:
		return Judge(NeedsAssist), true
	}
	return Decision{}, false
}

// checkTicket: whatever became of a ticket, whoever is inside may leave.
func checkTicket(s Scan, f Facts) (Decision, bool) {
	switch {
	case s.Direction == Out:
	case s.Code.Generation != f.Ticket.Generation && s.Code.Signs != SignsNothing:
		d := Judge(Moved)
		d.MovedAt = f.Ticket.ClaimedAt
		return d, true
	case f.Ticket.Status == RevokedStatus:
		return Judge(Revoked), true
	case f.Ticket.Status == HeldStatus:
		return Judge(Held), true
	}
	return Decision{}, false
}

// checkTime: exits are never too late; nobody is kept inside.
func checkTime(s Scan, f Facts) (Decision, bool) {
	from, until := f.Category.ValidFrom, f.Category.ValidUntil
	if until.IsZero() || until.After(f.Event.EndsAt) {
		until = f.Event.EndsAt
	}
	switch {
	case s.Direction == Out:
		return Decision{}, false
	case f.Now.Before(from):
		d := Judge(TooEarly)
		d.Validity = from
		return d, true
	case !f.Now.Before(until):
		d := Judge(TooLate)
		d.Validity = until
		return d, true
	}
	return Decision{}, false
}

func checkUse(s Scan, f Facts) Decision {
	t := f.Ticket
	free := t.Admits + t.Extra - t.Entries
	if f.Event.Reentry {
		free = t.Admits + t.Extra - t.Inside
	}
	if s.Direction == Out {
		free = t.Inside
	}
	people := s.People
	if people == 0 && t.Admits == 1 {
		people = 1
	}
	switch {
	case s.Direction == Out && (!f.Event.Reentry || free <= 0):
		return Judge(NotInside)
	case free <= 0:
		return refuseUse(s, f, max(0, free))
	case people == 0 || people > free:
		d := Judge(ChoosePeople)
		d.Remaining = free
		return d
	}
	return admitted(s, f, people, free-people)
}

func admitted(s Scan, f Facts, people, remaining int) Decision {
	d := Judge(Admitted)
	d.People, d.Remaining, d.At = people, remaining, f.Now
	if s.Direction == In && f.Ticket.Generation > 1 && f.Now.Sub(f.Ticket.ClaimedAt) < movedRecently {
		d.MovedAt = f.Ticket.ClaimedAt
	}
	return d
}

func refuseUse(s Scan, f Facts, free int) Decision {
	var d Decision
	switch {
	case s.Direction == Out:
		d = Judge(NotInside)
	case f.Event.Reentry:
		d = Judge(AlreadyInside)
	case f.Ticket.Admits > 1:
		d = Judge(EntriesExhausted)
	default:
		d = Judge(AlreadyUsed)
	}
	d.Remaining = free
	if f.Last == nil {
		return d
	}
	ago := f.Now.Sub(f.Last.At)
	d.First = &FirstUse{
		At: f.Last.At, Ago: ago, Gate: f.Last.Gate, PersonName: f.Last.PersonName,
		SameDevice: f.Last.Device == f.Device,
		SameClaim:  f.Last.Generation == s.Code.Generation,
		SameNonce:  len(s.Code.Nonce) > 0 && bytes.Equal(f.Last.Nonce, s.Code.Nonce),
		Shown:      f.Last.Shown,
	}
	if d.Reason == AlreadyUsed && (f.Event.Rescan == Strict || ago > f.Event.RescanWindow) {
		d.Class, d.Override = ClassRefuse, OverrideSupervisor
	}
	return d
}

func kindOf(c CodeFacts, n *Nonce) Kind {
	switch c.Signs {
	case SignsTime:
		return Timed
	case SignsTOTP:
		return TOTP
	case SignsPaper:
		return Paper
	case SignsShort:
		return Short
	case SignsNothing:
		return None
	case SignsNonce:
	}
	if n != nil && !n.Device.IsZero() {
		return Shown
	}
	return Pushed
}
