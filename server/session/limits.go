package session

import (
	"net/netip"
	"sync"
	"time"

	"portillon/server/fault"
)

// Tries before delays begin, and how long they grow.
const (
	triesOfPair     = 5  // of one account from one address
	triesOfPairHot  = 1  // of an account that many guess at
	triesOfAddress  = 50 // of all accounts from one address
	hotAccount      = 20 // wrong tries from anywhere that make an account hot
	longestOfPair   = 5 * time.Minute
	longestOfAll    = time.Minute
	limitsForgotten = time.Hour           // after the last try
	knownFor        = 30 * 24 * time.Hour // since the last success
	sweepFrom       = 10_000              // entries
)

// limits slows guessing down. A try counts before it is judged, so that many at
// once gain nothing. What delays a try is what came from the same address: wrong
// guesses from elsewhere never keep the owner out, and a pair of account and
// address that succeeded before is not delayed by the address's other accounts.
// All of it is forgotten when the process ends, and nothing is refused for good.
type limits struct {
	mu        sync.Mutex
	now       func() time.Time
	pairs     map[pair]*tally
	addresses map[string]*tally
	accounts  map[string]*tally
	known     map[pair]time.Time
	sweepAt   int
}

type pair struct{ account, address string }

type tally struct {
	tries int
	last  time.Time
	until time.Time
}

func newLimits(now func() time.Time) *limits {
	return &limits{
		now: now, pairs: map[pair]*tally{}, addresses: map[string]*tally{},
		accounts: map[string]*tally{}, known: map[pair]time.Time{}, sweepAt: sweepFrom,
	}
}

// begin counts a try, or returns the fault session.too_many_tries with the time
// to wait. A refused try does not count.
func (l *limits) begin(account, address string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, key := l.now(), pair{account, address}
	l.sweep(now)
	of, at, in := touch(l.pairs, key, now), touch(l.addresses, address, now), touch(l.accounts, account, now)
	wait := of.until.Sub(now)
	_, known := l.known[key]
	if !known {
		wait = max(wait, at.until.Sub(now))
	}
	if wait > 0 {
		return fault.New(fault.TooMany, "session.too_many_tries", "too many wrong tries; wait, then try again").Wait(wait)
	}
	free := triesOfPair
	if !known && in.tries >= hotAccount {
		free = triesOfPairHot
	}
	in.count(now, hotAccount, 0)
	of.count(now, free, longestOfPair)
	at.count(now, triesOfAddress, longestOfAll)
	return nil
}

// succeeded takes the try back that begin counted and remembers the pair.
func (l *limits) succeeded(account, address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := pair{account, address}
	delete(l.pairs, key)
	l.known[key] = l.now()
	l.addresses[address].uncount(triesOfAddress)
	l.accounts[account].uncount(hotAccount)
}

// half takes back the try that begin counted, and nothing else: the password was
// right, but the second factor is yet to come.
func (l *limits) half(account, address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pairs[pair{account, address}].uncount(triesOfPair)
	l.addresses[address].uncount(triesOfAddress)
	l.accounts[account].uncount(hotAccount)
}

func (t *tally) uncount(free int) {
	if t == nil || t.tries == 0 {
		return
	}
	if t.tries--; t.tries < free {
		t.until = time.Time{}
	}
}

func (t *tally) count(now time.Time, free int, longest time.Duration) {
	t.tries++
	t.last = now
	if over := t.tries - free; over >= 0 {
		t.until = now.Add(min(time.Second<<min(over, 10), longest))
	}
}

func touch[K comparable](tallies map[K]*tally, key K, now time.Time) *tally {
	t := tallies[key]
	if t == nil || now.Sub(t.last) > limitsForgotten && !t.last.IsZero() {
		t = &tally{}
		tallies[key] = t
	}
	return t
}

// sweep drops what is forgotten whenever the entries have doubled.
func (l *limits) sweep(now time.Time) {
	if len(l.pairs)+len(l.addresses)+len(l.accounts)+len(l.known) < l.sweepAt {
		return
	}
	drop(l.pairs, now)
	drop(l.addresses, now)
	drop(l.accounts, now)
	for key, at := range l.known {
		if now.Sub(at) > knownFor {
			delete(l.known, key)
		}
	}
	l.sweepAt = max(sweepFrom, 2*(len(l.pairs)+len(l.addresses)+len(l.accounts)+len(l.known)))
}

func drop[K comparable](tallies map[K]*tally, now time.Time) {
	for key, t := range tallies {
		if now.Sub(t.last) > limitsForgotten {
			delete(tallies, key)
		}
	}
}

// network is what counts as one address: a household has a /64 of IPv6.
func network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	ip = ip.Unmap()
	if ip.Is6() {
		if prefix, err := ip.Prefix(64); err == nil {
			return prefix.String()
		}
	}
	return ip.String()
}
