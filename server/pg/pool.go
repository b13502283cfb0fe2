package pg

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// PoolOptions shape a pool. The zero value is right for most.
type PoolOptions struct {
	// Schema is where unqualified names are looked up; empty leaves what the URL
	// or the server says.
	Schema string
	// ApplicationName is what pg_stat_activity shows; empty is "portillon".
	ApplicationName string
	// MaxConns is the most connections; 0 is 16.
	MaxConns int32
	// The limits after which the server gives up on a statement (10 s), on waiting
	// for a lock (3 s), and on a transaction in which nothing happens (15 s).
	// Negative means no limit.
	StatementTimeout         time.Duration
	LockTimeout              time.Duration
	IdleInTransactionTimeout time.Duration
	// Settings are session settings of this pool alone, for instance of the
	// planner.
	Settings map[string]string
	// TransactionPooler says that the URL leads to a PgBouncer in transaction mode
	// or its like: no statement keeps a name on a connection, and session settings
	// cannot be sent, so that Open demands them of the role instead.
	TransactionPooler bool
}

// Open connects and makes sure of an answer. The URL may carry any setting that
// pgx understands; those of the options win.
//
// An error that Unavailable accepts means that trying again later makes sense.
func Open(ctx context.Context, url string, o PoolOptions) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("the database URL cannot be read: %w", err) // pgx redacts the password
	}
	config.MaxConns = 16
	if o.MaxConns > 0 {
		config.MaxConns = o.MaxConns
	}
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		registerTypes(conn.TypeMap())
		return nil
	}
	applySettings(config.ConnConfig, o)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := check(ctx, pool, o); err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}

// applySettings puts the session settings into the start of each connection, where
// they cost no round trip.
func applySettings(config *pgx.ConnConfig, o PoolOptions) {
	params := config.RuntimeParams
	params["application_name"] = "portillon"
	if o.ApplicationName != "" {
		params["application_name"] = o.ApplicationName
	}
	params["timezone"] = "UTC"
	if o.TransactionPooler {
		// Described once and then run without a name: works on any connection.
		config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		return // PgBouncer passes on the two settings above, and refuses the others
	}
	params["default_transaction_isolation"] = "read committed"
	params["statement_timeout"] = milliseconds(o.StatementTimeout, 10*time.Second)
	params["lock_timeout"] = milliseconds(o.LockTimeout, 3*time.Second)
	params["idle_in_transaction_session_timeout"] = milliseconds(o.IdleInTransactionTimeout, 15*time.Second)
	if o.Schema != "" {
		params["search_path"] = pgx.Identifier{o.Schema}.Sanitize()
	}
	maps.Copy(params, o.Settings)
}

// milliseconds is PostgreSQL's unit of its timeouts, in which 0 is no limit.
func milliseconds(d, otherwise time.Duration) string {
	switch {
	case d < 0:
		return "0"
	case d == 0:
		d = otherwise
	}
	return strconv.FormatInt(max(1, d.Milliseconds()), 10)
}

// check asks the server something, and behind a transaction pooler whether its
// role has the settings without which one stuck client would stop a door.
func check(ctx context.Context, pool *pgxpool.Pool, o PoolOptions) error {
	if !o.TransactionPooler {
		return pool.Ping(ctx)
	}
	var role string
	var missing []string
	err := pool.QueryRow(ctx, `select current_user, array(
		select name from unnest(array['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']) name
		where current_setting(name) = '0')`).Scan(&role, &missing)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("behind a transaction pooler the time limits have to be settings of the role, and %s has no %s: "+
			"run, for instance, ALTER ROLE %s SET statement_timeout = '10s', and likewise lock_timeout = '3s' and idle_in_transaction_session_timeout = '15s'",
			role, strings.Join(missing, ", "), pgx.Identifier{role}.Sanitize())
	}
	return nil
}

// registerTypes makes times come out in UTC. Identifiers need nothing: pgx reads
// and writes every type whose underlying type is [16]byte as a uuid.
func registerTypes(types *pgtype.Map) {
	instant := &pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC}}
	types.RegisterType(instant)
	types.RegisterType(&pgtype.Type{Name: "_timestamptz", OID: pgtype.TimestamptzArrayOID, Codec: &pgtype.ArrayCodec{ElementType: instant}})
}
