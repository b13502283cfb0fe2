package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"time"

	"portillon/server/post"
)

// mailFlags say how mails leave.
type mailFlags struct {
	SMTPHost     string `name:"smtp-host" help:"Server through which mails leave; without it none does, and links are handed over at the desk." env:"PORTILLON_SMTP_HOST" placeholder:"HOST"`
	SMTPPort     int    `name:"smtp-port" help:"Its port: 587 for starttls, 465 for implicit." default:"587" env:"PORTILLON_SMTP_PORT" placeholder:"PORT"`
	SMTPUser     string `name:"smtp-user" help:"Whom to sign in as; without it nobody signs in." env:"PORTILLON_SMTP_USER" placeholder:"USER"`
	SMTPPassword string `name:"smtp-password" help:"The user's password; better given by PORTILLON_SMTP_PASSWORD_FILE." env:"PORTILLON_SMTP_PASSWORD" secret:"" placeholder:"PASSWORD"`
	SMTPFrom     string `name:"smtp-from" help:"The sender, as in 'Theatre <tickets@example.org>'." env:"PORTILLON_SMTP_FROM" placeholder:"ADDRESS"`
	SMTPTLS      string `name:"smtp-tls" help:"How the connection is protected: starttls, implicit (from the first byte), or none (for a server on this machine)." default:"starttls" enum:"starttls,implicit,none" env:"PORTILLON_SMTP_TLS"`
	SMTPCA       string `name:"smtp-ca" help:"Certificates (PEM) that vouch for the mail server, beside those of this machine." env:"PORTILLON_SMTP_CA" type:"existingfile" placeholder:"FILE"`
}

func (f mailFlags) settings() (post.Settings, error) {
	s := post.Settings{Host: f.SMTPHost, Port: f.SMTPPort, User: f.SMTPUser, Password: f.SMTPPassword, From: f.SMTPFrom, TLS: post.TLS(f.SMTPTLS)}
	if f.SMTPCA == "" {
		return s, nil
	}
	text, err := os.ReadFile(f.SMTPCA)
	if err != nil {
		return s, usage("--smtp-ca: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(text) {
		return s, usage("--smtp-ca: there is no certificate in %s", f.SMTPCA)
	}
	s.Trust = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return s, nil
}

// checkMail connects and signs in like a mail would, and sends none.
func (f mailFlags) checkMail(ctx context.Context) finding {
	s, err := f.settings()
	if err != nil {
		return fine("mail", "%v", err).but(stateFail, "correct the flag")
	}
	if s.Host == "" {
		return fine("mail", "no mail server is given").but(stateWarn, "give --smtp-host, or hand links over at the desk")
	}
	if err := s.Check(ctx, time.Now); err != nil {
		return fine("mail", "%s:%d: %v", s.Host, s.Port, err).but(stateFail, "correct the --smtp- flags, or the mail server")
	}
	return fine("mail", "%s:%d answers", s.Host, s.Port)
}
