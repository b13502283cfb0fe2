package pgtest_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"portillon/server/pg"
	"portillon/server/pgtest"
)

func TestEverySchemaIsFreshAndItsOwn(t *testing.T) {
	t.Parallel()
	for range 4 {
		t.Run("in parallel", func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			var n int
			if err := db.Pool.QueryRow(t.Context(), `select count(*) from venues`).Scan(&n); err != nil || n != 0 {
				t.Errorf("there are %d venues, %v", n, err)
			}
			if _, err := db.Pool.Exec(t.Context(), `insert into venues (id, name, time_zone) values (gen_random_uuid(), 'Hall', 'UTC')`); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTheSchemaIsGoneAfterTheTest(t *testing.T) {
	t.Parallel()
	var schema string
	t.Run("with a schema", func(t *testing.T) { schema = pgtest.New(t).Schema })
	db := pgtest.New(t, pgtest.Empty())
	var gone bool
	if err := db.Pool.QueryRow(t.Context(), `select to_regnamespace($1) is null`, schema).Scan(&gone); err != nil || !gone {
		t.Errorf("%s is still there, %v", schema, err)
	}
}

func TestTheClockMovesInEveryProcessAndInNoOtherSchema(t *testing.T) {
	t.Parallel()
	db, other := pgtest.New(t), pgtest.New(t)
	second, err := pg.Open(t.Context(), db.URL, pg.PoolOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(second.Close)
	db.Shift(t, 3*time.Hour)
	db.Shift(t, -time.Hour)
	near := func(got time.Time, shift time.Duration) {
		t.Helper()
		if off := time.Since(got) + shift; off < 0 || off > time.Minute || got.Location() != time.UTC {
			t.Errorf("the clock shows %v, not %v from now", got, shift)
		}
	}
	near(db.Now(t), 2*time.Hour)
	near(other.Now(t), 0)
	var at time.Time
	err = second.QueryRow(t.Context(), `insert into venues (id, name, time_zone) values (gen_random_uuid(), 'Hall', 'UTC') returning created_at`).Scan(&at)
	if err != nil {
		t.Fatal(err)
	}
	near(at, 2*time.Hour)
	db.SetShift(t, -24*time.Hour)
	near(db.Now(t), -24*time.Hour)
}

// inner names, in the environment, a test of this file that is meant to fail: it
// runs in a process of its own, which the outer test judges.
const inner = "PGTEST_INNER"

// fails runs the inner test and gives what it prints; it must fail.
func fails(t *testing.T, which string, env ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestInner$", "-test.v")
	cmd.Env = append(append(os.Environ(), inner+"="+which, pgtest.DumpDir+"="), env...)
	out, err := cmd.CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("--- FAIL: TestInner")) {
		t.Errorf("%s: the test did not fail:\n%s", which, out)
	}
	return string(out)
}

const secret = "bGVhc2UtaWQtb2Ytc29tZWJvZHk" // base64url of "lease-id-of-somebody"

// leaky is how a secret may get into a table.
func leaky() map[string]any {
	decoded, _ := base64.RawURLEncoding.DecodeString(secret)
	return map[string]any{
		"text":           secret,
		"inside":         "https://example.org/claim#" + secret + "&x=1",
		"bytes":          []byte(secret),
		"decoded":        decoded,
		"hex_text":       hex.EncodeToString(decoded),
		"base64":         base64.StdEncoding.EncodeToString([]byte(secret)),
		"decoded_base64": base64.StdEncoding.EncodeToString(decoded),
	}
}

// TestInner does nothing by itself: see fails.
func TestInner(t *testing.T) {
	which := os.Getenv(inner)
	if which == "" {
		return
	}
	if which == "url" {
		pgtest.New(t)
		return
	}
	db := pgtest.New(t, pgtest.Empty())
	if which == "own server" {
		var data, socket string
		if err := db.Pool.QueryRow(t.Context(), `select current_setting('data_directory'), current_setting('unix_socket_directories')`).Scan(&data, &socket); err != nil {
			t.Fatal(err)
		}
		t.Fatalf("\nfolder %s\nfolder %s\n", filepath.Dir(data), socket)
	}
	if which == "open transaction" {
		if _, err := db.Pool.Exec(t.Context(), `create table held (n int)`); err != nil {
			t.Fatal(err)
		}
		pool, err := pg.Open(t.Context(), db.URL, pg.PoolOptions{IdleInTransactionTimeout: -1, ApplicationName: "the culprit"})
		if err != nil {
			t.Fatal(err)
		}
		tx, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), `insert into held values (1)`); err != nil {
			t.Fatal(err)
		}
		return
	}
	value := leaky()[which]
	kind := "text"
	if _, binary := value.([]byte); binary {
		kind = "bytea"
	}
	if _, err := db.Pool.Exec(t.Context(), `create table guilty (v `+kind+`)`); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Pool.Exec(t.Context(), `insert into guilty values ($1)`, value); err != nil {
		t.Fatal(err)
	}
	t.Run("handed out in a subtest", func(t *testing.T) { pgtest.Secret(t, secret) })
}

func TestASecretInTheDatabaseFailsTheTestInEveryForm(t *testing.T) {
	t.Parallel()
	for which := range leaky() {
		out := fails(t, which)
		if !strings.Contains(out, "guilty") {
			t.Errorf("%s: the table is not named:\n%s", which, out)
		}
		if strings.Contains(out, secret) {
			t.Errorf("%s: the report repeats the secret", which)
		}
	}
}

func TestASecretThatIsKeptAsAHashIsNoLeak(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Empty())
	pgtest.Secret(t, secret)
	pgtest.Secret(t, "123456") // too short to be looked for
	for _, sql := range []string{
		`create table innocent as select sha256('` + secret + `') v, 123456 pin`,
	} {
		if _, err := db.Pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
}

func TestATransactionLeftOpenIsReportedWithItsHolder(t *testing.T) {
	t.Parallel()
	if out := fails(t, "open transaction"); !strings.Contains(out, "the culprit") {
		t.Errorf("the holder is not named:\n%s", out)
	}
}

func TestAMissingServerIsAFailureThatNamesWhatToInstall(t *testing.T) {
	t.Parallel()
	out := fails(t, "url", pgtest.DatabaseURL+"=postgres://nobody@127.0.0.1:1/none")
	if !strings.Contains(out, "apt-get install postgresql") || !strings.Contains(out, pgtest.DatabaseURL) {
		t.Errorf("the failure says:\n%s", out)
	}
}

func TestTheServerAndItsFoldersGoWithTheProcess(t *testing.T) {
	t.Parallel()
	out := fails(t, "own server", pgtest.DatabaseURL+"=")
	folders := regexp.MustCompile(`folder (/\S+)`).FindAllStringSubmatch(out, -1)
	if len(folders) != 2 {
		t.Fatalf("the process names %q:\n%s", folders, out)
	}
	for _, folder := range folders {
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			_, err := os.Stat(folder[1])
			if errors.Is(err, os.ErrNotExist) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s is still there", folder[1])
			}
		}
	}
}

func BenchmarkFreshSchema(b *testing.B) {
	pgtest.New(b) // starts the server
	for b.Loop() {
		pgtest.New(b, pgtest.MaxConns(1)) // at most some 250 rounds: cleaned up at the end
	}
}
