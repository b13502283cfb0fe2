package load

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"portillon/server"
	"portillon/server/admit"
	"portillon/server/challenge"
	"portillon/server/pg"
	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/wallet"
)

// Form is how the door decides while it is measured.
type Form string

// The product's form, its reference, and the whole path of a scan over HTTP with the
// signature verified, but without the decision and its transaction.
const (
	Crowd  Form = "crowd"
	Plain  Form = "plain"
	Verify Form = "verify"
)

// Door serves the API on a loopback address until ctx ends; ready is told it.
func Door(ctx context.Context, databaseURL string, form Form, log *slog.Logger, ready func(address string) error) error {
	return stand(ctx, databaseURL, form, log, func(handler http.Handler) error {
		listener, err := listen(ctx)
		if err != nil {
			return err
		}
		return serve(ctx, handler, []net.Listener{listener}, func() error { return ready(listener.Addr().String()) })
	})
}

// stand builds the whole server on a database and gives its handler to use, which
// returns when it shall end.
func stand(ctx context.Context, databaseURL string, form Form, log *slog.Logger, use func(http.Handler) error) error {
	pool, err := pg.Open(ctx, databaseURL, pg.PoolOptions{})
	if err != nil {
		return err
	}
	defer pool.Close()
	door, err := server.OpenDoor(ctx, databaseURL)
	if err != nil {
		return err
	}
	defer door.Close()
	o := server.Options{
		Pool: pool, DoorPool: door, DatabaseURL: databaseURL, OperatorKey: make([]byte, 32), PublicURL: publicURL,
		Log: log, Now: time.Now, Plain: form == Plain,
	}
	if form == Verify {
		keys, err := publicKeys(ctx, pool)
		if err != nil {
			return err
		}
		o.Judge = keys.judge
	}
	s, err := server.New(ctx, o)
	if err != nil {
		return err
	}
	if err := s.Start(ctx); err != nil {
		return err
	}
	defer func() { _ = s.Close(context.WithoutCancel(ctx)) }()
	return use(s.Handler())
}

func listen(ctx context.Context) (net.Listener, error) {
	return (&net.ListenConfig{Control: challenge.ListenControl}).Listen(ctx, "tcp", "127.0.0.1:0")
}

// serve answers on all listeners until ctx ends or one of them fails.
func serve(ctx context.Context, handler http.Handler, listeners []net.Listener, ready func() error) error {
	web := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, ErrorLog: log.New(io.Discard, "", 0)}
	defer func() { _ = web.Close() }()
	failed := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { failed <- web.Serve(l) }()
	}
	if err := ready(); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

// phoneKeys answer every good signature as admitted.
type phoneKeys struct {
	list  [keyPairs]*ecdsa.PublicKey
	event ticket.EventID
}

func publicKeys(ctx context.Context, pool *pgxpool.Pool) (keys phoneKeys, err error) {
	if err := pool.QueryRow(ctx, `SELECT id FROM events`).Scan(&keys.event); err != nil {
		return keys, fmt.Errorf("read the event: %w", err)
	}
	rows, err := pool.Query(ctx, `SELECT n, key FROM load_keys`)
	if err != nil {
		return keys, fmt.Errorf("read the keys: %w", err)
	}
	var n int
	var key []byte
	_, err = pgx.ForEachRow(rows, []any{&n, &key}, func() error {
		keys.list[n], err = wallet.ParsePublicKey([64]byte(key))
		return err
	})
	return keys, err
}

func (k phoneKeys) judge(_ context.Context, _ session.Caller, in admit.ScanIn) (admit.Answer, error) {
	code, err := wallet.Parse(in.Code)
	if err != nil {
		return admit.Answer{}, err
	}
	if err := code.VerifyPhone(k.list[keyOf(code.Ticket)], k.event.UUID()); err != nil {
		return admit.Answer{}, err
	}
	return admit.Answer{Decision: ticket.Judge(ticket.Admitted), Facts: ticket.Facts{
		SignatureGood: true, Ticket: &ticket.Ticket{ID: ticket.ID(code.Ticket), Number: 1, Seat: "Row 1 Seat 1", Holder: "Guest"},
		Event: ticket.Event{ID: k.event, Name: "The final"}, Now: time.Now(),
	}}, nil
}
