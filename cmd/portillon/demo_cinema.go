package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"portillon/server"
	"portillon/server/fault"
	"portillon/server/issue"
	"portillon/server/repeat"
	"portillon/server/session"
	"portillon/server/ticket"
)

const (
	demoVenue = "Kino Modrá laterna"
	demoZone  = "Europe/Prague"
	demoPIN   = "271828"
	// A showing that ends sooner than this is replaced: somebody is to try it.
	demoLeast = 30 * time.Minute
)

var (
	demoGates      = []string{"Main entrance", "Balcony"}
	demoAdmin      = demoSignature{"Alena Dvořáková", "alena@laterna.example", "admin"}
	demoSupervisor = demoSignature{"Karel Beneš", "karel@laterna.example", "supervisor"}
	demoController = demoSignature{"Marie Svobodová", "marie@laterna.example", "controller"}
)

// demoShowings stand on the programme; starts is counted from when it is made.
var demoShowings = []struct {
	name, screen  string
	starts, lasts time.Duration
}{
	{"The Night Train to Lisbon Harbour", "Screen 1", 20 * time.Minute, 118 * time.Minute},
	{"Salt and Honey", "Screen 2", 30 * time.Minute, 96 * time.Minute},
	{"A Short History of Rain", "Screen 3", 40 * time.Minute, 104 * time.Minute},
	{"The Clockmaker's Apprentice", "Screen 4", 50 * time.Minute, 127 * time.Minute},
	{"Letters from Sněžka", "Screen 5", 65 * time.Minute, 89 * time.Minute},
	{"Owls Do Not Knock", "Studio", 80 * time.Minute, 75 * time.Minute},
}

// demoOrders are issued for each showing.
var demoOrders = []struct {
	category string
	holder   issue.Holder
	seats    []string
}{
	{"Standard", issue.Holder{Name: "Jana Nováková", Email: "jana@customer.example"}, []string{"F7", "F8"}},
	{"Family", issue.Holder{Name: "Tomáš Procházka", Email: "tomas@customer.example"}, []string{"D1–D4"}},
	{"Concession", issue.Holder{Name: "Petr Černý", Email: "petr@customer.example"}, []string{"E3"}},
	{"Box office", issue.Holder{Name: "Box office"}, []string{"G1", "G2", "G3", "G4"}},
}

// demoSpace names what the demo makes, so that each thing is made once however
// often the demo starts.
var demoSpace = uuid.NewSHA1(uuid.NameSpaceURL, []byte("portillon demo"))

// once is the creating call of one thing of the demo. What is asked for counts
// with the name: when a later build asks for another thing, that one is made too.
func once(act string, in any, names ...any) repeat.Call {
	body, _ := json.Marshal([]any{act, names, in}) // plain fields: it never fails
	return repeat.Call{Key: uuid.NewSHA1(demoSpace, body), Act: "demo " + act, Hash: sha256.Sum256(body)}
}

// furnish makes what the demo lacks, and new links.
func furnish(ctx context.Context, s *server.Server, now time.Time) (demoReady, error) {
	var d demoReady
	admin, err := demoStaff(ctx, s, &d)
	if err != nil {
		return d, err
	}
	by := operatorAs(admin)
	if err := demoPlace(ctx, s, by, &d); err != nil {
		return d, err
	}
	if err := demoProgramme(ctx, s, by, now, &d); err != nil {
		return d, err
	}
	return d, demoLinks(ctx, s, by, admin, &d)
}

// demoStaff makes the three people; the controller and the supervisor get the
// demo's PIN.
func demoStaff(ctx context.Context, s *server.Server, d *demoReady) (admin ticket.PersonID, err error) {
	d.SignOn = demoPerson{demoController.name, demoPIN}
	d.people = []demoSignature{demoAdmin, demoSupervisor, demoController}
	for _, who := range d.people {
		person, err := s.Session.PersonByEmail(ctx, session.Operator, who.email)
		if fault.Is(err, "person.not_found") {
			person, err = s.Session.AddPerson(ctx, session.Operator, session.PersonIn{
				Name: who.name, Email: who.email, Grants: []session.Grant{{Role: session.Role(who.role), CanOverride: true}},
			})
		}
		if err != nil {
			return admin, err
		}
		if !person.HasPIN {
			if err := s.Session.SetPIN(ctx, session.Operator, person.Person, demoPIN); err != nil {
				return admin, err
			}
		}
		if who == demoAdmin {
			admin = person.Person
		}
	}
	return admin, nil
}

func demoPlace(ctx context.Context, s *server.Server, by session.Caller, d *demoReady) error {
	in := issue.VenueIn{Name: demoVenue, TimeZone: demoZone}
	venue, err := s.Issue.CreateVenue(ctx, by, once("venue", in), in)
	if err != nil {
		return err
	}
	d.Venue = venue.Venue
	for _, name := range demoGates {
		in := issue.GateIn{Name: name}
		gate, err := s.Issue.CreateGate(ctx, by, once("gate", in, venue.Venue), venue.Venue, in)
		if err != nil {
			return err
		}
		d.Gates = append(d.Gates, demoGate{gate.Gate, gate.Name})
	}
	d.Gate = d.Gates[0].Gate
	return nil
}

// demoProgramme finds or makes a showing for each line of the programme, and its
// tickets.
func demoProgramme(ctx context.Context, s *server.Server, by session.Caller, now time.Time, d *demoReady) error {
	running, err := s.Issue.ListEvents(ctx, by, issue.EventQuery{Venue: d.Venue, From: now.Add(demoLeast)})
	if err != nil {
		return err
	}
	for i := range demoShowings {
		event, err := demoShowing(ctx, s, by, i, now, running.Items, d.Venue)
		if err != nil {
			return err
		}
		d.Events = append(d.Events, demoEvent{event.Event, event.Name, event.Screen, event.StartsAt})
		links, err := demoTickets(ctx, s, by, event)
		if err != nil {
			return err
		}
		// One order of each kind, each of another showing.
		if i < len(links) {
			d.wallets = append(d.wallets, links[i])
			d.WalletLinks = append(d.WalletLinks, links[i].link)
		}
	}
	d.Event = d.Events[0].Event
	return nil
}

func demoShowing(ctx context.Context, s *server.Server, by session.Caller, i int, now time.Time, running []issue.Event, venue ticket.VenueID) (issue.Event, error) {
	plan := demoShowings[i]
	for _, e := range running {
		if e.Name == plan.name && e.Screen == plan.screen && e.DoorsOpenAt.Before(now) {
			return e, nil
		}
	}
	base := now.UTC().Truncate(5 * time.Minute)
	in := issue.EventIn{
		Venue: venue, Name: plan.name, Screen: plan.screen,
		DoorsOpenAt: base.Add(-10 * time.Minute), StartsAt: base.Add(plan.starts), EndsAt: base.Add(plan.starts + plan.lasts),
	}
	event, err := s.Issue.CreateEvent(ctx, by, once("event", in), in)
	if err != nil {
		return event, err
	}
	four := 4
	for _, in := range []issue.CategoryIn{
		{Name: "Standard"}, {Name: "Concession"}, {Name: "Family", Admits: &four}, {Name: "Box office", Paper: true},
	} {
		if _, err := s.Issue.CreateCategory(ctx, by, once("category", in, event.Event), event.Event, in); err != nil {
			return event, err
		}
	}
	return event, nil
}

func demoTickets(ctx context.Context, s *server.Server, by session.Caller, event issue.Event) ([]demoWallet, error) {
	categories, err := s.Issue.ListCategories(ctx, by, event.Event)
	if err != nil {
		return nil, err
	}
	ids := map[string]ticket.CategoryID{}
	for _, c := range categories.Items {
		ids[c.Name] = c.Category
	}
	links := make([]demoWallet, 0, len(demoOrders))
	for n, o := range demoOrders {
		in := issue.TicketsIn{Category: ids[o.category], Holder: o.holder, Seats: o.seats}
		order, err := s.Issue.Issue(ctx, by, once("tickets", in, event.Event, n), event.Event, in)
		if err != nil {
			return nil, err
		}
		links = append(links, demoWallet{order.ClaimURL, fmt.Sprintf("%s, %d × %s, %s, %s", o.holder.Name, len(order.Tickets), o.category, event.Name, event.Screen)})
	}
	return links, nil
}

// demoLinks makes the credentials, which are the same at each start, and the
// links, which are new: each is good once.
func demoLinks(ctx context.Context, s *server.Server, by session.Caller, admin ticket.PersonID, d *demoReady) error {
	in := session.TokenIn{Name: "Demo", Scopes: []session.Scope{session.ScopeScan, session.ScopeRead, session.ScopeIssue, session.ScopeAdmin}}
	in.Repeat = once("token", in)
	token, err := s.Session.CreateToken(ctx, by, in)
	if err != nil {
		return err
	}
	d.APIToken = token.Token
	controller, err := s.Session.PersonByEmail(ctx, session.Operator, demoController.email)
	if err != nil {
		return err
	}
	device, err := signedOn(ctx, s, d.Venue, "Demo shell", controller.Person)
	if err != nil {
		return err
	}
	d.ControllerToken = device.Token
	if d.DeskLink, err = s.Session.SignInLink(ctx, session.Operator, admin, session.LinkTTL); err != nil {
		return err
	}
	pairing, err := s.Session.Pairing(ctx, by, session.PairingIn{Venue: d.Venue, Name: "Demo gate", Unattended: true, TTL: session.LinkTTL})
	if err != nil {
		return err
	}
	d.GateLink = pairing.PairingLink
	return nil
}
