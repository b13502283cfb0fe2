package main

import (
	"context"

	"portillon/server/client"
	"portillon/server/ticket"
)

type venueCommand struct {
	Add  venueAdd  `cmd:"" help:"Add a venue."`
	List venueList `cmd:"" help:"List venues."`
}

type venueAdd struct {
	apiFlags
	repeatable
	Name     string `arg:"" help:"What people call it."`
	TimeZone string `help:"Its time zone, as in Europe/Prague." required:"" placeholder:"ZONE"`
}

// Run adds the venue.
func (v *venueAdd) Run(ctx context.Context, out *console) error {
	made, err := create[client.Venue](ctx, v.apiFlags, v.Key, "/v1/venues", struct {
		Name     string `json:"name"`
		TimeZone string `json:"time_zone"`
	}{v.Name, v.TimeZone})
	if err != nil {
		return err
	}
	return out.answer(made, func() error { return out.line("%s", made.Venue) })
}

type venueList struct{ apiFlags }

// Run lists venues.
func (v *venueList) Run(ctx context.Context, out *console) error {
	venues, err := all[client.Venue](ctx, v.apiFlags, "/v1/venues", nil)
	if err != nil {
		return err
	}
	return list(out, venues, "VENUE NAME TIME_ZONE", func(v client.Venue) []string {
		return []string{v.Venue.String(), v.Name, v.TimeZone}
	})
}

// gateAdd and gateList stand under "gate", where "gate hold" is.
type gateAdd struct {
	apiFlags
	repeatable
	Venue ticket.VenueID `help:"The gate's venue." required:"" placeholder:"UUID"`
	Name  string         `arg:"" help:"What is written over it."`
}

// Run adds the gate.
func (g *gateAdd) Run(ctx context.Context, out *console) error {
	made, err := create[client.Gate](ctx, g.apiFlags, g.Key, "/v1/venues/"+g.Venue.String()+"/gates", struct {
		Name string `json:"name"`
	}{g.Name})
	if err != nil {
		return err
	}
	return out.answer(made, func() error { return out.line("%s", made.Gate) })
}

type gateList struct {
	apiFlags
	Venue ticket.VenueID `help:"The gates' venue." required:"" placeholder:"UUID"`
}

// Run lists the gates of a venue.
func (g *gateList) Run(ctx context.Context, out *console) error {
	gates, err := all[client.Gate](ctx, g.apiFlags, "/v1/venues/"+g.Venue.String()+"/gates", nil)
	if err != nil {
		return err
	}
	return list(out, gates, "GATE NAME", func(g client.Gate) []string { return []string{g.Gate.String(), g.Name} })
}
