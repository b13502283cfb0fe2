package challenge

import (
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// deadAfter is how long a phone may leave sent bytes unacknowledged. Without it
// a stream to a phone that lost its network lives on for a quarter of an hour,
// and the door would believe that the phone can show a living code. Together with
// commentAfter it is less than 30 s.
const deadAfter = 18 * time.Second

// ListenControl is the Control of the server's net.ListenConfig: it sets
// TCP_USER_TIMEOUT (RFC 5482), which accepted connections inherit. Other
// networks than TCP are left alone.
func ListenControl(network, _ string, conn syscall.RawConn) error {
	if len(network) < 3 || network[:3] != "tcp" {
		return nil
	}
	var set error
	err := conn.Control(func(fd uintptr) {
		set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(deadAfter.Milliseconds()))
	})
	if err == nil {
		err = set
	}
	if err != nil {
		return fmt.Errorf("TCP_USER_TIMEOUT: %w", err)
	}
	return nil
}
