package post

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"portillon/server/fault"
	"portillon/server/keyring"
	"portillon/server/locale"
	"portillon/server/pg"
	"portillon/server/ticket"
)

// Kind is what a mail is about.
type Kind string

// The kinds of mails.
const (
	OrderLink  Kind = "order_link"  // the link that claims an order's tickets
	TicketLink Kind = "ticket_link" // the link that claims one ticket
	MoveCode   Kind = "move_code"   // digits that move tickets to another phone
	Moved      Kind = "moved"       // they moved: the holder may say "not me"
)

// Mail is one mail to send. Cause names the act, and no second mail is made for it.
type Mail struct {
	Cause  string
	Kind   Kind
	Event  ticket.EventID
	Order  ticket.OrderID
	Ticket ticket.ID // of all but an OrderLink: the ticket whose holder is written to
	Move   uuid.UUID // of a MoveCode and a Moved
}

// Options is what the service needs from outside.
type Options struct {
	Pool      *pgxpool.Pool
	Keys      *keyring.Ring
	Text      *locale.Catalogue
	PublicURL string // without a slash at the end
	// MoveDigits and NotMeCode derive what the mails about a move are for.
	MoveDigits func(move uuid.UUID) string
	NotMeCode  func(move uuid.UUID) string
	SMTP       Settings
	Journal    string // the folder of the daily journal; "" for none
	Log        *slog.Logger
	Now        func() time.Time // for how long steps take, and when the next attempt is
	// Ended counts what came of an attempt: sent, failed, or waiting for the next one.
	Ended func(outcome string)
	// RetryAfter is the wait after the failed attempt with this number, from 1; nil
	// is the usual one.
	RetryAfter func(attempt int) time.Duration
}

// Service asks for mails and sends them.
type Service struct {
	Options
	jobs *river.Client[pgx.Tx]
}

// maxAttempts together with retryAfter is a day and a half: whoever mends the mail
// server the next morning loses nothing.
const maxAttempts = 12

const (
	workers     = 4
	pollEvery   = time.Second
	rescueAfter = 10 * time.Minute
)

// New builds the service. Without a host in the settings it is off: it asks for no
// mail and sends none.
func New(o Options) (*Service, error) {
	if o.RetryAfter == nil {
		o.RetryAfter = retryAfter
	}
	s := &Service{Options: o}
	if !s.On() {
		return s, nil
	}
	if err := o.SMTP.check(); err != nil {
		return nil, err
	}
	all := river.NewWorkers()
	if err := river.AddWorkerSafely(all, &worker{post: s}); err != nil {
		return nil, fmt.Errorf("the mail jobs: %w", err)
	}
	var err error
	s.jobs, err = river.NewClient(riverpgxv5.New(o.Pool), &river.Config{
		Queues:               map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}},
		Workers:              all,
		FetchPollInterval:    pollEvery,
		PollOnly:             true, // its LISTEN would need a connection that no pooler gives
		JobTimeout:           deliverWithin + time.Minute,
		RescueStuckJobsAfter: rescueAfter,
		MaxAttempts:          maxAttempts,
		Logger:               o.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("the mail jobs: %w", err)
	}
	return s, nil
}

// On tells whether mails are sent at all; a service that is nil sends none.
func (s *Service) On() bool { return s != nil && s.SMTP.Host != "" }

// ErrOff refuses an act that is nothing but a mail.
func ErrOff() *fault.Error {
	return fault.New(fault.Conflict, "mail.off", "this server sends no mail: start it with --smtp-host, or show the link and hand it over yourself")
}

// Start sends mails until Close.
func (s *Service) Start(ctx context.Context) error {
	if !s.On() {
		return nil
	}
	if err := s.jobs.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start the mail jobs: %w", err)
	}
	return nil
}

// Close waits for the mails that are on their way, until the context ends; then it
// cuts them off, and another process sends them again.
func (s *Service) Close(ctx context.Context) error {
	if !s.On() {
		return nil
	}
	if err := s.jobs.Stop(ctx); err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	return s.jobs.StopAndCancel(ctx)
}

// sendMail is the job: the mail's id and nothing else.
type sendMail struct {
	Mail uuid.UUID `json:"mail"`
}

// Kind names the job in the queue.
func (sendMail) Kind() string { return "send_mail" }

// Ask writes down that the mail is to go out when this transaction commits. It does
// nothing when mail is off, or when there is a mail with this cause.
func (s *Service) Ask(ctx context.Context, tx pgx.Tx, m Mail) error {
	if !s.On() {
		return nil
	}
	id := uuid.New()
	made, err := tx.Exec(ctx, `
INSERT INTO mails (id, cause, kind, event_id, order_id, ticket_id, move_id)
VALUES (@id, @cause, @kind, @event, @order, @ticket, @move) ON CONFLICT ON CONSTRAINT mails_cause_key DO NOTHING`,
		pgx.NamedArgs{"id": id, "cause": m.Cause, "kind": string(m.Kind), "event": m.Event, "order": m.Order, "ticket": orNull(m.Ticket), "move": orNull(m.Move)})
	if err != nil {
		return fmt.Errorf("ask for a mail: %w", err)
	}
	if made.RowsAffected() == 0 {
		return nil
	}
	if _, err := s.jobs.InsertTx(ctx, tx, sendMail{Mail: id}, nil); err != nil {
		return fmt.Errorf("ask for a mail: %w", err)
	}
	return nil
}

func orNull[T ~[16]byte](id T) any {
	if id == *new(T) {
		return nil
	}
	return id
}

// Sent is a mail in the log, with its steps in the order in which they were taken.
// To is the address to which it would go now, masked.
type Sent struct {
	Mail     uuid.UUID  `json:"mail"`
	Kind     Kind       `json:"kind"`
	At       time.Time  `json:"at"`
	To       string     `json:"to"`
	Ticket   ticket.ID  `json:"ticket,omitzero"`
	Number   *int       `json:"number"` // of the ticket, or of the order's first
	State    string     `json:"state"`  // waiting, sending, sent, failed
	Attempts int        `json:"attempts"`
	EndedAt  *time.Time `json:"ended_at"`
	Steps    []Step     `json:"steps"`
}

// Step is one step of one attempt.
type Step struct {
	Attempt int       `json:"attempt"`
	Step    string    `json:"step"` // compose, connect, starttls, authenticate, send
	At      time.Time `json:"at"`   // when it ended
	TookMS  float64   `json:"took_ms"`
	Outcome string    `json:"outcome"` // ok, failed
	Detail  string    `json:"detail"`  // why it failed
}

// Query selects mails of an event: those before the mail with the id Before (zero for
// the newest), in the State (empty for every one), at most Limit.
type Query struct {
	Before uuid.UUID
	State  string
	Limit  int
}

// States are the states of a mail, in the order in which it goes through them.
var States = []string{"waiting", "sending", "sent", "failed"}

// List is an event's mails, the newest first.
func List(ctx context.Context, pool *pgxpool.Pool, event ticket.EventID, q Query) (all []Sent, err error) {
	err = pg.Snapshot(ctx, pool, func(ctx context.Context, tx pgx.Tx) error {
		all, err = list(ctx, tx, event, q)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the mail log: %w", err)
	}
	return all, nil
}

func list(ctx context.Context, tx pgx.Tx, event ticket.EventID, q Query) ([]Sent, error) {
	rows, err := tx.Query(ctx, `
SELECT m.id, m.kind, m.at, coalesce(nullif(t.holder_email, ''), o.email), coalesce(t.id, f.id), coalesce(t.number, f.number),
  m.state, m.attempts, m.ended_at
FROM mails m JOIN orders o ON o.id = m.order_id LEFT JOIN tickets t ON t.id = m.ticket_id
LEFT JOIN LATERAL (SELECT x.id, x.number FROM tickets x WHERE x.order_id = m.order_id ORDER BY x.number LIMIT 1) f ON true
WHERE m.event_id = @event AND (@state = '' OR m.state = @state)
  AND (@before::uuid = @nothing::uuid OR (m.at, m.id) < (SELECT b.at, b.id FROM mails b WHERE b.id = @before))
ORDER BY m.at DESC, m.id DESC LIMIT @limit`,
		pgx.NamedArgs{"event": event, "state": q.State, "before": q.Before, "nothing": uuid.Nil, "limit": q.Limit})
	if err != nil {
		return nil, err
	}
	place := map[uuid.UUID]int{}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (m Sent, err error) {
		var about *uuid.UUID
		err = row.Scan(&m.Mail, &m.Kind, &m.At, &m.To, &about, &m.Number, &m.State, &m.Attempts, &m.EndedAt)
		m.To, m.At, m.Steps = Mask(m.To), m.At.UTC(), []Step{}
		if about != nil {
			m.Ticket = ticket.ID(*about)
		}
		return m, err
	})
	if err != nil {
		return nil, err
	}
	ids := make([]uuid.UUID, len(all))
	for i, m := range all {
		ids[i], place[m.Mail] = m.Mail, i
	}
	rows, err = tx.Query(ctx, `
SELECT mail_id, attempt, step, at, extract(epoch FROM took)::float8 * 1000, outcome, detail
FROM mail_steps WHERE mail_id = ANY(@ids) ORDER BY mail_id, attempt, at`, pgx.NamedArgs{"ids": ids})
	if err != nil {
		return nil, err
	}
	var id uuid.UUID
	var step Step
	_, err = pgx.ForEachRow(rows, []any{&id, &step.Attempt, &step.Step, &step.At, &step.TookMS, &step.Outcome, &step.Detail}, func() error {
		step.At = step.At.UTC()
		all[place[id]].Steps = append(all[place[id]].Steps, step)
		return nil
	})
	return all, err
}
