//go:build !linux

package load

import (
	"context"
	"errors"
	"time"
)

type ears struct{}

func newEars(string) (*ears, error) {
	return nil, errors.New("so many phones can be listened to on Linux only")
}

func (*ears) connect(context.Context, *phone, string) error { return nil }
func (*ears) close()                                        {}

type phone struct{ heard []heard }

type heard struct {
	nonce string
	at    time.Time
}
