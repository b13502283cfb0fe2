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
	pacesKept      = 4096 // credentials, before those at rest are forgotten
)

// scanPath is the route of each guest.
const scanPath = "/v1/scans"

// paced are the routes that decide at the door.
var paced = map[string]bool{scanPath: true, "/v1/scans/override": true, "/v1/tickets/:ticket/admit": true}

// pace keeps the speed of each credential that scans.
type pace struct {
	perSecond rate.Limit
	now       func() time.Time

	mu       sync.Mutex
	limiters map[uuid.UUID]*rate.Limiter
	sweepAt  int
}

// newPace makes a pace; 0 is the usual speed, and a negative one none at all.
func newPace(perSecond float64, now func() time.Time) *pace {
	p := &pace{perSecond: rate.Limit(perSecond), now: now, limiters: map[uuid.UUID]*rate.Limiter{}, sweepAt: pacesKept}
	switch {
	case perSecond == 0:
		p.perSecond = scansPerSecond
	case perSecond < 0:
		p.perSecond = rate.Inf
	}
	return p
}

// keep lets a credential's scans through at its pace. Fault: scan.too_fast.
func (p *pace) keep(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		by := session.From(c)
		credential := by.Device.UUID()
		if by.Device.IsZero() {
			credential = by.Token.UUID()
		}
		if wait := p.wait(credential); wait > 0 {
			return fault.New(fault.TooMany, "scan.too_fast", "this device sends more scans than anybody can read; wait, then go on with the same keys").
				Wait(time.Duration(math.Ceil(wait.Seconds())) * time.Second)
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
		l = rate.NewLimiter(p.perSecond, scansAtOnce)
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
		if l.TokensAt(now) >= scansAtOnce {
			delete(p.limiters, credential)
		}
	}
	p.sweepAt = max(pacesKept, 2*len(p.limiters))
}
