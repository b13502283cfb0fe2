package admit_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
)

// deaf is a way to a server that forwards every request and, while it is deaf, cuts
// the connection instead of bringing the answer back.
type deaf struct {
	url  string
	cuts atomic.Int64 // answers still to be lost
	lost atomic.Int64
}

func newDeaf(t *testing.T, s *servertest.Server) *deaf {
	t.Helper()
	d := &deaf{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, header, body, err := forward(s, r)
		if d.cuts.Add(-1) >= 0 || err != nil {
			d.lost.Add(1)
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", header.Get("Content-Type"))
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}))
	t.Cleanup(web.Close)
	d.url = web.URL
	return d
}

// forward sends the request on and waits for the whole answer.
func forward(s *servertest.Server, r *http.Request) (status int, header http.Header, body []byte, err error) {
	on, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), r.Method, s.URL+r.URL.Path, r.Body)
	if err != nil {
		return 0, nil, nil, err
	}
	on.Header = r.Header.Clone()
	response, err := s.HTTP.Do(on)
	if err != nil {
		return 0, nil, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, response.Header, body, err
}

// through is the same device by this way. Each call has a connection of its own, as
// Go would otherwise send a call again by itself when an old one is cut.
func (d *deaf) through(t *testing.T, g *servertest.Gatekeeper) *servertest.Gatekeeper {
	t.Helper()
	own := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(own.CloseIdleConnections)
	copied := *g
	copied.Client = client.New(d.url, g.Token(), &http.Client{Transport: own})
	return &copied
}

// The answer is lost on its way back, once at the first scan and once before each
// retry is heard; by the last ones the nonce has expired, the event is over, and
// the ticket has been full all the time.
func TestAnAnswerThatWasCutOffIsHadByTheSameKeyForADay(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(t *testing.T, opts ...servertest.Option) {
		h := servertest.NewHouse(t, opts...)
		way := newDeaf(t, servertest.On(t, h.DB, opts...))
		karel := h.Controller("Karel", session.Controller)
		far := way.through(t, karel)
		phone, id := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category, Seat: "Row 4 Seat 12"})
		code, key := phone.Signed(t, id.Ticket, karel.Hold(t)), servertest.NewKey()
		scan := client.Scan{Gate: h.Gate.Gate, Code: code}

		var at time.Time
		for i, after := range []time.Duration{0, time.Second, 35 * time.Second, 3 * time.Hour, 23*time.Hour + 59*time.Minute} {
			h.DB.SetShift(t, after)
			way.cuts.Store(1)
			if a, err := far.Scan(context.Background(), key, scan); !client.RetryLater(err) {
				t.Fatalf("after %s the answer was to be lost: %+v, %v", after, a, err)
			}
			if row := h.Row(t, id.Ticket); row.Status != ticket.Used || row.Entries != 1 {
				t.Fatalf("after %s, unheard: %+v", after, row)
			}
			again := far.AskAs(t, key, scan)
			if again.Reason != ticket.Admitted || !again.Replayed || again.Ticket == nil || again.Ticket.Seat != "Row 4 Seat 12" {
				t.Errorf("the retry after %s: %+v", after, again)
			}
			if i == 0 {
				at = again.At
			}
			if !again.At.Equal(at) {
				t.Errorf("the retry after %s tells of an entry at %s, and the first of %s", after, again.At, at)
			}
		}
		if n := way.lost.Load(); n != 5 {
			t.Errorf("%d answers were lost", n)
		}
		if n := h.Count(t, "admissions WHERE ticket_id = $1", id.Ticket); n != 1 {
			t.Errorf("%d admissions", n)
		}
		if n := h.Count(t, "attempts WHERE ticket_id = $1 AND key = $2 AND replayed AND reason = 'admitted'", id.Ticket, key); n != 9 {
			t.Errorf("%d of 9 retries are logged", n)
		}
		for _, fresh := range []struct {
			code string
			want ticket.Reason
		}{{code, ticket.StaleNonce}, {phone.Signed(t, id.Ticket, karel.Hold(t)), ticket.TooLate}} {
			if a := far.AskAs(t, servertest.NewKey(), client.Scan{Code: fresh.code}); a.Reason != fresh.want {
				t.Errorf("another scan a day later: %s, want %s", a.Reason, fresh.want)
			}
		}
	})
}

// Somebody holds the ticket's row for two seconds, and an impatient controller taps
// five times within the first third of one, his page at one server and then at the
// other.
func TestFiveTapsOfOneScanWhileTheFirstWaitsMakeOneEntryAndAllEndAdmitted(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(t *testing.T, opts ...servertest.Option) {
		t.Parallel()
		h := servertest.NewHouse(t, opts...)
		second := servertest.On(t, h.DB, opts...)
		karel := h.Controller("Karel", session.Controller)
		doors := []*servertest.Gatekeeper{karel, karel.At(second)}
		phone, id := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
		code, key := phone.Signed(t, id.Ticket, karel.Hold(t)), servertest.NewKey()

		tx := servertest.Must(h.DB.Pool.Begin(context.Background()))(t)
		defer func() { _ = tx.Rollback(context.Background()) }()
		if _, err := tx.Exec(context.Background(), `SELECT FROM tickets WHERE id = $1 FOR UPDATE`, id.Ticket); err != nil {
			t.Fatal(err)
		}
		const taps = 5
		answers, unanswered := make([]client.ScanAnswer, taps), make([]int, taps)
		var all sync.WaitGroup
		for i := range taps {
			all.Go(func() {
				answers[i], unanswered[i] = insist(t, doors[i%2], key, client.Scan{Gate: h.Gate.Gate, Code: code})
			})
			time.Sleep(70 * time.Millisecond)
		}
		time.Sleep(2*time.Second - taps*70*time.Millisecond)
		if n := h.Count(t, "admissions"); n != 0 {
			t.Errorf("%d admissions under somebody else's lock", n)
		}
		if err := tx.Rollback(context.Background()); err != nil {
			t.Fatal(err)
		}
		all.Wait()
		fresh := 0
		for i, a := range answers {
			if a.Reason != ticket.Admitted || !a.At.Equal(answers[0].At) || *a.Remaining != 0 {
				t.Errorf("tap %d: %+v", i, a)
			}
			if !a.Replayed {
				fresh++
			}
		}
		if fresh != 1 {
			t.Errorf("%d of the taps were told of an entry of their own", fresh)
		}
		if row := h.Row(t, id.Ticket); row.Status != ticket.Used || row.Entries != 1 || h.Count(t, "admissions") != 1 {
			t.Errorf("the ticket: %+v", row)
		}
		t.Logf("how often each tap was told that nobody knows yet: %v", unanswered)
	})
}

// insist sends a scan with its key until somebody knows, as every honest client
// does, and gives how often nobody knew.
func insist(t *testing.T, at *servertest.Gatekeeper, key ticket.Key, scan client.Scan) (a client.ScanAnswer, unanswered int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		a, err := at.Scan(ctx, key, scan)
		if err == nil {
			return a, unanswered
		}
		if !client.RetryLater(err) || ctx.Err() != nil {
			t.Errorf("insisting: %v", err)
			return a, unanswered
		}
		unanswered++
	}
}
