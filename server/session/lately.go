package session

import (
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"portillon/server/seal"
	"portillon/server/ticket"
)

const (
	latelyWithin = time.Minute
	latelyKept   = 8192 // devices, before those of long ago are forgotten
)

// lately remembers who devices were a moment ago.
type lately struct {
	now func() time.Time

	mu      sync.Mutex
	devices map[string]remembered
}

type remembered struct {
	by Caller
	at time.Time
}

func newLately(now func() time.Time) *lately {
	return &lately{now: now, devices: map[string]remembered{}}
}

// IdentifyLately is Identify for acts that look their caller up themselves, together
// with what else they read: a device that was identified within the last minute
// passes as who it was then, with Caller.Unconfirmed set, and the act has to ask for
// Devices.Confirm before anything rests upon it.
func (s *Service) IdentifyLately() echo.MiddlewareFunc {
	return s.identifying(func(c echo.Context) (Caller, error) {
		credential, ok := deviceCredential(c.Request().Header.Get(echo.HeaderAuthorization))
		if !ok {
			return s.identify(c)
		}
		hash := string(seal.Hash(credential))
		if by, ok := s.lately.find(hash); ok {
			return by, nil
		}
		by, err := s.identify(c)
		if err == nil && by.Require(Scan, ticket.VenueID{}) == nil { // a refusal is never by memory
			s.lately.keep(hash, by)
		}
		return by, err
	})
}

func (l *lately) find(hash string) (Caller, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, ok := l.devices[hash]
	if !ok || l.now().Sub(r.at) > latelyWithin {
		return Caller{}, false
	}
	r.by.Unconfirmed = []byte(hash)
	return r.by, true
}

func (l *lately) keep(hash string, by Caller) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if len(l.devices) >= latelyKept {
		for other, r := range l.devices {
			if now.Sub(r.at) > latelyWithin {
				delete(l.devices, other)
			}
		}
	}
	if len(l.devices) < latelyKept {
		l.devices[hash] = remembered{by, now}
	}
}
