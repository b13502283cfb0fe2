package claim

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/fault"
	"portillon/server/pg"
	"portillon/server/post"
	"portillon/server/seal"
	"portillon/server/session"
	"portillon/server/ticket"
)

// Limits of moving by digits; the constraints of move_codes stand behind them.
const (
	moveSends = 3 // mails with digits, in any hour
	moveTries = 5 // for the digits of one mail
	moveAgain = 30 * time.Second
)

// MoveDigits are the eight digits of a move. They are derived, so that a mail that
// goes out twice has the same ones and nothing is stored.
func MoveDigits(box *seal.Box, move uuid.UUID) string {
	sum := seal.Hash(box.Secret("move digits", move))
	return fmt.Sprintf("%08d", binary.BigEndian.Uint64(sum)%1e8)
}

// unmovable is why digits by mail would not take the ticket from the phone that has
// it, or nil. Owner is the address to which the digits go.
func (t bindable) unmovable(now time.Time, owner string) *fault.Error {
	refused := t.refusal(now)
	switch {
	case refused == nil:
		return t.named("move.not_needed", "no phone has this ticket; claim it")
	case refused.Code != "claim.taken":
		return refused
	case t.Status == ticket.Used || t.Entries > 0:
		return t.named("move.used", "this ticket has let somebody in and stays on its phone; ask the staff")
	case !now.Before(t.Event.EndsAt):
		return t.named("claim.event_over", "the event is over")
	case t.Address == "" || t.Address != owner:
		return t.named("mail.no_address", "there is no address to which digits could be mailed; ask the staff for a new link")
	case t.MovesLeft <= 0 && !t.free():
		return t.named("move.too_often", "this ticket has moved as often as it may; ask the staff, who can allow another move")
	case t.Generation >= 255:
		return t.named("claim.generations_exhausted", "this ticket has moved too often; issue another")
	}
	return nil
}

// free: a browser that forgot the ticket before it was at any door may have it back
// once, and that is no move.
func (t bindable) free() bool { return !t.TakenBack && !t.AtDoor }

// firstMovable is the first ticket that digits would move. Without one, it is the
// first of all, and why not.
func firstMovable(tickets []bindable, now time.Time) (bindable, *fault.Error) {
	for _, t := range tickets {
		if t.unmovable(now, t.Address) == nil {
			return t, nil
		}
	}
	return tickets[0], tickets[0].unmovable(now, tickets[0].Address)
}

// MoveAsked tells where the digits go (masked), and from when others may be asked for.
type MoveAsked struct {
	To         string    `json:"to"`
	NextAt     time.Time `json:"next_at"`
	ServerTime time.Time `json:"server_time"`
}

// AskMove mails digits to the holder of the tickets of the link with this code; the
// digits before them end. Whoever asks again within half a minute gets the same
// answer and no further mail. Faults: mail.off, claim.code_unknown, claim.code_ended,
// move.too_many_mails, and with a ticket named why none can be moved: move.not_needed,
// move.used, move.too_often, mail.no_address and what refuses a claim.
func (s *Service) AskMove(ctx context.Context, code string) (MoveAsked, error) {
	if !s.post.On() {
		return MoveAsked{}, fault.New(fault.Conflict, "mail.off", "this server sends no mail; ask the staff for a new link")
	}
	var out MoveAsked
	err := pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		l, first, now, err := moveOwner(ctx, tx, code)
		if err != nil {
			return err
		}
		asked, err := lockMoveCode(ctx, tx, l, now)
		if err != nil {
			return err
		}
		out = MoveAsked{To: post.Mask(first.Address), ServerTime: utc(now)}
		if last := len(asked) - 1; last >= 0 && now.Before(asked[last].Add(moveAgain)) {
			out.NextAt = nextMail(asked)
			return nil
		}
		if len(asked) >= moveSends {
			wait := nextMail(asked).Sub(now)
			return fault.New(fault.TooMany, "move.too_many_mails", "three mails went out within the hour; use the digits of the latest, or wait").Wait(wait)
		}
		id, asked := uuid.New(), append(asked, now)
		if err := writeMoveCode(ctx, tx, l, id, asked); err != nil {
			return err
		}
		out.NextAt = nextMail(asked)
		return s.post.Ask(ctx, tx, post.Mail{
			Cause: "move code " + id.String(), Kind: post.MoveCode, Event: first.Event.Event, Order: first.Order, Ticket: first.Ticket, Move: id,
		})
	})
	if err != nil {
		return MoveAsked{}, err
	}
	return out, nil
}

// moveOwner finds the link and the ticket whose holder is written to.
func moveOwner(ctx context.Context, tx pgx.Tx, code string) (l link, first bindable, now time.Time, err error) {
	if l, err = findLink(ctx, tx, code); err != nil {
		return l, first, now, err
	}
	tickets, err := l.tickets(ctx, tx)
	if err != nil {
		return l, first, now, err
	}
	if len(tickets) == 0 {
		return l, first, now, errEnded()
	}
	if err := tx.QueryRow(ctx, `SELECT portillon_now()`).Scan(&now); err != nil {
		return l, first, now, fmt.Errorf("read the time: %w", err)
	}
	first, refused := firstMovable(tickets, now)
	if refused != nil {
		return l, first, now, refused
	}
	return l, first, now, nil
}

// lockMoveCode lets one caller at a time ask for digits of a link, and returns when
// the mails of the last hour were asked for.
func lockMoveCode(ctx context.Context, tx pgx.Tx, l link, now time.Time) ([]time.Time, error) {
	args := pgx.NamedArgs{"link": l.hash[:], "since": now.Add(-time.Hour)}
	if _, err := tx.Exec(ctx, `SELECT FROM claim_codes WHERE hash = @link FOR NO KEY UPDATE`, args); err != nil {
		return nil, fmt.Errorf("lock the link: %w", err)
	}
	rows, err := tx.Query(ctx, `
SELECT a FROM move_codes, unnest(asked_at) AS a WHERE link = @link AND a > @since ORDER BY a`, args)
	if err != nil {
		return nil, fmt.Errorf("read the mails of the last hour: %w", err)
	}
	asked, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
	if err != nil {
		return nil, fmt.Errorf("read the mails of the last hour: %w", err)
	}
	return asked, nil
}

func writeMoveCode(ctx context.Context, tx pgx.Tx, l link, id uuid.UUID, asked []time.Time) error {
	_, err := tx.Exec(ctx, `
INSERT INTO move_codes (link, id, asked_at) VALUES (@link, @id, @asked)
ON CONFLICT ON CONSTRAINT move_codes_pkey
DO UPDATE SET id = excluded.id, asked_at = excluded.asked_at, expires_at = NULL, tries = 0, used_at = NULL`,
		pgx.NamedArgs{"link": l.hash[:], "id": id, "asked": asked})
	if err != nil {
		return fmt.Errorf("make the digits: %w", err)
	}
	return nil
}

// nextMail is when a further mail may be asked for.
func nextMail(asked []time.Time) time.Time {
	if len(asked) >= moveSends {
		return utc(asked[len(asked)-moveSends].Add(time.Hour))
	}
	return utc(asked[len(asked)-1].Add(moveAgain))
}

// MoveIn confirms a move by the digits that were mailed.
type MoveIn struct {
	In
	Digits string
}

// move is a move while it is written: its id is that of its digits, address that of
// the holder to whom they went. A nil move is a claim.
type move struct {
	uuid    uuid.UUID
	address string
}

func (m *move) id() any {
	if m == nil {
		return nil
	}
	return m.uuid
}

// Move takes the tickets from the phone that has them: all or none. The phone is told
// and the holder is mailed. The same keys get the same answer again, whatever became
// of the digits. Faults: those of Claim but claim.taken, move.code_wrong (with the
// tries that are left), move.code_ended, and with the ticket named move.used,
// move.too_often, mail.no_address.
func (s *Service) Move(ctx context.Context, by session.Caller, in MoveIn) (Out, error) {
	keys, challenge, err := parseKeys(in.Keys)
	if err != nil {
		return Out{}, err
	}
	out, done, err := s.movedBefore(ctx, by, in, keys)
	if err != nil || done {
		return out, err
	}
	id, left, err := s.countTry(ctx, in.Code)
	if err != nil {
		return Out{}, err
	}
	if subtle.ConstantTimeCompare([]byte(MoveDigits(s.box, id)), []byte(in.Digits)) != 1 {
		return Out{}, fault.New(fault.Conflict, "move.code_wrong", "these are not the digits of the latest mail; type them again").Fact("tries_left", left)
	}
	b, err := s.take(ctx, by, in, keys, challenge, id)
	if err != nil {
		return Out{}, err
	}
	s.hub.Publish(ctx, b.told...)
	return b.out, nil
}

// movedBefore answers whoever has the tickets already: a first answer was lost.
func (s *Service) movedBefore(ctx context.Context, by session.Caller, in MoveIn, keys []boundKey) (out Out, done bool, err error) {
	err = pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		tickets, now, err := lockTickets(ctx, tx, in.Code, keys)
		if err != nil {
			return err
		}
		b := binding{by: by, browser: in.Browser, now: now}
		for i, k := range keys {
			if tickets[i].Kind != phone || !bytes.Equal(tickets[i].PublicKey, k.public[:]) {
				return nil
			}
			b.bound = append(b.bound, boundOf(tickets[i], tickets[i].Generation))
		}
		done = true
		out, err = b.answer(ctx, tx)
		return err
	})
	return out, done && err == nil, err
}

// countTry counts a try and commits, before anything is compared: whoever tries many
// at once, or cuts the line, has them counted all the same.
func (s *Service) countTry(ctx context.Context, code string) (id uuid.UUID, left int, err error) {
	err = pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		l, err := findLink(ctx, tx, code)
		if err != nil {
			return err
		}
		err = tx.QueryRow(ctx, `
UPDATE move_codes SET tries = tries + 1
WHERE link = @link AND tries < @most AND used_at IS NULL AND expires_at > portillon_now() RETURNING id, @most - tries`,
			pgx.NamedArgs{"link": l.hash[:], "most": moveTries}).Scan(&id, &left)
		if errors.Is(err, pgx.ErrNoRows) {
			return errDigitsEnded()
		}
		if err != nil {
			return fmt.Errorf("count the try: %w", err)
		}
		return nil
	})
	return id, left, err
}

func errDigitsEnded() *fault.Error {
	return fault.New(fault.Gone, "move.code_ended", "these digits are older than ten minutes, used, or were tried five times; ask for others")
}

// moved is what a move gives.
type moved struct {
	*binding
	out Out
}

// take binds by good digits, which are used up with it.
func (s *Service) take(ctx context.Context, by session.Caller, in MoveIn, keys []boundKey, challenge [32]byte, id uuid.UUID) (moved, error) {
	var done moved
	err := pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		tickets, now, err := lockTickets(ctx, tx, in.Code, keys)
		if err != nil {
			return err
		}
		fresh, err := useUp(ctx, tx, forClaim, challenge, receiptOf(challenge, keys))
		if err != nil {
			return err
		}
		owner, err := readOwner(ctx, tx, id)
		if err != nil {
			return err
		}
		done.binding = &binding{by: by, browser: in.Browser, now: now, move: &move{uuid: id, address: owner.address}}
		for i, k := range keys {
			if err := done.add(tickets[i], k, fresh); err != nil {
				return err
			}
		}
		if err := s.writeMove(ctx, tx, owner, done.binding); err != nil {
			return err
		}
		if err := done.write(ctx, tx); err != nil {
			return err
		}
		done.out, err = done.answer(ctx, tx)
		return err
	})
	return done, err
}

// owner is whom digits were mailed to.
type owner struct {
	mail    post.Mail
	address string
}

func readOwner(ctx context.Context, tx pgx.Tx, move uuid.UUID) (o owner, err error) {
	o.mail = post.Mail{Cause: "moved " + move.String(), Kind: post.Moved, Move: move}
	err = tx.QueryRow(ctx, `
SELECT m.event_id, m.order_id, t.id, coalesce(nullif(t.holder_email, ''), o.email)
FROM mails m JOIN orders o ON o.id = m.order_id JOIN tickets t ON t.id = m.ticket_id WHERE m.cause = @cause`,
		pgx.NamedArgs{"cause": "move code " + move.String()}).Scan(&o.mail.Event, &o.mail.Order, &o.mail.Ticket, &o.address)
	if err != nil {
		return o, fmt.Errorf("read whom the digits were mailed to: %w", err)
	}
	return o, nil
}

// writeMove uses the digits up, and asks for the mail that tells the holder.
func (s *Service) writeMove(ctx context.Context, tx pgx.Tx, o owner, b *binding) error {
	args := pgx.NamedArgs{"id": o.mail.Move, "order": o.mail.Order, "event": o.mail.Event, "now": b.now, "browser": b.browser}
	used, err := tx.Exec(ctx, `UPDATE move_codes SET used_at = @now WHERE id = @id AND used_at IS NULL`, args)
	if err != nil {
		return fmt.Errorf("use the digits up: %w", err)
	}
	if used.RowsAffected() != 1 {
		return errDigitsEnded()
	}
	_, err = tx.Exec(ctx, `INSERT INTO moves (id, order_id, event_id, at, browser) VALUES (@id, @order, @event, @now, @browser)`, args)
	if err != nil {
		return fmt.Errorf("write the move: %w", err)
	}
	return s.post.Ask(ctx, tx, o.mail)
}
