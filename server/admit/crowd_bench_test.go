package admit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
)

// BenchmarkACrowdAtTheDoor admits a ticket an operation, from 64 gates at once over
// HTTP. Compare its two forms with one another, in one run.
func BenchmarkACrowdAtTheDoor(b *testing.B) {
	for _, form := range forms {
		b.Run(form.name, func(b *testing.B) {
			h := servertest.NewHouse(b, form.opts...)
			requests := crowdOf(b, h, b.N)
			transport := &http.Transport{MaxIdleConnsPerHost: 64}
			var next atomic.Int64
			b.ResetTimer()
			together(64, func(int) {
				for {
					i := int(next.Add(1)) - 1
					if i >= len(requests) {
						return
					}
					if err := send(transport, requests[i]); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "scans/s")
		})
	}
}

// crowdOf prepares a request for each of n tickets. The nonce lapses, so the
// schema's clock stands still meanwhile.
func crowdOf(b *testing.B, h *servertest.House, n int) []*http.Request {
	b.Helper()
	karel := h.Controller("Karel", session.Controller)
	phones := map[ticket.ID]*servertest.Phone{}
	for len(phones) < n {
		issued := h.Issue(h.Event.Event, client.NewTickets{Category: h.Standard.Category, Count: min(100, n-len(phones))})
		phone := h.NewPhone()
		phone.Take(b, issued.ClaimURL)
		for _, t := range issued.Tickets {
			phones[t.Ticket] = phone
		}
	}
	nonce, begun := karel.Hold(b), time.Now()
	requests := make([]*http.Request, 0, n)
	for id, phone := range phones {
		body, err := json.Marshal(map[string]any{"gate": h.Gate.Gate, "code": phone.Signed(b, id, nonce)})
		if err != nil {
			b.Fatal(err)
		}
		r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, h.URL+"/v1/scans", bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+karel.Token())
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", servertest.NewKey().String())
		requests = append(requests, r)
	}
	h.DB.Shift(b, -time.Since(begun))
	return requests
}

func send(transport *http.Transport, r *http.Request) error {
	response, err := transport.RoundTrip(r)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil || !bytes.Contains(body, []byte(`"reason":"admitted"`)) {
		return fmt.Errorf("%d %s %w", response.StatusCode, body, err)
	}
	return nil
}
