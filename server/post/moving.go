package post

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// digitsFor is how long digits are good after they were sent.
const digitsFor = 10 * time.Minute

// handDigits writes the mail with the digits that move tickets to another phone. They
// never stand in the subject, which lies on locked screens.
func (s *Service) handDigits(ctx context.Context, a subject) (words, error) {
	if err := s.openDigits(ctx, a); err != nil {
		return words{}, err
	}
	digits := s.MoveDigits(*a.move)
	half := len(digits) / 2
	return words{subject: s.say(a, "mail.move_code.subject", nil), body: paragraphs(
		s.say(a, "mail.move_code.for", nil), digits[:half]+" "+digits[half:], s.say(a, "mail.move_code.good", nil), s.say(a, "mail.move_code.not_me", nil),
	)}, nil
}

// openDigits lets the digits of a move count from now on. Digits that were used, that
// newer ones have replaced, or that nobody can be waiting for are not sent.
func (s *Service) openDigits(ctx context.Context, a subject) error {
	opened, err := s.Pool.Exec(ctx, `
UPDATE move_codes SET expires_at = portillon_now() + @good::interval
WHERE id = @move AND used_at IS NULL AND asked_at[cardinality(asked_at)] > portillon_now() - interval '1 hour'`,
		pgx.NamedArgs{"move": a.move, "good": digitsFor})
	if err != nil {
		return wrap("open the digits", err)
	}
	if opened.RowsAffected() == 0 {
		return &failure{step: stepCompose, final: true, cause: errors.New("nobody waits for these digits any more; others are asked for on the ticket page")}
	}
	return nil
}

// tellMoved tells the holder that tickets moved, when and to what kind of browser, with
// the link to say that it was not them.
func (s *Service) tellMoved(ctx context.Context, a subject) (words, error) {
	var at time.Time
	var browser string
	var tickets int
	err := s.Pool.QueryRow(ctx, `
SELECT w.at, w.browser, (SELECT count(*) FROM claims k WHERE k.move_id = w.id) FROM moves w WHERE w.id = @move`,
		pgx.NamedArgs{"move": a.move}).Scan(&at, &browser, &tickets)
	if err != nil {
		return words{}, wrap("read the move", err)
	}
	values := map[string]any{"tickets": fmt.Sprint(tickets), "moved": s.moment(a, at), "browser": browser}
	key := "mail.moved.to"
	if browser == "" {
		key = "mail.moved.somewhere"
	}
	return words{subject: s.say(a, "mail.moved.subject", values), body: paragraphs(
		s.say(a, "mail.link.for", values), s.say(a, key, values), s.say(a, "mail.moved.not_me", values), s.PublicURL+"/w#"+s.NotMeCode(*a.move),
	)}, nil
}

// paragraphs are the body of a mail.
func paragraphs(parts ...string) string { return strings.Join(parts, "\n\n") + "\n" }
