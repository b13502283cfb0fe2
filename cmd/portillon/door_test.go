package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"portillon/server/client"
	"portillon/server/ticket"
)

// shell runs a command in this process, as a shell would, and gives what it
// printed and its exit code.
func shell(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(stdin), &out, &err)
	return out.String(), err.String(), code
}

// must is shell for a command that works; it decodes the one object it prints.
func must[T any](t *testing.T, args ...string) (answer T) {
	t.Helper()
	stdout, stderr, code := shell(t, "", append(args, "--json")...)
	if code != exitOK {
		t.Fatalf("portillon %s: exit %d: %s", args[0], code, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &answer); err != nil {
		t.Fatalf("portillon %s printed %q: %v", args[0], stdout, err)
	}
	return answer
}

// hold holds the door's gate until the test ends.
func (d door) hold(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	h := holder{client: client.New(d.URL, d.ControllerToken, nil), gate: d.Gate, out: &console{out: &bytes.Buffer{}, err: &bytes.Buffer{}}}
	if err := h.renew(ctx); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- h.hold(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error("hold the gate:", err)
		}
	})
}

func TestOneGateServesSixShowingsAndEachVerdictNamesScreenAndSeat(t *testing.T) {
	t.Parallel()
	d := openDoor(t)
	d.hold(t)
	keys := filepath.Join(t.TempDir(), "phone.key")
	api := []string{"--url", d.URL, "--token", d.APIToken}
	type place struct{ screen, seat, event string }
	wanted := map[ticket.ID]place{}
	for n, e := range d.Events {
		seats := []string{fmt.Sprintf("A%d", n+1), fmt.Sprintf("B%d", n+1)}
		order := must[client.Issued](t, append([]string{"ticket", "issue", "--event", e.Event.String(), "--seat", strings.Join(seats, ",")}, api...)...)
		must[client.Claimed](t, "wallet", "claim", "--key", keys, order.ClaimURL)
		for i, issued := range order.Tickets {
			wanted[issued.Ticket] = place{e.Screen, seats[i], e.Name}
		}
	}
	ids := make([]ticket.ID, 0, len(wanted))
	for id := range wanted {
		ids = append(ids, id)
	}
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, id := range ids {
		code := must[shownCode](t, "wallet", "show", "--key", keys, "--ticket", id.String())
		answer := must[client.ScanAnswer](t, "scan", "--url", d.URL, "--token", d.ControllerToken, "--gate", d.Gate.String(), code.Code)
		if answer.Reason != ticket.Admitted || answer.Ticket == nil {
			t.Fatalf("ticket %s: %+v", id, answer)
		}
		got := place{answer.Ticket.Screen, answer.Ticket.Seat, answer.Ticket.EventName}
		if got != wanted[id] {
			t.Errorf("ticket %s is for %v, wanted %v", id, got, wanted[id])
		}
	}
}

// lossy passes requests on to the server and loses the first answers of scans.
func lossy(t *testing.T, target string, lose int32) string {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	var lost atomic.Int32
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/scans" && lost.Add(1) <= lose {
			proxy.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return front.URL
}

func TestAScanWhoseAnswerIsLostIsRepeatedWithTheSameKeyAndAdmitted(t *testing.T) {
	t.Parallel()
	d := openDoor(t)
	d.hold(t)
	keys := filepath.Join(t.TempDir(), "phone.key")
	must[client.Claimed](t, "wallet", "claim", "--key", keys, d.WalletLinks[2])
	code := must[shownCode](t, "wallet", "show", "--key", keys)
	stdout, stderr, exit := shell(t, code.Code+"\n", "scan", "--json", "--exit-code", "--url", lossy(t, d.URL, 2), "--token", d.ControllerToken, "--gate", d.Gate.String(), "-")
	var answer client.ScanAnswer
	if err := json.Unmarshal([]byte(stdout), &answer); err != nil {
		t.Fatalf("%v in %q, stderr %q", err, stdout, stderr)
	}
	if exit != exitOK || answer.Reason != ticket.Admitted || !answer.Replayed {
		t.Errorf("exit %d, %+v", exit, answer)
	}
	if strings.Count(stderr, "repeating with the same key") != 2 {
		t.Errorf("it did not say that it repeats: %q", stderr)
	}
}

func TestAScanThatNobodyAnswersNamesTheKeyToRepeatItWith(t *testing.T) {
	t.Parallel()
	key := newKey().String()
	_, stderr, exit := shell(t, "", "scan", "--url", "http://127.0.0.1:1", "--token", "t", "--gate", newKey().String(), "--key", key, "--timeout", "100ms", "PT1:X")
	if exit != exitFailed || !strings.Contains(stderr, "--key "+key) {
		t.Errorf("exit %d: %s", exit, stderr)
	}
}

func TestAGroupChoosesHowManyEnterUnderTheSameKey(t *testing.T) {
	t.Parallel()
	d := openDoor(t)
	d.hold(t)
	keys := filepath.Join(t.TempDir(), "phone.key")
	must[client.Claimed](t, "wallet", "claim", "--key", keys, d.WalletLinks[1])
	code := must[shownCode](t, "wallet", "show", "--key", keys)
	scan := []string{"scan", "--url", d.URL, "--token", d.ControllerToken, "--gate", d.Gate.String(), "--key", newKey().String(), code.Code}
	first := must[client.ScanAnswer](t, scan...)
	if first.Reason != ticket.ChoosePeople || first.Remaining == nil || *first.Remaining != 4 {
		t.Fatalf("first %+v", first)
	}
	second := must[client.ScanAnswer](t, append(scan, "--people", "3")...)
	if second.Reason != ticket.Admitted || second.People != 3 || *second.Remaining != 1 {
		t.Fatalf("second %+v", second)
	}
}

func TestADryRunLetsNobodyIn(t *testing.T) {
	t.Parallel()
	d := openDoor(t)
	d.hold(t)
	keys := filepath.Join(t.TempDir(), "phone.key")
	must[client.Claimed](t, "wallet", "claim", "--key", keys, d.WalletLinks[2])
	code := must[shownCode](t, "wallet", "show", "--key", keys)
	scan := []string{"scan", "--url", d.URL, "--token", d.ControllerToken, "--gate", d.Gate.String(), code.Code}
	for range 2 {
		if a := must[client.ScanAnswer](t, append(scan, "--dry-run")...); a.Reason != ticket.Admitted || !a.DryRun || a.Replayed {
			t.Fatalf("dry run: %+v", a)
		}
	}
	if a := must[client.ScanAnswer](t, scan...); a.Reason != ticket.Admitted || a.Replayed {
		t.Fatalf("the real one: %+v", a)
	}
}

func TestTheTextFormOfACodeIsTakenFromAnAPIToken(t *testing.T) {
	t.Parallel()
	d := openDoor(t)
	d.hold(t)
	keys := filepath.Join(t.TempDir(), "phone.key")
	must[client.Claimed](t, "wallet", "claim", "--key", keys, d.WalletLinks[2])
	code := must[shownCode](t, "wallet", "show", "--key", keys, "--form", "text")
	if !strings.HasPrefix(code.Code, "eyJ") {
		t.Fatalf("the text form is %q", code.Code)
	}
	a := must[client.ScanAnswer](t, "scan", "--url", d.URL, "--token", d.APIToken, "--gate", d.Gate.String(), code.Code)
	if a.Reason != ticket.Admitted {
		t.Errorf("%+v", a)
	}
}

func TestTheDemoMadeTwiceIsTheSameDemo(t *testing.T) {
	t.Parallel()
	d := openDoor(t)
	again, err := furnish(t.Context(), d.server, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if again.APIToken != d.APIToken || again.ControllerToken != d.ControllerToken || again.Venue != d.Venue {
		t.Error("other credentials or another venue")
	}
	if fmt.Sprint(again.Gates, again.Events, again.WalletLinks) != fmt.Sprint(d.Gates, d.Events, d.WalletLinks) {
		t.Errorf("other gates, showings or links: %v and %v", again.Events, d.Events)
	}
	later, err := furnish(t.Context(), d.server, time.Now().Add(6*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range later.Events {
		if e.Event == d.Events[i].Event || e.Name != d.Events[i].Name {
			t.Errorf("showing %d was not made anew: %v", i, e)
		}
	}
}

func TestAnUndoneAdmissionMayBeMadeAgainButNotByTheSameScan(t *testing.T) {
	t.Parallel()
	d := openDoor(t)
	d.hold(t)
	keys := filepath.Join(t.TempDir(), "phone.key")
	must[client.Claimed](t, "wallet", "claim", "--key", keys, d.WalletLinks[2])
	code := must[shownCode](t, "wallet", "show", "--key", keys)
	key := newKey()
	c := client.New(d.URL, d.ControllerToken, nil)
	scan := client.Scan{Gate: d.Gate, Code: code.Code}
	if a, err := c.Scan(t.Context(), key, scan); err != nil || a.Reason != ticket.Admitted {
		t.Fatalf("%+v, %v", a, err)
	}
	undone, err := c.Undo(t.Context(), code.Ticket, key, "the turnstile did not turn")
	if err != nil || undone.Status != ticket.Active || undone.Entries != 0 {
		t.Fatalf("%+v, %v", undone, err)
	}
	if a, err := c.Scan(t.Context(), key, scan); err != nil || a.Reason != ticket.Undone {
		t.Errorf("the same scan: %+v, %v", a, err)
	}
	if a, err := c.Scan(t.Context(), newKey(), scan); err != nil || a.Reason != ticket.Admitted {
		t.Errorf("a new scan: %+v, %v", a, err)
	}
}
