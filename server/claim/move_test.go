package claim_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"portillon/server/client"
	"portillon/server/pgtest"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
)

const marie = "marie@example.net"

// stage is a house with a mail office and an order that Marie has on her phone.
type stage struct {
	*servertest.House
	office *servertest.Office
	code   string
	ids    []ticket.ID
	phone  *servertest.Phone // who has the tickets
}

func staged(t *testing.T, count int) *stage {
	t.Helper()
	office := servertest.NewOffice(t, true)
	h := servertest.NewHouse(t, servertest.Mail(office.Settings(), ""))
	soon := h.NewEvent("Playtime", "Screen 2", time.Hour, nil)
	kind := h.NewCategory(soon.Event, client.NewCategory{Name: "Standard"})
	issued := h.Issue(soon.Event, client.NewTickets{Category: kind.Category, Count: count, Holder: &client.Holder{Name: "Marie", Email: marie}})
	s := &stage{House: h, office: office, phone: h.NewPhone()}
	_, s.code, _ = strings.Cut(issued.ClaimURL, "#")
	for _, one := range issued.Tickets {
		s.ids = append(s.ids, one.Ticket)
	}
	s.phone.Take(t, issued.ClaimURL)
	return s
}

func do[T any](s *stage, path string, body any) (T, error) {
	return client.Do[T](context.Background(), s.Client(""), http.MethodPost, path, body)
}

type asked struct {
	To         string    `json:"to"`
	NextAt     time.Time `json:"next_at"`
	ServerTime time.Time `json:"server_time"`
}

func (s *stage) ask() (asked, error) {
	return do[asked](s, "/v1/claims/move", map[string]string{"code": s.code})
}

var eight = regexp.MustCompile(`(?m)^(\d{4}) (\d{4})\r?$`)

// digits asks for digits, waits for the mail and reads them.
func (s *stage) digits(t *testing.T) string {
	t.Helper()
	before := len(s.mails(t, eight))
	if _, err := s.ask(); err != nil {
		t.Fatal(err)
	}
	s.until(t, "the mail with the digits", func() bool { return len(s.mails(t, eight)) > before })
	found := s.mails(t, eight)
	return found[len(found)-1][1] + found[len(found)-1][2]
}

// mails are Marie's mails in which the pattern is found.
func (s *stage) mails(t *testing.T, pattern *regexp.Regexp) (found [][]string) {
	t.Helper()
	for _, body := range s.office.Bodies(t, marie) {
		if m := pattern.FindStringSubmatch(body); m != nil {
			found = append(found, m)
		}
	}
	return found
}

func (s *stage) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// request is a confirmation as the page sends it, with fresh keys on a phone.
type request struct {
	Code string            `json:"code"`
	OTP  string            `json:"otp"`
	Keys []client.ClaimKey `json:"keys"`
}

func (s *stage) request(t *testing.T, on *servertest.Phone, digits string, ids ...ticket.ID) request {
	t.Helper()
	offer, err := on.Look(t.Context(), s.code)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.RawURLEncoding.DecodeString(offer.Challenge)
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Secret(t, offer.Challenge)
	r := request{Code: s.code, OTP: digits}
	for _, id := range ids {
		held, err := on.Keys.Add(id.UUID(), offer.Event.Event.UUID())
		if err != nil {
			t.Fatal(err)
		}
		proof, err := held.SignClaim([32]byte(raw), s.code)
		if err != nil {
			t.Fatal(err)
		}
		r.Keys = append(r.Keys, client.ClaimKey{Ticket: id, JWK: held.JWK(), Proof: proof})
	}
	return r
}

func (s *stage) confirm(r request) (client.Claimed, error) {
	return do[client.Claimed](s, "/v1/claims/move/confirm", r)
}

// moveTo moves all of Marie's tickets to another phone.
func (s *stage) moveTo(t *testing.T, phone *servertest.Phone) {
	t.Helper()
	moved, err := s.confirm(s.request(t, phone, s.digits(t), s.ids...))
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range moved.Tickets {
		phone.Keys.Find(one.Ticket.UUID()).Generation = one.Generation
	}
}

func problem(t *testing.T, what string, err error, code string) {
	t.Helper()
	if !client.IsProblem(err, code) {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

func TestATicketMovesByMailedDigitsAndTheOldPhoneAndTheHolderAreTold(t *testing.T) {
	t.Parallel()
	s := staged(t, 2)
	told := make(chan client.StreamEvent, 8)
	go func() {
		_ = s.phone.Follow(t.Context(), func(e client.StreamEvent) error { told <- e; return nil })
		close(told)
	}()
	<-told // it listens

	offer, err := s.NewPhone().Look(t.Context(), s.code)
	if err != nil || !offer.Tickets[0].Movable || offer.MoveTo != "m…@example.net" || offer.Tickets[0].Claimed.At.IsZero() {
		t.Fatalf("who opens the link again is told %+v, %v", offer, err)
	}
	another := s.NewPhone()
	r := s.request(t, another, s.digits(t), s.ids...)
	moved, err := s.confirm(r)
	if err != nil || len(moved.Tickets) != 2 || moved.Tickets[0].Generation != 2 {
		t.Fatalf("%+v, %v", moved, err)
	}
	// The answer was lost: the same once more, although the digits are used.
	if again, err := s.confirm(r); err != nil || fmt.Sprint(again.Tickets) != fmt.Sprint(moved.Tickets) {
		t.Errorf("the same again: %+v, %v", again, err)
	}
	_, err = s.confirm(s.request(t, s.NewPhone(), r.OTP, s.ids...))
	problem(t, "the digits for a third phone", err, "move.code_ended")

	ended := false
	for e := range told {
		ended = ended || strings.Contains(string(e.Data), `"moved"`)
	}
	if !ended {
		t.Error("the stream of the old phone ended without a notice")
	}
	s.until(t, "the holder is told", func() bool { return len(s.mails(t, notMe)) == 1 })
	row := s.Row(t, s.ids[0])
	if row.Generation != 2 {
		t.Errorf("%+v", row)
	}
	if n := s.Count(t, "tickets WHERE moves = 0 AND taken_back"); n != 2 {
		t.Errorf("taking back before the first door counted for %d tickets", 2-n)
	}
}

var notMe = regexp.MustCompile(`/w#(no\.[\w-]+\.[\w-]+)`)

type movedAway struct {
	Browser string `json:"browser"`
	Tickets []struct {
		Held      bool `json:"held"`
		Stoppable bool `json:"stoppable"`
	} `json:"tickets"`
}

func TestNotMePutsTheTicketsOnHoldByAButtonUntilDoorsOpen(t *testing.T) {
	t.Parallel()
	s := staged(t, 2)
	thief := s.NewPhone()
	s.moveTo(t, thief)
	s.until(t, "the holder is told", func() bool { return len(s.mails(t, notMe)) == 1 })
	code := map[string]string{"code": s.mails(t, notMe)[0][1]}
	pgtest.Secret(t, code["code"])

	shown, err := do[movedAway](s, "/v1/claims/moved", code)
	if err != nil || len(shown.Tickets) != 2 || !shown.Tickets[0].Stoppable || shown.Tickets[0].Held {
		t.Fatalf("%+v, %v", shown, err)
	}
	if n := s.Count(t, "tickets WHERE status = 'held'"); n != 0 {
		t.Fatal("to look was enough")
	}
	// What got a new link meanwhile is another's.
	if _, err := client.Do[client.ClaimLink](t.Context(), s.Admin, http.MethodPost, "/v1/tickets/"+s.ids[1].String()+"/reissue",
		map[string]string{"reason": "sold"}, client.WithKey(servertest.NewKey())); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		held, err := do[movedAway](s, "/v1/claims/not-me", code)
		if err != nil || !held.Tickets[0].Held || held.Tickets[1].Held {
			t.Fatalf("%+v, %v", held, err)
		}
	}
	if n := s.Count(t, "audit WHERE act = 'ticket.not_me'"); n != 1 {
		t.Errorf("%d rows in the history", n)
	}
	for _, forged := range []string{"", "no.x.y", code["code"] + "x", strings.Replace(code["code"], "no.A", "no.B", 1) + "A"} {
		_, err := do[movedAway](s, "/v1/claims/not-me", map[string]string{"code": forged})
		problem(t, "a forged code", err, "move.link_unknown")
	}

	other := staged(t, 1)
	other.moveTo(t, other.NewPhone())
	other.until(t, "the holder is told", func() bool { return len(other.mails(t, notMe)) == 1 })
	late := map[string]string{"code": other.mails(t, notMe)[0][1]}
	pgtest.Secret(t, late["code"])
	other.DB.Shift(t, 61*time.Minute)
	_, err = do[movedAway](other, "/v1/claims/not-me", late)
	problem(t, "after doors", err, "move.doors_open")
}

func TestTriesAreCountedBeforeTheyAreCompared(t *testing.T) {
	t.Parallel()
	s := staged(t, 1)
	right := s.digits(t)
	wrong := "00000000"
	if right == wrong {
		wrong = "00000001"
	}
	// Many at once, and all but five are not even compared.
	var mu sync.Mutex
	codes := map[string]int{}
	var all sync.WaitGroup
	for range 12 {
		r := s.request(t, s.NewPhone(), wrong, s.ids...)
		all.Go(func() {
			_, err := s.confirm(r)
			var p *client.Problem
			if !errors.As(err, &p) {
				t.Errorf("%v", err)
				return
			}
			mu.Lock()
			codes[p.Code]++
			mu.Unlock()
		})
	}
	all.Wait()
	if codes["move.code_wrong"] != 5 || codes["move.code_ended"] != 7 {
		t.Errorf("%v", codes)
	}
	_, err := s.confirm(s.request(t, s.NewPhone(), right, s.ids...))
	problem(t, "the right digits after five wrong ones", err, "move.code_ended")
	if row := s.Row(t, s.ids[0]); row.Generation != 1 {
		t.Errorf("%+v", row)
	}
}

func TestOfTwoPhonesWithTheSameDigitsOneHasTheTicket(t *testing.T) {
	t.Parallel()
	s := staged(t, 1)
	digits := s.digits(t)
	requests := []request{s.request(t, s.NewPhone(), digits, s.ids...), s.request(t, s.NewPhone(), digits, s.ids...)}
	won := make([]error, 2)
	var both sync.WaitGroup
	for i := range requests {
		both.Go(func() { _, won[i] = s.confirm(requests[i]) })
	}
	both.Wait()
	if (won[0] == nil) == (won[1] == nil) {
		t.Fatalf("%v, %v", won[0], won[1])
	}
	if s.Count(t, "moves") != 1 || s.Row(t, s.ids[0]).Generation != 2 {
		t.Error("it moved twice")
	}
}

func TestDigitsLastTenMinutesAndThreeMailsGoOutInAnHour(t *testing.T) {
	t.Parallel()
	s := staged(t, 1)
	first := s.digits(t)
	if again, err := s.ask(); err != nil || s.Count(t, "mails WHERE kind = 'move_code'") != 1 || !again.NextAt.After(again.ServerTime) {
		t.Errorf("pressed twice: %+v, %v", again, err)
	}
	s.DB.Shift(t, 31*time.Second)
	second := s.digits(t)
	if first == second {
		t.Error("the same digits twice")
	}
	_, err := s.confirm(s.request(t, s.NewPhone(), first, s.ids...))
	problem(t, "digits that newer ones have replaced", err, "move.code_wrong")
	s.DB.Shift(t, 10*time.Minute)
	_, err = s.confirm(s.request(t, s.NewPhone(), second, s.ids...))
	problem(t, "after ten minutes", err, "move.code_ended")

	s.digits(t)
	s.DB.Shift(t, 31*time.Second)
	_, err = s.ask()
	problem(t, "a fourth mail", err, "move.too_many_mails")
	var p *client.Problem
	if !errors.As(err, &p) || p.RetryAfter < 40*time.Minute || p.RetryAfter > 50*time.Minute {
		t.Errorf("wait %v", p.RetryAfter)
	}
	// The constraint behind it.
	_, err = s.Pool.Exec(t.Context(), `UPDATE move_codes SET asked_at = asked_at || asked_at[1]`)
	if err == nil || !strings.Contains(err.Error(), "move_codes_asked_at_check") {
		t.Errorf("four mails at the table: %v", err)
	}
}

func TestATicketMovesThreeTimesAndNotOnceItWasUsed(t *testing.T) {
	t.Parallel()
	s := staged(t, 1)
	s.exec(t, `UPDATE tickets SET moves = 2, taken_back = true`)
	s.moveTo(t, s.NewPhone())
	_, err := s.ask()
	problem(t, "a fourth move", err, "move.too_often")
	if offer, err := s.NewPhone().Look(t.Context(), s.code); err != nil || offer.Tickets[0].Movable {
		t.Errorf("%+v, %v", offer, err)
	}
	_, err = s.Pool.Exec(t.Context(), `UPDATE tickets SET moves = moves + 1`)
	if err == nil || !strings.Contains(err.Error(), "tickets_moves_check") {
		t.Errorf("at the table: %v", err)
	}
	// The staff may allow another.
	if _, err := client.Do[client.Ticket](t.Context(), s.Admin, http.MethodPost, "/v1/tickets/"+s.ids[0].String()+"/allow-move",
		map[string]string{"reason": "a new phone again"}, client.WithKey(servertest.NewKey())); err != nil {
		t.Fatal(err)
	}
	s.DB.Shift(t, 31*time.Second)
	s.moveTo(t, s.NewPhone())

	door := staged(t, 1)
	karel := door.Controller("Karel", session.Controller)
	door.DB.Shift(t, 61*time.Minute)
	if a := karel.Ask(t, door.phone.Signed(t, door.ids[0], karel.Hold(t))); a.Reason != ticket.Admitted {
		t.Fatal(a.Reason)
	}
	_, err = door.ask()
	problem(t, "of a used ticket", err, "move.used")
}

func TestWhatWasAtADoorMovesAsAMoveAndStaffSeeThatItMoved(t *testing.T) {
	t.Parallel()
	s := staged(t, 1)
	karel := s.Controller("Karel", session.Controller)
	if a := karel.Ask(t, s.phone.Timed(t, s.ids[0], s.DB.Now(t))); a.Reason == ticket.Admitted {
		t.Fatal("doors are not open")
	}
	s.DB.Shift(t, 30*time.Minute)
	another := s.NewPhone()
	s.moveTo(t, another)
	if n := s.Count(t, "tickets WHERE moves = 1 AND NOT taken_back"); n != 1 {
		t.Error("it did not count as a move")
	}
	s.DB.Shift(t, 31*time.Minute)
	nonce := karel.Hold(t)
	if a := karel.Ask(t, s.phone.Signed(t, s.ids[0], nonce)); a.Reason != ticket.Moved {
		t.Errorf("the old phone is %s", a.Reason)
	}
	if a := karel.Ask(t, another.Signed(t, s.ids[0], nonce)); a.Reason != ticket.Admitted || a.MovedAt.IsZero() {
		t.Errorf("the new phone is %s, moved at %v", a.Reason, a.MovedAt)
	}
}

func TestWithoutMailOrAddressTheStaffAreNamed(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	_, issued := claimed(t, h, marie)
	_, err := client.Do[asked](t.Context(), h.Client(""), http.MethodPost, "/v1/claims/move", map[string]string{"code": issued})
	problem(t, "without mail", err, "mail.off")

	office := servertest.NewOffice(t, true)
	h = servertest.NewHouse(t, servertest.Mail(office.Settings(), ""))
	phone, code := claimed(t, h, "")
	_, err = client.Do[asked](t.Context(), h.Client(""), http.MethodPost, "/v1/claims/move", map[string]string{"code": code})
	problem(t, "without an address", err, "mail.no_address")
	if offer, err := phone.Look(t.Context(), code); err != nil || offer.MoveTo != "" {
		t.Errorf("%+v, %v", offer, err)
	}
}

// claimed is a ticket on a phone, and the code of its link.
func claimed(t *testing.T, h *servertest.House, email string) (*servertest.Phone, string) {
	t.Helper()
	issued := h.Issue(h.Event.Event, client.NewTickets{Category: h.Standard.Category, Holder: &client.Holder{Name: "Marie", Email: email}})
	phone := h.NewPhone()
	phone.Take(t, issued.ClaimURL)
	_, code, _ := strings.Cut(issued.ClaimURL, "#")
	return phone, code
}

func (s *stage) exec(t *testing.T, sql string) {
	t.Helper()
	if _, err := s.Pool.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// A mail that goes out twice has the same digits: which copy is read does not matter.
func TestDigitsAreTheSameHoweverOftenTheMailGoesOut(t *testing.T) {
	t.Parallel()
	s := staged(t, 1)
	digits := s.digits(t)
	s.exec(t, `UPDATE mails SET state = 'waiting', ended_at = NULL WHERE kind = 'move_code'`)
	s.exec(t, `INSERT INTO river_job (kind, args, max_attempts) SELECT 'send_mail', jsonb_build_object('mail', id::text), 12 FROM mails WHERE kind = 'move_code'`)
	s.until(t, "the second copy", func() bool { return len(s.mails(t, eight)) == 2 })
	if again := s.mails(t, eight)[1]; again[1]+again[2] != digits {
		t.Error("the second copy has other digits")
	}
}
