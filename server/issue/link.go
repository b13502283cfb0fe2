package issue

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/fault"
	"portillon/server/keyring"
	"portillon/server/repeat"
	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/wallet"
)

// maxGeneration is the last claim that a ticket can have: the generation is one
// byte in every code.
const maxGeneration = 255

// Link is a claim link.
type Link struct {
	ClaimURL string `json:"claim_url"`
}

// Printed is a paper code: the text, and its QR as SVG at level M.
type Printed struct {
	Ticket     ticket.ID `json:"ticket"`
	Generation int       `json:"generation"`
	Code       string    `json:"code"`
	QRSVG      string    `json:"qr_svg"`
}

// ShowLink shows the link that claims this ticket now: its own once it was
// reissued, before that its order's. Needs the right show_link; leaves an audit
// row each time. Fault: ticket.revoked.
func (s *Service) ShowLink(ctx context.Context, by session.Caller, id ticket.ID) (Link, error) {
	_, err := s.perform(ctx, by, repeat.Call{}, id, "", act{
		name: "ticket.link_shown", right: session.ShowLink, reasonless: true,
		do: func(_ context.Context, _ pgx.Tx, t locked) (map[string]any, error) {
			return nil, t.refuseRevoked()
		},
	})
	if err != nil {
		return Link{}, err
	}
	return s.link(ctx, id)
}

func (t locked) refuseRevoked() error {
	if t.status == ticket.RevokedStatus {
		return t.refuse("ticket.revoked", "the ticket is revoked; reinstate it first")
	}
	return nil
}

// link derives the link that claims the ticket now.
func (s *Service) link(ctx context.Context, id ticket.ID) (Link, error) {
	var serial, orderSerial uint32
	var order uuid.UUID
	err := s.pool.QueryRow(ctx, `
SELECT t.claim_serial, o.id, o.claim_serial FROM tickets t JOIN orders o ON o.id = t.order_id WHERE t.id = @id`,
		pgx.NamedArgs{"id": id}).Scan(&serial, &order, &orderSerial)
	if err != nil {
		return Link{}, fmt.Errorf("read the ticket's link: %w", err)
	}
	if serial == 0 {
		return Link{s.claimURL(s.ring.ClaimCode(keyring.ScopeOrder, order, orderSerial))}, nil
	}
	return Link{s.claimURL(s.ring.ClaimCode(keyring.ScopeTicket, id.UUID(), serial))}, nil
}

// Reissue makes a new link for one ticket. Older links no longer claim it; the
// phone that has it keeps it until the new link is used. Needs the right issue
// and a reason. Fault: ticket.revoked.
func (s *Service) Reissue(ctx context.Context, by session.Caller, call repeat.Call, id ticket.ID, reason string) (Link, error) {
	_, err := s.perform(ctx, by, call, id, reason, act{
		name: "ticket.reissue", right: session.Issue,
		do: func(ctx context.Context, tx pgx.Tx, t locked) (map[string]any, error) {
			if err := t.refuseRevoked(); err != nil {
				return nil, err
			}
			return s.raiseSerial(ctx, tx, t)
		},
	})
	if err != nil {
		return Link{}, err
	}
	return s.link(ctx, id)
}

func (s *Service) raiseSerial(ctx context.Context, tx pgx.Tx, t locked) (map[string]any, error) {
	serial := t.claimSerial + 1
	hash := wallet.HashClaimCode(s.ring.ClaimCode(keyring.ScopeTicket, t.id.UUID(), serial))
	args := pgx.NamedArgs{"id": t.id, "serial": serial, "hash": hash[:]}
	if _, err := tx.Exec(ctx, `UPDATE tickets SET claim_serial = @serial WHERE id = @id`, args); err != nil {
		return nil, fmt.Errorf("raise the serial: %w", err)
	}
	if _, err := tx.Exec(ctx, `INSERT INTO claim_codes (hash, ticket_id, serial) VALUES (@hash, @id, @serial)`, args); err != nil {
		return nil, fmt.Errorf("keep the new link's hash: %w", err)
	}
	return map[string]any{"serial": serial}, nil
}

// Print binds the ticket to paper: the claim before it is dead, and whoever
// holds it is told. Needs the right issue. Faults: ticket.paper_not_allowed,
// ticket.not_active, ticket.generations_used_up; ticket.moved when a repeated
// call finds that the paper it made is dead.
func (s *Service) Print(ctx context.Context, by session.Caller, call repeat.Call, id ticket.ID, reason string) (Printed, error) {
	if err := s.ring.Refresh(ctx); err != nil {
		return Printed{}, err
	}
	done, err := s.perform(ctx, by, call, id, reason, act{
		name: "ticket.print", right: session.Issue, reasonless: true,
		do: bindToPaper,
	})
	if err != nil {
		return Printed{}, err
	}
	if !done.repeated {
		s.tell(ctx, id, newsMoved)
	}
	generation, err := s.printedBy(ctx, id, done.act)
	if err != nil {
		return Printed{}, err
	}
	return s.printed(ctx, id, generation)
}

// printedBy is the generation that an act of printing made.
func (s *Service) printedBy(ctx context.Context, id ticket.ID, act uuid.UUID) (generation int, err error) {
	err = s.pool.QueryRow(ctx, `
SELECT (details->>'generation')::integer FROM audit WHERE ticket_id = @id AND subject_id = @act AND act = 'ticket.print'`,
		pgx.NamedArgs{"id": id, "act": act}).Scan(&generation)
	if err != nil {
		return 0, fmt.Errorf("read what was printed: %w", err)
	}
	return generation, nil
}

func bindToPaper(ctx context.Context, tx pgx.Tx, t locked) (map[string]any, error) {
	switch {
	case !t.paperAllowed:
		return nil, fault.New(fault.Conflict, "ticket.paper_not_allowed", "the ticket's category does not allow paper")
	case t.status != ticket.Active:
		return nil, t.refuse("ticket.not_active", "only an active ticket can be printed")
	case t.generation >= maxGeneration:
		return nil, fault.New(fault.Conflict, "ticket.generations_used_up", "this ticket has moved too often; issue another one")
	}
	args := pgx.NamedArgs{"id": t.id, "generation": t.generation + 1}
	if _, err := tx.Exec(ctx, `UPDATE tickets SET generation = @generation WHERE id = @id`, args); err != nil {
		return nil, fmt.Errorf("raise the generation: %w", err)
	}
	if _, err := tx.Exec(ctx, `INSERT INTO claims (ticket_id, generation, kind) VALUES (@id, @generation, 'paper')`, args); err != nil {
		return nil, fmt.Errorf("make the claim: %w", err)
	}
	return map[string]any{"generation": t.generation + 1}, nil
}

// printed signs the paper code of that generation, if it is still the ticket's: a
// newer paper is somebody else's, who would have it twice. Nothing of a code is
// stored: a repeated call signs once more.
func (s *Service) printed(ctx context.Context, id ticket.ID, generation int) (Printed, error) {
	t, err := readTicket(ctx, s.pool, id)
	if err != nil {
		return Printed{}, err
	}
	if t.Claim != claimPaper || t.Generation != generation {
		return Printed{}, fault.New(fault.Conflict, "ticket.moved", "the ticket has moved to a phone or newer paper since this was printed; print it again if it is to be on paper")
	}
	code, err := s.ring.SignPaper(wallet.KeyID{Ticket: id.UUID(), Generation: uint8(t.Generation)}, t.Event.UUID())
	if err != nil {
		return Printed{}, fmt.Errorf("sign the paper code: %w", err)
	}
	symbol, err := wallet.QR(code.String(), wallet.LevelM)
	if err != nil {
		return Printed{}, fmt.Errorf("draw the paper code: %w", err)
	}
	return Printed{Ticket: id, Generation: t.Generation, Code: code.String(), QRSVG: symbol.SVG()}, nil
}
