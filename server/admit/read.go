package admit

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"portillon/server/session"
	"portillon/server/ticket"
)

// reading is what the database says about the tickets of some scans, read in one
// round trip: the tickets' rows are locked first, and every statement after that
// has a snapshot of its own, so that it sees what the transactions before this one
// have written. All statements take lists; a single scan is a list of one.
type reading struct {
	now        time.Time
	devices    session.Devices
	tickets    map[ticket.ID]ticketRow
	claims     map[ticket.ID][]claimRow
	admissions map[ticket.ID][]admissionFact
	keys       map[ticket.Key][]keyRow
	places     map[ticket.CategoryID]placeRow
	gates      map[ticket.GateID]gateRow
	nonces     map[string]nonceRow
	alive      map[ticket.ID]bool      // the wallet's stream lately gave a sign of life
	lit        map[ticket.VenueID]bool // wallets there have a usable nonce
}

// A ticket's row is locked until the transaction ends. There is no filter on a
// column that changes: a row that changed while this waited must still be found.
const (
	readTickets = `
SELECT ctid AS place, id, category_id, number, status, status_since, generation, admits, entries, inside, extra, seat, holder_name
FROM tickets WHERE id = ANY(@tickets) ORDER BY id`
	lockTickets = readTickets + ` FOR NO KEY UPDATE`
	// One that somebody else holds is left out: the others must not wait for it.
	lockFreeTickets = lockTickets + ` SKIP LOCKED`
)

type ticketRow struct {
	Place       pgtype.TID        `db:"place"` // where the row lies, as long as the lock holds
	ID          ticket.ID         `db:"id"`
	Category    ticket.CategoryID `db:"category_id"`
	Number      int               `db:"number"`
	Status      ticket.Status     `db:"status"`
	StatusSince time.Time         `db:"status_since"`
	Generation  int16             `db:"generation"`
	Admits      int               `db:"admits"`
	Entries     int               `db:"entries"`
	Inside      int               `db:"inside"`
	Extra       int               `db:"extra"`
	Seat        string            `db:"seat"`
	HolderName  string            `db:"holder_name"`
}

const readClaims = `
SELECT ticket_id, generation, kind, public_key, created_at FROM claims WHERE ticket_id = ANY(@tickets)`

type claimRow struct {
	Ticket     ticket.ID `db:"ticket_id"`
	Generation int16     `db:"generation"`
	Kind       string    `db:"kind"`
	PublicKey  []byte    `db:"public_key"`
	CreatedAt  time.Time `db:"created_at"`
}

const readAdmissions = `
SELECT a.ticket_id, a.key, a.at, a.gate_id, coalesce(g.name, '') AS gate_name, a.device_id, a.person_id,
  coalesce(p.name, '') AS person_name, a.direction, a.people, a.entries_after, a.inside_after, a.kind, a.generation,
  a.nonce, a.path, a.moved_at, a.passage,
  u.key IS NOT NULL AS undone, u.superseded_by IS NOT NULL AS superseded,
  EXISTS (SELECT FROM receipts r WHERE r.ticket_id = a.ticket_id AND r.key = a.key) AS shown
FROM admissions a LEFT JOIN gates g ON g.id = a.gate_id LEFT JOIN people p ON p.id = a.person_id
LEFT JOIN undos u ON u.ticket_id = a.ticket_id AND u.key = a.key
WHERE a.ticket_id = ANY(@tickets)`

type admissionFact struct {
	Ticket     ticket.ID        `db:"ticket_id"`
	Key        ticket.Key       `db:"key"`
	At         time.Time        `db:"at"`
	Gate       ticket.GateID    `db:"gate_id"`
	GateName   string           `db:"gate_name"`
	Device     *ticket.DeviceID `db:"device_id"`
	Person     ticket.PersonID  `db:"person_id"`
	PersonName string           `db:"person_name"`
	Direction  ticket.Direction `db:"direction"`
	People     int              `db:"people"`
	Entries    int              `db:"entries_after"`
	Inside     int              `db:"inside_after"`
	Kind       ticket.Kind      `db:"kind"`
	Generation int16            `db:"generation"`
	Nonce      []byte           `db:"nonce"`
	Path       string           `db:"path"`
	MovedAt    *time.Time       `db:"moved_at"`
	Passage    []byte           `db:"passage"`
	Undone     bool             `db:"undone"`
	Superseded bool             `db:"superseded"`
	Shown      bool             `db:"shown"`
}

// readKeys finds the tickets that a key was admitted for.
const readKeys = `SELECT key, ticket_id, device_id, person_id FROM admissions WHERE key = ANY(@keys)`

type keyRow struct {
	Key    ticket.Key       `db:"key"`
	Ticket ticket.ID        `db:"ticket_id"`
	Device *ticket.DeviceID `db:"device_id"`
	Person ticket.PersonID  `db:"person_id"`
}

// readPlaces: the categories come as a list, so that no plan can walk all of them.
const readPlaces = `
SELECT k.id, k.name, k.paper, k.valid_from, k.valid_until, gates.ids AS gate_ids, gates.names AS gate_names,
  e.id AS event_id, e.name AS event_name, e.screen, e.doors_open_at, e.starts_at, e.ends_at, e.freshness, e.rescan,
  extract(epoch FROM e.rescan_window)::float8 AS rescan_window, e.reentry, e.show_names,
  v.id AS venue_id, v.name AS venue_name, v.time_zone
FROM categories k JOIN events e ON e.id = k.event_id JOIN venues v ON v.id = e.venue_id
LEFT JOIN LATERAL (
  SELECT array_agg(g.id ORDER BY g.name) AS ids, array_agg(g.name ORDER BY g.name) AS names
  FROM category_gates c JOIN gates g ON g.id = c.gate_id WHERE c.category_id = k.id) gates ON true
WHERE k.id = ANY(ARRAY(SELECT DISTINCT category_id FROM tickets WHERE id = ANY(@tickets)))`

type placeRow struct {
	ID           ticket.CategoryID `db:"id"`
	Name         string            `db:"name"`
	Paper        bool              `db:"paper"`
	ValidFrom    *time.Time        `db:"valid_from"`
	ValidUntil   *time.Time        `db:"valid_until"`
	GateIDs      []ticket.GateID   `db:"gate_ids"`
	GateNames    []string          `db:"gate_names"`
	Event        ticket.EventID    `db:"event_id"`
	EventName    string            `db:"event_name"`
	Screen       string            `db:"screen"`
	DoorsOpenAt  time.Time         `db:"doors_open_at"`
	StartsAt     time.Time         `db:"starts_at"`
	EndsAt       time.Time         `db:"ends_at"`
	Freshness    ticket.Freshness  `db:"freshness"`
	Rescan       ticket.Rescan     `db:"rescan"`
	RescanWindow float64           `db:"rescan_window"` // seconds
	Reentry      bool              `db:"reentry"`
	ShowNames    bool              `db:"show_names"`
	Venue        ticket.VenueID    `db:"venue_id"`
	VenueName    string            `db:"venue_name"`
	TimeZone     string            `db:"time_zone"`
}

const readGates = `SELECT id, name, venue_id FROM gates WHERE id = ANY(@gates)`

type gateRow struct {
	ID    ticket.GateID  `db:"id"`
	Name  string         `db:"name"`
	Venue ticket.VenueID `db:"venue_id"`
}

const readNonces = `SELECT nonce, venue_id, device_id, issued_at FROM nonces WHERE nonce = ANY(@nonces)`

type nonceRow struct {
	Nonce    []byte           `db:"nonce"`
	Venue    ticket.VenueID   `db:"venue_id"`
	Device   *ticket.DeviceID `db:"device_id"`
	IssuedAt time.Time        `db:"issued_at"`
}

// Whether a wallet could have shown a living code: read for weaker ones only.
const (
	readAlive = `
SELECT ticket_id FROM presence WHERE ticket_id = ANY(@tickets) AND seen_at > portillon_now() - interval '30 seconds'`
	readLit = `
SELECT DISTINCT n.venue_id FROM gates g JOIN nonces n ON n.venue_id = g.venue_id
WHERE g.id = ANY(@gates) AND n.epoch IS NOT NULL AND n.issued_at > portillon_now() - interval '20 seconds'`
)

// read queues the statements about these scans and returns where their answers will
// be once the batch is closed.
func read(batch *pgx.Batch, questions []*question, lock string) *reading {
	r := &reading{
		devices: session.Devices{},
		tickets: map[ticket.ID]ticketRow{}, claims: map[ticket.ID][]claimRow{}, admissions: map[ticket.ID][]admissionFact{},
		keys: map[ticket.Key][]keyRow{}, places: map[ticket.CategoryID]placeRow{}, gates: map[ticket.GateID]gateRow{},
		nonces: map[string]nonceRow{}, alive: map[ticket.ID]bool{}, lit: map[ticket.VenueID]bool{},
	}
	args := listsOf(questions)
	queue(batch, lock, args, func(t ticketRow) { r.tickets[t.ID] = t })
	if hashes := args["hashes"].([][]byte); len(hashes) > 0 {
		queue(batch, session.ReadDevices, args, r.devices.Add)
	}
	queue(batch, readClaims, args, func(c claimRow) { r.claims[c.Ticket] = append(r.claims[c.Ticket], c) })
	queue(batch, readAdmissions, args, func(a admissionFact) { r.admissions[a.Ticket] = append(r.admissions[a.Ticket], a) })
	queue(batch, readKeys, args, func(k keyRow) { r.keys[k.Key] = append(r.keys[k.Key], k) })
	queue(batch, readPlaces, args, func(p placeRow) { r.places[p.ID] = p })
	queue(batch, readGates, args, func(g gateRow) { r.gates[g.ID] = g })
	queue(batch, readNonces, args, func(n nonceRow) { r.nonces[string(n.Nonce)] = n })
	for _, q := range questions {
		if q.facts.Signs == ticket.SignsTime || q.facts.Signs == ticket.SignsTOTP {
			queue(batch, readAlive, args, func(a struct {
				Ticket ticket.ID `db:"ticket_id"`
			}) {
				r.alive[a.Ticket] = true
			})
			queue(batch, readLit, args, func(l struct {
				Venue ticket.VenueID `db:"venue_id"`
			}) {
				r.lit[l.Venue] = true
			})
			break
		}
	}
	batch.Queue(`SELECT portillon_now()`).QueryRow(func(row pgx.Row) error { return row.Scan(&r.now) })
	return r
}

// queue adds a statement whose rows are each handed to keep.
func queue[T any](batch *pgx.Batch, sql string, args pgx.NamedArgs, keep func(T)) {
	batch.Queue(sql, args).Query(func(rows pgx.Rows) error {
		list, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
		for _, one := range list {
			keep(one)
		}
		return err
	})
}

// listsOf are the arguments of all statements that read.
func listsOf(questions []*question) pgx.NamedArgs {
	tickets, keys := make([][16]byte, 0, len(questions)), make([][16]byte, 0, len(questions))
	gates, nonces := make([][16]byte, 0, 1), make([][]byte, 0, 1)
	seenGates, seenNonces := map[ticket.GateID]bool{}, map[string]bool{}
	hashes, seenHashes := make([][]byte, 0, len(questions)), map[string]bool{}
	for _, q := range questions {
		if hash := q.by.Unconfirmed; hash != nil && !seenHashes[string(hash)] {
			seenHashes[string(hash)] = true
			hashes = append(hashes, hash)
		}
		keys = append(keys, q.in.Key)
		if !q.ticket.IsZero() {
			tickets = append(tickets, q.ticket)
		}
		if !seenGates[q.in.Gate] {
			seenGates[q.in.Gate] = true
			gates = append(gates, q.in.Gate)
		}
		if n := q.facts.Nonce; n != nil && !seenNonces[string(n)] {
			seenNonces[string(n)] = true
			nonces = append(nonces, n)
		}
	}
	return pgx.NamedArgs{"tickets": tickets, "keys": keys, "gates": gates, "nonces": nonces, "hashes": hashes}
}

// lockAndRead locks one scan's ticket, waits for it if need be, and gathers the
// facts, in one round trip.
func lockAndRead(ctx context.Context, tx pgx.Tx, q *question) (ticket.Facts, []byte, error) {
	var batch pgx.Batch
	r := read(&batch, []*question{q}, lockTickets)
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return ticket.Facts{}, nil, fmt.Errorf("read the facts: %w", err)
	}
	return r.about(q)
}
