package drill_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"portillon/server/servertest"
	"portillon/server/ticket"
)

// large is the number for make soak, and small the one for make test.
func large(soak, test int) int {
	if os.Getenv("PORTILLON_SOAK") != "" {
		return soak
	}
	return test
}

// together calls f for 0 to n-1 at the same moment.
func together(n int, f func(i int)) {
	var ready, done sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-gate
			f(i)
		})
	}
	ready.Wait()
	close(gate)
	done.Wait()
}

// forms are the two implementations of the act; whatever is drilled holds for both.
var forms = []struct {
	name string
	opts []servertest.Option
}{{"crowd", nil}, {"plain", []servertest.Option{servertest.Plain()}}}

// reachable are the reasons that random lives meet. Not among them:
//   - fallback_refused needs a wallet that follows its stream, or an event with live
//     codes only; paper_not_allowed a category that forbids its paper afterwards.
//   - superseded and not_in_pack are of recovery and of devices without network.
//   - totp_wrong, totp_replayed, totp_locked: no phone there asks for one-time codes.
var reachable = []ticket.Reason{
	"admitted", "malformed", "unsupported_version", "not_a_ticket", "unknown_ticket", "bad_signature", "undone", "not_assigned",
	"wrong_event", "wrong_gate", "stale_nonce", "unknown_nonce", "wrong_controller", "clock_skew", "needs_assist", "moved",
	"revoked", "held", "too_early", "too_late", "choose_people", "already_used", "already_inside", "not_inside", "entries_exhausted",
}

// stepsAnEvening is the average; a longer evening is over too soon, as clocks move.
const stepsAnEvening = 80

func TestWhateverHappensToTicketsEveryAnswerAndRowIsAsTheModelSays(t *testing.T) {
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			first := servertest.New(t, form.opts...)
			second := servertest.On(t, first.DB, form.opts...)
			foreign := servertest.Furnish(t, first).Gate.Gate
			count := &tally{actions: map[string]int{}, reasons: map[ticket.Reason]int{}}
			seed := uint64(time.Now().UnixNano())
			if given := flag.Lookup("rapid.seed").Value.String(); given != "0" {
				seed, _ = strconv.ParseUint(given, 10, 64)
			}
			defer setFlag(t, "rapid.seed", "0")
			defer func() { t.Logf("%s: %s", form.name, count) }()
			setFlag(t, "rapid.checks", "1")
			setFlag(t, "rapid.steps", strconv.Itoa(stepsAnEvening))
			if shrink := flag.Lookup("rapid.shrinktime"); shrink.Value.String() == shrink.DefValue {
				setFlag(t, "rapid.shrinktime", "5s")
			}
			setFlag(t, "rapid.nofailfile", "true")
			for evening := uint64(0); count.steps < large(100_000, 1000); evening++ {
				setFlag(t, "rapid.seed", strconv.FormatUint(seed+evening, 10))
				rapid.Check(t, func(r *rapid.T) {
					m := newEvening(t, first, second, foreign, count)
					r.Repeat(map[string]func(*rapid.T){"": m.check, "deal": m.deal})
				})
			}
			t.Logf("repeat with -rapid.seed=%d", seed)
			count.check(t)
		})
	}
}

func setFlag(t *testing.T, name, value string) {
	t.Helper()
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
}

// deal does one action of a shuffled deck, so that each is done equally often.
func (m *machine) deal(t *rapid.T) {
	if len(m.deck) == 0 {
		m.deck = slices.Sorted(maps.Keys(actions))
	}
	name := rapid.SampledFrom(slices.Clone(m.deck)).Draw(t, "action")
	m.deck = slices.DeleteFunc(m.deck, func(other string) bool { return other == name })
	m.tally.steps++
	m.tally.actions[name]++
	actions[name](m, t)
}

// check complains about actions and reasons that hardly happened.
func (c *tally) check(t *testing.T) {
	t.Helper()
	for name := range actions {
		if share := 100 * c.actions[name] / c.steps; share < 3 {
			t.Errorf("%s is only %d %% of the steps", name, share)
		}
	}
	for _, reason := range reachable {
		if c.reasons[reason] < large(20, 0) {
			t.Errorf("%s was answered only %d times", reason, c.reasons[reason])
		}
	}
	for reason := range c.reasons {
		if !slices.Contains(reachable, reason) {
			t.Errorf("%s is not among the reachable reasons", reason)
		}
	}
}

func (c *tally) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d steps;", c.steps)
	for _, name := range slices.Sorted(maps.Keys(c.actions)) {
		fmt.Fprintf(&b, " %s %.1f %%", name, 100*float64(c.actions[name])/float64(max(1, c.steps)))
	}
	b.WriteString(";")
	for _, reason := range slices.Sorted(maps.Keys(c.reasons)) {
		fmt.Fprintf(&b, " %s %d", reason, c.reasons[reason])
	}
	return b.String()
}
