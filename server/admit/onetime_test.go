package admit_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/wallet"
)

// appHolder is a guest whose phone has the secret of one ticket's one-time codes.
type appHolder struct {
	*servertest.Phone
	client.OneTimeSecret
	house *servertest.House
	held  *wallet.HeldTicket
}

func withApp(t *testing.T, h *servertest.House, event ticket.EventID, in client.NewTickets) appHolder {
	t.Helper()
	phone, issued := h.Claimed(event, in)
	held := phone.Keys.Find(issued.Ticket.UUID())
	return appHolder{phone, servertest.Must(phone.OneTime(context.Background(), held))(t), h, held}
}

// at is what the guest says at a time: the number and eight digits.
func (a appHolder) at(t *testing.T, at time.Time) string {
	t.Helper()
	return fmt.Sprintf("%d %s", a.Number, servertest.Must(a.held.OneTimeCode(at.Unix()))(t))
}

func (a appHolder) typed(t *testing.T) string {
	t.Helper()
	return a.at(t, a.house.DB.Now(t))
}

// pattern is what an app shows in a QR at a time.
func (a appHolder) pattern(t *testing.T, at time.Time) string {
	t.Helper()
	return servertest.Must(a.held.OneTimePattern(at.Unix()))(t).String()
}

// wrong is a code that is right in none of the steps around now.
func (a appHolder) wrong(t *testing.T) string {
	t.Helper()
	window := wallet.TOTPWindow(a.house.DB.Now(t).Unix())
	for i := range 100 {
		digits := fmt.Sprintf("%08d", i)
		if _, ok := wallet.CheckTOTP(a.held.OneTime, append(window, window[3]+1), digits); !ok {
			return fmt.Sprintf("%d %s", a.Number, digits)
		}
	}
	t.Fatal("a hundred codes are right")
	return ""
}

// offline is a scan whose controller says that the phone has no network.
func offline(code string) client.Scan { return client.Scan{Code: code, PhoneOffline: true} }

func ask(t *testing.T, by *servertest.Gatekeeper, code string, want ticket.Reason) client.ScanAnswer {
	t.Helper()
	a := by.AskAs(t, servertest.NewKey(), offline(code))
	if rule := ticket.RuleOf(want); a.Reason != want || a.Verdict != rule.Verdict || a.Class != rule.Class {
		t.Errorf("want %s, got %s/%s/%s", want, a.Reason, a.Verdict, a.Class)
	}
	if told := want != ticket.TOTPWrong && want != ticket.TOTPLocked; (a.Ticket != nil) != told {
		t.Errorf("%s: of the ticket is told %+v", a.Reason, a.Ticket)
	}
	return a
}

// nextStep moves the clock to just after the beginning of the next step, so that the
// calls that follow are in one.
func nextStep(t *testing.T, h *servertest.House) {
	t.Helper()
	now := h.DB.Now(t)
	next := time.Unix((wallet.TOTPStep(now.Unix())+1)*wallet.TOTPPeriod, 0)
	h.DB.Shift(t, next.Sub(now))
}

func TestACodeThatIsTypedAdmitsOnceAndItsKeyGetsTheAnswerAgain(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	eva := withApp(t, h, h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	nextStep(t, h)
	code, key := eva.typed(t), servertest.NewKey()
	spaced := " " + code[:len(code)-4] + "  " + code[len(code)-4:] + " "
	if a := karel.AskAs(t, key, offline(spaced)); a.Reason != ticket.Admitted || a.Kind != ticket.TOTP || a.Replayed || a.Ticket.Number != eva.Number {
		t.Errorf("typed: %+v", a)
	}
	if a := karel.AskAs(t, key, offline(code)); a.Reason != ticket.Admitted || !a.Replayed {
		t.Errorf("the same scan again: %+v", a)
	}
	ask(t, karel, code, ticket.TOTPReplayed)
	ask(t, karel, eva.at(t, h.DB.Now(t).Add(-wallet.TOTPPeriod*time.Second)), ticket.TOTPReplayed)
	h.DB.Shift(t, wallet.TOTPPeriod*time.Second)
	ask(t, karel, eva.typed(t), ticket.AlreadyUsed)

	h.DB.Shift(t, 10*time.Minute)
	if a := karel.AskAs(t, key, offline(code)); !a.Replayed {
		t.Errorf("the same scan ten minutes later: %+v", a)
	}
	if a := karel.AskAs(t, key, offline(eva.wrong(t))); a.Reason != ticket.TOTPWrong || a.Ticket != nil {
		t.Errorf("its key with another code: %+v", a)
	}
	h.DB.Shift(t, 3*time.Hour)
	if a := karel.AskAs(t, key, offline(code)); !a.Replayed {
		t.Errorf("the same scan after the showing: %+v", a)
	}
	ask(t, karel, eva.typed(t), ticket.TOTPWrong) // no ticket of this number is for a showing that is open
	if n := h.Count(t, "admissions"); n != 1 {
		t.Errorf("%d admissions", n)
	}
	if n := h.Count(t, "attempts WHERE kind = 'totp' AND ticket_id = $1", eva.Ticket); n != 8 {
		t.Errorf("%d attempts are logged with kind and ticket", n)
	}
}

func TestAPatternIsTriedForTheStepThatItNames(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	guest := func() appHolder {
		return withApp(t, h, h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	}
	nextStep(t, h)
	eva, now := guest(), h.DB.Now(t)
	code, key := eva.pattern(t, now), servertest.NewKey()
	if a := karel.AskAs(t, key, offline(code)); a.Reason != ticket.Admitted || a.Kind != ticket.TOTP {
		t.Errorf("a pattern: %+v", a)
	}
	ask(t, karel, code, ticket.TOTPReplayed)
	ask(t, karel, eva.typed(t), ticket.TOTPReplayed) // the same step in the other form
	h.DB.Shift(t, 10*time.Minute)
	if a := karel.AskAs(t, key, offline(code)); !a.Replayed {
		t.Errorf("the same scan again: %+v", a)
	}

	for _, c := range []struct {
		steps int64
		want  ticket.Reason
	}{{-3, ticket.ClockSkew}, {-2, ticket.Admitted}, {1, ticket.Admitted}, {2, ticket.ClockSkew}} {
		var paul appHolder
		var scanned, typed client.ScanAnswer
		for step := int64(-1); step != wallet.TOTPStep(h.DB.Now(t).Unix()); { // until all of it happens in one step
			paul = guest()
			luc := guest()
			nextStep(t, h)
			step = wallet.TOTPStep(h.DB.Now(t).Unix())
			at := time.Unix((step+c.steps)*wallet.TOTPPeriod, 0)
			scanned = karel.AskAs(t, servertest.NewKey(), offline(paul.pattern(t, at)))
			typed = karel.AskAs(t, servertest.NewKey(), offline(luc.at(t, at)))
		}
		if scanned.Reason != c.want || (scanned.SecondsSkew != nil) != (c.want == ticket.ClockSkew) {
			t.Errorf("a pattern of %d steps from now: %+v", c.steps, scanned)
		}
		if c.want == ticket.Admitted && typed.Reason != ticket.Admitted || c.want == ticket.ClockSkew && typed.Reason != ticket.TOTPWrong {
			t.Errorf("digits of %d steps from now: %s", c.steps, typed.Reason) // they do not say which step they are of
		}
		if c.want == ticket.ClockSkew {
			ask(t, karel, paul.pattern(t, h.DB.Now(t)), ticket.Admitted) // a distant step uses up nothing
		}
	}
	other := guest()
	good := other.pattern(t, h.DB.Now(t))
	ask(t, karel, strings.Replace(good, good[len(good)-8:], other.wrong(t)[len(other.wrong(t))-8:], 1), ticket.TOTPWrong)
	other.held.Generation = 9
	if a := karel.Ask(t, other.pattern(t, h.DB.Now(t))); a.Reason != ticket.UnknownTicket {
		t.Errorf("a claim that never was: %s", a.Reason)
	}
	phone, issued := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	bare := appHolder{Phone: phone, house: h, held: phone.Keys.Find(issued.Ticket.UUID())}
	bare.held.OneTime, bare.Number = other.held.OneTime, issued.Number
	ask(t, karel, bare.pattern(t, h.DB.Now(t)), ticket.TOTPWrong) // a claim that never asked for a secret
	ask(t, karel, bare.typed(t), ticket.TOTPWrong)
	ask(t, karel, "99999 12345678", ticket.TOTPWrong)
}

func TestFiveWrongCodesLockTheKindUntilTheLockLapses(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel, olga := h.Controller("Karel", session.Controller), h.Controller("Olga", session.Supervisor)
	eva := withApp(t, h, h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	for range 4 {
		karel.AskAs(t, servertest.NewKey(), client.Scan{Code: eva.wrong(t), DryRun: true}) // looking first is guessing too
	}
	h.DB.Shift(t, time.Minute)
	for range 4 {
		ask(t, karel, eva.wrong(t), ticket.TOTPWrong) // those of more than a minute ago do not count
	}
	ask(t, karel, eva.wrong(t), ticket.TOTPWrong)
	nextStep(t, h)
	ask(t, karel, eva.typed(t), ticket.TOTPLocked)
	ask(t, karel, eva.wrong(t), ticket.TOTPLocked)
	ask(t, karel, eva.pattern(t, h.DB.Now(t)), ticket.TOTPLocked)
	if a := ask(t, olga, eva.typed(t), ticket.TOTPLocked); len(a.Actions) != 1 || a.Actions[0] != "override" {
		t.Errorf("a supervisor is offered %v", a.Actions)
	}
	h.DB.Shift(t, 5*time.Minute)
	ask(t, karel, eva.typed(t), ticket.Admitted)
}

func TestALockNeitherHidesALivingCodeNorStopsASupervisor(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel, olga := h.Controller("Karel", session.Controller), h.Controller("Olga", session.Supervisor)
	lock := func() appHolder {
		guest := withApp(t, h, h.Event.Event, client.NewTickets{Category: h.Standard.Category})
		for range 5 {
			ask(t, karel, guest.wrong(t), ticket.TOTPWrong)
		}
		return guest
	}
	eva, paul := lock(), lock()
	if a := karel.Ask(t, eva.Signed(t, eva.Ticket, karel.Hold(t))); a.Reason != ticket.Admitted {
		t.Errorf("a signed code while one-time codes are locked: %s", a.Reason)
	}
	over := func(by *servertest.Gatekeeper, code string) client.ScanAnswer {
		return servertest.Must(client.Do[client.ScanAnswer](context.Background(), by.Client, http.MethodPost, "/v1/scans/override", map[string]any{
			"gate": h.Gate.Gate, "code": code, "reason": "I know him", "phone_offline": true,
		}, client.WithKey(servertest.NewKey())))(t)
	}
	nextStep(t, h)
	if a := over(karel, paul.typed(t)); a.Reason != ticket.TOTPLocked {
		t.Errorf("a controller over the lock: %s", a.Reason)
	}
	if a := over(olga, paul.wrong(t)); a.Reason != ticket.TOTPWrong || a.Ticket != nil {
		t.Errorf("a supervisor with a wrong code: %+v", a)
	}
	if a := over(olga, paul.typed(t)); a.Reason != ticket.Admitted || len(a.Overridden) != 1 || a.Overridden[0] != ticket.TOTPLocked {
		t.Errorf("a supervisor over the lock: %+v", a)
	}
}

func TestTheButtonsSendTheSameCodeAgainUnderTheSameKey(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel, petr := h.Controller("Karel", session.Controller), h.Controller("Petr", session.Controller)
	family := withApp(t, h, h.Event.Event, client.NewTickets{Category: h.Family.Category})
	nextStep(t, h)
	code, key := family.typed(t), servertest.NewKey()
	if a := karel.AskAs(t, key, client.Scan{Code: code, DryRun: true}); a.Reason != ticket.NeedsAssist {
		t.Errorf("look first: %s", a.Reason)
	}
	key = servertest.NewKey() // looking uses nothing up
	if a := karel.AskAs(t, key, client.Scan{Code: code}); a.Reason != ticket.NeedsAssist || len(a.Actions) != 1 || a.Actions[0] != "phone_offline" {
		t.Errorf("without the button: %+v", a)
	}
	ask(t, petr, code, ticket.TOTPReplayed) // overheard at another door meanwhile
	if a := karel.AskAs(t, key, offline(code)); a.Reason != ticket.ChoosePeople {
		t.Errorf("with the button: %s", a.Reason)
	}
	if a := karel.AskAs(t, key, client.Scan{Code: code, PhoneOffline: true, People: 2}); a.Reason != ticket.Admitted || a.People != 2 {
		t.Errorf("two of four: %+v", a)
	}
	h.DB.Shift(t, wallet.TOTPPeriod*time.Second)
	if a := karel.AskAs(t, servertest.NewKey(), client.Scan{Code: family.typed(t), PhoneOffline: true, People: 2}); a.Reason != ticket.Admitted || *a.Remaining != 0 {
		t.Errorf("the other two, by the next code: %+v", a)
	}
}

func TestOneTimeCodesFollowTheEventsPolicyAndGiveWayToALivingWallet(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	open := h.NewEvent("Open air", "Garden", -time.Minute, &client.Policy{Freshness: ticket.Open})
	eva := withApp(t, h, open.Event, client.NewTickets{Category: h.NewCategory(open.Event, client.NewCategory{Name: "Standard"}).Category})
	paul := withApp(t, h, open.Event, client.NewTickets{Category: h.NewCategory(open.Event, client.NewCategory{Name: "Late"}).Category})
	nextStep(t, h)
	if a := karel.Ask(t, eva.typed(t)); a.Reason != ticket.Admitted {
		t.Errorf("open: %s", a.Reason)
	}
	servertest.Must(client.Do[client.Event](context.Background(), h.Admin, http.MethodPatch, "/v1/events/"+open.Event.String(),
		map[string]any{"policy": map[string]any{"freshness": "live"}}))(t)
	ask(t, karel, paul.wrong(t), ticket.TOTPWrong) // the policy is not a guesser's affair
	ask(t, karel, paul.typed(t), ticket.FallbackRefused)

	luc := withApp(t, h, h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	karel.Hold(t) // wallets there have a usable nonce
	if _, err := h.DB.Pool.Exec(t.Context(), `INSERT INTO presence (ticket_id, seen_at) VALUES ($1, portillon_now())`, luc.Ticket); err != nil {
		t.Fatal(err)
	}
	ask(t, karel, luc.typed(t), ticket.FallbackRefused)
}

func TestANewClaimEndsTheOldOnesCodes(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	eva := withApp(t, h, h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	link := servertest.Must(client.Do[client.ClaimLink](context.Background(), h.Admin, http.MethodPost,
		"/v1/tickets/"+eva.Ticket.String()+"/reissue", map[string]string{"reason": "a new phone"}))(t)
	phone := h.NewPhone()
	phone.Take(t, link.ClaimURL)
	nextStep(t, h)
	if a := ask(t, karel, eva.typed(t), ticket.Moved); a.MovedAt.IsZero() {
		t.Error("typed: it is not said when")
	}
	h.DB.Shift(t, wallet.TOTPPeriod*time.Second)
	ask(t, karel, eva.pattern(t, h.DB.Now(t)), ticket.Moved)
	held := phone.Keys.Find(eva.Ticket.UUID())
	fresh := appHolder{phone, servertest.Must(phone.OneTime(context.Background(), held))(t), h, held}
	ask(t, karel, fresh.typed(t), ticket.Admitted)
}

func TestOfTwoShowingsWithTheSameNumberTheCodeSaysWhich(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	guests := make([]appHolder, 3)
	for i := range guests {
		event := h.NewEvent(fmt.Sprintf("Film %d", i), fmt.Sprintf("Screen %d", i), -time.Minute, nil)
		guests[i] = withApp(t, h, event.Event, client.NewTickets{Category: h.NewCategory(event.Event, client.NewCategory{Name: "Standard"}).Category})
		if guests[i].Number != guests[0].Number {
			t.Fatal("the showings number differently")
		}
	}
	closed := h.NewEvent("Tomorrow", "Screen 1", 24*time.Hour, nil)
	tomorrow := withApp(t, h, closed.Event, client.NewTickets{Category: h.NewCategory(closed.Event, client.NewCategory{Name: "Standard"}).Category})
	elsewhere := servertest.Furnish(t, h.Server)
	stranger := withApp(t, elsewhere, elsewhere.Event.Event, client.NewTickets{Category: elsewhere.Standard.Category})
	nextStep(t, h)
	if a := ask(t, karel, guests[1].typed(t), ticket.Admitted); a.Ticket.EventName != "Film 1" {
		t.Errorf("admitted to %s", a.Ticket.EventName)
	}
	if n := h.Count(t, "one_time_codes WHERE wrong_at <> '{}'"); n != 0 {
		t.Errorf("a right code counts as wrong for %d others", n)
	}
	ask(t, karel, tomorrow.typed(t), ticket.TOTPWrong)
	ask(t, karel, stranger.typed(t), ticket.TOTPWrong)
	if n := h.Count(t, "one_time_codes WHERE cardinality(wrong_at) = 2"); n != len(guests) {
		t.Errorf("two wrong codes count for %d of %d tickets", n, len(guests))
	}
	petr := elsewhere.Controller("Petr", session.Controller)
	for range 6 { // whoever does not belong to the gate may not guess there
		if a := petr.AskAs(t, servertest.NewKey(), client.Scan{Gate: h.Gate.Gate, Code: guests[0].wrong(t)}); a.Reason != ticket.NotAssigned {
			t.Errorf("another house's device: %s", a.Reason)
		}
	}
	ask(t, karel, guests[0].typed(t), ticket.Admitted)
	for range 3 {
		ask(t, karel, guests[0].wrong(t), ticket.TOTPWrong)
	}
	if a := ask(t, karel, guests[2].typed(t), ticket.TOTPLocked); a.Kind != ticket.TOTP {
		t.Errorf("the guess was at all three: %+v", a)
	}
}

func TestOfTwoDoorsThatHearOneCodeOneAdmits(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	second := servertest.On(t, h.DB, servertest.Plain())
	karel := h.Controller("Karel", session.Controller)
	petr := h.Controller("Petr", session.Controller).At(second)
	doors := []*servertest.Gatekeeper{karel, petr, karel.At(second), petr.At(h.Server)}
	for i := range large(200, 12) {
		family := withApp(t, h, h.Event.Event, client.NewTickets{Category: h.Family.Category})
		code := family.typed(t)
		if i%2 == 1 {
			code = family.pattern(t, h.DB.Now(t))
		}
		answers := make([]client.ScanAnswer, len(doors))
		errs := make([]error, len(doors))
		together(len(doors), func(n int) {
			answers[n], errs[n] = doors[n].Scan(context.Background(), servertest.NewKey(),
				client.Scan{Gate: h.Gate.Gate, Code: code, PhoneOffline: true, People: 1})
		})
		admitted, replayed := 0, 0
		for n, a := range answers {
			if errs[n] != nil {
				t.Fatal(errs[n])
			}
			switch a.Reason {
			case ticket.Admitted:
				admitted++
			case ticket.TOTPReplayed:
				replayed++
			}
		}
		if admitted != 1 || replayed != len(doors)-1 || h.Row(t, family.Ticket).Entries != 1 {
			t.Fatalf("round %d: %d admitted, %d were told that it is spent: %+v", i, admitted, replayed, answers)
		}
	}
}

func TestWrongCodesAtManyDoorsAtOnceAreAllCounted(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	eva := withApp(t, h, h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	answers := make([]client.ScanAnswer, large(200, 20))
	errs := make([]error, len(answers))
	wrong := eva.wrong(t)
	together(len(answers), func(i int) {
		answers[i], errs[i] = karel.Scan(context.Background(), servertest.NewKey(), client.Scan{Gate: h.Gate.Gate, Code: wrong})
	})
	tried := 0
	for i, a := range answers {
		switch {
		case errs[i] != nil:
			t.Fatal(errs[i])
		case a.Reason == ticket.TOTPWrong:
			tried++
		case a.Reason != ticket.TOTPLocked:
			t.Errorf("got %s", a.Reason)
		}
	}
	if tried != 5 {
		t.Errorf("%d codes were tried before the lock", tried)
	}
}
