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
	OrderTold  Kind = "order_told"  // to whoever is responsible: tickets were issued
	ImportTold Kind = "import_told" // to whoever is responsible: a file was taken in
)

// told are the kinds that go to whoever is responsible for the event.
var told = []string{string(OrderTold), string(ImportTold)}

// Mail is one mail to send. Cause names the act, and no second mail is made for it.
type Mail struct {
	Cause  string
	Kind   Kind
	Event  ticket.EventID
	Order  ticket.OrderID // of all kinds but ImportTold
	Ticket ticket.ID      // of a TicketLink, a MoveCode and a Moved: whose holder is written to
	// Further are the tickets whose links stand in a TicketLink too, as far as they have
	// the same address when it is sent.
	Further []ticket.ID
	Import  uuid.UUID // of an ImportTold, and of a TicketLink that an import asked for
	Move    uuid.UUID // of a MoveCode and a Moved
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

// Ask writes down that the mails are to go out when this transaction commits, in as
// many statements for thousands as for one. It does nothing when mail is off, and
// nothing about a mail whose cause has one.
func (s *Service) Ask(ctx context.Context, tx pgx.Tx, mails ...Mail) error {
	if !s.On() || len(mails) == 0 {
		return nil
	}
	if err := s.ask(ctx, tx, mails); err != nil {
		return fmt.Errorf("ask for mails: %w", err)
	}
	return nil
}

func (s *Service) ask(ctx context.Context, tx pgx.Tx, mails []Mail) error {
	ids := make([]uuid.UUID, len(mails))
	causes, kinds := make([]string, len(mails)), make([]string, len(mails))
	events := make([]uuid.UUID, len(mails))
	orders, tickets, imports, moves := make([]*uuid.UUID, len(mails)), make([]*uuid.UUID, len(mails)), make([]*uuid.UUID, len(mails)), make([]*uuid.UUID, len(mails))
	for i, m := range mails {
		ids[i], causes[i], kinds[i], events[i] = uuid.New(), m.Cause, string(m.Kind), m.Event.UUID()
		orders[i], tickets[i], imports[i], moves[i] = orNull(m.Order.UUID()), orNull(m.Ticket.UUID()), orNull(m.Import), orNull(m.Move)
	}
	rows, err := tx.Query(ctx, `
INSERT INTO mails (id, cause, kind, event_id, order_id, ticket_id, import_id, move_id)
SELECT * FROM unnest(@ids::uuid[], @causes::text[], @kinds::text[], @events::uuid[], @orders::uuid[], @tickets::uuid[], @imports::uuid[], @moves::uuid[])
ON CONFLICT ON CONSTRAINT mails_cause_key DO NOTHING RETURNING id`,
		pgx.NamedArgs{"ids": ids, "causes": causes, "kinds": kinds, "events": events, "orders": orders, "tickets": tickets, "imports": imports, "moves": moves})
	if err != nil {
		return err
	}
	made, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil || len(made) == 0 {
		return err
	}
	if err := addFurther(ctx, tx, mails, ids, made); err != nil {
		return err
	}
	jobs := make([]river.InsertManyParams, len(made))
	for i, id := range made {
		jobs[i].Args = sendMail{Mail: id}
	}
	_, err = s.jobs.InsertManyFastTx(ctx, tx, jobs)
	return err
}

// addFurther writes down the other tickets of the mails that were made.
func addFurther(ctx context.Context, tx pgx.Tx, mails []Mail, ids, made []uuid.UUID) error {
	var of, tickets []uuid.UUID
	for i, m := range mails {
		for _, further := range m.Further {
			of, tickets = append(of, ids[i]), append(tickets, further.UUID())
		}
	}
	if len(of) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `
INSERT INTO mail_tickets (mail_id, ticket_id)
SELECT n.mail, n.ticket FROM unnest(@of::uuid[], @tickets::uuid[]) AS n (mail, ticket) WHERE n.mail = ANY (@made::uuid[])`,
		pgx.NamedArgs{"of": of, "tickets": tickets, "made": made})
	return err
}

func orNull(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

// Sent is a mail in the log, with its steps in the order in which they were taken.
// To is the address to which it would go now, masked.
type Sent struct {
	Mail     uuid.UUID  `json:"mail"`
	Kind     Kind       `json:"kind"`
	At       time.Time  `json:"at"`
	To       string     `json:"to"`
	Ticket   ticket.ID  `json:"ticket,omitzero"`
	Number   *int       `json:"number"` // of the ticket, or of the order's first; null of an import
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

// address is to whom a mail m goes now, or an empty text: e is its event, o its order,
// t its ticket.
const address = `CASE WHEN m.kind = ANY (@told) THEN e.responsible_email ELSE coalesce(nullif(t.holder_email, ''), o.email, '') END`

func list(ctx context.Context, tx pgx.Tx, event ticket.EventID, q Query) ([]Sent, error) {
	rows, err := tx.Query(ctx, `
SELECT m.id, m.kind, m.at, `+address+`, coalesce(t.id, f.id), coalesce(t.number, f.number),
  m.state, m.attempts, m.ended_at
FROM mails m JOIN events e ON e.id = m.event_id LEFT JOIN orders o ON o.id = m.order_id LEFT JOIN tickets t ON t.id = m.ticket_id
LEFT JOIN LATERAL (SELECT x.id, x.number FROM tickets x WHERE x.order_id = m.order_id ORDER BY x.number LIMIT 1) f ON true
WHERE m.event_id = @event AND (@state = '' OR m.state = @state)
  AND (@before::uuid = @nothing::uuid OR (m.at, m.id) < (SELECT b.at, b.id FROM mails b WHERE b.id = @before))
ORDER BY m.at DESC, m.id DESC LIMIT @limit`,
		pgx.NamedArgs{"event": event, "told": told, "state": q.State, "before": q.Before, "nothing": uuid.Nil, "limit": q.Limit})
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
