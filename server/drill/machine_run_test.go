package drill_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"portillon/server/servertest"
	"portillon/server/ticket"
)

// reachable are the reasons that random lives meet: all but not_in_pack, which only a
// device without network says.
var reachable = []ticket.Reason{
	"admitted", "malformed", "unsupported_version", "not_a_ticket", "unknown_ticket", "bad_signature", "undone", "not_assigned",
	"wrong_event", "wrong_gate", "stale_nonce", "unknown_nonce", "wrong_controller", "clock_skew", "needs_assist", "moved",
	"revoked", "held", "too_early", "too_late", "choose_people", "already_used", "already_inside", "not_inside", "entries_exhausted",
	"superseded", "totp_wrong", "totp_replayed", "totp_locked", "fallback_refused", "paper_not_allowed",
}

// stepsAnEvening is the average; a longer evening is over too soon, as clocks move.
const stepsAnEvening = 80

// steps is how many things happen to tickets in a run. One that looks for a planted
// fault ends when it has found it, and may go on for longer until then: two scans do
// not race whenever they are sent together.
func steps() int {
	if os.Getenv(faultName) != "" {
		return large(100_000, 10_000)
	}
	return large(100_000, 1000)
}

func TestWhateverHappensToTicketsEveryAnswerAndRowIsAsTheModelSays(t *testing.T) {
	for _, form := range forms() {
		t.Run(form.name, func(t *testing.T) {
			first := servertest.New(t, form.opts(0)...)
			second := startChild(t, first.DB.URL, form.plain[1])
			first.HTTP.Transport = patient{first.HTTP.Transport}
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
			for evening := uint64(0); count.steps < steps() && !t.Failed(); evening++ {
				setFlag(t, "rapid.seed", strconv.FormatUint(seed+evening, 10))
				rapid.Check(t, func(r *rapid.T) {
					m := newEvening(t, first, second.url, foreign, count)
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
	for _, rule := range ticket.Rules {
		if rule.Reason != ticket.NotInPack && !slices.Contains(reachable, rule.Reason) {
			t.Errorf("%s is not among the reachable reasons, and there is no word why", rule.Reason)
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

// patient sends a call again, as it was, while the server says that nobody knows: the
// machine has other things to do, and every call may be repeated with its key.
type patient struct{ next http.RoundTripper }

// RoundTrip makes the call.
func (p patient) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	for tries := 1; ; tries++ {
		again := r.Clone(r.Context())
		again.Body = io.NopCloser(bytes.NewReader(body))
		answer, err := p.next.RoundTrip(again)
		if err != nil || tries == 20 || answer.StatusCode != http.StatusServiceUnavailable {
			return answer, err
		}
		_ = answer.Body.Close()
	}
}
