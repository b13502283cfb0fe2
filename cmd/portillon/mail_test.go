package main

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// postOffice is a mail server that knows one user.
type postOffice struct{}

func (postOffice) NewSession(*smtp.Conn) (smtp.Session, error) { return postOffice{}, nil }
func (postOffice) AuthMechanisms() []string                    { return []string{sasl.Plain} }
func (postOffice) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "tickets" || password != "correct-horse" {
			return errors.New("credentials invalid")
		}
		return nil
	}), nil
}
func (postOffice) Reset()                               {}
func (postOffice) Logout() error                        { return nil }
func (postOffice) Mail(string, *smtp.MailOptions) error { return nil }
func (postOffice) Rcpt(string, *smtp.RcptOptions) error { return nil }
func (postOffice) Data(io.Reader) error                 { return errors.New("the doctor sends no mail") }

// The doctor connects and signs in like a mail would, and says what to do when that
// does not work.
func TestTheDoctorSaysWhetherMailWouldLeave(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	office := smtp.NewServer(postOffice{})
	office.Domain, office.AllowInsecureAuth = "localhost", true
	go func() { _ = office.Serve(listener) }()
	t.Cleanup(func() { _ = office.Close() })
	gone, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	port := func(l net.Listener) string { return strconv.Itoa(l.Addr().(*net.TCPAddr).Port) }
	there := "--smtp-host 127.0.0.1 --smtp-from tickets@example.org --smtp-port " + port(listener)
	user := " --smtp-user tickets --smtp-password "
	for flags, want := range map[string]finding{
		"": {State: stateWarn, Detail: "no mail server is given", Advice: "give --smtp-host"},
		there + " --smtp-tls none" + user + "battery-staple": {State: stateFail, Detail: "authenticate", Advice: "correct the --smtp- flags"},
		there + user + "x": {State: stateFail, Detail: "offers no STARTTLS", Advice: "correct the --smtp- flags"},
		there + " --smtp-tls none" + user + "correct-horse":                                               {State: stateOK, Detail: "answers"},
		"--smtp-host 127.0.0.1 --smtp-from tickets@example.org --smtp-tls none --smtp-port " + port(gone): {State: stateFail, Detail: "connect", Advice: "the mail server"},
		"--smtp-host 127.0.0.1 --smtp-tls none --smtp-port " + port(listener):                             {State: stateFail, Detail: "--smtp-from", Advice: "correct the --smtp- flags"},
	} {
		// No database is there; the line about mail is looked at alone.
		stdout, stderr, _ := shell(t, "", append([]string{"doctor", "--json", "--data", t.TempDir(), "--database-url", "postgres://127.0.0.1:1/none"}, strings.Fields(flags)...)...)
		var got finding
		for line := range strings.Lines(stdout) {
			var f finding
			if err := json.Unmarshal([]byte(line), &f); err != nil {
				t.Fatalf("%q: %v, %q, %q", flags, err, stdout, stderr)
			}
			if f.Check == "mail" {
				got = f
			}
		}
		if got.State != want.State || !strings.Contains(got.Detail, want.Detail) || !strings.Contains(got.Advice, want.Advice) {
			t.Errorf("%q: %+v, want %+v", flags, got, want)
		}
	}
}
