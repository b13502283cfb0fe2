// Package keyring holds the keys of the installation: the claim key, from which
// every claim link is derived, and the issuer keys, which sign paper codes. It
// promises that all processes on one database work with the same keys, that the
// database holds the secret ones only sealed with the operator's key, and that a
// database made with another operator's key is refused at the start instead of
// being worked on with wrong keys. It does not know what a link opens or who may
// print.
package keyring

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/time/rate"

	"portillon/server/pg"
	"portillon/server/seal"
	"portillon/wallet"
)

// The scopes of a claim code: it opens all tickets of an order, or one ticket.
const (
	ScopeOrder  = wallet.ScopeOrder
	ScopeTicket = wallet.ScopeTicket
)

// Names of the sealed values.
const (
	checkName    = "check"
	claimKeyName = "claim_key"
	checkText    = "portillon"
)

const (
	claimKeySize = 32
	reloadEvery  = time.Second
	reloadWithin = 2 * time.Second
)

// ErrOtherKey says that the database was made with another operator's key.
var ErrOtherKey = errors.New("this database was made with another operator key: start with the key that it was made with")

// Ring is the keys of one installation. It is safe for concurrent use.
type Ring struct {
	pool     *pgxpool.Pool
	box      *seal.Box
	claimKey []byte

	reload sync.Mutex // held while the issuer keys are read anew
	limit  *rate.Limiter

	mu     sync.RWMutex
	issuer issuers
}

// Open reads the keys and makes them on the first start. Several processes may
// start at once: one makes them, the others read. It returns ErrOtherKey when
// the operator's key is not the one that the database was made with.
func Open(ctx context.Context, pool *pgxpool.Pool, box *seal.Box) (*Ring, error) {
	r := &Ring{pool: pool, box: box, limit: rate.NewLimiter(rate.Every(reloadEvery), 1)}
	err := pg.Tx(ctx, pool, func(ctx context.Context, tx pgx.Tx) error {
		if err := lock(ctx, tx); err != nil {
			return err
		}
		if _, err := r.sealed(ctx, tx, checkName, func() []byte { return []byte(checkText) }); err != nil {
			return err
		}
		claimKey, err := r.sealed(ctx, tx, claimKeyName, newClaimKey)
		if err != nil {
			return err
		}
		r.claimKey = claimKey
		return r.openIssuers(ctx, tx)
	})
	if err != nil {
		return nil, fmt.Errorf("open the key ring: %w", err)
	}
	return r, nil
}

// lock lets one process at a time make keys. Advisory locks are shared by all
// schemas of a database, hence the schema's name.
func lock(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' keyring', 0))`)
	return err
}

func newClaimKey() []byte {
	key := make([]byte, claimKeySize)
	_, _ = rand.Read(key) // never fails: crypto/rand ends the program instead
	return key
}

// sealed reads the secret with this name; when there is none it is made.
func (r *Ring) sealed(ctx context.Context, tx pgx.Tx, name string, fresh func() []byte) ([]byte, error) {
	var sealed []byte
	err := tx.QueryRow(ctx, `SELECT sealed FROM sealed_keys WHERE name = @name`, pgx.NamedArgs{"name": name}).Scan(&sealed)
	if errors.Is(err, pgx.ErrNoRows) {
		plain := fresh()
		_, err := tx.Exec(ctx, `INSERT INTO sealed_keys (name, sealed) VALUES (@name, @sealed)`,
			pgx.NamedArgs{"name": name, "sealed": r.box.Seal(name, plain)})
		return plain, err
	}
	if err != nil {
		return nil, err
	}
	plain, err := r.box.Open(name, sealed)
	if errors.Is(err, seal.ErrKey) {
		return nil, ErrOtherKey
	}
	return plain, err
}

// ClaimCode derives the code in the claim link of an order or a ticket: scope is
// ScopeOrder or ScopeTicket, serial counts the links of that thing. The same
// arguments give the same code, so it is stored nowhere.
func (r *Ring) ClaimCode(scope string, id uuid.UUID, serial uint32) string {
	return wallet.ClaimCode(r.claimKey, scope, id, serial)
}

// SignPaper makes the paper code of a ticket's generation, signed by the newest
// issuer key that this process knows (see Refresh).
func (r *Ring) SignPaper(id wallet.KeyID, event uuid.UUID) (wallet.Code, error) {
	r.mu.RLock()
	kid, key := r.issuer.signing, r.issuer.private
	r.mu.RUnlock()
	return wallet.SignPaper(rand.Reader, key, id, event, kid)
}

// IssuerKey is the public part of an issuer key that is not retired. For a key
// that this process has not met it looks into the database, at most once a
// second in all: call it outside a transaction. A key made less than a second
// ago by another process may therefore be unknown here for that second.
func (r *Ring) IssuerKey(kid [4]byte) (*ecdsa.PublicKey, bool) {
	if key, ok := r.known(kid); ok {
		return key, true
	}
	ctx, cancel := context.WithTimeout(context.Background(), reloadWithin)
	defer cancel()
	if err := r.Refresh(ctx); err != nil {
		return nil, false
	}
	return r.known(kid)
}

func (r *Ring) known(kid [4]byte) (*ecdsa.PublicKey, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	key, ok := r.issuer.public[kid]
	return key, ok
}

// Refresh reads the issuer keys anew, at most once a second: what another
// process rotated meanwhile is known afterwards. Whoever comes while another
// reads waits for what that one finds.
func (r *Ring) Refresh(ctx context.Context) error {
	r.reload.Lock()
	defer r.reload.Unlock()
	if !r.limit.Allow() {
		return nil
	}
	found, err := r.readIssuers(ctx, r.pool)
	if err != nil {
		return fmt.Errorf("read the issuer keys: %w", err)
	}
	r.use(found)
	return nil
}

func (r *Ring) use(found issuers) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.issuer = found
}
