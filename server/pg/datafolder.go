package pg

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

var (
	// ErrInUse means that another process of ours has the data folder.
	ErrInUse = errors.New("the data folder is in use by another running portillon: stop it first, or choose another folder")
	// ErrNotADataFolder means that the folder holds something, but no database.
	ErrNotADataFolder = errors.New("the folder is not empty and is not a PostgreSQL data folder: nothing was changed, choose another one")
)

const socketPrefix = "portillon-pg-"

// resolveDataDir makes the parent and follows links, so that one folder has one
// name and therefore one lock.
func resolveDataDir(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("no data folder was given")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", fmt.Errorf("make room for the data folder: %w", err)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real, nil
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
	return filepath.Join(parent, filepath.Base(dir)), err
}

// lockFolder takes the folder for this process. The kernel gives the lock back
// when the process ends, however it ends.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: %w", dir, ErrInUse)
		}
		return nil, fmt.Errorf("lock %s.lock: %w", dir, err)
	}
	return f, nil
}

// dataMajor is the major version of PostgreSQL that made the folder; 0 means that
// the folder is empty or does not exist.
func dataMajor(dir string) (int, error) {
	text, err := os.ReadFile(filepath.Join(dir, "PG_VERSION"))
	if err == nil {
		major, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			return 0, fmt.Errorf("%s: PG_VERSION says %q: %w", dir, text, ErrNotADataFolder)
		}
		return major, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return 0, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, err
	}
	if len(entries) > 0 {
		return 0, fmt.Errorf("%s: %w", dir, ErrNotADataFolder)
	}
	return 0, nil
}

// initialise makes the database in a folder beside its place and renames it, so
// that what carries the name is always complete. A half-made one of an earlier,
// interrupted start is thrown away: it has never held a row.
func (s *Server) initialise(ctx context.Context) error {
	half := s.dataDir + ".new"
	if err := os.RemoveAll(half); err != nil {
		return fmt.Errorf("remove the half-made data folder: %w", err)
	}
	if err := os.Mkdir(half, 0o700); err != nil {
		return fmt.Errorf("make the data folder: %w", err)
	}
	if err := s.as.own(half); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, s.bins.path("initdb"), s.initArguments(half)...)
	cmd.Dir = "/"
	cmd.Env = childEnv()
	if out, err := combinedOutput(cmd, s.as); err != nil {
		return fmt.Errorf("make the database in %s%s: %w; initdb said: %s", half, s.as.hint(), err, strings.TrimSpace(out))
	}
	// Remove takes an empty folder only, and no mount point.
	if err := os.Remove(s.dataDir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("make way for the new data folder (where a volume is mounted, choose a folder inside it): %w", err)
	}
	if err := os.Rename(half, s.dataDir); err != nil {
		return fmt.Errorf("put the new data folder in its place: %w", err)
	}
	return syncFolder(filepath.Dir(s.dataDir))
}

func (s *Server) initArguments(dir string) []string {
	args := []string{"-D", dir, "-U", superuser, "-A", "trust", "-E", "UTF8", "--no-instructions"}
	switch {
	case s.bins.major >= 17:
		args = append(args, "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C")
	case runtime.GOOS == "linux":
		args = append(args, "--locale=C.UTF-8")
	default: // older systems of others do not have C.UTF-8
		args = append(args, "--locale=C")
	}
	if s.settings["fsync"] == "off" {
		args = append(args, "--no-sync")
	}
	return args
}

// combinedOutput runs a short command as that identity. The thread is locked for
// the same reason as in run.
func combinedOutput(cmd *exec.Cmd, as identity) (string, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = as.attributes()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// syncFolder makes a rename in the folder survive a power cut.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// awaitPrevious waits until a server that an earlier, killed process of ours left
// on the folder has finished shutting down. We hold the lock, so nobody uses it.
func (s *Server) awaitPrevious(ctx context.Context) error {
	file := filepath.Join(s.dataDir, "postmaster.pid")
	ctx, cancel := context.WithTimeout(ctx, previousPatience)
	defer cancel()
	told := false
	for {
		pid, socket := readPidFile(file)
		if pid == 0 || !processExists(pid) {
			return nil // postgres sees by itself that such a file is stale
		}
		if definitelyNotServer(pid, s.dataDir) {
			// After a restart of the machine or container another process may have
			// that number, and postgres, which cannot tell, would refuse to start.
			return os.Remove(file)
		}
		if !told {
			told = true
			s.log.Info("waiting for the previous database server to shut down", "pid", pid, "data_dir", s.dataDir)
			if strings.HasPrefix(filepath.Base(socket), socketPrefix) {
				_ = syscall.Kill(pid, syscall.SIGINT)
			}
		}
		if pause(ctx, pollEvery) != nil {
			return fmt.Errorf("PostgreSQL with process id %d still runs on %s: stop it (kill -INT %d), then try again", pid, s.dataDir, pid)
		}
	}
}

// readPidFile reads the process id and the socket folder from postmaster.pid
// (lines 1 and 5); 0 when there is none.
func readPidFile(file string) (pid int, socket string) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, ""
	}
	lines := strings.Split(string(text), "\n")
	pid, err = strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil || pid <= 1 {
		return 0, ""
	}
	if len(lines) > 4 {
		socket = strings.TrimSpace(lines[4])
	}
	return pid, socket
}

func processExists(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

func socketName(dataDir string) string {
	sum := sha256.Sum256([]byte(dataDir))
	return socketPrefix + strconv.Itoa(os.Geteuid()) + "-" + hex.EncodeToString(sum[:6])
}
