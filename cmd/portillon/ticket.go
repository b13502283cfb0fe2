package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"portillon/server/client"
	"portillon/server/ticket"
)

type ticketCommand struct {
	Issue     ticketIssue     `cmd:"" help:"Issue tickets: one order, consecutive numbers, one claim link."`
	List      ticketList      `cmd:"" help:"List a showing's tickets."`
	Show      ticketShow      `cmd:"" help:"Show a ticket and its history."`
	Revoke    ticketRevoke    `cmd:"" help:"End a ticket."`
	Reinstate ticketReinstate `cmd:"" help:"Give a revoked ticket back."`
	Hold      ticketHold      `cmd:"" help:"Block a ticket until it is released."`
	Release   ticketRelease   `cmd:"" help:"Release a held ticket."`
	Link      ticketLink      `cmd:"" help:"Show a ticket's claim link again; this is written down."`
	Reissue   ticketReissue   `cmd:"" help:"Make a new claim link; the old one ends."`
	Print     ticketPrint     `cmd:"" help:"Move a ticket to paper and print its code; the code on a phone ends."`
}

type ticketIssue struct {
	apiFlags
	repeatable
	Event      ticket.EventID `help:"The showing." required:"" placeholder:"UUID"`
	Category   string         `help:"The category's name or id." default:"Standard" placeholder:"NAME"`
	Count      int            `help:"How many tickets. Without it: as many as there are seats, or one." placeholder:"N"`
	Seats      []string       `name:"seat" help:"The seat; once a ticket, or several with commas." placeholder:"SEAT"`
	Holder     string         `help:"The holder's name."`
	Email      string         `help:"The holder's e-mail address."`
	ExternalID string         `help:"What another system calls the ticket; unique in the showing." placeholder:"ID"`
}

// Run issues the tickets of one order.
func (t *ticketIssue) Run(ctx context.Context, out *console) error {
	category, err := t.category(ctx, t.Event, t.Category)
	if err != nil {
		return err
	}
	body := client.NewTickets{Category: category, ExternalID: t.ExternalID, Count: t.Count}
	switch {
	case len(t.Seats) == 1:
		body.Seat = t.Seats[0]
	case len(t.Seats) > 1:
		body.Seats = t.Seats
	}
	if t.Holder != "" || t.Email != "" {
		body.Holder = &client.Holder{Name: t.Holder, Email: t.Email}
	}
	order, err := create[client.Issued](ctx, t.apiFlags, t.Key, "/v1/events/"+t.Event.String()+"/tickets", body)
	if err != nil {
		return err
	}
	return out.answer(order, func() error {
		err := list(out, order.Tickets, "NUMBER SEAT TICKET", func(t client.IssuedTicket) []string {
			return []string{strconv.Itoa(t.Number), t.Seat, t.Ticket.String()}
		})
		if err != nil {
			return err
		}
		return out.line("\nClaim link, for the holder only:\n%s", order.ClaimURL)
	})
}

type ticketList struct {
	apiFlags
	Event  ticket.EventID `help:"The showing." required:"" placeholder:"UUID"`
	Query  string         `short:"q" help:"Part of a name, a number, a seat, an e-mail address or an external id." placeholder:"TEXT"`
	Status ticket.Status  `help:"Only active, used, held or revoked ones." enum:"active,used,held,revoked," default:""`
}

// Run lists a showing's tickets.
func (t *ticketList) Run(ctx context.Context, out *console) error {
	query := url.Values{}
	if t.Query != "" {
		query.Set("q", t.Query)
	}
	if t.Status != "" {
		query.Set("status", string(t.Status))
	}
	tickets, err := all[client.Ticket](ctx, t.apiFlags, "/v1/events/"+t.Event.String()+"/tickets", query)
	if err != nil {
		return err
	}
	return list(out, tickets, "NUMBER SEAT CATEGORY STATUS CLAIM ENTRIES HOLDER TICKET", func(t client.Ticket) []string {
		return []string{
			strconv.Itoa(t.Number), t.Seat, t.CategoryName, string(t.Status), t.Claim,
			fmt.Sprintf("%d/%d", t.Entries, t.Admits), t.Holder.Name, t.Ticket.String(),
		}
	})
}

// oneTicket is the argument of commands about one ticket.
type oneTicket struct {
	apiFlags
	Ticket ticket.ID `arg:"" help:"The ticket's id."`
}

func (t oneTicket) path(act string) string {
	return strings.TrimRight("/v1/tickets/"+t.Ticket.String()+"/"+act, "/")
}

type ticketShow struct{ oneTicket }

// Run shows one ticket.
func (t *ticketShow) Run(ctx context.Context, out *console) error {
	found, err := call[client.Ticket](ctx, t.apiFlags, http.MethodGet, t.path(""), nil)
	if err != nil {
		return err
	}
	return out.answer(found, func() error { return printTicket(out, found) })
}

func printTicket(out *console, t client.Ticket) error {
	err := out.pairs(
		[2]string{"ticket", t.Ticket.String()}, [2]string{"number", strconv.Itoa(t.Number)}, [2]string{"seat", t.Seat},
		[2]string{"category", t.CategoryName}, [2]string{"holder", strings.TrimSpace(t.Holder.Name + " " + t.Holder.Email)},
		[2]string{"status", string(t.Status)}, [2]string{"claim", fmt.Sprintf("%s (generation %d)", t.Claim, t.Generation)},
		[2]string{"entries", fmt.Sprintf("%d of %d", t.Entries, t.Admits)}, [2]string{"used_at", clock(t.UsedAt, "")},
	)
	if err != nil || len(t.History)+len(t.Admissions) == 0 {
		return err
	}
	_ = out.line("")
	err = list(out, t.Admissions, "AT DIRECTION PEOPLE GATE BY UNDONE", func(a client.AdmissionRow) []string {
		return []string{clock(a.At, ""), string(a.Direction), strconv.Itoa(a.People), a.GateName, a.PersonName, yesNo(a.Undone != nil)}
	})
	if err != nil {
		return err
	}
	_ = out.line("")
	return list(out, t.History, "AT ACT BY DEVICE REASON", func(h client.HistoryRow) []string {
		return []string{clock(h.At, ""), h.Act, either(h.PersonName != "", h.PersonName, h.Actor), h.DeviceName, h.Reason}
	})
}

// withReason is the argument of commands that change one ticket.
type withReason struct {
	oneTicket
	repeatable
	Reason string `help:"Why, in your words; it stays in the ticket's history." required:""`
}

func (t withReason) change(ctx context.Context, out *console, act string) error {
	changed, err := create[client.Ticket](ctx, t.apiFlags, t.Key, t.path(act), struct {
		Reason string `json:"reason"`
	}{t.Reason})
	if err != nil {
		return err
	}
	return out.answer(changed, func() error { return out.line("Ticket %d is %s.", changed.Number, changed.Status) })
}

type (
	ticketRevoke    struct{ withReason }
	ticketReinstate struct{ withReason }
	ticketHold      struct{ withReason }
	ticketRelease   struct{ withReason }
)

// Run ends the ticket.
func (t *ticketRevoke) Run(ctx context.Context, out *console) error {
	return t.change(ctx, out, "revoke")
}

// Run gives the ticket back.
func (t *ticketReinstate) Run(ctx context.Context, out *console) error {
	return t.change(ctx, out, "reinstate")
}

// Run blocks the ticket.
func (t *ticketHold) Run(ctx context.Context, out *console) error { return t.change(ctx, out, "hold") }

// Run releases the ticket.
func (t *ticketRelease) Run(ctx context.Context, out *console) error {
	return t.change(ctx, out, "release")
}

type ticketLink struct{ oneTicket }

// Run shows the claim link.
func (t *ticketLink) Run(ctx context.Context, out *console) error {
	link, err := call[client.ClaimLink](ctx, t.apiFlags, http.MethodPost, t.path("link"), struct{}{})
	if err != nil {
		return err
	}
	return out.answer(link, func() error { return out.line("%s", link.ClaimURL) })
}

type ticketReissue struct{ withReason }

// Run makes a new claim link.
func (t *ticketReissue) Run(ctx context.Context, out *console) error {
	link, err := create[client.ClaimLink](ctx, t.apiFlags, t.Key, t.path("reissue"), struct {
		Reason string `json:"reason"`
	}{t.Reason})
	if err != nil {
		return err
	}
	return out.answer(link, func() error { return out.line("%s", link.ClaimURL) })
}

type ticketPrint struct {
	oneTicket
	repeatable
	Reason string `help:"Why, in your words; it stays in the ticket's history."`
	QR     bool   `help:"Draw the code too."`
}

// Run moves the ticket to paper.
func (t *ticketPrint) Run(ctx context.Context, out *console) error {
	printed, err := create[client.Printed](ctx, t.apiFlags, t.Key, t.path("print"), struct {
		Reason string `json:"reason,omitempty"`
	}{t.Reason})
	if err != nil {
		return err
	}
	return out.answer(printed, func() error {
		if t.QR {
			if err := out.qr(printed.Code); err != nil {
				return err
			}
		}
		return out.line("%s", printed.Code)
	})
}
