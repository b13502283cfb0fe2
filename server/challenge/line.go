package challenge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"
)

// The HTTP server keeps for each request two buffers, a goroutine whose stack has
// been through everything, and the request itself: some 50 KB while a phone waits at
// the door. Where the protocol lets go of the connection (HTTP/1.1, as behind a proxy),
// a stream takes it over and costs a fifth of that.

// takeOver takes the connection of an HTTP/1.1 request and sends the head of the
// answer. False says that the protocol keeps it.
func (s *Service) takeOver(r *http.Request, w http.ResponseWriter) (line net.Conn, ok bool) {
	if r.ProtoMajor != 1 {
		return nil, false
	}
	line, buffers, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, false
	}
	header := w.Header().Clone()
	header.Set("Connection", "close") // the answer ends with the connection (RFC 9112, section 6.3)
	header.Set("Date", s.now().UTC().Format(http.TimeFormat))
	_ = line.SetDeadline(time.Time{})
	if _, err := fmt.Fprint(buffers, "HTTP/1.1 200 OK\r\n"); err == nil && header.Write(buffers) == nil {
		_, _ = buffers.WriteString("\r\n")
	}
	_ = buffers.Flush() // a line that is broken already is found by the first event
	return line, true
}

// alone lets a stream go on without its request. It is counted as open until it ends,
// so that Shutdown waits for it: the HTTP server does not know it any more.
func (s *Service) alone(stream *Stream, line net.Conn) {
	write := s.lineWriter(line)
	if err := stream.begin(write); err != nil {
		stream.Close()
		_ = line.Close()
		s.broke(stream, err)
		return
	}
	stream.writesDirectly(line)
	ctx, gone := context.WithCancel(context.Background())
	go func() {
		defer gone()
		var nothing [1]byte
		_, _ = line.Read(nothing[:]) // a reader of events says nothing more but that it is gone
	}()
	go func() {
		defer stream.Close()
		defer func() { _ = line.Close() }()
		s.broke(stream, stream.follow(ctx, write))
	}()
}

// lineWriter sends each event at once and gives up on a reader who does not take it.
// No deadline is left behind: it would end what is written directly, and ten thousands
// of timers would run out at the same time.
func (s *Service) lineWriter(line net.Conn) func([]byte) error {
	return func(text []byte) error {
		if err := line.SetWriteDeadline(s.now().Add(writeFor)); err != nil {
			return err
		}
		if _, err := line.Write(text); err != nil {
			return err
		}
		return line.SetWriteDeadline(time.Time{})
	}
}

// errFull: the connection takes nothing more.
var errFull = errors.New("the reader has not read for so long that the connection is full")

// writesDirectly lets whoever has a new nonce write it into the connection, without a
// turn of the stream's goroutine, if the connection can say that it is full.
func (st *Stream) writesDirectly(line net.Conn) {
	socket, ok := line.(syscall.Conn)
	if !ok {
		return // TLS
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.drop = func() { _ = line.Close() }
	st.direct = func(text []byte) error {
		var n int
		var wrote error
		if err := raw.Write(func(socket uintptr) bool {
			n, wrote = syscall.Write(int(socket), text)
			return true
		}); err != nil {
			return err
		}
		if wrote != nil && !errors.Is(wrote, syscall.EAGAIN) {
			return wrote
		}
		if n < len(text) {
			return errFull
		}
		return nil
	}
}
