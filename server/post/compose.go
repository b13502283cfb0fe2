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
	move         uuid.UUID // of a MoveCode and a Moved; of the latter when and to what
	movedAt      time.Time
	browser      string
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
	if about.kind == MoveCode {
		if err := s.openDigits(ctx, about.move); err != nil {
			return out, err
		}
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
	title, parts := s.text(about)
	m.Subject(title)
	m.SetBodyString(mail.TypeTextPlain, strings.Join(parts, "\n\n")+"\n")
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
  CASE WHEN m.move_id IS NOT NULL THEN (SELECT count(*) FROM claims k WHERE k.move_id = m.move_id)
    WHEN t.id IS NULL THEN (SELECT count(*) FROM tickets x WHERE x.order_id = o.id AND x.claim_serial = 0) ELSE 1 END,
  coalesce(m.move_id, @nothing::uuid), coalesce(w.at, m.at), coalesce(w.browser, '')
FROM mails m JOIN orders o ON o.id = m.order_id JOIN events e ON e.id = m.event_id JOIN venues v ON v.id = e.venue_id
LEFT JOIN tickets t ON t.id = m.ticket_id LEFT JOIN moves w ON w.id = m.move_id WHERE m.id = @id`, pgx.NamedArgs{"id": id, "nothing": uuid.Nil}).
		Scan(&a.kind, &a.lang, &a.to, &a.order, &a.orderSerial, &a.ticket, &a.ticketSerial,
			&a.event, &a.venue, &a.zone, &a.doors, &a.start, &a.claimFrom, &a.at, &a.now, &a.tickets, &a.move, &a.movedAt, &a.browser)
	return a, wrap("read what the mail is about", err)
}

// digitsFor is how long digits are good after they were sent.
const digitsFor = 10 * time.Minute

// openDigits lets the digits of a move count from now on. Digits that were used, that
// newer ones have replaced, or that nobody can be waiting for are not sent.
func (s *Service) openDigits(ctx context.Context, move uuid.UUID) error {
	opened, err := s.Pool.Exec(ctx, `
UPDATE move_codes SET expires_at = portillon_now() + @good::interval
WHERE id = @move AND used_at IS NULL AND asked_at[cardinality(asked_at)] > portillon_now() - interval '1 hour'`,
		pgx.NamedArgs{"move": move, "good": digitsFor})
	if err != nil {
		return &failure{step: stepCompose, cause: err}
	}
	if opened.RowsAffected() == 0 {
		return &failure{step: stepCompose, final: true, cause: errors.New("nobody waits for these digits any more; others are asked for on the ticket page")}
	}
	return nil
}

// link is what the mail is for: of the ticket once it has one of its own, before
// that of its order.
func (s *Service) link(a subject) string {
	if a.ticket != nil && *a.ticketSerial > 0 {
		return s.PublicURL + "/w#" + s.Keys.ClaimCode(keyring.ScopeTicket, *a.ticket, *a.ticketSerial)
	}
	return s.PublicURL + "/w#" + s.Keys.ClaimCode(keyring.ScopeOrder, a.order, a.orderSerial)
}

// text is the subject and the paragraphs. It is plain text: a link in it is whole in
// every reader, and shows where it leads. Digits never stand in the subject, which
// lies on locked screens.
func (s *Service) text(a subject) (title string, parts []string) {
	switch a.kind {
	case MoveCode:
		digits := s.MoveDigits(a.move)
		half := len(digits) / 2
		return s.say(a, "mail.move_code.subject"), []string{
			s.say(a, "mail.move_code.for"), digits[:half] + " " + digits[half:], s.say(a, "mail.move_code.good"), s.say(a, "mail.move_code.not_me"),
		}
	case Moved:
		key := "mail.moved.to"
		if a.browser == "" {
			key = "mail.moved.somewhere"
		}
		return s.say(a, "mail.moved.subject"), []string{
			s.say(a, "mail.link.for"), s.say(a, key), s.say(a, "mail.moved.not_me"), s.PublicURL + "/w#" + s.NotMeCode(a.move),
		}
	case OrderLink, TicketLink:
	}
	parts = []string{s.say(a, "mail.link.for"), s.say(a, "mail.link.open"), s.link(a)}
	if a.now.Before(a.claimFrom) {
		parts = append(parts, s.say(a, "mail.link.from"))
	}
	return s.say(a, "mail.link.subject"), append(parts, s.say(a, "mail.link.keep"))
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
		"moved": at(a.movedAt), "browser": a.browser,
	})
}
