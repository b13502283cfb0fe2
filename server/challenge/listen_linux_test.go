package challenge

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

func userTimeout(t *testing.T, conn *net.TCPConn) (ms int) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var get error
	if err := raw.Control(func(fd uintptr) {
		ms, get = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
	}); err != nil || get != nil {
		t.Fatal(err, get)
	}
	return ms
}

func TestAcceptedConnectionsInheritTheLimitForDeadPhones(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{Control: ListenControl}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	phone, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = phone.Close() }()
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = accepted.Close() }()
	if got := userTimeout(t, accepted.(*net.TCPConn)); got != 20000 {
		t.Fatalf("TCP_USER_TIMEOUT is %d ms", got)
	}
}
