package admit

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"portillon/server/fault"
	"portillon/server/news"
	"portillon/server/pg"
	"portillon/server/session"
	"portillon/server/ticket"
)

// patience bounds a whole admission. It is detached from the request: a client
// that hangs up must not leave an entry half decided.
const patience = 3 * time.Second

// rejudge is how often a scan is judged again after the write met another row
// than was decided. Under the lock that cannot happen; the loop ends anyway.
const rejudge = 2

// IssuerKeys finds the public key that a paper code was signed with.
type IssuerKeys func(kid [4]byte) (*ecdsa.PublicKey, bool)

// Meter counts what an operator watches.
type Meter interface {
	Scan(reason ticket.Reason, class ticket.Class, gate ticket.GateID, took time.Duration)
	AttemptLost()
}

// Service is the door.
type Service struct {
	pool   *pgxpool.Pool
	keys   IssuerKeys
	hash   Hash
	hub    *news.Hub
	meter  Meter
	log    *slog.Logger
	now    func() time.Time // only for how long things take; the time is the database's
	engine *engine          // nil: every scan alone
	proven *proven

	openOneTime OpenOneTime
}

// Options is what the door needs from outside.
type Options struct {
	Pool  *pgxpool.Pool // opened with PoolOptions
	Keys  IssuerKeys
	Hash  Hash
	Hub   *news.Hub
	Meter Meter
	Log   *slog.Logger
	Now   func() time.Time
	// OneTime opens the secrets of one-time codes.
	OneTime OpenOneTime
	// Plain judges every scan in a transaction of its own: the reference, which
	// the form for crowds has to agree with.
	Plain bool
}

// New makes the door.
func New(o Options) *Service {
	s := &Service{pool: o.Pool, keys: o.Keys, hash: o.Hash, hub: o.Hub, meter: o.Meter, log: o.Log, now: o.Now, openOneTime: o.OneTime, proven: newProven()}
	if !o.Plain {
		s.engine = newEngine(s)
	}
	return s
}

// PoolOptions are those of the door's pool. A plan that was made while a table was
// empty reads it whole for ever after, so the planner gets no choice: every
// statement of the door finds its rows by their keys.
func PoolOptions() pg.PoolOptions {
	return pg.PoolOptions{
		ApplicationName: "portillon door",
		// Below our own patience, so that the server ends what we would give up.
		LockTimeout: patience - 500*time.Millisecond, StatementTimeout: patience - 250*time.Millisecond,
		IdleInTransactionTimeout: 2 * patience,
		Settings: map[string]string{
			"enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off", "enable_material": "off",
			"plan_cache_mode": "force_generic_plan", "jit": "off",
		},
	}
}

// ScanIn is one act of presenting a code.
type ScanIn struct {
	Gate         ticket.GateID
	Code         string
	Key          ticket.Key
	Direction    ticket.Direction
	People       int
	PhoneOffline bool
	DryRun       bool
	Ticket       ticket.ID  // instead of a code: looked up
	Over         bool       // let in by judgement, as far as the caller may
	Reason       string     // why, in the caller's words
	ScannedAt    *time.Time // by the scanner's clock, for the record
	Arrived      time.Time  // when the whole request was here, by the clock that New was given
}

// Answer is the judgement with the facts that the page shows.
type Answer struct {
	ticket.Decision
	Facts  ticket.Facts
	DryRun bool
	What   string // NotATicket: what it is instead
	presented
	path        string    // how it entered the books
	mayOverride bool      // the caller could let in by judgement
	happenedAt  time.Time // of what is told afterwards; zero: now
}

// Scan judges one code and, when it admits, makes the ticket used, in one
// transaction. A refusal is an Answer; an error says that nobody knows and that
// the same call may be repeated with the same key. Faults: gate.not_found,
// scan.key_conflict.
func (s *Service) Scan(ctx context.Context, by session.Caller, in ScanIn) (Answer, error) {
	if err := by.Require(session.Scan, ticket.VenueID{}); err != nil {
		return Answer{}, err
	}
	q := &question{by: by, in: in, presented: s.present(by, in)}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	ask := s.alone
	if s.engine != nil {
		ask = s.engine.ask
	}
	answer, err := ask(ctx, q)
	if err != nil {
		return Answer{}, err
	}
	s.after(ctx, in, answer)
	return answer, nil
}

// question is one scan on its way to its answer.
type question struct {
	by session.Caller
	in ScanIn
	presented
}

// ErrChanged: the conditional update met another row than was decided on.
var ErrChanged = errors.New("the ticket changed under its lock")

// alone is the plain form of the act: one scan in a transaction of its own.
func (s *Service) alone(ctx context.Context, q *question) (answer Answer, err error) {
	err = ErrChanged
	for i := 0; i <= rejudge && errors.Is(err, ErrChanged); i++ {
		err = pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
			var err error
			answer, err = s.scan(ctx, tx, q)
			return err
		})
	}
	return answer, err
}

// scan is the act in its order: lock, read, decide, write.
func (s *Service) scan(ctx context.Context, tx pgx.Tx, q *question) (Answer, error) {
	if err := s.findTyped(ctx, tx, q); err != nil {
		return Answer{}, err
	}
	facts, key, err := lockAndRead(ctx, tx, q)
	if err != nil {
		return Answer{}, err
	}
	answer, err := s.decide(q, facts, key)
	if err == nil && answer.WantsHistory {
		if facts.History, err = readHistory(ctx, tx, facts); err == nil {
			answer, err = s.decide(q, facts, key)
		}
	}
	if err != nil {
		return Answer{}, err
	}
	if answer.repeatsJudgement() {
		if answer.Over, err = against(ctx, tx, answer); err != nil {
			return Answer{}, err
		}
	}
	if answer.Writes() && !q.in.DryRun {
		if err := write(ctx, tx, q.by, q.in, answer); err != nil {
			return Answer{}, err
		}
	}
	if q.oneTime != nil {
		if err := keepOneTime(ctx, tx, q, answer); err != nil {
			return Answer{}, err
		}
	}
	s.attempt(ctx, tx, q.by, q.in, answer)
	return answer, nil
}

// decide judges a scan by its facts; it asks nobody.
func (s *Service) decide(q *question, facts ticket.Facts, key []byte) (Answer, error) {
	if !q.in.Ticket.IsZero() && (facts.Ticket == nil || facts.Event.Venue.ID != facts.Gate.Venue) {
		return Answer{}, errTicket // nothing is told of another house's tickets without their code
	}
	facts.Waited = s.waited(q)
	facts.SignatureGood = q.verified || s.proven.check(q, facts, key)
	answer := Answer{Facts: facts, DryRun: q.in.DryRun, What: q.what, presented: q.presented}
	if q.refused != "" {
		answer.Decision = ticket.Judge(q.refused)
	} else {
		answer.Decision = ticket.DecideOver(ticket.Scan{
			Key: q.in.Key, Direction: q.in.Direction, People: q.in.People, PhoneOffline: q.in.PhoneOffline, Code: q.facts,
		}, facts, q.in.overriding(q.by, facts.Gate.Venue))
	}
	answer.path = q.in.pathOf(answer.Decision)
	// An override is an entry: none is offered where somebody wanted to leave.
	answer.mayOverride = answer.Direction == ticket.In && answer.YieldsTo(rightsOf(q.by, facts.Gate.Venue), facts.Overrides)
	return answer, nil
}

// waited is how long the scan has lain inside the server.
func (s *Service) waited(q *question) time.Duration {
	return min(max(0, s.now().Sub(q.in.Arrived)), patience)
}

// lockTicket takes one ticket's row until the transaction ends.
const lockTicket = `SELECT FROM tickets WHERE id = @ticket FOR NO KEY UPDATE`

// write makes the entry happen. The admission's primary key and the checks on
// the counts are the guarantee; the conditions of the update repeat what was
// decided, and another row count means that it must be decided again.
func write(ctx context.Context, tx pgx.Tx, by session.Caller, in ScanIn, a Answer) error {
	args := pgx.NamedArgs{
		"ticket": a.Facts.Ticket.ID, "key": in.Key, "at": a.Facts.Now, "gate": in.Gate,
		"device": null(by.Device), "person": by.Person, "direction": a.Direction, "people": a.People, "kind": a.Kind,
		"generation": int16(a.Facts.Ticket.Generation), "nonce": a.facts.Nonce, "moved_at": nullTime(a.MovedAt),
		"path": a.path, "reason": nullText(in.Reason), "passage": a.passageIf(a.Facts.Event.Reentry), "reentry": a.Facts.Event.Reentry,
	}
	update := enter
	switch {
	case a.Direction == ticket.Out:
		update = leave
	case a.path == override:
		update = enterOver
	}
	t := a.Facts.Ticket // from here on as it is after the entry, which is what a replay shows
	changed := false
	var batch pgx.Batch // one round trip
	if a.Recovers != nil {
		supersede(&batch, a)
	}
	batch.Queue(update, args).QueryRow(func(row pgx.Row) error {
		err := row.Scan(&t.Status, &t.Entries, &t.Inside)
		if changed = errors.Is(err, pgx.ErrNoRows); changed {
			return nil
		}
		return err
	})
	batch.Queue(insertAdmission, args)
	if a.Recovers != nil {
		args["lost"] = a.Recovers.Key
		batch.Queue(insertSuperseded, args)
	}
	if a.short != nil {
		batch.Queue(spendShort, pgx.NamedArgs{"venue": a.Facts.Gate.Venue, "hash": a.short, "at": a.Facts.Now}).
			Exec(func(tag pgconn.CommandTag) error {
				changed = changed || tag.RowsAffected() == 0 // another scan spent it
				return nil
			})
	}
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return fmt.Errorf("write the admission: %w", err)
	}
	if changed {
		return ErrChanged
	}
	return auditJudgement(ctx, tx, by, in, a)
}

const enter = `
UPDATE tickets SET entries = entries + @people, inside = inside + @people, used_at = coalesce(used_at, @at),
  status = CASE WHEN NOT @reentry AND entries + @people >= admits + extra THEN 'used' ELSE status END,
  status_since = CASE WHEN NOT @reentry AND entries + @people >= admits + extra THEN @at ELSE status_since END
WHERE id = @ticket AND status = 'active' AND generation = @generation
  AND inside + @people <= admits + extra AND (@reentry OR entries + @people <= admits + extra)
RETURNING status, entries, inside`

// enterOver lets in whoever judgement lets in: whatever the counts say, and never
// after a revoke. extra grows by what is beyond the ticket, so that the checks hold.
const enterOver = `
UPDATE tickets SET entries = entries + @people, inside = inside + @people, used_at = coalesce(used_at, @at),
  extra = greatest(extra, CASE WHEN @reentry THEN inside ELSE entries END + @people - admits),
  status = CASE WHEN status = 'active' AND NOT @reentry AND entries + @people >= admits + extra THEN 'used' ELSE status END,
  status_since = CASE WHEN status = 'active' AND NOT @reentry AND entries + @people >= admits + extra THEN @at ELSE status_since END
WHERE id = @ticket AND status <> 'revoked' AND generation = @generation
RETURNING status, entries, inside`

const leave = `
UPDATE tickets SET inside = inside - @people
WHERE id = @ticket AND @reentry AND inside >= @people
RETURNING status, entries, inside`

// insertAdmission has no ON CONFLICT: after a decision under the lock a conflict is
// a fault of ours and has to be loud. The counts are the row's own, as the update
// left it.
const insertAdmission = `
INSERT INTO admissions (ticket_id, key, at, event_id, gate_id, device_id, person_id, direction, people,
  entries_after, inside_after, kind, generation, nonce, moved_at, path, reason, passage)
SELECT id, @key, @at, event_id, @gate, @device, @person, @direction, @people,
  entries, inside, @kind, @generation, @nonce, @moved_at, @path, @reason, @passage
FROM tickets WHERE id = @ticket`

const spendShort = `
UPDATE short_codes SET used_at = @at WHERE venue_id = @venue AND hash = @hash AND used_at IS NULL`

// after tells whoever is not the caller. It comes after the commit: a committing
// notifier would take a lock of the whole database.
func (s *Service) after(ctx context.Context, in ScanIn, a Answer) {
	s.meter.Scan(a.Reason, a.Class, in.Gate, s.now().Sub(in.Arrived))
	if a.DryRun || a.Facts.Ticket == nil {
		return
	}
	item := news.Item{Ticket: a.Facts.Ticket.ID, At: a.Facts.Now, Gate: a.Facts.Gate.Name}
	switch {
	case a.Reason == ticket.WrongGate:
		item.What, item.Gate = news.WrongGate, ""
		for _, g := range a.Facts.Category.Gates {
			item.Gates = append(item.Gates, g.Name)
		}
	case a.Writes() && a.Direction == ticket.Out:
		item.What = news.Left
	case a.Writes():
		item.What = news.Admitted
	default:
		return
	}
	s.hub.Publish(ctx, item)
}

var errTicket = fault.New(fault.NotFound, "ticket.not_found", "there is no such ticket here; look it up again")

var errGate = fault.New(fault.NotFound, "gate.not_found", "there is no such gate; choose the gate again")
