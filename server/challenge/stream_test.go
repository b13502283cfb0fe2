package challenge

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"portillon/server/fault"
	"portillon/server/news"
	"portillon/server/session"
	"portillon/server/ticket"
)

func TestANonceComesAtOnceOnConnectingAndAtEachEpoch(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.replica(t)
	held := h.hold(t, r)
	l := listen(t, r, h.session(t, h.ticket(t, -time.Minute)))
	first := l.next(t, "nonce", "closed", "waiting")
	if first.name != "nonce" || first.text("venue") != h.venue.String() || first.data["accepted_for"] != 35.0 ||
		first.text("issued_at") == "" || first.text("server_time") == "" {
		t.Fatalf("%+v", first)
	}
	seen := map[string]bool{first.text("nonce"): true}
	for range 3 {
		h.db.Shift(t, 10*time.Second)
		renew(t, h, r, held.text(t, "lease"))
		e := l.next(t, "nonce")
		if seen[e.text("nonce")] {
			t.Fatalf("the same nonce twice: %+v", e)
		}
		seen[e.text("nonce")] = true
	}
}

func renew(t *testing.T, h house, r replica, lease string) {
	t.Helper()
	if a := call(t, "POST", r.url+"/v1/nonce-leases/"+lease+"/renew", "", bearer(h.device)); a.status != 200 {
		t.Fatalf("renew: %d %v", a.status, a.body)
	}
}

func TestAWalletHearsThatItsGateOpensAndClosesWhicheverServerItAsks(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	a, b := h.replica(t), h.replica(t)
	c := h.session(t, h.ticket(t, -time.Minute))
	here, there := listen(t, a, c), listen(t, b, c)
	for _, l := range []listening{here, there} {
		if e := l.next(t, "nonce", "closed", "waiting"); e.name != "closed" || e.text("venue") != h.venue.String() || e.text("server_time") == "" {
			t.Fatalf("%+v", e)
		}
	}
	lease := h.hold(t, a).text(t, "lease")
	x, y := here.next(t, "nonce"), there.next(t, "nonce")
	if x.text("nonce") != y.text("nonce") && x.text("issued_at") == y.text("issued_at") {
		t.Fatalf("two servers, two nonces: %+v %+v", x, y)
	}
	if got := call(t, "POST", b.url+"/v1/nonce-leases/"+lease+"/close", "", bearer(h.device)); got.status != 204 {
		t.Fatalf("close: %d %v", got.status, got.body)
	}
	here.next(t, "closed")
	there.next(t, "closed")
	h.hold(t, b)
	here.next(t, "nonce")
	there.next(t, "nonce")
}

func TestAWalletWithoutDoorHoursWaitsUntilTheDoorsOpen(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.replica(t)
	h.hold(t, r)
	l := listen(t, r, h.session(t, h.ticket(t, time.Hour), h.ticket(t, 4*time.Hour)))
	e := l.next(t, "nonce", "closed", "waiting")
	opens, err := time.Parse(time.RFC3339Nano, e.text("doors_open_at"))
	if e.name != "waiting" || err != nil || e.text("event") == "" || e.text("server_time") == "" {
		t.Fatalf("%+v %v", e, err)
	}
	if in := opens.Sub(h.db.Now(t)); in < 59*time.Minute || in > time.Hour {
		t.Fatalf("doors open in %v", in)
	}
	h.db.Shift(t, time.Hour+time.Second)
	h.hold(t, r)
	if e := l.next(t, "nonce"); e.text("venue") != h.venue.String() {
		t.Fatalf("%+v", e)
	}
	h.db.Shift(t, 2*time.Hour) // the first is over, the second not yet open
	h.hold(t, r)
	l.next(t, "waiting")
}

func TestTicketNewsReachTheWalletWithinAndAcrossServers(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	a, b := h.replica(t), h.replica(t)
	mine, other := h.ticket(t, -time.Minute), h.ticket(t, -time.Minute)
	here, there := listen(t, a, h.session(t, mine)), listen(t, b, h.session(t, mine, other))
	here.next(t, "closed")
	there.next(t, "closed")
	at := time.Date(2026, 3, 1, 19, 30, 0, 0, time.UTC)
	a.hub.Publish(t.Context(), news.Item{Ticket: other, What: news.Held, At: at},
		news.Item{Ticket: mine, What: news.Admitted, At: at, Gate: "Main"})
	for _, l := range []listening{here, there} {
		e := l.next(t, "ticket")
		if e.text("ticket") == other.String() && e.text("what") == "held" {
			e = l.next(t, "ticket")
		}
		if e.text("ticket") != mine.String() || e.text("what") != "admitted" || e.text("gate") != "Main" || e.text("at") != "2026-03-01T19:30:00Z" {
			t.Fatalf("%+v", e)
		}
	}
	b.hub.Publish(t.Context(), news.Item{Ticket: mine, What: news.WrongGate, At: at, Gates: []string{"Balcony"}})
	if e := here.next(t, "ticket"); e.text("what") != "wrong_gate" || len(e.data["gates"].([]any)) != 1 {
		t.Fatalf("%+v", e)
	}
}

func TestThePhoneThatLostItsTicketIsToldAndItsStreamEnds(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.replica(t)
	mine, kept := h.ticket(t, -time.Minute), h.ticket(t, -time.Minute)
	old := h.session(t, mine)
	alone, both := listen(t, r, old), listen(t, r, h.session(t, mine, kept))
	alone.next(t, "closed")
	both.next(t, "closed")
	h.claim(t, mine)
	fresh := listen(t, r, h.session(t, mine))
	fresh.next(t, "closed")
	r.hub.Publish(t.Context(), news.Item{Ticket: mine, What: news.Moved, At: h.db.Now(t), Generation: 2})
	for _, l := range []listening{alone, both} {
		if e := l.next(t, "ticket"); e.text("what") != "moved" || e.text("ticket") != mine.String() || e.data["generation"] != 2.0 {
			t.Fatalf("%+v", e)
		}
	}
	alone.ends(t)
	if a := call(t, "GET", r.url+"/v1/wallet/stream", "", cookie(old)); a.status != http.StatusNoContent {
		t.Fatalf("connecting again: %d %v", a.status, a.body)
	}
	for name, l := range map[string]listening{"the rest of a wallet": both, "the new phone": fresh} {
		select {
		case e, ok := <-l.events:
			t.Errorf("%s: %+v, open %v", name, e, ok)
		default:
		}
	}
	r.hub.Publish(t.Context(), news.Item{Ticket: mine, What: news.Admitted}, news.Item{Ticket: kept, What: news.Held})
	if e := both.next(t, "ticket"); e.text("ticket") != kept.String() {
		t.Fatalf("news of a ticket that moved away: %+v", e)
	}
	if e := fresh.next(t, "ticket"); e.text("what") != "admitted" {
		t.Fatalf("the new phone heard %+v", e)
	}
}

func TestAfterAGapInTheNewsTheWalletIsToldToLookAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.replica(t).Service
	mine := h.ticket(t, -time.Minute)
	st, err := s.Open(t.Context(), walletOf(mine))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var written bytes.Buffer
	err = st.hear(t.Context(), func(b []byte) error { written.Write(b); return nil }, &news.Item{What: news.Missed})
	if err != nil || written.String() != "event: refresh\ndata: {}\n\n" {
		t.Fatalf("%q %v", written.String(), err)
	}
}

func walletOf(tickets ...ticket.ID) session.Caller {
	by := session.Caller{Kind: session.ByWallet}
	for _, t := range tickets {
		by.Wallet = append(by.Wallet, session.WalletTicket{Ticket: t, Generation: 1})
	}
	return by
}

func TestAReaderWhoTakesNothingIsDroppedAndCostsNobodyElse(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.replica(t)
	mine := h.ticket(t, -time.Minute)
	st, err := r.Open(t.Context(), walletOf(mine))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	stuck, release, result := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		writes := 0
		result <- st.Run(context.Background(), func([]byte) error {
			if writes++; writes == 2 { // the first nonce or closed event
				close(stuck)
				<-release
			}
			return nil
		})
	}()
	<-stuck
	l := listen(t, r, h.session(t, mine))
	l.next(t, "closed")
	for range 100 {
		r.hub.Publish(t.Context(), news.Item{Ticket: mine, What: news.Held})
		if e := l.next(t, "ticket"); e.text("what") != "held" {
			t.Fatalf("%+v", e)
		}
	}
	close(release)
	if err := <-result; err == nil {
		t.Fatal("the reader who lay behind goes on")
	}
}

func TestAWriteThatMissesItsDeadlineEndsTheStream(t *testing.T) {
	t.Parallel()
	// A clock that is behind makes the deadline past: what a stalled phone gets
	// after ten seconds.
	s := &Service{now: func() time.Time { return time.Now().Add(-time.Minute) }}
	result := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		result <- s.writer(w)([]byte(": here\n\n"))
	}))
	defer server.Close()
	if response, err := http.Get(server.URL); err == nil {
		response.Body.Close()
	}
	if err := <-result; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%v", err)
	}
}

func TestShutdownEndsStreamsBeforeTheServerAndTakesNoNewOnes(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.replica(t)
	mine := h.ticket(t, -time.Minute)
	c := h.session(t, mine)
	l := listen(t, r, c)
	l.next(t, "closed")
	eventually(t, "the wallet is present", func() bool { return present(t, h, mine) })
	if r.Streams() != 1 {
		t.Fatalf("%d streams", r.Streams())
	}
	if err := r.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.ends(t)
	if r.Streams() != 0 || present(t, h, mine) {
		t.Fatal("a stream is counted or present after the shutdown")
	}
	if a := call(t, "GET", r.url+"/v1/wallet/stream", "", cookie(c)); a.status != http.StatusServiceUnavailable || a.code() != "server.stopping" {
		t.Fatalf("%d %v", a.status, a.body)
	}
	if err := r.Shutdown(t.Context()); err != nil {
		t.Fatalf("twice: %v", err)
	}
}

func present(t *testing.T, h house, id ticket.ID) bool {
	t.Helper()
	var here bool
	if err := h.db.Pool.QueryRow(t.Context(), `
SELECT EXISTS (SELECT FROM presence WHERE ticket_id = $1 AND seen_at > portillon_now() - interval '30 seconds')`, id).Scan(&here); err != nil {
		t.Fatal(err)
	}
	return here
}

func TestAWalletIsPresentWhileOneOfItsStreamsIsOpen(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.replica(t)
	mine, lost := h.ticket(t, -time.Minute), h.ticket(t, -time.Minute)
	c := h.session(t, mine, lost)
	one, two := listen(t, r, c), listen(t, r, c)
	eventually(t, "present", func() bool { return present(t, h, mine) && present(t, h, lost) })
	one.close()
	eventually(t, "one stream", func() bool { return r.Streams() == 1 })
	h.db.Shift(t, time.Minute)
	if present(t, h, mine) {
		t.Fatal("a sign of life of a minute ago still counts")
	}
	r.presence.markAll()
	touch(r.presence.wake) // what the beat does
	eventually(t, "present again at the next beat", func() bool { return present(t, h, mine) })
	h.claim(t, lost)
	r.hub.Publish(t.Context(), news.Item{Ticket: lost, What: news.Moved})
	eventually(t, "the phone that lost a ticket is no sign of life for it", func() bool { return !present(t, h, lost) })
	if !present(t, h, mine) {
		t.Fatal("the other ticket is gone too")
	}
	two.close()
	eventually(t, "gone", func() bool { return !present(t, h, mine) })
}

func TestOneTicketHasALimitOfStreams(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.replica(t).Service
	by := walletOf(h.ticket(t, -time.Minute))
	for range streamsTicket {
		st, err := s.Open(t.Context(), by)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
	}
	if _, err := s.Open(t.Context(), by); !fault.Is(err, "wallet.too_many_streams") {
		t.Fatalf("%v", err)
	}
	if s.Streams() != streamsTicket {
		t.Fatalf("%d streams", s.Streams())
	}
}
