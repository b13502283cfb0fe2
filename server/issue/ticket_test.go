package issue

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"portillon/server/fault"
	"portillon/server/repeat"
	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/wallet"
)

// acts by their name.
func (p *place) acts() map[string]func(context.Context, session.Caller, repeat.Call, ticket.ID, string) (Ticket, error) {
	return map[string]func(context.Context, session.Caller, repeat.Call, ticket.ID, string) (Ticket, error){
		"revoke": p.s.Revoke, "reinstate": p.s.Reinstate, "hold": p.s.Hold, "release": p.s.Release,
	}
}

func TestEachActLeadsFromTheStatesThatItIsMadeForToOneOther(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, c := range []struct{ from, act, to string }{
		{"active", "revoke", "revoked"},
		{"used", "revoke", "revoked"},
		{"held", "revoke", "revoked"},
		{"revoked", "revoke", "ticket.revoked"},
		{"revoked", "reinstate", "active"},
		{"active", "reinstate", "ticket.not_revoked"},
		{"used", "reinstate", "ticket.not_revoked"},
		{"held", "reinstate", "ticket.not_revoked"},
		{"active", "hold", "held"},
		{"used", "hold", "ticket.not_active"},
		{"held", "hold", "ticket.not_active"},
		{"revoked", "hold", "ticket.not_active"},
		{"held", "release", "active"},
		{"active", "release", "ticket.not_held"},
		{"used", "release", "ticket.not_held"},
		{"revoked", "release", "ticket.not_held"},
	} {
		id := p.one(p.plain)
		switch c.from {
		case "used":
			p.use(id, 1)
		default:
			p.exec(`UPDATE tickets SET status = $2 WHERE id = $1`, id, c.from)
		}
		before := p.get(id)
		after, err := p.acts()[c.act](t.Context(), p.admin, repeat.Call{}, id, "a reason")
		if strings.HasPrefix(c.to, "ticket.") {
			wantFault(t, err, c.to)
			if facts := fault.Of(err).Facts; facts["status"] != c.from {
				t.Errorf("%s %s: facts %v", c.act, c.from, facts)
			}
			sameJSON(t, p.get(id), before)
			continue
		}
		if err != nil {
			t.Fatalf("%s %s: %v", c.act, c.from, err)
		}
		if string(after.Status) != c.to || !after.StatusSince.After(before.StatusSince) {
			t.Errorf("%s %s: %s since %v, want %s", c.act, c.from, after.Status, after.StatusSince, c.to)
		}
		last := after.History[len(after.History)-1]
		if last.Act != "ticket."+c.act || last.Reason != "a reason" || last.PersonName != "Anna" || last.Details["was"] != c.from {
			t.Errorf("%s %s: the history says %+v", c.act, c.from, last)
		}
	}
}

func TestATicketThatWasUsedIsUsedAgainWhenItIsReinstated(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	family := must(p.s.CreateCategory(t.Context(), p.admin, repeat.Call{}, p.event.Event, CategoryIn{Name: "Family", Admits: new(4)}))(t)
	for people, want := range map[int]ticket.Status{0: ticket.Active, 3: ticket.Active, 4: ticket.Used} {
		id := p.one(family)
		if people > 0 {
			p.use(id, people)
		}
		revoked := must(p.s.Revoke(t.Context(), p.admin, repeat.Call{}, id, "refunded"))(t)
		if revoked.Status != ticket.RevokedStatus || revoked.Entries != people {
			t.Errorf("revoked: %+v", revoked.Listed)
		}
		if got := must(p.s.Reinstate(t.Context(), p.admin, repeat.Call{}, id, "paid"))(t); got.Status != want {
			t.Errorf("%d people: %s, want %s", people, got.Status, want)
		}
	}
}

func TestAnActIsDoneOnceAndToldOnceHoweverOftenItIsSent(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	id := p.one(p.plain)
	call := calling("ticket.revoke")
	first := must(p.s.Revoke(t.Context(), p.admin, call, id, "refunded"))(t)
	sameJSON(t, must(p.s.Revoke(t.Context(), p.admin, call, id, "refunded"))(t), first)
	_, err := p.s.Revoke(t.Context(), p.admin, repeat.Call{}, id, "refunded")
	wantFault(t, err, "ticket.revoked")
	must(p.s.Reinstate(t.Context(), p.admin, repeat.Call{}, id, "paid"))(t)
	must(p.s.Hold(t.Context(), p.admin, repeat.Call{}, id, "asks"))(t)
	must(p.s.Release(t.Context(), p.admin, repeat.Call{}, id, "answered"))(t)
	want := []string{"revoked " + id.String(), "released " + id.String(), "held " + id.String(), "released " + id.String()}
	if !slices.Equal(p.told, want) {
		t.Errorf("the wallets were told %q, want %q", p.told, want)
	}
}

func TestAnActNeedsAReasonInWords(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	id := p.one(p.paper)
	for name, act := range p.acts() {
		_, err := act(t.Context(), p.admin, repeat.Call{}, id, " \n")
		t.Run(name, func(t *testing.T) { wantFault(t, err, "request.fields", "reason: required") })
	}
	_, err := p.s.Reissue(t.Context(), p.admin, repeat.Call{}, id, "")
	wantFault(t, err, "request.fields", "reason: required")
	_, err = p.s.Print(t.Context(), p.admin, repeat.Call{}, id, strings.Repeat("x", 501))
	wantFault(t, err, "request.fields", "reason: too_long")
	if got := len(p.get(id).History); got != 1 {
		t.Errorf("%d acts in the history, want the issue only", got)
	}
}

func TestAnActWaitsForTheDoorAndSeesWhatItDid(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	id := p.one(p.plain)
	door := p.holding(`SELECT id FROM tickets WHERE id = $1 FOR NO KEY UPDATE`, id)
	done := make(chan error, 1)
	go func() {
		_, err := p.s.Revoke(t.Context(), p.admin, repeat.Call{}, id, "refunded")
		done <- err
	}()
	p.awaitWaiting(door)
	if _, err := door.Exec(t.Context(), `UPDATE tickets SET entries = 1, inside = 1, status = 'used', used_at = portillon_now() WHERE id = $1`, id); err != nil {
		t.Fatal(err)
	}
	if err := door.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	got := p.get(id)
	if got.Status != ticket.RevokedStatus || got.Entries != 1 || got.History[len(got.History)-1].Details["was"] != "used" {
		t.Errorf("the revocation saw %v, the ticket is %s with %d entries", got.History[len(got.History)-1].Details, got.Status, got.Entries)
	}
}

func TestTheLinkShownIsTheOneThatClaimsTheTicketNow(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	made := p.issue(TicketsIn{Count: new(2)})
	id, sibling := made.Tickets[0].Ticket, made.Tickets[1].Ticket
	show := func(id ticket.ID) string {
		t.Helper()
		link := must(p.s.ShowLink(t.Context(), p.admin, id))(t)
		p.secret(link.ClaimURL)
		return link.ClaimURL
	}
	if show(id) != made.ClaimURL {
		t.Error("before a reissue it is not the order's link")
	}
	call := calling("ticket.reissue")
	first := must(p.s.Reissue(t.Context(), p.admin, call, id, "lost the mail"))(t)
	again := must(p.s.Reissue(t.Context(), p.admin, call, id, "lost the mail"))(t)
	if first != again {
		t.Error("the repeated call gave another link")
	}
	second := must(p.s.Reissue(t.Context(), p.admin, repeat.Call{}, id, "lost it again"))(t)
	if first == second || second.ClaimURL == made.ClaimURL {
		t.Error("a reissue gave an old link")
	}
	if show(id) != second.ClaimURL {
		t.Error("the link shown is not the newest")
	}
	if show(sibling) != made.ClaimURL {
		t.Error("the sibling lost the order's link")
	}
	for serial, url := range map[int]string{1: first.ClaimURL, 2: second.ClaimURL} {
		hash := wallet.HashClaimCode(p.secret(url))
		if n := p.count(`SELECT count(*) FROM claim_codes WHERE hash = $1 AND ticket_id = $2 AND serial = $3`, hash[:], id, serial); n != 1 {
			t.Errorf("link %d is not found by its hash", serial)
		}
	}
	if n := p.count(`SELECT claim_serial FROM tickets WHERE id = $1`, id); n != 2 {
		t.Errorf("claim_serial %d, want 2", n)
	}
	var names []string
	for _, a := range p.get(id).History {
		names = append(names, a.Act)
	}
	if want := "ticket.issue ticket.link_shown ticket.reissue ticket.reissue ticket.link_shown"; strings.Join(names, " ") != want {
		t.Errorf("history %q", names)
	}
	must(p.s.Revoke(t.Context(), p.admin, repeat.Call{}, id, "refunded"))(t)
	_, err := p.s.ShowLink(t.Context(), p.admin, id)
	wantFault(t, err, "ticket.revoked")
	_, err = p.s.Reissue(t.Context(), p.admin, repeat.Call{}, id, "please")
	wantFault(t, err, "ticket.revoked")
}

func TestPrintingMovesTheTicketOntoPaper(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	id := p.one(p.paper)
	p.exec(`INSERT INTO claims (ticket_id, generation, kind, public_key) VALUES ($1, 1, 'phone', decode(repeat('00', 64), 'hex'))`, id)
	p.exec(`UPDATE tickets SET generation = 1 WHERE id = $1`, id)
	if got := p.get(id); got.Claim != "phone" || got.Generation != 1 {
		t.Fatalf("the ticket is on %s, generation %d", got.Claim, got.Generation)
	}
	call := calling("ticket.print")
	printed := must(p.s.Print(t.Context(), p.admin, call, id, "no phone"))(t)
	again := must(p.s.Print(t.Context(), p.admin, call, id, "no phone"))(t)
	for _, print := range []Printed{printed, again} {
		p.verifyPaper(print, id, 2)
	}
	if got := p.get(id); got.Claim != "paper" || got.Generation != 2 {
		t.Errorf("the ticket is on %s, generation %d", got.Claim, got.Generation)
	}
	if want := []string{"moved " + id.String()}; !slices.Equal(p.told, want) {
		t.Errorf("the wallets were told %q", p.told)
	}
	newer := calling("ticket.print")
	p.verifyPaper(must(p.s.Print(t.Context(), p.admin, newer, id, ""))(t), id, 3)
	_, err := p.s.Print(t.Context(), p.admin, call, id, "no phone")
	wantFault(t, err, "ticket.moved")
	p.verifyPaper(must(p.s.Print(t.Context(), p.admin, newer, id, ""))(t), id, 3)

	p.exec(`INSERT INTO claims (ticket_id, generation, kind, public_key) VALUES ($1, 4, 'phone', decode(repeat('00', 64), 'hex'))`, id)
	p.exec(`UPDATE tickets SET generation = 4 WHERE id = $1`, id)
	_, err = p.s.Print(t.Context(), p.admin, newer, id, "")
	wantFault(t, err, "ticket.moved")
}

// verifyPaper checks the printed code as a gate does.
func (p *place) verifyPaper(printed Printed, id ticket.ID, generation int) {
	p.Helper()
	code, err := wallet.Parse(printed.Code)
	if err != nil {
		p.Fatal(err)
	}
	key, known := p.ring.IssuerKey(code.IssuerKey)
	if !known {
		p.Fatal("the issuer key is unknown")
	}
	if err := code.VerifyPaper(key, p.event.Event.UUID()); err != nil {
		p.Error(err)
	}
	if code.KeyID != (wallet.KeyID{Ticket: id.UUID(), Generation: uint8(generation)}) || printed.Generation != generation {
		p.Errorf("the paper is of generation %d and says %v, want %d", printed.Generation, code.KeyID, generation)
	}
	if !strings.HasPrefix(printed.QRSVG, "<svg ") {
		p.Errorf("the picture begins %.20q", printed.QRSVG)
	}
}

func TestOnlyAnActiveTicketThatMayBeOnPaperIsPrinted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	_, err := p.s.Print(t.Context(), p.admin, repeat.Call{}, p.one(p.plain), "")
	wantFault(t, err, "ticket.paper_not_allowed")
	id := p.one(p.paper)
	for _, status := range []string{"held", "revoked"} {
		p.exec(`UPDATE tickets SET status = $2 WHERE id = $1`, id, status)
		_, err := p.s.Print(t.Context(), p.admin, repeat.Call{}, id, "")
		wantFault(t, err, "ticket.not_active")
	}
	p.exec(`UPDATE tickets SET status = 'active', generation = 255 WHERE id = $1`, id)
	_, err = p.s.Print(t.Context(), p.admin, repeat.Call{}, id, "")
	wantFault(t, err, "ticket.generations_used_up")
	p.exec(`UPDATE tickets SET generation = 0 WHERE id = $1`, id)
	p.use(id, 1)
	_, err = p.s.Print(t.Context(), p.admin, repeat.Call{}, id, "")
	wantFault(t, err, "ticket.not_active")
	if n := p.count(`SELECT count(*) FROM claims`); n != 0 || len(p.told) != 0 {
		t.Errorf("%d claims were made, wallets were told %q", n, p.told)
	}
}

func TestATicketTellsItsLife(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	id := p.one(p.plain)
	gate := must(p.s.CreateGate(t.Context(), p.admin, repeat.Call{}, p.venue.Venue, GateIn{Name: "Main"}))(t)
	device, kept, undone := ticket.DeviceID(uuid.New()), ticket.Key(uuid.New()), ticket.Key(uuid.New())
	p.exec(`INSERT INTO devices (id, venue_id, name, token_hash) VALUES ($1, $2, 'Handheld 3', '\x00')`, device, p.venue.Venue)
	for i, key := range []ticket.Key{undone, kept} {
		p.exec(`
INSERT INTO admissions (ticket_id, key, at, event_id, gate_id, device_id, person_id, direction, people, entries_after, inside_after, kind, generation)
VALUES ($1, $2, $3, $4, $5, $6, $7, 'in', 1, 1, 1, 'pushed', 1)`, id, key, doors.AddDate(0, 0, i), p.event.Event, gate.Gate, device, p.admin.Person)
	}
	p.exec(`INSERT INTO undos (ticket_id, key, at, person_id, reason) VALUES ($1, $2, $3, $4, 'wrong person')`, id, undone, doors, p.admin.Person)
	got := p.get(id).Admissions
	if len(got) != 2 {
		t.Fatalf("%d admissions", len(got))
	}
	first, second := got[0], got[1]
	if first.Key != undone || first.Undone == nil || first.Undone.Reason != "wrong person" || first.Undone.PersonName != "Anna" {
		t.Errorf("the first admission: %+v", first)
	}
	if second.Key != kept || second.Undone != nil || second.GateName != "Main" || second.DeviceName != "Handheld 3" || second.PersonName != "Anna" {
		t.Errorf("the second admission: %+v", second)
	}
}

func TestRevokingWhileTheEventChangesItsTicketsDoesNotDeadlock(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	made := p.issue(TicketsIn{Count: new(40)}).Tickets
	done := make(chan error, 2)
	go func() {
		for i := range 10 {
			if _, err := p.s.ChangeEvent(t.Context(), p.admin, p.event.Event, EventChange{Policy: &PolicyIn{Reentry: new(i%2 == 0)}}); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	go func() {
		for _, tk := range slices.Backward(made) {
			if _, err := p.s.Revoke(t.Context(), p.admin, repeat.Call{}, tk.Ticket, "called off"); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for range 2 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if n := p.count(`SELECT count(*) FROM tickets WHERE status = 'revoked' AND NOT reentry`); n != 40 {
		t.Errorf("%d tickets are revoked and follow the event", n)
	}
}
