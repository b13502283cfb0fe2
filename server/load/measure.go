package load

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"time"

	_ "embed"

	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Plan is how large the measurement is.
type Plan struct {
	Small, Tickets, Grown int           // tickets at first, for the rounds, and at the end
	Rounds                int           // of each kind, alternating
	Round                 time.Duration // each
	Devices               int           // that scan; the limiter lets each send 20 scans a second
}

// Figures are the medians of all rounds, and the ratios that count: they were
// measured in one run, on one machine.
type Figures struct {
	PgbenchTPS     float64 `json:"pgbench_tps"`
	Admissions     float64 `json:"admissions_per_s"`
	VerifyOnly     float64 `json:"verify_only_per_s"`
	OneByOne       float64 `json:"one_by_one_per_s"`
	Replays        float64 `json:"replays_per_s"`
	RatioPgbench   float64 `json:"ratio_pgbench"`    // admissions ÷ pgbench
	RatioVerify    float64 `json:"ratio_verify"`     // admissions ÷ verify only
	RatioOneByOne  float64 `json:"ratio_one_by_one"` // admissions ÷ one by one
	RatioReplays   float64 `json:"ratio_replays"`    // replays ÷ admissions
	RatioGrowth    float64 `json:"ratio_growth"`     // admissions with many tickets ÷ with few
	RatioLone      float64 `json:"ratio_lone"`       // a lone scan's median ÷ one by one
	P99OverP50     float64 `json:"p99_over_p50"`     // at half of the highest rate
	RSS            float64 `json:"rss_mb"`           // most memory that the server had
	SmallPerSecond float64 `json:"small_per_s"`      // admissions with few tickets
	GrownPerSecond float64 `json:"grown_per_s"`      // and with many
	LoneMS         float64 `json:"lone_ms"`
	LoneOneByOneMS float64 `json:"lone_one_by_one_ms"`
	HalfP50MS      float64 `json:"half_rate_p50_ms"`
	HalfP99MS      float64 `json:"half_rate_p99_ms"`
	CrowdP50MS     float64 `json:"crowd_p50_ms"`
	CrowdP99MS     float64 `json:"crowd_p99_ms"`
}

// Bench is a measurement under way.
type Bench struct {
	Plan
	Pool        *pgxpool.Pool
	DatabaseURL string
	Pgbench     string // the program
	// Serve starts the server in a form as a process of its own and gives its
	// address, and a function that ends it and tells the most memory it had, in MB.
	Serve func(ctx context.Context, form Form) (address string, stop func() (float64, error), err error)
	Note  func(format string, args ...any) // says what is being done

	world *World
	most  float64 // MB
}

// Run measures everything.
func (b *Bench) Run(ctx context.Context) (f Figures, err error) {
	b.Note("filling the database with %d tickets", b.Small)
	if b.world, err = Furnish(ctx, b.Pool, b.Devices); err != nil {
		return f, err
	}
	if err := b.world.Grow(ctx, b.Small, false); err != nil {
		return f, err
	}
	if f.SmallPerSecond, err = b.growthRounds(ctx); err != nil {
		return f, err
	}
	b.Note("filling it with %d tickets", b.Tickets)
	if err := b.world.Grow(ctx, b.Tickets, true); err != nil {
		return f, err
	}
	if err := b.rounds(ctx, &f); err != nil {
		return f, err
	}
	b.Note("filling it with %d tickets and attempts", b.Grown)
	if err := b.world.Grow(ctx, b.Grown, true); err != nil {
		return f, err
	}
	if f.GrownPerSecond, err = b.growthRounds(ctx); err != nil {
		return f, err
	}
	f.RSS = b.most
	f.RatioPgbench, f.RatioVerify = f.Admissions/f.PgbenchTPS, f.Admissions/f.VerifyOnly
	f.RatioOneByOne, f.RatioReplays = f.Admissions/f.OneByOne, f.Replays/f.Admissions
	f.RatioGrowth, f.RatioLone, f.P99OverP50 = f.GrownPerSecond/f.SmallPerSecond, f.LoneMS/f.LoneOneByOneMS, f.HalfP99MS/f.HalfP50MS
	return f, nil
}

// growthRounds measures only how many are admitted, in shorter rounds.
func (b *Bench) growthRounds(ctx context.Context) (float64, error) {
	var rates []float64
	for range b.Rounds {
		err := b.with(ctx, Crowd, func(address string) error {
			if err := b.warmUp(ctx, address, Crowd); err != nil {
				return err
			}
			took, _, err := b.crowd(ctx, address, b.Round/2, 0)
			rates = append(rates, took.PerSecond())
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return median(rates), nil
}

// warmUp is a round that does not count. A door is open for an hour; the database's
// processes of a server that was started a moment ago still have to plan each
// statement and to find each page for the first time.
func (b *Bench) warmUp(ctx context.Context, address string, form Form) error {
	took, _, err := b.crowd(ctx, address, b.Round/2, 0)
	if form == Verify {
		b.world.giveBack(took.Count()) // nobody was let in
	}
	return err
}

// rounds alternate all that is compared.
func (b *Bench) rounds(ctx context.Context, f *Figures) error {
	seen := map[string][]float64{}
	for round := range b.Rounds {
		b.Note("round %d of %d", round+1, b.Rounds)
		before, err := b.pgbench(ctx)
		if err != nil {
			return err
		}
		for _, form := range []Form{Verify, Plain, Crowd} {
			if err := b.with(ctx, form, func(address string) error { return b.measure(ctx, address, form, seen) }); err != nil {
				return fmt.Errorf("%s: %w", form, err)
			}
		}
		after, err := b.pgbench(ctx)
		if err != nil {
			return err
		}
		seen["pgbench"] = append(seen["pgbench"], before, after)
		b.Note("  pgbench %.0f %.0f, verify %.0f, one by one %.0f, crowd %.0f, replays %.0f", before, after,
			last(seen[string(Verify)]), last(seen[string(Plain)]), last(seen[string(Crowd)]), last(seen["replays"]))
	}
	f.PgbenchTPS, f.VerifyOnly, f.OneByOne = median(seen["pgbench"]), median(seen[string(Verify)]), median(seen[string(Plain)])
	f.Admissions, f.Replays = median(seen[string(Crowd)]), median(seen["replays"])
	f.LoneMS, f.LoneOneByOneMS = median(seen["lone crowd"]), median(seen["lone plain"])
	f.HalfP50MS, f.HalfP99MS = median(seen["half p50"]), median(seen["half p99"])
	f.CrowdP50MS, f.CrowdP99MS = median(seen["crowd p50"]), median(seen["crowd p99"])
	return nil
}

// measure is what one round asks of one form.
func (b *Bench) measure(ctx context.Context, address string, form Form, seen map[string][]float64) error {
	add := func(what string, value float64) { seen[what] = append(seen[what], value) }
	if err := b.warmUp(ctx, address, form); err != nil {
		return err
	}
	took, scans, err := b.crowd(ctx, address, b.Round, 0)
	if err != nil {
		return err
	}
	add(string(form), took.PerSecond())
	if form == Verify {
		b.world.giveBack(took.Count()) // nobody was let in
		return nil
	}
	lone, err := b.lone(ctx, address)
	if err != nil {
		return err
	}
	add("lone "+string(form), milliseconds(lone.Quantile(.5)))
	if form == Plain {
		return nil
	}
	add("crowd p50", milliseconds(took.Quantile(.5)))
	add("crowd p99", milliseconds(took.Quantile(.99)))
	replays, err := Run(ctx, address, scans[:took.Count()], gates, b.Round, 0, true)
	if err != nil {
		return fmt.Errorf("replays: %w", err)
	}
	add("replays", replays.PerSecond())
	half, _, err := b.crowd(ctx, address, b.Round, took.PerSecond()/2)
	if err != nil {
		return fmt.Errorf("half of the rate: %w", err)
	}
	add("half p50", milliseconds(half.Quantile(.5)))
	add("half p99", milliseconds(half.Quantile(.99)))
	return nil
}

// mostPerSecond is more than any round will need: what it does not use is signed in
// vain, which takes a second or two.
const mostPerSecond = 16_000

// crowd lets all gates scan; its scans come back for replays.
func (b *Bench) crowd(ctx context.Context, address string, round time.Duration, rate float64) (Took, Scans, error) {
	most := float64(mostPerSecond)
	if rate > 0 {
		most = rate
	}
	n := int(most * round.Seconds())
	if left := b.world.left(); n > left {
		n = left
	}
	scans, err := b.world.Prepare(ctx, address, n)
	if err != nil {
		return Took{}, nil, err
	}
	took, err := Run(ctx, address, scans, gates, round, rate, false)
	b.world.giveBack(n - took.Count())
	return took, scans, err
}

func (b *Bench) lone(ctx context.Context, address string) (Took, error) {
	n := int(2000 * b.Round.Seconds() / 4)
	scans, err := b.world.Prepare(ctx, address, n)
	if err != nil {
		return Took{}, err
	}
	took, err := Run(ctx, address, scans, 1, b.Round/4, 0, false)
	b.world.giveBack(n - took.Count())
	return took, err
}

// with runs f while the server runs in that form.
func (b *Bench) with(ctx context.Context, form Form, f func(address string) error) error {
	address, stop, err := b.Serve(ctx, form)
	if err != nil {
		return err
	}
	err = f(address)
	memory, stopped := stop()
	b.most = max(b.most, memory)
	return errors.Join(err, stopped)
}

//go:embed reference.pgbench
var referenceScript []byte

var tps = regexp.MustCompile(`(?m)^progress: .* s, ([0-9.]+) tps`)

// longestTurn is how long pgbench may run, in seconds, until it has done anything.
const longestTurn = 32

// pgbench runs the reference with as many clients as there are gates, for a turn to
// warm up, as the door does, and one that counts. When a slow machine does nothing in
// a short turn, it gets one twice as long.
func (b *Bench) pgbench(ctx context.Context) (float64, error) {
	dir, err := os.MkdirTemp("", "portillon-pgbench")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	script := filepath.Join(dir, "reference.pgbench")
	if err := os.WriteFile(script, referenceScript, 0o600); err != nil {
		return 0, err
	}
	for turn := max(1, int(b.Round.Seconds())); ; turn *= 2 {
		//nolint:gosec // our own program and script
		out, err := exec.CommandContext(ctx, b.Pgbench, "-M", "prepared", "-n", "-j", "2", "-c", strconv.Itoa(gates),
			"-T", strconv.Itoa(2*turn), "-P", strconv.Itoa(turn), "-D", "tickets="+strconv.Itoa(b.world.Tickets), "-f", script, b.DatabaseURL).CombinedOutput()
		found := tps.FindAllSubmatch(out, -1)
		if err != nil || len(found) == 0 {
			return 0, fmt.Errorf("pgbench did not measure: %w", errors.Join(err, errors.New(string(out))))
		}
		if rate, err := strconv.ParseFloat(string(found[len(found)-1][1]), 64); err != nil || rate > 0 {
			return rate, err
		}
		if turn > longestTurn/2 {
			return 0, fmt.Errorf("pgbench has done no transaction in %d s", turn)
		}
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	return (sorted[len(sorted)/2] + sorted[(len(sorted)-1)/2]) / 2
}

func last(values []float64) float64 { return values[len(values)-1] }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
