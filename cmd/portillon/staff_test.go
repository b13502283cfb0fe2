package main

import (
	"testing"
	"time"

	"portillon/server/pgtest"
	"portillon/server/session"
	"portillon/server/ticket"
)

func TestAKeyedStaffAddKeepsNoHashOfThePassword(t *testing.T) {
	t.Parallel()
	add := staffAdd{Name: "Ada", Email: "ada@example.org", Role: session.AdminRole}
	add.Key = ticket.Key(ticket.New[int]())
	first, second, none := add.person("correct horse battery"), add.person("quite another password"), add.person("")
	if first.Password == second.Password || first.Repeat != second.Repeat {
		t.Error("two passwords make two hashes: they can be guessed from them")
	}
	if first.Repeat == none.Repeat {
		t.Error("to ask for a link instead of a password is the same call")
	}
}

func TestTheDemoFindsItsThingsAgainWeeksLater(t *testing.T) {
	t.Parallel()
	d := openDoor(t)
	later := 30 * 24 * time.Hour
	d.db.Shift(t, later)
	// Somebody else's keyed call sweeps old keys.
	_, err := d.db.Pool.Exec(t.Context(), `
INSERT INTO repeats (actor, key, act, body_hash, resource_id, at)
VALUES ('person x', gen_random_uuid(), 'event', '', gen_random_uuid(), portillon_now() - interval '8 days')`)
	if err != nil {
		t.Fatal(err)
	}
	again, err := furnish(t.Context(), d.server, time.Now().Add(later))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range append([]string{again.APIToken, again.ControllerToken, fragment(again.DeskLink), fragment(again.GateLink)}, fragments(again.WalletLinks)...) {
		pgtest.Secret(t, secret)
	}
	if again.Venue != d.Venue || again.Gate != d.Gate || again.APIToken != d.APIToken || again.Event == d.Event {
		t.Errorf("venue %v, gate %v, same token %v, same showing %v", again.Venue == d.Venue, again.Gate == d.Gate, again.APIToken == d.APIToken, again.Event == d.Event)
	}
	var old int
	if err := d.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM repeats WHERE actor = 'person x'`).Scan(&old); err != nil || old != 0 {
		t.Errorf("%d keys of others are left, %v: nothing was swept", old, err)
	}
}

func TestStaffResetTakesTheSecondFactorAwayWhenItIsToldTo(t *testing.T) {
	t.Parallel()
	d := openDoor(t)
	ctx := t.Context()
	person, err := d.server.Session.AddPerson(ctx, session.Operator, session.PersonIn{Name: "Ada", Email: "ada@example.org", Password: "a long enough password"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.db.Pool.Exec(ctx, `INSERT INTO second_factors (person_id, id, sealed, confirmed_at) VALUES ($1, gen_random_uuid(), '', portillon_now())`, person.Person)
	if err != nil {
		t.Fatal(err)
	}
	left := func() (n int) {
		if err := d.db.Pool.QueryRow(ctx, `SELECT count(*) FROM second_factors`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	reset := staffReset{}
	reset.Email = "ada@example.org"
	if _, err := reset.person(ctx, d.server); err != nil || left() != 1 {
		t.Errorf("a plain reset: %v, and %d second factors", err, left())
	}
	reset.SecondFactor = true
	if _, err := reset.person(ctx, d.server); err != nil || left() != 0 {
		t.Errorf("with --second-factor: %v, and %d second factors", err, left())
	}
}
