package offline_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"os"
	"testing"
	"time"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
)

type object = map[string]any

// outcome is the word on one item.
type outcome struct {
	Key      string          `json:"key"`
	Verdict  string          `json:"verdict"`
	Replayed bool            `json:"replayed"`
	Reason   string          `json:"reason"`
	Against  []ticket.Reason `json:"against"`
	FirstUse *struct {
		At       time.Time     `json:"at"`
		Gate     ticket.GateID `json:"gate"`
		GateName string        `json:"gate_name"`
		Person   string        `json:"person"`
	} `json:"first_use"`
}

// large is n under PORTILLON_SOAK, and a tenth of it otherwise.
func large(n int) int {
	if os.Getenv("PORTILLON_SOAK") != "" {
		return n
	}
	return n / 10
}

// night is a house whose event is opted in, at the moment when its network dies.
type night struct {
	*servertest.House
	t testing.TB
}

func newNight(t testing.TB, policy client.Policy) *night {
	h := servertest.NewHouse(t)
	if policy.Offline == "" {
		policy.Offline = "any"
	}
	h.Event = h.NewEvent("Playtime", "Screen 2", -10*time.Minute, &policy)
	h.Standard = h.NewCategory(h.Event.Event, client.NewCategory{Name: "Standard"})
	h.Family = h.NewCategory(h.Event.Event, client.NewCategory{Name: "Family", Admits: 4})
	h.Paper = h.NewCategory(h.Event.Event, client.NewCategory{Name: "Box office", Paper: true})
	return &night{House: h, t: t}
}

// device is a scanner with somebody signed on, and with the pack of the main gate.
func (n *night) device(name string) *scanner {
	s := &scanner{Gatekeeper: n.Controller(name, session.Controller), night: n, gate: n.Gate.Gate}
	s.takePack(n.Gate.Gate)
	return s
}

// ticket is a claimed one of a category.
func (n *night) ticket(category client.Category) (*servertest.Phone, ticket.ID) {
	phone, issued := n.Claimed(n.Event.Event, client.NewTickets{Category: category.Category})
	return phone, issued.Ticket
}

// scanner is a gate device; ahead is how far its clock is.
type scanner struct {
	*servertest.Gatekeeper
	night *night
	gate  ticket.GateID
	ahead time.Duration
	seed  []byte
}

// item is what the device queues of a guest whom it let in that long ago.
func (s *scanner) item(code string, ago time.Duration) object {
	return object{
		"key": servertest.NewKey(), "gate": s.gate, "event": s.night.Event.Event, "code": code, "direction": "in", "people": 1,
		"verdict": "admitted", "reason": "admitted", "scanned_at": s.night.DB.Now(s.night.t).Add(s.ahead - ago), "phone_offline": true,
		"person": s.Person, "pack": "",
	}
}

// timed is an item of a code by the phone's clock.
func (s *scanner) timed(phone *servertest.Phone, id ticket.ID, ago time.Duration) object {
	return s.item(phone.Timed(s.night.t, id, s.night.DB.Now(s.night.t).Add(-ago)), ago)
}

// shown is the value that the device showed that long ago.
func (s *scanner) shown(ago time.Duration) (nonce [16]byte) {
	mac := hmac.New(sha256.New, s.seed)
	mac.Write([]byte("portillon shown"))
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(s.night.DB.Now(s.night.t).Add(s.ahead-ago).Unix()/15)))
	copy(nonce[:], mac.Sum(nil))
	return nonce
}

// upload hands items in.
func (s *scanner) upload(items ...object) []outcome {
	s.night.t.Helper()
	answer, err := s.send(items...)
	if err != nil || len(answer) != len(items) {
		s.night.t.Fatalf("%d verdicts on %d items: %v", len(answer), len(items), err)
	}
	return answer
}

func (s *scanner) send(items ...object) ([]outcome, error) {
	answer, err := client.Do[struct {
		ReceivedAt time.Time `json:"received_at"`
		Verdicts   []outcome `json:"verdicts"`
	}](context.Background(), s.Client, http.MethodPost, "/v1/scans/batch", object{"sent_at": s.night.DB.Now(s.night.t).Add(s.ahead), "scans": items})
	return answer.Verdicts, err
}

func with(item object, changes object) object {
	changed := object{}
	for name, value := range item {
		changed[name] = value
	}
	for name, value := range changes {
		changed[name] = value
	}
	return changed
}

func want(t testing.TB, o outcome, verdict, reason string, replayed bool, against ...ticket.Reason) {
	t.Helper()
	same := len(o.Against) == len(against)
	for i := 0; same && i < len(against); i++ {
		same = o.Against[i] == against[i]
	}
	if o.Verdict != verdict || o.Reason != reason || o.Replayed != replayed || !same {
		t.Errorf("want %s %q replayed %v against %v, got %+v", verdict, reason, replayed, against, o)
	}
}
