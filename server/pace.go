package server

import (
	"math"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
	"golang.org/x/time/rate"

	"portillon/server/fault"
	"portillon/server/session"
)

// Scans that one credential may send: ten times what the quickest controller does,
// and enough at once for a phone that comes out of a tunnel with its queue. The
// limit is the credential's, since a whole venue sits behind one address.
const (
	scansPerSecond = 20
	scansAtOnce    = 60
	// Uploads of devices that were without network, of up to 200 items each.
	uploadsPerSecond = 1
	uploadsAtOnce    = 20
	pacesKept        = 4096 // credentials, before those at rest are forgotten
)

// Searches at the door: never more than 30 in any minute, so that nobody reads the
// house's guests out of it.
const (
	searchesPerSecond = 25. / 60
	searchesAtOnce    = 5
)

// scanPath is the route of each guest.
const (
	scanPath   = "/v1/scans"
	searchPath = "/v1/gates/:gate/search"
)

var (
	errFastScans = fault.New(fault.TooMany, "scan.too_fast",
		"this device sends more scans than anybody can read; wait, then go on with the same keys")
	errFastUploads  = fault.New(fault.TooMany, "upload.too_fast", "this device hands in faster than it can have scanned; wait, then send the rest")
	errFastSearches = fault.New(fault.TooMany, "search.too_fast", "this device has searched 30 times within a minute; wait, then search again")
)

// paces are the paces of the routes that have one.
type paces map[string]*pace

// newPaces makes the paces; 0 scans a second are the usual speeds, and fewer are none
// at all.
func newPaces(scans float64, now func() time.Time) paces {
	searches, uploads := rate.Limit(searchesPerSecond), rate.Limit(uploadsPerSecond)
	switch {
	case scans == 0:
		scans = scansPerSecond
	case scans < 0:
		scans, searches, uploads = float64(rate.Inf), rate.Inf, rate.Inf
	}
	deciding := newPace(rate.Limit(scans), scansAtOnce, errFastScans, now)
	return paces{
		scanPath: deciding, "/v1/scans/override": deciding, "/v1/tickets/:ticket/admit": deciding,
		batchPath:  newPace(uploads, uploadsAtOnce, errFastUploads, now),
		searchPath: newPace(searches, searchesAtOnce, errFastSearches, now),
	}
}

// pace keeps the speed of each credential.
type pace struct {
	perSecond rate.Limit
	atOnce    int
	refusal   *fault.Error
	now       func() time.Time

	mu       sync.Mutex
	limiters map[uuid.UUID]*rate.Limiter
	sweepAt  int
}

func newPace(perSecond rate.Limit, atOnce int, refusal *fault.Error, now func() time.Time) *pace {
	return &pace{
		perSecond: perSecond, atOnce: atOnce, refusal: refusal, now: now,
		limiters: map[uuid.UUID]*rate.Limiter{}, sweepAt: pacesKept,
	}
}

// keep lets a credential's calls through at its pace. Faults: scan.too_fast,
// search.too_fast, upload.too_fast.
func (p *pace) keep(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		by := session.From(c)
		credential := by.Device.UUID()
		if by.Device.IsZero() {
			credential = by.Token.UUID()
		}
		if wait := p.wait(credential); wait > 0 {
			refused := *p.refusal
			return refused.Wait(time.Duration(math.Ceil(wait.Seconds())) * time.Second)
		}
		return next(c)
	}
}

// wait is how long the credential has to wait; 0 lets it through.
func (p *pace) wait(credential uuid.UUID) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	l := p.limiters[credential]
	if l == nil {
		if len(p.limiters) >= p.sweepAt {
			p.sweep(now)
		}
		l = rate.NewLimiter(p.perSecond, p.atOnce)
		p.limiters[credential] = l
	}
	if l.AllowN(now, 1) {
		return 0
	}
	return time.Duration((1 - l.TokensAt(now)) / float64(p.perSecond) * float64(time.Second))
}

// sweep forgets who is at rest: a new limiter would be as full.
func (p *pace) sweep(now time.Time) {
	for credential, l := range p.limiters {
		if l.TokensAt(now) >= float64(p.atOnce) {
			delete(p.limiters, credential)
		}
	}
	p.sweepAt = max(pacesKept, 2*len(p.limiters))
}
