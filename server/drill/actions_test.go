package drill_test

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/ticket"
	"portillon/wallet"
)

func (m *machine) issue(t *rapid.T) {
	m.lives = append(m.lives, m.newLife(t, pick(t, "kind", m.kinds)))
}

// claim tries the link once more: it is for who comes first, unless paper or a
// newer link came between.
func (m *machine) claim(t *rapid.T) { m.take(t, m.someLife(t)) }

// move makes a new link and takes the ticket to another phone.
func (m *machine) move(t *rapid.T) {
	l := m.someLife(t)
	link, err := client.Do[client.ClaimLink](context.Background(), m.h.Admin, http.MethodPost, "/v1/tickets/"+l.id.String()+"/reissue",
		map[string]string{"reason": "a new phone"}, client.WithKey(servertest.NewKey()))
	code := problemOf(t, err)
	if want := l.status == ticket.RevokedStatus; want != (code == "ticket.revoked") || code != "" && !want {
		t.Fatalf("reissue of a ticket that is %s: %v", l.status, err)
	}
	if err == nil {
		l.link = link.ClaimURL
		l.linkSerial++
		m.take(t, l)
	}
}

func (m *machine) print(t *rapid.T) {
	l := m.someLife(t)
	printed, err := client.Do[client.Printed](context.Background(), m.h.Admin, http.MethodPost, "/v1/tickets/"+l.id.String()+"/print",
		map[string]string{"reason": "no phone"}, client.WithKey(servertest.NewKey()))
	want := ""
	switch {
	case !l.of.paper:
		want = "ticket.paper_not_allowed"
	case l.status != ticket.Active:
		want = "ticket.not_active"
	}
	if code := problemOf(t, err); code != want {
		t.Fatalf("print: %q, want %q", code, want)
	}
	if err == nil {
		l.generation++
		l.claims[l.generation] = claimed{paper: true, code: printed.Code}
		m.shown = append(m.shown, shown{l, code{text: printed.Code, generation: l.generation, signs: "paper"}})
	}
}

// people draws how many want in: often not said.
func (m *machine) people(t *rapid.T, l *life) int {
	return rapid.IntRange(0, l.of.admits+1).Draw(t, "people")
}

func (m *machine) anyone(t *rapid.T) *staff {
	return pick(t, "who", []*staff{m.karel, m.eva, m.petr, m.olga})
}

func (m *machine) scanFresh(t *rapid.T) {
	l, s := m.someLife(t), m.anyone(t)
	c := m.mint(t, l, l.generation, pick(t, "signs", []string{"pushed", "shown"}), s)
	m.scan(t, l, s, ask{code: c, people: min(1, m.people(t, l))})
}

// scanOldCode shows a code that was shown before, whoever's it is now.
func (m *machine) scanOldCode(t *rapid.T) {
	if len(m.shown) == 0 {
		m.scanFresh(t)
		return
	}
	old := pick(t, "code", m.shown)
	m.scan(t, old.l, m.anyone(t), ask{code: old.c, people: m.people(t, old.l), assisted: rapid.Bool().Draw(t, "assisted")})
}

// scanOldGeneration shows a fresh code of a phone that had the ticket before.
func (m *machine) scanOldGeneration(t *rapid.T) {
	var moved []*life
	for _, l := range m.lives {
		if l.generation > 1 {
			moved = append(moved, l)
		}
	}
	if len(moved) == 0 {
		m.move(t)
		return
	}
	l := pick(t, "ticket", moved)
	m.scan(t, l, m.karel, ask{code: m.mint(t, l, rapid.IntRange(1, l.generation-1).Draw(t, "generation"), "pushed", m.karel), people: 1})
}

// scanElsewhere is a good code at the wrong place.
func (m *machine) scanElsewhere(t *rapid.T) {
	l, s := m.someLife(t), m.anyone(t)
	a := ask{people: 1}
	signs := "pushed"
	switch a.place = pick(t, "place", []string{"side", "foreign", "device", "nowhere"}); a.place {
	case "device":
		a.place, signs = "main", "shown"
	case "nowhere":
		a.place, signs = "main", "unknown"
	}
	a.code = m.mint(t, l, l.generation, signs, m.karel)
	m.scan(t, l, s, a)
}

// scanTampered is no code of that ticket at all.
func (m *machine) scanTampered(t *rapid.T) {
	l := m.someLife(t)
	var c code
	switch how := pick(t, "how", []string{"bad_signature", "unknown_ticket", "not_a_ticket", "malformed", "unsupported_version"}); how {
	case "bad_signature":
		if l.generation == 0 || l.claims[l.generation].paper {
			how = "unknown_ticket" // it has no key that a phone's code could miss
		}
		c = m.strange(t, l.id.UUID(), l.generation, how)
	case "unknown_ticket":
		c = m.strange(t, uuid.New(), 1, how)
		c.nowhere = true
	case "not_a_ticket":
		c = code{text: "https://example.org/menu", signs: how}
	case "malformed":
		c = code{text: "PT1:ABC", signs: how}
	case "unsupported_version":
		c = code{text: "PT1:" + wallet.EncodeBase45(append([]byte{0x21}, make([]byte, 97)...)), signs: how}
	}
	m.scan(t, l, m.karel, ask{code: c, people: 1})
}

func (m *machine) scanFamily(t *rapid.T) {
	var families []*life
	for _, l := range m.lives {
		if l.of.admits > 1 {
			families = append(families, l)
		}
	}
	l, s := pick(t, "family", families), m.anyone(t)
	m.scan(t, l, s, ask{code: m.mint(t, l, l.generation, "shown", s), people: m.people(t, l)})
}

func (m *machine) scanTimed(t *rapid.T) {
	l := m.someLife(t)
	m.scan(t, l, m.karel, ask{code: m.mint(t, l, l.generation, "time", m.karel), people: 1, assisted: rapid.Bool().Draw(t, "assisted")})
}

func (m *machine) dryRun(t *rapid.T) {
	l, s := m.someLife(t), m.anyone(t)
	m.scan(t, l, s, ask{code: m.mint(t, l, l.generation, "shown", s), people: m.people(t, l), dry: true})
}

// replay sends a scan that was admitted once more, at either server, from its own
// device.
func (m *machine) replay(t *rapid.T) {
	if len(m.asked) == 0 {
		m.scanFresh(t)
		return
	}
	before := pick(t, "scan", m.asked)
	m.scan(t, before.l, before.s, before.a)
}

func (m *machine) exit(t *rapid.T) {
	l, s := m.someLife(t), m.anyone(t)
	for _, other := range m.lives {
		if other.inside > 0 && other.of.reentry {
			l = other
		}
	}
	m.scan(t, l, s, ask{code: m.mint(t, l, l.generation, "shown", s), people: m.people(t, l), out: true})
}

func (m *machine) undo(t *rapid.T) {
	if len(m.asked) == 0 {
		m.scanFresh(t)
		return
	}
	what, s := pick(t, "scan", m.asked), m.anyone(t)
	if rapid.Bool().Draw(t, "own") {
		s = what.s
	}
	before := what.l.clone()
	_, err := s.doors[rapid.IntRange(0, 1).Draw(t, "server")].Undo(context.Background(), what.l.id, what.a.key, "the turnstile did not turn")
	code := problemOf(t, err)
	want := what.l.takeBack(what.a.key, s.Person, s.boss, m.now(t))
	if code != want && want == "undo.too_late" { // the limit passed while we looked at the clock
		*what.l = *before
		want = what.l.takeBack(what.a.key, s.Person, true, m.now(t))
	}
	if code != want {
		t.Fatalf("undo: %q, want %q", code, want)
	}
}

func (m *machine) override(t *rapid.T) {
	l, s := m.someLife(t), m.anyone(t)
	c := code{signs: "nothing"}
	if !s.trusted || rapid.Bool().Draw(t, "by code") {
		c = m.mint(t, l, pick(t, "generation", []int{l.generation, min(l.generation, max(1, l.generation-1))}), "shown", s)
	}
	m.scan(t, l, s, ask{code: c, people: m.people(t, l), over: true, place: pick(t, "place", []string{"main", "side"})})
}

func (m *machine) lookUp(t *rapid.T) {
	l := m.someLife(t)
	m.scan(t, l, pick(t, "who", []*staff{m.eva, m.olga}), ask{code: code{signs: "nothing"}, people: m.people(t, l)})
}

// act is one of the desk's; want is the fault that it has to have.
func (m *machine) act(t *rapid.T, l *life, what, want string) bool {
	t.Helper()
	_, err := client.Do[client.Ticket](context.Background(), m.h.Admin, http.MethodPost, "/v1/tickets/"+l.id.String()+"/"+what,
		map[string]string{"reason": "a drill"}, client.WithKey(servertest.NewKey()))
	if code := problemOf(t, err); code != want {
		t.Fatalf("%s of a ticket that is %s: %q, want %q", what, l.status, code, want)
	}
	return err == nil
}

func (m *machine) holdRelease(t *rapid.T) {
	l := m.someLife(t)
	if l.status == ticket.HeldStatus || rapid.IntRange(0, 3).Draw(t, "out of turn") == 0 {
		if m.act(t, l, "release", unless(l.status == ticket.HeldStatus, "ticket.not_held")) {
			l.status = l.open()
		}
		return
	}
	if m.act(t, l, "hold", unless(l.status == ticket.Active, "ticket.not_active")) {
		l.status = ticket.HeldStatus
	}
}

func (m *machine) revokeReinstate(t *rapid.T) {
	l := m.someLife(t)
	if l.status == ticket.RevokedStatus || rapid.IntRange(0, 3).Draw(t, "out of turn") == 0 {
		if m.act(t, l, "reinstate", unless(l.status == ticket.RevokedStatus, "ticket.not_revoked")) {
			l.status = l.open()
		}
		return
	}
	if m.act(t, l, "revoke", unless(l.status != ticket.RevokedStatus, "ticket.revoked")) {
		l.status = ticket.RevokedStatus
	}
}

func unless(fine bool, fault string) string {
	if fine {
		return ""
	}
	return fault
}

// clock moves everybody's time on.
func (m *machine) clock(t *rapid.T) {
	m.pass(t, pick(t, "by", []time.Duration{time.Second, 40 * time.Second, 6 * time.Minute, 16 * time.Minute, 80 * time.Minute}))
}

func (m *machine) pass(t *rapid.T, by time.Duration) {
	t.Helper()
	tag, err := m.h.DB.Pool.Exec(context.Background(), `UPDATE test_clock SET shift = shift + $1::interval`, by)
	if err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("move the clock: %v", err)
	}
	m.held = time.Time{}
}

// together sends two scans of one ticket to the two servers at once. One of the
// two orders has to explain both answers.
func (m *machine) together(t *rapid.T) {
	l := m.someLife(t)
	who := [2]*staff{m.eva, m.petr}
	var both [2]ask
	switch pick(t, "which", []string{"two keys", "one key", "two judgements"}) {
	case "two keys":
		c := m.mint(t, l, l.generation, "pushed", m.eva)
		both[0], both[1] = ask{code: c, people: 1}, ask{code: c, people: 1}
	case "one key":
		c, key := m.mint(t, l, l.generation, "pushed", m.eva), servertest.NewKey()
		both[0], both[1] = ask{code: c, people: 1, key: key}, ask{code: c, people: 1, key: key}
		who[1] = who[0]
	case "two judgements":
		for i := range both {
			both[i] = ask{code: code{signs: "nothing"}, people: 1, over: true}
		}
	}
	var answers [2]client.ScanAnswer
	var errs [2]error
	for i := range both {
		both[i].complete(who[i])
	}
	begun := time.Now()
	together(2, func(i int) { answers[i], errs[i] = m.send(both[i], l, who[i], i) })
	took := time.Since(begun)
	for i, err := range errs {
		if err != nil {
			t.Fatalf("no answer: %v", err)
		}
		m.tally.reasons[answers[i].Reason]++
	}
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		after := l.clone()
		fitted := true
		kept := len(m.asked)
		heard := [2]time.Time{who[0].device.asked[l.of.name], who[1].device.asked[l.of.name]}
		for _, i := range order {
			want, fits := after.fits(both[i], answers[i], took)
			if fitted = fitted && fits; fits {
				m.keep(after, who[i], both[i], want, answers[i])
			}
		}
		if fitted {
			*l = *after
			for i := range m.asked[kept:] {
				m.asked[kept+i].l = l
			}
			return
		}
		m.asked = m.asked[:kept]
		for i := range who { // in this order it has not happened
			who[i].device.asked[l.of.name] = heard[i]
		}
	}
	t.Fatalf("%s: no order of the two explains the answers %+v and %+v\nscans %+v\nticket %+v", l.of.name, answers[0], answers[1], both, l)
}
