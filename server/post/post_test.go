package post_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"portillon/server/client"
	"portillon/server/post"
	"portillon/server/servertest"
)

const password = "correct horse"

// office is a real mail server on a port of its own.
type office struct {
	address string
	secure  *tls.Config // of the server
	server  *smtp.Server

	mu     sync.Mutex
	taken  []string
	refuse atomic.Bool // no recipient is known
}

func (o *office) NewSession(*smtp.Conn) (smtp.Session, error) { return &visit{office: o}, nil }

func (o *office) texts() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.taken...)
}

type visit struct{ office *office }

func (v *visit) AuthMechanisms() []string { return []string{sasl.Plain} }

func (v *visit) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, given string) error {
		if user != "tickets" || given != password {
			return &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "Authentication credentials invalid"}
		}
		return nil
	}), nil
}
func (v *visit) Reset()                               {}
func (v *visit) Logout() error                        { return nil }
func (v *visit) Mail(string, *smtp.MailOptions) error { return nil }
func (v *visit) Rcpt(to string, _ *smtp.RcptOptions) error {
	if v.office.refuse.Load() {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user " + to}
	}
	return nil
}

func (v *visit) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	v.office.mu.Lock()
	v.office.taken = append(v.office.taken, string(text))
	v.office.mu.Unlock()
	return err
}

// opened serves mail at the address, or at any; secure offers STARTTLS.
func opened(t *testing.T, o *office, address string, secure bool) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	o.address, o.server = listener.Addr().String(), smtp.NewServer(o)
	o.server.Domain, o.server.AllowInsecureAuth = "localhost", !secure
	if secure {
		o.server.TLSConfig = o.secure
	}
	go func() { _ = o.server.Serve(listener) }()
	t.Cleanup(func() { _ = o.server.Close() })
}

// start opens an office, and a house whose server sends its mails there.
func start(t *testing.T, secure bool, change func(*post.Settings)) (*office, *servertest.House, string) {
	t.Helper()
	web := httptest.NewTLSServer(nil) // for its certificate, which is good for 127.0.0.1
	t.Cleanup(web.Close)
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate())
	o := &office{secure: &tls.Config{Certificates: web.TLS.Certificates, MinVersion: tls.VersionTLS12}}
	opened(t, o, "127.0.0.1:0", secure)
	journal := t.TempDir()
	host, port, err := net.SplitHostPort(o.address)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	s := post.Settings{
		Host: host, Port: number, User: "tickets", Password: password, From: "Odéon <tickets@example.org>", TLS: post.StartTLS,
		Trust: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
	}
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
	text, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(o.texts()[0])))
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
			o.refuse.Store(c.refuse)
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
			if len(o.texts()) > 0 {
				t.Error("a mail went out")
			}
		})
	}
}

func TestAServerThatWasAwayGetsTheMailOnceItIsBack(t *testing.T) {
	t.Parallel()
	o, h, _ := start(t, true, nil)
	_ = o.server.Close()
	issue(h)
	until(t, "an attempt failed", func() bool { return steps(entry(t, h), 1) == "compose ok, connect failed" })
	opened(t, o, o.address, true)
	until(t, "the mail is sent", func() bool { return entry(t, h).State == "sent" })
	if n := len(o.texts()); n != 1 {
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
	until(t, "the first mail is sent", func() bool { return len(o.texts()) == 1 })
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
	until(t, "the second mail is sent", func() bool { return len(o.texts()) == 2 })
	text, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(o.texts()[1])))
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
	if n := len(o.texts()); n != 1 {
		t.Errorf("sent %d times", n)
	}
}
