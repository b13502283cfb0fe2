package issue

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"portillon/server/repeat"
	"portillon/server/session"
	"portillon/server/ticket"
)

func TestAnEventOpensItsLinksThreeDaysBeforeTheDoors(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if want := doors.Add(-72 * time.Hour); !p.event.ClaimFrom.Equal(want) {
		t.Errorf("claim_from %v, want %v", p.event.ClaimFrom, want)
	}
	if p.event.Policy != defaultPolicy {
		t.Errorf("policy %+v, want the ordinary one", p.event.Policy)
	}
	// The same policy is in the schema's defaults.
	if n := p.count(`
WITH e AS (INSERT INTO events (id, venue_id, name, doors_open_at, starts_at, ends_at, claim_from)
  VALUES (gen_random_uuid(), $1, 'x', now(), now(), now() + '1 h', now()) RETURNING *)
SELECT count(*) FROM e JOIN events o ON o.id = $2 AND (o.freshness, o.rescan, o.rescan_window, o.reentry, o.offline, o.show_names)
  = (e.freshness, e.rescan, e.rescan_window, e.reentry, e.offline, e.show_names)`, p.venue.Venue, p.event.Event); n != 1 {
		t.Error("the schema has another ordinary policy")
	}
	sameJSON(t, must(p.s.GetEvent(t.Context(), p.admin, p.event.Event))(t), p.event)
}

func TestAnEventThatCannotBeNamesEveryFieldAtFault(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for name, c := range map[string]struct {
		spoil  func(*EventIn)
		fields []string
	}{
		"no name":               {func(e *EventIn) { e.Name = " \t" }, []string{"name: required"}},
		"too long a name":       {func(e *EventIn) { e.Name = strings.Repeat("ř", 201) }, []string{"name: too_long"}},
		"no times":              {func(e *EventIn) { e.DoorsOpenAt, e.StartsAt, e.EndsAt = time.Time{}, time.Time{}, time.Time{} }, []string{"doors_open_at: required", "starts_at: required", "ends_at: required"}},
		"doors after the start": {func(e *EventIn) { e.DoorsOpenAt = e.StartsAt.Add(time.Second) }, []string{"starts_at: not_in_order"}},
		"ends as it starts":     {func(e *EventIn) { e.EndsAt = e.StartsAt }, []string{"ends_at: not_in_order"}},
		"links open afterwards": {func(e *EventIn) { e.ClaimFrom = &e.EndsAt }, []string{"claim_from: not_in_order"}},
		"the year of the typo":  {func(e *EventIn) { e.EndsAt = e.EndsAt.AddDate(1000, 0, 0) }, []string{"ends_at: out_of_range"}},
		"policies nobody knows": {func(e *EventIn) {
			e.Policy = &PolicyIn{Freshness: new(ticket.Freshness("any")), Rescan: new(ticket.Rescan("")), Offline: new(Offline("on"))}
		}, []string{"policy.freshness: unknown", "policy.rescan: unknown", "policy.offline: unknown"}},
		"a window over a day":     {func(e *EventIn) { e.Policy = &PolicyIn{RescanWindow: new(86401)} }, []string{"policy.rescan_window_s: out_of_range"}},
		"a window before the use": {func(e *EventIn) { e.Policy = &PolicyIn{RescanWindow: new(-1)} }, []string{"policy.rescan_window_s: out_of_range"}},
		"no venue":                {func(e *EventIn) { e.Venue = ticket.VenueID{} }, []string{"venue: required"}},
	} {
		in := p.showing()
		c.spoil(&in)
		_, err := p.s.CreateEvent(t.Context(), p.admin, repeat.Call{}, in)
		t.Run(name, func(t *testing.T) { wantFault(t, err, "request.fields", c.fields...) })
	}
}

func TestAChangedEventKeepsWhatWasNotSaid(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	later := doors.Add(10 * time.Minute)
	changed := must(p.s.ChangeEvent(t.Context(), p.admin, p.event.Event, EventChange{
		DoorsOpenAt: &later, Policy: &PolicyIn{RescanWindow: new(600), ShowNames: new(false)},
	}))(t)
	want := p.event
	want.DoorsOpenAt, want.ClaimFrom = later, later.Add(-72*time.Hour)
	want.Policy.RescanWindow, want.Policy.ShowNames = 600, false
	sameJSON(t, changed, want)

	// A claim_from of one's own stays when the doors move.
	own := doors.Add(-24 * time.Hour)
	must(p.s.ChangeEvent(t.Context(), p.admin, p.event.Event, EventChange{ClaimFrom: &own}))(t)
	changed = must(p.s.ChangeEvent(t.Context(), p.admin, p.event.Event, EventChange{DoorsOpenAt: new(doors)}))(t)
	if !changed.ClaimFrom.Equal(own) {
		t.Errorf("claim_from %v, want %v", changed.ClaimFrom, own)
	}

	_, err := p.s.ChangeEvent(t.Context(), p.admin, p.event.Event, EventChange{EndsAt: new(doors)})
	wantFault(t, err, "request.fields", "ends_at: not_in_order")
	sameJSON(t, must(p.s.GetEvent(t.Context(), p.admin, p.event.Event))(t), changed)
}

func TestReentryReachesTheTicketsThatAreThere(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	made := p.issue(TicketsIn{Count: new(3)}).Tickets
	used, revoked, fresh := made[0].Ticket, made[1].Ticket, made[2].Ticket
	p.use(used, 1)
	must(p.s.Revoke(t.Context(), p.admin, repeat.Call{}, revoked, "refunded"))(t)
	states := func() string {
		return strings.Join([]string{string(p.get(used).Status), string(p.get(revoked).Status), string(p.get(fresh).Status)}, " ")
	}

	must(p.s.ChangeEvent(t.Context(), p.admin, p.event.Event, EventChange{Policy: &PolicyIn{Reentry: new(true)}}))(t)
	if got := states(); got != "active revoked active" {
		t.Errorf("with re-entry: %s", got)
	}
	must(p.s.ChangeEvent(t.Context(), p.admin, p.event.Event, EventChange{Policy: &PolicyIn{Reentry: new(false)}}))(t)
	if got := states(); got != "used revoked active" {
		t.Errorf("without re-entry again: %s", got)
	}

	must(p.s.ChangeEvent(t.Context(), p.admin, p.event.Event, EventChange{Policy: &PolicyIn{Reentry: new(true)}}))(t)
	p.exec(`UPDATE tickets SET inside = 0 WHERE id = $1`, used) // went out
	p.use(used, 1)                                              // and in again
	_, err := p.s.ChangeEvent(t.Context(), p.admin, p.event.Event, EventChange{Policy: &PolicyIn{Reentry: new(false)}})
	wantFault(t, err, "event.reentry_used")
	if !must(p.s.GetEvent(t.Context(), p.admin, p.event.Event))(t).Policy.Reentry {
		t.Error("the refused change was kept in part")
	}
}

func TestACategoryNamesGatesOfItsOwnVenueOnly(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	gate := must(p.s.CreateGate(t.Context(), p.admin, repeat.Call{}, p.venue.Venue, GateIn{Name: "Balcony"}))(t)
	elsewhere := must(p.s.CreateVenue(t.Context(), p.admin, repeat.Call{}, VenueIn{Name: "Arena", TimeZone: "UTC"}))(t)
	strange := must(p.s.CreateGate(t.Context(), p.admin, repeat.Call{}, elsewhere.Venue, GateIn{Name: "Balcony"}))(t)

	in := CategoryIn{Name: "Family", Admits: new(4), Paper: true, Gates: []ticket.GateID{gate.Gate, gate.Gate}, ValidFrom: new(doors), ValidUntil: new(doors.Add(time.Hour))}
	call := calling("category")
	made := must(p.s.CreateCategory(t.Context(), p.admin, call, p.event.Event, in))(t)
	if made.Admits != 4 || len(made.Gates) != 1 || made.Gates[0] != gate.Gate || !made.ValidFrom.Equal(doors) {
		t.Errorf("made %+v", made)
	}
	sameJSON(t, must(p.s.CreateCategory(t.Context(), p.admin, call, p.event.Event, in))(t), made)
	list := must(p.s.ListCategories(t.Context(), p.admin, p.event.Event))(t)
	sameJSON(t, list.Items, []Category{made, p.paper, p.plain})

	_, err := p.s.CreateCategory(t.Context(), p.admin, repeat.Call{}, p.event.Event, CategoryIn{Name: "Family"})
	wantFault(t, err, "category.name_taken")
	_, err = p.s.CreateCategory(t.Context(), p.admin, repeat.Call{}, p.event.Event, CategoryIn{
		Admits: new(101), Gates: []ticket.GateID{strange.Gate}, ValidFrom: new(doors), ValidUntil: new(doors),
	})
	wantFault(t, err, "request.fields", "name: required", "admits: out_of_range", "valid_until: not_in_order", "gates: unknown")
	if made := p.issue(TicketsIn{Category: made.Category}); p.get(made.Tickets[0].Ticket).Admits != 4 {
		t.Error("a family's ticket does not admit four")
	}
}

func TestVenuesAndGatesAreMadeOnceAndHaveNames(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	call := calling("venue")
	in := VenueIn{Name: "Kino Světozor", TimeZone: "Europe/Prague"}
	first := must(p.s.CreateVenue(t.Context(), p.admin, call, in))(t)
	sameJSON(t, must(p.s.CreateVenue(t.Context(), p.admin, call, in))(t), first)
	sameJSON(t, must(p.s.GetVenue(t.Context(), p.admin, first.Venue))(t), first)

	for _, zone := range []string{"Mars/Olympus", "Local", "../etc/passwd", "Europe/Prague\n"} {
		_, err := p.s.CreateVenue(t.Context(), p.admin, repeat.Call{}, VenueIn{Name: "x", TimeZone: zone})
		if zone == "Europe/Prague\n" {
			must(first, err)(t) // space around it is forgiven
			continue
		}
		wantFault(t, err, "request.fields", "time_zone: unknown")
	}
	_, err := p.s.CreateVenue(t.Context(), p.admin, repeat.Call{}, VenueIn{})
	wantFault(t, err, "request.fields", "name: required", "time_zone: required")

	gate := calling("gate")
	made := must(p.s.CreateGate(t.Context(), p.admin, gate, first.Venue, GateIn{Name: "Main"}))(t)
	sameJSON(t, must(p.s.CreateGate(t.Context(), p.admin, gate, first.Venue, GateIn{Name: "Main"}))(t), made)
	_, err = p.s.CreateGate(t.Context(), p.admin, repeat.Call{}, first.Venue, GateIn{Name: "Main"})
	wantFault(t, err, "gate.name_taken")
	sameJSON(t, must(p.s.ListGates(t.Context(), p.admin, first.Venue))(t).Items, []Gate{made})
}

func TestWhoWorksAtOneVenueSeesAndChangesNothingOfAnother(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	elsewhere := must(p.s.CreateVenue(t.Context(), p.admin, repeat.Call{}, VenueIn{Name: "Arena", TimeZone: "UTC"}))(t)
	stranger := session.Caller{Kind: session.ByCookie, Person: ticket.PersonID(uuid.New()), Grants: []session.Grant{{Venue: elsewhere.Venue, Role: session.AdminRole}}}
	id := p.one(p.paper)
	for _, who := range []struct {
		by   session.Caller
		code string
	}{{stranger, "session.right_missing"}, {session.Caller{}, "session.required"}} {
		for name, try := range p.everyVerb(who.by, id) {
			if err := try(); name != "list events" && name != "list venues" {
				t.Run(name, func(t *testing.T) { wantFault(t, err, who.code) })
			}
		}
	}
	if n := p.count(`SELECT count(*) FROM audit WHERE person_id = $1 OR actor = 'wallet'`, stranger.Person); n != 0 {
		t.Errorf("%d acts of strangers", n)
	}
	venues := must(p.s.ListVenues(t.Context(), stranger, ""))(t)
	sameJSON(t, venues.Items, []Venue{elsewhere})
	events := must(p.s.ListEvents(t.Context(), stranger, EventQuery{}))(t)
	sameJSON(t, events, List[Event]{Items: []Event{}})
	sameJSON(t, must(p.s.ListEvents(t.Context(), p.admin, EventQuery{}))(t).Items, []Event{p.event})
}

func TestWhatDoesNotExistIsNotFound(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	nothing := &place{TB: t, s: p.s, venue: p.venue, event: p.event}
	nothing.venue.Venue, nothing.event.Event = ticket.VenueID(uuid.New()), ticket.EventID(uuid.New())
	for name, try := range nothing.everyVerb(p.admin, ticket.ID(uuid.New())) {
		what, isList := map[string]string{"list events": "", "list venues": "", "create venue": ""}[name]
		if isList {
			continue
		}
		what = "event.not_found"
		switch {
		case strings.HasSuffix(name, "ticket"):
			what = "ticket.not_found"
		case strings.HasSuffix(name, "venue"), strings.HasSuffix(name, "gate"), strings.HasSuffix(name, "gates"), name == "create event":
			what = "venue.not_found"
		}
		err := try()
		t.Run(name, func(t *testing.T) { wantFault(t, err, what) })
	}
}

// everyVerb tries each verb once on the place.
func (p *place) everyVerb(by session.Caller, id ticket.ID) map[string]func() error {
	ctx, none := p.Context(), repeat.Call{}
	return map[string]func() error{
		"create venue": func() error {
			_, err := p.s.CreateVenue(ctx, by, none, VenueIn{Name: "x", TimeZone: "UTC"})
			return err
		},
		"list venues":  func() error { _, err := p.s.ListVenues(ctx, by, ""); return err },
		"get venue":    func() error { _, err := p.s.GetVenue(ctx, by, p.venue.Venue); return err },
		"create gate":  func() error { _, err := p.s.CreateGate(ctx, by, none, p.venue.Venue, GateIn{Name: "x"}); return err },
		"list gates":   func() error { _, err := p.s.ListGates(ctx, by, p.venue.Venue); return err },
		"create event": func() error { _, err := p.s.CreateEvent(ctx, by, none, p.showing()); return err },
		"list events":  func() error { _, err := p.s.ListEvents(ctx, by, EventQuery{}); return err },
		"get event":    func() error { _, err := p.s.GetEvent(ctx, by, p.event.Event); return err },
		"change event": func() error { _, err := p.s.ChangeEvent(ctx, by, p.event.Event, EventChange{}); return err },
		"create category": func() error {
			_, err := p.s.CreateCategory(ctx, by, none, p.event.Event, CategoryIn{Name: "x"})
			return err
		},
		"list categories": func() error { _, err := p.s.ListCategories(ctx, by, p.event.Event); return err },
		"issue": func() error {
			_, err := p.s.Issue(ctx, by, none, p.event.Event, TicketsIn{Category: p.plain.Category})
			return err
		},
		"list tickets":     func() error { _, err := p.s.ListTickets(ctx, by, p.event.Event, TicketQuery{}); return err },
		"get ticket":       func() error { _, err := p.s.GetTicket(ctx, by, id); return err },
		"revoke ticket":    func() error { _, err := p.s.Revoke(ctx, by, none, id, "x"); return err },
		"reinstate ticket": func() error { _, err := p.s.Reinstate(ctx, by, none, id, "x"); return err },
		"hold ticket":      func() error { _, err := p.s.Hold(ctx, by, none, id, "x"); return err },
		"release ticket":   func() error { _, err := p.s.Release(ctx, by, none, id, "x"); return err },
		"show link ticket": func() error { _, err := p.s.ShowLink(ctx, by, id); return err },
		"reissue ticket":   func() error { _, err := p.s.Reissue(ctx, by, none, id, "x"); return err },
		"print ticket":     func() error { _, err := p.s.Print(ctx, by, none, id, ""); return err },
	}
}

func TestListsAreReadPageByPageWithoutAHoleOrADouble(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.exec(`
INSERT INTO venues (id, name, time_zone) SELECT gen_random_uuid(), 'Hall ' || (i % 7), 'UTC' FROM generate_series(1, 249) i`)
	p.exec(`
INSERT INTO events (id, venue_id, name, doors_open_at, starts_at, ends_at, claim_from)
SELECT gen_random_uuid(), venue_id, name, doors_open_at + (i % 3) * interval '1 min', starts_at + interval '1 h', ends_at + interval '1 h', claim_from
FROM events, generate_series(1, 249) i`)
	p.issue(TicketsIn{Count: new(250)})
	seen := func(next func(cursor string) (ids []uuid.UUID, after string)) (n int) {
		once := map[uuid.UUID]bool{}
		for cursor := ""; ; {
			ids, after := next(cursor)
			for _, id := range ids {
				once[id] = true
				n++
			}
			if len(once) != n {
				t.Fatal("something came twice")
			}
			if cursor = after; cursor == "" {
				return n
			}
		}
	}
	for name, n := range map[string]int{
		"venues": seen(func(cursor string) (ids []uuid.UUID, after string) {
			list := must(p.s.ListVenues(t.Context(), p.admin, cursor))(t)
			for _, v := range list.Items {
				ids = append(ids, v.Venue.UUID())
			}
			return ids, list.Next
		}),
		"events": seen(func(cursor string) (ids []uuid.UUID, after string) {
			list := must(p.s.ListEvents(t.Context(), p.admin, EventQuery{Venue: p.venue.Venue, From: p.event.StartsAt, Cursor: cursor}))(t)
			for _, e := range list.Items {
				ids = append(ids, e.Event.UUID())
			}
			return ids, list.Next
		}),
		"tickets": seen(func(cursor string) (ids []uuid.UUID, after string) {
			list := must(p.s.ListTickets(t.Context(), p.admin, p.event.Event, TicketQuery{Cursor: cursor}))(t)
			for _, l := range list.Items {
				ids = append(ids, l.Ticket.UUID())
			}
			return ids, list.Next
		}),
	} {
		if n != 250 {
			t.Errorf("%d %s, want 250", n, name)
		}
	}
	past := must(p.s.ListEvents(t.Context(), p.admin, EventQuery{From: doors.AddDate(1, 0, 0)}))(t)
	if len(past.Items) != 0 {
		t.Errorf("%d events that are over by then", len(past.Items))
	}
	for _, cursor := range []string{"!", "eA", "MTIzIA", "AAAA"} {
		_, err := p.s.ListVenues(t.Context(), p.admin, cursor)
		wantFault(t, err, "request.cursor")
		_, err = p.s.ListEvents(t.Context(), p.admin, EventQuery{Cursor: cursor})
		wantFault(t, err, "request.cursor")
		_, err = p.s.ListTickets(t.Context(), p.admin, p.event.Event, TicketQuery{Cursor: cursor})
		wantFault(t, err, "request.cursor")
	}
}

func TestTicketsAreFoundByWhatIsWrittenOnThem(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.issue(TicketsIn{Seat: "B12", Holder: Holder{Name: "Zoë 100%", Email: "zoe@example.org"}, ExternalID: "shop_17"})
	p.issue(TicketsIn{Seat: "C2", Holder: Holder{Name: "Karel Novák", Email: "novak@example.org"}, ExternalID: "shopX18"})
	p.issue(TicketsIn{Holder: Holder{Name: "Zoe Novak"}})
	revoked := p.one(p.plain)
	must(p.s.Revoke(t.Context(), p.admin, repeat.Call{}, revoked, "refunded"))(t)
	for query, want := range map[TicketQuery]string{
		{}:                                "1 2 3 4",
		{Q: "2"}:                          "1 2", // the number, and a seat with a 2 in it
		{Q: "nov"}:                        "2 3",
		{Q: "NOVÁK"}:                      "2",
		{Q: "novak@"}:                     "2",
		{Q: "example.org"}:                "",
		{Q: "b12"}:                        "1",
		{Q: "100%"}:                       "1",
		{Q: "%"}:                          "1",
		{Q: "p_1"}:                        "1",
		{Q: `\`}:                          "",
		{Q: "zoe\u0308"}:                  "1",
		{Status: ticket.RevokedStatus}:    "4",
		{Status: ticket.Active, Q: "zo"}:  "1 3",
		{Q: "99999999999"}:                "",
		{Status: ticket.Used, Q: "karel"}: "",
	} {
		list := must(p.s.ListTickets(t.Context(), p.admin, p.event.Event, query))(t)
		var got []string
		for _, l := range list.Items {
			got = append(got, strings.TrimSpace(string(rune('0'+l.Number))))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%+v finds %v, want %s", query, got, want)
		}
	}
	_, err := p.s.ListTickets(t.Context(), p.admin, p.event.Event, TicketQuery{Q: "a\x00", Status: "gone"})
	wantFault(t, err, "request.fields", "q: control_characters", "status: unknown")
}
