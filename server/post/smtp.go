package post

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail/smtp"
)

// TLS is how a connection to the mail server is protected.
type TLS string

// The policies. A password is never sent over a line that is not protected, except
// to this machine itself.
const (
	StartTLS TLS = "starttls" // by STARTTLS, or not at all (RFC 3207)
	Implicit TLS = "implicit" // from the first byte, port 465 (RFC 8314)
	NoTLS    TLS = "none"     // for a mail server on this machine
)

// Settings say how mails leave. Without a host none does.
type Settings struct {
	Host     string
	Port     int
	User     string // "" sends without signing in
	Password string
	From     string // "Portillon <tickets@example.org>"
	TLS      TLS
	Trust    *tls.Config // nil trusts whom the machine trusts
}

// The names of the steps, in their order.
const (
	stepCompose      = "compose"
	stepConnect      = "connect"
	stepStartTLS     = "starttls"
	stepAuthenticate = "authenticate"
	stepSend         = "send"
)

// deliverWithin bounds one attempt: RFC 5321 (4.5.3.2) allows ten minutes for one
// answer, but a holder who waits for a link does not.
const deliverWithin = time.Minute

func (s Settings) check() error {
	switch {
	case s.Port < 1 || s.Port > 65535:
		return fmt.Errorf("mail: %d is not a port; the usual ones are 587 (starttls) and 465 (implicit)", s.Port)
	case !slices.Contains([]TLS{StartTLS, Implicit, NoTLS}, s.TLS):
		return fmt.Errorf("mail: %q is not a way to protect the connection; give starttls, implicit or none", s.TLS)
	case s.From == "":
		return errors.New("mail: give the sender's address with --smtp-from")
	case s.User == "" && s.Password != "":
		return errors.New("mail: there is a password without a user; give --smtp-user")
	}
	if _, err := netmail.ParseAddress(s.From); err != nil {
		return fmt.Errorf("mail: --smtp-from is not an address: %w", err)
	}
	return nil
}

// failure is where and why a mail did not go out. Its text names no address.
type failure struct {
	step  string
	final bool // asking again gives the same answer
	cause error
}

func (f *failure) Error() string { return f.step + ": " + f.cause.Error() }
func (f *failure) Unwrap() error { return f.cause }

// watcher is told of each step when it has ended.
type watcher func(step string, took time.Duration, err error)

// line is a connection to the mail server.
type line struct {
	Settings
	*smtp.Client
	now   func() time.Time
	watch watcher
}

// step takes one step and tells the watcher.
func (l *line) step(name string, do func() error) error {
	begun := l.now()
	err := do()
	l.watch(name, l.now().Sub(begun), err)
	if err != nil {
		return &failure{step: name, cause: err}
	}
	return nil
}

// dial connects and signs in. The connection ends with the context.
func (s Settings) dial(ctx context.Context, now func() time.Time, watch watcher) (*line, error) {
	l := &line{Settings: s, now: now, watch: watch}
	if err := l.step(stepConnect, func() error { return l.connect(ctx) }); err != nil {
		return nil, err
	}
	if s.TLS == StartTLS {
		if err := l.step(stepStartTLS, l.startTLS); err != nil {
			_ = l.Close()
			return nil, err
		}
	}
	if s.User != "" {
		if err := l.step(stepAuthenticate, l.authenticate); err != nil {
			_ = l.Close()
			return nil, err
		}
	}
	return l, nil
}

func (l *line) connect(ctx context.Context) error {
	address := net.JoinHostPort(l.Host, strconv.Itoa(l.Port))
	var conn net.Conn
	var err error
	if l.TLS == Implicit {
		conn, err = (&tls.Dialer{Config: l.trust()}).DialContext(ctx, "tcp", address)
	} else {
		conn, err = new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	if l.Client, err = smtp.NewClient(conn, l.Host); err != nil {
		_ = conn.Close()
		return fmt.Errorf("no greeting: %w", err)
	}
	if err := l.Hello(l.domain()); err != nil {
		_ = l.Close()
		return fmt.Errorf("EHLO: %w", err)
	}
	return nil
}

// domain is whom we say to be (RFC 5321, 4.1.1.1). The name of this machine is often
// none that a mail server knows; the sender's is one.
func (s Settings) domain() string {
	from, err := netmail.ParseAddress(s.From)
	if err != nil {
		return "localhost"
	}
	_, domain, _ := strings.Cut(from.Address, "@")
	return domain
}

func (l *line) trust() *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if l.Trust != nil {
		config = l.Trust.Clone()
	}
	config.ServerName = l.Host
	return config
}

func (l *line) startTLS() error {
	if ok, _ := l.Extension("STARTTLS"); !ok {
		return errors.New("the mail server offers no STARTTLS; use its port with TLS (--smtp-tls implicit), or --smtp-tls none for a server on this machine")
	}
	return l.StartTLS(l.trust())
}

func (l *line) authenticate() error {
	ok, offered := l.Extension("AUTH")
	if !ok {
		return errors.New("the mail server lets nobody sign in; leave --smtp-user out, or use its port for submission")
	}
	ways := strings.Fields(offered)
	switch {
	case slices.Contains(ways, "PLAIN"):
		return l.Auth(smtp.PlainAuth("", l.User, l.Password, l.Host, false))
	case slices.Contains(ways, "LOGIN"):
		return l.Auth(smtp.LoginAuth(l.User, l.Password, l.Host, false))
	}
	return fmt.Errorf("the mail server offers %s, of which we know none (PLAIN, LOGIN)", offered)
}

// send hands the text over. After an error nobody knows whether it was taken only
// when the line broke after the last byte.
func (l *line) send(from, to string, text []byte) error {
	err := l.step(stepSend, func() error { return l.transfer(from, to, text) })
	var failed *failure
	var answer *textproto.Error
	if errors.As(err, &failed) && errors.As(err, &answer) {
		failed.final = answer.Code >= 500 // RFC 5321, 4.2.1
	}
	_ = l.Quit() // the text is taken or not by now
	return err
}

func (l *line) transfer(from, to string, text []byte) error {
	if err := l.Mail(from); err != nil {
		return fmt.Errorf("sender refused: %w", err)
	}
	if err := l.Rcpt(to); err != nil {
		return fmt.Errorf("recipient refused: %w", err)
	}
	body, err := l.Data()
	if err != nil {
		return fmt.Errorf("text refused: %w", err)
	}
	if _, err := body.Write(text); err != nil {
		return fmt.Errorf("text: %w", err)
	}
	if err := body.Close(); err != nil {
		return fmt.Errorf("text refused: %w", err)
	}
	return nil
}

// Check connects and signs in, and sends nothing. The error begins with the step
// that failed.
func (s Settings) Check(ctx context.Context, now func() time.Time) error {
	if err := s.check(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, deliverWithin/4)
	defer cancel()
	l, err := s.dial(ctx, now, func(string, time.Duration, error) {})
	if err != nil {
		return err
	}
	return l.Quit()
}
