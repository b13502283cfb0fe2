package report_test

import (
	"context"
	"testing"

	"portillon/server/servertest"
)

// BenchmarkReport is a report over HTTP of a full house: 20,000 tickets, as many
// admissions, and 50,000 attempts of one evening at eight gates, beside as many of
// another event and four hundred prepared days.
func BenchmarkReport(b *testing.B) {
	h := servertest.NewHouse(b)
	ctx := context.Background()
	_, err := h.DB.Pool.Exec(ctx, `
DO $$ BEGIN FOR i IN 20..400 LOOP
  EXECUTE format('CREATE TABLE attempts_%s PARTITION OF attempts FOR VALUES FROM (%L) TO (%L)', to_char(date_trunc('day', now()) - make_interval(days => i), 'YYYYMMDD'),
    date_trunc('day', now()) - make_interval(days => i), date_trunc('day', now()) - make_interval(days => i - 1));
END LOOP; END $$`)
	if err != nil {
		b.Fatal(err)
	}
	for _, event := range []any{h.Event.Event, h.NewEvent("Another", "Screen 2", 0, nil).Event} {
		if _, err := h.DB.Pool.Exec(ctx, fullHouse, event, h.Gate.Gate, h.Side.Gate); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := h.DB.Pool.Exec(ctx, `ANALYZE tickets, claims, admissions, attempts`); err != nil {
		b.Fatal(err)
	}
	r := reportOf(b, h, "")
	if r.Attempts.Answered != 50_000 || r.Entries != 20_000 || r.Gates[0].PeopleIn == 0 {
		b.Fatalf("%+v, %d entries", r.Attempts, r.Entries)
	}
	for b.Loop() {
		reportOf(b, h, "")
	}
}

const fullHouse = `
WITH o AS (INSERT INTO orders (id, event_id) VALUES (gen_random_uuid(), $1) RETURNING id),
c AS (INSERT INTO categories (id, event_id, name) VALUES (gen_random_uuid(), $1, 'Bench') RETURNING id),
people AS (SELECT array_agg(id) AS ids FROM people),
t AS (
  INSERT INTO tickets (id, event_id, category_id, order_id, number, admits, entries, inside, status, generation)
  SELECT gen_random_uuid(), $1, c.id, o.id, n, 1, 1, 1, 'used', 1 FROM o, c, generate_series(1, 20000) n RETURNING id, number),
k AS (INSERT INTO claims (ticket_id, generation, kind, public_key) SELECT id, 1, 'phone', decode(repeat('00', 64), 'hex') FROM t),
a AS (
  INSERT INTO admissions (ticket_id, key, at, event_id, gate_id, person_id, direction, people, entries_after, inside_after, kind, generation)
  SELECT t.id, gen_random_uuid(), e.doors_open_at + make_interval(secs => t.number * 0.2), $1, CASE t.number % 2 WHEN 0 THEN $2::uuid ELSE $3::uuid END,
    ids[1 + t.number % cardinality(ids)], 'in', 1, 1, 1, 'pushed', 1 FROM t, people, events e WHERE e.id = $1)
INSERT INTO attempts (received_at, ticket_id, event_id, gate_id, person_id, kind, reason, class, duration_us)
SELECT e.doors_open_at + make_interval(secs => n * 0.1), gen_random_uuid(), $1, CASE n % 2 WHEN 0 THEN $2::uuid ELSE $3::uuid END, ids[1 + n % cardinality(ids)], 'pushed',
  (ARRAY['admitted', 'stale_nonce', 'already_used', 'wrong_event', 'moved'])[1 + n % 5],
  (ARRAY['admit', 'again', 'ask', 'ask', 'refuse'])[1 + n % 5], 900
FROM events e, people, generate_series(1, 50000) n WHERE e.id = $1`
