package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"portillon/migrations"
	"portillon/server/pg"
)

type migrateCommand struct {
	Up     migrateUp     `cmd:"" help:"Apply what is missing. \"serve\" does it too, when it starts."`
	Status migrateStatus `cmd:"" help:"List migrations and whether they are applied."`
}

type migrateUp struct{ databaseFlags }

type migration struct {
	Migration string    `json:"migration"`
	Applied   bool      `json:"applied"`
	AppliedAt time.Time `json:"applied_at,omitzero"`
}

// Run applies the missing migrations and names them.
func (m *migrateUp) Run(ctx context.Context, out *console) error {
	db, err := m.open(ctx, out.logger(), false)
	if err != nil {
		return err
	}
	defer db.close(ctx)
	applied, err := pg.Migrate(ctx, db.Pool, migrations.FS)
	if err != nil {
		return err
	}
	items := make([]migration, 0, len(applied))
	for _, name := range applied {
		items = append(items, migration{Migration: name, Applied: true})
	}
	if len(items) == 0 && !out.json {
		return out.line("The schema is up to date.")
	}
	return list(out, items, "APPLIED", func(m migration) []string { return []string{m.Migration} })
}

type migrateStatus struct{ databaseFlags }

// Run lists all migrations that this build knows.
func (m *migrateStatus) Run(ctx context.Context, out *console) error {
	db, err := m.open(ctx, out.logger(), false)
	if err != nil {
		return err
	}
	defer db.close(ctx)
	states, err := pg.Status(ctx, db.Pool, migrations.FS)
	if err != nil {
		return err
	}
	items := make([]migration, 0, len(states))
	for _, s := range states {
		items = append(items, migration{s.Name, !s.AppliedAt.IsZero(), s.AppliedAt})
	}
	return list(out, items, "MIGRATION APPLIED", func(m migration) []string {
		return []string{m.Migration, either(m.Applied, clock(m.AppliedAt, ""), "no")}
	})
}

// ready refuses a schema that is not this build's, and says what to do.
func (db *database) ready(ctx context.Context) error {
	err := pg.CheckVersion(ctx, db.Pool, migrations.FS)
	if errors.Is(err, pg.ErrSchemaOlder) && db.served != "" {
		return fmt.Errorf("%w; the server at %s runs on it: stop that one first and start this version", err, db.served)
	}
	return err
}

// migrate refuses a schema that is newer than this build, and brings an older
// one up to date.
func (db *database) migrate(ctx context.Context, log *slog.Logger) error {
	applied, err := pg.Migrate(ctx, db.Pool, migrations.FS)
	if err != nil {
		return err
	}
	if len(applied) > 0 {
		log.Info("the schema is up to date now", "applied", applied)
	}
	return nil
}

// logger is for commands that are over soon: warnings and errors only.
func (c *console) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(c.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
}
