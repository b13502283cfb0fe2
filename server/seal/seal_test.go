package seal

import (
	"bytes"
	"errors"
	"testing"
)

func box(t *testing.T, fill byte) *Box {
	t.Helper()
	b, err := New(bytes.Repeat([]byte{fill}, KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestWhatIsSealedOpensUnderItsNameAndKeyOnly(t *testing.T) {
	b := box(t, 1)
	sealed := b.Seal("claim_key", []byte("plain"))
	if got, err := b.Open("claim_key", sealed); err != nil || string(got) != "plain" {
		t.Errorf("%q, %v", got, err)
	}
	if bytes.Contains(sealed, []byte("plain")) || bytes.Equal(sealed, b.Seal("claim_key", []byte("plain"))) {
		t.Error("the sealed value shows the plain one, or the same twice")
	}
	broken := bytes.Clone(sealed)
	broken[len(broken)-1] ^= 1
	for name, open := range map[string]func() ([]byte, error){
		"another name": func() ([]byte, error) { return b.Open("issuer_key", sealed) },
		"another key":  func() ([]byte, error) { return box(t, 2).Open("claim_key", sealed) },
		"a bit turned": func() ([]byte, error) { return b.Open("claim_key", broken) },
		"nothing":      func() ([]byte, error) { return b.Open("claim_key", nil) },
	} {
		if _, err := open(); !errors.Is(err, ErrKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestASecretDependsOnKeyPurposeAndThing(t *testing.T) {
	b, id := box(t, 1), [16]byte{1}
	secret := b.Secret("token", id)
	if len(secret) != 43 || secret != b.Secret("token", id) {
		t.Errorf("%q is not 43 characters, or not the same twice", secret)
	}
	for name, other := range map[string]string{
		"another purpose": b.Secret("device", id), "another thing": b.Secret("token", [16]byte{2}), "another key": box(t, 2).Secret("token", id),
	} {
		if other == secret {
			t.Errorf("%s gives the same secret", name)
		}
	}
	if a, b := Random(), Random(); a == b || len(a) != 43 {
		t.Errorf("random secrets %q and %q", a, b)
	}
}

func TestAKeyOfAnotherLengthIsRefused(t *testing.T) {
	for _, n := range []int{0, 16, 31, 33} {
		if _, err := New(make([]byte, n)); err == nil {
			t.Errorf("a key of %d bytes was taken", n)
		}
	}
}
