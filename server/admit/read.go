package admit

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/server/fault"
	"portillon/server/session"
	"portillon/server/ticket"
)

// row is what readFacts returns; pointers are NULL where there is no such thing.
type row struct {
	Now       time.Time      `db:"now"`
	GateID    ticket.GateID  `db:"gate_id"`
	GateName  string         `db:"gate_name"`
	GateVenue ticket.VenueID `db:"gate_venue"`

	TicketID    *ticket.ID `db:"ticket_id"`
	Number      *int       `db:"number"`
	Status      *string    `db:"status"`
	StatusSince *time.Time `db:"status_since"`
	Generation  *int16     `db:"generation"`
	Admits      *int       `db:"admits"`
	Entries     *int       `db:"entries"`
	Inside      *int       `db:"inside"`
	Extra       *int       `db:"extra"`
	Seat        *string    `db:"seat"`
	HolderName  *string    `db:"holder_name"`
	ClaimedAt   *time.Time `db:"claimed_at"`

	ClaimKind *string `db:"claim_kind"`
	PublicKey []byte  `db:"public_key"`

	EventID      *ticket.EventID `db:"event_id"`
	EventName    *string         `db:"event_name"`
	Screen       *string         `db:"screen"`
	DoorsOpenAt  *time.Time      `db:"doors_open_at"`
	StartsAt     *time.Time      `db:"starts_at"`
	EndsAt       *time.Time      `db:"ends_at"`
	Freshness    *string         `db:"freshness"`
	Rescan       *string         `db:"rescan"`
	RescanWindow *float64        `db:"rescan_window"` // seconds
	Reentry      *bool           `db:"reentry"`
	ShowNames    *bool           `db:"show_names"`
	VenueID      *ticket.VenueID `db:"venue_id"`
	VenueName    *string         `db:"venue_name"`
	TimeZone     *string         `db:"time_zone"`

	CategoryID        *ticket.CategoryID `db:"category_id"`
	CategoryName      *string            `db:"category_name"`
	Paper             *bool              `db:"paper"`
	ValidFrom         *time.Time         `db:"valid_from"`
	ValidUntil        *time.Time         `db:"valid_until"`
	CategoryGates     []ticket.GateID    `db:"category_gates"`
	CategoryGateNames []string           `db:"category_gate_names"`

	NonceVenue    *ticket.VenueID  `db:"nonce_venue"`
	NonceDevice   *ticket.DeviceID `db:"nonce_device"`
	NonceIssuedAt *time.Time       `db:"nonce_issued_at"`

	SameAt        *time.Time `db:"same_at"`
	SameDirection *string    `db:"same_direction"`
	SameKind      *string    `db:"same_kind"`
	SamePeople    *int       `db:"same_people"`
	SameEntries   *int       `db:"same_entries"`
	SameInside    *int       `db:"same_inside"`
	SameMovedAt   *time.Time `db:"same_moved_at"`
	SameUndone    *bool      `db:"same_undone"`

	LastAt         *time.Time       `db:"last_at"`
	LastGate       *ticket.GateID   `db:"last_gate"`
	LastGateName   *string          `db:"last_gate_name"`
	LastDevice     *ticket.DeviceID `db:"last_device"`
	LastPerson     *string          `db:"last_person"`
	LastGeneration *int16           `db:"last_generation"`
	LastNonce      []byte           `db:"last_nonce"`
	LastShown      *bool            `db:"last_shown"`
	Overrides      int              `db:"overrides"`

	WalletLive  bool `db:"wallet_live"`
	ProofUsed   bool `db:"proof_used"`
	KeyConflict bool `db:"key_conflict"`
}

// lockAndRead takes the ticket's row and gathers the facts, in one round trip; it
// also gives the public key of the claim that the code names. A code without the
// right form names the zero ticket, which does not exist.
func lockAndRead(ctx context.Context, tx pgx.Tx, by session.Caller, in ScanIn, p presented) (ticket.Facts, []byte, error) {
	var found []row
	var batch pgx.Batch
	batch.Queue(lockTicket, pgx.NamedArgs{"ticket": p.ticket})
	batch.Queue(readFacts, pgx.NamedArgs{
		"gate": in.Gate, "ticket": p.ticket, "generation": int16(p.facts.Generation), "key": in.Key,
		"device": null(by.Device), "person": by.Person, "nonce": p.facts.Nonce,
		"direction": cmp.Or(in.Direction, ticket.In), "passage": p.passageIf(true),
	}).Query(func(rows pgx.Rows) (err error) {
		found, err = pgx.CollectRows(rows, pgx.RowToStructByName[row])
		return err
	})
	err := tx.SendBatch(ctx, &batch).Close()
	switch {
	case err != nil:
		return ticket.Facts{}, nil, fmt.Errorf("read the facts: %w", err)
	case len(found) == 0:
		return ticket.Facts{}, nil, errGate
	case found[0].KeyConflict && found[0].TicketID != nil && found[0].SameAt == nil:
		return ticket.Facts{}, nil, fault.New(fault.Conflict, "scan.key_conflict",
			"this key was used for another ticket; make a new key for each scan")
	}
	r := found[0]
	f := r.facts()
	f.Device, f.Person = by.Device, by.Person
	f.Assigned = by.May(session.Scan, f.Gate.Venue)
	return f, r.PublicKey, nil
}

func (r row) facts() ticket.Facts {
	f := ticket.Facts{
		Now:        r.Now,
		Gate:       ticket.Gate{ID: r.GateID, Name: r.GateName, Venue: r.GateVenue},
		WalletLive: r.WalletLive, ProofUsed: r.ProofUsed, Overrides: r.Overrides,
	}
	if r.TicketID == nil {
		return f
	}
	f.Ticket = &ticket.Ticket{
		ID: *r.TicketID, Number: *r.Number, Status: ticket.Status(*r.Status), StatusSince: *r.StatusSince,
		Generation: uint8(*r.Generation), Admits: *r.Admits, Entries: *r.Entries, Inside: *r.Inside, Extra: *r.Extra,
		Seat: *r.Seat, Holder: *r.HolderName, ClaimedAt: value(r.ClaimedAt),
	}
	f.Event = ticket.Event{
		ID: *r.EventID, Venue: ticket.Venue{ID: *r.VenueID, Name: *r.VenueName, TimeZone: *r.TimeZone},
		Name: *r.EventName, Screen: *r.Screen, DoorsOpenAt: *r.DoorsOpenAt, StartsAt: *r.StartsAt, EndsAt: *r.EndsAt,
		Freshness: ticket.Freshness(*r.Freshness), Rescan: ticket.Rescan(*r.Rescan),
		RescanWindow: time.Duration(*r.RescanWindow * float64(time.Second)), Reentry: *r.Reentry, ShowNames: *r.ShowNames,
	}
	f.Category = ticket.Category{
		ID: *r.CategoryID, Name: *r.CategoryName, Paper: *r.Paper, ValidFrom: value(r.ValidFrom), ValidUntil: value(r.ValidUntil),
	}
	for i, id := range r.CategoryGates {
		f.Category.Gates = append(f.Category.Gates, ticket.Gate{ID: id, Name: r.CategoryGateNames[i], Venue: *r.VenueID})
	}
	if r.ClaimKind != nil {
		f.Claim = &ticket.Claim{Paper: *r.ClaimKind == "paper"}
	}
	if r.NonceVenue != nil {
		f.Nonce = &ticket.Nonce{Venue: *r.NonceVenue, Device: value(r.NonceDevice), IssuedAt: *r.NonceIssuedAt}
	}
	if r.SameAt != nil {
		f.SameKey = &ticket.Admission{
			At: *r.SameAt, Direction: ticket.Direction(*r.SameDirection), Kind: ticket.Kind(*r.SameKind), People: *r.SamePeople, Entries: *r.SameEntries,
			Inside: *r.SameInside, MovedAt: value(r.SameMovedAt), Undone: *r.SameUndone,
		}
	}
	if r.LastAt != nil {
		f.Last = &ticket.Admission{
			At: *r.LastAt, Gate: ticket.Gate{ID: *r.LastGate, Name: value(r.LastGateName)}, Device: value(r.LastDevice),
			PersonName: value(r.LastPerson), Generation: uint8(*r.LastGeneration), Nonce: r.LastNonce,
			Shown: value(r.LastShown),
		}
	}
	return f
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
