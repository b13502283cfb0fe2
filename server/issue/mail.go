package issue

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/fault"
	"portillon/server/post"
	"portillon/server/repeat"
	"portillon/server/session"
	"portillon/server/ticket"
)

// mailOrder asks for the mails about an order that was just made: the link for its
// holder, and word of it for whoever is responsible for the event. Who has no address
// gets none.
func (s *Service) mailOrder(ctx context.Context, tx pgx.Tx, id ticket.OrderID, o order) error {
	var mails []post.Mail
	if o.holder.Email != "" {
		mails = append(mails, post.Mail{Cause: "issue " + id.UUID().String(), Kind: post.OrderLink, Event: o.event.Event, Order: id})
	}
	if o.event.Responsible.Email != "" {
		mails = append(mails, post.Mail{Cause: "told issue " + id.UUID().String(), Kind: post.OrderTold, Event: o.event.Event, Order: id})
	}
	return s.post.Ask(ctx, tx, mails...)
}

// mailImport asks for the mails about a file that was taken in: its link for each
// holder of a new ticket or one with a new address, all of one address in one mail,
// unless the file is to be quiet; and one word of the whole for whoever is responsible.
func (s *Service) mailImport(ctx context.Context, tx pgx.Tx, j *importing) error {
	var mails []post.Mail
	at := map[string]int{} // address to its mail
	for i := range j.lines {
		l := &j.lines[i]
		if to := l.want.holder.Email; j.quiet || to == "" || !l.mailed() {
			continue
		}
		if first, ok := at[l.want.holder.Email]; ok {
			mails[first].Further = append(mails[first].Further, l.ticket)
			continue
		}
		at[l.want.holder.Email] = len(mails)
		mails = append(mails, post.Mail{
			Cause: "import " + j.id.String() + " " + l.ticket.String(), Kind: post.TicketLink, Event: j.event.Event, Order: l.order, Ticket: l.ticket, Import: j.id,
		})
	}
	if j.event.Responsible.Email != "" && j.counts().changes() {
		mails = append(mails, post.Mail{Cause: "told import " + j.id.String(), Kind: post.ImportTold, Event: j.event.Event, Import: j.id})
	}
	return s.post.Ask(ctx, tx, mails...)
}

// mailed tells whether the line's holder gets the link: with a new ticket, and with an
// address that is new.
func (l *planned) mailed() bool {
	return l.Do == Create || l.Do == Update && slices.Contains(l.changed, colEmail)
}

// changes tells whether the file came to anything.
func (n ImportCounts) changes() bool { return n.Create+n.Update > 0 }

// Resend mails the link that claims the ticket now to its holder once more: its own
// link after a reissue, before that its order's. Needs the right issue; leaves an
// audit row. The answer comes before the mail has left: the mail log has the rest.
// Faults: mail.off, mail.no_address, ticket.revoked.
func (s *Service) Resend(ctx context.Context, by session.Caller, call repeat.Call, id ticket.ID, reason string) (Ticket, error) {
	_, err := s.perform(ctx, by, call, id, reason, act{
		name: "ticket.resend", right: session.Issue, reasonless: true,
		do: func(ctx context.Context, tx pgx.Tx, t locked) (map[string]any, error) {
			return nil, s.resend(ctx, tx, t)
		},
	})
	if err != nil {
		return Ticket{}, err
	}
	return s.GetTicket(ctx, by, id)
}

func (s *Service) resend(ctx context.Context, tx pgx.Tx, t locked) error {
	if !s.post.On() {
		return post.ErrOff()
	}
	if err := t.refuseRevoked(); err != nil {
		return err
	}
	var has bool
	err := tx.QueryRow(ctx, `
SELECT coalesce(nullif(t.holder_email, ''), o.email) <> '' FROM tickets t JOIN orders o ON o.id = t.order_id WHERE t.id = @id`,
		pgx.NamedArgs{"id": t.id}).Scan(&has)
	if err != nil {
		return fmt.Errorf("look for the holder's address: %w", err)
	}
	if !has {
		return fault.New(fault.Conflict, "mail.no_address", "the ticket has no e-mail address; show the link and hand it over yourself")
	}
	// Each press is an act of its own; a press that is repeated with its key never
	// comes here.
	return s.post.Ask(ctx, tx, post.Mail{
		Cause: "resend " + uuid.NewString(), Kind: post.TicketLink, Event: t.event, Order: t.order, Ticket: t.id,
	})
}

// ListMails is an event's mail log, the newest first, with the steps of each mail;
// state is one state of a mail, or empty for all.
// Needs the right to administer at the event's venue: addresses are masked there, but
// what a mail server says is not for everyone.
func (s *Service) ListMails(ctx context.Context, by session.Caller, event ticket.EventID, state, cursor string) (List[post.Sent], error) {
	if _, err := s.eventFor(ctx, by, session.Admin, event); err != nil {
		return List[post.Sent]{}, err
	}
	if state != "" && !slices.Contains(post.States, state) {
		return List[post.Sent]{}, fault.Fields(fault.Field{Name: "state", Code: unknown})
	}
	before, err := mailCursor(cursor)
	if err != nil {
		return List[post.Sent]{}, err
	}
	all, err := post.List(ctx, s.pool, event, post.Query{Before: before, State: state, Limit: pageSize + 1})
	if err != nil {
		return List[post.Sent]{}, err
	}
	return page(all, func(m post.Sent) string { return m.Mail.String() }), nil
}

func mailCursor(cursor string) (uuid.UUID, error) {
	if cursor == "" {
		return uuid.Nil, nil
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil {
		return uuid.Nil, badCursor(err)
	}
	id, err := uuid.ParseBytes(text)
	if err != nil {
		return uuid.Nil, badCursor(err)
	}
	return id, nil
}
