package claim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/server/fault"
	"portillon/server/pg"
	"portillon/server/seal"
	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/wallet"
)

// sessionTail is how long a session outlives the last of its events.
const sessionTail = time.Hour

// Cookie is a wallet session that was just opened: the secret and how long it
// lives. The zero Cookie is none.
type Cookie struct {
	Secret   string
	Lifetime time.Duration
}

// openSession makes a session for these tickets and those that the caller's
// present session is for; of one ticket the newest claim counts. Old sessions are
// swept on the way.
func openSession(ctx context.Context, tx pgx.Tx, by session.Caller, tickets []session.WalletTicket) (Cookie, error) {
	all := newest(append(slices.Clone(by.Wallet), tickets...))
	ids, generations := make([]ticket.ID, len(all)), make([]int16, len(all))
	for i, w := range all {
		ids[i], generations[i] = w.Ticket, int16(w.Generation)
	}
	secret := seal.Random()
	args := pgx.NamedArgs{"hash": seal.Hash(secret), "tickets": ids, "generations": generations, "tail": sessionTail}
	var expires, now time.Time
	err := tx.QueryRow(ctx, `
WITH t AS MATERIALIZED (SELECT portillon_now() AS now)
INSERT INTO wallet_sessions (hash, created_at, expires_at)
SELECT @hash, t.now, greatest(max(e.ends_at), t.now) + @tail::interval
FROM t, tickets k JOIN events e ON e.id = k.event_id WHERE k.id = ANY(@tickets) GROUP BY t.now
RETURNING expires_at, created_at`, args).Scan(&expires, &now)
	if err != nil {
		return Cookie{}, fmt.Errorf("open a wallet session: %w", err)
	}
	_, err = tx.Exec(ctx, `
INSERT INTO wallet_session_tickets (ticket_id, generation, session_hash)
SELECT ticket_id, generation, @hash FROM unnest(@tickets::uuid[], @generations::smallint[]) AS n (ticket_id, generation)`, args)
	if err != nil {
		return Cookie{}, fmt.Errorf("fill the wallet session: %w", err)
	}
	_, err = tx.Exec(ctx, `
DELETE FROM wallet_sessions WHERE hash IN (
  SELECT hash FROM wallet_sessions WHERE expires_at < portillon_now() ORDER BY hash LIMIT 20 FOR UPDATE SKIP LOCKED)`)
	if err != nil {
		return Cookie{}, fmt.Errorf("sweep the wallet sessions: %w", err)
	}
	return Cookie{Secret: secret, Lifetime: expires.Sub(now)}, nil
}

func newest(tickets []session.WalletTicket) []session.WalletTicket {
	best := map[ticket.ID]uint8{}
	for _, w := range tickets {
		best[w.Ticket] = max(best[w.Ticket], w.Generation)
	}
	all := make([]session.WalletTicket, 0, len(best))
	for id, generation := range best {
		all = append(all, session.WalletTicket{Ticket: id, Generation: generation})
	}
	slices.SortFunc(all, func(a, b session.WalletTicket) int { return bytes.Compare(a.Ticket[:], b.Ticket[:]) })
	return all
}

// WalletChallenge makes a challenge for WalletSession.
func (s *Service) WalletChallenge(ctx context.Context) (Challenge, error) {
	var made Challenge
	err := pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) (err error) {
		made, err = makeChallenge(ctx, tx, forSession)
		return err
	})
	return made, err
}

// ProofIn is a wallet session template signed by the key of one claim.
type ProofIn struct {
	Ticket     ticket.ID `json:"ticket"`
	Generation uint8     `json:"generation"`
	Proof      string    `json:"proof"`
}

// WalletSession opens a session for exactly the tickets whose proofs are good;
// those that moved away since are among them and say so. Faults: request.fields,
// claim.challenge_ended, wallet.proof_refused when no proof is good.
func (s *Service) WalletSession(ctx context.Context, proofs []ProofIn) (Wallet, Cookie, error) {
	challenge, err := challengeOf(proofs)
	if err != nil {
		return Wallet{}, Cookie{}, err
	}
	var out Wallet
	var cookie Cookie
	err = pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		keys, err := readKeys(ctx, tx, proofs)
		if err != nil {
			return err
		}
		good := verified(proofs, keys, challenge)
		if len(good) == 0 {
			return fault.New(fault.Unauthenticated, "wallet.proof_refused", "none of the signatures is by the key of its ticket")
		}
		if _, err := useUp(ctx, tx, forSession, challenge, nil); err != nil {
			return err
		}
		if cookie, err = openSession(ctx, tx, session.Caller{}, good); err != nil {
			return err
		}
		out, err = readWallet(ctx, tx, good)
		return err
	})
	if err != nil {
		return Wallet{}, Cookie{}, err
	}
	return out, cookie, nil
}

func challengeOf(proofs []ProofIn) (challenge [32]byte, err error) {
	if len(proofs) == 0 || len(proofs) > maxKeys {
		return challenge, fault.Fields(fault.Field{Name: "tickets", Code: "count"})
	}
	for i, p := range proofs {
		signed, err := wallet.ChallengeOf(p.Proof)
		if err != nil || i > 0 && signed != challenge {
			return challenge, fault.Fields(fault.Field{Name: fmt.Sprintf("tickets[%d].proof", i), Code: "proof_refused"})
		}
		challenge = signed
	}
	return challenge, nil
}

func readKeys(ctx context.Context, tx pgx.Tx, proofs []ProofIn) (map[session.WalletTicket][]byte, error) {
	ids, generations := make([]ticket.ID, len(proofs)), make([]int16, len(proofs))
	for i, p := range proofs {
		ids[i], generations[i] = p.Ticket, int16(p.Generation)
	}
	rows, err := tx.Query(ctx, `
SELECT k.ticket_id, k.generation, k.public_key
FROM unnest(@tickets::uuid[], @generations::smallint[]) AS n (ticket_id, generation)
JOIN claims k ON k.ticket_id = n.ticket_id AND k.generation = n.generation AND k.kind = 'phone'`,
		pgx.NamedArgs{"tickets": ids, "generations": generations})
	if err != nil {
		return nil, fmt.Errorf("read the keys: %w", err)
	}
	keys := map[session.WalletTicket][]byte{}
	var w session.WalletTicket
	var public []byte
	_, err = pgx.ForEachRow(rows, []any{&w.Ticket, &w.Generation, &public}, func() error {
		keys[w] = slices.Clone(public)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the keys: %w", err)
	}
	return keys, nil
}

func verified(proofs []ProofIn, keys map[session.WalletTicket][]byte, challenge [32]byte) []session.WalletTicket {
	var good []session.WalletTicket
	for _, p := range proofs {
		w := session.WalletTicket{Ticket: p.Ticket, Generation: p.Generation}
		raw := keys[w]
		if len(raw) != 64 {
			continue
		}
		public, err := wallet.ParsePublicKey([64]byte(raw))
		if err == nil && wallet.VerifySession(public, p.Proof, challenge, p.Ticket.UUID()) == nil {
			good = append(good, w)
		}
	}
	return newest(good)
}

// Admission is when and where a ticket last let somebody in.
type Admission struct {
	At   time.Time `json:"at"`
	Gate string    `json:"gate"`
}

// Standing is how one ticket of a wallet stands: its status, or "moved" when
// another phone or paper has it; then nothing is said of what became of it.
type Standing struct {
	Ticket     ticket.ID  `json:"ticket"`
	Generation uint8      `json:"generation"`
	State      string     `json:"state"`
	Number     int        `json:"number"`
	Seat       string     `json:"seat"`
	Category   string     `json:"category"`
	Admits     int        `json:"admits"`
	Entries    int        `json:"entries"`
	Event      Event      `json:"event"`
	Admitted   *Admission `json:"admitted,omitempty"`
}

// Wallet is what a wallet page shows.
type Wallet struct {
	Tickets    []Standing `json:"tickets"`
	ServerTime time.Time  `json:"server_time"`
}

// Wallet tells how the session's tickets stand. The fault is
// session.wallet_required.
func (s *Service) Wallet(ctx context.Context, by session.Caller) (Wallet, error) {
	if err := by.Require(session.Wallet, ticket.VenueID{}); err != nil {
		return Wallet{}, err
	}
	return readWallet(ctx, s.pool, by.Wallet)
}

// reader is a pool or a transaction.
type reader interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func readWallet(ctx context.Context, db reader, tickets []session.WalletTicket) (Wallet, error) {
	ids, generations := make([]ticket.ID, len(tickets)), make([]int16, len(tickets))
	for i, w := range tickets {
		ids[i], generations[i] = w.Ticket, int16(w.Generation)
	}
	rows, err := db.Query(ctx, `
SELECT t.id, w.generation, CASE WHEN w.generation = t.generation THEN t.status ELSE 'moved' END,
  t.number, t.seat, c.name, t.admits, CASE WHEN w.generation = t.generation THEN t.entries ELSE 0 END,
  e.id, e.name, e.screen, v.id, v.name, v.time_zone, e.doors_open_at, e.starts_at, e.ends_at,
  a.at, coalesce(a.gate, ''), portillon_now()
FROM unnest(@tickets::uuid[], @generations::smallint[]) AS w (ticket_id, generation)
JOIN tickets t ON t.id = w.ticket_id
JOIN categories c ON c.id = t.category_id
JOIN events e ON e.id = t.event_id
JOIN venues v ON v.id = e.venue_id
LEFT JOIN LATERAL (
  SELECT p.at, g.name AS gate FROM admissions p LEFT JOIN gates g ON g.id = p.gate_id
  WHERE p.ticket_id = t.id AND p.direction = 'in' AND w.generation = t.generation
    AND NOT EXISTS (SELECT FROM undos u WHERE u.ticket_id = p.ticket_id AND u.key = p.key)
  ORDER BY p.at DESC LIMIT 1) a ON true
ORDER BY e.doors_open_at, e.id, t.number`, pgx.NamedArgs{"tickets": ids, "generations": generations})
	if err != nil {
		return Wallet{}, fmt.Errorf("read the wallet: %w", err)
	}
	out := Wallet{Tickets: []Standing{}}
	var now time.Time
	standings, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t Standing, err error) {
		var at *time.Time
		var gate string
		err = row.Scan(&t.Ticket, &t.Generation, &t.State, &t.Number, &t.Seat, &t.Category, &t.Admits, &t.Entries,
			&t.Event.Event, &t.Event.Name, &t.Event.Screen, &t.Event.Venue, &t.Event.VenueName, &t.Event.TimeZone,
			&t.Event.DoorsOpenAt, &t.Event.StartsAt, &t.Event.EndsAt, &at, &gate, &now)
		if at != nil {
			t.Admitted = &Admission{At: utc(*at), Gate: gate}
		}
		t.Event = t.Event.inUTC()
		return t, err
	})
	if err != nil {
		return Wallet{}, fmt.Errorf("read the wallet: %w", err)
	}
	if len(standings) == 0 {
		return Wallet{}, errors.New("a wallet session without a ticket")
	}
	out.Tickets, out.ServerTime = standings, utc(now)
	return out, nil
}
