package main

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"portillon/server/client"
	"portillon/server/ticket"
)

type eventCommand struct {
	Add      eventAdd        `cmd:"" help:"Add a showing."`
	List     eventList       `cmd:"" help:"List showings."`
	Show     eventShow       `cmd:"" help:"Show one showing with its policy."`
	Category categoryCommand `cmd:"" help:"Kinds of tickets of a showing."`
}

type eventAdd struct {
	apiFlags
	repeatable
	Venue        ticket.VenueID   `help:"Where it is." required:"" placeholder:"UUID"`
	Name         string           `arg:"" help:"What is shown."`
	Screen       string           `help:"The screen or hall, shown large at the door."`
	Doors        time.Time        `help:"When the doors open (RFC 3339, as in 2030-05-04T19:30:00+02:00). Without it: 30 minutes before the start." placeholder:"TIME"`
	Starts       time.Time        `help:"When it starts." required:"" placeholder:"TIME"`
	Ends         time.Time        `help:"When it ends; nobody is let in any more." required:"" placeholder:"TIME"`
	ClaimFrom    time.Time        `help:"From when tickets can be put on a phone. Without it: 72 hours before doors." placeholder:"TIME"`
	Freshness    ticket.Freshness `help:"Which codes count: live (only those that need network), assisted (others when the controller says so), open." enum:"live,assisted,open," default:""`
	Rescan       ticket.Rescan    `help:"What a used ticket gets: strict, show_time (when it was used, and staff may judge), recover." enum:"strict,show_time,recover," default:""`
	RescanWindow time.Duration    `help:"How long a use counts as young, as in 5m." placeholder:"TIME"`
	Reentry      bool             `help:"People may go out and come back."`
	HideNames    bool             `help:"Do not show holders' names at the door."`
	Responsible  string           `help:"Who gets a mail of each order and each imported file." placeholder:"ADDRESS"`
	Language     string           `help:"The language of those mails." enum:"en,fr,cs" default:"en"`
}

// Run adds the showing.
func (e *eventAdd) Run(ctx context.Context, out *console) error {
	body := client.NewEvent{
		Venue: e.Venue, Name: e.Name, Screen: e.Screen, DoorsOpenAt: e.Doors, StartsAt: e.Starts, EndsAt: e.Ends, ClaimFrom: e.ClaimFrom,
	}
	if body.DoorsOpenAt.IsZero() {
		body.DoorsOpenAt = e.Starts.Add(-30 * time.Minute)
	}
	if e.Responsible != "" {
		body.Responsible = &client.Responsible{Email: e.Responsible, Language: e.Language}
	}
	policy := client.Policy{Freshness: e.Freshness, Rescan: e.Rescan, RescanWindowS: int(e.RescanWindow / time.Second), Reentry: e.Reentry}
	if e.HideNames {
		policy.ShowNames = new(bool)
	}
	if policy != (client.Policy{}) {
		body.Policy = &policy
	}
	made, err := create[client.Event](ctx, e.apiFlags, e.Key, "/v1/events", body)
	if err != nil {
		return err
	}
	return out.answer(made, func() error { return out.line("%s", made.Event) })
}

type eventList struct {
	apiFlags
	Venue ticket.VenueID `help:"Only at this venue." placeholder:"UUID"`
	From  time.Time      `help:"Only those that end after this time." placeholder:"TIME"`
}

// Run lists showings.
func (e *eventList) Run(ctx context.Context, out *console) error {
	query := url.Values{}
	if !e.Venue.IsZero() {
		query.Set("venue", e.Venue.String())
	}
	if !e.From.IsZero() {
		query.Set("from", e.From.UTC().Format(time.RFC3339))
	}
	events, err := all[client.Event](ctx, e.apiFlags, "/v1/events", query)
	if err != nil {
		return err
	}
	return list(out, events, "EVENT DOORS STARTS SCREEN NAME", func(e client.Event) []string {
		return []string{e.Event.String(), clock(e.DoorsOpenAt, e.TimeZone), clock(e.StartsAt, e.TimeZone), e.Screen, e.Name}
	})
}

type eventShow struct {
	apiFlags
	Event ticket.EventID `arg:"" help:"The showing's id."`
}

// Run shows one showing.
func (e *eventShow) Run(ctx context.Context, out *console) error {
	event, err := call[client.Event](ctx, e.apiFlags, http.MethodGet, "/v1/events/"+e.Event.String(), nil)
	if err != nil {
		return err
	}
	return out.answer(event, func() error {
		p := event.Policy
		return out.pairs(
			[2]string{"event", event.Event.String()}, [2]string{"venue", event.VenueName + " " + event.Venue.String()}, [2]string{"name", event.Name},
			[2]string{"screen", event.Screen}, [2]string{"doors_open_at", clock(event.DoorsOpenAt, event.TimeZone)},
			[2]string{"starts_at", clock(event.StartsAt, event.TimeZone)}, [2]string{"ends_at", clock(event.EndsAt, event.TimeZone)},
			[2]string{"claim_from", clock(event.ClaimFrom, event.TimeZone)}, [2]string{"freshness", string(p.Freshness)},
			[2]string{"rescan", string(p.Rescan)}, [2]string{"rescan_window_s", strconv.Itoa(p.RescanWindowS)},
			[2]string{"reentry", yesNo(p.Reentry)},
		)
	})
}

type categoryCommand struct {
	Add  categoryAdd  `cmd:"" help:"Add a category of tickets."`
	List categoryList `cmd:"" help:"List a showing's categories."`
}

type categoryAdd struct {
	apiFlags
	repeatable
	Event      ticket.EventID  `arg:"" help:"The showing's id."`
	Name       string          `arg:"" help:"What is printed on the ticket, as in Concession."`
	Admits     int             `help:"How many people a ticket lets in." default:"1"`
	Paper      bool            `help:"Tickets may be printed instead of put on a phone."`
	Gates      []ticket.GateID `help:"Only at these gates." placeholder:"UUID"`
	ValidFrom  time.Time       `help:"Not before this time." placeholder:"TIME"`
	ValidUntil time.Time       `help:"Not after this time." placeholder:"TIME"`
}

// Run adds the category.
func (c *categoryAdd) Run(ctx context.Context, out *console) error {
	made, err := create[client.Category](ctx, c.apiFlags, c.Key, "/v1/events/"+c.Event.String()+"/categories", client.NewCategory{
		Name: c.Name, Admits: c.Admits, Paper: c.Paper, Gates: c.Gates, ValidFrom: c.ValidFrom, ValidUntil: c.ValidUntil,
	})
	if err != nil {
		return err
	}
	return out.answer(made, func() error { return out.line("%s", made.Category) })
}

type categoryList struct {
	apiFlags
	Event ticket.EventID `arg:"" help:"The showing's id."`
}

// Run lists a showing's categories.
func (c *categoryList) Run(ctx context.Context, out *console) error {
	categories, err := all[client.Category](ctx, c.apiFlags, "/v1/events/"+c.Event.String()+"/categories", nil)
	if err != nil {
		return err
	}
	return list(out, categories, "CATEGORY NAME ADMITS PAPER", func(c client.Category) []string {
		return []string{c.Category.String(), c.Name, strconv.Itoa(c.Admits), yesNo(c.Paper)}
	})
}

// category finds a category of an event by its id or its name in any case.
func (f apiFlags) category(ctx context.Context, event ticket.EventID, named string) (ticket.CategoryID, error) {
	var id ticket.CategoryID
	if id.UnmarshalText([]byte(named)) == nil {
		return id, nil
	}
	categories, err := all[client.Category](ctx, f, "/v1/events/"+event.String()+"/categories", nil)
	if err != nil {
		return ticket.CategoryID{}, err
	}
	names := make([]string, 0, len(categories))
	for _, c := range categories {
		if strings.EqualFold(c.Name, named) {
			return c.Category, nil
		}
		names = append(names, strconv.Quote(c.Name))
	}
	return ticket.CategoryID{}, usage("--category: this showing has no category %q; it has %s", named, strings.Join(names, ", "))
}
