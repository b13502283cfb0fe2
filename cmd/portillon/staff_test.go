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
