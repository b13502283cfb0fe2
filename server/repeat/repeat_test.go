package repeat_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/fault"
	"portillon/server/pg"
	"portillon/server/pgtest"
	"portillon/server/repeat"
	"portillon/server/rights"
	"portillon/server/ticket"
)

// create does a call as every creating verb does, and gives what it made or found.
func create(t *testing.T, db *pgtest.DB, by rights.Caller, call repeat.Call) (thing uuid.UUID, err error) {
	t.Helper()
	err = pg.Tx(t.Context(), db.Pool, func(ctx context.Context, tx pgx.Tx) error {
		earlier, found, err := repeat.Find(ctx, tx, by, call)
		if thing = earlier; found || err != nil {
			return err
		}
		thing = uuid.New()
		return repeat.Made(ctx, tx, by, call, thing)
	})
	return thing, err
}

func calling(body string) repeat.Call {
	return repeat.Call{Key: uuid.New(), Act: "thing", Hash: repeat.Hash([]byte(body))}
}

func TestAKeyMakesOneThingForItsCallerAndItsBody(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	eva := rights.Caller{Kind: rights.ByCookie, Person: ticket.PersonID(uuid.New())}
	karel := rights.Caller{Kind: rights.ByCookie, Person: ticket.PersonID(uuid.New())}
	call := calling("a")
	first, err := create(t, db, eva, call)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := create(t, db, eva, call); err != nil || again != first {
		t.Errorf("the second call made %v after %v, %v", again, first, err)
	}
	if other, err := create(t, db, karel, call); err != nil || other == first {
		t.Errorf("another caller with that key got the same thing, %v", err)
	}
	call.Hash = repeat.Hash([]byte("b"))
	if _, err := create(t, db, eva, call); !fault.Is(err, "request.key_conflict") {
		t.Errorf("another body: %v", err)
	}
}

func TestAKeyIsKnownForAWeekAndTheOperatorsForGood(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	eva := rights.Caller{Kind: rights.ByCookie, Person: ticket.PersonID(uuid.New())}
	operator := rights.Caller{Kind: rights.ByShell}
	hers, ours := calling("hers"), calling("ours")
	made := map[rights.CallerKind]uuid.UUID{}
	for by, call := range map[*rights.Caller]repeat.Call{&eva: hers, &operator: ours} {
		var err error
		if made[by.Kind], err = create(t, db, *by, call); err != nil {
			t.Fatal(err)
		}
	}
	same := func(by rights.Caller, call repeat.Call) bool {
		t.Helper()
		if _, err := create(t, db, eva, calling("something new")); err != nil { // sweeps
			t.Fatal(err)
		}
		thing, err := create(t, db, by, call)
		if err != nil {
			t.Fatal(err)
		}
		return thing == made[by.Kind]
	}
	db.Shift(t, 7*24*time.Hour-time.Minute)
	if !same(eva, hers) || !same(operator, ours) {
		t.Error("a key was forgotten within a week")
	}
	db.Shift(t, 2*time.Minute)
	if same(eva, hers) {
		t.Error("a key is known after a week")
	}
	if !same(operator, ours) {
		t.Error("the operator's key was forgotten")
	}
}
