package wallet

import (
	"crypto/ecdsa"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func fixedPhone(t testing.TB) *Phone {
	return &Phone{Tickets: []*HeldTicket{
		{KeyID: vecID, Event: vecEvent, Key: fixedKey(t, "phone"), OneTime: []byte("20 bytes, as they are")},
		{KeyID: KeyID{vecDevice, 0}, Event: vecOtherEvent, Key: fixedKey(t, "other_phone")},
	}}
}

func TestAPhoneClaimsShowsAndGivesAway(t *testing.T) {
	p := &Phone{}
	held := must[*HeldTicket](t)(p.Add(vecTicket, vecEvent))
	pub := must[*ecdsa.PublicKey](t)(ParseJWK(held.JWK()))

	claim := must[string](t)(held.SignClaim(vecChallenge, "code"))
	if err := VerifyClaim(pub, claim, vecChallenge, vecEvent, HashClaimCode("code")); err != nil {
		t.Error(err)
	}
	held.Generation = 1 // the server's answer
	nonce := must[Code](t)(held.SignNonce(vecNonce))
	at := must[Code](t)(held.SignTime(vecTime))
	for _, c := range []Code{nonce, at} {
		c = must[Code](t)(Parse(c.String()))
		if err := c.VerifyPhone(pub, vecEvent); err != nil || c.KeyID != (KeyID{vecTicket, 1}) {
			t.Errorf("%v %v", c.KeyID, err)
		}
	}
	session := must[string](t)(held.SignSession(vecChallenge))
	if err := VerifySession(pub, session, vecChallenge, vecTicket); err != nil {
		t.Error(err)
	}
	transfer := must[string](t)(held.SignTransfer(vecChallenge, "a@example.org"))
	if err := VerifyTransfer(pub, transfer, vecChallenge, vecTicket, HashAddress("a@example.org")); err != nil {
		t.Error(err)
	}
}

func TestAPhoneMakesOneTimeCodesOnceItHasTheirSecret(t *testing.T) {
	held := fixedPhone(t).Tickets[0]
	digits := must[string](t)(held.OneTimeCode(vecTime))
	pattern := must[Code](t)(Parse(must[Code](t)(held.OneTimePattern(vecTime)).String()))
	if step, ok := CheckTOTP(held.OneTime, TOTPWindow(vecTime), digits); !ok || step != TOTPStep(vecTime) {
		t.Errorf("%s is of step %d", digits, step)
	}
	if pattern.OTP != digits || pattern.KeyID != held.KeyID || pattern.IssuedAt != vecTime {
		t.Errorf("the pattern is %+v", pattern)
	}
	if _, err := fixedPhone(t).Tickets[1].OneTimeCode(vecTime); !errors.Is(err, ErrTOTP) {
		t.Errorf("without a secret: %v", err)
	}
}

func TestAddingATicketAgainReplacesItsKey(t *testing.T) {
	p := fixedPhone(t)
	old := p.Find(vecTicket)
	fresh := must[*HeldTicket](t)(p.Add(vecTicket, vecEvent))
	if len(p.Tickets) != 2 || p.Find(vecTicket) != fresh || fresh.Key.Equal(old.Key) || fresh.Generation != 0 {
		t.Fatalf("%d tickets", len(p.Tickets))
	}
	p.Remove(vecTicket)
	if p.Find(vecTicket) != nil || len(p.Tickets) != 1 {
		t.Fatal("still held")
	}
}

func TestAKeyFileComesBackAsItWasAndIsItsOwnersAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "wallet.json")
	// An older, open file is replaced by a closed one.
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	want := fixedPhone(t)
	if err := want.Save(path); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
	got := must[*Phone](t)(LoadPhone(path))
	for i, held := range got.Tickets {
		if held.KeyID != want.Tickets[i].KeyID || held.Event != want.Tickets[i].Event || !held.Key.Equal(want.Tickets[i].Key) ||
			string(held.OneTime) != string(want.Tickets[i].OneTime) {
			t.Errorf("ticket %d", i)
		}
	}
	if len(got.Tickets) != 2 {
		t.Errorf("%d tickets", len(got.Tickets))
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestAKeyFileThatOthersCanReadIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "wallet.json")
	if err := fixedPhone(t).Save(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadPhone(path); !errors.Is(err, ErrKeyFile) {
		t.Error(err)
	}
	if _, err := LoadPhone(path + ".none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestAFileThatIsNoKeyFileIsRefused(t *testing.T) {
	zero := b64u(make([]byte, 32))
	for _, text := range []string{
		"", "null", "[]", "old", `{"version":2,"tickets":[]}`, `{"tickets":[]}`, `{"version":1,"tickets":[]} {}`,
		`{"version":1,"tickets":[],"more":1}`,
		`{"version":1,"tickets":[{"ticket":"` + vecTicket.String() + `","private_key":""}]}`,
		`{"version":1,"tickets":[{"ticket":"` + vecTicket.String() + `","private_key":"` + zero + `"}]}`,
		`{"version":1,"tickets":[{"ticket":"` + vecTicket.String() + `","generation":256,"private_key":"` + zero + `"}]}`,
	} {
		if _, err := parsePhone([]byte(text)); !errors.Is(err, ErrKeyFile) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAPhoneThatCannotBeSavedSaysSo(t *testing.T) {
	if err := fixedPhone(t).Save(filepath.Join(t.TempDir(), "none", "wallet.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	dir := t.TempDir() // a folder in the file's place
	path := filepath.Join(dir, "wallet.json")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := fixedPhone(t).Save(path); err == nil {
		t.Error("saved over a folder")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".wallet-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
