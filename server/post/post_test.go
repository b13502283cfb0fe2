package post_test

import (
	"io"
	"mime/quotedprintable"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"portillon/server/client"
	"portillon/server/post"
	"portillon/server/servertest"
)

// start opens an office, and a house whose server sends its mails there.
func start(t *testing.T, secure bool, change func(*post.Settings)) (*servertest.Office, *servertest.House, string) {
	t.Helper()
	o := servertest.NewOffice(t, secure)
	journal := t.TempDir()
	s := o.Settings()
	if change != nil {
		change(&s)
	}
	return o, servertest.NewHouse(t, servertest.Mail(s, journal)), journal
}

func issue(h *servertest.House) client.Issued {
	return h.Issue(h.Event.Event, client.NewTickets{Category: h.Standard.Category, Holder: &client.Holder{Name: "Marie", Email: "marie@example.net"}})
}

// entry is the only mail of the house's event.
func entry(t *testing.T, h *servertest.House) post.Sent {
	t.Helper()
	all, err := post.List(t.Context(), h.Pool, h.Event.Event, post.Query{Limit: 10})
	if err != nil || len(all) != 1 {
		t.Fatalf("%d mails, %v", len(all), err)
	}
	return all[0]
}

// until waits for what must become true.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// steps are those of one attempt, with their outcomes.
func steps(m post.Sent, attempt int) string {
	var all []string
	for _, step := range m.Steps {
		if step.Attempt == attempt {
			all = append(all, step.Step+" "+step.Outcome)
		}
	}
	return strings.Join(all, ", ")
}

func TestTheHolderGetsTheLinkAndEachStepIsWrittenDown(t *testing.T) {
	t.Parallel()
	o, h, journal := start(t, true, nil)
	issued := issue(h)
	until(t, "the mail is sent", func() bool { return entry(t, h).State == "sent" })
	text, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(o.Texts()[0])))
	if err != nil || !strings.Contains(string(text), issued.ClaimURL) {
		t.Errorf("the mail does not hold the link (%v)", err)
	}
	m := entry(t, h)
	if got, want := steps(m, 1), "compose ok, connect ok, starttls ok, authenticate ok, send ok"; got != want || m.To != "m…@example.net" {
		t.Errorf("%s to %s, want %s", got, m.To, want)
	}
	days, _ := filepath.Glob(filepath.Join(journal, "*.jsonl"))
	if len(days) == 0 {
		t.Fatal("there is no journal")
	}
	line, err := os.ReadFile(days[0])
	if err != nil || !strings.Contains(string(line), `"step":"starttls"`) || strings.Contains(string(line), "marie@") {
		t.Errorf("the journal says %s, %v", line, err)
	}
}

func TestAFailureSaysAtWhichStepAndWhy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		secure bool
		change func(*post.Settings)
		refuse bool
		steps  string
		why    string
		state  string
	}{
		"wrong password":    {secure: true, change: func(s *post.Settings) { s.Password = "battery staple" }, steps: "compose ok, connect ok, starttls ok, authenticate failed", why: "credentials invalid"},
		"no TLS there":      {steps: "compose ok, connect ok, starttls failed", why: "offers no STARTTLS"},
		"nobody trusts it":  {secure: true, change: func(s *post.Settings) { s.Trust = nil }, steps: "compose ok, connect ok, starttls failed", why: "certificate"},
		"refused recipient": {secure: true, refuse: true, steps: "compose ok, connect ok, starttls ok, authenticate ok, send failed", why: "no such user m…@example.net", state: "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, h, _ := start(t, c.secure, c.change)
			o.Refuse.Store(c.refuse)
			issue(h)
			until(t, "the attempt is over", func() bool {
				m := entry(t, h)
				return m.Attempts > 0 && strings.Contains(steps(m, 1), "failed") && (c.state == "" || m.State == c.state)
			})
			m := entry(t, h)
			var last post.Step
			for _, step := range m.Steps {
				if step.Attempt == 1 {
					last = step
				}
			}
			if got := steps(m, 1); got != c.steps || !strings.Contains(last.Detail, c.why) {
				t.Errorf("%s (%s), want %s (%s)", got, last.Detail, c.steps, c.why)
			}
			if len(o.Texts()) > 0 {
				t.Error("a mail went out")
			}
		})
	}
}

func TestAServerThatWasAwayGetsTheMailOnceItIsBack(t *testing.T) {
	t.Parallel()
	o, h, _ := start(t, true, nil)
	o.Shut()
	issue(h)
	until(t, "an attempt failed", func() bool { return steps(entry(t, h), 1) == "compose ok, connect failed" })
	o.Open(t)
	until(t, "the mail is sent", func() bool { return entry(t, h).State == "sent" })
	if n := len(o.Texts()); n != 1 {
		t.Errorf("sent %d times", n)
	}
}

// What the desk sends again goes out under a cause of its own, with the link that
// counts now, in the holder's language; without mail or address the answer says what
// to do instead.
func TestALinkIsSentAgainWhenTheDeskAsks(t *testing.T) {
	t.Parallel()
	o, h, _ := start(t, true, nil)
	to := client.NewTickets{Category: h.Standard.Category, Language: "fr", Holder: &client.Holder{Name: "Marie", Email: "marie@example.net"}}
	one := h.Issue(h.Event.Event, to).Tickets[0].Ticket.String()
	until(t, "the first mail is sent", func() bool { return len(o.Texts()) == 1 })
	act := func(h *servertest.House, ticket, verb string) (client.ClaimLink, error) {
		return client.Do[client.ClaimLink](t.Context(), h.Admin, http.MethodPost, "/v1/tickets/"+ticket+"/"+verb, map[string]string{"reason": "lost"})
	}
	link, err := act(h, one, "reissue")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := act(h, one, "resend"); err != nil {
		t.Fatal(err)
	}
	until(t, "the second mail is sent", func() bool { return len(o.Texts()) == 2 })
	text, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(o.Texts()[1])))
	if err != nil || !strings.Contains(string(text), link.ClaimURL) || !strings.Contains(string(text), "Ouvrez ce lien") {
		t.Errorf("the second mail is %s (%v)", text, err)
	}

	nobody := h.Issue(h.Event.Event, client.NewTickets{Category: h.Standard.Category}).Tickets[0].Ticket.String()
	if _, err := act(h, nobody, "resend"); !client.IsProblem(err, "mail.no_address") {
		t.Errorf("without an address: %v", err)
	}
	quiet := servertest.NewHouse(t)
	if _, err := act(quiet, issue(quiet).Tickets[0].Ticket.String(), "resend"); !client.IsProblem(err, "mail.off") {
		t.Errorf("without mail: %v", err)
	}
}

// T18: a job that runs twice, and at once, sends once.
func TestAJobThatRunsTwiceAndInParallelSendsOnce(t *testing.T) {
	t.Parallel()
	o, h, _ := start(t, true, nil)
	issue(h)
	id := entry(t, h).Mail
	if _, err := h.Pool.Exec(t.Context(), `
INSERT INTO river_job (kind, args, max_attempts) SELECT 'send_mail', jsonb_build_object('mail', $1::text), 12 FROM generate_series(1, 20)`, id.String()); err != nil {
		t.Fatal(err)
	}
	until(t, "all jobs ended or wait for the one that sends", func() bool {
		var open int
		err := h.Pool.QueryRow(t.Context(), `SELECT count(*) FROM river_job WHERE state IN ('available', 'running', 'retryable')`).Scan(&open)
		return err == nil && open == 0 && entry(t, h).State == "sent"
	})
	if n := len(o.Texts()); n != 1 {
		t.Errorf("sent %d times", n)
	}
}
