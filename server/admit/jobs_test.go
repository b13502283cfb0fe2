package admit_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"portillon/server/admit"
	"portillon/server/servertest"
)

// What a server does at its start and each hour, done by two servers at once, twice
// by each, and then once more: each day is made once and dropped once, nothing
// changes afterwards, and the only error is that the log was not free just then.
func TestTheHourlyJobsOfTwoServersDoTheirWorkOnceAndThenNothing(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	doors := []*admit.Service{h.Door, servertest.On(t, h.DB).Door}
	const kept = 30
	for range large(20, 3) {
		h.DB.Shift(t, 2*kept*day)                      // the fortnight that is prepared is too old now
		logAttempts(t, h, 1, kept, kept+1, kept+7, 50) // of the last one there is a partition
		var mu sync.Mutex
		var dropped admit.Dropped
		hour := func(i int) (free bool) {
			made := doors[i%2].PrepareDays(context.Background())
			done, err := doors[i%2].DropDays(context.Background(), kept)
			for _, err := range []error{made, err} {
				if err != nil && !notFree(err) {
					t.Error(err)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			dropped.Days, dropped.Rows = dropped.Days+done.Days, dropped.Rows+done.Rows
			return made == nil && err == nil
		}
		together(2*len(doors), func(i int) { hour(i) })
		for i := 0; !hour(i) && i < 100; i++ { // whoever found another at work left it to the next hour
			time.Sleep(10 * time.Millisecond)
		}
		if dropped != (admit.Dropped{Days: 14, Rows: 2}) {
			t.Fatalf("dropped in all: %+v", dropped)
		}
		days := daysOf(t, h)
		if n := len(strings.Fields(days)); n != 14+1 || h.Count(t, "attempts") != 2 { // with the default one
			t.Fatalf("%d attempts are left in %d partitions: %s", h.Count(t, "attempts"), n, days)
		}
		together(2*len(doors), func(i int) { hour(i) })
		hour(0)
		if again := daysOf(t, h); again != days || h.Count(t, "attempts") != 2 || dropped.Days != 14 || dropped.Rows != 2 {
			t.Fatalf("the second time: dropped %+v in all, and the days were\n%s and are\n%s", dropped, days, again)
		}
		if _, err := h.DB.Pool.Exec(context.Background(), `DELETE FROM attempts`); err != nil {
			t.Fatal(err)
		}
	}
}

// Two servers often start together. Whoever is second waits until the first has made
// the days, however long that takes within a scan's own limit, and says nothing.
func TestAServerThatFindsAnotherMakingTheDaysWaitsForIt(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	h.DB.Shift(t, 60*day)
	ctx := context.Background()
	first := servertest.Must(h.DB.Pool.Begin(ctx))(t)
	defer func() { _ = first.Rollback(ctx) }()
	if _, err := first.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' attempts', 0))`); err != nil {
		t.Fatal(err)
	}
	prepared := make(chan error, 1)
	go func() { prepared <- h.Door.PrepareDays(ctx) }()
	time.Sleep(200 * time.Millisecond) // longer than it would wait for the log
	select {
	case err := <-prepared:
		t.Errorf("the second did not wait: %v", err)
	default:
		if err := first.Rollback(ctx); err != nil {
			t.Fatal(err)
		}
		if err := <-prepared; err != nil {
			t.Errorf("the second: %v", err)
		}
	}
	if n := len(strings.Fields(daysOf(t, h))); n != 14+14+1 {
		t.Errorf("%d partitions", n)
	}
}

// notFree: the job found the log in use and left it, as it has to.
func notFree(err error) bool {
	var said *pgconn.PgError
	return errors.As(err, &said) && (said.Code == "55P03" || said.Code == "57014")
}

// daysOf are the partitions of the log.
func daysOf(t *testing.T, h *servertest.House) string {
	t.Helper()
	var days string
	err := h.DB.Pool.QueryRow(context.Background(), `
SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = 'attempts'::regclass`).Scan(&days)
	if err != nil {
		t.Fatal(err)
	}
	return days
}
