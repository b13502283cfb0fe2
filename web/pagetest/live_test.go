package pagetest_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/web/pagetest"
)

// A guest's phone is held before a gate's camera: both are real pages in
// browsers of their own, and what the camera sees is the phone's screen.

const rotations = 30

// passage is one ticket's way in; times are in milliseconds of the machine's clock.
type passage struct {
	framed, admitted, welcomed float64
}

func TestThirtyCodesOfAStackAreEachAnsweredWithinTwoSecondsAndWelcomedWithinOneMore(t *testing.T) {
	h := servertest.NewHouse(t)
	camera := pagetest.NewCamera(t, 1280, 720)
	gate := openGate(t, h, camera)
	order := h.Issue(h.Event.Event, client.NewTickets{Category: h.Standard.Category, Count: rotations})
	wallet := openWallet(t, order.ClaimURL)

	var verdicts, welcomes []time.Duration
	for i, issued := range order.Tickets {
		p := admitNext(t, gate, wallet, camera, strconv.Itoa(issued.Number))
		verdicts = append(verdicts, took(p.framed, p.admitted))
		welcomes = append(welcomes, took(p.admitted, p.welcomed))
		// The stack turns by itself after the welcome; most guests of a group have
		// no patience for that.
		if i >= 2 && i < rotations-1 {
			wallet.Click("#next")
		}
	}
	if used := h.Count(t, "tickets WHERE status = 'used'"); used != rotations {
		t.Errorf("%d of %d tickets are used", used, rotations)
	}
	if scans := h.Count(t, "attempts"); scans != rotations {
		t.Errorf("%d scans for %d tickets", scans, rotations)
	}
	within(t, "from the first frame with a code to its verdict", verdicts, 2*time.Second)
	within(t, "from the verdict to the phone's welcome", welcomes, time.Second)
}

// admitNext carries the phone's screen to the camera, frame by frame, until the
// ticket of that number is let in at the gate and welcomed on the phone.
func admitNext(t *testing.T, gate gatePage, wallet *pagetest.Tab, camera *pagetest.Camera, number string) passage {
	t.Helper()
	before := pagetest.Eval[int](gate.Tab, "verdicts.length")
	var p passage
	eventually(t, "ticket "+number+" is let in and welcomed", 20*time.Second, func() bool {
		if err := camera.Screen(wallet.Shot(".window")); err != nil {
			t.Fatal(err)
		}
		written := millis(time.Now())
		// Asked after the picture was taken: the code may have come a moment later,
		// so the time is never made shorter than it was.
		if p.framed == 0 && pagetest.Eval[bool](wallet, fmt.Sprintf(`Boolean(%s) && %s === %q`, codeShown, codeNumber, number)) {
			p.framed = written
		}
		for _, v := range pagetest.Eval[[]verdict](gate.Tab, fmt.Sprintf("verdicts.slice(%d)", before)) {
			if v.Reason != "admitted" {
				t.Fatalf("the gate says %s: %s", v.Reason, v.Says)
			}
			p.admitted = v.At
		}
		for _, f := range pagetest.Eval[[]face](wallet, `faces.filter(f => f.face === "welcome")`) {
			if f.Number == number {
				p.welcomed = f.At
			}
		}
		return p.framed > 0 && p.admitted > 0 && p.welcomed > 0
	})
	return p
}

// within prints and judges what was measured.
func within(t *testing.T, what string, all []time.Duration, limit time.Duration) {
	t.Helper()
	slices.Sort(all)
	p50, p95 := all[len(all)/2], all[len(all)*95/100]
	t.Logf("%s: p50 %v, p95 %v, longest %v (%d)", what, p50, p95, all[len(all)-1], len(all))
	if p95 > limit {
		t.Errorf("%s: p95 is %v, more than %v", what, p95, limit)
	}
}

func TestAPhoneHeldInViewOverThreeRotationsAfterItsAdmissionIsSentOnce(t *testing.T) {
	h := servertest.NewHouse(t)
	camera := pagetest.NewCamera(t, 1280, 720)
	gate := openGate(t, h, camera)
	gate.Expect("status of 410") // ten seconds at a stroke may cost it a lease
	// The reference phone: a page would show its welcome instead of going on.
	phone, issued := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	read := func(code string) string { return "read.includes(" + strconv.Quote(code) + ")" }

	code := phone.Signed(t, issued.Ticket, presentNonce(t, h))
	camera.Symbol(symbol(t, code), pagetest.View{Module: 10})
	gate.Until(`verdicts.at(-1)?.reason === "admitted"`)
	for range 3 {
		nonce := presentNonce(t, h)
		h.DB.Shift(t, 10*time.Second)
		eventually(t, "a new nonce", 5*time.Second, func() bool { return presentNonce(t, h) != nonce })
		code := phone.Signed(t, issued.Ticket, presentNonce(t, h))
		camera.Symbol(symbol(t, code), pagetest.View{Module: 10})
		gate.Until(read(code))
	}
	if n := h.Count(t, "attempts WHERE ticket_id = $1", issued.Ticket); n != 1 {
		t.Errorf("the phone was sent %d times", n)
	}
	posts := pagetest.Eval[int](gate.Tab, `performance.getEntriesByType("resource").filter(e => e.name.endsWith("/v1/scans")).length`)
	if posts != 1 {
		t.Errorf("the page posted %d scans", posts)
	}
}
