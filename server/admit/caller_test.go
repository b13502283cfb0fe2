package admit_test

import (
	"context"
	"testing"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
)

// A device that has just scanned is not looked up before the next scan; the act
// itself must see at once what became of it.
func TestWhoScansIsReadInTheActItself(t *testing.T) {
	t.Parallel()
	bothForms(t, func(t *testing.T, opts ...servertest.Option) {
		h := servertest.NewHouse(t, opts...)
		karel, eva := h.Controller("Karel", session.Controller), h.Controller("Eva", session.Controller)
		change := func(sql string, by *servertest.Gatekeeper) {
			t.Helper()
			if tag, err := h.DB.Pool.Exec(context.Background(), sql, by.Device); err != nil || tag.RowsAffected() == 0 {
				t.Fatalf("%s: %v", sql, err)
			}
		}
		scan := func(by *servertest.Gatekeeper) (ticket.ID, error) {
			phone, issued := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
			code := phone.Signed(t, issued.Ticket, eva.Hold(t))
			_, err := by.Scan(context.Background(), servertest.NewKey(), client.Scan{Gate: h.Gate.Gate, Code: code})
			return issued.Ticket, err
		}
		if _, err := scan(karel); err != nil {
			t.Fatal(err)
		}
		change(`UPDATE sign_ons SET person_id = (SELECT id FROM people WHERE name = 'Eva') WHERE device_id = $1 AND signed_off_at IS NULL`, karel)
		id, err := scan(karel)
		if err != nil {
			t.Fatalf("another person on the device: %v", err)
		}
		if n := h.Count(t, "admissions a JOIN people p ON p.id = a.person_id WHERE a.ticket_id = $1 AND p.name = 'Eva'", id); n != 1 {
			t.Error("the entry is in the name of who was signed on before")
		}
		change(`UPDATE sign_ons SET signed_off_at = portillon_now() WHERE device_id = $1 AND signed_off_at IS NULL`, karel)
		if id, err := scan(karel); !client.IsProblem(err, "session.sign_on_required") || h.Row(t, id).Entries != 0 {
			t.Errorf("nobody signed on: %v", err)
		}
		if _, err := scan(eva); err != nil {
			t.Fatal(err)
		}
		change(`UPDATE devices SET revoked_at = portillon_now() WHERE id = $1`, eva)
		phone, issued := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
		_, err = eva.Scan(context.Background(), servertest.NewKey(), client.Scan{Gate: h.Gate.Gate, Code: phone.Signed(t, issued.Ticket, [16]byte{})})
		if !client.IsProblem(err, "session.unknown_credential") {
			t.Errorf("a device that was revoked: %v", err)
		}
		if n := h.Count(t, "attempts WHERE ticket_id = $1", issued.Ticket); n != 0 {
			t.Error("a device that was revoked left an attempt")
		}
	})
}
