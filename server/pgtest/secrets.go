package pgtest

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"portillon/server/pgtest/leak"
)

// DumpDir is the environment variable that names a folder in which to collect all
// rows and all secrets of a whole run, for the command leaks.
const DumpDir = "PORTILLON_TEST_DUMP_DIR"

// handedOut holds the secrets of each top-level test: subtests share a database or
// pass a t of their own.
var handedOut = struct {
	sync.Mutex
	byTest map[string][]string
}{byTest: map[string][]string{}}

// Secret notes a secret that was handed out in this test (a token, a claim code, a
// lease id, a PIN's link). No row of the test's databases may hold it at the end,
// in any form of package leak. Texts of fewer than leak.MinLength bytes are
// ignored: a PIN of six digits is found by chance in any time stamp.
func Secret(t testing.TB, text string) {
	if len(text) < leak.MinLength {
		return
	}
	test := topLevel(t)
	handedOut.Lock()
	defer handedOut.Unlock()
	handedOut.byTest[test] = append(handedOut.byTest[test], text)
}

func topLevel(t testing.TB) string {
	name, _, _ := strings.Cut(t.Name(), "/")
	return name
}

func secretsOf(test string) []string {
	handedOut.Lock()
	defer handedOut.Unlock()
	return append([]string(nil), handedOut.byTest[test]...)
}

// checkSecrets looks for the test's secrets in all rows of the schema.
func checkSecrets(t testing.TB, admin *pgxpool.Pool, schema string) {
	t.Helper()
	secrets := secretsOf(topLevel(t))
	dir := os.Getenv(DumpDir)
	if len(secrets) == 0 && dir == "" {
		return
	}
	dump, err := dumpRows(admin, schema)
	if err != nil {
		t.Errorf("read all rows, to look for secrets: %v", err)
		return
	}
	if dir != "" {
		if err := collect(dir, dump, secrets); err != nil {
			t.Errorf("collect rows and secrets in %s: %v", dir, err)
		}
	}
	for _, place := range leak.NewFinder(secrets).In(dump) {
		t.Errorf("a secret that was handed out is in the database, in table %s (%s)", place.Table, place.Form)
	}
}

// dumpRows is the text of every row of every table that has ever had one.
func dumpRows(admin *pgxpool.Pool, schema string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := admin.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	rows, err := conn.Query(ctx, `
		select relname from pg_class
		where relnamespace = to_regnamespace($1) and relkind in ('r', 'm') and pg_relation_size(oid) > 0
		order by relname`, schema)
	if err != nil {
		return nil, err
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, table := range tables {
		out.WriteString(leak.TableLine(schema + "." + table))
		sql := "copy " + pgx.Identifier{schema, table}.Sanitize() + " to stdout"
		if _, err := conn.Conn().PgConn().CopyTo(ctx, &out, sql); err != nil {
			return nil, fmt.Errorf("%s: %w", table, err)
		}
	}
	return out.Bytes(), nil
}

// collected serialises the appends of this process; each process has its own files.
var collected sync.Mutex

func collect(dir string, dump []byte, secrets []string) error {
	collected.Lock()
	defer collected.Unlock()
	var lines strings.Builder
	for _, secret := range secrets {
		lines.WriteString(base64.StdEncoding.EncodeToString([]byte(secret)) + "\n")
	}
	name := fmt.Sprintf("%d-%s", os.Getpid(), processMark())
	if err := appendTo(filepath.Join(dir, name+leak.DumpSuffix), dump); err != nil {
		return err
	}
	return appendTo(filepath.Join(dir, name+leak.SecretsSuffix), []byte(lines.String()))
}

// processMark tells apart two processes that had the same id in one run.
var processMark = sync.OnceValue(func() string { return schemaName("")[3:] })

func appendTo(name string, text []byte) error {
	if len(text) == 0 {
		return nil
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
