package pgtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"io/fs"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"portillon/migrations"
	"portillon/server/pg"
)

// patience bounds what this package does to the database around a test.
const patience = 30 * time.Second

// DB is one schema of a test server.
type DB struct {
	// Pool works in the schema.
	Pool *pgxpool.Pool
	// URL leads a second pool or process, also one of libpq's tools, to the same
	// schema.
	URL string
	// Schema is its name.
	Schema string
}

// Option changes what New makes.
type Option func(*options)

type options struct {
	files fs.FS
	pool  pg.PoolOptions
}

// Empty makes the schema without any table, clock or migration.
func Empty() Option { return func(o *options) { o.files = nil } }

// From makes the schema from other migrations than Portillon's. They have to make
// portillon_now() for the clock to move.
func From(files fs.FS) Option { return func(o *options) { o.files = files } }

// Pool changes the options of DB.Pool, for instance to play the pool of a server.
func Pool(change func(*pg.PoolOptions)) Option { return func(o *options) { change(&o.pool) } }

// MaxConns is how many connections DB.Pool may have; otherwise 8.
func MaxConns(n int32) Option { return Pool(func(o *pg.PoolOptions) { o.MaxConns = n }) }

// New makes a fresh schema with all migrations applied, a movable clock and no
// rows. At the end of the test it looks for secrets, closes the pool and drops the
// schema; it fails the test when a connection was never given back.
func New(t testing.TB, opts ...Option) *DB {
	t.Helper()
	o := options{files: migrations.FS, pool: pg.PoolOptions{MaxConns: 8}}
	for _, opt := range opts {
		opt(&o)
	}
	base, admin := server(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()

	db := &DB{Schema: schemaName(t.Name())}
	db.URL = withSchema(base, db.Schema)
	script, err := scriptFor(o.files)
	if err != nil {
		t.Fatalf("the migrations cannot be read: %v", err)
	}
	if _, err := admin.Exec(ctx, script.in(db.Schema)); err != nil {
		t.Fatalf("make the schema of this test: %v", err)
	}
	t.Cleanup(func() { dropSchema(t, admin, db.Schema) })
	t.Cleanup(func() { checkSecrets(t, admin, db.Schema) })

	o.pool.Schema = db.Schema
	if o.pool.ApplicationName == "" {
		o.pool.ApplicationName = db.Schema
	}
	if db.Pool, err = pg.Open(ctx, base, o.pool); err != nil {
		t.Fatalf("open the pool of this test: %v", err)
	}
	t.Cleanup(func() { closePool(t, db.Pool) })
	return db
}

// closePool closes the pool, and says so instead of waiting for ever when the test
// has kept a connection.
func closePool(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	closed := make(chan struct{})
	go func() {
		pool.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(patience):
		t.Errorf("%d connections of the test's pool were never given back: a transaction or rows stayed open", pool.Stat().AcquiredConns())
	}
}

// dropSchema removes the schema. Whoever still holds a lock in it is named.
func dropSchema(t testing.TB, admin *pgxpool.Pool, schema string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := admin.Exec(ctx, "drop schema "+pgx.Identifier{schema}.Sanitize()+" cascade")
	if err == nil {
		return
	}
	rows, _ := admin.Query(ctx, `
		select distinct format('%s: %s: %s', a.application_name, a.state, left(a.query, 200))
		from pg_locks l
		join pg_class c on c.oid = l.relation
		join pg_stat_activity a on a.pid = l.pid
		where c.relnamespace = to_regnamespace($1)`, schema)
	holders, _ := pgx.CollectRows(rows, pgx.RowTo[string])
	t.Errorf("drop the schema of this test: %v; locks in it are held by: %q", err, holders)
}

var notPlain = regexp.MustCompile(`[^a-z0-9]+`)

// schemaName starts with the test's name, for whoever looks at a server that hangs,
// and ends with enough chance for many processes on one server.
func schemaName(test string) string {
	slug := strings.Trim(notPlain.ReplaceAllString(strings.ToLower(test), "_"), "_")
	if len(slug) > 28 { // river_leadership behind it is a channel, of at most 63 bytes
		slug = slug[:28]
	}
	var chance [6]byte
	rand.Read(chance[:])
	return "t_" + slug + "_" + hex.EncodeToString(chance[:])
}

// withSchema adds the search path in the one form that both pgx and libpq read.
func withSchema(base, schema string) string {
	option := "-csearch_path=" + schema
	u, err := url.Parse(base)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return base + " options='" + option + "'" // the keyword form
	}
	query := u.Query()
	query.Set("options", option)
	u.RawQuery = query.Encode()
	return u.String()
}
