package report_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
)

// reportOf asks for an event's report; query is its query, or "".
func reportOf(t testing.TB, h *servertest.House, query string) client.Report {
	t.Helper()
	return servertest.Must(h.Admin.EventReport(context.Background(), h.Event.Event, values(t, query)))(t)
}

func values(t testing.TB, query string) url.Values {
	t.Helper()
	return servertest.Must(url.ParseQuery(query))(t)
}

// evening is a house in which something of everything happened.
type evening struct {
	*servertest.House
	karel, olga *servertest.Gatekeeper
}

func anEvening(t *testing.T) evening {
	t.Helper()
	h := servertest.NewHouse(t)
	ctx := context.Background()
	karel, olga := h.Controller("Karel", session.Controller), h.Controller("Olga", session.Supervisor)
	nonce := karel.Hold(t)
	standard := client.NewTickets{Category: h.Standard.Category}

	phone, one := h.Claimed(h.Event.Event, standard)
	code, key := phone.Signed(t, one.Ticket, nonce), servertest.NewKey()
	karel.AskAs(t, key, client.Scan{Code: code, DryRun: true})
	karel.AskAs(t, key, client.Scan{Code: code})
	karel.AskAs(t, key, client.Scan{Code: code}) // the same answer again
	karel.Ask(t, code)                           // already used
	servertest.Must(client.Do[client.ScanAnswer](ctx, olga.Client, http.MethodPost, "/v1/scans/override",
		map[string]any{"gate": h.Side.Gate, "code": code, "reason": "came back for a coat"}, client.WithKey(servertest.NewKey())))(t)

	family, four := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Family.Category})
	karel.AskAs(t, servertest.NewKey(), client.Scan{Code: family.Signed(t, four.Ticket, nonce), People: 3})

	_, two := h.Claimed(h.Event.Event, standard)
	undone := servertest.NewKey()
	servertest.Must(client.Do[client.ScanAnswer](ctx, olga.Client, http.MethodPost, "/v1/tickets/"+two.Ticket.String()+"/admit",
		map[string]any{"gate": h.Side.Gate, "reason": "flat battery"}, client.WithKey(undone)))(t)
	servertest.Must(olga.Undo(ctx, two.Ticket, undone, "the wrong person"))(t)

	for _, act := range []string{"revoke", "hold"} {
		id := h.Issue(h.Event.Event, standard).Tickets[0].Ticket.String()
		servertest.Must(client.Do[map[string]any](ctx, h.Admin, http.MethodPost, "/v1/tickets/"+id+"/"+act, map[string]string{"reason": "test"}))(t)
	}
	printed := h.Issue(h.Event.Event, client.NewTickets{Category: h.Paper.Category}).Tickets[0].Ticket.String()
	servertest.Must(client.Do[client.Printed](ctx, h.Admin, http.MethodPost, "/v1/tickets/"+printed+"/print", map[string]string{"reason": "no phone"}))(t)
	karel.Ask(t, "no code")
	return evening{h, karel, olga}
}

func TestAReportCountsTicketsPeopleAnswersGatesAndPersons(t *testing.T) {
	t.Parallel()
	h := anEvening(t)
	r := reportOf(t, h.House, "")

	if want := (client.ReportTickets{Issued: 6, Active: 3, Used: 1, Held: 1, Revoked: 1, Claimed: 4, Phone: 3, Paper: 1, Unclaimed: 1}); r.Tickets != want {
		t.Errorf("tickets: %+v, not %+v", r.Tickets, want)
	}
	if r.Entries != 5 || r.Inside != 5 {
		t.Errorf("%d entries, %d inside", r.Entries, r.Inside)
	}
	if want := (client.ReportAttempts{Answered: 5, Admitted: 4, Refused: 1, Replayed: 1, DryRuns: 1}); r.Attempts != want {
		t.Errorf("attempts: %+v, not %+v", r.Attempts, want)
	}
	if got := inWords(r.Reasons); got != "admitted/admit 4, already_used/ask 1" {
		t.Errorf("reasons: %s", got)
	}
	if got := inWords(r.Unattributed); got != "malformed/again 1" && got != "not_a_ticket/again 1" {
		t.Errorf("unattributed: %s", got)
	}
	gates := []client.ReportGate{
		{Gate: h.Side.Gate, Name: "Balcony", Admitted: 2, PeopleIn: 1},
		{Gate: h.Gate.Gate, Name: "Main entrance", Admitted: 2, Refused: 1, PeopleIn: 4},
	}
	if !slices.Equal(r.Gates, gates) {
		t.Errorf("gates: %+v", r.Gates)
	}
	people := []client.ReportPerson{
		{Person: h.karel.Person, Name: "Karel", Admitted: 2, Refused: 1},
		{Person: h.olga.Person, Name: "Olga", Admitted: 2, Overrides: 1, LookUps: 1, Undos: 1},
	}
	if !slices.Equal(r.People, people) {
		t.Errorf("people: %+v", r.People)
	}
	if r.TimeZone != "Europe/Prague" || !r.From.Equal(h.Event.DoorsOpenAt.Truncate(5*time.Minute)) || !r.To.Equal(h.Event.EndsAt) || r.StepS != 300 {
		t.Errorf("window: %v to %v by %d s, in %s; the doors: %v to %v", r.From, r.To, r.StepS, r.TimeZone, h.Event.DoorsOpenAt, h.Event.EndsAt)
	}
}

func inWords(reasons []client.ReportReason) string {
	words := make([]string, 0, len(reasons))
	for _, one := range reasons {
		words = append(words, fmt.Sprintf("%s/%s %d", one.Reason, one.Class, one.Attempts))
	}
	return strings.Join(words, ", ")
}

func TestTheReportTheListTheDatabaseAndTheMetricsAgreeAfterEachScan(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	nonce := karel.Hold(t)
	for round := range 4 {
		phone, one := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
		for range 1 + round%2 {
			karel.Ask(t, phone.Signed(t, one.Ticket, nonce))
		}
		r := reportOf(t, h, "")
		admitted, refused := metric(t, h, "admit"), metric(t, h, "ask")
		if r.Attempts.Admitted != admitted || r.Attempts.Refused != refused {
			t.Errorf("round %d: the report counts %+v, the metrics %d and %d", round, r.Attempts, admitted, refused)
		}
		if n := h.Count(t, "admissions"); n != r.Entries || n != r.Inside || n != r.Gates[0].PeopleIn || n != r.People[0].Admitted {
			t.Errorf("round %d: %d admissions, the report says %+v", round, n, r)
		}
		list := servertest.Must(client.Do[client.List[client.Ticket]](context.Background(), h.Admin, http.MethodGet, "/v1/events/"+h.Event.Event.String()+"/tickets?status=used", nil))(t)
		if len(list.Items) != r.Tickets.Used {
			t.Errorf("round %d: %d used in the list, %d in the report", round, len(list.Items), r.Tickets.Used)
		}
	}
}

var scansTotal = regexp.MustCompile(`(?m)^portillon_scans_total\{class="(\w+)".*\} (\d+)$`)

// metric sums the scans of a class.
func metric(t *testing.T, h *servertest.House, class string) (sum int) {
	t.Helper()
	answer := httptest.NewRecorder()
	h.Metrics().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range scansTotal.FindAllStringSubmatch(string(text), -1) {
		if n, err := strconv.Atoi(line[2]); err == nil && line[1] == class {
			sum += n
		}
	}
	return sum
}

// logged writes attempts of one reason, one each at so many minutes after the doors.
func logged(t testing.TB, h *servertest.House, reason ticket.Reason, minutes ...float64) {
	t.Helper()
	_, err := h.DB.Pool.Exec(context.Background(), `
INSERT INTO attempts (received_at, event_id, gate_id, person_id, kind, reason, class, duration_us)
SELECT $1::timestamptz + make_interval(secs => 60 * m), $2, $3, gen_random_uuid(), 'pushed', $4, $5, 900
FROM unnest($6::float8[]) m`, h.Event.DoorsOpenAt, h.Event.Event, h.Gate.Gate, reason, ticket.RuleOf(reason).Class, minutes)
	if err != nil {
		t.Fatal(err)
	}
}

func TestEachAttemptFallsIntoTheBucketOfItsTime(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	logged(t, h, ticket.StaleNonce, -0.01, 0, 9.99, 10, 29.99, 30)
	doors := h.Event.DoorsOpenAt
	at := func(minutes int) string { return doors.Add(time.Duration(minutes) * time.Minute).Format(time.RFC3339) }
	for query, want := range map[string][]int{
		"from=" + at(0) + "&to=" + at(30) + "&step=600":   {2, 1, 1},
		"from=" + at(0) + "&to=" + at(25) + "&step=600":   {2, 1, 0}, // the last is shorter
		"from=" + at(-10) + "&to=" + at(10) + "&step=600": {1, 2},
		"from=" + at(10) + "&to=" + at(40) + "&step=1800": {3},
	} {
		r := reportOf(t, h, query)
		if len(r.Reasons) != 1 || !slices.Equal(r.Reasons[0].OverTime, want) || r.From.Location() != time.UTC {
			t.Errorf("%s: %+v", query, r.Reasons)
		}
	}
}

func TestWithoutAWindowTheReportReachesOverTheScansOfTheDayBeforeAndAfter(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	logged(t, h, ticket.TooEarly, -3*60, -30*60) // three hours before the doors, and more than a day
	logged(t, h, ticket.TooLate, 4*60)
	r := reportOf(t, h, "")
	if r.Attempts.Refused != 2 || r.StepS != 600 || r.From.After(h.Event.DoorsOpenAt.Add(-3*time.Hour)) || !r.To.After(h.Event.DoorsOpenAt.Add(4*time.Hour)) {
		t.Errorf("%v to %v by %d s: %+v", r.From, r.To, r.StepS, r.Attempts)
	}
	if buckets := len(r.Reasons[0].OverTime); buckets > 60 {
		t.Errorf("%d buckets", buckets)
	}
}

func TestAWindowThatIsEmptyTooFineOrNotATimeIsAFaultOfTheCaller(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	for query, want := range map[string]client.Field{
		"from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z":         {Name: "to", Code: "not_in_order"},
		"from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:00Z":         {Name: "to", Code: "not_in_order"},
		"from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z&step=60": {Name: "step", Code: "out_of_range"},
		"step=59":        {Name: "step", Code: "out_of_range"},
		"step=86401":     {Name: "step", Code: "out_of_range"},
		"step=5m":        {Name: "step", Code: "invalid"},
		"from=yesterday": {Name: "from", Code: "invalid"},
		"to=12%3A30":     {Name: "to", Code: "invalid"},
	} {
		_, err := h.Admin.EventReport(context.Background(), h.Event.Event, values(t, query))
		var said *client.Problem
		if !errors.As(err, &said) || said.Code != "request.fields" || !slices.Contains(said.Fields, want) {
			t.Errorf("%s: %v", query, err)
		}
	}
	if _, err := h.Admin.EventReport(context.Background(), ticket.EventID(ticket.New[int]()), nil); !client.IsProblem(err, "event.not_found") {
		t.Errorf("an event that is not there: %v", err)
	}
}

func TestGatesAndPeopleOfAnotherHouseAreCountedAndNotNamed(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	elsewhere := servertest.Furnish(t, h.Server)
	phone, one := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	petr := elsewhere.Controller("Petr", session.Controller)
	if a := petr.Ask(t, phone.Signed(t, one.Ticket, h.Controller("Karel", session.Controller).Hold(t))); a.Reason != ticket.WrongEvent {
		t.Fatalf("got %s", a.Reason)
	}
	petr.Ask(t, "no code")
	r := reportOf(t, h, "")
	if r.Attempts.Refused != 1 || r.Attempts.Elsewhere != 1 || inWords(r.Reasons) != "wrong_event/ask 1" {
		t.Errorf("%+v, %s", r.Attempts, inWords(r.Reasons))
	}
	if len(r.Gates) != 0 || len(r.People) != 0 || len(r.Unattributed) != 0 {
		t.Errorf("gates %+v, people %+v, unattributed %+v", r.Gates, r.People, r.Unattributed)
	}
}
