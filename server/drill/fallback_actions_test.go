package drill_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"pgregory.net/rapid"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/wallet"
)

// oneTimer draws a ticket whose phone makes one-time codes, and asks for its secret if
// need be; nil when the ticket that was drawn cannot have one.
func (m *machine) oneTimer(t *rapid.T) (*life, int) {
	l := m.someLife(t)
	if claim := l.claims[l.generation]; l.generation == 0 || claim.paper {
		return nil, 0
	}
	generation := l.generation
	if generation > 1 && rapid.IntRange(0, 4).Draw(t, "of the phone before") == 4 && l.phones[generation-1] != nil {
		generation--
	}
	held := l.phones[generation].Keys.Find(l.id.UUID())
	if held.OneTime != nil {
		return l, generation
	}
	_, err := l.phones[generation].OneTime(context.Background(), held)
	over, want := !m.now(t).Before(l.of.end), ""
	switch {
	case generation < l.generation:
		want = "claim.moved"
	case l.of.live:
		want = "totp.not_for_event"
	case over:
		want = "claim.event_over"
	}
	if got := problemOf(t, err); got != want && (got != "" || want != "claim.event_over") { // it may have ended meanwhile
		t.Fatalf("a secret for one-time codes: %q, want %q", got, want)
	}
	if err != nil {
		return nil, 0
	}
	return l, generation
}

// oneTimeCode is what the phone shows in a QR at a time. A wrong one is of no time.
func (m *machine) oneTimeCode(t *rapid.T, l *life, generation int, at time.Time, wrong bool) code {
	t.Helper()
	held := l.phones[generation].Keys.Find(l.id.UUID())
	made, err := held.OneTimePattern(at.Unix())
	if err != nil {
		t.Fatalf("a one-time code: %v", err)
	}
	if wrong {
		last := made.OTP[len(made.OTP)-1]
		made.OTP = made.OTP[:len(made.OTP)-1] + string('0'+(last-'0'+1)%10)
	}
	step := wallet.TOTPStep(at.Unix())
	c := code{text: made.String(), generation: generation, signs: "totp", proof: fmt.Sprintf("step %d", step), issued: at, step: step, wrong: wrong}
	m.shown = append(m.shown, shown{l, c})
	return c
}

// scanOneTime is mostly what a phone without network shows, and sometimes shown to two.
func (m *machine) scanOneTime(t *rapid.T) {
	l, generation := m.oneTimer(t)
	if l == nil {
		m.scanFresh(t)
		return
	}
	at := m.now(t)
	if rapid.IntRange(0, 5).Draw(t, "late") == 5 {
		at = at.Add(-2 * time.Minute)
	}
	c := m.oneTimeCode(t, l, generation, at, rapid.IntRange(0, 5).Draw(t, "wrong") == 5)
	m.scan(t, l, m.anyone(t), ask{code: c, people: 1, assisted: rapid.IntRange(0, 3).Draw(t, "assisted") > 0})
	if rapid.Bool().Draw(t, "overheard") {
		m.scan(t, l, m.anyone(t), ask{code: c, people: 1, assisted: true})
	}
}

// guess tries wrong codes until it locks the kind, as somebody does who has not the
// phone; the guest comes after him, and perhaps a supervisor helps.
func (m *machine) guess(t *rapid.T) {
	l, generation := m.oneTimer(t)
	if l == nil {
		m.scanFresh(t)
		return
	}
	for range rapid.IntRange(3, 6).Draw(t, "tries") {
		m.scan(t, l, m.karel, ask{code: m.oneTimeCode(t, l, generation, m.now(t), true), people: 1, assisted: true, dry: rapid.IntRange(0, 5).Draw(t, "dry") == 5})
	}
	c := m.oneTimeCode(t, l, generation, m.now(t), false)
	m.scan(t, l, m.karel, ask{code: c, people: 1, assisted: true})
	if rapid.Bool().Draw(t, "over") {
		m.scan(t, l, m.olga, ask{code: c, people: 1, assisted: true, over: true})
	}
}

// lose lets somebody in whose answer is never shown, at an event that takes such
// answers back, and sends him to another door. Then the first device comes back.
func (m *machine) lose(t *rapid.T) {
	k := pick(t, "kind", slices.DeleteFunc(slices.Clone(m.kinds), func(k *kind) bool { return !k.recover }))
	first, second := m.anyone(t), m.anyone(t)
	if rapid.IntRange(0, 3).Draw(t, "silent") < 3 { // it is one that says what it showed
		warm := m.newLife(t, k)
		m.lives = append(m.lives, warm)
		m.scan(t, warm, first, ask{code: m.mint(t, warm, warm.generation, "shown", first), people: 1})
		m.say(t, m.asked[max(0, len(m.asked)-1):])
	}
	l := m.newLife(t, k)
	m.lives = append(m.lives, l)
	lost := ask{key: servertest.NewKey(), code: m.mint(t, l, l.generation, "pushed", first), people: k.admits}
	m.scan(t, l, first, lost)
	m.pass(t, pick(t, "after", []time.Duration{11 * time.Second, 5 * time.Second, 2 * time.Minute, 6 * time.Minute}))
	m.scan(t, l, second, ask{code: m.mint(t, l, l.generation, pick(t, "signs", []string{"shown", "pushed"}), second), people: k.admits})
	m.scan(t, l, first, lost)
}

// receipt says of one of the answers that it was on the screen, however late.
func (m *machine) receipt(t *rapid.T) {
	if len(m.asked) == 0 {
		m.scanFresh(t)
		return
	}
	i := len(m.asked) - 1 - rapid.IntRange(0, len(m.asked)-1).Draw(t, "scan")
	m.say(t, m.asked[i:i+1])
}

// say sends a device's receipts.
func (m *machine) say(t *rapid.T, all []asked) {
	t.Helper()
	for _, what := range all {
		kept, err := client.Do[map[string]int](context.Background(), what.s.doors[rapid.IntRange(0, 1).Draw(t, "server")].Client, http.MethodPost,
			"/v1/scans/shown", map[string]any{"scans": []any{map[string]any{"ticket": what.l.id, "key": what.a.key}}})
		if err != nil || kept["kept"] != 1 {
			t.Fatalf("%d receipts are kept: %v", kept["kept"], err)
		}
		if e := what.l.find(what.a.key); !e.shown { // the first counts
			e.shown = true
			what.s.device.receipts = append(what.s.device.receipts, m.now(t))
		}
	}
}

// paperRule forbids a category its paper, or allows it again. The desk has no call for
// that; what is printed by then is what the rule is about.
func (m *machine) paperRule(t *rapid.T) {
	k := pick(t, "kind", m.kinds)
	k.paper = !k.paper
	tag, err := m.h.DB.Pool.Exec(context.Background(), `UPDATE categories SET paper = $2 WHERE id = $1`, k.category, k.paper)
	if err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("change the category: %v", err)
	}
}
