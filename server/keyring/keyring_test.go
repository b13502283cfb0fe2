package keyring

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/fault"
	"portillon/server/pgtest"
	"portillon/server/seal"
	"portillon/server/session"
	"portillon/wallet"
)

func operatorBox(t *testing.T, fill byte) *seal.Box {
	t.Helper()
	box, err := seal.New(bytes.Repeat([]byte{fill}, seal.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return box
}

// open opens the ring as one more process does, and makes sure that the
// database holds none of its secrets.
func open(t *testing.T, db *pgtest.DB) *Ring {
	t.Helper()
	ring, err := Open(t.Context(), db.Pool, operatorBox(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	noteSecrets(t, ring)
	return ring
}

func noteSecrets(t *testing.T, ring *Ring) {
	t.Helper()
	scalar, err := ring.issuer.private.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range [][]byte{ring.claimKey, scalar} {
		pgtest.Secret(t, base64.RawURLEncoding.EncodeToString(secret))
	}
}

func rotate(t *testing.T, ring *Ring) Key {
	t.Helper()
	key, err := ring.Rotate(t.Context(), session.Operator)
	if err != nil {
		t.Fatal(err)
	}
	noteSecrets(t, ring)
	return key
}

func TestProcessesThatStartAtOnceWorkWithTheSameKeys(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	rings := make([]*Ring, 7)
	box := operatorBox(t, 1)
	// The table is closed until all have come, so that none comes too late to race.
	door, err := db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = door.Rollback(context.Background()) }()
	if _, err := door.Exec(t.Context(), `LOCK TABLE sealed_keys`); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			var err error
			if rings[i], err = Open(t.Context(), db.Pool, box); err != nil {
				t.Error(err)
			}
		})
	}
	awaitWaiting(t, db, door, 6)
	if err := door.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	rings[6] = open(t, db) // and one that starts later
	id, event := uuid.New(), uuid.New()
	want := rings[0].ClaimCode(ScopeOrder, id, 1)
	pgtest.Secret(t, want)
	for _, ring := range rings {
		if ring.ClaimCode(ScopeOrder, id, 1) != want {
			t.Error("another claim code")
		}
		verify(t, sign(t, ring, event), rings[0], event)
	}
}

// awaitWaiting returns once n connections wait for this transaction, or for one
// that waits for it.
func awaitWaiting(t *testing.T, db *pgtest.DB, tx pgx.Tx, n int) {
	t.Helper()
	patience, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for waiting := 0; waiting < n; {
		if err := db.Pool.QueryRow(patience, `
WITH RECURSIVE waiting AS (
  SELECT pid FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))
  UNION SELECT a.pid FROM pg_stat_activity a JOIN waiting w ON w.pid = ANY (pg_blocking_pids(a.pid)))
SELECT count(*) FROM waiting`, tx.Conn().PgConn().PID()).Scan(&waiting); err != nil {
			t.Fatalf("%d of %d wait: %v", waiting, n, err)
		}
	}
}

func sign(t *testing.T, ring *Ring, event uuid.UUID) wallet.Code {
	t.Helper()
	code, err := ring.SignPaper(wallet.KeyID{Ticket: uuid.New(), Generation: 1}, event)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func verify(t *testing.T, code wallet.Code, ring *Ring, event uuid.UUID) {
	t.Helper()
	key, known := ring.IssuerKey(code.IssuerKey)
	if !known {
		t.Fatal("the issuer key is unknown")
	}
	if err := code.VerifyPaper(key, event); err != nil {
		t.Fatal(err)
	}
}

func TestEachScopeThingAndSerialHasACodeOfItsOwn(t *testing.T) {
	t.Parallel()
	ring := open(t, pgtest.New(t))
	id := uuid.New()
	codes := map[string]bool{}
	for _, scope := range []string{ScopeOrder, ScopeTicket} {
		for _, thing := range []uuid.UUID{id, uuid.New()} {
			for serial := range uint32(3) {
				codes[ring.ClaimCode(scope, thing, serial)] = true
			}
		}
	}
	if len(codes) != 12 {
		t.Errorf("%d codes, want 12", len(codes))
	}
}

func TestADatabaseOfAnotherOperatorIsRefused(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	open(t, db)
	_, err := Open(t.Context(), db.Pool, operatorBox(t, 2))
	if !errors.Is(err, ErrOtherKey) {
		t.Fatalf("got %v, want ErrOtherKey", err)
	}
	var keys int
	if err := db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM issuer_keys`).Scan(&keys); err != nil || keys != 1 {
		t.Errorf("%d issuer keys, %v", keys, err)
	}
}

func TestASealedKeyInAnotherPlaceIsRefused(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	open(t, db)
	if _, err := db.Pool.Exec(t.Context(), `
UPDATE sealed_keys SET sealed = (SELECT sealed FROM sealed_keys WHERE name = 'check') WHERE name = 'claim_key'`); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), db.Pool, operatorBox(t, 1)); !errors.Is(err, ErrOtherKey) {
		t.Fatalf("got %v, want ErrOtherKey", err)
	}
}

func TestTwoIssuerKeysAreGoodDuringARotation(t *testing.T) {
	t.Parallel()
	ring := open(t, pgtest.New(t))
	event := uuid.New()
	oldest := sign(t, ring, event)
	rotate(t, ring)
	older := sign(t, ring, event)
	if older.IssuerKey == oldest.IssuerKey {
		t.Fatal("the old key signs after a rotation")
	}
	verify(t, oldest, ring, event)
	verify(t, older, ring, event)

	last := rotate(t, ring)
	verify(t, older, ring, event)
	if _, known := ring.IssuerKey(oldest.IssuerKey); known {
		t.Error("the key before the last rotation still verifies")
	}
	keys, err := ring.List(t.Context(), session.Operator)
	if err != nil {
		t.Fatal(err)
	}
	if len(keys) != 3 || keys[0].KID != last.KID || !keys[0].Signing || keys[1].RetiredAt != nil || keys[2].RetiredAt == nil {
		t.Errorf("keys %+v", keys)
	}
}

func TestAProcessLearnsOfAKeyThatAnotherMade(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	here, there := open(t, db), open(t, db)
	event := uuid.New()
	rotate(t, here)
	verify(t, sign(t, here, event), there, event)
	if there.issuer.signing != here.issuer.signing {
		t.Error("the other process signs with the old key")
	}

	// It asked a moment ago, so the next key has to wait for its second.
	rotate(t, here)
	code := sign(t, here, event)
	asked := 0
	patience, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		asked++
		if _, known := there.IssuerKey(code.IssuerKey); known {
			break
		}
		if patience.Err() != nil {
			t.Fatal("the key stays unknown")
		}
	}
	if asked < 2 {
		t.Error("the database was asked twice within a second")
	}
}

func TestTheKeySetHoldsPublicKeysOnly(t *testing.T) {
	t.Parallel()
	ring := open(t, pgtest.New(t))
	rotate(t, ring)
	text, err := json.Marshal(ring.JWKS())
	if err != nil {
		t.Fatal(err)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil || len(set.Keys) != 2 {
		t.Fatalf("%s: %v", text, err)
	}
	for i, member := range set.Keys {
		key, err := wallet.ParseJWK(member)
		if err != nil {
			t.Fatal(err)
		}
		var named struct{ KID string }
		if err := json.Unmarshal(member, &named); err != nil {
			t.Fatal(err)
		}
		kid := wallet.IssuerKeyID(key)
		if named.KID != base64.RawURLEncoding.EncodeToString(kid[:]) {
			t.Errorf("key %d is called %s", i, named.KID)
		}
		if known, ok := ring.IssuerKey(kid); !ok || !known.Equal(key) {
			t.Errorf("key %d is not the ring's", i)
		}
	}
	if newest, _ := wallet.ParseJWK(set.Keys[0]); !newest.Equal(&ring.issuer.private.PublicKey) {
		t.Error("the first key is not the one that signs")
	}
}

func TestOnlyAnAdminOfEveryVenueRotates(t *testing.T) {
	t.Parallel()
	ring := open(t, pgtest.New(t))
	for code, by := range map[string]session.Caller{
		"session.required":      {},
		"session.right_missing": {Kind: session.ByCookie, Grants: []session.Grant{{Role: session.Supervisor}}},
	} {
		if _, err := ring.Rotate(t.Context(), by); !fault.Is(err, code) {
			t.Errorf("rotate: got %v, want %s", err, code)
		}
		if _, err := ring.List(t.Context(), by); !fault.Is(err, code) {
			t.Errorf("list: got %v, want %s", err, code)
		}
	}
}
