package admit_test

import (
	"context"
	"testing"
	"time"

	"portillon/server/admit"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
)

const day = 24 * time.Hour

// logAttempts logs one attempt for each of the days that lie so far back.
func logAttempts(t *testing.T, h *servertest.House, daysAgo ...int) {
	t.Helper()
	_, err := h.DB.Pool.Exec(context.Background(), `
INSERT INTO attempts (received_at, gate_id, person_id, kind, reason, class, duration_us)
SELECT portillon_now() - make_interval(days => ago), gen_random_uuid(), gen_random_uuid(), 'none', 'malformed', 'again', 1
FROM unnest($1::integer[]) ago`, daysAgo)
	if err != nil {
		t.Fatal(err)
	}
}

// prepareDaysAgo makes the partitions of the fortnight that began so many days ago.
func prepareDaysAgo(t *testing.T, h *servertest.House, days int) {
	t.Helper()
	h.DB.SetShift(t, -time.Duration(days)*day)
	if err := h.Door.PrepareDays(context.Background()); err != nil {
		t.Fatal(err)
	}
	h.DB.SetShift(t, 0)
}

func partitions(t *testing.T, h *servertest.House) int {
	t.Helper()
	return h.Count(t, "pg_inherits WHERE inhparent = 'attempts'::regclass")
}

func TestOldDaysOfAttemptsGoWholeAndDoingItTwiceOrAtOnceIsHarmless(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	ctx := context.Background()
	before := partitions(t, h)
	prepareDaysAgo(t, h, 35)                        // 35 to 22 days ago
	logAttempts(t, h, 0, 1, 29, 30, 31, 32, 35, 90) // of yesterday and of 90 days ago there is no partition
	if rows := h.Count(t, "attempts_default"); rows != 2 {
		t.Fatalf("%d attempts lie in the default partition: this test tests less than it says", rows)
	}
	if done, err := h.Door.DropDays(ctx, 0); err != nil || done != (admit.Dropped{}) {
		t.Errorf("for ever: %+v, %v", done, err)
	}

	all := make([]admit.Dropped, 4)
	together(len(all), func(i int) {
		var err error
		if all[i], err = h.Door.DropDays(ctx, 30); err != nil {
			t.Error(err)
		}
	})
	// Whoever found another at work may have left a day: the next run has it.
	last, err := h.Door.DropDays(ctx, 30)
	if err != nil {
		t.Fatal(err)
	}
	sum := last
	for _, one := range all {
		sum.Days, sum.Rows = sum.Days+one.Days, sum.Rows+one.Rows
	}
	if sum != (admit.Dropped{Days: 5, Rows: 1}) {
		t.Errorf("dropped in all: %+v, by each of those at once %+v, then %+v", sum, all, last)
	}
	if rest, err := h.Door.DropDays(ctx, 30); err != nil || rest != (admit.Dropped{}) {
		t.Errorf("once more: %+v, %v", rest, err)
	}
	if n := h.Count(t, "attempts"); n != 4 { // of today, yesterday, 29 and 30 days ago
		t.Errorf("%d attempts are left", n)
	}
	if n := partitions(t, h); n != before+14-5 {
		t.Errorf("%d partitions are left, of %d before the old ones", n, before)
	}
	if err := h.Door.PrepareDays(ctx); err != nil {
		t.Errorf("prepare days afterwards: %v", err)
	}
}

func TestDroppingDaysNeverMakesTheDoorWait(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	ctx := context.Background()
	prepareDaysAgo(t, h, 60)
	reader, err := h.DB.Pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Rollback(ctx) }()
	if _, err := reader.Exec(ctx, `LOCK TABLE attempts IN ACCESS SHARE MODE`); err != nil { // as pg_dump does
		t.Fatal(err)
	}
	if done, err := h.Door.DropDays(ctx, 30); err == nil || done.Days != 0 {
		t.Errorf("days were dropped under a reader's lock: %+v", done)
	}
	if a := karel.Ask(t, "no code"); a.Reason != ticket.Malformed && a.Reason != ticket.NotATicket {
		t.Errorf("a scan meanwhile: %s", a.Reason)
	}
	if err := reader.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	if done, err := h.Door.DropDays(ctx, 30); err != nil || done.Days != 14 {
		t.Errorf("once the reader is gone: %+v, %v", done, err)
	}
	if n := h.Count(t, "attempts"); n != 1 {
		t.Errorf("%d attempts are left", n)
	}
}

func TestAttemptsWithoutADayOfTheirOwnGoInSteps(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	ctx := context.Background()
	const old = 4500 // more than two steps
	_, err := h.DB.Pool.Exec(ctx, `
INSERT INTO attempts (received_at, gate_id, person_id, kind, reason, class, duration_us)
SELECT portillon_now() - interval '50 days', gen_random_uuid(), gen_random_uuid(), 'none', 'malformed', 'again', 1
FROM generate_series(1, $1)`, old)
	if err != nil {
		t.Fatal(err)
	}
	logAttempts(t, h, 5)
	if done, err := h.Door.DropDays(ctx, 30); err != nil || done.Rows != old {
		t.Errorf("dropped %+v, %v", done, err)
	}
	if n := h.Count(t, "attempts"); n != 1 {
		t.Errorf("%d attempts are left", n)
	}
}
