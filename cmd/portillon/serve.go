package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"portillon/server"
	"portillon/server/challenge"
)

// How long a stop may take: streams are told to reconnect elsewhere, then
// requests that are being answered end.
const (
	streamsEndWithin  = 3 * time.Second
	requestsEndWithin = 10 * time.Second
)

type serveFlags struct {
	databaseFlags
	mailFlags
	Listen        string   `help:"Address of the API and the pages." default:"127.0.0.1:8080" env:"PORTILLON_LISTEN" placeholder:"HOST:PORT"`
	MetricsListen string   `help:"Address of /metrics, for Prometheus; \"\" for none." default:"127.0.0.1:9464" env:"PORTILLON_METRICS_LISTEN" placeholder:"HOST:PORT"`
	PublicURL     string   `help:"What links begin with: the address that phones reach. Without it: made from --listen." env:"PORTILLON_PUBLIC_URL" placeholder:"URL"`
	TLSCert       string   `name:"tls-cert" help:"Certificate file (PEM), when no proxy in front does TLS." env:"PORTILLON_TLS_CERT" type:"existingfile" placeholder:"FILE"`
	TLSKey        string   `name:"tls-key" help:"The certificate's key file (PEM)." env:"PORTILLON_TLS_KEY" type:"existingfile" placeholder:"FILE"`
	TrustedProxy  []string `help:"Network of a proxy whose X-Forwarded-For is believed, as in 10.0.0.0/8; several with commas." env:"PORTILLON_TRUSTED_PROXY" placeholder:"CIDR"`
	AttemptsKept  int      `help:"Days for which every scan stays in the log of attempts; 0 for ever." default:"400" env:"PORTILLON_ATTEMPTS_KEPT" placeholder:"DAYS"`
	LogFormat     string   `help:"Form of the log on standard error." default:"text" enum:"text,json" env:"PORTILLON_LOG_FORMAT"`
	LogLevel      string   `help:"Least level that is logged." default:"${log_level}" enum:"debug,info,warn,error" env:"PORTILLON_LOG_LEVEL"`
}

type serveCommand struct {
	serveFlags
}

// Help is the long form of the command's help.
func (serveCommand) Help() string {
	return `Starts its own PostgreSQL in the data folder unless --database-url names one,
brings the schema up to date, and serves the API, the three pages (/w, /gate,
/desk) and, on an address of its own, /metrics.

Phones need HTTPS to use their camera and to keep keys: give --tls-cert and
--tls-key, or put a proxy with TLS in front and give --public-url.

The first person is made with "portillon staff add --role admin".

SIGINT or SIGTERM stops in order; a second one at once.`
}

// site is a server that is up.
type site struct {
	*server.Server
	db         *database
	url        string
	metricsURL string
}

// Run serves until the context ends.
func (s *serveCommand) Run(ctx context.Context, out *console) error {
	return s.serve(ctx, out, func(ctx context.Context, up *site) error {
		if out.json {
			return out.object(struct {
				URL        string `json:"url"`
				MetricsURL string `json:"metrics_url,omitempty"`
			}{up.url, up.metricsURL})
		}
		out.note("Portillon serves %s", up.url)
		return s.tellFirstStep(ctx, out, up)
	})
}

// hasAdmin: somebody may do everything, somewhere.
func (db *database) hasAdmin(ctx context.Context) (has bool, err error) {
	err = db.Pool.QueryRow(ctx, `
SELECT EXISTS (SELECT FROM person_roles r JOIN people p ON p.id = r.person_id
               WHERE r.role = 'admin' AND p.disabled_at IS NULL)`).Scan(&has)
	if err != nil {
		return false, fmt.Errorf("look for an admin: %w", err)
	}
	return has, nil
}

// tellFirstStep: without an admin nobody can do anything at the desk.
func (s *serveCommand) tellFirstStep(ctx context.Context, out *console, up *site) error {
	admins, err := up.db.hasAdmin(ctx)
	if err != nil {
		return err
	}
	if !admins {
		out.note("There is no admin yet. In another shell:\n\n    portillon staff add --data %s --role admin --name \"Your Name\" --email you@example.org\n\nIt prints a link that signs you in at the desk.", up.db.folder.path)
	}
	return nil
}

// serve brings everything up, in this order: the address (so that one that is
// taken is known at once), the database, the server, the first answer; then
// calls ready, and takes everything down when the context ends.
func (f serveFlags) serve(ctx context.Context, out *console, ready func(context.Context, *site) error) error {
	log, err := f.logger(out.err)
	if err != nil {
		return err
	}
	proxies, err := networks(f.TrustedProxy)
	if err != nil {
		return err
	}
	if f.AttemptsKept < 0 {
		return usage("--attempts-kept: %d is less than no day; 0 keeps them for ever", f.AttemptsKept)
	}
	mail, err := f.settings()
	if err != nil {
		return err
	}
	web, err := f.listen(ctx, f.Listen, true)
	if err != nil {
		return err
	}
	defer func() { _ = web.Close() }()
	metrics, err := f.listen(ctx, f.MetricsListen, false)
	if err != nil {
		return err
	}
	if metrics != nil {
		defer func() { _ = metrics.Close() }()
	}
	db, err := f.open(ctx, log, true)
	if err != nil {
		return err
	}
	defer db.close(ctx)
	if err := db.migrate(ctx, log); err != nil {
		return err
	}
	door, err := server.OpenDoor(ctx, db.URL)
	if err != nil {
		return err
	}
	defer door.Close()
	up := &site{db: db, url: f.publicURL(web.Addr())}
	if up.Server, err = db.server(ctx, f.databaseFlags, server.Options{
		DoorPool: door, PublicURL: up.url, Log: log, TrustedProxies: proxies, AttemptsKept: f.AttemptsKept,
		Mail: mail, MailJournal: db.folder.file("mail"),
	}); err != nil {
		return err
	}
	if err := up.Start(ctx); err != nil {
		return err
	}
	if metrics != nil {
		up.metricsURL = "http://" + metrics.Addr().String() + "/metrics"
	}
	if err := db.folder.announce(running{PID: os.Getpid(), URL: up.url, DatabaseURL: db.URL}); err != nil {
		return err
	}
	defer db.folder.withdraw()
	return up.run(ctx, log, web, metrics, ready)
}

func (u *site) run(ctx context.Context, log *slog.Logger, web, metrics net.Listener, ready func(context.Context, *site) error) error {
	failed := make(chan error, 2)
	pages := newHTTPServer(u.Handler(), log)
	go func() { failed <- pages.Serve(web) }()
	watch := newHTTPServer(metricsOnly(u.Metrics()), log)
	if metrics != nil {
		go func() { failed <- watch.Serve(metrics) }()
	}
	err := ready(ctx, u)
	if err == nil {
		select {
		case <-ctx.Done():
			log.Info("stopping")
		case err = <-failed:
		case <-u.db.died():
			err = errors.New("PostgreSQL ended by itself; its log is above")
		}
	}
	return errors.Join(ignore(err, http.ErrServerClosed, context.Canceled), u.stop(ctx, pages, watch))
}

// stop ends streams first: a wallet that loses its stream reconnects elsewhere
// while requests here are still answered.
func (u *site) stop(ctx context.Context, servers ...*http.Server) error {
	ctx = context.WithoutCancel(ctx)
	brief, cancel := context.WithTimeout(ctx, streamsEndWithin)
	err := u.Close(brief)
	cancel()
	ctx, cancel = context.WithTimeout(ctx, requestsEndWithin)
	defer cancel()
	for _, server := range servers {
		err = errors.Join(err, server.Shutdown(ctx))
	}
	return err
}

func ignore(err error, harmless ...error) error {
	for _, h := range harmless {
		if errors.Is(err, h) {
			return nil
		}
	}
	return err
}

func newHTTPServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 32 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

func metricsOnly(metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	return mux
}

// listen opens an address; nil for none.
func (f serveFlags) listen(ctx context.Context, address string, secure bool) (net.Listener, error) {
	if address == "" && !secure {
		return nil, nil
	}
	config := net.ListenConfig{Control: challenge.ListenControl}
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%w (choose another address with --listen or --metrics-listen)", err)
	}
	if !secure || f.TLSCert == "" && f.TLSKey == "" {
		return listener, nil
	}
	pair, err := tls.LoadX509KeyPair(f.TLSCert, f.TLSKey)
	if err != nil {
		_ = listener.Close()
		return nil, fmt.Errorf("TLS: %w (give both --tls-cert and --tls-key)", err)
	}
	return tls.NewListener(listener, &tls.Config{
		Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
	}), nil
}

// publicURL is the one given, or made from the address that is listened on; one
// that means every address of the machine becomes localhost.
func (f serveFlags) publicURL(listened net.Addr) string {
	if f.PublicURL != "" {
		return strings.TrimRight(f.PublicURL, "/")
	}
	scheme := "http"
	if f.TLSCert != "" {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(listened.String())
	if err != nil {
		return scheme + "://" + listened.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

func networks(texts []string) (all []*net.IPNet, err error) {
	for _, text := range texts {
		_, network, err := net.ParseCIDR(text)
		if err != nil {
			return nil, usage("--trusted-proxy: %w", err)
		}
		all = append(all, network)
	}
	return all, nil
}

func (f serveFlags) logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.LogLevel)); err != nil {
		return nil, usage("--log-level: %w", err)
	}
	options := &slog.HandlerOptions{Level: level}
	if f.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return slog.New(slog.NewTextHandler(w, options)), nil
}
