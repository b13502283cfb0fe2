package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// ears listen to many sockets in one thread: a goroutine, a buffer and three system
// calls for each phone and event would take from the server what is measured.
type ears struct {
	epoll  int
	server unix.SockaddrInet4
	mu     sync.Mutex
	owner  map[int32]*phone
	stop   atomic.Bool
	ended  sync.WaitGroup
}

// newEars listens for phones of a server on IPv4.
func newEars(address string) (*ears, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	e := &ears{server: unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}, owner: map[int32]*phone{}}
	if e.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	e.ended.Go(e.listen)
	return e, nil
}

// connect opens a stream and returns when its first nonce is there.
func (e *ears) connect(ctx context.Context, p *phone, cookie string) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open a stream: %w", err)
	}
	p.first = make(chan error, 1)
	e.mu.Lock()
	e.owner[int32(socket)] = p
	e.mu.Unlock()
	server := e.server // Connect writes into what it is given
	if err := unix.Connect(socket, &server); err != nil {
		return fmt.Errorf("open a stream: %w", err)
	}
	request := "GET /v1/wallet/stream HTTP/1.1\r\nHost: door\r\nCookie: " + cookie + "\r\n\r\n"
	if _, err := unix.Write(socket, []byte(request)); err != nil {
		return fmt.Errorf("open a stream: %w", err)
	}
	wake := &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP, Fd: int32(socket)}
	if err := unix.EpollCtl(e.epoll, unix.EPOLL_CTL_ADD, socket, wake); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	select {
	case err := <-p.first:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *ears) listen() {
	events, buffer := make([]unix.EpollEvent, 1024), make([]byte, 16<<10)
	for !e.stop.Load() {
		n, err := unix.EpollWait(e.epoll, events, 100)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		for _, event := range events[:max(n, 0)] {
			e.mu.Lock()
			p := e.owner[event.Fd]
			e.mu.Unlock()
			n, err := unix.Read(int(event.Fd), buffer)
			if n <= 0 {
				_ = unix.EpollCtl(e.epoll, unix.EPOLL_CTL_DEL, int(event.Fd), nil)
				p.tell(fmt.Errorf("a stream ended: %w", err))
				continue
			}
			p.hear(buffer[:n], time.Now())
		}
		// Falling asleep and being woken for each event would cost more than to read it.
		// What is measured is by so much too long.
		time.Sleep(nap)
	}
}

const nap = 2 * time.Millisecond

// close ends all streams, and returns when nobody writes into the phones.
func (e *ears) close() {
	e.stop.Store(true)
	e.ended.Wait()
	for socket := range e.owner {
		_ = unix.Close(int(socket))
	}
	_ = unix.Close(e.epoll)
}

// phone is what one phone has heard.
type phone struct {
	first chan error // told of the first nonce, or of the end
	rest  []byte     // of a line that has not ended
	heard []heard
}

type heard struct {
	nonce string
	at    time.Time
}

func (p *phone) hear(text []byte, at time.Time) {
	if len(p.rest) > 0 {
		text = append(p.rest, text...)
	}
	for {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			p.rest = bytes.Clone(text)
			return
		}
		text = rest
		_, value, ok := bytes.Cut(line, []byte(`"nonce":"`))
		if nonce, _, closed := bytes.Cut(value, []byte(`"`)); ok && closed {
			p.heard = append(p.heard, heard{string(nonce), at})
			p.tell(nil)
		}
	}
}

func (p *phone) tell(err error) {
	select {
	case p.first <- err:
	default:
	}
}
