package load

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"portillon/wallet"
)

// errNoTickets: a round used more tickets than there are.
var errNoTickets = errors.New("no ticket is left that nobody has used: make more of them, or the rounds shorter")

// Scans are requests that are ready to be sent, signed over the nonce of a moment
// ago. The phones are not what is measured.
type Scans [][]byte

// Prepare signs n scans of tickets that nobody has used, each from another gate and
// device than the one before.
func (w *World) Prepare(ctx context.Context, address string, n int) (Scans, error) {
	nonce, err := w.hold(ctx, address)
	if err != nil {
		return nil, err
	}
	scans, ids := make(Scans, n), make([]uuid.UUID, n)
	for i := range ids {
		var ok bool
		if ids[i], ok = w.next(); !ok {
			return nil, errNoTickets
		}
	}
	var all sync.WaitGroup
	errs := make(chan error, 2)
	for hand := range cap(errs) {
		all.Go(func() {
			for i := hand; i < n; i += cap(errs) {
				scan, err := w.request(ids[i], nonce, i)
				if err != nil {
					errs <- err
					return
				}
				scans[i] = scan
			}
		})
	}
	all.Wait()
	close(errs)
	return scans, <-errs
}

func (w *World) request(id uuid.UUID, nonce [16]byte, i int) ([]byte, error) {
	code, err := wallet.SignNonce(rand.Reader, w.keys[keyOf(id)], wallet.KeyID{Ticket: id, Generation: 1}, w.Event, nonce)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]any{"gate": w.gates[i%gates], "code": code.String(), "scanned_at": time.Now().UTC()})
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "POST /v1/scans HTTP/1.1\r\nHost: door\r\nAuthorization: Bearer %s\r\nIdempotency-Key: %s\r\n"+
		"Content-Type: application/json\r\nAccept-Language: cs\r\nContent-Length: %d\r\n\r\n%s",
		w.devices[i%len(w.devices)], uuid.New(), len(body), body), nil
}

// hold opens a gate, as a gate page does, and gives the nonce.
func (w *World) hold(ctx context.Context, address string) (nonce [16]byte, err error) {
	body, err := json.Marshal(map[string]any{"gate": w.gates[0]})
	if err != nil {
		return nonce, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/v1/nonces", bytes.NewReader(body))
	if err != nil {
		return nonce, err
	}
	r.Header.Set("Authorization", "Bearer "+w.devices[0])
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nonce, err
	}
	defer func() { _ = response.Body.Close() }()
	var held struct {
		Nonce string `json:"nonce"`
	}
	if response.StatusCode != http.StatusCreated {
		return nonce, fmt.Errorf("hold a gate: %s", response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(&held); err != nil {
		return nonce, fmt.Errorf("hold a gate: %w", err)
	}
	raw, err := base64.RawURLEncoding.DecodeString(held.Nonce)
	copy(nonce[:], raw)
	return nonce, err
}

// Took is how long each answer of a round took, in order of length, and the round.
type Took struct {
	each  []time.Duration
	Round time.Duration
}

// PerSecond is the round's rate.
func (t Took) PerSecond() float64 { return float64(len(t.each)) / t.Round.Seconds() }

// Quantile is the time that the part q of all answers took at most.
func (t Took) Quantile(q float64) time.Duration {
	if len(t.each) == 0 {
		return 0
	}
	return t.each[min(len(t.each)-1, int(q*float64(len(t.each))))]
}

// Count is how many were answered.
func (t Took) Count() int { return len(t.each) }

// Run sends scans over clients connections for at most the time given and checks
// that each is answered by an admission, a replayed one if they were sent before.
// With a rate above 0, scans a second, each has its moment, and waits from then on.
func Run(ctx context.Context, address string, scans Scans, clients int, limit time.Duration, rate float64, replayed bool) (Took, error) {
	ctx, cancel := context.WithTimeout(ctx, limit+30*time.Second)
	defer cancel()
	want := []byte(`"reason":"admitted","replayed":` + strconv.FormatBool(replayed))
	var next atomic.Int64
	var ready, all sync.WaitGroup
	lists, errs := make([][]time.Duration, clients), make([]error, clients)
	var start time.Time
	gate := make(chan struct{})
	for c := range clients {
		ready.Add(1)
		all.Go(func() {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
			ready.Done()
			if err != nil {
				errs[c] = err
				return
			}
			defer func() { _ = conn.Close() }()
			<-gate
			lists[c], errs[c] = sendSome(conn, scans, &next, start, limit, rate, want)
		})
	}
	ready.Wait()
	start = time.Now()
	close(gate)
	all.Wait()
	took := Took{each: slices.Concat(lists...), Round: time.Since(start)}
	slices.Sort(took.each)
	return took, errors.Join(errs...)
}

func sendSome(conn net.Conn, scans Scans, next *atomic.Int64, start time.Time, limit time.Duration, rate float64, want []byte) (list []time.Duration, err error) {
	reader, body := bufio.NewReaderSize(conn, 8<<10), make([]byte, 16<<10)
	for {
		i := int(next.Add(1)) - 1
		began := time.Now()
		if rate > 0 {
			began = start.Add(time.Duration(float64(i) / rate * float64(time.Second)))
			time.Sleep(time.Until(began))
		}
		if i >= len(scans) || began.Sub(start) > limit {
			return list, nil
		}
		if err := exchange(conn, reader, scans[i], body, want); err != nil {
			return list, err
		}
		list = append(list, time.Since(began))
	}
}

// exchange sends one request and reads its answer, with no more work than needed:
// the gates share the processors with what is measured.
func exchange(conn net.Conn, reader *bufio.Reader, request, body, want []byte) error {
	if _, err := conn.Write(request); err != nil {
		return err
	}
	length, status := 0, ""
	for first := true; ; first = false {
		line, err := reader.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimRight(line, "\r\n")
		if first {
			status = string(line)
		}
		if len(line) == 0 {
			break
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(value)); err != nil || length > len(body) {
				return fmt.Errorf("an answer of %s bytes", value)
			}
		}
	}
	if _, err := io.ReadFull(reader, body[:length]); err != nil {
		return err
	}
	if status != "HTTP/1.1 200 OK" || !bytes.Contains(body[:length], want) {
		return fmt.Errorf("answered %q: %s", status, body[:length])
	}
	return nil
}
