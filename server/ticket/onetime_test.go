package ticket

import (
	"testing"
	"time"
)

func goodOneTime() (Scan, Facts) {
	s, f := good()
	oneTime(&s)
	s.PhoneOffline = true
	return s, f
}

func TestAOneTimeCodeFollowsThePolicyOfCodesWithoutNetwork(t *testing.T) {
	for _, c := range []struct {
		policy        Freshness
		offline, live bool
		want          Reason
	}{
		{Live, true, false, FallbackRefused}, {Assisted, false, false, NeedsAssist}, {Assisted, true, false, Admitted},
		{Assisted, true, true, FallbackRefused}, {Open, false, false, Admitted}, {Open, false, true, FallbackRefused},
	} {
		s, f := goodOneTime()
		f.Event.Freshness, s.PhoneOffline, f.WalletLive = c.policy, c.offline, c.live
		if d := Decide(s, f); d.Reason != c.want || d.Kind != TOTP {
			t.Errorf("%+v: got %s of kind %s", c, d.Reason, d.Kind)
		}
	}
}

// Whatever is true of the ticket, a wrong code is told the same.
func TestAGuesserOfOneTimeCodesLearnsNothingOfTheTicket(t *testing.T) {
	for _, b := range breaks {
		if b.touches == "code" || RuleOf(b.reason).Order <= 3 || b.reason == NotAssigned {
			continue
		}
		for _, locked := range []bool{false, true} {
			s, f := goodOneTime()
			b.apply(&s, &f)
			s.Code.Locked, f.SignatureGood = locked, false
			want := TOTPWrong
			if locked {
				want = TOTPLocked
			}
			if d := Decide(s, f); d.Reason != want || d.First != nil || !d.MovedAt.IsZero() || !d.Validity.IsZero() {
				t.Errorf("%s: got %+v", b.reason, d)
			}
		}
	}
	s, f := goodOneTime()
	f.SignatureGood, f.Assigned, s.Code.Locked = false, false, true
	if d := Decide(s, f); d.Reason != NotAssigned {
		t.Errorf("who does not belong to the gate: %s", d.Reason)
	}
}

func TestATypedNumberThatNoTicketHasIsAWrongCodeAndAPatternOfNoTicketIsUnknown(t *testing.T) {
	for typed, want := range map[bool]Reason{true: TOTPWrong, false: UnknownTicket} {
		s, f := goodOneTime()
		s.Code.Typed, f.Ticket, f.Claim, f.SignatureGood = typed, nil, nil, false
		if d := Decide(s, f); d.Reason != want {
			t.Errorf("typed %v: got %s", typed, d.Reason)
		}
	}
}

func TestARightCodeOfADistantStepSaysHowFarItsClockIsOff(t *testing.T) {
	s, f := goodOneTime()
	s.Code.Outside, s.Code.IssuedAt = true, now.Add(-2*time.Minute)
	if d := Decide(s, f); d.Reason != ClockSkew || d.Skew != -2*time.Minute {
		t.Errorf("got %+v", d)
	}
}

func TestASupervisorOverridesTheLockButNeitherAWrongCodeNorASpentOne(t *testing.T) {
	for _, c := range []struct {
		what  string
		apply func(*Scan, *Facts)
		by    Overriding
		want  Reason
	}{
		{"a right code", func(*Scan, *Facts) {}, Overriding{Supervisor: true}, Admitted},
		{"a right code, by a controller", func(*Scan, *Facts) {}, Overriding{Controller: true}, TOTPLocked},
		{"a spent code", func(s *Scan, _ *Facts) { s.Code.Spent = true }, Overriding{Supervisor: true}, TOTPReplayed},
		{"a code that made this passage", func(_ *Scan, f *Facts) { f.ProofUsed = true }, Overriding{Supervisor: true}, TOTPReplayed},
		{"a code of a living wallet", func(_ *Scan, f *Facts) { f.WalletLive = true }, Overriding{Supervisor: true}, FallbackRefused},
		{"a moved ticket", func(_ *Scan, f *Facts) { f.Ticket.Generation = 2 }, Overriding{Supervisor: true}, Moved},
		{"a wrong code", func(s *Scan, f *Facts) { s.Code.Locked, f.SignatureGood = false, false }, Overriding{Supervisor: true}, TOTPWrong},
	} {
		s, f := goodOneTime()
		s.Code.Locked = true
		c.apply(&s, &f)
		d := DecideOver(s, f, c.by)
		if d.Reason != c.want {
			t.Errorf("%s: got %s, want %s", c.what, d.Reason, c.want)
		}
		if c.want == Admitted && (len(d.Over) != 1 || d.Over[0] != TOTPLocked) {
			t.Errorf("%s: against %v", c.what, d.Over)
		}
	}
}

func TestFiveWrongCodesWithinAMinuteLockForFiveMinutes(t *testing.T) {
	for _, c := range []struct {
		every  time.Duration
		wrong  int
		locked bool
	}{
		{0, 4, false}, {0, 5, true}, {14 * time.Second, 5, true}, {15 * time.Second, 5, false}, {15 * time.Second, 50, false},
	} {
		var tries Tries
		at := now
		for i := range c.wrong {
			at = now.Add(time.Duration(i) * c.every)
			tries = tries.Wronged(at)
			if len(tries.Wrong) >= TOTPTries {
				t.Fatalf("%+v: %d are kept", c, len(tries.Wrong))
			}
		}
		if tries.Locked(at) != c.locked {
			t.Errorf("%+v: %+v", c, tries)
		}
		if c.locked && (!tries.Locked(at.Add(TOTPLockedFor-1)) || tries.Locked(at.Add(TOTPLockedFor)) || len(tries.Wrong) != 0) {
			t.Errorf("%+v: the lock does not lapse after five minutes: %+v", c, tries)
		}
	}
}
