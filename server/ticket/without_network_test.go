package ticket

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write testdata/without_network.jsonl.gz anew")

// withoutNetworkFile holds the cases that this package and the gate page both judge:
// one JSON object a line, compressed. web/gate/decide.test.ts reads it too.
const withoutNetworkFile = "testdata/without_network.jsonl.gz"

// withoutNetworkCases is how many there are, and eachReason how often each reason
// that can occur without network occurs among them at least.
const (
	withoutNetworkCases = 5_000
	eachReason          = 100
)

// withoutNetworkReasons are those that a device can find by its pack. Whose key was
// undone or superseded, who is assigned where and whether a one-time code is right
// it cannot know; the form of a code is judged before (wallet/testdata/vectors.json).
var withoutNetworkReasons = []Reason{
	Admitted, UnknownTicket, BadSignature, WrongEvent, WrongGate, StaleNonce, UnknownNonce, ClockSkew, NeedsAssist,
	FallbackRefused, PaperNotAllowed, Moved, Revoked, Held, TooEarly, TooLate, ChoosePeople, AlreadyUsed, AlreadyInside,
	NotInside, EntriesExhausted, NotInPack,
}

// alone is one case: what a device knows without network, and what it is to say.
// Times are seconds from now, later ones positive. A left-out member is its zero.
type alone struct {
	Signs      string `json:"signs"`                // nonce, time, paper
	NonceAge   *int   `json:"nonce_age,omitempty"`  // of the device's own nonce; null: not one of its own
	IssuedAt   int    `json:"issued_at,omitempty"`  // signs: time
	Generation uint8  `json:"generation,omitempty"` // that the code is for
	Forged     bool   `json:"forged,omitempty"`     // the signature does not verify, where it can be checked
	ProofUsed  bool   `json:"proof_used,omitempty"`

	Missing    bool   `json:"missing,omitempty"` // the pack has no such ticket
	Claim      string `json:"claim,omitempty"`   // none, phone, paper
	Current    uint8  `json:"current,omitempty"` // the ticket's generation
	Status     Status `json:"status,omitempty"`
	Admits     int    `json:"admits,omitempty"`
	Extra      int    `json:"extra,omitempty"`
	Entries    int    `json:"entries,omitempty"`
	Inside     int    `json:"inside,omitempty"`
	UsedAgo    *int   `json:"used_ago,omitempty"` // of the last entry, if this device knows of it
	SameKey    *again `json:"same_key,omitempty"` // this device let in under this key before
	Doors      int    `json:"doors,omitempty"`
	Ends       int    `json:"ends,omitempty"`
	ValidFrom  *int   `json:"valid_from,omitempty"`
	ValidUntil *int   `json:"valid_until,omitempty"`
	Gates      string `json:"gates,omitempty"` // of the category: all, this, other
	Paper      bool   `json:"paper,omitempty"`
	Freshness  string `json:"freshness,omitempty"`
	Rescan     string `json:"rescan,omitempty"`
	Window     int    `json:"window,omitempty"`
	Reentry    bool   `json:"reentry,omitempty"`
	Offline    string `json:"offline,omitempty"` // own_gate, any

	Direction    Direction `json:"direction,omitempty"`
	People       int       `json:"people,omitempty"`
	PhoneOffline bool      `json:"phone_offline,omitempty"`

	Want *wanted `json:"want,omitempty"`
}

type again struct {
	Direction Direction `json:"direction"`
	People    int       `json:"people"`
	Entries   int       `json:"entries"`
	Inside    int       `json:"inside"`
}

// wanted is what both sides must say.
type wanted struct {
	Reason    Reason  `json:"reason"`
	Verdict   Verdict `json:"verdict"`
	Class     Class   `json:"class"`
	Replayed  bool    `json:"replayed,omitempty"`
	People    int     `json:"people,omitempty"`
	Remaining int     `json:"remaining,omitempty"`
}

// judge is Decide with what the case knows, and the four things that are different
// without network: a ticket or a claim that is not in the pack may be newer than the
// pack; the signature of a claim before the present one cannot be checked, since its
// key is not in the pack, so it counts as good where it can only lead to a refusal;
// and an event may let a device alone admit at its category's own gates only.
func (a alone) judge() wanted {
	s, f := a.facts()
	claimed := f.Claim != nil && f.Claim.Generation >= a.Generation
	if f.Ticket == nil || !claimed || a.unproven() && s.Direction == Out {
		return wantedOf(Judge(NotInPack))
	}
	d := Decide(s, f)
	if a.Offline == "own_gate" && a.Gates == "all" && !d.Replayed && RuleOf(d.Reason).passes(WrongGate) {
		d = Judge(NotInPack)
	}
	return wantedOf(d)
}

// passes reports whether this reason is found after the check of that one. Among
// those of one check it is told by the order of Rules.
func (r Rule) passes(one Reason) bool {
	order := func(reason Reason) int {
		return slices.IndexFunc(Rules, func(r Rule) bool { return r.Reason == reason })
	}
	return r.Order == 0 || order(r.Reason) > order(one)
}

// unproven: the code is for a phone's claim before the present one.
func (a alone) unproven() bool { return a.Signs != "paper" && a.Generation < a.Current }

func (a alone) facts() (Scan, Facts) {
	in := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
	s, f := good()
	s.Direction, s.People, s.PhoneOffline = a.Direction, a.People, a.PhoneOffline
	s.Code = CodeFacts{Signs: SignsNonce, Generation: a.Generation, Nonce: nonce}
	switch a.Signs {
	case "time":
		s.Code = CodeFacts{Signs: SignsTime, Generation: a.Generation, IssuedAt: in(a.IssuedAt)}
	case "paper":
		s.Code = CodeFacts{Signs: SignsPaper, Generation: a.Generation}
	}
	f.Nonce = nil
	if a.NonceAge != nil {
		f.Nonce = &Nonce{Venue: venue.ID, Device: me, IssuedAt: in(-*a.NonceAge)}
	}
	f.SignatureGood, f.ProofUsed = !a.Forged || a.unproven(), a.ProofUsed
	f.Ticket.Status, f.Ticket.Generation, f.Ticket.ClaimedAt = a.Status, a.Current, now.Add(-48*time.Hour)
	f.Ticket.Admits, f.Ticket.Extra, f.Ticket.Entries, f.Ticket.Inside = a.Admits, a.Extra, a.Entries, a.Inside
	f.Claim = a.claim()
	if a.Missing {
		f.Ticket, f.Claim = nil, nil
	}
	f.Event.DoorsOpenAt, f.Event.EndsAt, f.Event.Reentry = in(a.Doors), in(a.Ends), a.Reentry
	f.Event.Freshness, f.Event.Rescan, f.Event.RescanWindow = Freshness(a.Freshness), Rescan(a.Rescan), time.Duration(a.Window)*time.Second
	f.Category = Category{Paper: a.Paper, Gates: map[string][]Gate{"this": {gateB, gateA}, "other": {gateB}}[a.Gates]}
	if a.ValidFrom != nil {
		f.Category.ValidFrom = in(*a.ValidFrom)
	}
	if a.ValidUntil != nil {
		f.Category.ValidUntil = in(*a.ValidUntil)
	}
	if a.UsedAgo != nil {
		f.Last = &Admission{At: in(-*a.UsedAgo), Gate: gateA, Device: me, Generation: a.Current}
	}
	if k := a.SameKey; k != nil {
		f.SameKey = &Admission{Key: s.Key, At: now, Direction: k.Direction, People: k.People, Entries: k.Entries, Inside: k.Inside}
	}
	return s, f
}

// claim is the one that the code is for. Of an earlier one nobody has told what it
// was: a phone's code comes from a phone's, a paper's from a paper's.
func (a alone) claim() *Claim {
	switch {
	case a.Generation < a.Current && a.Generation > 0:
		return &Claim{Generation: a.Generation, Paper: a.Signs == "paper"}
	case a.Claim == "none":
		return nil
	}
	return &Claim{Generation: a.Current, Paper: a.Claim == "paper"}
}

func wantedOf(d Decision) wanted {
	return wanted{d.Reason, d.Verdict, d.Class, d.Replayed, d.People, d.Remaining}
}

// TestWithoutNetworkTheSameCasesHaveTheSameAnswers keeps the cases that the gate page
// is measured by. Run it with -update after the rule was changed.
func TestWithoutNetworkTheSameCasesHaveTheSameAnswers(t *testing.T) {
	if *update {
		writeWithoutNetwork(t)
	}
	count := map[Reason]int{}
	for _, one := range readWithoutNetwork(t) {
		if got := one.judge(); got != *one.Want {
			kept, _ := json.Marshal(one)
			t.Fatalf("case %s: got %+v, kept is %+v: run with -update, then the page's tests", kept, got, *one.Want)
		}
		count[one.Want.Reason]++
	}
	t.Log(count)
	for _, reason := range withoutNetworkReasons {
		if count[reason] < eachReason {
			t.Errorf("%s occurs %d times", reason, count[reason])
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(count)) {
		if !slices.Contains(withoutNetworkReasons, reason) {
			t.Errorf("%s cannot occur without network", reason)
		}
	}
}

func readWithoutNetwork(t *testing.T) (cases []alone) {
	t.Helper()
	file, err := os.Open(withoutNetworkFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	packed, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for read := json.NewDecoder(packed); ; {
		var one alone
		if err := read.Decode(&one); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, one)
	}
	if len(cases) != withoutNetworkCases {
		t.Fatalf("%d cases", len(cases))
	}
	return cases
}

func writeWithoutNetwork(t *testing.T) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2026)) // the same cases every time
	var packed bytes.Buffer
	compress, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	write := json.NewEncoder(compress)
	for range withoutNetworkCases {
		one := generateAlone(random)
		want := one.judge()
		one.Want = &want
		if err := write.Encode(one); err != nil {
			t.Fatal(err)
		}
	}
	if err := compress.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(withoutNetworkFile, packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// generateAlone makes a case that is admitted and changes one or two things about it.
func generateAlone(random *rand.Rand) alone {
	one := alone{
		Signs: "nonce", NonceAge: new(random.IntN(55)), Generation: 2, Claim: "phone", Current: 2, Status: Active, Admits: 1,
		Doors: -600, Ends: 7200, Gates: "all", Freshness: "assisted", Rescan: "show_time", Window: 300, Offline: "any", Direction: In,
	}
	changes := aloneChanges(random)
	for range 1 + random.IntN(2) {
		changes[random.IntN(len(changes))](&one)
	}
	if one.Signs != "nonce" {
		one.NonceAge = nil
	}
	one.Entries = max(one.Entries, one.Inside)
	return one
}

func pick[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }

// aloneChanges are what can be different at a door. The limits are among them to the second.
func aloneChanges(random *rand.Rand) []func(*alone) {
	paper := func(a *alone) { a.Signs, a.Claim, a.Paper = "paper", "paper", random.IntN(3) > 0 }
	timed := func(a *alone) {
		a.Signs, a.IssuedAt = "time", pick(random, 0, -5, -44, -45, -45, 10, 10, -46, 11, -7200)
		a.PhoneOffline, a.Freshness = random.IntN(2) > 0, pick(random, "live", "assisted", "assisted", "open")
	}
	family := func(a *alone) {
		a.Admits, a.People = pick(random, 2, 4, 6), random.IntN(6)
		a.Entries = min(a.Admits, random.IntN(a.Admits+3))
		a.Inside = a.Entries
	}
	reentry := func(a *alone) {
		a.Reentry, a.Direction, a.Entries = true, pick(random, In, In, Out), 1+random.IntN(3)
		a.Inside, a.ProofUsed = random.IntN(2), random.IntN(6) == 0
	}
	used := func(a *alone) {
		a.Entries, a.Inside, a.Status = a.Admits, a.Admits, pick(random, Used, Active)
		a.UsedAgo = pick(random, nil, new(5), new(300), new(301), new(4000))
		a.Rescan = pick(random, "strict", "show_time", "recover")
	}
	status := func(a *alone) { a.Status = pick(random, HeldStatus, RevokedStatus) }
	hours := func(a *alone) { a.ValidFrom = new(pick(random, 0, 1, 600, -600)) }
	return []func(*alone){
		paper, timed, timed, timed, timed, family, family, family, reentry, reentry, reentry, used, used,
		status, status, hours, hours,
		func(a *alone) { a.NonceAge = pick(random, nil, nil, nil, nil, nil, new(60), new(61), new(90)) },
		func(a *alone) {
			a.Generation, a.Signs = pick[uint8](random, 1, 1, 1, 3), pick(random, a.Signs, a.Signs, a.Signs, "paper")
		},
		func(a *alone) { a.Forged = true },
		func(a *alone) { a.Missing = true },
		func(a *alone) { a.Claim = pick(random, "none", "phone", "paper") },
		func(a *alone) { a.Claim = pick(random, "phone", "paper") },
		func(a *alone) { a.Doors = pick(random, 0, 1, 3600) },
		func(a *alone) { a.Ends = pick(random, 0, 1, -1) },
		func(a *alone) { a.ValidUntil = new(pick(random, 0, 1, -600, 9000)) },
		func(a *alone) { a.Gates = pick(random, "this", "other", "other") },
		func(a *alone) { a.Offline, a.Gates = "own_gate", pick(random, "all", "this", "other") },
		func(a *alone) { a.Extra, a.Entries = 1, random.IntN(3) },
		func(a *alone) { a.Direction = Out },
		func(a *alone) {
			a.SameKey = &again{Direction: pick(random, In, In, Out), People: 1, Entries: random.IntN(a.Admits + 1), Inside: random.IntN(a.Admits + 1)}
		},
	}
}
