//go:build !linux

package challenge

import "syscall"

// ListenControl does nothing here: TCP_USER_TIMEOUT is Linux's. Streams to dead
// phones end by their write deadline.
func ListenControl(string, string, syscall.RawConn) error { return nil }
