package admit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/wallet"
)

// OpenOneTime opens the sealed secret of a claim's one-time codes.
type OpenOneTime func(id ticket.ID, generation uint8, sealed []byte) ([]byte, error)

// oneTime is a one-time code on its way to its judgement: eight digits after a
// ticket's number that somebody typed, or in a pattern that names ticket, generation
// and time.
type oneTime struct {
	number int // typed; 0: a pattern
	digits string

	wrong []oneTimeRow // the claims that the digits were tried for in vain
	right *oneTimeRow  // the claim that they are right for; nil also where its scan is only repeated
	step  int64
}

// totpDigits is the length of a one-time code.
const totpDigits = 8

// numberAndDigits reads what somebody typed: the ticket's number, a space and eight
// digits, with more spaces forgiven. The first is not: a product's bar code has none.
func numberAndDigits(text string) (number int, digits string, ok bool) {
	before, after, _ := strings.Cut(strings.Trim(text, " "), " ")
	digits = strings.ReplaceAll(after, " ", "")
	if len(digits) != totpDigits || strings.ContainsFunc(before+digits, func(r rune) bool { return r < '0' || r > '9' }) {
		return 0, "", false
	}
	number, err := strconv.Atoi(before)
	return number, digits, err == nil && number > 0 && number <= math.MaxInt32
}

// oneTimeRow is a claim's row with what its tries must know.
type oneTimeRow struct {
	Ticket      ticket.ID   `db:"ticket_id"`
	Generation  int16       `db:"generation"`
	Sealed      []byte      `db:"sealed"`
	LastStep    *int64      `db:"last_step"`
	LastKey     *ticket.Key `db:"last_key"`
	WrongAt     []time.Time `db:"wrong_at"`
	LockedUntil *time.Time  `db:"locked_until"`
	Passage     []byte      `db:"passage"` // the step of the admission of this key
	Now         time.Time   `db:"now"`
}

func (r oneTimeRow) tries() ticket.Tries {
	return ticket.Tries{Wrong: r.WrongAt, LockedUntil: value(r.LockedUntil)}
}

// spent reports whether another scan has used this step or a later one.
func (r oneTimeRow) spent(step int64, key ticket.Key) bool {
	return r.LastStep != nil && (step < *r.LastStep || step == *r.LastStep && value(r.LastKey) != key)
}

// findNumbered finds the tickets of this number whose events are open at the gate's
// venue, and the one that this caller admitted under the scan's key: its answer may
// have been lost, and its event be over.
const findNumbered = `
SELECT n.ticket_id FROM events e JOIN numbers n ON n.event_id = e.id AND n.number = @number
WHERE e.venue_id = (SELECT venue_id FROM gates WHERE id = @gate)
  AND e.doors_open_at <= portillon_now() AND e.ends_at > portillon_now()
  AND EXISTS (SELECT FROM one_time_codes o WHERE o.ticket_id = n.ticket_id)
UNION
SELECT a.ticket_id FROM admissions a JOIN tickets t ON t.id = a.ticket_id AND t.number = @number
WHERE a.key = @key AND a.kind = 'totp' AND a.device_id IS NOT DISTINCT FROM @device AND a.person_id = @person`

const lockNumbered = `SELECT FROM tickets WHERE id = ANY(@tickets) ORDER BY id FOR NO KEY UPDATE`

// readOneTime comes after the lock, as a statement of its own. The newest claim of a
// ticket is first. A pattern names its generation.
const readOneTime = `
SELECT o.ticket_id, o.generation, o.sealed, o.last_step, o.last_key, o.wrong_at, o.locked_until, a.passage, portillon_now() AS now
FROM one_time_codes o LEFT JOIN admissions a ON a.ticket_id = o.ticket_id AND a.key = @key AND a.kind = 'totp' AND a.generation = o.generation
WHERE o.ticket_id = ANY(@tickets) AND (@generation::smallint IS NULL OR o.generation = @generation)
ORDER BY o.ticket_id, o.generation DESC`

// findOneTime finds what a one-time code is right for, with the rows of all tickets
// that it could be for locked in the order of their ids.
func (s *Service) findOneTime(ctx context.Context, tx pgx.Tx, q *question) error {
	p := &q.presented
	p.verified, p.facts.Spent, p.facts.Outside, p.facts.Locked = false, false, false, false
	p.oneTime = &oneTime{number: p.oneTime.number, digits: p.oneTime.digits}
	var venue ticket.VenueID
	args := pgx.NamedArgs{
		"number": p.oneTime.number, "gate": q.in.Gate, "key": q.in.Key, "device": null(q.by.Device), "person": q.by.Person,
		"tickets": []ticket.ID{p.ticket}, "generation": int16(p.facts.Generation),
	}
	err := tx.QueryRow(ctx, `SELECT venue_id FROM gates WHERE id = @gate`, args).Scan(&venue)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return errGate
	case err != nil:
		return fmt.Errorf("find the gate: %w", err)
	}
	if p.facts.Typed {
		p.ticket, p.facts.Generation = ticket.ID{}, 0
		rows, err := tx.Query(ctx, findNumbered, args)
		if err != nil {
			return fmt.Errorf("find the tickets of the number: %w", err)
		}
		if args["tickets"], err = pgx.CollectRows(rows, pgx.RowTo[ticket.ID]); err != nil {
			return fmt.Errorf("find the tickets of the number: %w", err)
		}
		args["generation"] = nil
	}
	if _, err := tx.Exec(ctx, lockNumbered, args); err != nil {
		return fmt.Errorf("lock the tickets: %w", err)
	}
	rows, err := tx.Query(ctx, readOneTime, args)
	if err != nil {
		return fmt.Errorf("read the one-time codes: %w", err)
	}
	claims, err := pgx.CollectRows(rows, pgx.RowToStructByName[oneTimeRow])
	if err != nil {
		return fmt.Errorf("read the one-time codes: %w", err)
	}
	return s.tryOneTime(q, claims, venue)
}

// tryOneTime tries the digits for each of the claims, and for none that is locked,
// unless a supervisor lets in over the lock.
func (s *Service) tryOneTime(q *question, claims []oneTimeRow, venue ticket.VenueID) error {
	p, guess := &q.presented, q.by.May(session.Scan, venue)
	overLock := q.in.overriding(q.by, venue).Supervisor
	for _, c := range claims {
		secret, err := s.openOneTime(c.Ticket, uint8(c.Generation), c.Sealed)
		if err != nil {
			return err
		}
		if step, ok := stepOf(c.Passage); ok && p.rightFor(secret, []int64{step}) {
			p.chooseOneTime(c)
			return nil // it is this scan's answer again, whatever has become of the step
		}
		locked := c.tries().Locked(c.Now)
		switch arrived := c.Now.Add(-s.waited(q)).Unix(); {
		case !guess:
		case locked && !overLock:
			p.facts.Locked = true
		case p.tryAt(secret, arrived):
			p.chooseOneTime(c)
			p.facts.Locked, p.facts.Spent = locked, c.spent(p.oneTime.step, q.in.Key)
			p.facts.Outside = !slices.Contains(wallet.TOTPWindow(arrived), p.oneTime.step)
			p.oneTime.right, p.oneTime.wrong = &c, nil
			return nil
		case !locked:
			p.oneTime.wrong = append(p.oneTime.wrong, c)
		}
	}
	if p.facts.Typed && oneTicket(claims) { // so that the log knows whose number was typed
		p.ticket, p.facts.Generation = claims[0].Ticket, uint8(claims[0].Generation)
	}
	return nil
}

// oneTicket reports whether all claims are of one ticket; the newest comes first.
func oneTicket(claims []oneTimeRow) bool {
	return len(claims) > 0 && claims[0].Ticket == claims[len(claims)-1].Ticket
}

// tryAt tries typed digits for the steps around now, and a pattern's for its own.
func (p *presented) tryAt(secret []byte, now int64) bool {
	if p.facts.Typed {
		return p.rightFor(secret, wallet.TOTPWindow(now))
	}
	return p.rightFor(secret, []int64{wallet.TOTPStep(p.code.IssuedAt)})
}

func (p *presented) rightFor(secret []byte, steps []int64) bool {
	step, ok := wallet.CheckTOTP(secret, steps, p.oneTime.digits)
	if ok {
		p.oneTime.step = step
	}
	return ok
}

// chooseOneTime makes the code one of this claim.
func (p *presented) chooseOneTime(c oneTimeRow) {
	p.ticket, p.facts.Generation, p.verified, p.facts.Locked = c.Ticket, uint8(c.Generation), true, false
}

// passageOf is a step as admissions keep it, so that a step makes one passage.
func passageOf(step int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(step)) }

func stepOf(passage []byte) (int64, bool) {
	if len(passage) != 8 {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(passage)), true
}

const (
	countWrong = `
UPDATE one_time_codes SET wrong_at = @wrong_at, locked_until = @locked_until WHERE ticket_id = @ticket AND generation = @generation`
	useStep = `
UPDATE one_time_codes SET last_step = @step, last_key = @key
WHERE ticket_id = @ticket AND generation = @generation
  AND (last_step IS NULL OR last_step < @step OR last_step = @step AND last_key = @key)`
)

// keepOneTime counts a wrong code, also in a dry run, and uses a right one up, also
// when the ticket is refused: the scan's own key may come again with it, to say how
// many people or that the phone has no network. The rows' tickets are locked.
func keepOneTime(ctx context.Context, tx pgx.Tx, q *question, a Answer) error {
	o := q.oneTime
	for _, c := range o.wrong {
		tries := c.tries().Wronged(c.Now)
		_, err := tx.Exec(ctx, countWrong, pgx.NamedArgs{
			"ticket": c.Ticket, "generation": c.Generation, "wrong_at": append([]time.Time{}, tries.Wrong...), "locked_until": nullTime(tries.LockedUntil),
		})
		if err != nil {
			return fmt.Errorf("count a wrong code: %w", err)
		}
	}
	if o.right == nil || a.facts.Outside || a.facts.Spent || a.Replayed || q.in.DryRun {
		return nil
	}
	tag, err := tx.Exec(ctx, useStep, pgx.NamedArgs{"ticket": o.right.Ticket, "generation": o.right.Generation, "step": o.step, "key": q.in.Key})
	switch {
	case err != nil:
		return fmt.Errorf("use the step: %w", err)
	case tag.RowsAffected() == 0:
		return ErrChanged
	}
	return nil
}
