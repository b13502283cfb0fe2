package pg

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

var (
	// ErrSchemaNewer means that a later portillon has changed this database.
	ErrSchemaNewer = errors.New("the database was changed by a newer version of portillon: run that version, or restore a backup from before the change")
	// ErrSchemaOlder means that migrations are waiting.
	ErrSchemaOlder = errors.New("the database lacks migrations of this version: \"portillon migrate up\" applies them, and \"portillon serve\" when it starts")
)

// MigrationsTable is where goose keeps what was applied.
const MigrationsTable = "goose_db_version"

// Migration is one file and its fate.
type Migration struct {
	Version   int64
	Name      string    // the file's
	AppliedAt time.Time // zero is not yet
}

// Migrate applies the migrations in files (NNNN_words.sql, goose) that the pool's
// schema has not seen, each in its own transaction, and names them. Several
// processes may call it at once: one works, the others wait and find nothing left
// to do. The schema is made when the pool names one that does not exist.
//
// It works on a connection of its own, to the pool's address, without a limit on
// statements. The address must not be that of a transaction pooler, which breaks
// the lock. On an error the migrations named have been applied and stay.
func Migrate(ctx context.Context, pool *pgxpool.Pool, files fs.FS) (applied []string, err error) {
	if err := refuseNewer(ctx, pool, files); err != nil {
		return nil, err
	}
	db := migrationDB(pool)
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := makeSchema(ctx, db); err != nil {
		return nil, err
	}
	provider, err := newProvider(db, files)
	if err != nil {
		return nil, err
	}
	results, err := provider.Up(ctx)
	var partly *goose.PartialError
	if errors.As(err, &partly) {
		results = partly.Applied
	}
	for _, result := range results {
		applied = append(applied, path.Base(result.Source.Path))
	}
	return applied, err
}

// Status lists the migrations in files in order, with the time of each that was
// applied. It changes nothing.
func Status(ctx context.Context, pool *pgxpool.Pool, files fs.FS) ([]Migration, error) {
	names, err := versions(files)
	if err != nil {
		return nil, err
	}
	done, err := appliedAt(ctx, pool)
	if err != nil {
		return nil, err
	}
	for i, m := range names {
		names[i].AppliedAt = done[m.Version]
	}
	return names, nil
}

// CheckVersion tells whether the pool's schema is what files make: nil,
// ErrSchemaOlder or ErrSchemaNewer. It changes nothing.
func CheckVersion(ctx context.Context, pool *pgxpool.Pool, files fs.FS) error {
	if err := refuseNewer(ctx, pool, files); err != nil {
		return err
	}
	all, err := Status(ctx, pool, files)
	if err != nil {
		return err
	}
	for _, m := range all {
		if m.AppliedAt.IsZero() {
			return fmt.Errorf("%w (%s)", ErrSchemaOlder, m.Name)
		}
	}
	return nil
}

func refuseNewer(ctx context.Context, pool *pgxpool.Pool, files fs.FS) error {
	known, err := versions(files)
	if err != nil {
		return err
	}
	done, err := appliedAt(ctx, pool)
	if err != nil {
		return err
	}
	for version := range done {
		if version > 0 && !slices.ContainsFunc(known, func(m Migration) bool { return m.Version == version }) {
			return fmt.Errorf("%w (it has migration %d)", ErrSchemaNewer, version)
		}
	}
	return nil
}

// versions lists the migrations in files, in order.
func versions(files fs.FS) ([]Migration, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	var all []Migration
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return nil, fmt.Errorf("migration %s: %w", name, err)
		}
		all = append(all, Migration{Version: version, Name: name})
	}
	slices.SortFunc(all, func(a, b Migration) int { return int(a.Version - b.Version) })
	return all, nil
}

// appliedAt reads goose's table; a schema without one has applied nothing.
func appliedAt(ctx context.Context, pool *pgxpool.Pool) (map[int64]time.Time, error) {
	rows, err := pool.Query(ctx, `select version_id, tstamp at time zone 'UTC' from `+MigrationsTable+` where is_applied`)
	if code(err) == "42P01" { // undefined_table
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	done := map[int64]time.Time{}
	var version int64
	var at time.Time
	_, err = pgx.ForEachRow(rows, []any{&version, &at}, func() error {
		done[version] = at
		return nil
	})
	return done, err
}

// migrationDB is the pool's address for goose, with time for a long statement.
func migrationDB(pool *pgxpool.Pool) *sql.DB {
	config := pool.Config().ConnConfig
	config.RuntimeParams["application_name"] = "portillon migrate"
	config.RuntimeParams["statement_timeout"] = "0"
	config.RuntimeParams["idle_in_transaction_session_timeout"] = "0"
	return stdlib.OpenDB(*config)
}

var plainName = regexp.MustCompile(`^"?([a-z_][a-z0-9_]*)"?$`)

// makeSchema makes the schema that the search path names, if it names just one.
func makeSchema(ctx context.Context, db *sql.DB) error {
	var missing bool
	var searchPath string
	if err := db.QueryRowContext(ctx, `select current_schema() is null, current_setting('search_path')`).Scan(&missing, &searchPath); err != nil {
		return err
	}
	match := plainName.FindStringSubmatch(searchPath)
	if !missing || match == nil {
		return nil
	}
	_, err := db.ExecContext(ctx, "create schema if not exists "+pgx.Identifier{match[1]}.Sanitize())
	if code(err) == "23505" { // two at once: IF NOT EXISTS is no lock
		return nil
	}
	return err
}

func newProvider(db *sql.DB, files fs.FS) (*goose.Provider, error) {
	return goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithTableName(MigrationsTable),
		goose.WithSessionLocker(advisoryLock{}),
		goose.WithDisableGlobalRegistry(true),
		goose.WithLogger(goose.NopLogger()))
}

// advisoryLock keeps two processes from migrating one schema at once. It asks
// again and again rather than waiting in the server, where a waiting statement
// holds a snapshot for which CREATE INDEX CONCURRENTLY would wait in turn. All
// schemas of a database share their advisory locks, hence the schema in the name.
type advisoryLock struct{}

const advisoryLockID = `hashtextextended('portillon.migrate.' || coalesce(current_schema(), ''), 0)`

// SessionLock waits for the lock, or for ctx.
func (advisoryLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	for {
		var got bool
		if err := conn.QueryRowContext(ctx, `select pg_try_advisory_lock(`+advisoryLockID+`)`).Scan(&got); err != nil || got {
			return err
		}
		if err := pause(ctx, 4*pollEvery); err != nil {
			return fmt.Errorf("another process is migrating: %w", err)
		}
	}
}

// SessionUnlock gives the lock back.
func (advisoryLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, `select pg_advisory_unlock(`+advisoryLockID+`)`)
	return err
}
