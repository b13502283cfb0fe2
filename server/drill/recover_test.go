package drill_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
)

// Where an event takes lost answers back, no honest guest is refused for one, and the
// price of that is said in the same breath: the server cannot tell him from a friend
// to whom he handed the phone back.
func TestALostAnswerRefusesNoHonestGuestAndThisIsItsPrice(t *testing.T) {
	for _, form := range forms() {
		t.Run(form.name, func(t *testing.T) {
			e := newEscape(t, form)
			n := large(50, 2) // guests at each device
			honest := e.honest(t, n)
			soon, late, seen := e.cheats(t, n)
			silent := e.silent(t, 4*n)
			t.Logf("honest guests whose answer was lost: %d of %d refused; the price: of pairs who hand the phone back within %s %d of %d got in (%.0f %%), "+
				"later %d of %d, after an answer that was seen %d of %d; a third person %d of %d; of devices without receipts %d of %d recovered",
				honest.refused, honest.guests, window, soon.recovered, soon.guests, 100*float64(soon.recovered)/float64(soon.guests),
				late.recovered, late.guests, seen.recovered, seen.guests, honest.third+soon.third, honest.guests+soon.guests, silent.recovered, silent.guests)
			for what, wrong := range map[string]int{
				"honest guests refused": honest.refused, "let in after the window": late.recovered, "let in after an answer that was seen": seen.recovered,
				"third persons let in": honest.third + soon.third, "recovered from a device without receipts": silent.recovered,
			} {
				if wrong > 0 {
					t.Errorf("%s: %d", what, wrong)
				}
			}
			if want := honest.recovered + soon.recovered; e.Count(t, "undos WHERE superseded_by IS NOT NULL") != want {
				t.Errorf("the books have other recoveries than the %d that were answered", want)
			}
		})
	}
}

// window is for how long a lost answer is taken back.
const window = 5 * time.Minute

// escape is a house whose event takes lost answers back. Its first devices lose
// answers, its second ones stand at another gate.
type escape struct {
	*front
	event         client.Event
	category      client.Category
	steady        *servertest.Gatekeeper // keeps nonces coming
	first, second []int                  // doors
}

func newEscape(t *testing.T, of pair) *escape {
	t.Helper()
	e := &escape{front: newFront(t, 8, of), first: []int{0, 1, 2, 3}, second: []int{4, 5, 6, 7}}
	e.event = e.NewEvent("Stalker", "Screen 2", -time.Minute, &client.Policy{Rescan: ticket.Recover, RescanWindowS: int(window.Seconds())})
	e.category = e.NewCategory(e.event.Event, client.NewCategory{Name: "Standard"})
	e.steady = e.Controller("Steady", session.Controller)
	return e
}

// guest has an admission.
type guest struct {
	phone *servertest.Phone
	id    ticket.ID
	key   ticket.Key
	door  int
}

// outcome counts what became of guests at the second gate.
type outcome struct{ guests, recovered, refused, third int }

// honest guests go to another gate as soon as the first device is given up, each
// within the window and with the same phone.
func (e *escape) honest(t *testing.T, n int) (o outcome) {
	t.Helper()
	for _, way := range []struct {
		lease   bool // it held the gate
		release bool // and gave it back
		after   time.Duration
	}{
		{lease: true, after: ticket.SilentFor + time.Second}, // it crashed
		{lease: true, after: 16 * time.Second},               // its lease has lapsed
		{lease: true, release: true},                         // its page was closed
		{after: 45 * time.Second},
		{after: window - 30*time.Second},
	} {
		var guests []guest
		for _, door := range e.first {
			e.warm(t, door)
		}
		e.DB.Shift(t, 16*time.Second) // the leases of before have lapsed
		for _, door := range e.first {
			var held client.Hold
			if way.lease {
				held = servertest.Must(e.doors[door].HoldGate(context.Background(), e.Gate.Gate))(t)
			}
			guests = append(guests, e.lose(t, door, n)...)
			if way.release {
				if err := e.doors[door].ReleaseLease(context.Background(), held.Lease); err != nil {
					t.Fatal(err)
				}
			}
		}
		e.DB.Shift(t, way.after)
		o.add(e.elsewhere(t, guests))
	}
	return o
}

// cheats are pairs: one is inside, and his friend comes with the phone. seen are
// those whose first answer was on the screen.
func (e *escape) cheats(t *testing.T, n int) (soon, late, seen outcome) {
	t.Helper()
	for _, after := range []time.Duration{30 * time.Second, 3 * time.Minute, window + 5*time.Second, 20 * time.Minute} {
		var lost, shown []guest
		for _, door := range e.first {
			e.warm(t, door)
			lost = append(lost, e.lose(t, door, n)...)
			shown = append(shown, e.warm(t, door))
		}
		e.DB.Shift(t, after)
		o := e.elsewhere(t, lost)
		seen.add(e.elsewhere(t, shown))
		if after < window {
			soon.add(o)
		} else {
			late.add(o)
		}
	}
	return soon, late, seen
}

// silent are guests whose answer was lost by a device that never sent a receipt: it
// may have shown it.
func (e *escape) silent(t *testing.T, n int) outcome {
	t.Helper()
	mute := *e.Controller("Mute", session.Controller)
	mute.Client = client.New(e.doors[0].URL(), mute.Token(), &http.Client{Transport: &http.Transport{DisableKeepAlives: true}})
	e.doors, e.lines = append(e.doors, &mute), append(e.lines, e.lines[0])
	guests := e.lose(t, len(e.doors)-1, n)
	e.DB.Shift(t, time.Minute)
	return e.elsewhere(t, guests)
}

// claimed are guests on their way to a door.
func (e *escape) claimed(t *testing.T, door, n int) (guests []guest) {
	t.Helper()
	phone := e.NewPhone()
	some := e.Issue(e.event.Event, client.NewTickets{Category: e.category.Category, Count: n})
	phone.Take(t, some.ClaimURL)
	for _, one := range some.Tickets {
		guests = append(guests, guest{phone: phone, id: one.Ticket, key: servertest.NewKey(), door: door})
	}
	return guests
}

// warm lets somebody in and sends the receipt, as the device always does.
func (e *escape) warm(t *testing.T, door int) guest {
	t.Helper()
	g := e.claimed(t, door, 1)[0]
	a, err := e.ask(t, door, e.Gate, g, g.key, e.steady.Hold(t))
	if err != nil || a.Reason != ticket.Admitted {
		t.Fatalf("the first gate: %s %v", a.Reason, err)
	}
	e.receipt(t, door, g.id, g.key)
	return g
}

func (e *escape) receipt(t *testing.T, door int, id ticket.ID, key ticket.Key) {
	t.Helper()
	kept := servertest.Must(client.Do[map[string]int](context.Background(), e.doors[door].Client, http.MethodPost, "/v1/scans/shown",
		map[string]any{"scans": []any{map[string]any{"ticket": id, "key": key}}}))(t)
	if kept["kept"] != 1 {
		t.Fatalf("%d receipts are kept", kept["kept"])
	}
}

// lose lets guests in by a device that never hears of it.
func (e *escape) lose(t *testing.T, door, n int) []guest {
	t.Helper()
	guests, nonce := e.claimed(t, door, n), e.steady.Hold(t)
	mend := poison(t, e.lines[door], "limit_data", "downstream", "bytes", 0)
	defer mend()
	for _, g := range guests {
		if a, err := e.ask(t, door, e.Gate, g, g.key, nonce); err == nil {
			t.Fatalf("an answer over a line that is cut: %s", a.Reason)
		}
		until(t, func() error {
			if holders := holdersOf(t, e.House, []ticket.ID{g.id})[g.id]; len(holders) != 1 || holders[0] != g.key {
				return fmt.Errorf("the admission is not in the books: %v", holders)
			}
			return nil
		})
	}
	return guests
}

// elsewhere has guests come to other gates, and afterwards a third person with the
// phone of each who went in there.
func (e *escape) elsewhere(t *testing.T, guests []guest) (o outcome) {
	t.Helper()
	o.guests = len(guests)
	var admitted []guest
	for i, g := range guests {
		g.door, g.key = e.second[i%len(e.second)], servertest.NewKey()
		nonce := e.fresh(t, g.door, []string{"pushed", "shown"}[i/len(e.second)%2])
		if rand.IntN(3) == 0 { // this answer is lost as well, and asked for again
			mend := poison(t, e.lines[g.door], "limit_data", "downstream", "bytes", 0)
			_, _ = e.ask(t, g.door, e.Side, g, g.key, nonce)
			mend()
		}
		var a client.ScanAnswer
		until(t, func() (err error) {
			a, err = e.ask(t, g.door, e.Side, g, g.key, nonce)
			return err
		})
		switch {
		case a.Reason == ticket.Admitted && a.Recovered:
			o.recovered++
			e.receipt(t, g.door, g.id, g.key)
			admitted = append(admitted, g)
		case a.Reason == ticket.AlreadyUsed:
			o.refused++
		default:
			t.Errorf("at the second gate: %s, recovered %v", a.Reason, a.Recovered)
		}
	}
	e.DB.Shift(t, ticket.SilentFor+6*time.Second)
	for i, g := range admitted {
		door := e.second[(i+1)%len(e.second)]
		a, err := e.ask(t, door, e.Side, g, servertest.NewKey(), e.fresh(t, door, "pushed"))
		if err == nil && a.Reason == ticket.Admitted {
			o.third++
		} else if err != nil || a.Reason != ticket.AlreadyUsed {
			t.Errorf("a third person: %s %v", a.Reason, err)
		}
	}
	return o
}

func (e *escape) ask(t *testing.T, door int, at client.Gate, g guest, key ticket.Key, nonce [16]byte) (client.ScanAnswer, error) {
	t.Helper()
	return e.doors[door].Scan(context.Background(), key, client.Scan{Gate: at.Gate, Code: g.phone.Signed(t, g.id, nonce)})
}

// fresh is a nonce of this moment at the second gate.
func (e *escape) fresh(t *testing.T, door int, kind string) [16]byte {
	t.Helper()
	held := servertest.Must(client.Do[client.Hold](context.Background(), e.doors[door].Client, http.MethodPost, "/v1/nonces",
		map[string]any{"gate": e.Side.Gate, "kind": kind}))(t)
	return servertest.NonceOf(t, held.Nonce)
}

func (o *outcome) add(other outcome) {
	o.guests += other.guests
	o.recovered += other.recovered
	o.refused += other.refused
	o.third += other.third
}
