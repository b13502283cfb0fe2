package challenge

import (
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// control does something with a socket.
func control(t *testing.T, socket syscall.Conn, act func(fd int) error) {
	t.Helper()
	raw, err := socket.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var acted error
	if err := raw.Control(func(fd uintptr) { acted = act(int(fd)) }); err != nil || acted != nil {
		t.Fatal(err, acted)
	}
}

func userTimeout(t *testing.T, conn *net.TCPConn) (ms int) {
	t.Helper()
	control(t, conn, func(fd int) (err error) {
		ms, err = unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
		return err
	})
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
	if got := userTimeout(t, accepted.(*net.TCPConn)); got != 18000 {
		t.Fatalf("TCP_USER_TIMEOUT is %d ms", got)
	}
}

// A phone that has lost its network acknowledges nothing: here a filter on its socket
// drops what comes in.
func TestAPhoneThatIsGoneIsFoundByWhatItDoesNotAcknowledge(t *testing.T) {
	t.Parallel()
	if total := commentAfter + deadAfter; total >= 30*time.Second {
		t.Fatalf("a dead phone would be found after %v", total)
	}
	h := newHouse(t)
	r := h.replica(t)
	const patient = 300 * time.Millisecond // instead of deadAfter
	control(t, r.on.(*net.TCPListener), func(fd int) error {
		return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(patient.Milliseconds()))
	})
	p := dial(t, r, h.session(t, h.ticket(t, -time.Minute)))
	p.until(t, "event: closed")
	st := streamsAt(r.Service, h.venue)[0]
	control(t, p.Conn.(*net.TCPConn), func(fd int) error {
		nothing := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: 0}}
		return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &nothing[0]})
	})
	st.mu.Lock()
	err := st.direct([]byte(": here\n\n"))
	st.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the stream has ended", func() bool { return r.Streams() == 0 })
}
