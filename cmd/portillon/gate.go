package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	"portillon/server/client"
	"portillon/server/ticket"
)

type gateCommand struct {
	Add  gateAdd  `cmd:"" help:"Add a gate to a venue."`
	List gateList `cmd:"" help:"List a venue's gates."`
	Hold gateHold `cmd:"" help:"Hold a gate's lease like a gate page, until stopped."`
}

// renewEvery is how often a gate page renews its lease of 15 s.
const renewEvery = 5 * time.Second

type gateHold struct {
	apiFlags
	Gate  ticket.GateID `help:"The gate." required:"" placeholder:"UUID" env:"PORTILLON_GATE"`
	Close bool          `help:"Close the gate when stopped: no nonce is made for it any more, not even for the next 60 s."`
}

// Help is the long form of the command's help.
func (gateHold) Help() string {
	return `Wallets can show a living code only while somebody holds a gate of their venue.
This holds one, renews the lease every 5 seconds, and prints each new nonce as
one JSON object. It needs the credential of a gate device with a person signed
on (see "portillon device add"). Ctrl-C gives the lease back at once.`
}

// nonceLine is what is printed for each nonce. The lease is a credential and is
// not printed.
type nonceLine struct {
	Nonce       string    `json:"nonce"`
	IssuedAt    time.Time `json:"issued_at"`
	AcceptedFor float64   `json:"accepted_for"`
	ServerTime  time.Time `json:"server_time"`
}

// Run holds the lease until the context ends.
func (g *gateHold) Run(ctx context.Context, out *console) error {
	c, err := g.client()
	if err != nil {
		return err
	}
	h := holder{client: c, gate: g.Gate, out: out}
	err = h.hold(ctx)
	h.giveBack(context.WithoutCancel(ctx), g.Close)
	return err
}

// holder keeps one lease.
type holder struct {
	client *client.Client
	gate   ticket.GateID
	out    *console
	lease  string
	last   string // the nonce printed last
	away   bool   // the server does not answer
}

func (h *holder) hold(ctx context.Context) error {
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for {
		if err := h.renew(ctx); err != nil {
			return ignore(err, context.Canceled)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// renew prolongs the lease, or opens a new one when there is none or it lapsed
// while the server could not be reached.
func (h *holder) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, renewEvery)
	defer cancel()
	held, err := h.call(ctx)
	var problem *client.Problem
	if h.lease != "" && errors.As(err, &problem) && problem.Status == http.StatusGone {
		h.lease = ""
		held, err = h.call(ctx)
	}
	if client.RetryLater(err) {
		if !h.away {
			h.out.note("The server does not answer; still trying: %v", err)
		}
		h.away = true
		return nil
	}
	if err != nil {
		return err
	}
	h.away, h.lease = false, held.Lease
	if held.Nonce == h.last {
		return nil
	}
	h.last = held.Nonce
	return h.out.object(nonceLine{held.Nonce, held.IssuedAt, held.AcceptedFor, held.ServerTime})
}

func (h *holder) call(ctx context.Context) (client.Hold, error) {
	if h.lease == "" {
		return h.client.HoldGate(ctx, h.gate)
	}
	return h.client.RenewLease(ctx, h.lease)
}

func (h *holder) giveBack(ctx context.Context, closeGate bool) {
	if h.lease == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, renewEvery)
	defer cancel()
	end := h.client.ReleaseLease
	if closeGate {
		end = h.client.CloseGate
	}
	if err := end(ctx, h.lease); err != nil {
		h.out.note("The lease could not be given back and will lapse within 15 s: %v", err)
	}
}
