package load

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"portillon/server/seal"
	"portillon/server/session"
)

// WalletFigures tell how a crowd of phones hears of a new nonce. Times are from its
// issue in the database to the phone's having read it. Bytes are the growth of the
// server's resident memory for each stream; what the kernel keeps is not in them.
type WalletFigures struct {
	Streams  int     `json:"streams"`
	P50MS    float64 `json:"p50_ms"`
	P99MS    float64 `json:"p99_ms"`
	MaxMS    float64 `json:"max_ms"`
	Bytes    int     `json:"bytes_per_stream"`
	BytesTLS int     `json:"bytes_per_stream_tls"`
	Lost     int     `json:"lost"`   // nonces that a wallet did not get
	Nonces   int     `json:"nonces"` // that were issued meanwhile
}

// Wallets is a measurement under way.
type Wallets struct {
	Streams, TLSStreams int // in clear, as behind a proxy, and over TLS (HTTP/2)
	Nonces              int // how many are waited for
	Pool                *pgxpool.Pool
	// Plain and TLS are the server's addresses. Memory gives its resident memory in
	// bytes after a collection.
	Plain, TLS string
	Memory     func() (int64, error)
	// Now is the database's time.
	Now  func() time.Time
	Note func(format string, args ...any)
}

// The client's side.
const (
	dialers   = 64 // phones that connect at the same time
	holdEvery = 10 * time.Second
	holdTries = 5               // nonces are made for a minute after the last good one
	straggler = 2 * time.Second // after which a nonce counts as lost
)

// Run measures.
func (w *Wallets) Run(ctx context.Context) (f WalletFigures, err error) {
	n := max(w.Streams, w.TLSStreams)
	w.Note("filling the database with %d wallets", n)
	world, err := Furnish(ctx, w.Pool, 1)
	if err != nil {
		return f, err
	}
	if err := world.Grow(ctx, n, false); err != nil {
		return f, err
	}
	cookies, err := world.wallets(ctx, n)
	if err != nil {
		return f, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if _, err := world.hold(ctx, w.Plain); err != nil {
		return f, err
	}
	go func() {
		for failed := 0; wait(ctx, holdEvery); {
			_, err := world.hold(ctx, w.Plain)
			if failed++; err == nil {
				failed = 0
			}
			if failed == holdTries {
				cancel(err)
			}
		}
	}()
	if f, err = w.inClear(ctx, cookies[:w.Streams]); err != nil {
		return f, errors.Join(err, context.Cause(ctx))
	}
	w.Note("p50 %.0f ms, p99 %.0f ms, %d lost", f.P50MS, f.P99MS, f.Lost)
	f.BytesTLS, err = w.overTLS(ctx, cookies[:w.TLSStreams])
	return f, errors.Join(err, context.Cause(ctx))
}

// wallets opens a wallet session for each of the first n tickets.
func (w *World) wallets(ctx context.Context, n int) (cookies []string, err error) {
	hashes, tickets := make([][]byte, n), make([][16]byte, n)
	for i := range n {
		secret := seal.Random()
		hashes[i], tickets[i] = seal.Hash(secret), TicketID(i+1)
		cookies = append(cookies, session.WalletCookieName(false)+"="+secret)
	}
	args := pgx.NamedArgs{"hashes": hashes, "tickets": tickets}
	for _, sql := range []string{
		`INSERT INTO wallet_sessions (hash, expires_at) SELECT h, portillon_now() + interval '1 day' FROM unnest(@hashes::bytea[]) h`,
		`INSERT INTO wallet_session_tickets (ticket_id, generation, session_hash)
SELECT t, 1, h FROM unnest(@tickets::uuid[], @hashes::bytea[]) AS s (t, h)`,
	} {
		if _, err := w.pool.Exec(ctx, sql, args); err != nil {
			return nil, fmt.Errorf("open wallet sessions: %w", err)
		}
	}
	return cookies, nil
}

// inClear measures streams over HTTP/1.1, as a proxy brings them.
func (w *Wallets) inClear(ctx context.Context, cookies []string) (f WalletFigures, err error) {
	f.Streams = len(cookies)
	e, err := newEars(w.Plain)
	if err != nil {
		return f, err
	}
	phones := make([]phone, len(cookies))
	grown, err := w.connect(len(cookies), func(i int) error { return e.connect(ctx, &phones[i], cookies[i]) })
	f.Bytes = int(grown) / max(1, len(cookies))
	var issued map[string]time.Time
	if err == nil {
		w.Note("%d streams, %d bytes each; waiting for %d nonces", len(cookies), f.Bytes, w.Nonces)
		issued, err = w.issued(ctx, w.Now())
	}
	e.close()
	if err != nil {
		return f, err
	}
	f.Nonces = len(issued)
	took, each := []time.Duration{}, map[string][]time.Duration{}
	for _, p := range phones {
		for _, h := range p.heard {
			if at, ok := issued[h.nonce]; ok {
				each[h.nonce] = append(each[h.nonce], h.at.Sub(at))
			}
		}
	}
	for nonce := range issued {
		one := Took{each: each[nonce]}
		slices.Sort(one.each)
		w.Note("  one nonce: p50 %.0f ms, p99 %.0f ms", ms(one.Quantile(0.5)), ms(one.Quantile(0.99)))
		took = append(took, one.each...)
	}
	f.Lost = len(phones)*len(issued) - len(took)
	slices.Sort(took)
	all := Took{each: took}
	f.P50MS, f.P99MS, f.MaxMS = ms(all.Quantile(0.5)), ms(all.Quantile(0.99)), ms(all.Quantile(1))
	return f, nil
}

func ms(d time.Duration) float64 { return float64(d.Round(10*time.Microsecond)) / 1e6 }

// overTLS measures the memory of streams over HTTP/2, a connection for each phone.
func (w *Wallets) overTLS(ctx context.Context, cookies []string) (bytes int, err error) {
	if len(cookies) == 0 {
		return 0, nil
	}
	closes := make([]func(), len(cookies))
	defer func() {
		for _, c := range closes {
			if c != nil {
				c()
			}
		}
	}()
	grown, err := w.connect(len(cookies), func(i int) (err error) {
		closes[i], err = followOverTLS(ctx, w.TLS, cookies[i])
		return err
	})
	return int(grown) / len(cookies), err
}

// connect connects n phones, some at a time, and tells by how much the server's memory
// grew.
func (w *Wallets) connect(n int, phone func(i int) error) (grown int64, err error) {
	before, err := w.Memory()
	if err != nil {
		return 0, err
	}
	w.Note("connecting %d phones", n)
	var all sync.WaitGroup
	var next atomic.Int64
	errs := make(chan error, dialers)
	for range dialers {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if err := phone(int(i)); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	if err := <-errs; err != nil {
		return 0, err
	}
	after, err := w.Memory()
	return after - before, err
}

// issued waits for so many nonces after from, and for the stragglers, and gives the
// nonces with the times of their issue.
func (w *Wallets) issued(ctx context.Context, from time.Time) (map[string]time.Time, error) {
	for {
		issued := map[string]time.Time{}
		rows, err := w.Pool.Query(ctx, `
SELECT nonce, issued_at FROM nonces WHERE epoch IS NOT NULL AND issued_at > @from
ORDER BY issued_at LIMIT @n`, pgx.NamedArgs{"from": from, "n": w.Nonces})
		if err != nil {
			return nil, err
		}
		var value []byte
		var at time.Time
		if _, err := pgx.ForEachRow(rows, []any{&value, &at}, func() error {
			issued[base64.RawURLEncoding.EncodeToString(value)] = at
			return nil
		}); err != nil {
			return nil, err
		}
		if len(issued) == w.Nonces {
			wait(ctx, straggler)
			return issued, ctx.Err()
		}
		if !wait(ctx, 200*time.Millisecond) {
			return nil, ctx.Err()
		}
	}
}

// wait is false when ctx ended before.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// followOverTLS opens a stream as browsers do and returns when its first event is there.
func followOverTLS(ctx context.Context, address, cookie string) (end func(), err error) {
	transport := &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, //nolint:gosec // the certificate was made for this measurement
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/v1/wallet/stream", nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Cookie", cookie)
	response, err := transport.RoundTrip(r) //nolint:bodyclose // it is, by end
	if err != nil {
		return nil, fmt.Errorf("open a stream: %w", err)
	}
	end = func() {
		_ = response.Body.Close()
		transport.CloseIdleConnections()
	}
	if response.StatusCode != http.StatusOK || response.ProtoMajor != 2 {
		return end, fmt.Errorf("open a stream: answered %s by %s", response.Status, response.Proto)
	}
	var some [1]byte
	_, err = response.Body.Read(some[:])
	return end, err
}
