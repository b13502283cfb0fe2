package servertest

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	mails "portillon/server/post"
)

const mailPassword = "correct horse"

// Office is a real mail server on a port of its own, which keeps what it takes.
type Office struct {
	Refuse atomic.Bool // no recipient is known

	secure  *tls.Config // nil: it offers no STARTTLS
	roots   *x509.CertPool
	address string
	server  *smtp.Server

	mu    sync.Mutex
	taken []string
}

// NewOffice opens an office. A secure one offers STARTTLS.
func NewOffice(t testing.TB, secure bool) *Office {
	t.Helper()
	web := httptest.NewTLSServer(nil) // for its certificate, which is good for 127.0.0.1
	t.Cleanup(web.Close)
	o := &Office{roots: x509.NewCertPool(), address: "127.0.0.1:0"}
	o.roots.AddCert(web.Certificate())
	if secure {
		o.secure = &tls.Config{Certificates: web.TLS.Certificates, MinVersion: tls.VersionTLS12}
	}
	o.Open(t)
	return o
}

// Open serves mail, at the same address when it was shut before.
func (o *Office) Open(t testing.TB) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", o.address)
	if err != nil {
		t.Fatal(err)
	}
	o.address, o.server = listener.Addr().String(), smtp.NewServer(o)
	o.server.Domain, o.server.AllowInsecureAuth, o.server.TLSConfig = "localhost", o.secure == nil, o.secure
	go func() { _ = o.server.Serve(listener) }()
	t.Cleanup(o.Shut)
}

// Shut ends the server, and what is under way.
func (o *Office) Shut() { _ = o.server.Close() }

// Settings are those by which mails come here: by STARTTLS, signed in.
func (o *Office) Settings() mails.Settings {
	host, port, _ := net.SplitHostPort(o.address)
	number, err := net.LookupPort("tcp", port)
	if err != nil {
		panic(err) // a port that was listened at
	}
	return mails.Settings{
		Host: host, Port: number, User: "tickets", Password: mailPassword, From: "Odéon <tickets@example.org>", TLS: mails.StartTLS,
		Trust: &tls.Config{RootCAs: o.roots, MinVersion: tls.VersionTLS12},
	}
}

// Texts are the mails that were taken, as they came over the line.
func (o *Office) Texts() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.taken...)
}

// Bodies are the mails that were taken for this address, as their reader sees them.
func (o *Office) Bodies(t testing.TB, to string) (bodies []string) {
	t.Helper()
	for _, text := range o.Texts() {
		head, body, _ := strings.Cut(text, "\r\n\r\n")
		if !strings.Contains(head, to) {
			continue
		}
		plain, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(body)))
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, string(plain))
	}
	return bodies
}

// NewSession takes one connection.
func (o *Office) NewSession(*smtp.Conn) (smtp.Session, error) { return &visit{office: o}, nil }

type visit struct{ office *Office }

// AuthMechanisms offers to take a password.
func (v *visit) AuthMechanisms() []string { return []string{sasl.Plain} }

// Auth takes the one user that there is.
func (v *visit) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, given string) error {
		if user != "tickets" || given != mailPassword {
			return &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "Authentication credentials invalid"}
		}
		return nil
	}), nil
}

// Reset forgets nothing: there is nothing to forget.
func (v *visit) Reset() {}

// Logout ends the visit.
func (v *visit) Logout() error { return nil }

// Mail takes any sender.
func (v *visit) Mail(string, *smtp.MailOptions) error { return nil }

// Rcpt takes any recipient, unless the office refuses.
func (v *visit) Rcpt(to string, _ *smtp.RcptOptions) error {
	if v.office.Refuse.Load() {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user " + to}
	}
	return nil
}

// Data keeps the text.
func (v *visit) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	v.office.mu.Lock()
	v.office.taken = append(v.office.taken, string(text))
	v.office.mu.Unlock()
	return err
}
