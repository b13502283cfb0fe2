package admit

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/server/session"
	"portillon/server/ticket"
)

// about picks out what concerns one scan, and the public key of the claim that its
// code names. A code without the right form names the zero ticket, which does not
// exist. Faults: gate.not_found, scan.key_conflict.
func (r *reading) about(q *question) (ticket.Facts, []byte, error) {
	if err := r.confirm(q); err != nil {
		return ticket.Facts{}, nil, err
	}
	g, ok := r.gates[q.in.Gate]
	if !ok {
		return ticket.Facts{}, nil, errGate
	}
	f := ticket.Facts{
		Now: r.now, Gate: ticket.Gate{ID: g.ID, Name: g.Name, Venue: g.Venue},
		Device: q.by.Device, Person: q.by.Person, Assigned: q.by.May(session.Scan, g.Venue),
		WalletLive: r.alive[q.ticket] && r.lit[g.Venue],
	}
	if n, ok := r.nonces[string(q.facts.Nonce)]; ok {
		f.Nonce = &ticket.Nonce{Venue: n.Venue, Device: value(n.Device), IssuedAt: n.IssuedAt}
	}
	t, ok := r.tickets[q.ticket]
	if !ok {
		return f, nil, nil
	}
	f.Event, f.Category = r.places[t.Category].facts()
	f.Ticket = t.fact()
	var key []byte
	for _, c := range r.claims[t.ID] {
		if c.Generation == t.Generation {
			f.Ticket.ClaimedAt = c.CreatedAt
		}
		if c.Generation == int16(q.facts.Generation) {
			f.Claim = &ticket.Claim{Generation: uint8(c.Generation), Paper: c.Kind == "paper"}
			key = c.PublicKey
		}
	}
	r.addUses(&f, q)
	if f.SameKey == nil && r.usedElsewhere(q) {
		return ticket.Facts{}, nil, errKeyConflict
	}
	return f, key, nil
}

// confirm makes sure who asks: until here it was only who that device was lately.
func (r *reading) confirm(q *question) (err error) {
	if q.by.Unconfirmed == nil {
		return nil
	}
	if q.by, err = r.devices.Confirm(q.by); err != nil {
		return err
	}
	return q.by.Require(session.Scan, ticket.VenueID{})
}

// confirmNow makes sure who asks before anything else is read.
func confirmNow(ctx context.Context, tx pgx.Tx, q *question) error {
	if q.by.Unconfirmed == nil {
		return nil
	}
	r := &reading{devices: session.Devices{}}
	var batch pgx.Batch
	queue(&batch, session.ReadDevices, listsOf([]*question{q}), r.devices.Add)
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return fmt.Errorf("read the device: %w", err)
	}
	return r.confirm(q)
}

// usedElsewhere reports whether the caller used the scan's key for another ticket.
func (r *reading) usedElsewhere(q *question) bool {
	for _, k := range r.keys[q.in.Key] {
		if k.Ticket != q.ticket && value(k.Device) == q.by.Device && (k.Device != nil || k.Person == q.by.Person) {
			return true
		}
	}
	return false
}

// addUses adds what the ticket's earlier admissions say.
func (r *reading) addUses(f *ticket.Facts, q *question) {
	passage, direction := q.passageIf(true), cmp.Or(q.in.Direction, ticket.In)
	var left time.Time // the latest exit
	for _, a := range r.admissions[f.Ticket.ID] {
		if a.Key == q.in.Key {
			f.SameKey = a.fact()
		}
		if passage != nil && a.Direction == direction && bytes.Equal(a.Passage, passage) {
			f.ProofUsed = true
		}
		if a.Undone {
			continue
		}
		if a.Path == override {
			f.Overrides++
		}
		switch {
		case a.Direction == ticket.Out && a.At.After(left):
			left = a.At
		case a.Direction == ticket.In && (f.Last == nil || a.At.After(f.Last.At)):
			f.Last = a.fact()
		}
	}
	f.LeftSince = f.Last != nil && left.After(f.Last.At)
}

func (t ticketRow) fact() *ticket.Ticket {
	return &ticket.Ticket{
		ID: t.ID, Number: t.Number, Status: t.Status, StatusSince: t.StatusSince, Generation: uint8(t.Generation),
		Admits: t.Admits, Entries: t.Entries, Inside: t.Inside, Extra: t.Extra, Seat: t.Seat, Holder: t.HolderName,
	}
}

func (a admissionFact) fact() *ticket.Admission {
	return &ticket.Admission{
		Key: a.Key, At: a.At, Gate: ticket.Gate{ID: a.Gate, Name: a.GateName}, Device: value(a.Device), Person: a.Person,
		PersonName: a.PersonName, Direction: a.Direction, People: a.People, Entries: a.Entries, Inside: a.Inside, Kind: a.Kind,
		Generation: uint8(a.Generation), Nonce: a.Nonce, Shown: a.Shown, MovedAt: value(a.MovedAt), Undone: a.Undone,
		Ordinary: a.Path == ordinary || a.Path == recovery, Recovery: a.Path == recovery, Superseded: a.Superseded,
	}
}

func (p placeRow) facts() (ticket.Event, ticket.Category) {
	event := ticket.Event{
		ID: p.Event, Venue: ticket.Venue{ID: p.Venue, Name: p.VenueName, TimeZone: p.TimeZone}, Name: p.EventName, Screen: p.Screen,
		DoorsOpenAt: p.DoorsOpenAt, StartsAt: p.StartsAt, EndsAt: p.EndsAt, Freshness: p.Freshness, Rescan: p.Rescan,
		RescanWindow: time.Duration(p.RescanWindow * float64(time.Second)), Reentry: p.Reentry, ShowNames: p.ShowNames,
	}
	category := ticket.Category{
		ID: p.ID, Name: p.Name, Paper: p.Paper, ValidFrom: value(p.ValidFrom), ValidUntil: value(p.ValidUntil),
	}
	for i, id := range p.GateIDs {
		category.Gates = append(category.Gates, ticket.Gate{ID: id, Name: p.GateNames[i], Venue: p.Venue})
	}
	return event, category
}

func value[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

func null[T ~[16]byte](id T) *T {
	if id == *new(T) {
		return nil
	}
	return &id
}

func nullText(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func nullTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
