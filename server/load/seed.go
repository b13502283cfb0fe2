package load

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/md5" //nolint:gosec // only spreads the identifiers, in SQL as here
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"fmt"
	"strconv"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"portillon/server/seal"
	"portillon/server/session"
	"portillon/wallet"
)

const (
	gates    = 64   // that scan at the same time
	keyPairs = 4096 // of the phones; a ticket's is named by its first 12 bits
	perOrder = 4    // tickets
)

//go:embed reference.sql
var referenceSchema string

// World is what the database was filled with.
type World struct {
	pool    *pgxpool.Pool
	Event   uuid.UUID
	gates   [gates]uuid.UUID
	devices []string // credentials, each with a person signed on
	keys    [keyPairs]*ecdsa.PrivateKey
	Tickets int // so far
	// Tickets from and above are new since the last growth; used of them are.
	from, used, step int
}

// TicketID is the n-th ticket's identifier: spread like a random one, and known to
// SQL too.
func TicketID(n int) uuid.UUID { return md5.Sum([]byte(strconv.Itoa(n))) } //nolint:gosec // see above

// keyOf is which key pair a ticket's phone has.
func keyOf(id uuid.UUID) int { return int(id[0])<<4 | int(id[1])>>4 }

// Furnish puts a stadium with its gates and devices into a migrated, empty database,
// and the tables of the reference beside it.
func Furnish(ctx context.Context, pool *pgxpool.Pool, devices int) (*World, error) {
	w := &World{pool: pool, Event: uuid.New(), devices: make([]string, devices)}
	if err := w.makeKeys(); err != nil {
		return nil, err
	}
	venue, names := uuid.New(), make([]string, gates)
	for i := range w.gates {
		w.gates[i], names[i] = uuid.New(), fmt.Sprintf("Gate %d", i+1)
	}
	hashes, people := make([][]byte, devices), make([]uuid.UUID, devices)
	for i := range w.devices {
		var secret [32]byte
		_, _ = rand.Read(secret[:]) // never fails
		w.devices[i] = session.DevicePrefix + base64.RawURLEncoding.EncodeToString(secret[:])
		hashes[i], people[i] = seal.Hash(w.devices[i]), uuid.New()
	}
	publics := make([][]byte, keyPairs)
	for i, key := range w.keys {
		public := wallet.PublicKeyOf(&key.PublicKey)
		publics[i] = public[:]
	}
	args := pgx.NamedArgs{
		"venue": venue, "event": w.Event, "gates": w.gates[:], "names": names, "hashes": hashes, "people": people, "keys": publics,
	}
	for _, sql := range []string{
		`INSERT INTO venues (id, name, time_zone) VALUES (@venue, 'Stadium', 'Europe/Prague')`,
		`INSERT INTO gates (id, venue_id, name) SELECT id, @venue, name FROM unnest(@gates::uuid[], @names::text[]) g (id, name)`,
		`INSERT INTO events (id, venue_id, name, doors_open_at, starts_at, ends_at, claim_from)
VALUES (@event, @venue, 'The final', portillon_now() - interval '1 hour', portillon_now() + interval '1 hour',
  portillon_now() + interval '5 hours', portillon_now() - interval '3 days')`,
		`INSERT INTO categories (id, event_id, name) VALUES (@event, @event, 'Standard')`,
		`INSERT INTO people (id, email, name) SELECT id, id || '@example.org', 'Controller ' || n FROM unnest(@people::uuid[]) WITH ORDINALITY p (id, n)`,
		`INSERT INTO person_roles (person_id, venue_id, role) SELECT id, @venue, 'controller' FROM unnest(@people::uuid[]) p (id)`,
		`INSERT INTO devices (id, venue_id, name, token_hash) SELECT id, @venue, 'Phone ' || id, hash FROM unnest(@people::uuid[], @hashes::bytea[]) d (id, hash)`,
		`INSERT INTO sign_ons (device_id, person_id) SELECT id, id FROM unnest(@people::uuid[]) p (id)`,
		`CREATE TABLE load_keys AS SELECT n - 1 AS n, key FROM unnest(@keys::bytea[]) WITH ORDINALITY k (key, n)`,
	} {
		if _, err := pool.Exec(ctx, sql, args); err != nil {
			return nil, fmt.Errorf("furnish: %w", err)
		}
	}
	_, err := pool.Exec(ctx, referenceSchema)
	return w, err
}

func (w *World) makeKeys() error {
	var all sync.WaitGroup
	errs := make(chan error, 4)
	for hand := range cap(errs) {
		all.Go(func() {
			for i := hand; i < keyPairs; i += cap(errs) {
				key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
				if err != nil {
					errs <- err
					return
				}
				w.keys[i] = key
			}
		})
	}
	all.Wait()
	close(errs)
	return <-errs
}

// Grow adds claimed tickets up to that many, and as many of the reference; and an
// attempt for each new ticket, spread over the last ten days, if there shall be a
// past. Foreign keys are not checked meanwhile: the rows are right.
func (w *World) Grow(ctx context.Context, tickets int, past bool) error {
	from := w.Tickets + 1
	args := pgx.NamedArgs{"from": from, "to": tickets, "event": w.Event, "per": perOrder, "gate": w.gates[0]}
	statements := []string{
		`INSERT INTO orders (id, event_id) SELECT md5('order' || n)::uuid, @event FROM generate_series(@from::int, @to, @per) n`,
		`INSERT INTO tickets (id, event_id, category_id, order_id, number, generation, admits, seat, holder_name)
SELECT md5(n::text)::uuid, @event, @event, md5('order' || @from + (n - @from) / @per * @per)::uuid, n, 1, 1, 'Row ' || n / 40 || ' Seat ' || n % 40, 'Guest ' || n
FROM generate_series(@from::int, @to) n`,
		`INSERT INTO numbers (event_id, number, ticket_id, followed) SELECT @event, n, md5(n::text)::uuid, n < @to FROM generate_series(@from::int, @to) n`,
		`INSERT INTO claims (ticket_id, generation, kind, public_key)
SELECT md5(n::text)::uuid, 1, 'phone', (SELECT key FROM load_keys k WHERE k.n = ('x' || left(md5(i.n::text), 3))::bit(12)::int)
FROM generate_series(@from::int, @to) i (n)`,
		`INSERT INTO reference.tickets (id) SELECT md5(n::text)::uuid FROM generate_series(@from::int, @to) n`,
	}
	if past {
		statements = append(statements, `
INSERT INTO attempts (received_at, ticket_id, key, event_id, gate_id, person_id, kind, reason, class, duration_us)
SELECT portillon_now() - (n % 10) * interval '1 day', md5(n::text)::uuid, gen_random_uuid(), @event, @gate, @gate, 'pushed', 'admitted', 'admit', 900
FROM generate_series(@from::int, @to) n`)
	}
	conn, err := w.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, `SET session_replication_role = replica; SET statement_timeout = 0; CREATE UNIQUE INDEX IF NOT EXISTS load_keys_n ON load_keys (n)`); err != nil {
		return err
	}
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql, args); err != nil {
			return fmt.Errorf("grow to %d tickets: %w", tickets, err)
		}
	}
	w.from, w.Tickets, w.used = from, tickets, 0
	w.step = stepOf(tickets - from + 1)
	if _, err := conn.Exec(ctx, `VACUUM (ANALYZE)`); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, `RESET session_replication_role; RESET statement_timeout`)
	return err
}

// next is a new ticket that nobody has used, in an order that jumps about as guests
// do; false when there is none left.
func (w *World) next() (uuid.UUID, bool) {
	fresh := w.Tickets - w.from + 1
	if w.used >= fresh {
		return uuid.Nil, false
	}
	w.used++
	return TicketID(w.from + w.used*w.step%fresh), true
}

// left is how many tickets next still has.
func (w *World) left() int { return w.Tickets - w.from + 1 - w.used }

// giveBack takes the last n of next back: they were signed and not sent.
func (w *World) giveBack(n int) { w.used -= n }

// stepOf is a step through n things that meets each once and none near the last.
func stepOf(n int) int {
	step := int(0.6180339887 * float64(n))
	for step < 1 || gcd(step, n) != 1 {
		step++
	}
	return step
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
