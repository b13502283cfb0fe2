package main

import (
	"context"
	"fmt"
	"time"

	"portillon/server/ticket"
)

type demoCommand struct {
	serveFlags
}

// Help is the long form of the command's help.
func (demoCommand) Help() string {
	return `The same as "serve", with a small cinema in it: six showings whose doors are
open now, some tickets, and three people. It prints links for the desk (signs
in once), the gate (pairs this browser as a scanner) and a few tickets (put
them on a phone or in another browser window). Started again on the same data
folder it finds everything again, and makes new showings when the old ones are
over. With --json it prints one object when it is ready, and nothing else.

Not for a real door: the gate link pairs without asking anybody.`
}

// demoReady is what a program needs to play with the demo.
type demoReady struct {
	URL             string          `json:"url"`
	APIToken        string          `json:"api_token"`        // an admin's, all scopes
	ControllerToken string          `json:"controller_token"` // a gate device with a person signed on
	Venue           ticket.VenueID  `json:"venue"`
	Gate            ticket.GateID   `json:"gate"`
	Gates           []demoGate      `json:"gates"`
	Event           ticket.EventID  `json:"event"`
	Events          []demoEvent     `json:"events"`
	DeskLink        string          `json:"desk_link"`
	GateLink        string          `json:"gate_link"`
	WalletLinks     []string        `json:"wallet_links"`
	MetricsURL      string          `json:"metrics_url,omitempty"`
	SignOn          demoPerson      `json:"sign_on"`
	wallets         []demoWallet    // the links again, with what they are
	people          []demoSignature // who is there
}

type demoGate struct {
	Gate ticket.GateID `json:"gate"`
	Name string        `json:"name"`
}

type demoEvent struct {
	Event    ticket.EventID `json:"event"`
	Name     string         `json:"name"`
	Screen   string         `json:"screen"`
	StartsAt time.Time      `json:"starts_at"`
}

// demoPerson is who may sign on at the gate, with the PIN.
type demoPerson struct {
	Name string `json:"name"`
	PIN  string `json:"pin"`
}

type demoWallet struct{ link, what string }

type demoSignature struct{ name, email, role string }

// Run serves the demo until the context ends.
func (d *demoCommand) Run(ctx context.Context, out *console) error {
	return d.serve(ctx, out, func(ctx context.Context, up *site) error {
		ready, err := furnish(ctx, up.Server, time.Now())
		if err != nil {
			return fmt.Errorf("make the demo: %w", err)
		}
		ready.URL, ready.MetricsURL = up.url, up.metricsURL
		return out.answer(ready, func() error { return printDemo(out, ready) })
	})
}

func printDemo(out *console, d demoReady) error {
	_ = out.line("\n%s is open: %d showings, doors open now.\n", demoVenue, len(d.Events))
	for _, link := range []struct{ title, link string }{
		{"Desk - signs " + demoAdmin.name + " in, once:", d.DeskLink},
		{"Gate - pairs a browser as a scanner; sign on as " + d.SignOn.Name + " with PIN " + d.SignOn.PIN + ":", d.GateLink},
		{"Wallet - " + d.wallets[0].what + ":", d.wallets[0].link},
	} {
		_ = out.line("%s\n%s", link.title, link.link)
		if err := out.qr(link.link); err != nil {
			return err
		}
	}
	_ = out.line("More tickets:")
	for _, w := range d.wallets[1:] {
		_ = out.line("  %s\n  %s", w.what, w.link)
	}
	return out.line(`
In a shell: export PORTILLON_URL=%s PORTILLON_TOKEN=%s
  portillon event list
  portillon gate hold --gate %s --token %s
Ctrl-C stops everything.`, d.URL, d.APIToken, d.Gate, d.ControllerToken)
}
