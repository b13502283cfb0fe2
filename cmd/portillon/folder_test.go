package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"os"
	"sync"
	"testing"
)

func TestOneProcessAtATimeHasTheFolder(t *testing.T) {
	f, err := openFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := f.lock()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.lock(); !errors.Is(err, errInUse) {
		t.Errorf("a second one got %v", err)
	}
	unlock()
	unlock, err = f.lock()
	if err != nil {
		t.Errorf("given back, it is not free: %v", err)
	}
	unlock()
}

func TestTwoFirstStartsEndWithTheSameOperatorKey(t *testing.T) {
	f, err := openFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	keys := make([][]byte, 8)
	var all sync.WaitGroup
	for i := range keys {
		all.Go(func() {
			key, err := f.operatorKey("", true)
			if err != nil {
				t.Error(err)
			}
			keys[i] = key
		})
	}
	all.Wait()
	for _, key := range keys {
		if len(key) != 32 || !bytes.Equal(key, keys[0]) {
			t.Errorf("keys differ: %x and %x", keys[0], key)
		}
	}
	info, err := os.Stat(f.file("operator.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file has mode %v, %v", info.Mode(), err)
	}
	left, err := os.ReadDir(f.path)
	if err != nil || len(left) != 1 {
		t.Errorf("more than the key is left: %v, %v", left, err)
	}
}

func TestAnOperatorKeyIsReadInItsThreeSpellingsAndNoOther(t *testing.T) {
	key := bytes.Repeat([]byte{0xfb, 0xef}, 16)
	for _, text := range []string{
		hex.EncodeToString(key), base64.RawURLEncoding.EncodeToString(key), base64.StdEncoding.EncodeToString(key),
	} {
		if got, err := parseOperatorKey(text); err != nil || !bytes.Equal(got, key) {
			t.Errorf("%q: %x, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "secret", hex.EncodeToString(key[:31]), base64.StdEncoding.EncodeToString(append(key, 1))} {
		if _, err := parseOperatorKey(text); err == nil {
			t.Errorf("%q is taken for a key", text)
		}
	}
}

func TestAKeyIsNotMadeWhereOneIsMissing(t *testing.T) {
	f, err := openFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.operatorKey("", false); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
