package pg_test

import (
	"errors"
	"io/fs"
	"slices"
	"sync"
	"testing"
	"testing/fstest"

	"portillon/server/pg"
	"portillon/server/pgtest"
)

func files(of map[string]string) fs.FS {
	all := fstest.MapFS{}
	for name, sql := range of {
		all[name] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + sql + "\n")}
	}
	return all
}

var (
	one   = files(map[string]string{"0001_one.sql": "create table one (n int);"})
	three = files(map[string]string{
		"0001_one.sql": "create table one (n int);", "0002_two.sql": "create table two (n int);", "0010_three.sql": "create table three (n int);",
	})
	broken = files(map[string]string{
		"0001_one.sql": "create table one (n int);", "0002_two.sql": "create table two (n int); select nonsense;",
	})
)

func TestMigrationsAreAppliedOnceInOrderEvenByManyAtOnce(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Empty())
	var mu sync.Mutex
	var all []string
	var ended sync.WaitGroup
	for range 4 {
		ended.Go(func() {
			applied, err := pg.Migrate(t.Context(), db.Pool, three)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			all = append(all, applied...)
			mu.Unlock()
		})
	}
	ended.Wait()
	if !slices.Equal(all, []string{"0001_one.sql", "0002_two.sql", "0010_three.sql"}) {
		t.Errorf("applied were %q", all)
	}
	if err := pg.CheckVersion(t.Context(), db.Pool, three); err != nil {
		t.Error(err)
	}
}

func TestStatusAndCheckTellWhatIsMissing(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Empty())
	if err := pg.CheckVersion(t.Context(), db.Pool, one); !errors.Is(err, pg.ErrSchemaOlder) {
		t.Errorf("an empty schema: %v", err)
	}
	if _, err := pg.Migrate(t.Context(), db.Pool, one); err != nil {
		t.Fatal(err)
	}
	if err := pg.CheckVersion(t.Context(), db.Pool, three); !errors.Is(err, pg.ErrSchemaOlder) {
		t.Errorf("an old schema: %v", err)
	}
	status, err := pg.Status(t.Context(), db.Pool, three)
	if err != nil || len(status) != 3 || status[0].AppliedAt.IsZero() || !status[1].AppliedAt.IsZero() || status[2].Version != 10 {
		t.Errorf("the status is %+v, %v", status, err)
	}
}

func TestASchemaOfANewerVersionIsRefused(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Empty())
	if _, err := pg.Migrate(t.Context(), db.Pool, three); err != nil {
		t.Fatal(err)
	}
	if err := pg.CheckVersion(t.Context(), db.Pool, one); !errors.Is(err, pg.ErrSchemaNewer) {
		t.Errorf("the check says %v", err)
	}
	if _, err := pg.Migrate(t.Context(), db.Pool, one); !errors.Is(err, pg.ErrSchemaNewer) {
		t.Errorf("the migration says %v", err)
	}
}

func TestAMigrationThatFailsLeavesNothingOfItselfAndNamesTheOthers(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Empty())
	applied, err := pg.Migrate(t.Context(), db.Pool, broken)
	if err == nil || !slices.Equal(applied, []string{"0001_one.sql"}) {
		t.Errorf("applied were %q, %v", applied, err)
	}
	applied, err = pg.Migrate(t.Context(), db.Pool, three)
	if err != nil || !slices.Equal(applied, []string{"0002_two.sql", "0010_three.sql"}) {
		t.Errorf("then applied were %q, %v", applied, err)
	}
}

func TestMigrateMakesTheSchemaThatThePoolNames(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Empty())
	name := "made_" + db.Schema[len(db.Schema)-12:]
	t.Cleanup(func() { do(t, db.URL, "drop schema "+name+" cascade") })
	pool, err := pg.Open(t.Context(), db.URL, pg.PoolOptions{Schema: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if _, err := pg.Migrate(t.Context(), pool, one); err != nil {
		t.Fatal(err)
	}
	if found := ask(t, db.URL, "select coalesce(to_regclass('"+name+".one')::text, 'no')"); found != name+".one" {
		t.Errorf("the table is %q", found)
	}
}
