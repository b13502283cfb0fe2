package report_test

import (
	"context"
	"encoding/csv"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
)

func TestTheAttemptsAreExportedInTheirOrderWithNamesOfThisHouseOnly(t *testing.T) {
	t.Parallel()
	e := anEvening(t)
	body, header := fetch(t, e.House, "/attempts.csv")
	if !strings.HasPrefix(header.Get("Content-Type"), "text/csv") || !strings.Contains(header.Get("Content-Disposition"), "attempts.csv") {
		t.Errorf("%v", header)
	}
	rows := servertest.Must(csv.NewReader(strings.NewReader(body)).ReadAll())(t)
	r := reportOf(t, e.House, "")
	if want := r.Attempts.Answered + r.Attempts.Replayed + r.Attempts.DryRuns; len(rows)-1 != want || want == 0 {
		t.Errorf("%d rows, the report counts %d", len(rows)-1, want)
	}
	for i, row := range rows[1:] {
		if i > 0 && row[0] < rows[i][0] && len(row[0]) == len(rows[i][0]) {
			t.Errorf("%s after %s", row[0], rows[i][0])
		}
	}
	sheet, _ := fetch(t, e.House, "/attempts.csv?flavour=spreadsheet&lang=cs")
	if !strings.HasPrefix(sheet, "\xef\xbb\xbfreceived_at;number;") {
		t.Errorf("the spreadsheet begins with %.40q", sheet)
	}
	for _, wrong := range []string{"/attempts.csv?flavour=pdf", "/tickets.csv?flavour=pdf"} {
		if problem, header := fetch(t, e.House, wrong); !strings.Contains(problem, "request.fields") || header.Get("Content-Disposition") != "" {
			t.Errorf("%s: %s %v", wrong, problem, header)
		}
	}
}

func ask(t testing.TB, h *servertest.House, path string) *http.Response {
	t.Helper()
	request := servertest.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+"/v1/events/"+h.Event.Event.String()+path, nil))(t)
	boss := h.Person("Boss", session.AdminRole, h.Venue.Venue)
	token := servertest.Must(h.Session.CreateToken(t.Context(), servertest.Operator.For(boss), session.TokenIn{Name: "export", Scopes: []session.Scope{session.ScopeAdmin}}))(t)
	request.Header.Set("Authorization", "Bearer "+token.Token)
	// Not the client that keeps each answer in memory to look for secrets in it.
	response := servertest.Must(http.DefaultClient.Do(request))(t)
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func fetch(t testing.TB, h *servertest.House, path string) (string, http.Header) {
	t.Helper()
	response := ask(t, h, path)
	return string(servertest.Must(io.ReadAll(response.Body))(t)), response.Header
}

// The heap is looked at while the table is on its way: it holds a few hundred rows,
// whether there are thousands or hundreds of thousands.
func TestAnExportOfManyAttemptsKeepsFewOfThem(t *testing.T) {
	attempts := 20_000
	if os.Getenv("PORTILLON_SOAK") != "" {
		attempts = 200_000
	}
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	if _, err := h.DB.Pool.Exec(context.Background(), `
INSERT INTO attempts (received_at, key, event_id, gate_id, person_id, kind, reason, class, duration_us)
SELECT portillon_now() - n * interval '1 millisecond', gen_random_uuid(), $1, $2, $3, 'pushed', $5, 'ask', n FROM generate_series(1, $4::integer) AS n`,
		h.Event.Event, h.Gate.Gate, karel.Person, attempts, string(ticket.AlreadyUsed)); err != nil {
		t.Fatal(err)
	}
	response := ask(t, h, "/attempts.csv")
	reader := csv.NewReader(response.Body)
	reader.ReuseRecord = true
	before, most, rows := heap(), uint64(0), -1
	for {
		_, err := reader.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("after %d rows: %v", rows, err)
		}
		if rows++; rows%(attempts/10) == attempts/20 {
			most = max(most, heap())
		}
	}
	if rows != attempts {
		t.Errorf("%d rows of %d", rows, attempts)
	}
	// All rows as text are 130 bytes each and far more as values: 2.6 MB and 26 MB.
	const room = 2 << 20
	if most > before+room {
		t.Errorf("the heap grew by %d KB", (most-before)>>10)
	}
	t.Logf("%d rows, the heap grew by %d KB", rows, (int64(most)-int64(before))>>10)
}

// heap is what is alive, in bytes.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// The reader is slow, and the database goes away under the table: what arrived must
// not end as a whole table does.
func TestAnExportThatBreaksOffDoesNotEndAsAWholeTable(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	// 20 MB, more than the buffers on the way hold.
	const attempts = 10_000
	if _, err := h.DB.Pool.Exec(t.Context(), `UPDATE gates SET name = repeat('x', 2000) WHERE id = $1`, h.Gate.Gate); err != nil {
		t.Fatal(err)
	}
	if _, err := h.DB.Pool.Exec(t.Context(), `
INSERT INTO attempts (received_at, key, event_id, gate_id, person_id, kind, reason, class, duration_us)
SELECT portillon_now(), gen_random_uuid(), $1, $2, $3, 'pushed', 'already_used', 'ask', 0 FROM generate_series(1, $4::integer)`,
		h.Event.Event, h.Gate.Gate, karel.Person, attempts); err != nil {
		t.Fatal(err)
	}
	response := ask(t, h, "/attempts.csv")
	if response.StatusCode != http.StatusOK {
		t.Fatal(response.Status)
	}
	var ended int
	for try := 0; ended == 0 && try < 100; try++ {
		time.Sleep(50 * time.Millisecond) // until the reader is waited for
		ended = endStreams(t, h)
	}
	if ended != 1 {
		t.Fatalf("%d streams were under way", ended)
	}
	if body, err := io.ReadAll(response.Body); err == nil {
		t.Errorf("%d lines ended as if they were all %d", strings.Count(string(body), "\n"), attempts)
	}
}

// endStreams ends the connections on which an export waits for its reader.
func endStreams(t testing.TB, h *servertest.House) (ended int) {
	t.Helper()
	if err := h.DB.Pool.QueryRow(t.Context(), `
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE state <> 'idle' AND query LIKE 'FETCH % FROM stream' AND pid IN (
  SELECT l.pid FROM pg_locks l WHERE l.relation = 'attempts'::regclass)`).Scan(&ended); err != nil {
		t.Fatal(err)
	}
	return ended
}
