package drill_test

import (
	"maps"
	"slices"
	"time"

	"portillon/server/servertest"
	"portillon/server/ticket"
)

// life is a ticket as the model knows it: what was done to it, and what must
// therefore be said of it.
type life struct {
	id         ticket.ID
	of         *kind
	link       string                    // that claims it now
	linkSerial int                       // counts the links
	claims     map[int]claimed           // by generation
	phones     map[int]*servertest.Phone // by generation; none for paper
	generation int
	status     ticket.Status
	extra      int // entries that judgement gave beyond the category's
	entries    int
	inside     int
	book       []entry
	stale      []time.Time     // when a code of it was too old
	oneTime    map[int]oneTime // by generation, of phones that asked for a secret
}

// oneTime is what is known of the one-time codes of one generation.
type oneTime struct {
	step   int64 // that was used last
	key    ticket.Key
	wrong  []time.Time
	locked time.Time // until then
}

func (o oneTime) spent(step int64, key ticket.Key) bool {
	return o.key != ticket.Key{} && (step < o.step || step == o.step && key != o.key)
}

// claimed is what one generation is bound to.
type claimed struct {
	paper  bool
	serial int    // of the link that claimed it
	code   string // of paper
}

// kind is what the model has to know of an event and a category.
type kind struct {
	name       string
	category   ticket.CategoryID
	admits     int
	reentry    bool
	paper      bool
	live       bool // takes living codes only
	recover    bool // takes lost answers back
	doors, end time.Time
	from       time.Time
}

// entry is a passage that was written.
type entry struct {
	key     ticket.Key
	person  ticket.PersonID
	device  *device
	at      time.Time
	out     bool
	gen     int  // of the code, 0: none was shown
	shown   bool // the device has said so
	people  int
	entries int // afterwards
	inside  int
	over    bool
	undone  bool
	proof   string // what the code signed

	recovery   bool // in place of one whose answer was lost
	superseded bool // undone in this way
}

// device is what is known of when a scanner gave signs of life.
type device struct {
	id       ticket.DeviceID
	receipts []time.Time
	asked    map[string]time.Time // latest, by the kind of the ticket
}

// code is something that a phone or a paper shows.
type code struct {
	text       string
	generation int
	signs      string // nonce, time, totp, paper, nothing, or the reason why it is no ticket
	proof      string // what it signs
	issued     time.Time
	device     ticket.DeviceID // whose nonce it is; zero: the venue's
	unknown    bool            // nobody made the nonce
	nowhere    bool            // it is of no ticket
	step       int64           // of a one-time code
	wrong      bool            // its digits are of no step
}

// known: it names a ticket that there is.
func (c code) known() bool {
	return c.signs != "malformed" && c.signs != "not_a_ticket" && c.signs != "unsupported_version" && !c.nowhere
}

// ask is a scan as the model sees it.
type ask struct {
	key      ticket.Key
	code     code
	device   *device
	person   ticket.PersonID
	trusted  bool // may let in by judgement
	boss     bool // is a supervisor
	place    string
	out      bool
	people   int
	assisted bool
	over     bool
	dry      bool

	slack time.Duration // how much later than it says the server may have looked at the clock
}

// said is an answer, as far as the model has an opinion.
type said struct {
	reason    ticket.Reason
	class     ticket.Class
	replayed  bool
	remaining int // -1: not said
	people    int
	over      bool
	recovers  ticket.Key // admitted in place of this entry
	recovered bool       // that, or its answer again

	guessed bool // wrongly: it counts against the one-time codes
	spends  bool // the one-time code's step
}

// classes are those of the contract; a used ticket's depends on its age.
var classes = map[ticket.Reason]ticket.Class{
	"admitted": "admit", "malformed": "again", "unsupported_version": "again", "not_a_ticket": "again", "unknown_ticket": "refuse",
	"bad_signature": "refuse", "revoked": "refuse", "moved": "refuse", "not_assigned": "ask", "wrong_event": "ask", "wrong_gate": "ask",
	"too_early": "ask", "stale_nonce": "again", "unknown_nonce": "again", "wrong_controller": "again", "clock_skew": "again",
	"fallback_refused": "again", "totp_wrong": "again", "totp_replayed": "again", "totp_locked": "ask", "undone": "again", "superseded": "refuse", "needs_assist": "ask", "choose_people": "ask", "paper_not_allowed": "ask",
	"held": "ask", "already_used": "ask", "already_inside": "ask", "not_inside": "ask", "entries_exhausted": "refuse", "too_late": "refuse",
}

// bossMay and trustedMay are the reasons that yield to judgement.
var (
	bossMay    = []ticket.Reason{"wrong_event", "wrong_gate", "too_early", "paper_not_allowed", "totp_locked", "held", "already_used", "already_inside", "not_inside", "entries_exhausted", "too_late"}
	trustedMay = []ticket.Reason{"already_used", "already_inside", "not_inside"} // once a ticket, and while the use is young
)

func simply(reason ticket.Reason) said {
	return said{reason: reason, class: classes[reason], remaining: -1}
}

// judge says what the answer to a scan is at that time, and what becomes of a one-time
// code by it. arrived is when it reached the server.
func (l *life) judge(a ask, now, arrived time.Time) said {
	s := l.answer(a, now, arrived)
	if a.code.signs != "totp" || a.place == "foreign" || l.find(a.key) != nil {
		return s
	}
	o := l.oneTime[a.code.generation]
	s.guessed = a.code.wrong && !now.Before(o.locked)
	s.spends = !a.code.wrong && !l.lockedOut(a, now) && !a.dry && inWindow(a.code.step, arrived) && !o.spent(a.code.step, a.key)
	return s
}

// lockedOut: too many wrong codes were tried, and nobody lets in all the same.
func (l *life) lockedOut(a ask, now time.Time) bool {
	return now.Before(l.oneTime[a.code.generation].locked) && (!a.over || !a.boss)
}

// inWindow: two steps of fifteen seconds back, and one ahead.
func inWindow(step int64, at time.Time) bool {
	now := at.Unix() / 15
	return step >= now-2 && step <= now+1
}

func (l *life) answer(a ask, now, arrived time.Time) said {
	switch a.code.signs {
	case "nonce", "time", "paper", "nothing":
	case "totp":
		switch {
		case !a.code.wrong && l.find(a.key) != nil:
		case a.place == "foreign":
			return simply("not_assigned")
		case l.lockedOut(a, now):
			return simply("totp_locked")
		case a.code.wrong:
			return simply("totp_wrong")
		}
	default:
		return simply(ticket.Reason(a.code.signs))
	}
	if e := l.find(a.key); e != nil {
		return l.again(*e)
	}
	if a.place == "foreign" {
		return simply("not_assigned")
	}
	against := 0
	for _, reason := range []ticket.Reason{l.place(a, now), l.fresh(a, now, arrived), l.state(a), l.time(a, now)} {
		if reason == "" {
			continue
		}
		if reason == "stale_nonce" {
			return l.old(now)
		}
		if !l.yields(a, reason, false) {
			return simply(reason)
		}
		against++
	}
	return l.use(a, now, against)
}

// old is the answer to a code that is too old: the third in a minute is a question.
func (l *life) old(now time.Time) said {
	s, before := simply("stale_nonce"), 0
	for _, at := range l.stale {
		if at.After(now.Add(-time.Minute)) {
			before++
		}
	}
	if before >= 2 {
		s.class = "ask"
	}
	return s
}

// again is the first answer once more.
func (l *life) again(e entry) said {
	switch {
	case e.superseded:
		return simply("superseded")
	case e.undone:
		return simply("undone")
	}
	left := l.of.admits + l.extra - e.entries
	if l.of.reentry {
		left = l.of.admits + l.extra - e.inside
	}
	if e.out {
		left = e.inside
	}
	return said{reason: "admitted", class: "admit", replayed: true, remaining: max(0, left), people: e.people, recovered: e.recovery}
}

func (l *life) find(key ticket.Key) *entry {
	for i := range l.book {
		if l.book[i].key == key {
			return &l.book[i]
		}
	}
	return nil
}

func (l *life) place(a ask, now time.Time) ticket.Reason {
	switch {
	case now.Before(l.of.doors):
		return "wrong_event"
	case a.place == "side":
		return "wrong_gate"
	}
	return ""
}

func (l *life) fresh(a ask, now, arrived time.Time) ticket.Reason {
	c := a.code
	if l.of.reentry && (c.signs == "nonce" || c.signs == "time") && slices.ContainsFunc(l.book, func(e entry) bool { return e.proof == c.proof && e.out == a.out }) {
		return "stale_nonce" // one proof, one passage
	}
	switch c.signs {
	case "nonce":
		lives := 35 * time.Second
		switch {
		case c.unknown:
			return "unknown_nonce"
		case c.device != ticket.DeviceID{} && c.device != a.device.id:
			return "wrong_controller"
		case c.device != ticket.DeviceID{}:
			lives = 60 * time.Second
		}
		if arrived.Sub(c.issued) > lives {
			return "stale_nonce"
		}
	case "time":
		if skew := c.issued.Sub(arrived); skew > 10*time.Second || skew < -45*time.Second {
			return "clock_skew"
		}
		return l.fallback(a)
	case "totp":
		used := slices.ContainsFunc(l.book, func(e entry) bool { return e.proof == c.proof && e.out == a.out })
		switch {
		case !inWindow(c.step, arrived):
			return "clock_skew"
		case used || l.oneTime[c.generation].spent(c.step, a.key):
			return "totp_replayed"
		case l.fallback(a) != "":
			return l.fallback(a)
		case now.Before(l.oneTime[c.generation].locked):
			return "totp_locked"
		}
	case "paper":
		if !l.of.paper {
			return "paper_not_allowed"
		}
	}
	return ""
}

// fallback is about the codes that need no network. No phone here follows its stream.
func (l *life) fallback(a ask) ticket.Reason {
	switch {
	case l.of.live:
		return "fallback_refused"
	case !a.assisted:
		return "needs_assist"
	}
	return ""
}

func (l *life) state(a ask) ticket.Reason {
	switch {
	case a.out:
	case a.code.signs != "nothing" && a.code.generation != l.generation:
		return "moved"
	case l.status == ticket.RevokedStatus:
		return "revoked"
	case l.status == ticket.HeldStatus:
		return "held"
	}
	return ""
}

func (l *life) time(a ask, now time.Time) ticket.Reason {
	switch {
	case a.out:
	case now.Before(l.of.from):
		return "too_early"
	case !now.Before(l.of.end):
		return "too_late"
	}
	return ""
}

// use is the last check, and the entry. against counts the reasons that judgement
// has set aside before.
func (l *life) use(a ask, now time.Time, against int) said {
	free, people := l.free(), a.people
	if a.out {
		free = l.inside
	}
	if people == 0 && l.of.admits == 1 {
		people = 1
	}
	switch {
	case a.out && (!l.of.reentry || l.inside == 0):
		return simply("not_inside")
	case free <= 0:
		refused, old := l.full(now)
		if s, lost := l.recover(a, now); lost {
			s.over = against > 0
			return s
		}
		if !l.yields(a, refused.reason, old) {
			return refused
		}
		return said{reason: "admitted", class: "admit", people: min(max(1, a.people), l.of.admits), over: true}
	case people == 0 || people > free:
		choose := simply("choose_people")
		choose.remaining = free
		return choose
	}
	return said{reason: "admitted", class: "admit", people: people, remaining: free - people, over: against > 0}
}

// recover admits in place of the last entry, where its answer was lost: the event
// takes such back, the device normally says what it showed and did not say so of this,
// nothing was heard of it for ten seconds, and the same phone comes within five minutes.
func (l *life) recover(a ask, now time.Time) (s said, lost bool) {
	if !l.of.recover || a.out || a.code.signs != "nonce" {
		return s, false
	}
	last := l.last()
	if last == nil || last.shown || last.over || last.gen != a.code.generation || now.Sub(last.at) > 5*time.Minute {
		return s, false
	}
	left := slices.ContainsFunc(l.book, func(e entry) bool { return e.out && !e.undone && e.at.After(last.at) })
	if left {
		return s, false
	}
	seen, says := last.at, false
	for _, at := range last.device.receipts {
		says = says || at.After(last.at.Add(-time.Hour))
		seen = later(seen, at)
	}
	if seen = later(seen, last.device.asked[l.of.name]); !says || now.Add(a.slack).Sub(seen) < 10*time.Second {
		return s, false
	}
	before, of := l.clone(), *l.of
	of.recover = false // one answer only
	before.of = &of
	before.takeOut(last.key)
	if a.people == 0 {
		a.people = last.people
	}
	a.over = false
	if s = before.use(a, now, 0); s.reason != "admitted" {
		return s, false
	}
	s.recovers, s.recovered = last.key, true
	return s, true
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// last is the latest entry that was not taken back.
func (l *life) last() (last *entry) {
	for i, e := range l.book {
		if !e.undone && !e.out && (last == nil || e.at.After(last.at)) {
			last = &l.book[i]
		}
	}
	return last
}

// takeOut counts an entry back.
func (l *life) takeOut(key ticket.Key) {
	e := l.find(key)
	e.undone = true
	l.entries -= e.people
	l.inside -= e.people
	l.extra = max(0, min(l.extra, l.counted()-l.of.admits))
	if l.status == ticket.Used && (l.of.reentry || l.entries < l.of.admits+l.extra) {
		l.status = ticket.Active
	}
}

func (l *life) free() int {
	if l.of.reentry {
		return l.of.admits + l.extra - l.inside
	}
	return l.of.admits + l.extra - l.entries
}

// full is how a used ticket is refused, and whether its use is old.
func (l *life) full(now time.Time) (s said, old bool) {
	switch {
	case l.of.reentry:
		s = simply("already_inside")
		s.remaining = 0
		return s, false
	case l.of.admits > 1:
		s = simply("entries_exhausted")
		s.remaining = 0
		return s, true
	}
	s = simply("already_used")
	var at time.Time
	if last := l.last(); last != nil {
		at = last.at
	}
	if old = now.Sub(at) > 5*time.Minute; old {
		s.class = "refuse"
	}
	return s, old
}

func (l *life) yields(a ask, reason ticket.Reason, old bool) bool {
	if !a.over || a.out {
		return false
	}
	before := slices.ContainsFunc(l.book, func(e entry) bool { return e.over && !e.undone })
	return a.boss && slices.Contains(bossMay, reason) || a.trusted && !before && !old && slices.Contains(trustedMay, reason)
}

// happen writes what was said at that time into the model.
func (l *life) happen(a ask, s said, at time.Time) {
	if s.reason == "stale_nonce" && !a.dry {
		l.stale = append(l.stale, at)
	}
	l.try(a, s, at)
	if s.reason != "admitted" || s.replayed || a.dry {
		return
	}
	e := entry{
		key: a.key, person: a.person, device: a.device, at: at, out: a.out, gen: a.code.generation, people: s.people, over: s.over,
		proof: a.code.proof, recovery: s.recovered && !s.over,
	}
	if s.recovered {
		l.takeOut(s.recovers)
		l.find(s.recovers).superseded = true
	}
	if a.out {
		l.inside -= s.people
	} else {
		l.entries += s.people
		l.inside += s.people
		full := l.entries >= l.of.admits+l.extra
		if s.over {
			l.extra = max(l.extra, l.counted()-l.of.admits)
		}
		if !l.of.reentry && full && l.status == ticket.Active {
			l.status = ticket.Used
		}
	}
	e.entries, e.inside = l.entries, l.inside
	l.book = append(l.book, e)
}

// try counts a one-time code: a wrong one locks as the fifth within a minute, for five
// minutes, and a right one is used up whatever became of the scan.
func (l *life) try(a ask, s said, at time.Time) {
	o := l.oneTime[a.code.generation]
	if s.guessed {
		o.wrong = slices.DeleteFunc(slices.Clone(o.wrong), func(wrong time.Time) bool { return at.Sub(wrong) >= time.Minute })
		if o.wrong = append(o.wrong, at); len(o.wrong) == 5 {
			o.wrong, o.locked = nil, at.Add(5*time.Minute)
		}
	}
	if s.spends {
		o.step, o.key = a.code.step, a.key
	}
	if s.guessed || s.spends {
		l.oneTime[a.code.generation] = o
	}
}

// counted is what the limit is about.
func (l *life) counted() int {
	if l.of.reentry {
		return l.inside
	}
	return l.entries
}

// takeBack is an undo: its fault, or "" when it happened.
func (l *life) takeBack(key ticket.Key, by ticket.PersonID, boss bool, now time.Time) string {
	e := l.find(key)
	passed := slices.ContainsFunc(l.book, func(o entry) bool { return o.out != e.out && !o.undone && o.at.After(e.at) })
	switch {
	case e.undone:
		return "undo.already_undone"
	case passed:
		return "undo.left_since"
	case boss:
	case e.person != by:
		return "undo.not_yours"
	case now.Sub(e.at) > 15*time.Minute:
		return "undo.too_late"
	}
	after := *l
	if e.out {
		after.inside += e.people
	} else {
		after.entries -= e.people
		after.inside -= e.people
	}
	after.extra = max(0, min(l.extra, after.counted()-l.of.admits))
	if after.inside < 0 || after.inside > l.of.admits+after.extra || after.entries < after.inside {
		return "undo.left_since"
	}
	if l.status == ticket.Used && (l.of.reentry || after.entries < l.of.admits+after.extra) {
		after.status = ticket.Active
	}
	*l = after
	l.find(key).undone = true
	return ""
}

// open is the status of a ticket that nobody keeps out.
func (l *life) open() ticket.Status {
	if !l.of.reentry && l.entries >= l.of.admits+l.extra {
		return ticket.Used
	}
	return ticket.Active
}

// claimable says whether the newest link puts the ticket on another phone.
func (l *life) claimable(now time.Time) bool {
	c, some := l.claims[l.generation]
	return l.status == ticket.Active && now.Before(l.of.end) && (!some || c.paper || c.serial < l.linkSerial)
}

// clone is a life of its own.
func (l *life) clone() *life {
	c := *l
	c.book = slices.Clone(l.book)
	c.oneTime = maps.Clone(l.oneTime)
	return &c
}
