package challenge

import (
	"bytes"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"portillon/server/pgtest"
	"portillon/server/ticket"
)

// The beat of two servers at the same moment, for the same wallets in opposite
// order: one row a ticket, once or many times, and none after the last stream.
func TestTwoServersThatBeatAtOnceKeepOneRowATicketAndForgetItOnce(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	var said bytes.Buffer // a handler writes one record at a time
	log := slog.New(slog.NewTextHandler(&said, nil))
	tickets := make([]ticket.ID, 300)
	for i := range tickets {
		tickets[i] = ticket.ID(ticket.New[int]())
	}
	servers := []*presence{newPresence(db.Pool, log), newPresence(db.Pool, log)}
	each := func(act func(p *presence)) {
		var all sync.WaitGroup
		for _, p := range append(servers, servers...) { // twice by each
			all.Go(func() { act(p) })
		}
		all.Wait()
	}
	for _, p := range servers {
		p.enter(slices.Clone(tickets))
		slices.Reverse(tickets)
	}
	beat := func(p *presence) {
		p.markAll()
		p.flush()
	}
	rows := func() (n int) {
		if err := db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM presence`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for range 20 {
		each(beat)
	}
	if n := rows(); n != len(tickets) {
		t.Errorf("%d rows of %d tickets", n, len(tickets))
	}
	for _, p := range servers {
		p.leave(tickets)
	}
	each(func(p *presence) { p.flush() })
	each(beat)
	for _, p := range servers {
		p.close()
	}
	if n := rows(); n != 0 {
		t.Errorf("%d rows after the last stream", n)
	}
	if said.Len() > 0 {
		t.Errorf("logged: %s", said.String())
	}
}
