package server

import (
	"testing"
	"time"

	"github.com/google/uuid"
)

func TestACredentialIsSlowedAloneAndOnlyAboveItsPace(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 19, 30, 0, 0, time.UTC)
	p := newPaces(0, func() time.Time { return now })[scanPath]
	quick, honest := uuid.New(), uuid.New()
	for i := range scansAtOnce {
		if wait := p.wait(quick); wait > 0 {
			t.Fatalf("scan %d of a queue waits %s", i, wait)
		}
	}
	if wait := p.wait(quick); wait <= 0 || wait > time.Second {
		t.Errorf("beyond the queue it waits %s", wait)
	}
	for range 10 * 60 * 2 { // ten minutes at two scans a second
		now = now.Add(500 * time.Millisecond)
		if wait := p.wait(honest); wait > 0 {
			t.Fatalf("an honest controller waits %s", wait)
		}
	}
	if wait := p.wait(quick); wait > 0 {
		t.Errorf("after a rest it still waits %s", wait)
	}
}

func TestNobodySearchesMoreThanThirtyTimesInAnyMinute(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 19, 30, 0, 0, time.UTC)
	p, device := newPaces(0, func() time.Time { return now })[searchPath], uuid.New()
	var through []time.Time
	for range 10 * 60 * 4 { // ten minutes of four a second
		if p.wait(device) == 0 {
			through = append(through, now)
		}
		now = now.Add(250 * time.Millisecond)
	}
	for i := range through[30:] {
		if apart := through[i+30].Sub(through[i]); apart < time.Minute {
			t.Fatalf("31 searches within %s", apart)
		}
	}
	if len(through) < 10*20 {
		t.Errorf("%d searches in ten minutes", len(through))
	}
}

func TestCredentialsAtRestAreForgotten(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 19, 30, 0, 0, time.UTC)
	p := newPaces(0, func() time.Time { return now })[scanPath]
	for range 3 * pacesKept {
		p.wait(uuid.New())
		now = now.Add(time.Second)
	}
	if len(p.limiters) > pacesKept+scansAtOnce {
		t.Errorf("%d credentials are kept", len(p.limiters))
	}
}
