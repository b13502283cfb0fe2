package admit_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/wallet"
)

// slow is a body that waits before it is sent.
type slow struct {
	io.Reader
	before func()
}

func (s *slow) Read(p []byte) (int, error) {
	if s.before != nil {
		s.before()
		s.before = nil
	}
	return s.Reader.Read(p)
}

func TestABodyHeldBackDoesNotMakeAStaleCodeGood(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	phone, id := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	code := phone.Signed(t, id.Ticket, karel.Hold(t))
	body := &slow{Reader: strings.NewReader(`{"gate":"` + h.Gate.Gate.String() + `","code":"` + code + `"}`), before: func() { h.DB.Shift(t, 36*time.Second) }}
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, h.URL+"/v1/scans", body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", uuid.NewString())
	request.Header.Set("Authorization", "Bearer "+karel.Token())
	response, err := h.HTTP.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(answer), `"stale_nonce"`) {
		t.Errorf("%s, %v", answer, err)
	}
}

func TestTwoTicketsUnderOneKeyAtOnceAreBothReplayedAfterwards(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	key, nonce := servertest.NewKey(), karel.Hold(t)
	codes := make([]string, 2)
	ids := make([]ticket.ID, 2)
	for i := range codes {
		phone, issued := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
		ids[i], codes[i] = issued.Ticket, phone.Signed(t, issued.Ticket, nonce)
	}
	admitted := make([]bool, 2)
	together(2, func(i int) {
		a, err := karel.Scan(context.Background(), key, client.Scan{Gate: h.Gate.Gate, Code: codes[i]})
		admitted[i] = err == nil && a.Reason == ticket.Admitted
		if err != nil && !client.IsProblem(err, "scan.key_conflict") {
			t.Errorf("scan %d: %v", i, err)
		}
	})
	for i := range codes {
		if !admitted[i] {
			continue
		}
		if a := karel.AskAs(t, key, client.Scan{Code: codes[i]}); !a.Replayed {
			t.Errorf("scan %d again: %+v", i, a)
		}
	}
	if a := karel.AskAs(t, key, client.Scan{Code: "no code"}); a.Reason != ticket.Malformed && a.Reason != ticket.NotATicket {
		t.Errorf("no code under a used key: %s", a.Reason)
	}
}

func TestOneShortCodeLetsInOneScanWhicheverKeysItIsSentUnder(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	for range 20 {
		phone, issued := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Family.Category})
		short := servertest.Must(client.Do[client.Short](context.Background(), h.Client(""), http.MethodPost, "/v1/wallet/short",
			map[string]string{"proof": phone.Signed(t, issued.Ticket, karel.Hold(t))}))(t)
		reasons := make([]ticket.Reason, 2)
		together(2, func(i int) {
			a, err := karel.Scan(context.Background(), servertest.NewKey(), client.Scan{Gate: h.Gate.Gate, Code: short.Code, People: 1})
			if err != nil {
				t.Errorf("scan: %v", err)
			}
			reasons[i] = a.Reason
		})
		if row := h.Row(t, issued.Ticket); row.Entries != 1 {
			t.Fatalf("%v: %+v", reasons, row)
		}
	}
}

func TestAScanByShortCodeIsReplayedWhenTheCodeIsForgotten(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	phone, issued := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	short := servertest.Must(client.Do[client.Short](context.Background(), h.Client(""), http.MethodPost, "/v1/wallet/short",
		map[string]string{"proof": phone.Signed(t, issued.Ticket, karel.Hold(t))}))(t)
	key := servertest.NewKey()
	karel.AskAs(t, key, client.Scan{Code: short.Code})
	if _, err := h.DB.Pool.Exec(context.Background(), `DELETE FROM short_codes`); err != nil {
		t.Fatal(err)
	}
	if a := karel.AskAs(t, key, client.Scan{Code: short.Code}); a.Reason != ticket.Admitted || !a.Replayed {
		t.Errorf("got %+v", a)
	}
}

func TestASweepOfShortCodesWaitsForNobody(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	phone, issued := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	insert := `
INSERT INTO short_codes (venue_id, hash, ticket_id, generation, nonce, made_at, expires_at)
SELECT @venue, sha256(n::text::bytea), gen_random_uuid(), 1, sha256('x'), portillon_now(), portillon_now() - interval '2 hours'
FROM generate_series(1, 3) AS n`
	if _, err := h.DB.Pool.Exec(context.Background(), insert, pgx.NamedArgs{"venue": h.Venue.Venue}); err != nil {
		t.Fatal(err)
	}
	other := servertest.Must(h.DB.Pool.Begin(context.Background()))(t)
	defer func() { _ = other.Rollback(context.Background()) }()
	if _, err := other.Exec(context.Background(), `DELETE FROM short_codes WHERE hash = sha256('1')`); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	if _, err := client.Do[client.Short](ctx, h.Client(""), http.MethodPost, "/v1/wallet/short",
		map[string]string{"proof": phone.Signed(t, issued.Ticket, karel.Hold(t))}); err != nil {
		t.Fatalf("a code, while another phone's sweep is under way: %v", err)
	}
	if err := other.Rollback(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := h.Count(t, "short_codes"); n != 2 {
		t.Errorf("%d codes are left; want the new one and the one that was held", n)
	}
}

func TestPaperOfAnUnknownIssuerHoldsNoConnectionWhileItsKeyIsSought(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t, servertest.MaxConns(4))
	karel := h.Controller("Karel", session.Controller)
	issued := h.Issue(h.Event.Event, client.NewTickets{Category: h.Paper.Category, Count: 12})
	forged := make([]string, len(issued.Tickets))
	for i, one := range issued.Tickets {
		printed := servertest.Must(client.Do[client.Printed](context.Background(), h.Admin, http.MethodPost,
			"/v1/tickets/"+one.Ticket.String()+"/print", map[string]string{"reason": "test"}))(t)
		code := servertest.Must(wallet.Parse(printed.Code))(t)
		code.IssuerKey = [4]byte{byte(i), 1, 2, 3}
		forged[i] = code.String()
	}
	together(len(forged), func(i int) {
		a, err := karel.Scan(context.Background(), servertest.NewKey(), client.Scan{Gate: h.Gate.Gate, Code: forged[i]})
		if err != nil || a.Reason != ticket.BadSignature {
			t.Errorf("forged paper: %s, %v", a.Reason, err)
		}
	})
}

func TestPreparingDaysNeverMakesTheDoorWait(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	ctx := context.Background()
	reader, err := h.DB.Pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Rollback(ctx) }()
	if _, err := reader.Exec(ctx, `LOCK TABLE attempts IN ACCESS SHARE MODE`); err != nil { // as pg_dump does
		t.Fatal(err)
	}
	h.DB.Shift(t, 30*24*time.Hour) // days that have no partition yet
	if err := h.Door.PrepareDays(ctx); err == nil {
		t.Error("a partition was made under a reader's lock: this test tests nothing")
	}
	if a := karel.Ask(t, "no code"); a.Reason != ticket.Malformed && a.Reason != ticket.NotATicket {
		t.Errorf("a scan meanwhile: %s", a.Reason)
	}
	if n := h.Count(t, "attempts_default"); n != 1 {
		t.Errorf("%d attempts in the default partition", n)
	}
}

func TestNothingIsToldOfAnotherHousesTicketsOrGuests(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	elsewhere := servertest.Furnish(t, h.Server)
	boss := keeper{h.Controller("Olga", session.Supervisor), h}
	phone, foreign := elsewhere.Claimed(elsewhere.Event.Event, client.NewTickets{
		Category: elsewhere.Standard.Category, Holder: &client.Holder{Name: "Jana"}, Seat: "K1",
	})
	_, err := client.Do[client.ScanAnswer](context.Background(), boss.Client, http.MethodPost, "/v1/tickets/"+foreign.Ticket.String()+"/admit",
		map[string]any{"gate": h.Gate.Gate, "reason": "curious"}, client.WithKey(servertest.NewKey()))
	if !client.IsProblem(err, "ticket.not_found") {
		t.Errorf("looked up: %v", err)
	}
	a := boss.Ask(t, phone.Signed(t, foreign.Ticket, elsewhere.Controller("Petr", session.Controller).Hold(t)))
	if a.Reason != ticket.WrongEvent || a.Ticket.EventName == "" || a.Ticket.Holder != "" || a.Ticket.Seat != "" {
		t.Errorf("scanned: %+v", a.Ticket)
	}
}

func TestAReasonWithControlCharactersIsAFaultOfTheCaller(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	phone, id := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	key := servertest.NewKey()
	karel.AskAs(t, key, client.Scan{Code: phone.Signed(t, id.Ticket, karel.Hold(t))})
	for _, reason := range []string{"", " ", "a\x00b", strings.Repeat("a", 501)} {
		if _, err := karel.Undo(context.Background(), id.Ticket, key, reason); !client.IsProblem(err, "request.fields") {
			t.Errorf("%.5q: %v", reason, err)
		}
	}
}

func TestASupervisorTakesBackAtTheDeskWhatADoorDid(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := h.Controller("Karel", session.Controller)
	phone, id := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category})
	key := servertest.NewKey()
	karel.AskAs(t, key, client.Scan{Code: phone.Signed(t, id.Ticket, karel.Hold(t))})
	desk := h.AtDesk("Olga", session.Grant{Venue: h.Venue.Venue, Role: session.Supervisor})
	if _, err := desk.Undo(context.Background(), id.Ticket, key, "wrong person"); err != nil {
		t.Error(err)
	}
	if row := h.Row(t, id.Ticket); row.Entries != 0 {
		t.Errorf("the ticket: %+v", row)
	}
}
