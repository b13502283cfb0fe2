package drill_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/wallet"
)

// machine is one evening at one house with two servers in two processes: it does
// something at random, says by the model what the answer must be, and compares.
type machine struct {
	tally   *tally
	h       *servertest.House
	second  string        // URL of the other server, which is a process of its own
	foreign ticket.GateID // of another house
	karel   *staff        // a controller
	eva     *staff        // who may let in by judgement
	petr    *staff        // another one
	olga    *staff        // a supervisor
	steady  *staff        // keeps nonces coming, and scans nothing
	kinds   []*kind
	lives   []*life
	shown   []shown
	asked   []asked // scans that entered the books
	deck    []string
	pushed  [16]byte
	issued  time.Time
	held    time.Time // when pushed was asked for, by this machine's clock
}

// staff is a person at a device, at both servers.
type staff struct {
	*servertest.Gatekeeper
	doors         [2]*servertest.Gatekeeper
	device        *device
	trusted, boss bool
}

// shown is a code and whose it is.
type shown struct {
	l *life
	c code
}

// asked is a scan that was admitted.
type asked struct {
	l *life
	a ask
	s *staff
}

// tally counts over all evenings.
type tally struct {
	steps   int
	actions map[string]int
	reasons map[ticket.Reason]int
}

// actions are what can happen; each is dealt equally often.
var actions = map[string]func(*machine, *rapid.T){
	"issue": (*machine).issue, "claim": (*machine).claim, "move": (*machine).move, "print": (*machine).print,
	"scan_fresh": (*machine).scanFresh, "scan_old_code": (*machine).scanOldCode, "scan_old_generation": (*machine).scanOldGeneration,
	"scan_elsewhere": (*machine).scanElsewhere, "scan_tampered": (*machine).scanTampered, "scan_family": (*machine).scanFamily,
	"scan_timed": (*machine).scanTimed, "dry_run": (*machine).dryRun, "replay": (*machine).replay, "exit": (*machine).exit,
	"undo": (*machine).undo, "override": (*machine).override, "look_up": (*machine).lookUp, "hold_release": (*machine).holdRelease,
	"revoke_reinstate": (*machine).revokeReinstate, "clock": (*machine).clock, "together": (*machine).together,
	"scan_one_time": (*machine).scanOneTime, "guess": (*machine).guess, "lose": (*machine).lose, "receipt": (*machine).receipt,
	"paper_rule": (*machine).paperRule,
}

// newEvening furnishes a house of its own for one random life.
func newEvening(t testing.TB, first *servertest.Server, second string, foreign ticket.GateID, count *tally) *machine {
	t.Helper()
	h := servertest.Furnish(t, first)
	m := &machine{tally: count, h: h, second: second, foreign: foreign}
	m.karel = m.staff(h.Controller("Karel", session.Controller), false, false)
	m.eva = m.staff(h.Overrider("Eva"), true, false)
	m.petr = m.staff(h.Overrider("Petr"), true, false)
	m.olga = m.staff(h.Controller("Olga", session.Supervisor), true, true)
	m.steady = m.staff(h.Controller("Steady", session.Controller), false, false)
	add := func(name string, doors, from time.Duration, admits int, policy client.Policy) {
		event := h.NewEvent(name, "Screen 1", doors, &policy)
		in := client.NewCategory{Name: name, Admits: admits, Paper: name != "family", Gates: []ticket.GateID{h.Gate.Gate}}
		if from != 0 {
			in.ValidFrom = event.DoorsOpenAt.Add(-doors + from)
		}
		c := h.NewCategory(event.Event, in)
		m.kinds = append(m.kinds, &kind{
			name: name, category: c.Category, admits: admits, reentry: policy.Reentry, paper: in.Paper,
			live: policy.Freshness == ticket.Live, recover: policy.Rescan == ticket.Recover,
			doors: event.DoorsOpenAt, end: event.EndsAt, from: in.ValidFrom,
		})
	}
	add("single", -10*time.Minute, 0, 1, client.Policy{})
	add("family", -10*time.Minute, 0, 4, client.Policy{})
	add("in_and_out", -10*time.Minute, 0, 2, client.Policy{Reentry: true})
	add("ending", -145*time.Minute, 0, 1, client.Policy{})
	add("lossy", -10*time.Minute, 0, 1, client.Policy{Rescan: ticket.Recover})
	add("lossy_in_and_out", -10*time.Minute, 0, 2, client.Policy{Rescan: ticket.Recover, Reentry: true})
	add("later", 20*time.Minute, 0, 1, client.Policy{})
	add("live", -10*time.Minute, 0, 1, client.Policy{Freshness: ticket.Live})
	add("early_bird", -10*time.Minute, 10*time.Minute, 1, client.Policy{})
	for _, k := range m.kinds {
		m.lives = append(m.lives, m.newLife(t, k))
	}
	return m
}

func (m *machine) staff(g *servertest.Gatekeeper, trusted, boss bool) *staff {
	there := *g
	there.Client = client.New(m.second, g.Token(), m.h.HTTP)
	return &staff{
		Gatekeeper: g, doors: [2]*servertest.Gatekeeper{g, &there}, trusted: trusted, boss: boss,
		device: &device{id: g.Device, asked: map[string]time.Time{}},
	}
}

// complaint is what a machine tells: of a rapid.T and a testing.T alike.
type complaint interface {
	Helper()
	Fatalf(format string, args ...any)
}

func (m *machine) newLife(t complaint, k *kind) *life {
	t.Helper()
	issued, err := client.Do[client.Issued](context.Background(), m.h.Admin, http.MethodPost, "/v1/events/"+m.eventOf(t, k)+"/tickets",
		client.NewTickets{Category: k.category}, client.WithKey(servertest.NewKey()))
	if err != nil {
		t.Fatalf("issue: %v", err)
	}
	l := &life{
		id: issued.Tickets[0].Ticket, of: k, link: issued.ClaimURL, claims: map[int]claimed{}, phones: map[int]*servertest.Phone{},
		status: ticket.Active, oneTime: map[int]oneTime{},
	}
	m.take(t, l)
	return l
}

func (m *machine) eventOf(t complaint, k *kind) (event string) {
	t.Helper()
	err := m.h.DB.Pool.QueryRow(context.Background(), `SELECT event_id FROM categories WHERE id = $1`, k.category).Scan(&event)
	if err != nil {
		t.Fatalf("find the event: %v", err)
	}
	return event
}

// take claims the ticket on a new phone, and checks that it went as it had to.
func (m *machine) take(t complaint, l *life) {
	t.Helper()
	phone := m.h.NewPhone()
	_, fragment, _ := strings.Cut(l.link, "#")
	before := m.now(t)
	_, err := phone.Claim(context.Background(), fragment, func() error { return nil })
	possible, still := l.claimable(before), l.claimable(m.now(t))
	switch {
	case err == nil && (possible || still):
		l.generation++
		l.claims[l.generation] = claimed{serial: l.linkSerial}
		l.phones[l.generation] = phone
	case err == nil:
		t.Fatalf("a ticket that is %s was claimed: %+v", l.status, l.claims)
	case possible && still:
		t.Fatalf("claim: %v", err)
	}
}

func (m *machine) now(t complaint) (now time.Time) {
	t.Helper()
	if err := m.h.DB.Pool.QueryRow(context.Background(), `SELECT portillon_now()`).Scan(&now); err != nil {
		t.Fatalf("read the clock: %v", err)
	}
	return now
}

// pick draws one of them.
func pick[T any](t *rapid.T, label string, of []T) T {
	return of[rapid.IntRange(0, len(of)-1).Draw(t, label)]
}

// someLife draws a ticket: a recent one as often as an old one.
func (m *machine) someLife(t *rapid.T) *life {
	return m.lives[len(m.lives)-1-rapid.IntRange(0, len(m.lives)-1).Draw(t, "ticket")]
}

// mint makes a code that the ticket's present holder, or one before him, shows.
func (m *machine) mint(t *rapid.T, l *life, generation int, signs string, at *staff) code {
	t.Helper()
	if generation == 0 { // nobody has it yet
		return m.strange(t, l.id.UUID(), 1, "unknown_ticket")
	}
	c := code{generation: generation, signs: signs}
	if claim := l.claims[generation]; claim.paper {
		c.signs, c.text = "paper", claim.code
		return c
	}
	held := l.phones[generation].Keys.Find(l.id.UUID())
	var made wallet.Code
	var err error
	switch signs {
	case "time":
		c.issued = m.now(t).Truncate(time.Second)
		if rapid.IntRange(0, 2).Draw(t, "skewed") == 0 {
			c.issued = c.issued.Add(-2 * time.Minute)
		}
		made, err = held.SignTime(c.issued.Unix())
		c.proof = c.issued.String()
	case "unknown":
		c.signs, c.unknown = "nonce", true
		nonce := uuid.New()
		made, err = held.SignNonce(nonce)
		c.proof = string(nonce[:])
	case "shown":
		var nonce [16]byte
		c.signs, c.device = "nonce", at.Device
		nonce, c.issued = m.nonce(t, at, "shown")
		made, err = held.SignNonce(nonce)
		c.proof = string(nonce[:])
	default:
		if time.Since(m.held) > 5*time.Second {
			m.pushed, m.issued = m.nonce(t, m.steady, "pushed")
			m.held = time.Now()
		}
		c.signs, c.issued, c.proof = "nonce", m.issued, string(m.pushed[:])
		made, err = held.SignNonce(m.pushed)
	}
	if err != nil {
		t.Fatalf("sign: %v", err)
	}
	c.text = made.String()
	m.shown = append(m.shown, shown{l, c})
	return c
}

// strange is a code that somebody signed for a ticket that is not on his phone.
func (m *machine) strange(t *rapid.T, id uuid.UUID, generation int, reason string) code {
	t.Helper()
	held, err := m.h.NewPhone().Keys.Add(id, uuid.New())
	if err != nil {
		t.Fatalf("a stranger's key: %v", err)
	}
	held.Generation = uint8(generation)
	made, err := held.SignNonce(uuid.New())
	if err != nil {
		t.Fatalf("a stranger's code: %v", err)
	}
	return code{text: made.String(), signs: reason}
}

func (m *machine) nonce(t *rapid.T, at *staff, kind string) ([16]byte, time.Time) {
	t.Helper()
	body := map[string]any{"gate": m.h.Gate.Gate, "kind": kind}
	held, err := client.Do[client.Hold](context.Background(), at.Client, http.MethodPost, "/v1/nonces", body)
	if err != nil {
		t.Fatalf("a nonce: %v", err)
	}
	n := client.VenueNonce{Nonce: held.Nonce}
	value, err := n.Bytes()
	if err != nil {
		t.Fatalf("a nonce: %v", err)
	}
	return value, held.IssuedAt
}

// send asks a server, again with the same key while nobody knows.
func (m *machine) send(a ask, l *life, s *staff, door int) (client.ScanAnswer, error) {
	gate := map[string]ticket.GateID{"main": m.h.Gate.Gate, "side": m.h.Side.Gate, "foreign": m.foreign}[a.place]
	path, body := "/v1/scans", map[string]any{"gate": gate, "people": a.people}
	switch {
	case a.over && a.code.signs == "nothing":
		path, body["ticket"], body["reason"] = "/v1/scans/override", l.id, "I know them"
	case a.over:
		path, body["code"], body["reason"], body["phone_offline"] = "/v1/scans/override", a.code.text, "I know them", a.assisted
	case a.code.signs == "nothing":
		path, body["reason"] = "/v1/tickets/"+l.id.String()+"/admit", "the battery is flat"
	default:
		body["code"], body["dry_run"], body["phone_offline"] = a.code.text, a.dry, a.assisted
		if a.out {
			body["direction"] = "out"
		}
	}
	for try := 0; ; try++ {
		answer, err := client.Do[client.ScanAnswer](context.Background(), s.doors[door].Client, http.MethodPost, path, body, client.WithKey(a.key))
		if err == nil || !client.RetryLater(err) || try == 20 {
			return answer, err
		}
	}
}

// scan asks and compares.
func (m *machine) scan(t *rapid.T, l *life, s *staff, a ask) {
	t.Helper()
	a.complete(s)
	door := rapid.IntRange(0, 1).Draw(t, "server")
	begun := time.Now()
	answer, err := m.send(a, l, s, door)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	m.tally.reasons[answer.Reason]++
	want, fits := l.fits(a, answer, time.Since(begun))
	if !fits {
		t.Fatalf("%s of %s: answered %s/%s replayed %v remaining %v people %d; the model says %+v\nscan %+v\nticket %+v",
			l.of.name, l.id, answer.Reason, answer.Class, answer.Replayed, show(answer.Remaining), answer.People, want, a, l)
	}
	m.keep(l, s, a, want, answer)
}

func (a *ask) complete(s *staff) {
	if (a.key == ticket.Key{}) {
		a.key = servertest.NewKey()
	}
	if a.place == "" {
		a.place = "main"
	}
	a.device, a.person, a.trusted, a.boss = s.device, s.Person, s.trusted, s.boss
}

// keep writes an answer that fitted into the model.
func (m *machine) keep(l *life, s *staff, a ask, want said, answer client.ScanAnswer) {
	at := answer.At
	if at.IsZero() {
		at = answer.ServerTime
	}
	l.happen(a, want, at)
	if a.code.known() { // the log knows whose it is
		s.device.asked[l.of.name] = later(s.device.asked[l.of.name], answer.ServerTime)
	}
	if want.reason == "admitted" && !want.replayed && !a.dry {
		m.asked = append(m.asked, asked{l, a, s})
	}
}

// fits compares an answer with the model's. Between a scan's arrival and its
// judgement lies at most the time that the call took.
func (l *life) fits(a ask, answer client.ScanAnswer, took time.Duration) (want said, ok bool) {
	for i, arrived := range []time.Time{answer.ServerTime, answer.ServerTime.Add(-took), answer.ServerTime} {
		a.slack = time.Duration(i/2) * (took + 50*time.Millisecond)
		want = l.judge(a, answer.ServerTime, arrived)
		same := answer.Reason == want.reason && answer.Class == want.class && answer.Replayed == want.replayed && answer.Recovered == want.recovered
		if want.remaining >= 0 {
			same = same && answer.Remaining != nil && *answer.Remaining == want.remaining
		}
		if want.reason == "admitted" {
			same = same && answer.People == want.people && (want.replayed || (len(answer.Overridden) > 0) == want.over)
		}
		if e := l.find(a.key); same && want.replayed {
			same = answer.At.Equal(e.at)
		}
		if same {
			return want, true
		}
	}
	return want, false
}

func show(n *int) string {
	if n == nil {
		return "none"
	}
	return fmt.Sprint(*n)
}

// row is a ticket's row, and what its books say.
type row struct {
	ID         ticket.ID     `db:"id"`
	Status     ticket.Status `db:"status"`
	Generation int           `db:"generation"`
	Entries    int           `db:"entries"`
	Inside     int           `db:"inside"`
	Extra      int           `db:"extra"`
	Ordinary   int           `db:"ordinary"` // people let in without judgement, and not undone
	Unsigned   int           `db:"unsigned"` // entries by judgement without a person or a reason
	Passages   int           `db:"passages"`
}

// check compares every ticket's row with the model, and the books with the rule.
func (m *machine) check(t *rapid.T) {
	t.Helper()
	ids := make([]ticket.ID, len(m.lives))
	for i, l := range m.lives {
		ids[i] = l.id
	}
	rows, err := m.h.DB.Pool.Query(context.Background(), `
SELECT t.id, t.status, t.generation, t.entries, t.inside, t.extra,
  coalesce(sum(a.people) FILTER (WHERE a.direction = 'in' AND a.path IN ('ordinary', 'look_up', 'recovery') AND u.key IS NULL), 0) AS ordinary,
  count(*) FILTER (WHERE a.path NOT IN ('ordinary', 'recovery') AND (coalesce(a.reason, '') = '' OR a.person_id IS NULL)) AS unsigned,
  count(a.key) AS passages
FROM tickets t LEFT JOIN admissions a ON a.ticket_id = t.id LEFT JOIN undos u ON u.ticket_id = a.ticket_id AND u.key = a.key
WHERE t.id = ANY($1) GROUP BY t.id`, ids)
	if err != nil {
		t.Fatalf("read the rows: %v", err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
	if err != nil || len(all) != len(ids) {
		t.Fatalf("read the rows: %v, %d of %d", err, len(all), len(ids))
	}
	for _, r := range all {
		m.compare(t, r)
	}
}

func (m *machine) compare(t *rapid.T, r row) {
	t.Helper()
	l := m.lives[slices.IndexFunc(m.lives, func(l *life) bool { return l.id == r.ID })]
	if r.Status != l.status || r.Generation != l.generation || r.Entries != l.entries || r.Inside != l.inside || r.Extra != l.extra || r.Passages != len(l.book) {
		t.Fatalf("%s: the row is %+v, the model %+v", l.of.name, r, l)
	}
	if !l.of.reentry && r.Ordinary > l.of.admits {
		t.Fatalf("%s: %d people by the ordinary path, it admits %d", l.of.name, r.Ordinary, l.of.admits)
	}
	if r.Unsigned > 0 {
		t.Fatalf("%s: %d entries by judgement that nobody signed", l.of.name, r.Unsigned)
	}
}

// problemOf is the code of the server's refusal, "" for none.
func problemOf(t complaint, err error) string {
	t.Helper()
	var p *client.Problem
	if err != nil && !errors.As(err, &p) {
		t.Fatalf("no answer: %v", err)
	}
	if p == nil {
		return ""
	}
	return p.Code
}
