package ticket

import (
	"testing"
	"time"
)

// lost is a second scan of a ticket whose first answer was lost: the event wants such
// answers taken back, and everything that is needed for it holds.
func lost() (Scan, Facts) {
	s, f := good()
	f.Event.Rescan = Recover
	f.Ticket.Status, f.Ticket.Entries, f.Ticket.Inside = Used, 1, 1
	f.Last = &Admission{
		Key: New[keyKind](), At: now.Add(-time.Minute), Gate: gateB, Device: New[deviceKind](), Direction: In, People: 1, Entries: 1, Inside: 1,
		Kind: Pushed, Generation: 1, Ordinary: true,
	}
	f.History = &History{Receipts: true}
	return s, f
}

func TestAnAnswerThatNobodySawIsTakenBack(t *testing.T) {
	s, f := lost()
	d := Decide(s, f)
	if d.Reason != Admitted || !d.Writes() || !d.Recovered || d.Recovers != f.Last || d.People != 1 || d.First == nil || d.First.Gate != gateB {
		t.Errorf("got %+v", d)
	}
	if f.Ticket.Entries != 1 {
		t.Error("the facts were changed")
	}
	f.History = nil
	if d := Decide(s, f); d.Reason != AlreadyUsed || !d.WantsHistory {
		t.Errorf("before the history is read: %+v", d)
	}
}

func TestEachConditionOfARecoveryIsNeeded(t *testing.T) {
	for name, spoil := range map[string]func(*Scan, *Facts){
		"the event does not want it":         func(_ *Scan, f *Facts) { f.Event.Rescan = ShowTime },
		"used is used":                       func(_ *Scan, f *Facts) { f.Event.Rescan = Strict },
		"the answer was on the screen":       func(_ *Scan, f *Facts) { f.Last.Shown = true },
		"the device never sends receipts":    func(_ *Scan, f *Facts) { f.History.Receipts = false },
		"the device was there 9 s ago":       func(_ *Scan, f *Facts) { f.History.SeenAt = now.Add(-9 * time.Second) },
		"the answer is 9 s old":              func(_ *Scan, f *Facts) { f.Last.At = now.Add(-9 * time.Second) },
		"the use is older than the window":   func(_ *Scan, f *Facts) { f.Last.At = now.Add(-f.Event.RescanWindow - time.Second) },
		"another phone comes":                func(_ *Scan, f *Facts) { f.Last.Generation = 0 },
		"it was a person's judgement":        func(_ *Scan, f *Facts) { f.Last.Ordinary = false },
		"a program admitted":                 func(_ *Scan, f *Facts) { f.Last.Device = DeviceID{} },
		"somebody has left since":            func(_ *Scan, f *Facts) { f.LeftSince = true },
		"the proof is six digits":            func(s *Scan, _ *Facts) { s.Code.Signs, s.Code.Expires = SignsShort, now },
		"the proof is the phone's own clock": func(s *Scan, _ *Facts) { timed(s, 0); s.PhoneOffline = true },
	} {
		s, f := lost()
		spoil(&s, &f)
		if d := Decide(s, f); d.Reason != AlreadyUsed || d.Recovers != nil || d.Writes() {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

func TestADeviceIsGoneWhenItsLeaseEndedOrItWasSilentForTenSeconds(t *testing.T) {
	for _, c := range []struct {
		answered, seen time.Duration // ago; 0: never seen since
		ended          bool
		want           Reason
	}{
		{10 * time.Second, 0, false, Admitted}, {9 * time.Second, 0, false, AlreadyUsed},
		{time.Minute, 10 * time.Second, false, Admitted}, {time.Minute, 2 * time.Second, false, AlreadyUsed},
		{2 * time.Second, time.Second, true, Admitted},
	} {
		s, f := lost()
		f.Last.At, f.History.LeaseEnded = now.Add(-c.answered), c.ended
		if c.seen > 0 {
			f.History.SeenAt = now.Add(-c.seen)
		}
		if d := Decide(s, f); d.Reason != c.want {
			t.Errorf("%+v: %s", c, d.Reason)
		}
	}
}

func TestAFamilysLostAnswerIsTakenBackForAsMany(t *testing.T) {
	s, f := lost()
	f.Ticket.Admits, f.Ticket.Entries, f.Ticket.Inside = 4, 4, 4
	f.Last.People, f.Last.Entries = 3, 4
	if d := Decide(s, f); d.Reason != Admitted || d.Recovers == nil || d.People != 3 || d.Remaining != 0 {
		t.Errorf("not said how many: %+v", d)
	}
	s.People = 2
	if d := Decide(s, f); d.Reason != Admitted || d.Recovers == nil || d.People != 2 || d.Remaining != 1 {
		t.Errorf("fewer than then: %+v", d)
	}
	s.People = 4
	if d := Decide(s, f); d.Reason != EntriesExhausted || d.Writes() {
		t.Errorf("more than then: %+v", d)
	}
	f.Ticket.Entries, f.Ticket.Inside, f.Ticket.Status = 1, 1, Active
	f.Last.People, s.People = 1, 1
	if d := Decide(s, f); d.Reason != Admitted || d.Recovers != nil {
		t.Errorf("where there is room nothing needs taking back: %+v", d)
	}
}

func TestWhoeverMayOverrideRecoversFirst(t *testing.T) {
	s, f := lost()
	boss := Overriding{Controller: true, Supervisor: true}
	if d := DecideOver(s, f, boss); d.Recovers == nil || len(d.Over) != 0 {
		t.Errorf("got %+v", d)
	}
	f.History = nil
	if d := DecideOver(s, f, boss); !d.WantsHistory || d.Writes() {
		t.Errorf("before the history is read: %+v", d)
	}
}

func TestARecoveredAdmissionIsRepeatedAndItsForerunnerSuperseded(t *testing.T) {
	s, f := lost()
	f.SameKey = &Admission{Key: s.Key, At: now, People: 1, Recovery: true}
	if d := Decide(s, f); d.Reason != Admitted || !d.Replayed || !d.Recovered || d.Writes() {
		t.Errorf("repeated: %+v", d)
	}
	f.SameKey = &Admission{Key: s.Key, At: now, People: 1, Undone: true, Superseded: true}
	if d := Decide(s, f); d.Reason != Superseded || d.Class != ClassRefuse {
		t.Errorf("the first comes back: %+v", d)
	}
}

func TestTheThirdOldCodeWithinAMinuteIsProbablyAPicture(t *testing.T) {
	for before, want := range []Class{ClassAgain, ClassAgain, ClassAsk, ClassAsk} {
		s, f := good()
		f.Nonce.IssuedAt = now.Add(-time.Hour)
		if d := Decide(s, f); d.Reason != StaleNonce || !d.WantsHistory || d.Class != ClassAgain {
			t.Errorf("before the history is read: %+v", d)
		}
		f.History = &History{Stale: before}
		if d := Decide(s, f); d.Reason != StaleNonce || d.Class != want || d.Picture != (want == ClassAsk) || d.WantsHistory {
			t.Errorf("after %d: %+v", before, d)
		}
	}
}
