package ticket

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var (
	now   = time.Date(2026, 3, 29, 19, 40, 0, 0, time.UTC)
	venue = Venue{ID: New[venueKind](), Name: "Odéon", TimeZone: "Europe/Prague"}
	gateA = Gate{ID: New[gateKind](), Name: "A", Venue: venue.ID}
	gateB = Gate{ID: New[gateKind](), Name: "B", Venue: venue.ID}
	me    = New[deviceKind]()
	nonce = []byte("0123456789abcdef")
)

// good is a scan that is admitted; the tests break one thing or two.
func good() (Scan, Facts) {
	s := Scan{Key: New[keyKind](), Direction: In, Code: CodeFacts{Signs: SignsNonce, Generation: 1, Nonce: nonce}}
	f := Facts{
		Now: now,
		Ticket: &Ticket{
			ID: New[ticketKind](), Number: 7, Status: Active, Generation: 1, Admits: 1, ClaimedAt: now.Add(-48 * time.Hour),
		},
		Claim: &Claim{Generation: 1},
		Event: Event{
			ID: New[eventKind](), Venue: venue, DoorsOpenAt: now.Add(-10 * time.Minute), StartsAt: now.Add(20 * time.Minute),
			EndsAt: now.Add(2 * time.Hour), Freshness: Assisted, Rescan: ShowTime, RescanWindow: 5 * time.Minute,
		},
		Category:      Category{ID: New[categoryKind](), Name: "Standard"},
		SignatureGood: true,
		Gate:          gateA, Device: me, Person: New[personKind](), Assigned: true,
		Nonce: &Nonce{Venue: venue.ID, IssuedAt: now.Add(-5 * time.Second)},
	}
	return s, f
}

func timed(s *Scan, skew time.Duration) {
	s.Code.Signs, s.Code.Nonce, s.Code.IssuedAt = SignsTime, nil, now.Add(skew)
}

func oneTime(s *Scan) {
	s.Code.Signs, s.Code.Nonce, s.Code.IssuedAt = SignsTOTP, nil, now
}

// breaks maps each reason to what causes it and nothing that is checked earlier.
// touches names the input that it sets; two breaks that set the same input to
// different values cannot occur together.
var breaks = []struct {
	reason  Reason
	touches string
	apply   func(*Scan, *Facts)
}{
	{UnknownTicket, "", func(_ *Scan, f *Facts) { f.Claim = nil }},
	{BadSignature, "", func(_ *Scan, f *Facts) { f.SignatureGood = false }},
	{Undone, "key", func(_ *Scan, f *Facts) { f.SameKey = &Admission{At: now, People: 1, Undone: true} }},
	{Superseded, "key", func(_ *Scan, f *Facts) { f.SameKey = &Admission{At: now, People: 1, Undone: true, Superseded: true} }},
	{NotAssigned, "", func(_ *Scan, f *Facts) { f.Assigned = false }},
	// A one-time code has no signature: it is right before anything is said of the ticket.
	{TOTPWrong, "code", func(s *Scan, f *Facts) { oneTime(s); s.PhoneOffline, f.SignatureGood = true, false }},
	{TOTPLocked, "code", func(s *Scan, f *Facts) { oneTime(s); s.Code.Locked, f.SignatureGood = true, false }},
	{WrongEvent, "", func(_ *Scan, f *Facts) { f.Event.Venue.ID = New[venueKind]() }},
	{WrongGate, "", func(_ *Scan, f *Facts) { f.Category.Gates = []Gate{gateB} }},
	{StaleNonce, "code", func(_ *Scan, f *Facts) { f.Nonce = &Nonce{Venue: venue.ID, IssuedAt: now.Add(-36 * time.Second)} }},
	{UnknownNonce, "code", func(_ *Scan, f *Facts) { f.Nonce = nil }},
	{WrongController, "code", func(_ *Scan, f *Facts) {
		f.Nonce = &Nonce{Venue: venue.ID, Device: New[deviceKind](), IssuedAt: now}
	}},
	{ClockSkew, "code", func(s *Scan, _ *Facts) { timed(s, -time.Minute) }},
	{NeedsAssist, "code", func(s *Scan, _ *Facts) { timed(s, 0) }},
	{FallbackRefused, "code", func(s *Scan, f *Facts) { timed(s, 0); f.WalletLive = true }},
	{TOTPReplayed, "code", func(s *Scan, _ *Facts) { oneTime(s); s.Code.Spent = true }},
	{PaperNotAllowed, "code", func(s *Scan, f *Facts) { s.Code.Signs = SignsPaper; s.Code.Nonce = nil; f.Claim = paperOf(f.Claim) }},
	{Moved, "", func(_ *Scan, f *Facts) { f.Ticket.Generation = 2 }},
	{Revoked, "status", func(_ *Scan, f *Facts) { f.Ticket.Status = RevokedStatus }},
	{Held, "status", func(_ *Scan, f *Facts) { f.Ticket.Status = HeldStatus }},
	{TooEarly, "", func(_ *Scan, f *Facts) { f.Category.ValidFrom = now.Add(time.Minute) }},
	{TooLate, "", func(_ *Scan, f *Facts) { f.Event.EndsAt = now }},
	{ChoosePeople, "use", func(_ *Scan, f *Facts) { f.Ticket.Admits = 4 }},
	{AlreadyUsed, "use", func(_ *Scan, f *Facts) { f.Ticket.Entries, f.Ticket.Inside = 1, 1; f.Last = last() }},
	{AlreadyInside, "use", func(_ *Scan, f *Facts) {
		f.Event.Reentry = true
		f.Ticket.Entries, f.Ticket.Inside, f.Last = 1, 1, last()
	}},
	{NotInside, "use", func(s *Scan, f *Facts) { f.Event.Reentry = true; s.Direction = Out }},
	{EntriesExhausted, "use", func(_ *Scan, f *Facts) {
		f.Ticket.Admits, f.Ticket.Entries, f.Ticket.Inside = 4, 4, 4
		f.Last = last()
	}},
}

func paperOf(c *Claim) *Claim {
	if c == nil {
		return nil
	}
	return &Claim{Generation: c.Generation, Paper: true}
}

func last() *Admission {
	return &Admission{Key: New[keyKind](), At: now.Add(-2 * time.Minute), Gate: gateB, PersonName: "Karel", Generation: 1, Nonce: nonce}
}

// impossible: exits have no hours and no state of the ticket against them, so that
// nobody is kept inside.
func impossible(a, b Reason) string {
	switch unproven := b == TOTPWrong || b == TOTPLocked; {
	case a == BadSignature && (unproven || b == TOTPReplayed):
		return "a one-time code has no signature"
	case (a == Undone || a == Superseded) && unproven:
		return "a key's answer is for the code that it came with"
	}
	for _, one := range [][2]Reason{{a, b}, {b, a}} {
		if order := RuleOf(one[1]).Order; one[0] == NotInside && (order == 8 || order == 9) {
			return "an exit asks for neither"
		}
	}
	return ""
}

func TestAGoodScanIsAdmitted(t *testing.T) {
	s, f := good()
	d := Decide(s, f)
	if d.Reason != Admitted || d.Verdict != Admit || d.Class != ClassAdmit || d.People != 1 || d.Kind != Pushed || !d.Writes() {
		t.Errorf("got %+v", d)
	}
}

func TestEachBrokenThingHasItsReason(t *testing.T) {
	for _, b := range breaks {
		s, f := good()
		b.apply(&s, &f)
		d := Decide(s, f)
		rule := RuleOf(b.reason)
		if d.Reason != b.reason || d.Verdict != rule.Verdict || d.Class != rule.Class {
			t.Errorf("want %s, got %+v", b.reason, d)
		}
		if d.Writes() {
			t.Errorf("%s would write", b.reason)
		}
	}
}

func TestOfTwoBrokenThingsTheEarlierCheckGivesTheReason(t *testing.T) {
	var skipped []string
	pairs := 0
	for i, a := range breaks {
		for _, b := range breaks[i+1:] {
			if why := impossible(a.reason, b.reason); why != "" {
				skipped = append(skipped, fmt.Sprintf("%s + %s: %s", a.reason, b.reason, why))
				continue
			}
			if a.touches != "" && a.touches == b.touches {
				skipped = append(skipped, fmt.Sprintf("%s + %s: one scan has one %s", a.reason, b.reason, a.touches))
				continue
			}
			pairs++
			for _, order := range [][2]func(*Scan, *Facts){{a.apply, b.apply}, {b.apply, a.apply}} {
				s, f := good()
				order[0](&s, &f)
				order[1](&s, &f)
				if d := Decide(s, f); d.Reason != a.reason {
					t.Errorf("%s and %s together: want %s, got %s", a.reason, b.reason, a.reason, d.Reason)
				}
			}
		}
	}
	t.Logf("%d pairs held; impossible together:\n  %s", pairs, strings.Join(skipped, "\n  "))
}

func TestEveryReasonIsBrokenSomewhereOrSaysWhyNot(t *testing.T) {
	elsewhere := map[Reason]string{
		Admitted: "is the good scan", Malformed: "package wallet finds it", UnsupportedVersion: "package wallet finds it",
		NotATicket: "package wallet finds it", NotInPack: "only a device without network says it",
	}
	tested := map[Reason]bool{}
	for _, b := range breaks {
		tested[b.reason] = true
	}
	for _, rule := range Rules {
		if tested[rule.Reason] == (elsewhere[rule.Reason] != "") {
			t.Errorf("%s: in the table of breaks %v, excused %q", rule.Reason, tested[rule.Reason], elsewhere[rule.Reason])
		}
	}
}

func TestARepeatedKeyIsAnsweredAsBeforeWhateverFailsSince(t *testing.T) {
	for _, b := range breaks {
		if b.touches == "key" || RuleOf(b.reason).Order <= 3 || b.reason == TOTPWrong || b.reason == TOTPLocked {
			continue
		}
		s, f := good()
		b.apply(&s, &f)
		at := now.Add(-23 * time.Hour)
		f.SameKey = &Admission{Key: s.Key, At: at, People: 1, Entries: 1, Kind: Pushed, MovedAt: at.Add(-time.Minute)}
		d := Decide(s, f)
		if d.Reason != Admitted || !d.Replayed || d.Writes() || !d.At.Equal(at) || d.People != 1 || d.MovedAt.IsZero() {
			t.Errorf("%s since: got %+v", b.reason, d)
		}
	}
}

func TestNothingIsSaidOfATicketBeforeItsSignatureIsGood(t *testing.T) {
	for _, b := range breaks {
		if RuleOf(b.reason).Order <= 3 {
			continue
		}
		s, f := good()
		b.apply(&s, &f)
		f.SignatureGood = false
		f.SameKey = &Admission{Key: s.Key, At: now, People: 1}
		want := BadSignature
		if s.Code.Signs == SignsTOTP {
			want = TOTPWrong
		}
		if s.Code.Locked {
			want = TOTPLocked
		}
		if d := Decide(s, f); d.Reason != want || d.First != nil || !d.MovedAt.IsZero() {
			t.Errorf("%s: got %+v", b.reason, d)
		}
	}
}

func TestAPushedCodeLives35SecondsLessItsWaitInside(t *testing.T) {
	for _, c := range []struct {
		age, waited time.Duration
		want        Reason
	}{
		{0, 0, Admitted}, {35 * time.Second, 0, Admitted}, {35*time.Second + time.Millisecond, 0, StaleNonce},
		{37 * time.Second, 2 * time.Second, Admitted}, {-time.Second, 0, Admitted},
	} {
		s, f := good()
		f.Nonce.IssuedAt, f.Waited = now.Add(-c.age), c.waited
		if d := Decide(s, f); d.Reason != c.want {
			t.Errorf("age %s, waited %s: got %s, want %s", c.age, c.waited, d.Reason, c.want)
		}
	}
}

func TestAShownCodeLives60SecondsAtItsDevice(t *testing.T) {
	for age, want := range map[time.Duration]Reason{60 * time.Second: Admitted, 61 * time.Second: StaleNonce} {
		s, f := good()
		f.Nonce = &Nonce{Venue: venue.ID, Device: me, IssuedAt: now.Add(-age)}
		if d := Decide(s, f); d.Reason != want || d.Kind != Shown {
			t.Errorf("age %s: got %s of kind %s, want %s", age, d.Reason, d.Kind, want)
		}
	}
}

func TestATimedCodeToleratesTheBoundsAndNoMore(t *testing.T) {
	for skew := -60 * time.Second; skew <= 30*time.Second; skew += time.Second {
		s, f := good()
		timed(&s, skew)
		s.PhoneOffline = true
		want := Admitted
		if skew < -TimedBehind || skew > TimedAhead {
			want = ClockSkew
		}
		d := Decide(s, f)
		if d.Reason != want {
			t.Errorf("skew %s: got %s, want %s", skew, d.Reason, want)
		}
		if want == ClockSkew && d.Skew != skew {
			t.Errorf("skew %s: the answer says %s", skew, d.Skew)
		}
	}
}

func TestAShortCodeCountsOnceAndForAMinute(t *testing.T) {
	for _, c := range []struct {
		expires time.Duration
		spent   bool
		want    Reason
	}{{time.Second, false, Admitted}, {0, false, Admitted}, {-time.Millisecond, false, StaleNonce}, {time.Second, true, StaleNonce}} {
		s, f := good()
		f.Event.Freshness = Live
		s.Code = CodeFacts{Signs: SignsShort, Generation: 1, Nonce: nonce, Expires: now.Add(c.expires), Spent: c.spent}
		if d := Decide(s, f); d.Reason != c.want || d.Kind != Short {
			t.Errorf("%+v: got %s of kind %s", c, d.Reason, d.Kind)
		}
	}
}

func TestTheFreshnessPolicySaysWhichKindsCount(t *testing.T) {
	for _, c := range []struct {
		policy        Freshness
		offline, live bool
		want          Reason
	}{
		{Live, false, false, FallbackRefused}, {Live, true, false, FallbackRefused},
		{Assisted, false, false, NeedsAssist}, {Assisted, true, false, Admitted}, {Assisted, true, true, FallbackRefused},
		{Open, false, false, Admitted}, {Open, false, true, FallbackRefused},
	} {
		s, f := good()
		timed(&s, 0)
		f.Event.Freshness, s.PhoneOffline, f.WalletLive = c.policy, c.offline, c.live
		if d := Decide(s, f); d.Reason != c.want {
			t.Errorf("%+v: got %s", c, d.Reason)
		}
	}
}

func TestAShowingNotYetOpenIsTheWrongEventAndOneThatIsOverIsTooLate(t *testing.T) {
	s, f := good()
	f.Event.DoorsOpenAt = now.Add(time.Second)
	if d := Decide(s, f); d.Reason != WrongEvent {
		t.Errorf("not yet open: got %s", d.Reason)
	}
	s, f = good()
	f.Category.ValidUntil = now
	if d := Decide(s, f); d.Reason != TooLate || !d.Validity.Equal(now) {
		t.Errorf("category over: got %+v", d)
	}
}

func TestAFamilyTicketLetsInItsPeopleInParts(t *testing.T) {
	s, f := good()
	f.Ticket.Admits, f.Ticket.Entries, f.Ticket.Inside = 4, 2, 2
	if d := Decide(s, f); d.Reason != ChoosePeople || d.Remaining != 2 {
		t.Errorf("not said how many: got %+v", d)
	}
	s.People = 2
	if d := Decide(s, f); d.Reason != Admitted || d.People != 2 || d.Remaining != 0 {
		t.Errorf("two of two: got %+v", d)
	}
	s.People = 3
	if d := Decide(s, f); d.Reason != ChoosePeople || d.Remaining != 2 {
		t.Errorf("three of two: got %+v", d)
	}
	f.Ticket.Entries, f.Ticket.Inside = 4, 4
	if d := Decide(s, f); d.Reason != EntriesExhausted || d.Remaining != 0 {
		t.Errorf("of none: got %+v", d)
	}
}

func TestAUsedTicketIsAQuestionWhileYoungAndARefusalLater(t *testing.T) {
	for _, c := range []struct {
		ago    time.Duration
		policy Rescan
		want   Class
	}{
		{2 * time.Minute, ShowTime, ClassAsk}, {5 * time.Minute, ShowTime, ClassAsk}, {5*time.Minute + 1, ShowTime, ClassRefuse},
		{time.Second, Strict, ClassRefuse}, {time.Second, Recover, ClassAsk},
	} {
		s, f := good()
		f.Event.Rescan = c.policy
		f.Ticket.Status, f.Ticket.Entries, f.Ticket.Inside, f.Last = Used, 1, 1, last()
		f.Last.At, f.Last.Device = now.Add(-c.ago), me
		d := Decide(s, f)
		if d.Reason != AlreadyUsed || d.Class != c.want {
			t.Errorf("%+v: got %s in class %s", c, d.Reason, d.Class)
		}
		if d.First == nil || d.First.Ago != c.ago || !d.First.SameDevice || !d.First.SameClaim || !d.First.SameNonce || d.First.PersonName != "Karel" {
			t.Errorf("%+v: the first use is %+v", c, d.First)
		}
	}
}

func TestATicketThatMovedWithinTheHourIsAdmittedWithAWord(t *testing.T) {
	s, f := good()
	s.Code.Generation, f.Claim.Generation, f.Ticket.Generation = 2, 2, 2
	f.Ticket.ClaimedAt = now.Add(-12 * time.Minute)
	if d := Decide(s, f); d.Reason != Admitted || !d.MovedAt.Equal(f.Ticket.ClaimedAt) {
		t.Errorf("got %+v", d)
	}
	f.Ticket.ClaimedAt = now.Add(-time.Hour)
	if d := Decide(s, f); d.Reason != Admitted || !d.MovedAt.IsZero() {
		t.Errorf("an hour later: got %+v", d)
	}
}

func TestAnExitGivesThePlaceBackWhereThereIsReentry(t *testing.T) {
	s, f := good()
	f.Event.Reentry, s.Direction = true, Out
	f.Ticket.Entries, f.Ticket.Inside = 1, 1
	if d := Decide(s, f); d.Reason != Admitted || d.Direction != Out || d.People != 1 {
		t.Errorf("out: got %+v", d)
	}
	f.Event.Reentry = false
	if d := Decide(s, f); d.Reason != NotInside {
		t.Errorf("out without re-entry: got %s", d.Reason)
	}
}

func TestOneProofMakesOnePassageWhereThereIsReentry(t *testing.T) {
	s, f := good()
	f.Event.Reentry, f.ProofUsed = true, true
	if d := Decide(s, f); d.Reason != StaleNonce {
		t.Errorf("got %s", d.Reason)
	}
}

func TestAReplayIsOfThePassageThatWasMadeNotOfTheOneAskedFor(t *testing.T) {
	s, f := good()
	s.Direction = Out
	f.Event.Reentry = true
	f.SameKey = &Admission{Key: s.Key, At: now, Direction: In, People: 1, Entries: 1, Inside: 1, Kind: Pushed}
	if d := Decide(s, f); !d.Replayed || d.Direction != In {
		t.Errorf("got %+v", d)
	}
}

func TestWhoeverIsInsideMayLeaveWhateverBecameOfTheTicket(t *testing.T) {
	for _, status := range []Status{HeldStatus, RevokedStatus} {
		s, f := good()
		s.Direction, f.Event.Reentry = Out, true
		f.Ticket.Status, f.Ticket.Entries, f.Ticket.Inside = status, 1, 1
		f.Event.EndsAt = now
		if d := Decide(s, f); d.Reason != Admitted || d.Direction != Out {
			t.Errorf("%s: got %+v", status, d)
		}
	}
}

func TestJudgementLetsInNoMorePeopleThanTheTicketIsFor(t *testing.T) {
	s, f := good()
	s.People = 50
	f.Ticket.Status, f.Ticket.Entries, f.Ticket.Inside, f.Last = Used, 1, 1, last()
	if d := DecideOver(s, f, Overriding{Supervisor: true}); d.Reason != Admitted || d.People != 1 {
		t.Errorf("got %+v", d)
	}
}
