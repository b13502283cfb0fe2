package issue

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
)

var wholeNumbers = regexp.MustCompile(`Seq Scan on numbers`)

// used marks numbers as used, by a ticket that stands for all of them. What is
// said of their neighbours is sometimes missing, as after an import by hand.
func (p *place) used(numbers []int, forgetful bool) {
	p.Helper()
	id := p.one(p.plain)
	p.exec(`DELETE FROM numbers`)
	p.exec(`INSERT INTO numbers (event_id, number, ticket_id) SELECT $1, n, $2 FROM unnest($3::integer[]) AS n`, p.event.Event, id, numbers)
	p.exec(`
UPDATE numbers n SET followed = EXISTS (SELECT FROM numbers x WHERE x.event_id = n.event_id AND x.number = n.number + 1)
WHERE NOT $1 OR number % 3 > 0`, forgetful)
}

// lowestOf is the rule once more, without a database.
func lowestOf(taken map[int]bool, from, n int) (free []int) {
	for number := from; len(free) < n; number++ {
		if !taken[number] {
			free = append(free, number)
		}
	}
	return free
}

func TestTheSearchFindsWhatCountingWouldFind(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	rounds := 40
	if os.Getenv("PORTILLON_SOAK") != "" {
		rounds = 1000
	}
	for round := range rounds {
		seed := rand.Uint64()
		chance := rand.New(rand.NewPCG(seed, 0))
		dense := 1 + chance.IntN(9)
		taken := map[int]bool{}
		var used, leased []int
		for number := range 40 {
			switch dice := chance.IntN(10); {
			case number == 0:
			case dice < dense:
				used, taken[number] = append(used, number), true
			case dice == 9:
				leased, taken[number] = append(leased, number), true
			}
		}
		p.used(used, round%2 == 0)
		p.exec(`DELETE FROM number_leases`)
		p.exec(`
INSERT INTO number_leases (event_id, number, hash, expires_at)
SELECT $1, n, sha256(n::text::bytea), portillon_now() + interval '1 hour' FROM unnest($2::integer[]) AS n`, p.event.Event, leased)
		lease := p.reserve()
		if want := lowestOf(taken, 1, 1)[0]; lease.Number != want {
			t.Fatalf("seed %d: %d is reserved, want %d; used %v, leased %v", seed, lease.Number, want, used, leased)
		}
		count := 1 + chance.IntN(5)
		// Nothing is written: the next round begins anew.
		got := p.spent(leaseChange{act: spendLease, lease: lease.Lease, by: p.admin, count: count})
		if want := lowestOf(taken, lease.Number, count); !slices.Equal(got, want) {
			t.Fatalf("seed %d: under the lease of %d one gets %v, want %v; used %v, leased %v", seed, lease.Number, got, want, used, leased)
		}
		taken[lease.Number] = true
		got = p.spent(leaseChange{act: spendLease, by: p.admin, count: count})
		if want := lowestOf(taken, 1, count); !slices.Equal(got, want) {
			t.Fatalf("seed %d: without a lease one gets %v, want %v; used %v, leased %v", seed, got, want, used, leased)
		}
	}
}

// spent is what a change would give, undone at once.
func (p *place) spent(change leaseChange) (numbers []int) {
	p.Helper()
	tx, err := p.db.Pool.Begin(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	done, err := changeLeases(p.Context(), tx, p.event.Event, change)
	if err != nil {
		p.Fatal(err)
	}
	for _, number := range done.numbers {
		numbers = append(numbers, int(number))
	}
	return numbers
}

// pages is how many pages of the database a statement looks at.
func (p *place) pages(sql string, args pgx.NamedArgs) int {
	p.Helper()
	var text []byte
	if err := p.db.Pool.QueryRow(p.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+sql, args).Scan(&text); err != nil {
		p.Fatal(err)
	}
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	if err := json.Unmarshal(text, &plans); err != nil || len(plans) != 1 {
		p.Fatalf("%s: %v", text, err)
	}
	return plans[0].Plan.Hit + plans[0].Plan.Read
}

// Pages and not seconds are compared: they are the same on every machine. Leases
// keep the holes at the beginning, as open forms do, so that the search has to pass
// runs of used numbers. The search of before, which counts, shows that the pages
// would tell.
func TestTheSearchLooksAtAsManyPagesForManyNumbersAsForFew(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	many := 20_000
	if os.Getenv("PORTILLON_SOAK") != "" {
		many = 100_000
	}
	const open = 5
	const counting = `
SELECT s.number FROM generate_series(1, (SELECT count(*)::integer + 20 FROM numbers WHERE event_id = @event)) AS s (number)
WHERE NOT EXISTS (SELECT FROM numbers x WHERE x.event_id = @event AND x.number = s.number)
  AND NOT EXISTS (SELECT FROM number_leases l WHERE l.event_id = @event AND l.number = s.number)
ORDER BY s.number LIMIT 1`
	look := func(top int) (walked, counted int) {
		var used []int
		for number := 1; number <= top; number++ {
			if number%(top/10) != 7 {
				used = append(used, number)
			}
		}
		p.used(used, false)
		p.exec(`DELETE FROM number_leases`)
		for range open {
			p.reserve()
		}
		p.exec(`VACUUM ANALYZE numbers, number_leases`)
		args := pgx.NamedArgs{
			"event": p.event.Event, "hash": []byte{}, "person": nil, "token": nil, "n": 1, "lowest": true,
		}
		free := p.spent(leaseChange{act: spendLease, by: p.admin, count: 1})
		if want := 7 + open*(top/10); !slices.Equal(free, []int{want}) {
			t.Fatalf("of %d numbers %v is free, want %d", top, free, want)
		}
		for range 7 { // as a prepared statement, whose plan is made for any event by now
			walked = p.pages(lowestFree+`SELECT number FROM walk WHERE free`, args)
		}
		return walked, p.pages(counting, args)
	}
	few, fewCounted := look(200)
	lots, lotsCounted := look(many)
	t.Logf("pages: %d of 200 numbers, %d of %d; counting: %d and %d", few, lots, many, fewCounted, lotsCounted)
	// Up to twice as many by the depth of the indexes, and more while a test beside
	// this one keeps VACUUM from taking away what was updated.
	if lots > 8*few {
		t.Errorf("the search looks at %d pages among %d numbers, and at %d among 200", lots, many, few)
	}
	if lotsCounted < 10*lots {
		t.Errorf("counting looks at %d pages: the comparison would see nothing", lotsCounted)
	}
}

// On a schema that is empty and analysed, where reading a table whole is cheapest,
// no statement of the leases reads the numbers whole. Leases are few: their table
// may be read whole.
func TestNoStatementOfTheLeasesReadsTheNumbersWhole(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.exec(`ANALYZE`)
	args := pgx.NamedArgs{
		"event": p.event.Event, "hash": []byte{1}, "person": p.admin.Person, "token": nil, "n": 3, "lowest": false,
		"lease_for": leaseFor, "forget_after": forgetAfter,
	}
	for name, sql := range map[string]string{"reserve": insertLease, "spend": lowestFree + `SELECT number FROM walk WHERE free`} {
		rows, err := p.db.Pool.Query(t.Context(), "EXPLAIN "+sql, args)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, line := range lines {
			if wholeNumbers.MatchString(line) {
				t.Errorf("%s reads all numbers: %s", name, line)
			}
		}
	}
}

func BenchmarkReserveBehindManyNumbersWithHoles(b *testing.B) {
	for _, top := range []int{1000, 100_000} {
		b.Run(strconv.Itoa(top), func(b *testing.B) {
			p := newPlace(b)
			var used []int
			for number := 1; number <= top; number++ {
				if number%100 != 7 {
					used = append(used, number)
				}
			}
			p.used(used, false)
			p.exec(`VACUUM ANALYZE numbers`)
			for b.Loop() {
				if err := p.s.ReleaseNumber(b.Context(), p.reserve().Lease); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
