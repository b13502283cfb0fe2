package offline

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"portillon/server/admit"
	"portillon/server/seal"
	"portillon/server/ticket"
)

// Meter counts what an operator watches.
type Meter interface {
	Uploaded(verdict Verdict)
}

// Service serves devices without network.
type Service struct {
	pool  *pgxpool.Pool
	door  *admit.Service
	box   *seal.Box
	meter Meter
	log   *slog.Logger
	now   func() time.Time // only for how long things take; the time is the database's
}

// Options is what the service needs from outside.
type Options struct {
	Pool  *pgxpool.Pool // the door's
	Door  *admit.Service
	Box   *seal.Box
	Meter Meter
	Log   *slog.Logger
	Now   func() time.Time
}

// New makes the service.
func New(o Options) *Service {
	return &Service{pool: o.Pool, door: o.Door, box: o.Box, meter: o.Meter, log: o.Log, now: o.Now}
}

// A device without network shows values that it makes itself, one each step of its own
// clock, and takes each for four steps, as long as a shown nonce counts.
const (
	shownEvery = 15 * time.Second
	shownSteps = int64(ticket.ShownFor / shownEvery)
)

// seed is what a device makes its own values from. It is derived and stored nowhere:
// whoever has it can show what that device shows.
func (s *Service) seed(device ticket.DeviceID) []byte {
	seed, _ := base64.RawURLEncoding.DecodeString(s.box.Secret("shown without network", device)) // ours, of 32 bytes
	return seed
}

// shownAt is the value that a device shows during a step of its clock: the first 16
// bytes of HMAC-SHA-256 with its seed over "portillon shown" and the step, 8 bytes
// big-endian.
func shownAt(seed []byte, step int64) []byte {
	mac := hmac.New(sha256.New, seed)
	mac.Write([]byte("portillon shown"))
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(step)))
	return mac.Sum(nil)[:16]
}

// shownSince finds the step in which the device made the value, and gives its
// beginning by the device's clock. Only the steps count in which a scan at that
// moment may have met it.
func (s *Service) shownSince(device ticket.DeviceID, nonce []byte, scanned time.Time) (time.Time, bool) {
	if len(nonce) == 0 {
		return time.Time{}, false
	}
	seed, every := s.seed(device), int64(shownEvery/time.Second)
	for back := range shownSteps {
		step := scanned.Unix()/every - back
		if hmac.Equal(shownAt(seed, step), nonce) {
			return time.Unix(step*every, 0), true
		}
	}
	return time.Time{}, false
}
