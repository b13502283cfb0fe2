package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"portillon/server/offline"
	"portillon/server/ticket"
)

// metrics is what an operator watches. Labels are routes, reasons and gate ids:
// never a code, a token, an address or a person.
type metrics struct {
	registry     *prometheus.Registry
	scans        *prometheus.CounterVec
	scanSeconds  *prometheus.HistogramVec
	attemptsLost prometheus.Counter
	uploads      *prometheus.CounterVec
	mails        *prometheus.CounterVec
	requests     *prometheus.CounterVec
	seconds      *prometheus.HistogramVec
}

var scanBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2, 3}

func newMetrics(pool *pgxpool.Pool, streams, waiting func() int) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		scans: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portillon_scans_total", Help: "Scans that were decided, by reason, class and gate.",
		}, []string{"reason", "class", "gate"}),
		scanSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "portillon_scan_seconds", Help: "From the arrival of a scan to its commit.", Buckets: scanBuckets,
		}, []string{"class"}),
		attemptsLost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "portillon_attempts_lost_total", Help: "Scans whose log row could not be written. Anything above zero wants a look.",
		}),
		uploads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portillon_offline_scans_total",
			Help: "Scans without network that devices handed in, by verdict. A retry that grows is one that nobody can decide: see the log.",
		}, []string{"verdict"}),
		mails: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portillon_mails_total", Help: "Attempts to send a mail, by outcome: sent, failed for good, or waiting for the next attempt.",
		}, []string{"outcome"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portillon_http_requests_total", Help: "Answers by route, method and status.",
		}, []string{"route", "method", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "portillon_http_seconds", Help: "Time to answer by route, streams excepted.", Buckets: scanBuckets,
		}, []string{"route"}),
	}
	m.registry.MustRegister(m.scans, m.scanSeconds, m.attemptsLost, m.uploads, m.mails, m.requests, m.seconds,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	gauge := func(name, help string, read func() float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
	}
	gauge("portillon_wallet_streams", "Wallet pages that are following the nonce now.", func() float64 { return float64(streams()) })
	gauge("portillon_scans_waiting", "Scans that wait for the transaction before theirs.", func() float64 { return float64(waiting()) })
	gauge("portillon_database_connections", "Open connections to the database.", func() float64 { return float64(pool.Stat().TotalConns()) })
	gauge("portillon_database_connections_busy", "Connections in use.", func() float64 { return float64(pool.Stat().AcquiredConns()) })
	gauge("portillon_database_connections_max", "The pool's limit.", func() float64 { return float64(pool.Stat().MaxConns()) })
	return m
}

// Scan counts a decided scan.
func (m *metrics) Scan(reason ticket.Reason, class ticket.Class, gate ticket.GateID, took time.Duration) {
	m.scans.WithLabelValues(string(reason), string(class), gate.String()).Inc()
	m.scanSeconds.WithLabelValues(string(class)).Observe(took.Seconds())
}

// AttemptLost counts a log row that could not be written.
func (m *metrics) AttemptLost() { m.attemptsLost.Inc() }

// Uploaded counts a scan that was handed in afterwards.
func (m *metrics) Uploaded(verdict offline.Verdict) { m.uploads.WithLabelValues(string(verdict)).Inc() }

func (m *metrics) answered(route, method string, status int, took time.Duration, stream bool) {
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	if !stream {
		m.seconds.WithLabelValues(route).Observe(took.Seconds())
	}
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
