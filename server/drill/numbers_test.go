package drill_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"portillon/server/client"
	"portillon/server/pgtest"
	"portillon/server/seal"
	"portillon/server/servertest"
	"portillon/server/session"
)

// A number is kept for fifteen seconds from the last sign of its form.
const numberKept = 15 * time.Second

// box is a box office: a process that opens one form after the other, of which it
// forgets everything when it crashes.
type box struct {
	*client.Client
	office *office
	cut    bool // its server is behind the relay
}

// office is an event whose tickets are issued at several boxes.
type office struct {
	*servertest.House
	t     *testing.T
	relay *pgtest.Relay
	clock sync.Mutex // one mover of the clock, who needs two connections

	mu      sync.Mutex
	ended   map[string]bool         // leases, by their hash, that a form gave back or sent with an order
	saved   map[string]int          // forms by name, with the number that they were answered
	pressed map[string]map[int]bool // forms by name, with the numbers that they showed when they were sent and of which nobody said that they were lost
	counts  map[string]int          // what happened, for the report
}

func newOffice(t *testing.T, boxes int) (*office, []*box) {
	t.Helper()
	o := &office{
		House: servertest.NewHouse(t), t: t, ended: map[string]bool{}, saved: map[string]int{},
		pressed: map[string]map[int]bool{}, counts: map[string]int{},
	}
	o.relay = pgtest.NewRelay(t, o.DB)
	urls := []string{o.URL, servertest.On(t, o.DB, servertest.Through(o.relay.URL)).URL}
	var all []*box
	for i := range boxes {
		person := o.Person(fmt.Sprintf("Box office %d", i), session.AdminRole, o.Venue.Venue)
		token := servertest.Must(o.Session.CreateToken(t.Context(), servertest.Operator.For(person), session.TokenIn{
			Name: "box", Scopes: []session.Scope{session.ScopeIssue}, Venue: o.Venue.Venue,
		}))(t)
		pgtest.Secret(t, token.Token)
		all = append(all, &box{Client: client.New(urls[i%2], token.Token, o.HTTP), office: o, cut: i%2 == 1})
	}
	return o, all
}

func (o *office) note(what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.counts[what]++
}

// pass moves the clock on between two turns at the numbers: what a turn has swept
// and what it finds belong to one moment, but for what the turn itself takes.
func (o *office) pass(d time.Duration) {
	o.clock.Lock()
	defer o.clock.Unlock()
	tx, err := o.DB.Pool.Begin(o.t.Context())
	if err != nil {
		o.t.Error(err)
		return
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(o.t.Context(), `SELECT FROM events WHERE id = $1 FOR NO KEY UPDATE`, o.Event.Event); err != nil {
		o.t.Error(err)
		return
	}
	o.DB.Shift(o.t, d)
}

// errCrashed: the process is gone, whatever comes of the call.
var errCrashed = errors.New("the process has crashed")

// perhaps is a context in which the process may crash a moment later.
func (b *box) perhaps() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	if rand.IntN(12) > 0 {
		return ctx, func() { cancel(nil) }
	}
	crash := time.AfterFunc(time.Duration(rand.IntN(4_000))*time.Microsecond, func() { cancel(errCrashed) })
	return ctx, func() {
		crash.Stop()
		cancel(nil)
	}
}

func crashed(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errCrashed) }

// call makes a call until somebody knows its answer, or crashes in the middle of it.
func (b *box) call(once func(ctx context.Context) error) error {
	ctx, end := b.perhaps()
	defer end()
	for {
		err := once(ctx)
		switch {
		case crashed(ctx):
			b.office.note("crashed")
			return errCrashed
		case !client.RetryLater(err):
			return err
		}
		b.office.note("nobody knew")
	}
}

// form is one form: what it shows now.
type form struct {
	name  string
	lease client.NumberLease
}

// end notes that the form sends its lease away.
func (b *box) end(f *form) {
	b.office.mu.Lock()
	defer b.office.mu.Unlock()
	b.office.ended[hex.EncodeToString(seal.Hash(f.lease.Lease))] = true
}

func (b *box) reserve(f *form) error {
	return b.call(func(ctx context.Context) error {
		lease, err := b.ReserveNumber(ctx, b.office.Event.Event)
		if err == nil {
			f.lease = lease
		}
		return err
	})
}

func (b *box) renew(f *form) error {
	err := b.call(func(ctx context.Context) error {
		lease, err := b.RenewNumber(ctx, f.lease.Lease)
		if err == nil && lease.Number != f.lease.Number {
			b.office.t.Errorf("the lease of %d is on %d after its renewal", f.lease.Number, lease.Number)
		}
		return err
	})
	if client.IsProblem(err, "number.lease_ended") {
		b.office.note("lost before saving")
		return b.reserve(f)
	}
	return err
}

// save presses the button, again with the same key until there is an answer, and
// after it was told another number. While nobody knows, the form renews its number,
// and may have lost it to its own order.
func (b *box) save(f *form) error {
	o := b.office
	key := client.WithKey(servertest.NewKey())
	for presses := 1; ; presses++ {
		if presses > 1 && rand.IntN(2) == 0 {
			if err := b.renew(f); err != nil {
				return err
			}
		}
		issued, err := b.press(f, key)
		var problem *client.Problem
		switch {
		case errors.As(err, &problem) && problem.Code == "number.lease_lost":
			o.note("lost at saving")
			number, _ := problem.Facts["number"].(float64)
			lease, _ := problem.Facts["lease"].(string)
			f.lease = client.NumberLease{Lease: lease, Number: int(number)}
		case client.RetryLater(err):
			o.note("pressed again")
		case err != nil:
			return err
		default:
			o.mu.Lock()
			defer o.mu.Unlock()
			o.saved[f.name] = issued.Tickets[0].Number
			return nil
		}
	}
}

// press sends the order once, and notes what the form showed.
func (b *box) press(f *form, key client.Option) (issued client.Issued, err error) {
	o := b.office
	b.end(f)
	shown := f.lease.Number
	o.mu.Lock()
	if o.pressed[f.name] == nil {
		o.pressed[f.name] = map[int]bool{}
	}
	known := o.pressed[f.name][shown]
	o.pressed[f.name][shown] = true
	o.mu.Unlock()
	ctx, end := b.perhaps()
	defer end()
	issued, err = client.Do[client.Issued](ctx, b.Client, http.MethodPost, "/v1/events/"+o.Event.Event.String()+"/tickets", client.NewTickets{
		Lease: f.lease.Lease, Category: o.Standard.Category, Holder: &client.Holder{Name: f.name},
	}, key)
	if crashed(ctx) {
		o.note("crashed")
		return issued, errCrashed
	}
	if client.IsProblem(err, "number.lease_lost") && !known {
		o.mu.Lock()
		delete(o.pressed[f.name], shown)
		o.mu.Unlock()
	}
	return issued, err
}

// open opens a form and leaves it in one of the ways in which people do.
func (b *box) open() error {
	o := b.office
	f := &form{name: uuid.NewString()}
	if err := b.reserve(f); err != nil {
		return err
	}
	for rand.IntN(2) == 0 {
		if rand.IntN(3) == 0 {
			o.pass(time.Duration(rand.IntN(9000)) * time.Millisecond)
		}
		if err := b.renew(f); err != nil {
			return err
		}
	}
	if rand.IntN(8) == 0 { // a laptop that sleeps
		o.pass(time.Duration(rand.IntN(20_000)) * time.Millisecond)
	}
	switch dice := rand.IntN(10); {
	case dice < 2:
		o.note("abandoned")
		return nil
	case dice < 4:
		o.note("cancelled")
		b.end(f)
		return b.call(func(ctx context.Context) error { return b.ReleaseNumber(ctx, f.lease.Lease) })
	}
	if b.cut && rand.IntN(3) == 0 {
		o.relay.CutNext(pgtest.Cut{At: "commit\x00", Deliver: rand.IntN(2) == 0})
	}
	o.note("saved")
	return b.save(f)
}

// Forms at many boxes, over two servers, are opened, abandoned, cancelled and
// saved, and their processes crash in the middle of calls. What became of the
// numbers is judged by the ledger, in which the database writes down each change.
func TestNumbersAreConsecutiveWhateverBecomesOfTheForms(t *testing.T) {
	t.Parallel()
	const boxes = 8
	o, all := newOffice(t, boxes)
	o.openLedger()
	together(boxes, func(i int) {
		for range large(200, 40) {
			if err := all[i].open(); err != nil && !errors.Is(err, errCrashed) {
				t.Error(err)
			}
		}
	})
	top, used := o.judge()

	// Whatever was abandoned is offered again, and then no number is missing.
	o.pass(numberKept)
	holes := top - used
	if holes > 0 {
		made := o.Issue(o.Event.Event, client.NewTickets{Category: o.Standard.Category, Count: holes})
		if len(made.Tickets) != holes || made.Tickets[holes-1].Number > top {
			t.Errorf("%d holes are filled up to %d, want %d", holes, made.Tickets[holes-1].Number, top)
		}
	}
	if n := o.Count(t, "numbers WHERE number <= $1", top); n != top {
		t.Errorf("%d of the first %d numbers are used", n, top)
	}
	o.judgeForms()
	t.Logf("%d numbers, %d of them holes at the end; %v", top, holes, o.counts)
	for _, what := range []string{"abandoned", "cancelled", "saved", "lost before saving", "lost at saving", "pressed again", "crashed"} {
		if o.counts[what] == 0 {
			t.Errorf("it never happened that a form was %s", what)
		}
	}
}

// judgeForms: what a form was answered is what there is, and nothing is saved twice.
func (o *office) judgeForms() {
	o.t.Helper()
	rows, err := o.DB.Pool.Query(o.t.Context(), `SELECT holder_name, number FROM tickets WHERE holder_name <> ''`)
	if err != nil {
		o.t.Fatal(err)
	}
	defer rows.Close()
	there := map[string]int{}
	for rows.Next() {
		var name string
		var number int
		if err := rows.Scan(&name, &number); err != nil {
			o.t.Fatal(err)
		}
		if there[name] != 0 {
			o.t.Errorf("a form was saved twice: %d and %d", there[name], number)
		}
		there[name] = number
		if !o.pressed[name][number] {
			o.t.Errorf("number %d was saved, and its form was sent with %v", number, o.pressed[name])
		}
	}
	if err := rows.Err(); err != nil {
		o.t.Fatal(err)
	}
	for name, number := range o.saved {
		if there[name] != number {
			o.t.Errorf("a form was answered %d, and there is %d", number, there[name])
		}
	}
}

// ledgerEntry is one change, in the order in which they happened.
type ledgerEntry struct {
	At      time.Time
	What    string // turn, reserved, renewed, ended, used
	Turn    int64  // the transaction
	Number  int
	Hash    string
	Expires time.Time
}

// openLedger has the database write down what happens to leases and numbers. A
// turn begins with the sweep, whether or not it finds anything.
func (o *office) openLedger() {
	o.t.Helper()
	_, err := o.DB.Pool.Exec(o.t.Context(), `
CREATE TABLE ledger (entry bigserial, at timestamptz, what text, turn bigint, number integer, hash text, expires timestamptz);
CREATE FUNCTION ledger_turn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO ledger (at, what, turn) VALUES (portillon_now(), 'turn', txid_current()); RETURN NULL; END $$;
CREATE FUNCTION ledger_lease() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE l number_leases := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
BEGIN
  INSERT INTO ledger (at, what, turn, number, hash, expires) VALUES (portillon_now(),
    CASE TG_OP WHEN 'INSERT' THEN 'reserved' WHEN 'UPDATE' THEN 'renewed' ELSE 'ended' END,
    txid_current(), l.number, encode(l.hash, 'hex'), l.expires_at);
  RETURN NULL;
END $$;
CREATE FUNCTION ledger_number() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO ledger (at, what, turn, number) VALUES (portillon_now(), 'used', txid_current(), NEW.number); RETURN NULL; END $$;
CREATE TRIGGER ledger_turn BEFORE DELETE ON number_leases FOR EACH STATEMENT EXECUTE FUNCTION ledger_turn();
CREATE TRIGGER ledger_lease AFTER INSERT OR UPDATE OR DELETE ON number_leases FOR EACH ROW EXECUTE FUNCTION ledger_lease();
CREATE TRIGGER ledger_number AFTER INSERT ON numbers FOR EACH ROW EXECUTE FUNCTION ledger_number()`)
	if err != nil {
		o.t.Fatal(err)
	}
}

// book is the model: which numbers are used, and which are under a lease.
type book struct {
	used   map[int]bool
	leased map[int]ledgerEntry
	turn   int64
	begun  time.Time // the turn
	spent  int       // the number whose lease this turn has ended
}

// lowest is the first number that is neither used nor under a lease.
func (b *book) lowest() int {
	for number := 1; ; number++ {
		if _, leased := b.leased[number]; !leased && !b.used[number] {
			return number
		}
	}
}

// judge reads the ledger from the beginning, and gives the highest number that was
// used and how many are.
func (o *office) judge() (top, used int) {
	o.t.Helper()
	rows, err := o.DB.Pool.Query(o.t.Context(), `
SELECT at, what, turn, coalesce(number, 0), coalesce(hash, ''), coalesce(expires, at) FROM ledger ORDER BY entry`)
	if err != nil {
		o.t.Fatal(err)
	}
	defer rows.Close()
	b := &book{used: map[int]bool{}, leased: map[int]ledgerEntry{}}
	for rows.Next() {
		var e ledgerEntry
		if err := rows.Scan(&e.At, &e.What, &e.Turn, &e.Number, &e.Hash, &e.Expires); err != nil {
			o.t.Fatal(err)
		}
		if complaint := o.enter(b, e); complaint != "" {
			o.t.Fatalf("turn %d, number %d: %s", e.Turn, e.Number, complaint)
		}
		if e.What == "used" {
			top = max(top, e.Number)
		}
	}
	if err := rows.Err(); err != nil {
		o.t.Fatal(err)
	}
	return top, len(b.used)
}

// enter follows the ledger by one entry and says what must not be.
func (o *office) enter(b *book, e ledgerEntry) string {
	old, leased := b.leased[e.Number]
	if e.What != "turn" && e.What != "ended" {
		for number, lease := range b.leased {
			if !lease.Expires.After(b.begun) {
				return fmt.Sprintf("the lease of %d has lapsed, and keeps it", number)
			}
		}
	}
	switch e.What {
	case "turn":
		if e.Turn != b.turn {
			b.turn, b.begun, b.spent = e.Turn, e.At, 0
		}
	case "reserved":
		if want := b.lowest(); e.Number != want {
			return fmt.Sprintf("reserved, while %d is free", want)
		}
		b.leased[e.Number] = e
	case "renewed":
		if !leased || old.Hash != e.Hash {
			return "renewed, and was under no lease, or another"
		}
		b.leased[e.Number] = e
	case "ended":
		if !leased || old.Hash != e.Hash {
			return "given back, and was under no lease, or another"
		}
		if old.Expires.After(e.At) {
			if !o.ended[e.Hash] {
				return "a living lease is ended, and its form has not asked for it"
			}
			b.spent = e.Number
		}
		delete(b.leased, e.Number)
	case "used":
		if b.used[e.Number] {
			return "used twice"
		}
		if leased {
			return "used, and it is under a lease"
		}
		if want := b.lowest(); e.Number != b.spent && e.Number != want {
			return fmt.Sprintf("used, while %d is free", want)
		}
		b.used[e.Number] = true
	}
	if (e.What == "reserved" || e.What == "renewed") && e.Expires.Sub(e.At) > numberKept {
		return fmt.Sprintf("kept for %v", e.Expires.Sub(e.At))
	}
	return ""
}
