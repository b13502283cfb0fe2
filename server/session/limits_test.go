package session

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"portillon/server/fault"
)

type handClock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *handClock) now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.t }
func (c *handClock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func limitsAt() (*limits, *handClock) {
	c := &handClock{t: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	return newLimits(c.now), c
}

func wait(err error) time.Duration {
	if err == nil {
		return 0
	}
	return fault.Of(err).RetryAfter
}

func TestManyTriesAtOnceGainNothing(t *testing.T) {
	t.Parallel()
	l, _ := limitsAt()
	var all sync.WaitGroup
	let := make(chan bool, 100)
	for range 100 {
		all.Go(func() { let <- l.begin("eva", "a") == nil })
	}
	all.Wait()
	close(let)
	n := 0
	for ok := range let {
		if ok {
			n++
		}
	}
	if n != triesOfPair {
		t.Errorf("%d of 100 tries at once were judged", n)
	}
}

func TestTheDelayOfAPairIsBoundedAndEndsWithASuccess(t *testing.T) {
	t.Parallel()
	l, c := limitsAt()
	longest := time.Duration(0)
	for range 100 {
		if w := wait(l.begin("eva", "a")); w > 0 {
			longest = max(longest, w)
			c.move(w)
		}
	}
	if longest != longestOfPair {
		t.Errorf("the longest delay is %v", longest)
	}
	c.move(longestOfPair)
	if err := l.begin("eva", "a"); err != nil {
		t.Fatal(err)
	}
	l.succeeded("eva", "a")
	for range triesOfPair {
		if err := l.begin("eva", "a"); err != nil {
			t.Fatal("a success does not end the delay")
		}
	}
}

func TestGuessingFromManyAddressesNeverKeepsTheOwnerOut(t *testing.T) {
	t.Parallel()
	l, c := limitsAt()
	for i := range 1000 {
		_ = l.begin("eva", strconv.Itoa(i))
		c.move(time.Second)
	}
	if err := l.begin("eva", "new stranger"); err != nil {
		t.Fatal("the first try from an address is always judged")
	}
	if l.begin("eva", "new stranger") == nil {
		t.Error("an account that many guess at gives an address more than one try")
	}
	if err := l.begin("eva", "the owner's"); err != nil {
		t.Error("the owner is kept out by strangers")
	}
}

func TestAnAddressThatTriesManyAccountsWaitsButNotWhoSignedInThereBefore(t *testing.T) {
	t.Parallel()
	l, c := limitsAt()
	if err := l.begin("karel", "cinema"); err != nil {
		t.Fatal(err)
	}
	l.succeeded("karel", "cinema")
	judged := 0
	for i := range 200 {
		if l.begin("account "+strconv.Itoa(i), "cinema") == nil {
			judged++
		}
	}
	if judged != triesOfAddress {
		t.Errorf("%d accounts were tried from one address at once", judged)
	}
	if err := l.begin("karel", "cinema"); err != nil {
		t.Error("a stranger on the cinema's Wi-Fi keeps its staff out")
	}
	l.succeeded("karel", "cinema")
	if l.begin("one more", "cinema") != nil {
		c.move(longestOfAll)
	}
	if err := l.begin("one more", "cinema"); err != nil {
		t.Error("the delay of an address does not end")
	}
}

func TestTriesAreForgottenAndTakeNoMemoryForEver(t *testing.T) {
	t.Parallel()
	l, c := limitsAt()
	for i := range 4 * sweepFrom {
		_ = l.begin("a"+strconv.Itoa(i), strconv.Itoa(i))
		if i%sweepFrom == 0 {
			c.move(limitsForgotten + time.Second)
		}
	}
	if n := len(l.pairs) + len(l.addresses) + len(l.accounts); n > 5*sweepFrom {
		t.Errorf("%d entries are kept", n)
	}
}

func TestAHouseholdHasOneAddress(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "2001:db8:1:2:3::4": "2001:db8:1:2::/64", "": "", "x": "x",
	} {
		if got := network(in); got != want {
			t.Errorf("network(%q) = %q, want %q", in, got, want)
		}
	}
}
