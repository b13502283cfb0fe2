package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"portillon/server/client"
	"portillon/server/ticket"
	"portillon/wallet"
)

type walletShow struct {
	phoneFlags
	Ticket string `help:"Which ticket, by its number or id. Without it: the first that has not been used." placeholder:"TICKET"`
	Form   string `help:"packed is what a phone shows; text is the same proof as a JWS, for API tokens." enum:"packed,text" default:"packed"`
	QR     bool   `help:"Draw the code."`
}

// Help is the long form of the command's help.
func (walletShow) Help() string {
	return `Prints the code alone on one line. Where the venue's gates are held, the code
signs the present nonce and is good for 35 seconds. Otherwise, or without
network, it is the code by the phone's clock, and standard error says why:
gate_not_open or no_network.`
}

// Why a code is made by the clock.
const (
	gateNotOpen = "gate_not_open"
	noNetwork   = "no_network"
)

// shownCode is what --json prints.
type shownCode struct {
	Code       string    `json:"code"`
	Kind       string    `json:"kind"` // pushed, timed or totp
	Ticket     ticket.ID `json:"ticket"`
	Generation uint8     `json:"generation"`
	IssuedAt   time.Time `json:"issued_at"`
	Why        string    `json:"why,omitempty"` // of timed
}

// Run prints the code.
func (w *walletShow) Run(ctx context.Context, out *console) error {
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
	offline := err != nil
	if err := p.heard(state.ServerTime); err != nil {
		return err
	}
	held, t, err := p.choose(w.Ticket, state)
	if err != nil {
		return err
	}
	code, shown, err := p.sign(ctx, held, t, offline)
	if err != nil {
		return err
	}
	shown.Code = code.String()
	if w.Form == "text" {
		shown.Code = code.Text(held.Event)
	}
	if shown.Why != "" {
		out.note("%s", explain(shown.Why, t, p.serverNow()))
	}
	return out.answer(shown, func() error {
		if w.QR {
			if err := out.qr(shown.Code); err != nil {
				return err
			}
		}
		return out.line("%s", shown.Code)
	})
}

func explain(why string, t client.WalletTicket, now time.Time) string {
	doors := t.Event.DoorsOpenAt
	switch {
	case why == noNetwork:
		return noNetwork + ": the server does not answer; this code goes by the phone's clock"
	case now.Before(doors):
		return fmt.Sprintf("%s: doors open at %s; this code goes by the phone's clock", gateNotOpen, clock(doors, t.Event.TimeZone))
	}
	return gateNotOpen + ": nobody holds a gate of the venue; this code goes by the phone's clock"
}

// choose finds the ticket to show. Without network the phone knows ids only.
func (p *phone) choose(named string, state client.WalletState) (*wallet.HeldTicket, client.WalletTicket, error) {
	known := map[ticket.ID]client.WalletTicket{}
	for _, t := range state.Tickets {
		known[t.Ticket] = t
	}
	var first *wallet.HeldTicket
	for _, h := range p.Keys.Tickets {
		t, told := known[ticket.ID(h.Ticket)]
		switch {
		case h.Generation == 0 || told && t.Generation != h.Generation:
			continue
		case named != "" && (named == h.Ticket.String() || told && named == strconv.Itoa(t.Number)):
			return h, t, nil
		case named == "" && (!told || t.State == string(ticket.Active)):
			return h, t, nil
		case first == nil:
			first = h
		}
	}
	if named != "" {
		return nil, client.WalletTicket{}, usage("--ticket: this phone has no ticket %q; see \"portillon wallet list\"", named)
	}
	if first == nil {
		return nil, client.WalletTicket{}, errors.New("this phone has no ticket; see \"portillon wallet claim\"")
	}
	return first, known[ticket.ID(first.Ticket)], nil // used, held or moved: the door says so
}

// sign signs the venue's nonce where there is one, and the corrected clock
// otherwise.
func (p *phone) sign(ctx context.Context, held *wallet.HeldTicket, t client.WalletTicket, offline bool) (wallet.Code, shownCode, error) {
	shown := shownCode{Ticket: ticket.ID(held.Ticket), Generation: held.Generation, Kind: string(ticket.Pushed)}
	why := noNetwork
	if !offline {
		nonces, err := p.Nonces(ctx)
		if err != nil && !client.RetryLater(err) {
			return wallet.Code{}, shown, err
		}
		for _, n := range nonces.Venues {
			if n.Venue != t.Event.Venue || !n.Open {
				continue
			}
			nonce, err := n.Bytes()
			if err != nil {
				return wallet.Code{}, shown, err
			}
			shown.IssuedAt = n.IssuedAt
			code, err := held.SignNonce(nonce)
			return code, shown, err
		}
		if err == nil {
			why = gateNotOpen
		}
	}
	now := p.serverNow()
	shown.Kind, shown.Why, shown.IssuedAt = string(ticket.Timed), why, now.UTC().Truncate(time.Second)
	code, err := held.SignTime(now.Unix())
	return code, shown, err
}
