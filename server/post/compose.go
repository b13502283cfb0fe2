package post

import (
	"bytes"
	"context"
	"errors"
	netmail "net/mail"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/wneessen/go-mail"
)

// letter is a mail as it goes over the line. An address in it may be empty.
type letter struct {
	from, to string
	text     []byte
}

// subject is what a mail is about, read at the moment of sending.
type subject struct {
	id           uuid.UUID
	kind         Kind
	lang         string
	to           string
	event        uuid.UUID
	name, venue  string
	zone         string
	doors, start time.Time
	claimFrom    time.Time
	at           time.Time
	now          time.Time
	order        *uuid.UUID
	imported     *uuid.UUID
	move         *uuid.UUID
}

// words are what a mail says.
type words struct{ subject, body string }

func (s *Service) compose(ctx context.Context, id uuid.UUID) (letter, error) {
	about, err := s.read(ctx, id)
	if err != nil {
		return letter{}, &failure{step: stepCompose, cause: err}
	}
	out := letter{to: about.to}
	if about.to == "" {
		return out, &failure{step: stepCompose, final: true, cause: errors.New("there is no address any more; enter one and send again")}
	}
	said, err := s.words(ctx, about)
	if err != nil {
		return out, composing(err)
	}
	from, err := netmail.ParseAddress(s.SMTP.From)
	if err != nil {
		return out, &failure{step: stepCompose, cause: err}
	}
	out.from = from.Address
	m := mail.NewMsg()
	m.FromMailAddress(from)
	if err := m.To(about.to); err != nil {
		return out, &failure{step: stepCompose, final: true, cause: errors.New("this is no address that mail can go to; correct it and send again")}
	}
	m.SetMessageIDWithValue(id.String() + "@" + s.SMTP.domain())
	m.SetDateWithValue(about.at)
	m.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no holiday notices, please
	m.Subject(said.subject)
	// Plain text: a link in it is whole in every reader, and shows where it leads.
	m.SetBodyString(mail.TypeTextPlain, said.body)
	var text bytes.Buffer
	if _, err := m.WriteTo(&text); err != nil {
		return out, &failure{step: stepCompose, cause: err}
	}
	out.text = text.Bytes()
	return out, nil
}

// composing is the failure that err is, or stands for.
func composing(err error) *failure {
	if f := new(failure); errors.As(err, &f) {
		return f
	}
	return &failure{step: stepCompose, cause: err}
}

func (s *Service) read(ctx context.Context, id uuid.UUID) (a subject, err error) {
	a.id = id
	err = s.Pool.QueryRow(ctx, `
SELECT m.kind, CASE WHEN m.kind = ANY (@told) THEN e.responsible_language ELSE o.language END, `+address+`,
  e.id, e.name, v.name, v.time_zone, e.doors_open_at, e.starts_at, e.claim_from, m.at, portillon_now(), m.order_id, m.import_id, m.move_id
FROM mails m JOIN events e ON e.id = m.event_id JOIN venues v ON v.id = e.venue_id
LEFT JOIN orders o ON o.id = m.order_id LEFT JOIN tickets t ON t.id = m.ticket_id WHERE m.id = @id`,
		pgx.NamedArgs{"id": id, "told": told}).
		Scan(&a.kind, &a.lang, &a.to, &a.event, &a.name, &a.venue, &a.zone, &a.doors, &a.start, &a.claimFrom, &a.at, &a.now, &a.order, &a.imported, &a.move)
	return a, wrap("read what the mail is about", err)
}

func (s *Service) words(ctx context.Context, a subject) (words, error) {
	switch a.kind {
	case OrderTold:
		return s.tellOrder(ctx, a)
	case ImportTold:
		return s.tellImport(ctx, a)
	case MoveCode:
		return s.handDigits(ctx, a)
	case Moved:
		return s.tellMoved(ctx, a)
	case OrderLink, TicketLink:
	}
	return s.handLinks(ctx, a)
}

// layouts are how each language writes a day and a time.
var layouts = map[string]string{"en": "2 January 2006, 15:04", "fr": "02/01/2006 15:04", "cs": "2. 1. 2006 15:04"}

// say is a sentence about the mail's event, with more values than those of the event.
func (s *Service) say(a subject, key string, more map[string]any) string {
	at := func(t time.Time) string { return s.moment(a, t) }
	values := map[string]any{
		"event": a.name, "venue": a.venue, "doors": at(a.doors), "start": at(a.start), "from": at(a.claimFrom), "at": at(a.at),
	}
	for name, value := range more {
		values[name] = value
	}
	return s.Text.Text(a.lang, key, values)
}

// moment is a day and a time at the venue, in the mail's language.
func (s *Service) moment(a subject, t time.Time) string {
	zone, err := time.LoadLocation(a.zone)
	if err != nil {
		zone = time.UTC
	}
	return t.In(zone).Format(layouts[a.lang])
}
