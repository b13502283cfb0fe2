package claim

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/server/audit"
	"portillon/server/fault"
	"portillon/server/news"
	"portillon/server/pg"
	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/wallet"
)

// maxKeys is how many tickets one request may claim; a large order takes several.
const maxKeys = 64

// KeyIn binds one ticket: the public key as a JSON Web Key (RFC 7517) and the
// proof that its private part is on this phone, a claim template as a compact JWS.
type KeyIn struct {
	Ticket ticket.ID       `json:"ticket"`
	JWK    json.RawMessage `json:"jwk"`
	Proof  string          `json:"proof"`
}

// In claims tickets of the link with this code. Browser is the kind of browser
// that asks, for a second opener of the link.
type In struct {
	Code    string
	Keys    []KeyIn
	Browser string
}

// Bound is a ticket that is on this phone now.
type Bound struct {
	Ticket     ticket.ID `json:"ticket"`
	Generation uint8     `json:"generation"`
	Event      Event     `json:"event"`
	Number     int       `json:"number"`
	Seat       string    `json:"seat"`
	Category   string    `json:"category"`
	Admits     int       `json:"admits"`
}

// Out is the answer to a claim. Session is the secret of the wallet's cookie and
// how long it lives; it is not part of the JSON.
type Out struct {
	Tickets    []Bound   `json:"tickets"`
	ServerTime time.Time `json:"server_time"`
	Session    Cookie    `json:"-"`
}

// boundKey is a key that was checked, apart from its signature.
type boundKey struct {
	ticket     ticket.ID
	place      int // in the request
	public     wallet.PublicKey
	thumbprint [32]byte
	verify     func(event ticket.EventID, code [32]byte) error
}

// Claim binds the tickets to the keys: all or none. The same keys get the same
// answer again. Faults: request.fields, claim.code_unknown, claim.code_ended,
// claim.challenge_ended, claim.key_bound, and with the ticket named claim.taken,
// claim.too_early, claim.event_over, claim.ticket_revoked, claim.ticket_held,
// claim.ticket_used.
func (s *Service) Claim(ctx context.Context, by session.Caller, in In) (Out, error) {
	keys, challenge, err := parseKeys(in.Keys)
	if err != nil {
		return Out{}, err
	}
	var out Out
	var told []news.Item
	err = pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		out, told = Out{}, nil
		tickets, now, err := lockTickets(ctx, tx, in.Code, keys)
		if err != nil {
			return err
		}
		used, err := useUp(ctx, tx, forClaim, challenge, receiptOf(challenge, keys))
		if err != nil {
			return err
		}
		b := binding{by: by, browser: in.Browser, now: now}
		for i, k := range keys {
			if err := b.add(tickets[i], k, used); err != nil {
				return err
			}
		}
		if err := b.write(ctx, tx); err != nil {
			return err
		}
		told = b.told
		out, err = b.answer(ctx, tx)
		return err
	})
	if err != nil {
		return Out{}, err
	}
	s.hub.Publish(ctx, told...)
	return out, nil
}

// parseKeys checks all that can be checked without the database, and puts the
// keys into the order of their tickets, which is the order of locks.
func parseKeys(in []KeyIn) (keys []boundKey, challenge [32]byte, err error) {
	var faults []fault.Field
	wrong := func(i int, field, code string) {
		faults = append(faults, fault.Field{Name: fmt.Sprintf("keys[%d].%s", i, field), Code: code})
	}
	if len(in) == 0 || len(in) > maxKeys {
		return nil, challenge, fault.Fields(fault.Field{Name: "keys", Code: "count"})
	}
	tickets, thumbprints := map[ticket.ID]bool{}, map[[32]byte]bool{}
	for i, k := range in {
		if k.Ticket.IsZero() || tickets[k.Ticket] {
			wrong(i, "ticket", "missing_or_twice")
		}
		tickets[k.Ticket] = true
		public, err := wallet.ParseJWK(k.JWK)
		if err != nil {
			wrong(i, "jwk", "key_refused")
			continue
		}
		thumbprint := wallet.Thumbprint(public)
		if thumbprints[thumbprint] {
			wrong(i, "jwk", "key_twice")
		}
		thumbprints[thumbprint] = true
		signed, err := wallet.ChallengeOf(k.Proof)
		if err != nil || len(keys) > 0 && signed != challenge {
			wrong(i, "proof", "proof_refused")
			continue
		}
		challenge = signed
		keys = append(keys, boundKey{
			ticket: k.Ticket, place: i, public: wallet.PublicKeyOf(public), thumbprint: thumbprint,
			verify: func(event ticket.EventID, code [32]byte) error {
				return wallet.VerifyClaim(public, k.Proof, signed, event.UUID(), code)
			},
		})
	}
	if faults != nil {
		return nil, challenge, fault.Fields(faults...)
	}
	slices.SortFunc(keys, func(a, b boundKey) int { return bytes.Compare(a.ticket[:], b.ticket[:]) })
	return keys, challenge, nil
}

// lockTickets locks the rows in id order, then reads what it decides upon and the
// time, in statements of their own: one that waited sees other tables as they
// were before. The tickets are in the order of the keys, and their signatures
// are good.
func lockTickets(ctx context.Context, tx pgx.Tx, code string, keys []boundKey) ([]bindable, time.Time, error) {
	ids := make([]ticket.ID, len(keys))
	for i, k := range keys {
		ids[i] = k.ticket
	}
	var now time.Time
	l, err := findLink(ctx, tx, code)
	if err != nil { // a stranger locks nothing
		return nil, now, err
	}
	if err := l.lock(ctx, tx, ids); err != nil {
		return nil, now, err
	}
	if l, err = findLink(ctx, tx, code); err != nil {
		return nil, now, err
	}
	all, err := l.tickets(ctx, tx)
	if err != nil {
		return nil, now, err
	}
	if len(all) == 0 {
		return nil, now, errEnded()
	}
	if err := tx.QueryRow(ctx, `SELECT portillon_now()`).Scan(&now); err != nil {
		return nil, now, fmt.Errorf("read the time: %w", err)
	}
	tickets, err := match(all, keys, l.hash)
	return tickets, now, err
}

// match finds each key's ticket among the link's and verifies its proof.
func match(all []bindable, keys []boundKey, code [32]byte) ([]bindable, error) {
	byID := make(map[ticket.ID]bindable, len(all))
	for _, t := range all {
		byID[t.Ticket] = t
	}
	var faults []fault.Field
	tickets := make([]bindable, len(keys))
	for i, k := range keys {
		t, ok := byID[k.ticket]
		switch {
		case !ok:
			faults = append(faults, fault.Field{Name: fmt.Sprintf("keys[%d].ticket", k.place), Code: "not_of_this_link"})
		case k.verify(t.Event.Event, code) != nil:
			faults = append(faults, fault.Field{Name: fmt.Sprintf("keys[%d].proof", k.place), Code: "proof_refused"})
		}
		tickets[i] = t
	}
	if faults != nil {
		return nil, fault.Fields(faults...)
	}
	return tickets, nil
}

// binding gathers what one claim writes, so that an order of fifty tickets takes
// as many statements as one ticket.
type binding struct {
	by      session.Caller
	browser string
	now     time.Time
	move    *move // nil: a claim, which takes nothing from another phone

	bound []Bound
	told  []news.Item

	tickets     []ticket.ID
	generations []int16 // the new ones
	publicKeys  [][]byte
	thumbprints [][]byte
	serials     []int32
	counted     []int16 // 1 where this is one of the ticket's moves
	takenBack   []bool  // where it is the one that is none
	before      []bindable
}

// add judges one ticket. Fresh is false when the challenge was used before: then
// only a key that has the ticket already gets its answer again.
func (b *binding) add(t bindable, k boundKey, fresh bool) error {
	if t.Kind == phone && bytes.Equal(t.PublicKey, k.public[:]) {
		b.bound = append(b.bound, boundOf(t, t.Generation))
		return nil
	}
	counted, takenBack, refused := b.judge(t)
	if refused != nil {
		return refused
	}
	if !fresh {
		return fault.New(fault.Gone, "claim.challenge_ended", "this challenge is unknown, used or too old; ask for another and sign that")
	}
	next := t.Generation + 1
	b.tickets = append(b.tickets, t.Ticket)
	b.generations = append(b.generations, next)
	b.publicKeys = append(b.publicKeys, k.public[:])
	b.thumbprints = append(b.thumbprints, k.thumbprint[:])
	b.serials = append(b.serials, int32(t.ClaimSerial))
	b.counted = append(b.counted, counted)
	b.takenBack = append(b.takenBack, takenBack)
	b.before = append(b.before, t)
	b.bound = append(b.bound, boundOf(t, next))
	if t.Generation > 0 {
		b.told = append(b.told, news.Item{Ticket: t.Ticket, What: news.Moved, At: b.now, Generation: uint8(next)})
	}
	return nil
}

// judge says why the ticket stays where it is, or whether taking it counts as a move.
func (b *binding) judge(t bindable) (counted int16, takenBack bool, refused *fault.Error) {
	refused = t.refusal(b.now)
	if b.move == nil || refused == nil {
		return 0, false, refused
	}
	if refused = t.unmovable(b.now, b.move.address); refused != nil {
		return 0, false, refused
	}
	if t.free() {
		return 0, true, nil
	}
	return 1, false, nil
}

func boundOf(t bindable, generation int16) Bound {
	return Bound{
		Ticket: t.Ticket, Generation: uint8(generation), Event: t.Event, Number: t.Number,
		Seat: t.Seat, Category: t.Category, Admits: t.Admits,
	}
}

// write binds: the conditional update is the rule that the first claim wins, the
// primary key of keys the rule that a key has one ticket.
func (b *binding) write(ctx context.Context, tx pgx.Tx) error {
	if len(b.tickets) == 0 {
		return nil
	}
	args := pgx.NamedArgs{
		"tickets": b.tickets, "generations": b.generations, "public_keys": b.publicKeys, "thumbprints": b.thumbprints,
		"serials": b.serials, "counted": b.counted, "taken_back": b.takenBack, "browser": b.browser, "now": b.now, "move": b.move.id(),
	}
	updated, err := tx.Exec(ctx, `
UPDATE tickets t SET generation = n.generation, moves = t.moves + n.counted, taken_back = t.taken_back OR n.taken_back
FROM unnest(@tickets::uuid[], @generations::smallint[], @counted::smallint[], @taken_back::boolean[]) AS n (ticket_id, generation, counted, taken_back)
WHERE t.id = n.ticket_id AND t.generation = n.generation - 1 AND t.status = 'active'`, args)
	if err != nil {
		return fmt.Errorf("raise the generation: %w", err)
	}
	if int(updated.RowsAffected()) != len(b.tickets) {
		return fmt.Errorf("%d of %d tickets changed under their lock", len(b.tickets)-int(updated.RowsAffected()), len(b.tickets))
	}
	_, err = tx.Exec(ctx, `
INSERT INTO claims (ticket_id, generation, kind, public_key, browser, serial, created_at, move_id)
SELECT ticket_id, generation, 'phone', public_key, @browser, serial, @now, @move
FROM unnest(@tickets::uuid[], @generations::smallint[], @public_keys::bytea[], @serials::integer[])
  AS n (ticket_id, generation, public_key, serial)`, args)
	if err != nil {
		return fmt.Errorf("write the claims: %w", err)
	}
	_, err = tx.Exec(ctx, `
INSERT INTO keys (thumbprint, ticket_id, generation)
SELECT thumbprint, ticket_id, generation
FROM unnest(@thumbprints::bytea[], @tickets::uuid[], @generations::smallint[]) AS n (thumbprint, ticket_id, generation)
ORDER BY thumbprint`, args)
	if pg.IsUnique(err, "keys_pkey") {
		return fault.New(fault.Conflict, "claim.key_bound", "a key is for one ticket and one claim; make a new one").With(err)
	}
	if err != nil {
		return fmt.Errorf("bind the keys: %w", err)
	}
	return b.record(ctx, tx)
}

func (b *binding) record(ctx context.Context, tx pgx.Tx) error {
	for i, t := range b.before {
		details := map[string]any{"generation": b.generations[i], "browser": b.browser}
		if t.Kind != "" {
			details["replaced"] = t.Kind
		}
		name := "ticket.claim"
		if b.move != nil {
			name, details["counted"] = "ticket.move", b.counted[i] == 1
		}
		err := audit.Write(ctx, tx, b.by, audit.Act{
			Name: name, Venue: t.Event.Venue, Event: t.Event.Event, Ticket: t.Ticket, Details: details,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// answer says what is on the phone now, and opens a session for it.
func (b *binding) answer(ctx context.Context, tx pgx.Tx) (Out, error) {
	cookie, err := openSession(ctx, tx, b.by, b.wallet())
	return Out{Tickets: b.bound, ServerTime: utc(b.now), Session: cookie}, err
}

// wallet is what the session is for.
func (b *binding) wallet() []session.WalletTicket {
	tickets := make([]session.WalletTicket, len(b.bound))
	for i, t := range b.bound {
		tickets[i] = session.WalletTicket{Ticket: t.Ticket, Generation: t.Generation}
	}
	return tickets
}

func b64u(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
