package post

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/keyring"
)

// handed is one link, and for which tickets it is.
type handed struct {
	url, number, seat string
	tickets           int
}

// handLinks writes the mail that puts tickets on their holder's phone.
func (s *Service) handLinks(ctx context.Context, a subject) (words, error) {
	links, err := s.links(ctx, a)
	if err != nil {
		return words{}, err
	}
	tickets := 0
	for _, l := range links {
		tickets += l.tickets
	}
	of := map[string]any{"tickets": fmt.Sprint(tickets)}
	parts := []string{s.say(a, "mail.link.for", of)}
	if len(links) == 1 {
		parts = append(parts, s.say(a, "mail.link.open", nil), links[0].url)
	} else {
		parts = append(parts, s.say(a, "mail.link.open_each", nil))
		for _, l := range links {
			parts = append(parts, strings.TrimSpace(s.say(a, "mail.link.one", map[string]any{"number": l.number, "seat": l.seat}))+"\n"+l.url)
		}
	}
	if a.now.Before(a.claimFrom) {
		parts = append(parts, s.say(a, "mail.link.from", nil))
	}
	parts = append(parts, s.say(a, "mail.link.keep", nil))
	return words{subject: s.say(a, "mail.link.subject", nil), body: paragraphs(parts...)}, nil
}

// links are what the mail is for: the link of its order; or those of its tickets, each
// its own once it has one, before that its order's. Another ticket whose address is a
// different one by now is not for this reader.
func (s *Service) links(ctx context.Context, a subject) ([]handed, error) {
	if a.kind == OrderLink {
		return s.orderLink(ctx, a)
	}
	rows, err := s.Pool.Query(ctx, `
SELECT t.id, t.claim_serial, o.id, o.claim_serial, t.number::text, t.seat
FROM mails m
CROSS JOIN LATERAL (SELECT m.ticket_id AS id UNION SELECT x.ticket_id FROM mail_tickets x WHERE x.mail_id = m.id) w
JOIN tickets t ON t.id = w.id JOIN orders o ON o.id = t.order_id
WHERE m.id = @id AND (t.id = m.ticket_id OR coalesce(nullif(t.holder_email, ''), o.email) = @to) ORDER BY t.number`,
		pgx.NamedArgs{"id": a.id, "to": a.to})
	if err != nil {
		return nil, wrap("read the tickets of the mail", err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (l handed, err error) {
		var ticket, order uuid.UUID
		var serial, orderSerial uint32
		err = row.Scan(&ticket, &serial, &order, &orderSerial, &l.number, &l.seat)
		l.tickets, l.url = 1, s.url(keyring.ScopeOrder, order, orderSerial)
		if serial > 0 {
			l.url = s.url(keyring.ScopeTicket, ticket, serial)
		}
		return l, err
	})
	if err == nil && len(all) == 0 {
		err = errors.New("the ticket is gone")
	}
	return all, wrap("read the tickets of the mail", err)
}

// orderLink is the link of an order. Its tickets that have links of their own are not
// in it.
func (s *Service) orderLink(ctx context.Context, a subject) ([]handed, error) {
	var order uuid.UUID
	var serial uint32
	var l handed
	err := s.Pool.QueryRow(ctx, `
SELECT o.id, o.claim_serial, (SELECT count(*) FROM tickets t WHERE t.order_id = o.id AND t.claim_serial = 0) FROM orders o WHERE o.id = @order`,
		pgx.NamedArgs{"order": a.order}).Scan(&order, &serial, &l.tickets)
	l.url = s.url(keyring.ScopeOrder, order, serial)
	return []handed{l}, wrap("read the order of the mail", err)
}

func (s *Service) url(scope string, id uuid.UUID, serial uint32) string {
	return s.PublicURL + "/w#" + s.Keys.ClaimCode(scope, id, serial)
}
