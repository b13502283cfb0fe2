package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"portillon/server/seal"
)

// folder is the data folder: the operator's key, PostgreSQL's files when it is
// ours, and who is running on it.
//
//	lock          held as long as a server (or a command in its place) runs
//	run.json      how to reach what runs; meaningless when nobody holds the lock
//	operator.key  mode 0600, made on first start
//	postgres/     the database
type folder struct{ path string }

// errInUse says that another process holds the folder's lock.
var errInUse = errors.New("the data folder is in use")

// running is run.json.
type running struct {
	PID         int    `json:"pid"`
	URL         string `json:"url"`
	DatabaseURL string `json:"database_url"`
}

func openFolder(path string) (folder, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return folder{}, fmt.Errorf("data folder: %w (choose another with --data)", err)
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return folder{}, fmt.Errorf("data folder: %w", err)
	}
	return folder{absolute}, nil
}

func (f folder) file(name string) string { return filepath.Join(f.path, name) }

// lock takes the folder for this process, or returns errInUse. The kernel gives
// it back when the process ends, in whatever way.
func (f folder) lock() (unlock func(), err error) {
	file, err := os.OpenFile(f.file("lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errInUse
		}
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	return func() { _ = file.Close() }, nil
}

// announce writes run.json; it replaces the old one in one step, so that nobody
// reads half of it.
func (f folder) announce(r running) error {
	encoded, err := json.Marshal(r)
	if err != nil {
		return err
	}
	fresh := f.file(".run.json.new")
	if err := os.WriteFile(fresh, append(encoded, '\n'), 0o600); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	return os.Rename(fresh, f.file("run.json"))
}

func (f folder) withdraw() { _ = os.Remove(f.file("run.json")) }

// reach tells how to reach what holds the lock. It waits a few seconds for one
// that is just starting.
func (f folder) reach(ctx context.Context) (running, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	for {
		if r, err := f.readRunning(); err == nil && alive(r.PID) {
			return r, nil
		}
		select {
		case <-ctx.Done():
			return running{}, fmt.Errorf("%w by another process that does not say how to reach it (%s)", errInUse, f.file("lock"))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (f folder) readRunning() (running, error) {
	var r running
	content, err := os.ReadFile(f.file("run.json"))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(content, &r)
}

// runningURL is the address of the server on this folder, "" when none runs.
func (f folder) runningURL() string {
	r, err := f.readRunning()
	if err != nil || !alive(r.PID) {
		return ""
	}
	return r.URL
}

func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// operatorKey is the given key, or the folder's. With make it is made on first
// use; otherwise its absence is an error.
func (f folder) operatorKey(given string, create bool) ([]byte, error) {
	if given != "" {
		return parseOperatorKey(given)
	}
	path := f.file("operator.key")
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && create {
		return makeOperatorKey(path)
	}
	if err != nil {
		return nil, fmt.Errorf("operator's key: %w", err)
	}
	key, err := parseOperatorKey(strings.TrimSpace(string(content)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// parseOperatorKey reads 32 bytes in base64url, base64 or hexadecimal.
func parseOperatorKey(text string) ([]byte, error) {
	for _, decode := range []func(string) ([]byte, error){
		hex.DecodeString, base64.RawURLEncoding.DecodeString, base64.URLEncoding.DecodeString,
		base64.RawStdEncoding.DecodeString, base64.StdEncoding.DecodeString,
	} {
		if key, err := decode(text); err == nil && len(key) == seal.KeySize {
			return key, nil
		}
	}
	return nil, errors.New("the operator's key is 32 random bytes as base64url (43 characters), base64 or hexadecimal")
}

// makeOperatorKey links the finished file into place, so that of two first
// starts both end with the same whole key.
func makeOperatorKey(path string) ([]byte, error) {
	key := make([]byte, seal.KeySize)
	_, _ = rand.Read(key) // never fails: crypto/rand ends the program instead
	file, err := os.CreateTemp(filepath.Dir(path), ".operator.key-*")
	if err != nil {
		return nil, fmt.Errorf("operator's key: %w", err)
	}
	defer func() { _ = os.Remove(file.Name()) }() //nolint:gosec // the name is our own
	_, err = file.WriteString(base64.RawURLEncoding.EncodeToString(key) + "\n")
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return nil, fmt.Errorf("operator's key: %w", err)
	}
	if err := os.Link(file.Name(), path); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("operator's key: %w", err)
	}
	content, err := os.ReadFile(path) //nolint:gosec // the operator names his own folder
	if err != nil {
		return nil, fmt.Errorf("operator's key: %w", err)
	}
	return parseOperatorKey(strings.TrimSpace(string(content)))
}
