package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"portillon/server"
	"portillon/server/pg"
)

// databaseFlags say where the data is. They are the same for every command that
// works on the database itself.
type databaseFlags struct {
	Data        string `help:"The data folder: the operator's key and, without a database URL, PostgreSQL's files." default:"./data" type:"path" env:"PORTILLON_DATA" placeholder:"DIR"`
	DatabaseURL string `name:"database-url" help:"A PostgreSQL database of your own (15 or later). Without it Portillon starts its own." env:"PORTILLON_DATABASE_URL,DATABASE_URL" secret:"" placeholder:"URL"`
	OperatorKey string `help:"The key that seals secrets in the database, 32 bytes as base64url. Without it: operator.key in the data folder, made on first start. Keep a copy." env:"PORTILLON_OPERATOR_KEY" secret:"" placeholder:"KEY"`
	PostgresBin string `help:"Folder with PostgreSQL's binaries, when they are not where they are looked for." env:"PORTILLON_POSTGRES_BIN" type:"path" placeholder:"DIR"`
}

// database is an open database, and ours to stop when we started it.
type database struct {
	URL    string
	Pool   *pgxpool.Pool
	folder folder
	own    *pg.Server // nil: somebody else's
	unlock func()
	// served is the address of the server that runs on the same data folder.
	served string
}

// open reaches the database: the one of the URL, the one of the server that runs
// on the data folder, or else PostgreSQL started for as long as this process
// needs it. With alone the data folder must be free.
func (f databaseFlags) open(ctx context.Context, log *slog.Logger, alone bool) (*database, error) {
	place, err := openFolder(f.Data)
	if err != nil {
		return nil, err
	}
	db := &database{URL: f.DatabaseURL, folder: place, unlock: func() {}}
	if err := db.begin(ctx, f, log, alone); err != nil {
		db.close(ctx)
		return nil, err
	}
	return db, nil
}

func (db *database) begin(ctx context.Context, f databaseFlags, log *slog.Logger, alone bool) error {
	unlock, err := db.folder.lock()
	switch {
	case err == nil:
		db.unlock = unlock
		db.folder.withdraw() // of a process that ended without saying so
	case errors.Is(err, errInUse) && alone:
		return db.describeUse()
	case errors.Is(err, errInUse):
		r, err := db.folder.reach(ctx)
		if err != nil {
			return err
		}
		db.served = r.URL
		if db.URL == "" {
			db.URL = r.DatabaseURL
		}
	default:
		return err
	}
	if db.URL == "" {
		db.own, err = pg.Start(ctx, pg.Options{DataDir: db.folder.file("postgres"), BinDir: f.PostgresBin, Log: log})
		if err != nil {
			return err
		}
		db.URL = db.own.URL()
		if !alone {
			_ = db.folder.announce(running{PID: os.Getpid(), DatabaseURL: db.URL})
		}
	}
	db.Pool, err = pg.Open(ctx, db.URL, pg.PoolOptions{ApplicationName: "portillon"})
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	return nil
}

func (db *database) describeUse() error {
	what := "another process"
	if r, err := db.folder.readRunning(); err == nil {
		what = fmt.Sprintf("process %d", r.PID)
		if r.URL != "" {
			what += ", which serves " + r.URL
		}
	}
	return fmt.Errorf("%w: %s is used by %s; stop that one, or choose another folder with --data", errInUse, db.folder.path, what)
}

// close gives everything back, also when ctx has ended; PostgreSQL stops in order when it is ours.
func (db *database) close(ctx context.Context) {
	if db.Pool != nil {
		db.Pool.Close()
	}
	if db.own != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
		defer cancel()
		if err := db.own.Stop(ctx); err != nil {
			slog.Error("PostgreSQL did not stop in time", "error", err.Error())
		}
		db.folder.withdraw()
	}
	db.unlock()
}

// died is closed when our own PostgreSQL ends by itself; never for another's.
func (db *database) died() <-chan struct{} {
	if db.own == nil {
		return nil
	}
	return db.own.Done()
}

// server builds the server on the database, whose schema must be this build's:
// a command that only looks something up must not change it under a server that
// runs. What the options lack of the database is filled in.
func (db *database) server(ctx context.Context, f databaseFlags, o server.Options) (*server.Server, error) {
	if err := db.ready(ctx); err != nil {
		return nil, err
	}
	key, err := db.folder.operatorKey(f.OperatorKey, !db.hasSecrets(ctx))
	if err != nil {
		return nil, err
	}
	o.Pool, o.DatabaseURL, o.OperatorKey, o.Now = db.Pool, db.URL, key, time.Now
	return server.New(ctx, o)
}

// hasSecrets: a database that has sealed secrets is of no use with a new key, so
// none is made for it; the error that its key is missing says more.
func (db *database) hasSecrets(ctx context.Context) bool {
	var has bool
	err := db.Pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM sealed_keys)`).Scan(&has)
	return err == nil && has
}
