package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	"portillon/server/client"
	"portillon/server/ticket"
	"portillon/wallet"
)

type walletCommand struct {
	Claim walletClaim `cmd:"" help:"Put a claim link's tickets on this phone."`
	Show  walletShow  `cmd:"" help:"Print the code to show at the door now."`
	TOTP  walletTOTP  `cmd:"" name:"totp" help:"Print a one-time code to be typed at the door."`
	Watch walletWatch `cmd:"" help:"Follow nonces and news, one JSON object a line."`
	List  walletList  `cmd:"" help:"List the phone's tickets and how they stand."`
}

// phoneFlags say where the phone's keys are.
type phoneFlags struct {
	Key string `help:"The phone's key file, mode 0600. Next to it, in FILE.server, stands which server it belongs to." required:"" type:"path" placeholder:"FILE"`
	URL string `help:"Address of the server, when it has moved since the claim." placeholder:"URL"`
}

// home is FILE.server: what the phone knows of its server beside its keys.
type home struct {
	URL string `json:"url"`
	// AheadMS is how far the server's clock was ahead of ours when it was last
	// heard, in milliseconds: without network, the phone corrects its clock by it.
	AheadMS int64 `json:"ahead_ms"`
}

// phone is the reference phone with its files.
type phone struct {
	*client.Phone
	file string
	home home
}

func (f phoneFlags) open(address string, create bool) (*phone, error) {
	keys, err := wallet.LoadPhone(f.Key)
	switch {
	case errors.Is(err, fs.ErrNotExist) && create:
		keys = &wallet.Phone{}
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no key file %s: \"portillon wallet claim\" makes it", f.Key)
	case err != nil:
		return nil, err
	}
	p := &phone{file: f.Key}
	if content, err := os.ReadFile(f.Key + ".server"); err == nil {
		_ = json.Unmarshal(content, &p.home) // one that is broken is made anew
	}
	if f.URL != "" {
		address = f.URL
	}
	if address != "" {
		p.home.URL = address
	}
	if err := checkURL(p.home.URL); err != nil {
		return nil, err
	}
	p.Phone = client.NewPhone(p.home.URL, keys, nil)
	return p, nil
}

// heard learns the server's clock and keeps what the phone knows.
func (p *phone) heard(serverTime time.Time) error {
	if !serverTime.IsZero() {
		p.home.AheadMS = time.Until(serverTime).Milliseconds()
	}
	content, err := json.Marshal(p.home)
	if err != nil {
		return err
	}
	return os.WriteFile(p.file+".server", append(content, '\n'), 0o600)
}

func (p *phone) serverNow() time.Time {
	return time.Now().Add(time.Duration(p.home.AheadMS) * time.Millisecond)
}

type walletClaim struct {
	phoneFlags
	Link   string      `arg:"" name:"url" help:"The claim link (https://…/w#…); \"-\" reads it from standard input."`
	Ticket []ticket.ID `help:"Only these tickets of the link." placeholder:"UUID"`
}

// Run claims.
func (w *walletClaim) Run(ctx context.Context, out *console) error {
	link := w.Link
	if link == "-" {
		line, err := out.secretLine("claim link")
		if err != nil {
			return err
		}
		link = line
	}
	address, code, err := cutLink(link)
	if err != nil {
		return err
	}
	p, err := w.open(address, true)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	claimed, err := p.Claim(ctx, code, func() error { return p.Keys.Save(p.file) }, w.Ticket...)
	if err != nil {
		return err
	}
	if err := p.heard(claimed.ServerTime); err != nil {
		return err
	}
	return out.answer(claimed, func() error {
		return list(out, claimed.Tickets, "NUMBER SEAT CATEGORY SCREEN DOORS EVENT TICKET", func(t client.ClaimedTicket) []string {
			return []string{
				fmt.Sprint(t.Number), t.Seat, t.Category, t.Event.Screen, clock(t.Event.DoorsOpenAt, t.Event.TimeZone), t.Event.Name, t.Ticket.String(),
			}
		})
	})
}

// cutLink takes a claim link apart: the server's address and the code, which
// stands in the fragment.
func cutLink(link string) (address, code string, err error) {
	parsed, err := url.Parse(strings.TrimSpace(link))
	if err != nil || parsed.Fragment == "" || !strings.HasSuffix(parsed.Path, "/w") {
		return "", "", usage("this is not a claim link; one looks like https://tickets.example/w#…")
	}
	code = parsed.Fragment
	parsed.Fragment, parsed.RawFragment = "", ""
	parsed.Path = strings.TrimSuffix(parsed.Path, "/w")
	return parsed.String(), code, nil
}

type walletList struct{ phoneFlags }

// Run lists the tickets.
func (w *walletList) Run(ctx context.Context, out *console) error {
	p, err := w.open("", false)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	state, err := p.SignIn(ctx)
	if err != nil {
		return err
	}
	if err := p.heard(state.ServerTime); err != nil {
		return err
	}
	return list(out, state.Tickets, "NUMBER SEAT CATEGORY STATE SCREEN DOORS EVENT TICKET", func(t client.WalletTicket) []string {
		return []string{
			fmt.Sprint(t.Number), t.Seat, t.Category, t.State, t.Event.Screen, clock(t.Event.DoorsOpenAt, t.Event.TimeZone), t.Event.Name, t.Ticket.String(),
		}
	})
}

type walletWatch struct{ phoneFlags }

// Help is the long form of the command's help.
func (walletWatch) Help() string {
	return `Prints each event of the wallet's stream as {"event": …, "data": …}: nonce,
closed, waiting, and ticket with what happened to it. Connects again when the
stream ends, until stopped.`
}

// Run follows the stream until the context ends.
func (w *walletWatch) Run(ctx context.Context, out *console) error {
	p, err := w.open("", false)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		err := p.follow(ctx, out)
		if err != nil && ctx.Err() == nil && !client.RetryLater(err) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			out.note("The stream broke off; connecting again: %v", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(max(client.Wait(err), time.Second)):
		}
	}
	return nil
}

func (p *phone) follow(ctx context.Context, out *console) error {
	state, err := p.SignIn(ctx)
	if err != nil {
		return err
	}
	if err := p.heard(state.ServerTime); err != nil {
		return err
	}
	return p.Follow(ctx, func(e client.StreamEvent) error { return out.object(e) })
}
