package news_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"portillon/server/news"
	"portillon/server/pg"
	"portillon/server/pgtest"
	"portillon/server/ticket"
)

// patience is how long a test waits before it says that something never came.
const patience = 20 * time.Second

var quiet = slog.New(slog.DiscardHandler)

// running is a hub as in one process: its own pool, listening.
func running(t *testing.T, db *pgtest.DB, pool *pgxpool.Pool) *news.Hub {
	t.Helper()
	hub := news.New(pool, db.URL+"&application_name="+named(pool), quiet)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { hub.Run(ctx); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	await(t, hub.Listening(), "listening")
	return hub
}

// named makes the connections of a pool's hub known in pg_stat_activity.
func named(pool *pgxpool.Pool) string { return fmt.Sprintf("hub_%p", pool) }

func secondPool(t *testing.T, db *pgtest.DB) *pgxpool.Pool {
	t.Helper()
	pool, err := pg.Open(t.Context(), db.URL, pg.PoolOptions{MaxConns: 4, Schema: db.Schema})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// await takes one value; ok is false when the channel was closed.
func await[T any](t *testing.T, c <-chan T, what string) (v T, ok bool) {
	t.Helper()
	select {
	case v, ok = <-c:
		return v, ok
	case <-time.After(patience):
		t.Fatalf("waited in vain: %s", what)
	}
	return v, false
}

func newTicket() ticket.ID { return ticket.ID(ticket.New[int]()) }

func TestNewsComesAtOnceInTheProcessAndSoonInTheOthers(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	a, b := running(t, db, db.Pool), running(t, db, secondPool(t, db))
	mine, other := newTicket(), newTicket()
	here, cancelHere := a.SubscribeTickets(mine)
	defer cancelHere()
	there, cancelThere := b.SubscribeTickets(mine, newTicket())
	defer cancelThere()

	at := time.Date(2026, 3, 1, 19, 30, 0, 123000000, time.UTC)
	sent := news.Item{Ticket: mine, What: news.Moved, At: at, Gate: "Balcony", Gates: []string{"Main", "Side"}, Generation: 3}
	a.Publish(t.Context(), news.Item{Ticket: other, What: news.Admitted}, sent)
	select {
	case got := <-here:
		if fmt.Sprint(*got) != fmt.Sprint(sent) {
			t.Fatalf("here: %+v", got)
		}
	default:
		t.Fatal("the publisher's own process waits for the database")
	}
	if got, _ := await(t, there, "news in the other process"); fmt.Sprint(*got) != fmt.Sprint(sent) {
		t.Fatalf("there: %+v", got)
	}
	b.Publish(t.Context(), news.Item{Ticket: mine, What: news.Held})
	if got, _ := await(t, here, "news from the other process"); got.What != news.Held {
		t.Fatalf("the process heard its own notification, or another's: %+v", got)
	}
}

func TestNewsOfAVenueComesToItsSubscribersOnly(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	hub := running(t, db, db.Pool)
	venue := ticket.VenueID(ticket.New[int]())
	items, cancel := hub.SubscribeVenue(venue)
	defer cancel()
	hub.Publish(t.Context(), news.Item{Venue: ticket.VenueID(ticket.New[int]()), What: news.Gates},
		news.Item{Ticket: newTicket(), Venue: venue, What: news.Admitted}, news.Item{Venue: venue, What: news.Gates})
	if got := <-items; got.Venue != venue || got.What != news.Gates || len(items) != 0 {
		t.Fatalf("got %+v and %d more", got, len(items))
	}
}

func TestAReaderWhoLiesBehindIsDroppedAndNobodyElse(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	hub := news.New(db.Pool, db.URL, quiet) // not running: publishing must not need it
	mine := newTicket()
	slow, cancelSlow := hub.SubscribeTickets(mine)
	defer cancelSlow()
	quick, cancelQuick := hub.SubscribeTickets(mine)
	heard := 0
	for range 100 {
		hub.Publish(t.Context(), news.Item{Ticket: mine, What: news.Admitted})
		if _, ok := <-quick; ok {
			heard++
		}
	}
	if heard != 100 {
		t.Fatalf("the quick reader heard %d of 100", heard)
	}
	kept := 0
	for range slow { // ends, because the channel is closed
		kept++
	}
	if kept == 0 || kept >= 100 {
		t.Fatalf("%d items were kept for the slow reader", kept)
	}
	cancelSlow() // twice does no harm
	cancelQuick()
	if _, ok := <-quick; ok {
		t.Fatal("cancel did not close the channel")
	}
}

func TestAProcessThatHeardNothingForAWhileSaysSo(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	second := secondPool(t, db)
	a, b := running(t, db, db.Pool), running(t, db, second)
	mine := newTicket()
	items, cancel := b.SubscribeTickets(mine, newTicket())
	defer cancel()
	cut, err := db.Pool.Exec(t.Context(), `
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND query LIKE 'LISTEN%'`, named(second))
	if err != nil || cut.RowsAffected() != 1 {
		t.Fatal(cut, err)
	}
	if got, _ := await(t, items, "the gap is told"); got.What != news.Missed {
		t.Fatalf("%+v", got)
	}
	a.Publish(t.Context(), news.Item{Ticket: mine, What: news.Admitted})
	if got, _ := await(t, items, "news after the gap"); got.What != news.Admitted || got.Ticket != mine {
		t.Fatalf("%+v", got)
	}
}

func TestManyItemsTravelInFewNotificationsAndNoneIsLost(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	a, b := running(t, db, db.Pool), running(t, db, secondPool(t, db))
	mine := newTicket()
	items, cancel := b.SubscribeTickets(mine)
	defer cancel()
	const count = 1000
	long := strings.Repeat("ž", 1000)
	go func() {
		for i := range count {
			a.Publish(context.Background(), news.Item{Ticket: newTicket(), What: news.Admitted, Gate: long})
			if i%100 == 99 {
				a.Publish(context.Background(), news.Item{Ticket: mine, What: news.Admitted, Generation: uint8(i / 100)})
			}
		}
	}()
	for i := range count / 100 {
		if got, ok := await(t, items, "an item of many"); !ok || int(got.Generation) != i {
			t.Fatalf("item %d: %+v, %v", i, got, ok)
		}
	}
}

func TestWhatWasPublishedBeforeTheEndIsStillSent(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	b := running(t, db, secondPool(t, db))
	mine := newTicket()
	items, cancel := b.SubscribeTickets(mine)
	defer cancel()
	a := news.New(db.Pool, "", quiet)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { a.Run(ctx); close(ended) }()
	await(t, a.Listening(), "listening")
	a.Publish(ctx, news.Item{Ticket: mine, What: news.Revoked})
	stop()
	await(t, ended, "the end")
	if got, _ := await(t, items, "the last words"); got.What != news.Revoked {
		t.Fatalf("%+v", got)
	}
}

func TestSchemasOnOneDatabaseDoNotHearEachOther(t *testing.T) {
	t.Parallel()
	one, two := pgtest.New(t), pgtest.New(t)
	a, b, c := running(t, one, one.Pool), running(t, two, two.Pool), running(t, two, secondPool(t, two))
	mine := newTicket()
	items, cancel := b.SubscribeTickets(mine)
	defer cancel()
	a.Publish(t.Context(), news.Item{Ticket: mine, What: news.Revoked})
	c.Publish(t.Context(), news.Item{Ticket: mine, What: news.Admitted})
	if got, _ := await(t, items, "news of the own schema"); got.What != news.Admitted {
		t.Fatalf("heard another schema: %+v", got)
	}
}
