package pg_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/pg"
	"portillon/server/pgtest"
)

type (
	plainID       uuid.UUID
	kindOf[T any] uuid.UUID
	genericID     = kindOf[struct{}]
)

// String and MarshalText are what the product's identifiers have; a driver must not
// take them for texts because of it.
func (id kindOf[T]) String() string               { return uuid.UUID(id).String() }
func (id kindOf[T]) MarshalText() ([]byte, error) { return uuid.UUID(id).MarshalText() }
func (id *kindOf[T]) UnmarshalText(text []byte) error {
	parsed, err := uuid.ParseBytes(text)
	*id = kindOf[T](parsed)
	return err
}

func setting(t *testing.T, db *pgtest.DB, name string) (value string) {
	t.Helper()
	if err := db.Pool.QueryRow(t.Context(), `select current_setting($1)`, name).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestEveryConnectionOfAPoolHasItsLimitsByName(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Empty(), pgtest.Pool(func(o *pg.PoolOptions) {
		o.LockTimeout = 250 * time.Millisecond
		o.IdleInTransactionTimeout = -1
		o.ApplicationName = "door"
		o.Settings = map[string]string{"enable_seqscan": "off"}
	}))
	for name, want := range map[string]string{
		"default_transaction_isolation": "read committed", "statement_timeout": "10s", "lock_timeout": "250ms",
		"idle_in_transaction_session_timeout": "0", "TimeZone": "UTC", "application_name": "door",
		"enable_seqscan": "off", "search_path": `"` + db.Schema + `"`,
	} {
		if got := setting(t, db, name); got != want {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}
}

func TestTheURLOfATestDatabaseLeadsToItsSchema(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Empty())
	pool, err := pg.Open(t.Context(), db.URL, pg.PoolOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var schema string
	if err := pool.QueryRow(t.Context(), `select current_schema()`).Scan(&schema); err != nil || schema != db.Schema {
		t.Errorf("the schema is %q, %v", schema, err)
	}
}

func TestTimesComeOutInUTC(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Empty())
	var at time.Time
	var all []time.Time
	err := db.Pool.QueryRow(t.Context(), `select t, array[t] from (values (timestamptz '2026-07-01 20:00+02')) v (t)`).Scan(&at, &all)
	want := time.Date(2026, 7, 1, 18, 0, 0, 0, time.UTC)
	if err != nil || at != want || len(all) != 1 || all[0] != want {
		t.Errorf("the times are %v and %v, %v", at, all, err)
	}
}

// idTrip sends identifiers of every type to the server and back.
func idTrip(t *testing.T, db *pgtest.DB) {
	t.Helper()
	id := uuid.New()
	type row struct {
		Whole   uuid.UUID
		Plain   plainID
		Generic genericID
		Filled  *genericID
		Empty   *genericID
		Plains  []plainID
		Many    []genericID
		Raw     [][16]byte
		Text    string
	}
	rows, err := db.Pool.Query(t.Context(), `select @whole::uuid whole, @plain::uuid plain, @generic::uuid generic,
		@filled::uuid filled, @empty::uuid empty, @plains::uuid[] plains, @many::uuid[] many, @raw::uuid[] raw, @generic::uuid::text "text"`,
		pgx.NamedArgs{
			"whole": id, "plain": plainID(id), "generic": genericID(id), "filled": new(genericID(id)), "empty": (*genericID)(nil),
			"plains": []plainID{plainID(id)}, "many": []genericID{genericID(id), genericID(id)}, "raw": [][16]byte{id},
		})
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[row])
	if err != nil {
		t.Fatal(err)
	}
	if got.Whole != id || got.Plain != plainID(id) || got.Generic != genericID(id) || got.Filled == nil || *got.Filled != genericID(id) ||
		got.Empty != nil || !slices.Equal(got.Many, []genericID{genericID(id), genericID(id)}) ||
		!slices.Equal(got.Plains, []plainID{plainID(id)}) || !slices.Equal(got.Raw, [][16]byte{id}) || got.Text != id.String() {
		t.Errorf("%v came back as %+v", id, got)
	}
}

func TestIdentifiersOfEveryTypeOnUUIDGoToTheServerAndBack(t *testing.T) {
	t.Parallel()
	idTrip(t, pgtest.New(t, pgtest.Empty()))
}

func TestBehindATransactionPoolerNoStatementKeepsAName(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Empty())
	role := "pooled_" + db.Schema[len(db.Schema)-12:]
	for _, sql := range []string{
		"create role " + role + " login", "alter role " + role + " set statement_timeout = '5s'", "alter role " + role + " set lock_timeout = '3s'",
	} {
		if _, err := db.Pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { do(t, db.URL, "drop role "+role) })
	url := strings.Replace(db.URL, "portillon@", role+"@", 1)
	o := pg.PoolOptions{TransactionPooler: true, MaxConns: 1}
	_, err := pg.Open(t.Context(), url, o)
	if err == nil || !strings.Contains(err.Error(), "idle_in_transaction_session_timeout, ") && !strings.Contains(err.Error(), "has no idle_in_transaction_session_timeout") {
		t.Fatalf("a role without one of the limits: %v", err)
	}
	do(t, db.URL, "alter role "+role+" set idle_in_transaction_session_timeout = '15s'")
	pool, err := pg.Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	pooled := &pgtest.DB{Pool: pool}
	for range 3 {
		idTrip(t, pooled)
	}
	batch := &pgx.Batch{}
	batch.Queue(`select $1::uuid[]`, []genericID{genericID(uuid.New())})
	batch.Queue(`select $1::bytea`, []byte("x"))
	if err := pool.SendBatch(t.Context(), batch).Close(); err != nil {
		t.Error(err)
	}
	var named int
	if err := pool.QueryRow(t.Context(), `select count(*) from pg_prepared_statements`).Scan(&named); err != nil || named != 0 {
		t.Errorf("%d statements have names, %v", named, err)
	}
}
