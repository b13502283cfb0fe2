package main

import (
	"context"
	"fmt"
	"time"

	"portillon/server/client"
	"portillon/server/ticket"
	"portillon/wallet"
)

type walletTOTP struct {
	phoneFlags
	Ticket  string `help:"Which ticket, by its number or id. Without it: the first that has not been used." placeholder:"TICKET"`
	Pattern bool   `help:"Print the code as a wallet app shows it in a QR, for scanners."`
	QR      bool   `help:"Draw the code."`
}

// Help is the long form of the command's help.
func (walletTOTP) Help() string {
	return `Prints the ticket's number and eight digits, to be typed at the door in place of
a code that cannot be shown. They are good for about half a minute, once. The
first time, the phone asks the server for the secret that they are made of and
keeps it in its key file; from then on it needs no network. Without network the
number is not known, and the pattern for scanners is printed.`
}

// Run prints the code.
func (w *walletTOTP) Run(ctx context.Context, out *console) error {
	p, err := w.open("", false)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	state, err := p.SignIn(ctx)
	if err != nil && !client.RetryLater(err) {
		return err
	}
	if err := p.heard(state.ServerTime); err != nil {
		return err
	}
	held, t, err := p.choose(w.Ticket, state)
	if err != nil {
		return err
	}
	if held.OneTime == nil {
		if _, err := p.OneTime(ctx, held); err != nil {
			return err
		}
		if err := p.Keys.Save(p.file); err != nil {
			return err
		}
	}
	now := p.serverNow()
	code, err := oneTimeCode(held, t.Number, now, w.Pattern)
	if err != nil {
		return err
	}
	shown := shownCode{
		Code: code, Kind: string(ticket.TOTP), Ticket: ticket.ID(held.Ticket), Generation: held.Generation,
		IssuedAt: now.UTC().Truncate(time.Second),
	}
	return out.answer(shown, func() error {
		if w.QR {
			if err := out.qr(code); err != nil {
				return err
			}
		}
		return out.line("%s", code)
	})
}

// oneTimeCode is the number and the digits, or the pattern where that is wanted or
// the number not known.
func oneTimeCode(held *wallet.HeldTicket, number int, now time.Time, pattern bool) (string, error) {
	if pattern || number == 0 {
		code, err := held.OneTimePattern(now.Unix())
		return code.String(), err
	}
	digits, err := held.OneTimeCode(now.Unix())
	return fmt.Sprintf("%d %s", number, digits), err
}
