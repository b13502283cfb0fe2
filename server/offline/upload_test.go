package offline_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
)

// T19, T20
func TestEachItemGetsItsOwnWordAndTheSameOneAgain(t *testing.T) {
	t.Parallel()
	n := newNight(t, client.Policy{})
	karel := n.device("Karel")
	var items []object
	for range 97 {
		phone, id := n.ticket(n.Standard)
		items = append(items, karel.timed(phone, id, 0))
	}
	stranger := newNight(t, client.Policy{})
	unknown, foreign := stranger.ticket(stranger.Standard)
	items = append(items, karel.timed(unknown, foreign, 0), object{"key": 7, "code": "x"}, with(karel.item("PT1:", 0), object{"scanned_at": n.DB.Now(t).Add(-49 * time.Hour)}))
	words := []string{"quarantined unknown_ticket", "refused malformed", "quarantined too_old"}
	for again := range 2 {
		got := karel.upload(items...)
		for _, o := range got[:97] {
			want(t, o, "recorded", "", again > 0)
		}
		for i, o := range got[97:] {
			if o.Verdict+" "+o.Reason != words[i] || o.Replayed != (again > 0) {
				t.Errorf("upload %d: want %s, got %+v", again, words[i], o)
			}
		}
		if got[98].Key != "" {
			t.Errorf("the malformed item has the key %q", got[98].Key)
		}
	}
	if kept, entries := n.Count(t, "uploads"), n.Count(t, "admissions WHERE path = 'offline'"); kept != 100 || entries != 97 {
		t.Errorf("%d items kept, %d entries", kept, entries)
	}
}

func TestAGuestWhoWasLetInTwiceIsADoubleAdmissionThatNamesTheOtherDoor(t *testing.T) {
	t.Parallel()
	n := newNight(t, client.Policy{})
	karel, eva := n.device("Karel"), n.device("Eva")
	eva.takePack(n.Side.Gate)
	eva.gate = n.Side.Gate
	phone, id := n.ticket(n.Standard)
	n.DB.Shift(t, 10*time.Minute)
	first, second := karel.timed(phone, id, 5*time.Minute), eva.timed(phone, id, 3*time.Minute)
	want(t, karel.upload(first)[0], "recorded", "", false)
	for again := range 2 {
		got := eva.upload(second)[0]
		want(t, got, "double_admission", "", again > 0)
		if got.FirstUse == nil || got.FirstUse.GateName != n.Gate.Name || got.FirstUse.Person != "Karel" || n.DB.Now(t).Sub(got.FirstUse.At).Round(time.Minute) != 5*time.Minute {
			t.Errorf("first use %+v", got.FirstUse)
		}
	}
	if row := n.Row(t, id); row.Entries != 2 || row.Status != ticket.Used {
		t.Errorf("the ticket: %+v", row)
	}
}

// Uploads that arrive at the same moment, the same and of two devices.
func TestUploadsAtOnceAgree(t *testing.T) {
	t.Parallel()
	n := newNight(t, client.Policy{})
	karel, eva := n.device("Karel"), n.device("Eva")
	var ours, theirs []object
	for range 10 {
		phone, id := n.ticket(n.Standard)
		ours, theirs = append(ours, karel.timed(phone, id, 0)), append(theirs, eva.timed(phone, id, 0))
	}
	slices.Reverse(theirs)
	words := make([][]outcome, 8)
	var wg sync.WaitGroup
	for i := range words {
		wg.Go(func() {
			by, items := karel, ours
			if i%2 > 0 {
				by, items = eva, theirs
			}
			var err error
			if words[i], err = by.send(items...); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range 10 {
		for same := 2; same < 8; same++ {
			if words[same][i].Verdict != words[same%2][i].Verdict {
				t.Errorf("one item is %s and %s", words[same][i].Verdict, words[same%2][i].Verdict)
			}
		}
		if one, other := words[0][i].Verdict, words[1][9-i].Verdict; (one == "recorded") == (other == "recorded") || one == "retry" || other == "retry" {
			t.Errorf("one ticket at two doors is %s and %s", one, other)
		}
	}
	if entries := n.Count(t, "admissions"); entries != 20 {
		t.Errorf("%d entries of 20", entries)
	}
}

// T05, T06
func TestAnEntryWhoseAnswerWasLostIsNoSecondOne(t *testing.T) {
	t.Parallel()
	n := newNight(t, client.Policy{})
	karel := n.device("Karel")
	phone, id := n.ticket(n.Standard)
	code := phone.Signed(t, id, karel.Hold(t))
	item := karel.item(code, 0)
	karel.AskAs(t, item["key"].(ticket.Key), client.Scan{Code: code})
	n.DB.Shift(t, 20*time.Hour) // the event is over, the nonce long stale
	item["scanned_at"] = n.DB.Now(t).Add(-20 * time.Hour)
	for range 2 {
		want(t, karel.upload(item)[0], "recorded", "", true)
	}
	if row := n.Row(t, id); row.Entries != 1 {
		t.Errorf("the ticket: %+v", row)
	}
}

// T30, T31, T32
func TestAWrongClockIsCorrectedFromWhenTheUploadWasSent(t *testing.T) {
	t.Parallel()
	n := newNight(t, client.Policy{})
	karel := n.device("Karel")
	phone, ids := n.NewPhone(), []ticket.ID{}
	for range 4 {
		issued := n.Issue(n.Event.Event, client.NewTickets{Category: n.Standard.Category})
		phone.Take(t, issued.ClaimURL)
		ids = append(ids, issued.Tickets[0].Ticket)
	}
	n.DB.Shift(t, 10*time.Minute)
	for i, wrong := range []time.Duration{-2 * time.Hour, 2 * time.Hour, -400 * 24 * time.Hour} {
		karel.ahead = wrong
		want(t, karel.upload(karel.timed(phone, ids[i], 3*time.Minute))[0], "recorded", "", false)
		if n.Count(t, `uploads u JOIN admissions a USING (ticket_id, key) WHERE ticket_id = $1 AND a.at = u.corrected_at
AND abs(extract(epoch FROM portillon_now() - a.at) - 180) < 30 AND abs(extract(epoch FROM u.received_at - u.scanned_at - $2::interval) - 180) < 30`, ids[i], -wrong) != 1 {
			t.Errorf("%s wrong: the entry is not three minutes old, or what the device said is lost", wrong)
		}
	}
	for changed, reason := range map[time.Duration]string{2 * time.Hour: "from_the_future", -2 * time.Hour: "outside_hours", -400 * 24 * time.Hour: "too_old"} {
		karel.ahead = changed
		item := karel.timed(phone, ids[3], 3*time.Minute)
		karel.ahead = 0 // set right between scan and upload
		want(t, karel.upload(item)[0], "quarantined", reason, false)
	}
	if row := n.Row(t, ids[3]); row.Entries != 0 {
		t.Errorf("the ticket: %+v", row)
	}
}

// T07
func TestARefusalAndAnEntryOfOneKeyAreBothKept(t *testing.T) {
	t.Parallel()
	n := newNight(t, client.Policy{})
	karel := n.device("Karel")
	for _, first := range []int{0, 1} {
		phone, id := n.ticket(n.Standard)
		entry := karel.timed(phone, id, 0)
		items := []object{with(entry, object{"verdict": "refused", "reason": "not_in_pack", "event": nil}), entry}
		for again := range 2 {
			for i, o := range karel.upload(items[first], items[1-first]) {
				reason := ""
				if i == first {
					reason = "not_in_pack"
				}
				want(t, o, "recorded", reason, again > 0)
			}
		}
		if n.Count(t, "uploads WHERE ticket_id = $1", id) != 2 || n.Row(t, id).Entries != 1 ||
			n.Count(t, "attempts WHERE ticket_id = $1 AND event_id = $2 AND reason = 'not_in_pack' AND happened_at IS NOT NULL", id, n.Event.Event) != 1 {
			t.Error("one of both is lost, or twice there")
		}
	}
}

// The value that a device shows without network is its own, and of that minute.
func TestAShownCodeCountsAtTheDeviceThatShowedItForAMinute(t *testing.T) {
	t.Parallel()
	n := newNight(t, client.Policy{Freshness: ticket.Live})
	karel, eva := n.device("Karel"), n.device("Eva")
	phone, id := n.ticket(n.Standard)
	n.DB.Shift(t, 10*time.Minute)
	karel.ahead = 2 * time.Hour
	at := 5 * time.Minute
	want(t, eva.upload(eva.item(phone.Signed(t, id, karel.shown(at)), at))[0], "quarantined", "unknown_nonce", false)
	want(t, karel.upload(karel.item(phone.Signed(t, id, karel.shown(at+90*time.Second)), at))[0], "quarantined", "unknown_nonce", false)
	want(t, karel.upload(karel.item(phone.Signed(t, id, karel.shown(at+40*time.Second)), at))[0], "recorded", "", false)
	if n.Count(t, "admissions WHERE ticket_id = $1 AND kind = 'shown'", id) != 1 {
		t.Error("not admitted as shown")
	}
}

func TestWhatADeviceOnlySaysChangesNoTicket(t *testing.T) {
	t.Parallel()
	n := newNight(t, client.Policy{})
	karel := n.device("Karel")
	var items []object
	phone, id := n.ticket(n.Standard)
	last := phone.Timed(t, id, n.DB.Now(t))
	for range large(100) { // each with the body of its own and the signature of another
		phone, id := n.ticket(n.Standard)
		code := phone.Timed(t, id, n.DB.Now(t))
		items = append(items, karel.item(code[:len(code)-99]+last[len(last)-99:], 0))
		last = code
	}
	for i := range large(1000) {
		invented := []byte(last)
		at := 10 + i%(len(invented)-10)
		invented[at] = "0123456789"[(int(invented[at])+i/(len(invented)-10)+1)%10]
		items = append(items, karel.item(string(invented), 0))
	}
	for chunk := range slices.Chunk(items, 200) {
		for _, o := range karel.upload(chunk...) {
			if o.Verdict != "quarantined" {
				t.Errorf("an invention: %+v", o)
			}
		}
	}
	if n.Count(t, "admissions") != 0 || n.Count(t, "tickets WHERE entries > 0 OR status <> 'active'") != 0 {
		t.Error("a ticket changed by word alone")
	}
}

func TestADeviceIsBelievedOnlyWhereAndWhenItCanHaveBeen(t *testing.T) {
	t.Parallel()
	n := newNight(t, client.Policy{})
	karel := n.device("Karel")
	phone, id := n.ticket(n.Standard)
	other, stranger := servertest.Furnish(t, n.Server), n.Person("Otto", session.Controller, n.Venue.Venue)
	n.DB.Shift(t, 10*time.Minute)
	younger, youngerID := n.ticket(n.Standard)
	late := n.device("Eva") // signed on and with a pack only now
	good := karel.timed(phone, id, 5*time.Minute)
	for reason, item := range map[string]object{
		"not_signed_on": with(good, object{"person": stranger}),
		"other_event":   with(good, object{"event": other.Event.Event}),
		"other_venue":   with(good, object{"gate": other.Gate.Gate}),
		"before_pack":   with(good, object{"gate": n.Side.Gate}),
		"clock_skew":    with(good, object{"code": phone.Timed(t, id, n.DB.Now(t).Add(-8*time.Minute))}),
		"before_claim":  karel.timed(younger, youngerID, 5*time.Minute),
		"no_code":       with(good, object{"code": ""}),
	} {
		want(t, karel.upload(with(item, object{"key": servertest.NewKey()}))[0], "quarantined", reason, false)
	}
	want(t, late.upload(late.timed(phone, id, 5*time.Minute))[0], "quarantined", "before_pack", false)
	want(t, karel.upload(with(karel.timed(phone, id, 5*time.Minute), object{"people": 5}))[0], "quarantined", "too_many_people", false)
	if row := n.Row(t, id); row.Entries != 0 {
		t.Errorf("the ticket: %+v", row)
	}
	want(t, karel.upload(good)[0], "recorded", "", false)
}

func TestTheQueueOfARevokedDeviceLandsInQuarantine(t *testing.T) {
	t.Parallel()
	n := newNight(t, client.Policy{})
	karel := n.device("Karel")
	phone, id := n.ticket(n.Standard)
	item := karel.timed(phone, id, 0)
	if _, err := client.Do[object](t.Context(), n.Admin, "POST", "/v1/devices/"+karel.Device.String()+"/revoke", object{}); err != nil {
		t.Fatal(err)
	}
	for again := range 2 {
		want(t, karel.upload(item)[0], "quarantined", "device_revoked", again > 0)
	}
	if _, err := karel.Scan(t.Context(), servertest.NewKey(), client.Scan{Gate: n.Gate.Gate, Code: "x"}); err == nil {
		t.Error("a revoked device may scan")
	}
	if row := n.Row(t, id); row.Entries != 0 {
		t.Errorf("the ticket: %+v", row)
	}
}

func TestWhatTheServerWouldHaveRefusedIsRecordedWithItsReason(t *testing.T) {
	t.Parallel()
	n := newNight(t, client.Policy{Freshness: ticket.Assisted})
	karel := n.device("Karel")
	elsewhere := n.NewCategory(n.Event.Event, client.NewCategory{Name: "Gallery", Gates: []ticket.GateID{n.Side.Gate}})
	act := func(id ticket.ID, name string) {
		if _, err := client.Do[object](t.Context(), n.Admin, "POST", "/v1/tickets/"+id.String()+"/"+name, object{"reason": "test"}); err != nil {
			t.Fatal(err)
		}
	}
	made := func(category client.Category, acts ...string) object {
		phone, id := n.ticket(category)
		for _, name := range acts {
			act(id, name)
		}
		n.DB.Shift(t, 2*time.Minute) // what was done before is not of this moment
		return karel.timed(phone, id, 0)
	}
	for _, c := range []struct {
		item    object
		against []ticket.Reason
	}{
		{with(made(n.Standard), object{"phone_offline": false}), []ticket.Reason{ticket.NeedsAssist}},
		{made(elsewhere), []ticket.Reason{ticket.WrongGate}},
		{made(n.Standard, "revoke"), []ticket.Reason{ticket.Revoked}},
		{made(n.Standard, "hold"), []ticket.Reason{ticket.Held}},
		{made(n.Standard, "hold", "release"), nil},
		{made(n.Paper, "print"), []ticket.Reason{ticket.Moved}},
	} {
		want(t, karel.upload(c.item)[0], "recorded", "", false, c.against...)
	}
	phone, id := n.ticket(n.Standard)
	n.DB.Shift(t, 5*time.Minute)
	before := karel.timed(phone, id, 3*time.Minute)
	act(id, "revoke")
	want(t, karel.upload(before)[0], "recorded", "", false) // it was not revoked then
	if row := n.Row(t, id); row.Status != ticket.RevokedStatus || row.Entries != 1 {
		t.Errorf("the ticket: %+v", row)
	}
}

// Where people go in and out, the devices' uploads come in any order.
func TestTheOrderOfUploadsDoesNotMakeADoubleWhereSomebodyLeftBetween(t *testing.T) {
	t.Parallel()
	for _, order := range [][]int{{0, 1, 2}, {1, 0, 2}, {0, 2, 1}, {2, 0, 1}, {1, 2, 0}, {2, 1, 0}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			t.Parallel()
			n := newNight(t, client.Policy{Reentry: true, Offline: "any"})
			phone, id := n.ticket(n.Standard)
			devices := []*scanner{n.device("Karel"), n.device("Eva"), n.device("Ota")}
			n.DB.Shift(t, 30*time.Minute)
			items := []object{
				devices[0].timed(phone, id, 20*time.Minute),
				with(devices[1].timed(phone, id, 15*time.Minute), object{"direction": "out"}),
				devices[2].timed(phone, id, 10*time.Minute),
			}
			for _, i := range order {
				devices[i].upload(items[i])
			}
			for i, item := range items {
				want(t, devices[i].upload(item)[0], "recorded", "", true)
			}
			if n.Count(t, "tickets WHERE id = $1 AND entries = 2 AND inside = 1 AND extra = 0", id) != 1 {
				t.Errorf("the ticket: %+v", n.Row(t, id))
			}
		})
	}
}

func TestAFamilyIsOneTooManyOnlyBeyondItsTicket(t *testing.T) {
	t.Parallel()
	n := newNight(t, client.Policy{})
	karel, eva := n.device("Karel"), n.device("Eva")
	phone, id := n.ticket(n.Family)
	want(t, karel.upload(with(karel.timed(phone, id, 0), object{"people": 3}))[0], "recorded", "", false)
	want(t, eva.upload(with(eva.timed(phone, id, 0), object{"people": 2}))[0], "double_admission", "", false)
	if row := n.Row(t, id); row.Entries != 5 {
		t.Errorf("the ticket: %+v", row)
	}
}

// One key for two tickets is two facts; both are kept, and their words stay.
func TestAKeyThatStandsForAnotherTicketIsKeptApart(t *testing.T) {
	t.Parallel()
	n := newNight(t, client.Policy{})
	karel := n.device("Karel")
	phone, id := n.ticket(n.Standard)
	other, otherID := n.ticket(n.Standard)
	first := karel.timed(phone, id, 0)
	second := with(karel.timed(other, otherID, 0), object{"key": first["key"]})
	for again := range 2 {
		got := karel.upload(first, second)
		want(t, got[0], "recorded", "", again > 0)
		want(t, got[1], "quarantined", "key_conflict", again > 0)
		if got[1].Key != first["key"].(ticket.Key).String() {
			t.Errorf("the key %q", got[1].Key)
		}
	}
	if n.Count(t, "uploads") != 2 {
		t.Errorf("%d items kept", n.Count(t, "uploads"))
	}
}

// T21
func TestWhatCannotBeDecidedBlocksNothingAndIsSeenUntilItIs(t *testing.T) {
	t.Parallel()
	n := newNight(t, client.Policy{})
	karel := n.device("Karel")
	var items []object
	var third ticket.ID
	for i := range 5 {
		phone, id := n.ticket(n.Standard)
		items = append(items, karel.timed(phone, id, 0))
		if i == 2 {
			third = id
		}
	}
	run := func(sql string) {
		if _, err := n.DB.Pool.Exec(context.Background(), sql); err != nil {
			t.Fatal(err)
		}
	}
	run(fmt.Sprintf(`ALTER TABLE admissions ADD CONSTRAINT broken CHECK (ticket_id <> '%s')`, third))
	for again := range 2 {
		for i, o := range karel.upload(items...) {
			if i == 2 {
				want(t, o, "retry", "internal", false)
			} else {
				want(t, o, "recorded", "", again > 0)
			}
		}
		if n.Count(t, "uploads WHERE outcome = 'undecided' AND ticket_id = $1", third) != 1 {
			t.Error("nobody sees that it is not decided")
		}
	}
	run(`ALTER TABLE admissions DROP CONSTRAINT broken`)
	want(t, karel.upload(items[2])[0], "recorded", "", false)
	if n.Count(t, "uploads WHERE outcome = 'recorded'") != 5 {
		t.Error("it is still undecided")
	}
}

func TestTheEveningCountsWhatHappenedWhenItDid(t *testing.T) {
	t.Parallel()
	n := newNight(t, client.Policy{})
	karel := n.device("Karel")
	phone, id := n.ticket(n.Standard)
	n.DB.Shift(t, 10*time.Minute)
	item := karel.timed(phone, id, 0)
	n.DB.Shift(t, 4*time.Hour) // the event is over when it is told
	want(t, karel.upload(item)[0], "recorded", "", false)
	report := servertest.Must(n.Admin.EventReport(t.Context(), n.Event.Event, nil))(t)
	text, _ := json.Marshal(report)
	if report.Entries != 1 || report.Attempts.Admitted != 1 {
		t.Errorf("%s", text)
	}
}
