package pg

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strings"
	"syscall"
)

// maxSocketPath is sockaddr_un's sun_path (unix(7)) without its final zero byte.
const maxSocketPath = 107

// nobody is an account that practically every passwd has: PostgreSQL looks its
// own name up.
const nobody = 65534

// attributes are how the child is started: in a process group of its own, so that
// Ctrl-C reaches us alone and we decide when the database goes; and with a fast,
// clean shutdown as the kernel's message when we die.
func (i identity) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT, Credential: i.credential}
	if i.namespace {
		attr.Cloneflags = syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Getegid(), Size: 1}}
	}
	return attr
}

// tryNamespace runs postgres for a moment in a user namespace, which containers
// and hardened systems may refuse.
func tryNamespace(postgres string) error {
	if _, err := user.LookupId(fmt.Sprint(nobody)); err != nil {
		return err
	}
	out, err := combinedOutput(exec.CommandContext(context.Background(), postgres, "--version"), identity{namespace: true})
	if err != nil {
		return fmt.Errorf("%w %s", err, strings.TrimSpace(out))
	}
	return nil
}

// definitelyNotServer reports whether the process is certainly no postmaster of
// that data folder: a postmaster's working directory is its data folder.
func definitelyNotServer(pid int, dataDir string) bool {
	cwd, err := os.Stat(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil {
		return false // not ours to look at, or just gone
	}
	dir, err := os.Stat(dataDir)
	return err == nil && !os.SameFile(cwd, dir)
}
