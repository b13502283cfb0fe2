package admit

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"portillon/server/crowd"
	"portillon/server/fault"
	"portillon/server/pg"
	"portillon/server/ticket"
)

// The engine's measures. While one worker's transaction is with the database, the
// other's signatures are checked; more of them would only share the same processors.
const (
	workers  = 2
	most     = 32   // scans in one transaction
	room     = 2048 // scans that may wait
	sideLane = 6    // scans that are judged alone at the same time
)

// engine is the act for crowds: whatever waits while one transaction is under way
// goes together into the next, in two round trips, each scan judged by the same
// rules as alone. What is rare, and what somebody else holds, is judged alone.
type engine struct {
	door *Service
	line *crowd.Line[*waiting]
	side chan struct{}
}

// waiting is a scan whose answer is on its way.
type waiting struct {
	*question
	answer Answer
	place  pgtype.TID // of its ticket's row, while that is locked
	err    error
	alone  bool // the crowd cannot judge it
	done   chan struct{}
}

func newEngine(door *Service) *engine {
	e := &engine{door: door, side: make(chan struct{}, sideLane)}
	e.line = crowd.New(workers, room, most, e.serve)
	return e
}

// errCrowded: nobody knows yet, and the same key may ask again.
var errCrowded = fault.New(fault.TooMany, "scan.crowded", "too many scans are waiting; send this one again with the same key").Wait(time.Second)

// errImpatient: the client has given up waiting by now. Judging it all the same
// could admit on a code whose guest has been sent to another door.
var errImpatient = fault.New(fault.Unavailable, "scan.waited_too_long", "this scan waited too long; send it again with the same key").Wait(time.Second)

// ask waits in the line for the answer; it is the counterpart of Service.alone.
func (e *engine) ask(ctx context.Context, q *question) (Answer, error) {
	if q.rare() {
		return e.askAlone(ctx, q)
	}
	w := &waiting{question: q, done: make(chan struct{})}
	if !e.line.Join(w) {
		return Answer{}, errCrowded
	}
	<-w.done // each transaction has a limit, and who waits too long is dropped
	if w.alone {
		return e.askAlone(ctx, q)
	}
	return w.answer, w.err
}

// Waiting is how many scans have not been begun.
func (s *Service) Waiting() int {
	if s.engine == nil {
		return 0
	}
	return s.engine.line.Waiting()
}

// askAlone takes the side lane. It has few places, since each may have to wait for
// a row that somebody holds.
func (e *engine) askAlone(ctx context.Context, q *question) (Answer, error) {
	select {
	case e.side <- struct{}{}:
		defer func() { <-e.side }()
		return e.door.alone(ctx, q)
	case <-ctx.Done():
		return Answer{}, errImpatient
	}
}

// serve answers one batch. Of two scans of one ticket the second waits for the next.
func (e *engine) serve(batch []*waiting) (later []*waiting) {
	seen := make(map[ticket.ID]bool, len(batch))
	now := batch[:0]
	for _, w := range batch {
		switch {
		case e.door.now().Sub(w.in.Arrived) > patience:
			w.err = errImpatient
			close(w.done)
		case seen[w.ticket] && !w.ticket.IsZero():
			later = append(later, w)
		default:
			seen[w.ticket] = true
			now = append(now, w)
		}
	}
	if len(now) == 0 {
		return later
	}
	if err := e.guarded(now); err != nil {
		for _, w := range now {
			w.err, w.alone = err, !pg.Unavailable(err)
		}
	}
	for _, w := range now {
		close(w.done)
	}
	return later
}

// guarded: a fault of ours in one scan must not end the process for all the others.
// Alone, it is answered as any fault of ours.
func (e *engine) guarded(batch []*waiting) (err error) {
	defer func() {
		if r := recover(); r != nil {
			e.door.log.Error("panic", "panic", fmt.Sprint(r), "stack", string(debug.Stack()), "scans", len(batch))
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return e.transact(ctx, batch)
}

// transact is the act in its order: lock, read, decide, write. Nobody is answered
// before the commit is.
func (e *engine) transact(ctx context.Context, batch []*waiting) error {
	conn, err := e.door.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release() // which ends the connection unless it is idle
	questions := make([]*question, len(batch))
	for i, w := range batch {
		questions[i] = w.question
	}
	var first pgx.Batch
	first.Queue(`BEGIN ISOLATION LEVEL READ COMMITTED`)
	r := read(&first, questions, lockFreeTickets)
	if err := conn.SendBatch(ctx, &first).Close(); err != nil {
		return e.rollBack(ctx, conn, err)
	}
	each(len(batch), func(i int) { e.decide(r, batch[i]) })
	return e.write(ctx, conn, batch)
}

// decide judges one scan of the batch, or leaves it to be judged alone.
func (e *engine) decide(r *reading, w *waiting) {
	defer func() {
		if recover() != nil {
			w.alone = true // where it happens again, and is answered and logged
		}
	}()
	row, free := r.tickets[w.ticket]
	if !free && !w.ticket.IsZero() {
		w.alone = true // somebody holds its row, or there is none
		return
	}
	w.place = row.Place
	facts, key, err := r.about(w.question)
	if err != nil {
		w.err = err
		return
	}
	w.answer, w.err = e.door.decide(w.question, facts, key)
	if w.answer.WantsHistory || w.answer.repeatsJudgement() {
		w.alone = true
	}
	if w.answer.Writes() && (w.answer.path != ordinary || w.answer.Direction == ticket.Out) {
		w.alone = true
	}
}

// write makes the entries happen and logs the attempts, and commits.
func (e *engine) write(ctx context.Context, conn *pgxpool.Conn, batch []*waiting) error {
	var entering, judged []*waiting
	for _, w := range batch {
		switch {
		case w.alone || w.err != nil:
			continue
		case w.answer.Writes() && !w.in.DryRun:
			entering = append(entering, w)
		}
		judged = append(judged, w)
	}
	entered := make(map[ticket.ID]bool, len(entering))
	var second pgx.Batch
	if len(entering) > 0 {
		second.Queue(enterMany, entriesOf(entering)).Query(func(rows pgx.Rows) error {
			ids, err := pgx.CollectRows(rows, pgx.RowTo[ticket.ID])
			for _, id := range ids {
				entered[id] = true
			}
			return err
		})
	}
	logging := false // the entries are written, and what fails from here is the log
	second.Queue(`SAVEPOINT attempts`).Exec(func(pgconn.CommandTag) error { logging = true; return nil })
	if len(judged) > 0 {
		second.Queue(insertAttempts, e.door.attemptsOf(judged)).Exec(func(pgconn.CommandTag) error { logging = false; return nil })
	}
	committed := false
	second.Queue(`COMMIT`).Exec(func(tag pgconn.CommandTag) error { committed = tag.String() == "COMMIT"; return nil })
	err := conn.SendBatch(ctx, &second).Close()
	if err != nil && logging && len(judged) > 0 && refusedByServer(err) {
		committed, err = e.commitWithoutLog(ctx, conn, len(judged), err)
	}
	switch {
	case err != nil && refusedByServer(err):
		return e.rollBack(ctx, conn, err)
	case err != nil:
		return fmt.Errorf("%w: %w", pg.ErrOutcomeUnknown, err)
	case !committed:
		return e.rollBack(ctx, conn, pgx.ErrTxCommitRollback)
	}
	for _, w := range entering {
		w.settle(entered[w.ticket])
	}
	return nil
}

// refusedByServer reports whether an ordinary error of the server ended the
// statement: only then is it certain that nothing was committed.
func refusedByServer(err error) bool {
	var said *pgconn.PgError
	return errors.As(err, &said) && (said.SeverityUnlocalized == "ERROR" || said.Severity == "ERROR")
}

// commitWithoutLog: a log that cannot be written must not send a crowd away. The
// simple protocol, because the driver may not prepare anything in a transaction that
// has failed.
func (e *engine) commitWithoutLog(ctx context.Context, conn *pgxpool.Conn, lost int, why error) (committed bool, err error) {
	tag, err := conn.Exec(ctx, `ROLLBACK TO SAVEPOINT attempts; COMMIT`, pgx.QueryExecModeSimpleProtocol)
	if committed = err == nil && tag.String() == "COMMIT"; !committed {
		return false, err // the scans are judged alone, and what is lost is counted there
	}
	for range lost {
		e.door.meter.AttemptLost()
	}
	e.door.log.ErrorContext(ctx, "attempts could not be logged; the scans went on", "error", why.Error(), "attempts", lost)
	return committed, nil
}

// rollBack gives the connection back clean, and the reason on.
func (e *engine) rollBack(ctx context.Context, conn *pgxpool.Conn, why error) error {
	if !conn.Conn().IsClosed() {
		_, _ = conn.Exec(ctx, `ROLLBACK`) // if that fails, Release ends the connection
	}
	return why
}

// settle makes the answer tell the ticket as it is after the entry, which is what a
// replay shows. What the update passed over is judged again; under the lock that
// cannot happen.
func (w *waiting) settle(entered bool) {
	if !entered {
		w.alone = true
		return
	}
	t, reentry := w.answer.Facts.Ticket, w.answer.Facts.Event.Reentry
	t.Entries += w.answer.People
	t.Inside += w.answer.People
	if !reentry && t.Entries >= t.Admits+t.Extra {
		t.Status = ticket.Used
	}
}

// each calls f for 0 to n-1, on all processors when there is more than one thing to
// do: a signature costs more than its statement.
func each(n int, f func(i int)) {
	hands := min(n, runtime.GOMAXPROCS(0))
	if hands == 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var all sync.WaitGroup
	for hand := range hands {
		all.Go(func() {
			for i := hand; i < n; i += hands {
				f(i)
			}
		})
	}
	all.Wait()
}
