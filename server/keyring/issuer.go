package keyring

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/server/audit"
	"portillon/server/fault"
	"portillon/server/pg"
	"portillon/server/seal"
	"portillon/server/session"
	"portillon/wallet"
)

// valid is how many issuer keys verify at once: the newest, which signs, and the
// one before it, so that what was printed before a rotation still opens the door.
const valid = 2

// issuers is the issuer keys that are not retired.
type issuers struct {
	signing [4]byte
	private *ecdsa.PrivateKey
	public  map[[4]byte]*ecdsa.PublicKey
	newest  [][4]byte // newest first
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Key describes an issuer key.
type Key struct {
	KID       string     `json:"kid"` // base64url of 4 bytes, as in the JWK set
	Signing   bool       `json:"signing"`
	CreatedAt time.Time  `json:"created_at"`
	RetiredAt *time.Time `json:"retired_at,omitempty"` // since when it no longer verifies
}

// JWK is one public key (RFC 7517; RFC 7518, section 6.2.1).
type JWK struct {
	KTY string `json:"kty"`
	CRV string `json:"crv"`
	X   string `json:"x"`
	Y   string `json:"y"`
	KID string `json:"kid"`
	Alg string `json:"alg"`
	Use string `json:"use"`
}

// JWKSet is a set of public keys (RFC 7517, section 5).
type JWKSet struct {
	Keys []JWK `json:"keys"`
}

// JWKS is the issuer keys that verify now, the newest first.
func (r *Ring) JWKS() any {
	r.mu.RLock()
	defer r.mu.RUnlock()
	set := JWKSet{Keys: make([]JWK, 0, len(r.issuer.newest))}
	for _, kid := range r.issuer.newest {
		xy := wallet.PublicKeyOf(r.issuer.public[kid])
		set.Keys = append(set.Keys, JWK{
			KTY: "EC", CRV: "P-256", X: b64(xy[:32]), Y: b64(xy[32:]), KID: b64(kid[:]), Alg: "ES256", Use: "sig",
		})
	}
	return set
}

// Rotate makes a new issuer key, which signs from now on. The one before it
// still verifies; older ones are retired, and paper signed by them is refused.
// Needs the right admin everywhere.
func (r *Ring) Rotate(ctx context.Context, by session.Caller) (Key, error) {
	if err := by.RequireEverywhere(session.Admin); err != nil {
		return Key{}, err
	}
	var made Key
	err := pg.Tx(ctx, r.pool, func(ctx context.Context, tx pgx.Tx) error {
		if err := lock(ctx, tx); err != nil {
			return err
		}
		var err error
		if made, err = r.makeIssuer(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
UPDATE issuer_keys SET retired_at = portillon_now()
WHERE retired_at IS NULL AND kid NOT IN (
  SELECT kid FROM issuer_keys WHERE retired_at IS NULL ORDER BY created_at DESC, kid LIMIT @valid)`,
			pgx.NamedArgs{"valid": valid}); err != nil {
			return fmt.Errorf("retire the older keys: %w", err)
		}
		return audit.Write(ctx, tx, by, audit.Act{Name: "keys.rotate", Details: map[string]any{"kid": made.KID}})
	})
	if err != nil {
		return Key{}, err
	}
	found, err := r.readIssuers(ctx, r.pool)
	if err != nil {
		return Key{}, fmt.Errorf("read the issuer keys: %w", err)
	}
	r.use(found)
	return made, nil
}

// List is all issuer keys, the newest first, retired ones too. Needs the right
// admin everywhere.
func (r *Ring) List(ctx context.Context, by session.Caller) ([]Key, error) {
	if err := by.RequireEverywhere(session.Admin); err != nil {
		return nil, err
	}
	rows, err := r.pool.Query(ctx, `SELECT kid, created_at, retired_at FROM issuer_keys ORDER BY created_at DESC, kid`)
	if err != nil {
		return nil, fmt.Errorf("list the issuer keys: %w", err)
	}
	keys, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Key, error) {
		var kid []byte
		var k Key
		err := row.Scan(&kid, &k.CreatedAt, &k.RetiredAt)
		k.KID = b64(kid)
		return k, err
	})
	if err != nil {
		return nil, fmt.Errorf("list the issuer keys: %w", err)
	}
	for i := range keys {
		keys[i].CreatedAt = keys[i].CreatedAt.UTC()
		keys[i].Signing = i == 0
	}
	return keys, nil
}

func (r *Ring) openIssuers(ctx context.Context, tx pgx.Tx) error {
	found, err := r.readIssuers(ctx, tx)
	if err != nil {
		return err
	}
	if len(found.newest) == 0 {
		if _, err := r.makeIssuer(ctx, tx); err != nil {
			return err
		}
		if found, err = r.readIssuers(ctx, tx); err != nil {
			return err
		}
	}
	r.use(found)
	return nil
}

// makeIssuer adds a key pair. Its kid is the beginning of its thumbprint (RFC
// 7638); should two keys ever share it, the primary key refuses the second.
func (r *Ring) makeIssuer(ctx context.Context, tx pgx.Tx) (Key, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Key{}, fmt.Errorf("make an issuer key: %w", err)
	}
	kid := wallet.IssuerKeyID(&private.PublicKey)
	scalar, err := private.Bytes()
	if err != nil {
		return Key{}, fmt.Errorf("make an issuer key: %w", err)
	}
	public := wallet.PublicKeyOf(&private.PublicKey)
	key := Key{KID: b64(kid[:]), Signing: true}
	err = tx.QueryRow(ctx, `
INSERT INTO issuer_keys (kid, public_key, sealed) VALUES (@kid, @public_key, @sealed) RETURNING created_at`,
		pgx.NamedArgs{"kid": kid[:], "public_key": public[:], "sealed": r.box.Seal(sealName(kid), scalar)}).Scan(&key.CreatedAt)
	if pg.IsUnique(err, "issuer_keys_pkey") {
		return Key{}, fault.New(fault.Conflict, "keys.kid_taken", "the new key's short name is taken; rotate again")
	}
	if err != nil {
		return Key{}, fmt.Errorf("keep the issuer key: %w", err)
	}
	key.CreatedAt = key.CreatedAt.UTC()
	return key, nil
}

// readIssuers opens the private part of the newest key only: the others verify.
func (r *Ring) readIssuers(ctx context.Context, q querier) (issuers, error) {
	found := issuers{public: map[[4]byte]*ecdsa.PublicKey{}}
	rows, err := q.Query(ctx, `
SELECT kid, public_key, sealed FROM issuer_keys WHERE retired_at IS NULL ORDER BY created_at DESC, kid`)
	if err != nil {
		return found, err
	}
	var kid, public, sealed []byte
	_, err = pgx.ForEachRow(rows, []any{&kid, &public, &sealed}, func() error {
		id := [4]byte(kid)
		key, err := wallet.ParsePublicKey([64]byte(public))
		if err != nil {
			return fmt.Errorf("issuer key %s: %w", b64(kid), err)
		}
		found.public[id] = key
		found.newest = append(found.newest, id)
		if found.private != nil {
			return nil
		}
		found.signing = id
		found.private, err = r.openPrivate(id, sealed)
		return err
	})
	return found, err
}

func (r *Ring) openPrivate(kid [4]byte, sealed []byte) (*ecdsa.PrivateKey, error) {
	scalar, err := r.box.Open(sealName(kid), sealed)
	if errors.Is(err, seal.ErrKey) {
		return nil, ErrOtherKey
	}
	if err != nil {
		return nil, err
	}
	return ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar)
}

func sealName(kid [4]byte) string { return "issuer_key " + hex.EncodeToString(kid[:]) }

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
