package post

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	netmail "net/mail"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/wneessen/go-mail"

	"portillon/server/keyring"
)

// letter is a mail as it goes over the line. An address in it may be empty.
type letter struct {
	from, to string
	text     []byte
}

// subject is what a mail is about, read at the moment of sending.
type subject struct {
	kind         Kind
	lang         string
	to           string
	order        uuid.UUID
	orderSerial  uint32
	ticket       *uuid.UUID
	ticketSerial *uint32
	event, venue string
	zone         string
	doors, start time.Time
	claimFrom    time.Time
	at           time.Time
	now          time.Time
	tickets      int
}

func (s *Service) compose(ctx context.Context, id uuid.UUID) (letter, error) {
	about, err := s.read(ctx, id)
	if err != nil {
		return letter{}, &failure{step: stepCompose, cause: err}
	}
	out := letter{to: about.to}
	if about.to == "" {
		return out, &failure{step: stepCompose, final: true, cause: errors.New("there is no address any more; enter one and send again")}
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
	m.Subject(s.say(about, "mail.link.subject"))
	m.SetBodyString(mail.TypeTextPlain, s.body(about))
	var text bytes.Buffer
	if _, err := m.WriteTo(&text); err != nil {
		return out, &failure{step: stepCompose, cause: err}
	}
	out.text = text.Bytes()
	return out, nil
}

func (s *Service) read(ctx context.Context, id uuid.UUID) (a subject, err error) {
	err = s.Pool.QueryRow(ctx, `
SELECT m.kind, o.language, coalesce(nullif(t.holder_email, ''), o.email), o.id, o.claim_serial, t.id, t.claim_serial,
  e.name, v.name, v.time_zone, e.doors_open_at, e.starts_at, e.claim_from, m.at, portillon_now(),
  CASE WHEN t.id IS NULL THEN (SELECT count(*) FROM tickets x WHERE x.order_id = o.id AND x.claim_serial = 0) ELSE 1 END
FROM mails m JOIN orders o ON o.id = m.order_id JOIN events e ON e.id = m.event_id JOIN venues v ON v.id = e.venue_id
LEFT JOIN tickets t ON t.id = m.ticket_id WHERE m.id = @id`, pgx.NamedArgs{"id": id}).
		Scan(&a.kind, &a.lang, &a.to, &a.order, &a.orderSerial, &a.ticket, &a.ticketSerial,
			&a.event, &a.venue, &a.zone, &a.doors, &a.start, &a.claimFrom, &a.at, &a.now, &a.tickets)
	return a, wrap("read what the mail is about", err)
}

// link is what the mail is for: of the ticket once it has one of its own, before
// that of its order.
func (s *Service) link(a subject) string {
	if a.ticket != nil && *a.ticketSerial > 0 {
		return s.PublicURL + "/w#" + s.Keys.ClaimCode(keyring.ScopeTicket, *a.ticket, *a.ticketSerial)
	}
	return s.PublicURL + "/w#" + s.Keys.ClaimCode(keyring.ScopeOrder, a.order, a.orderSerial)
}

// body is plain text: a link in it is whole in every reader, and shows where it
// leads.
func (s *Service) body(a subject) string {
	parts := []string{s.say(a, "mail.link.for"), s.say(a, "mail.link.open"), s.link(a)}
	if a.now.Before(a.claimFrom) {
		parts = append(parts, s.say(a, "mail.link.from"))
	}
	parts = append(parts, s.say(a, "mail.link.keep"))
	return strings.Join(parts, "\n\n") + "\n"
}

// layouts are how each language writes a day and a time.
var layouts = map[string]string{"en": "2 January 2006, 15:04", "fr": "02/01/2006 15:04", "cs": "2. 1. 2006 15:04"}

func (s *Service) say(a subject, key string) string {
	zone, err := time.LoadLocation(a.zone)
	if err != nil {
		zone = time.UTC
	}
	at := func(t time.Time) string { return t.In(zone).Format(layouts[a.lang]) }
	return s.Text.Text(a.lang, key, map[string]any{
		"event": a.event, "venue": a.venue, "doors": at(a.doors), "start": at(a.start), "from": at(a.claimFrom), "tickets": fmt.Sprint(a.tickets),
	})
}
