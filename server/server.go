package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"

	"portillon/nonce"
	"portillon/server/admit"
	"portillon/server/challenge"
	"portillon/server/claim"
	"portillon/server/issue"
	"portillon/server/keyring"
	"portillon/server/locale"
	"portillon/server/news"
	"portillon/server/offline"
	"portillon/server/pg"
	mails "portillon/server/post"
	"portillon/server/problem"
	"portillon/server/report"
	"portillon/server/seal"
	"portillon/server/session"
	"portillon/server/ticket"
)

// Options is all that a server needs from outside.
type Options struct {
	Pool *pgxpool.Pool
	// DoorPool is for scans alone: the planner has other settings there, and nothing
	// that the desk does takes its connections. Without it they share Pool.
	DoorPool    *pgxpool.Pool
	DatabaseURL string           // for the connection that listens for news
	OperatorKey []byte           // seal.KeySize bytes
	PublicURL   string           // what links begin with, without a slash at the end
	Log         *slog.Logger     //
	Now         func() time.Time // only for how long things take
	// TrustedProxies are the networks whose X-Forwarded-For is believed; none is
	// the rule without a proxy.
	TrustedProxies []*net.IPNet
	// ScansPerSecond is the pace of one credential: 0 is the usual one, and a
	// negative one none at all.
	ScansPerSecond float64
	// Plain judges every scan in a transaction of its own, see admit.Options.
	Plain bool
	// Judge takes the place of the decision about scans, to measure what is around
	// it; nil is the product.
	Judge admit.Judge
	// Mail says how mails leave, and MailJournal in which folder the daily journal of
	// their steps is; "" is none. MailRetry is for tests that do not wait.
	Mail        mails.Settings
	MailJournal string
	MailRetry   func(attempt int) time.Duration
	// AttemptsKept is for how many days (UTC) the log of attempts is kept; 0 is for ever.
	AttemptsKept int
}

// Server is the whole product behind one http.Handler.
type Server struct {
	Session   *session.Service
	Issue     *issue.Service
	Claim     *claim.Service
	Challenge *challenge.Service
	Nonces    *nonce.Service
	Door      *admit.Service
	Offline   *offline.Service
	Report    *report.Service
	Post      *mails.Service
	Keys      *keyring.Ring
	Box       *seal.Box

	pool    *pgxpool.Pool
	hub     *news.Hub
	text    *locale.Catalogue
	metrics *metrics
	echo    *echo.Echo
	log     *slog.Logger
	now     func() time.Time
	judge   admit.Judge
	kept    int // days of attempts; 0: for ever

	closing context.CancelFunc
	jobs    sync.WaitGroup
}

// New builds the server. The schema must be up to date. Nothing runs yet but
// what Start begins.
func New(ctx context.Context, o Options) (*Server, error) {
	s := &Server{pool: o.Pool, log: o.Log, now: o.Now, judge: o.Judge, kept: o.AttemptsKept, closing: func() {}}
	o.PublicURL = strings.TrimSuffix(o.PublicURL, "/")
	var err error
	if s.text, err = locale.Load(); err != nil {
		return nil, err
	}
	if s.Box, err = seal.New(o.OperatorKey); err != nil {
		return nil, err
	}
	if s.Keys, err = keyring.Open(ctx, o.Pool, s.Box); err != nil {
		return nil, err
	}
	s.hub = news.New(o.Pool, o.DatabaseURL, o.Log)
	s.Session = session.New(o.Pool, s.Box, o.PublicURL, o.Now, o.Log) //nolint:contextcheck // devices are looked up for many requests at once
	s.Nonces = nonce.New(o.Pool)
	if s.Post, err = mails.New(mails.Options{
		Pool: o.Pool, Keys: s.Keys, Text: s.text, PublicURL: o.PublicURL,
		SMTP: o.Mail, Journal: o.MailJournal, Log: o.Log, Now: o.Now, RetryAfter: o.MailRetry,
		MoveDigits: func(move uuid.UUID) string { return claim.MoveDigits(s.Box, move) },
		NotMeCode:  func(move uuid.UUID) string { return claim.NotMeCode(s.Box, move) },
		Ended:      func(outcome string) { s.metrics.mails.WithLabelValues(outcome).Inc() },
	}); err != nil {
		return nil, err
	}
	s.Issue = issue.New(o.Pool, s.Keys, s.Post, s.tell, o.PublicURL)
	s.Claim = claim.New(o.Pool, s.hub, s.Box, s.Post, o.PublicURL)
	s.Challenge = challenge.New(o.Pool, s.Nonces, s.hub, o.Log, o.Now)
	s.metrics = newMetrics(o.Pool, s.Challenge.Streams, func() int { return s.Door.Waiting() })
	s.Door = admit.New(admit.Options{
		Pool: cmp.Or(o.DoorPool, o.Pool), Keys: s.Keys.IssuerKey, Hash: s.hashShort, Hub: s.hub, Meter: s.metrics,
		Log: o.Log, Now: o.Now, OneTime: s.openOneTime, Plain: o.Plain,
	})
	s.Offline = offline.New(offline.Options{
		Pool: cmp.Or(o.DoorPool, o.Pool), Door: s.Door, Box: s.Box, Meter: s.metrics, Log: o.Log, Now: o.Now,
	})
	s.Report = report.New(o.Pool)
	s.echo = s.router(o) //nolint:contextcheck // each request brings its own
	return s, nil
}

// OpenDoor opens a pool for Options.DoorPool, which is the caller's to close.
func OpenDoor(ctx context.Context, databaseURL string) (*pgxpool.Pool, error) {
	pool, err := pg.Open(ctx, databaseURL, admit.PoolOptions())
	if err != nil {
		return nil, fmt.Errorf("open the door's connections: %w", err)
	}
	return pool, nil
}

func (s *Server) router(o Options) *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.IPExtractor = echo.ExtractIPDirect()
	if len(o.TrustedProxies) > 0 {
		trust := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
		for _, network := range o.TrustedProxies {
			trust = append(trust, echo.TrustIPRange(network))
		}
		e.IPExtractor = echo.ExtractIPFromXFFHeader(trust...)
	}
	e.HTTPErrorHandler = problem.Handler(o.Log, classify)
	e.Use(requestID, record(o.Log, s.metrics, o.Now), recovered(o.Log), prompt(o.Now))
	routes, paces := s.Routes(), newPaces(o.ScansPerSecond, o.Now)
	for _, r := range routes {
		// Who asks is looked up for calls only: the pages must open without a database.
		identify := s.Session.Identify()
		if r.Path == scanPath && o.Judge == nil {
			identify = s.Session.IdentifyLately() // the act itself reads who it is
		}
		if r.Path == batchPath {
			identify = s.Session.IdentifyHandingIn()
		}
		chain := []echo.MiddlewareFunc{identify, allow(r.Right)}
		if pace := paces[r.Path]; pace != nil {
			chain = append(chain, pace.keep)
		}
		e.Add(r.Method, r.Path, r.handler, chain...)
	}
	e.GET("/healthz", func(c echo.Context) error { return c.JSON(http.StatusOK, map[string]string{"status": "ok"}) })
	e.GET("/readyz", s.ready)
	e.GET("/.well-known/jwks.json", func(c echo.Context) error { return c.JSON(http.StatusOK, s.Keys.JWKS()) })
	mountPages(e)
	mountReference(e, routes)
	return e
}

// ready answers whether this process can decide: its database answers and its
// keys are open.
func (s *Server) ready(c echo.Context) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), time.Second)
	defer cancel()
	if err := s.pool.Ping(ctx); err != nil {
		return again("database.unavailable", "the database does not answer; see the server's log").With(err)
	}
	return c.JSON(http.StatusOK, map[string]string{"status": "ready"})
}

// Handler serves the API and the pages.
func (s *Server) Handler() http.Handler { return s.echo }

// Metrics serves what an operator watches, on an address of its own.
func (s *Server) Metrics() http.Handler { return s.metrics.handler() }

// Start begins what runs in the background until Close.
func (s *Server) Start(ctx context.Context) error {
	s.prepareDays(ctx)
	if err := s.Post.Start(ctx); err != nil {
		return err
	}
	ctx, s.closing = context.WithCancel(context.WithoutCancel(ctx))
	s.run(func() { s.hub.Run(ctx) })
	s.run(func() { s.daily(ctx) })
	return nil
}

func (s *Server) run(job func()) {
	s.jobs.Add(1)
	go func() {
		defer s.jobs.Done()
		job()
	}()
}

// daily keeps the days of attempts ahead, and drops the old ones. It runs each hour,
// so that a server that was asleep catches up.
func (s *Server) daily(ctx context.Context) {
	hourly := time.NewTicker(time.Hour)
	defer hourly.Stop()
	s.dropDays(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hourly.C:
			s.prepareDays(ctx)
			s.dropDays(ctx)
		}
	}
}

// dropDays leaves what it could not drop to the next hour.
func (s *Server) dropDays(ctx context.Context) {
	done, err := s.Door.DropDays(ctx, s.kept)
	if done != (admit.Dropped{}) {
		s.log.InfoContext(ctx, "old attempts were dropped", "days", done.Days, "rows", done.Rows, "attempts_kept", s.kept)
	}
	if err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "old attempts could not be dropped; the next hour tries again", "error", err.Error())
	}
}

// prepareDays does without: attempts of a day that was not prepared lie in the
// default partition.
func (s *Server) prepareDays(ctx context.Context) {
	if err := s.Door.PrepareDays(ctx); err != nil {
		s.log.WarnContext(ctx, "the days of the log of attempts could not be prepared; the next hour tries again", "error", err.Error())
	}
}

// Close ends streams first, so that wallets reconnect elsewhere, then the jobs.
// The caller shuts its http.Server down afterwards: open streams would hold it.
func (s *Server) Close(ctx context.Context) error {
	err := errors.Join(s.Challenge.Shutdown(ctx), s.Post.Close(ctx))
	s.closing()
	s.jobs.Wait()
	return err
}

// hashShort is the keyed hash of a short code.
func (s *Server) hashShort(venue [16]byte, digits string) []byte {
	return seal.Hash(s.Box.Secret("short code "+digits, venue))
}

// openOneTime opens the secret of a claim's one-time codes.
func (s *Server) openOneTime(id ticket.ID, generation uint8, sealed []byte) ([]byte, error) {
	return claim.OpenTOTP(s.Box, id, generation, sealed)
}

// tell passes on what an admin did to a ticket.
func (s *Server) tell(ctx context.Context, id ticket.ID, what string) {
	s.hub.Publish(ctx, news.Item{Ticket: id, What: news.What(what)})
}
