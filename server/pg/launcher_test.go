package pg_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"portillon/server/pg"
	"portillon/server/pgtest"
)

func TestKillingTheProcessShutsTheDatabaseDownCleanlyAndKeepsItsRows(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	first := startChild(t, self(t), dir, nil)
	do(t, first.url, "create table kept (n int); insert into kept select generate_series(1, 1000)")
	first.kill(t)

	var log logText
	second := start(t, pg.Options{DataDir: dir, Log: log.logger()})
	if n := ask(t, second.URL(), "select count(*)::text from kept"); n != "1000" {
		t.Errorf("%s rows are left of 1000", n)
	}
	if strings.Contains(log.String(), "not properly shut down") {
		t.Errorf("the database had to recover:\n%s", log.String())
	}
}

func TestAServerThatWasKilledItselfRecoversAndTellsOfItsEnd(t *testing.T) {
	t.Parallel()
	dir := madeFolder(t)
	first := start(t, pg.Options{DataDir: dir})
	do(t, first.URL(), "create table kept (n int); insert into kept values (1)")
	pool, err := pg.Open(t.Context(), first.URL(), pg.PoolOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if err := syscall.Kill(first.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-first.Done():
	case <-time.After(30 * time.Second):
		t.Fatal("Done is still open")
	}
	if err := pool.Ping(t.Context()); !pg.Unavailable(err) {
		t.Errorf("a query to a dead server is %v, which is not Unavailable", err)
	}
	if _, err := pg.Start(t.Context(), pg.Options{DataDir: dir, Offline: true}); !errors.Is(err, pg.ErrInUse) {
		t.Errorf("before Stop, the folder is given to another Start: %v", err)
	}
	stop(t, first)
	second := start(t, pg.Options{DataDir: dir})
	if n := ask(t, second.URL(), "select count(*)::text from kept"); n != "1" {
		t.Errorf("%s rows are left of 1", n)
	}
}

func TestTwoProcessesCannotServeOneFolder(t *testing.T) {
	t.Parallel()
	dir := madeFolder(t)
	other := startChild(t, self(t), dir, nil)
	_, err := pg.Start(t.Context(), pg.Options{DataDir: dir, Offline: true})
	if !errors.Is(err, pg.ErrInUse) || !strings.Contains(err.Error(), dir) {
		t.Errorf("the second start says %v", err)
	}
	if one := ask(t, other.url, "select '1'"); one != "1" {
		t.Error("the first server was disturbed")
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if _, err := pg.Start(t.Context(), pg.Options{DataDir: link, Offline: true}); !errors.Is(err, pg.ErrInUse) {
		t.Errorf("through a link, the second start says %v", err)
	}
}

// listing is every file under dir with its contents.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var text strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		text.WriteString(path + ": " + string(content) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestAFolderOfAnotherMajorVersionIsRefusedAndLeftAlone(t *testing.T) {
	t.Parallel()
	for _, major := range []int{11, 16, 99} {
		if path := filepath.Join("/usr/lib/postgresql", strconv.Itoa(major)); exists(path) {
			continue // this machine could open it
		}
		dir := folder(t)
		write(t, filepath.Join(dir, "PG_VERSION"), strconv.Itoa(major)+"\n")
		write(t, filepath.Join(dir, "base", "1"), "rows")
		before := listing(t, dir)
		_, err := pg.Start(t.Context(), pg.Options{DataDir: dir, Offline: true})
		var wrong *pg.VersionError
		if !errors.As(err, &wrong) || wrong.Made != major || !strings.Contains(err.Error(), "PostgreSQL "+strconv.Itoa(major)) {
			t.Errorf("a folder of %d: %v", major, err)
		}
		if after := listing(t, dir); after != before {
			t.Errorf("a folder of %d was changed:\n%s", major, after)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAFolderWithSomethingElseInItIsRefusedAndLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "photos", "holiday.jpg"), "beach")
	before := listing(t, dir)
	if _, err := pg.Start(t.Context(), pg.Options{DataDir: dir, Offline: true}); !errors.Is(err, pg.ErrNotADataFolder) {
		t.Errorf("the start says %v", err)
	}
	if listing(t, dir) != before {
		t.Error("the folder was changed")
	}
}

func TestAHalfMadeFolderOfAnInterruptedStartIsMadeAnew(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	write(t, filepath.Join(dir+".new", "PG_VERSION"), "15\n")
	if err := os.Mkdir(dir, 0o700); err != nil { // an empty folder is no obstacle either
		t.Fatal(err)
	}
	s := start(t, pg.Options{DataDir: dir})
	if ask(t, s.URL(), "select '1'") != "1" || exists(dir+".new") {
		t.Error("the folder was not made anew")
	}
}

func TestTheServerIsPrivateAndSpeaksUTF8(t *testing.T) {
	t.Parallel()
	home := folder(t)
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	s := start(t, pg.Options{DataDir: filepath.Join(home, "deep", "pg"), Settings: map[string]string{"max_connections": "17"}})
	for setting, want := range map[string]string{
		"listen_addresses": "", "server_encoding": "UTF8", "max_connections": "17", "TimeZone": "UTC", "fsync": "on",
		"full_page_writes": "on", "synchronous_commit": "on", "log_parameter_max_length_on_error": "0",
	} {
		if got := ask(t, s.URL(), "select current_setting('"+setting+"')"); got != want {
			t.Errorf("%s is %q, not %q", setting, got, want)
		}
	}
	if lower := ask(t, s.URL(), "select lower('ÉÀÖ')"); lower != "éàö" {
		t.Errorf("lower('ÉÀÖ') is %q", lower)
	}
	if order := ask(t, s.URL(), "select string_agg(x, '' order by x) from unnest(array['é','a','Z','z']) x"); order != "Zazé" {
		t.Errorf("texts are not in the order of their code points but %q", order)
	}
	info, err := os.Stat(s.SocketDir())
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the socket's folder is %v, %v", info, err)
	}
	if s.Bin("initdb") == "" || s.Bin("no-such-tool") != "" {
		t.Errorf("Bin gives %q and %q", s.Bin("initdb"), s.Bin("no-such-tool"))
	}
	socket := s.SocketDir()
	stop(t, s)
	if exists(socket) {
		t.Error("the socket's folder is left behind")
	}
}

func TestAPathTooLongForASocketIsNoObstacle(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("a-long-name-", 10))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", long)
	s := start(t, pg.Options{DataDir: filepath.Join(long, "pg")})
	u, err := url.Parse(s.URL())
	if err != nil || strings.HasPrefix(u.Query().Get("host"), long) {
		t.Errorf("the socket is in %v, %v", u, err)
	}
	if ask(t, s.URL(), "select '1'") != "1" {
		t.Error("no answer")
	}
}

func TestAStaleProcessIDThatSomebodyElseHasNowIsNoObstacle(t *testing.T) {
	t.Parallel()
	dir := madeFolder(t)
	first := start(t, pg.Options{DataDir: dir})
	pidFile, err := os.ReadFile(filepath.Join(dir, "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	stop(t, first)
	bystander := exec.Command("sleep", "600")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = bystander.Process.Kill()
		_ = bystander.Wait()
	})
	_, rest, _ := strings.Cut(string(pidFile), "\n")
	write(t, filepath.Join(dir, "postmaster.pid"), strconv.Itoa(bystander.Process.Pid)+"\n"+rest)
	start(t, pg.Options{DataDir: dir})
	if err := bystander.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the bystander was hurt: %v", err)
	}
}

// TestAnOrdinaryUserCanStartIt is about another account than the one that runs the
// tests, when that is root; else about that one.
func TestAnOrdinaryUserCanStartIt(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		s := start(t, pg.Options{DataDir: folder(t)})
		if ask(t, s.URL(), "select '1'") != "1" {
			t.Error("no answer")
		}
		return
	}
	const somebody = 65534
	home, err := pgtest.TempFolder() // t.TempDir is root's alone
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	binary := filepath.Join(home, "serve")
	copyFile(t, self(t), binary)
	for _, path := range []string{home, binary} {
		if err := os.Chown(path, somebody, somebody); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(home, "pg")
	other := startChild(t, binary, dir, &syscall.Credential{Uid: somebody, Gid: somebody})
	info, err := os.Stat(filepath.Join(dir, "PG_VERSION"))
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != somebody {
		t.Fatalf("the folder belongs to %+v, %v", info, err)
	}
	do(t, other.url, "create table kept (n int)")
	other.kill(t)
	// The same folder, now opened by root: the server runs as the folder's owner.
	s := start(t, pg.Options{DataDir: dir})
	do(t, s.URL(), "insert into kept values (1)")
	if uid := ownerOfProcess(t, s.PID()); uid != somebody {
		t.Errorf("the server runs as %d", uid)
	}
}

func ownerOfProcess(t *testing.T, pid int) uint32 {
	t.Helper()
	info, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid)))
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Uid
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAStartThatIsGivenUpLeavesTheFolderFree(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := pg.Start(ctx, pg.Options{DataDir: dir, Offline: true}); err == nil {
		t.Fatal("a start without time succeeds")
	}
	start(t, pg.Options{DataDir: dir})
}

func TestAMachineWithoutPostgreSQLIsToldWhatToInstall(t *testing.T) {
	t.Parallel()
	_, err := pg.Start(t.Context(), pg.Options{DataDir: folder(t), BinDir: t.TempDir(), Offline: true})
	if !errors.Is(err, pg.ErrNoBinaries) || !strings.Contains(err.Error(), "apt-get install postgresql") {
		t.Errorf("the start says %v", err)
	}
}

func TestASettingThatTheServerRefusesIsReportedInItsWords(t *testing.T) {
	t.Parallel()
	_, err := pg.Start(t.Context(), pg.Options{
		DataDir: madeFolder(t), Offline: true, Settings: map[string]string{"no_such_setting": "1"},
	})
	if err == nil || !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("the start says %v", err)
	}
}

func BenchmarkColdStart(b *testing.B) {
	for b.Loop() {
		benchmarkStart(b, filepath.Join(b.TempDir(), "pg"))
	}
}

func BenchmarkWarmStart(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "pg")
	benchmarkStart(b, dir)
	for b.Loop() {
		benchmarkStart(b, dir)
	}
}

func benchmarkStart(b *testing.B, dir string) {
	b.Helper()
	s, err := pg.Start(b.Context(), pg.Options{DataDir: dir, Offline: true})
	if err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	if err := s.Stop(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.StartTimer()
}
