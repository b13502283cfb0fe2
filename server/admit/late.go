package admit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/server/fault"
	"portillon/server/news"
	"portillon/server/session"
	"portillon/server/ticket"
)

// offline: told afterwards by a device without network.
const offline = "offline"

// The doubts about a code that are no reasons of the door.
const (
	DoubtNoCode       = "no_code"
	DoubtUnverifiable = "not_verifiable" // digits prove nothing afterwards
	DoubtKeyConflict  = "key_conflict"   // its device used the key for another ticket
	DoubtBeforeClaim  = "before_claim"   // nobody had the code's key yet
	DoubtPeople       = "too_many_people"
)

// LateSlack is by how much a corrected time may be wrong: how long the telling was
// under way looks like a device's clock that is behind.
const LateSlack = time.Minute

// LateCode is a code as far as it can be read before its ticket is.
type LateCode struct {
	presented
	text string
}

// ReadLate reads a code that was shown to a device without network. It comes before
// the transaction, since an issuer's key may have to be looked up.
func (s *Service) ReadLate(by session.Caller, code string) LateCode {
	return LateCode{presented: s.present(by, ScanIn{Code: code}), text: code}
}

// Names is the ticket that the code names, zero if it names none. Nothing is proven
// by that.
func (c LateCode) Names() ticket.ID { return c.ticket }

// Doubt is why nothing can prove this code afterwards; "" if something may.
func (c LateCode) Doubt() string {
	switch {
	case c.text == "":
		return DoubtNoCode
	case c.refused != "":
		return string(c.refused)
	case c.rare():
		return DoubtUnverifiable
	}
	return ""
}

// LateIn is a passage that a device let happen without network, told afterwards.
type LateIn struct {
	Gate         ticket.GateID
	Code         LateCode
	Key          ticket.Key
	Direction    ticket.Direction
	People       int // 0: one
	PhoneOffline bool
	At           time.Time // by the database's clock
	RawAt        time.Time // by the device's clock, for the record
	Received     time.Time // by the database's clock
	// ShownSince tells since when the device itself showed that value without network,
	// by the database's clock.
	ShownSince func(nonce []byte) (since time.Time, ok bool)
	// Believe tells why the device is not believed, "" when it is. It is asked once
	// the code is known to be the phone's, or the issuer's.
	Believe func(ctx context.Context, tx pgx.Tx, f ticket.Facts) (doubt string, err error)
}

// Passage is somebody's way in or out as it is written.
type Passage struct {
	Ticket     ticket.ID
	Event      ticket.EventID
	Key        ticket.Key
	At         time.Time
	Gate       ticket.GateID
	Device     ticket.DeviceID
	Person     ticket.PersonID
	Direction  ticket.Direction
	People     int
	Kind       ticket.Kind
	Generation int16
	Nonce      []byte
	Proof      []byte // what makes one passage only; nil: nothing, or it made one
	Reentry    bool
}

// Late is what became of it.
type Late struct {
	Passage
	Doubt    string            // not believed, and nothing was written
	Replayed bool              // it stood in the books before
	Double   bool              // more people than the ticket lets in
	First    *ticket.Admission // the latest other entry; nil: there is none
	// Settled: whatever was too many of this ticket before, the way out of somebody
	// explains it.
	Settled bool
	Against []ticket.Reason // what the server would have refused it for
	facts   ticket.Facts
}

// Record writes a passage that has happened. No rule can undo it, so that what the
// server would have refused is told and not refused; only what is not believed is
// not written. by is the device and who was signed on to it then. The ticket's row
// is locked until the caller's transaction ends.
func (s *Service) Record(ctx context.Context, tx pgx.Tx, by session.Caller, in LateIn) (Late, error) {
	q := &question{by: by, presented: in.Code.presented, in: ScanIn{
		Gate: in.Gate, Code: in.Code.text, Key: in.Key, Direction: in.Direction, People: max(1, in.People), PhoneOffline: in.PhoneOffline,
	}}
	if doubt := in.Code.Doubt(); doubt != "" {
		return Late{Doubt: doubt}, nil
	}
	var batch pgx.Batch
	r := read(&batch, []*question{q}, lockTickets)
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return Late{}, fmt.Errorf("read the facts: %w", err)
	}
	f, key, err := r.about(q)
	if errors.Is(err, errKeyConflict) {
		return Late{Doubt: DoubtKeyConflict}, nil
	}
	if err != nil {
		return Late{}, err
	}
	f.SignatureGood = s.proven.check(q, f, key)
	late := Late{facts: f, First: f.Last}
	if late.Doubt = doubtSignature(q, f); late.Doubt != "" {
		return late, nil
	}
	if f.SameKey != nil {
		late.Replayed = true
		late.Passage = inTheBooks(f, *f.SameKey)
		switch {
		case f.SameKey.Superseded:
			late.Doubt = string(ticket.Superseded)
		case f.SameKey.Undone:
			late.Doubt = string(ticket.Undone)
		}
		return late, nil
	}
	if late.Doubt, err = in.Believe(ctx, tx, f); err != nil || late.Doubt != "" {
		return late, err
	}
	then, err := asOf(ctx, tx, f, r, in, by.Device, q.facts.Nonce)
	if err != nil {
		return Late{}, err
	}
	if late.Doubt = doubtThen(in, f, r, q); late.Doubt != "" {
		return late, nil
	}
	decision := late.judge(q, then)
	if late.Passage = toBeWritten(q, f, in, decision); late.Doubt != "" {
		return late, nil
	}
	if err := late.write(ctx, tx); err != nil {
		return Late{}, err
	}
	s.logLate(ctx, tx, by, in, Answer{Decision: decision, Facts: f})
	return late, nil
}

// doubtSignature: until the code is known to be the phone's or the issuer's, it is
// anybody's invention.
func doubtSignature(q *question, f ticket.Facts) string {
	switch {
	case f.Ticket == nil || f.Claim == nil || f.Claim.Paper != (q.facts.Signs == ticket.SignsPaper):
		return string(ticket.UnknownTicket)
	case !f.SignatureGood:
		return string(ticket.BadSignature)
	}
	return ""
}

// doubtThen: what no honest device can have seen.
func doubtThen(in LateIn, f ticket.Facts, r *reading, q *question) string {
	for _, c := range r.claims[f.Ticket.ID] {
		if c.Generation == int16(q.facts.Generation) && c.CreatedAt.After(in.At.Add(LateSlack)) {
			return DoubtBeforeClaim
		}
	}
	if in.People > f.Ticket.Admits {
		return DoubtPeople
	}
	return ""
}

// toBeWritten is the passage as it will stand in the books, or would have.
func toBeWritten(q *question, f ticket.Facts, in LateIn, d ticket.Decision) Passage {
	p := Passage{
		Ticket: f.Ticket.ID, Event: f.Event.ID, Key: in.Key, At: in.At, Gate: in.Gate, Device: q.by.Device, Person: q.by.Person,
		Direction: d.Direction, People: cmp.Or(d.People, q.in.People), Kind: d.Kind, Generation: int16(q.facts.Generation),
		Nonce: q.facts.Nonce, Reentry: f.Event.Reentry,
	}
	if !f.ProofUsed { // one proof at two doors is two passages that happened
		p.Proof = q.passageIf(f.Event.Reentry)
	}
	return p
}

// inTheBooks is the passage of an admission that was written before.
func inTheBooks(f ticket.Facts, a ticket.Admission) Passage {
	return Passage{
		Ticket: f.Ticket.ID, Event: f.Event.ID, Key: a.Key, At: a.At, Gate: a.Gate.ID, Device: a.Device, Person: a.Person,
		Direction: a.Direction, People: a.People, Kind: a.Kind, Generation: int16(a.Generation), Nonce: a.Nonce, Reentry: f.Event.Reentry,
	}
}

// readStatuses gives what a person made of the ticket, in order.
const readStatuses = `
SELECT at, details->>'was' AS was, details->>'is' AS is FROM audit
WHERE ticket_id = @ticket AND act IN ('ticket.hold', 'ticket.release', 'ticket.revoke', 'ticket.reinstate') ORDER BY at, id`

// asOf turns the facts back to the moment of the passage, as far as the books say
// how things were then.
func asOf(ctx context.Context, tx pgx.Tx, f ticket.Facts, r *reading, in LateIn, device ticket.DeviceID, nonce []byte) (ticket.Facts, error) {
	t := *f.Ticket
	f.Ticket = &t
	f.Now = in.At
	f.WalletLive = false             // nobody knows any more
	f.ProofUsed = false              // one proof at two doors is a double admission
	f.Assigned = true                // Believe knows who was signed on
	f.Event.Rescan = ticket.ShowTime // nothing is taken back for what comes late
	f.Overrides = 0
	if f.Now.Before(f.Event.DoorsOpenAt) { // Believe bounds by how much
		f.Now = f.Event.DoorsOpenAt
	}
	rows, err := tx.Query(ctx, readStatuses, pgx.NamedArgs{"ticket": t.ID})
	if err != nil {
		return f, fmt.Errorf("read what was made of the ticket: %w", err)
	}
	var at time.Time
	var was, is ticket.Status
	later := false
	_, err = pgx.ForEachRow(rows, []any{&at, &was, &is}, func() error {
		if !later && at.After(in.At) {
			t.Status, later = was, true
		}
		return nil
	})
	if err != nil {
		return f, fmt.Errorf("read what was made of the ticket: %w", err)
	}
	t.Generation = 0
	for _, c := range r.claims[t.ID] {
		if !c.CreatedAt.After(in.At) && uint8(c.Generation) > t.Generation {
			t.Generation, t.ClaimedAt = uint8(c.Generation), c.CreatedAt
		}
	}
	if t.Generation == 0 { // its first claim is younger, by less than LateSlack
		t.Generation = f.Claim.Generation
	}
	if since, ok := in.ShownSince(nonce); f.Nonce == nil && ok {
		f.Nonce = &ticket.Nonce{Venue: f.Gate.Venue, Device: device, IssuedAt: since}
	}
	return f, nil
}

// judge asks the rule for everything that stands against the passage. What could
// have been refused is noted and judged on; what makes the device's word doubtful
// ends it. Each turn takes one objection away.
func (l *Late) judge(q *question, f ticket.Facts) ticket.Decision {
	scan := ticket.Scan{
		Key: q.in.Key, Direction: q.in.Direction, People: q.in.People, PhoneOffline: q.in.PhoneOffline, Code: q.facts,
	}
	f.Waited = underWay(scan.Code, f)
	for {
		d := ticket.DecideOver(scan, f, ticket.Overriding{Controller: true, Supervisor: true})
		switch d.Reason {
		case ticket.Admitted:
			for _, reason := range d.Over {
				if ticket.RuleOf(reason).Order != useOrder {
					l.Against = append(l.Against, reason)
				}
			}
			return d
		case ticket.NeedsAssist:
			scan.PhoneOffline = true
		case ticket.FallbackRefused:
			f.Event.Freshness = ticket.Open
		case ticket.Moved:
			f.Ticket.Generation = scan.Code.Generation
		case ticket.Revoked:
			f.Ticket.Status = ticket.Active
		case ticket.ChoosePeople:
			if d.Direction == ticket.Out {
				l.Doubt = string(ticket.NotInside) // not so many
				return d
			}
			f.Ticket.Extra += scan.People - d.Remaining // all of them went in
			continue
		default:
			l.Doubt = string(d.Reason)
			return d
		}
		l.Against = append(l.Against, d.Reason)
	}
}

// useOrder is the check whose failure is no objection but a double admission.
const useOrder = 10

// underWay is how long the telling was, as far as that explains an age of the code
// which the device did not see.
func underWay(c ticket.CodeFacts, f ticket.Facts) time.Duration {
	var late time.Duration
	switch {
	case c.Signs == ticket.SignsTime:
		late = f.Now.Sub(c.IssuedAt) - ticket.TimedBehind
	case f.Nonce != nil && f.Nonce.Device.IsZero():
		late = f.Now.Sub(f.Nonce.IssuedAt) - ticket.PushedFor
	case f.Nonce != nil:
		late = f.Now.Sub(f.Nonce.IssuedAt) - ticket.ShownFor
	}
	return min(max(0, late), LateSlack)
}

// logLate keeps it in the log of attempts, at the time when it happened.
func (s *Service) logLate(ctx context.Context, tx pgx.Tx, by session.Caller, in LateIn, a Answer) {
	a.Facts.Now, a.happenedAt = in.Received, in.At
	s.attempt(ctx, tx, by, ScanIn{Gate: in.Gate, Key: in.Key, ScannedAt: &in.RawAt, Arrived: s.now()}, a)
}

// LogRefusal keeps in the log of attempts that a device without network sent
// somebody away. The ticket is the one that the code names, if there is one.
func (s *Service) LogRefusal(ctx context.Context, tx pgx.Tx, by session.Caller, in LateIn, reason ticket.Reason, named ticket.ID, event ticket.EventID) {
	a := Answer{Decision: ticket.Judge(reason)}
	if !named.IsZero() {
		a.Facts.Ticket, a.Facts.Event.ID = &ticket.Ticket{ID: named}, event
	}
	s.logLate(ctx, tx, by, in, a)
}

// Told passes on to the wallet what was recorded; it comes after the commit.
func (s *Service) Told(ctx context.Context, late Late) {
	what := news.Admitted
	if late.Direction == ticket.Out {
		what = news.Left
	}
	s.hub.Publish(ctx, news.Item{Ticket: late.Ticket, At: late.At, Gate: late.facts.Gate.Name, What: what})
}

var errKeyConflict = fault.New(fault.Conflict, "scan.key_conflict", "this key was used for another ticket; make a new key for each scan")
