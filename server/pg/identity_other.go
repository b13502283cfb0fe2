//go:build unix && !linux

package pg

import (
	"errors"
	"syscall"
)

// maxSocketPath is the shortest sun_path among these systems (macOS and the BSDs,
// 104) without its final zero byte.
const maxSocketPath = 103

// attributes are how the child is started: in a process group of its own, so that
// Ctrl-C reaches us alone. There is no message at our death here: the next Start
// on the folder shuts an orphan down.
func (i identity) attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: i.credential}
}

func tryNamespace(string) error {
	return errors.New("user namespaces exist on Linux only")
}

func definitelyNotServer(int, string) bool { return false }
