package post

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
)

// sendingFor is how long a mail belongs to the process that sends it. It is longer
// than an attempt may take; whoever is not done by then is dead.
const sendingFor = deliverWithin + 2*time.Minute

// writeWithin bounds what is written down about a mail, also when the attempt's own
// time is over.
const writeWithin = 10 * time.Second

// maxDetail keeps a server's long speech out of the log.
const maxDetail = 300

// worker sends the mails of the queue.
type worker struct {
	river.WorkerDefaults[sendMail]
	post *Service
}

// NextRetry is when a mail that did not go out is tried again.
func (w *worker) NextRetry(job *river.Job[sendMail]) time.Time {
	return w.post.Now().Add(w.post.RetryAfter(job.Attempt))
}

// retryAfter: soon at first, for a server that restarts; then for one that is being
// mended.
func retryAfter(attempt int) time.Duration {
	waits := []time.Duration{10 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour}
	if attempt <= len(waits) {
		return waits[max(attempt, 1)-1]
	}
	return 6 * time.Hour
}

// Work makes one attempt.
func (w *worker) Work(ctx context.Context, job *river.Job[sendMail]) error {
	return w.post.attempt(ctx, job.Args.Mail, job.Attempt >= job.MaxAttempts)
}

// attempt sends the mail unless it went out, or another process is sending it.
func (s *Service) attempt(ctx context.Context, id uuid.UUID, last bool) error {
	attempt, state, err := s.take(ctx, id)
	switch {
	case err != nil:
		return err
	case state == "sending":
		return river.JobSnooze(sendingFor)
	case state != "":
		return nil
	}
	err = s.deliver(ctx, id, attempt)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeWithin)
	defer cancel()
	var failed *failure
	switch {
	case err == nil:
		return s.end(ctx, id, "sent")
	case errors.As(err, &failed) && failed.final:
		return river.JobCancel(errors.Join(err, s.end(ctx, id, "failed")))
	case last:
		return errors.Join(err, s.end(ctx, id, "failed"))
	}
	return errors.Join(err, s.end(ctx, id, "waiting"))
}

// take makes the mail this process's for sendingFor, and counts the attempt. When it
// is not to be had, state says what it is in.
func (s *Service) take(ctx context.Context, id uuid.UUID) (attempt int, state string, err error) {
	err = s.Pool.QueryRow(ctx, `
UPDATE mails SET state = 'sending', attempts = attempts + 1, sending_until = portillon_now() + @good::interval
WHERE id = @id AND (state = 'waiting' OR state = 'sending' AND sending_until < portillon_now()) RETURNING attempts`,
		pgx.NamedArgs{"id": id, "good": sendingFor}).Scan(&attempt)
	if !errors.Is(err, pgx.ErrNoRows) {
		return attempt, "", wrap("take the mail", err)
	}
	err = s.Pool.QueryRow(ctx, `SELECT state FROM mails WHERE id = @id`, pgx.NamedArgs{"id": id}).Scan(&state)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, "gone", nil
	}
	if state == "waiting" { // it was given back between the two statements
		state = "sending"
	}
	return 0, state, wrap("look at the mail", err)
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// end writes down what came of the attempt. It asks again when the database did not
// answer: a mail that went out must not go out again for that.
func (s *Service) end(ctx context.Context, id uuid.UUID, state string) error {
	for {
		_, err := s.Pool.Exec(ctx, `
UPDATE mails SET state = @state, sending_until = NULL, ended_at = CASE WHEN @state = 'waiting' THEN NULL ELSE portillon_now() END
WHERE id = @id AND state = 'sending'`, pgx.NamedArgs{"id": id, "state": state})
		if err == nil && s.Ended != nil {
			s.Ended(state)
		}
		if err == nil || ctx.Err() != nil {
			return wrap("write down what came of the mail", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(writeWithin / 20):
		}
	}
}

// deliver takes the steps of one attempt.
func (s *Service) deliver(ctx context.Context, id uuid.UUID, attempt int) error {
	ctx, cancel := context.WithTimeout(ctx, deliverWithin)
	defer cancel()
	begun := s.Now()
	letter, err := s.compose(ctx, id)
	record := s.recorder(ctx, id, attempt, letter.to)
	record(stepCompose, s.Now().Sub(begun), err)
	if err != nil {
		return err
	}
	l, err := s.SMTP.dial(ctx, s.Now, record)
	if err != nil {
		return s.quiet(err, letter.to)
	}
	defer func() { _ = l.Close() }()
	return s.quiet(l.send(letter.from, letter.to, letter.text), letter.to)
}

// quiet takes the address out of what the server said: the queue keeps errors, and
// the log gets them.
func (s *Service) quiet(err error, to string) error {
	var failed *failure
	if errors.As(err, &failed) {
		return &failure{step: failed.step, final: failed.final, cause: errors.New(s.reason(failed.cause, to))}
	}
	return err
}

// reason is why a step failed, without an address and without the password.
func (s *Service) reason(err error, to string) string {
	text := err.Error()
	if to != "" {
		text = strings.ReplaceAll(text, to, Mask(to))
	}
	if s.SMTP.Password != "" {
		text = strings.ReplaceAll(text, s.SMTP.Password, "…")
	}
	if letters := []rune(text); len(letters) > maxDetail {
		text = string(letters[:maxDetail]) + "…"
	}
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "�")
}

// Mask leaves of an address what its owner knows it by: "j…@example.org".
func Mask(address string) string {
	name, host, found := strings.Cut(address, "@")
	if !found {
		return ""
	}
	for _, first := range name {
		return string(first) + "…@" + host
	}
	return "…@" + host
}
