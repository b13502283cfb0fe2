package admit

import (
	"context"
	"crypto/ecdsa"
	"encoding/binary"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/wallet"
)

// presented is a code as far as it can be read before its ticket is.
type presented struct {
	ticket   ticket.ID // zero, which no ticket has, when the code names none
	code     wallet.Code
	issuer   *ecdsa.PublicKey // of paper; nil when there is no such key
	digits   string           // of a short code
	facts    ticket.CodeFacts
	verified bool          // its signature was checked when the short code was given, or it is a right one-time code
	short    []byte        // the short code's hash
	oneTime  *oneTime      // nil: not a one-time code
	refused  ticket.Reason // its form is not that of a ticket
	what     string        // what it is instead
}

// rare scans are always judged alone.
func (p presented) rare() bool {
	return p.digits != "" || p.oneTime != nil || p.facts.Signs == ticket.SignsNothing
}

// present reads the code: digits that somebody typed, or what a camera saw. It
// comes before the transaction, since an issuer's key may have to be looked up.
func (s *Service) present(by session.Caller, in ScanIn) presented {
	if !in.Ticket.IsZero() {
		return presented{ticket: in.Ticket, verified: true, facts: ticket.CodeFacts{Signs: ticket.SignsNothing}}
	}
	if digits, ok := digitsOf(in.Code); ok {
		return presented{digits: digits}
	}
	if number, digits, ok := numberAndDigits(in.Code); ok {
		return presented{oneTime: &oneTime{number: number, digits: digits}, facts: ticket.CodeFacts{Signs: ticket.SignsTOTP, Typed: true}}
	}
	code, err := wallet.Parse(in.Code)
	var parse *wallet.ParseError
	switch {
	case errors.As(err, &parse):
		return presented{refused: ticket.Reason(parse.Reason), what: parse.What}
	case err != nil:
		return presented{refused: ticket.Malformed}
	case code.Form == wallet.FormText && by.Kind == session.ByDevice:
		// Only programs send the long form; a camera that reads one reads no ticket of ours.
		return presented{refused: ticket.NotATicket, what: "other"}
	}
	p := presented{ticket: ticket.ID(code.Ticket), code: code, facts: codeFacts(code)}
	if code.Kind == wallet.KindPaper {
		p.issuer, _ = s.keys(code.IssuerKey)
	}
	if code.Kind == wallet.KindTOTP {
		p.oneTime = &oneTime{digits: code.OTP}
	}
	return p
}

// findTyped finds the ticket of a code that somebody typed, or that names none by
// itself. What it finds depends on who asks, so that is made sure of first.
func (s *Service) findTyped(ctx context.Context, tx pgx.Tx, q *question) error {
	if q.digits == "" && q.oneTime == nil {
		return nil
	}
	if err := confirmNow(ctx, tx, q); err != nil {
		return err
	}
	if q.digits != "" {
		return s.findShort(ctx, tx, q.by, q.in, &q.presented)
	}
	return s.findOneTime(ctx, tx, q)
}

// verify checks the code's signature with the key of the claim it names, or with
// the issuer's for paper.
func (p presented) verify(f ticket.Facts, publicKey []byte) bool {
	if f.Ticket == nil || f.Claim == nil || p.oneTime != nil {
		return false
	}
	event := uuid.UUID(f.Event.ID)
	if p.code.Kind == wallet.KindPaper {
		return p.issuer != nil && p.code.VerifyPaper(p.issuer, event) == nil
	}
	if len(publicKey) != 64 {
		return false
	}
	key, err := wallet.ParsePublicKey([64]byte(publicKey))
	return err == nil && p.code.VerifyPhone(key, event) == nil
}

// passageIf is what the proof signed, where one proof makes one passage; a one-time
// code makes one everywhere.
func (p presented) passageIf(reentry bool) []byte {
	switch {
	case p.oneTime != nil && p.verified:
		return passageOf(p.oneTime.step)
	case !reentry:
		return nil
	case p.facts.Signs == ticket.SignsTime:
		return binary.BigEndian.AppendUint64(nil, uint64(p.facts.IssuedAt.Unix()))
	}
	return p.facts.Nonce
}

func codeFacts(code wallet.Code) ticket.CodeFacts {
	f := ticket.CodeFacts{Generation: code.Generation, IssuedAt: time.Unix(code.IssuedAt, 0).UTC()}
	switch code.Kind {
	case wallet.KindNonce:
		f.Signs, f.Nonce = ticket.SignsNonce, code.Nonce[:]
	case wallet.KindTime:
		f.Signs = ticket.SignsTime
	case wallet.KindPaper:
		f.Signs = ticket.SignsPaper
	default:
		f.Signs = ticket.SignsTOTP
	}
	return f
}
