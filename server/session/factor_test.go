package session_test

import (
	"bytes"
	"encoding/base32"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pquerna/otp/totp"

	"portillon/server/pgtest"
	"portillon/server/seal"
	"portillon/server/session"
)

// secured is somebody with a password and a second factor.
type secured struct {
	session.Person
	h        *house
	desk     *client // where he set it up
	secret   string
	recovery []string
}

func (h *house) secured(name string, grants []session.Grant) secured {
	h.t.Helper()
	desk, p := h.atDesk(name, grants)
	s := secured{Person: p, h: h, desk: desk}
	desk.post("/v1/me/password", object{"password": password}).want(h.t, http.StatusNoContent, "")
	s.begin()
	s.confirm(uuid.NewString())
	return s
}

func (s *secured) begin() {
	s.h.t.Helper()
	made := s.desk.post("/v1/me/second-factor", object{"current": password}).want(s.h.t, http.StatusOK, "")
	s.secret = made.text("secret")
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(s.secret)
	if err != nil || len(raw) != 20 {
		s.h.t.Fatalf("the secret is %d bytes of base32, %v", len(raw), err)
	}
	pgtest.Secret(s.h.t, s.secret)
	pgtest.Secret(s.h.t, string(raw))
	if uri := made.text("uri"); !strings.HasPrefix(uri, "otpauth://totp/Portillon:") || !strings.Contains(uri, "secret="+s.secret) {
		s.h.t.Errorf("the app is given %q", uri)
	}
}

func (s *secured) confirm(key string) {
	s.h.t.Helper()
	r := s.desk.with("Idempotency-Key", key).post("/v1/me/second-factor/confirm", object{"code": s.code(0)}).want(s.h.t, http.StatusOK, "")
	s.recovery = nil
	codes, _ := r.body["recovery_codes"].([]any)
	for _, code := range codes {
		pgtest.Secret(s.h.t, code.(string))
		pgtest.Secret(s.h.t, strings.ReplaceAll(code.(string), "-", ""))
		s.recovery = append(s.recovery, code.(string))
	}
}

// code is what the app shows, that many steps from now.
func (s *secured) code(steps int) string {
	s.h.t.Helper()
	code, err := totp.GenerateCode(s.secret, s.h.db.Now(s.h.t).Add(time.Duration(steps)*30*time.Second))
	if err != nil {
		s.h.t.Fatal(err)
	}
	return code
}

func (s *secured) signIn(b *client, otp string) reply {
	return b.post("/v1/session", object{"email": s.Email, "password": password, "otp": otp})
}

// next lets the step pass in which a code was used.
func (s *secured) next() { s.h.db.Shift(s.h.t, 30*time.Second) }

func TestTheCodesOfRFC6238SignIn(t *testing.T) {
	t.Parallel()
	h := open(t)
	p := h.staff("Eva", nil)
	h.setPassword(p, password)
	box, err := seal.New(bytes.Repeat([]byte{7}, seal.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	id := uuid.New()
	sealed := box.Seal("second factor "+p.Person.String()+" "+id.String(), []byte("12345678901234567890"))
	h.exec(`INSERT INTO second_factors (person_id, id, sealed, confirmed_at, tries_since) VALUES (@person, @id, @sealed, now(), 'epoch')`,
		pgx.NamedArgs{"person": p.Person, "id": id, "sealed": sealed})
	// RFC 6238, appendix B, SHA-1, the last six of the eight digits.
	for _, v := range []struct {
		at   int64
		code string
	}{{59, "287082"}, {1111111109, "081804"}, {1111111111, "050471"}, {1234567890, "005924"}, {2000000000, "279037"}, {20000000000, "353130"}} {
		h.exec(`UPDATE test_clock SET shift = to_timestamp(@at) - clock_timestamp()`, pgx.NamedArgs{"at": v.at}) // a time.Duration ends before the last of them
		r := h.browser().post("/v1/session", object{"email": p.Email, "password": password, "otp": v.code})
		if r.status != http.StatusOK {
			t.Errorf("at %d the code %s is answered %d %s", v.at, v.code, r.status, r.code())
		}
	}
}

func TestASecondFactorIsAskedForAfterThePasswordAndEachCodeCountsOnce(t *testing.T) {
	t.Parallel()
	h := open(t)
	s := h.secured("Eva", nil)
	if me := s.desk.get("/v1/me").want(t, http.StatusOK, ""); me.body["has_second_factor"] != true {
		t.Errorf("the desk that set it up is told %s", me.raw)
	}
	s.signIn(h.browser(), s.code(0)).want(t, http.StatusUnauthorized, "session.otp_used") // by the confirmation
	s.next()
	b := h.browser()
	if r := s.signIn(b, "").want(t, http.StatusUnauthorized, "session.otp_required"); len(r.header["Set-Cookie"]) > 0 {
		t.Error("half of a sign-in sets a cookie")
	}
	b.post("/v1/session", object{"email": s.Email, "password": "another password", "otp": s.code(0)}).want(t, http.StatusUnauthorized, "session.wrong_credentials")
	s.signIn(b, "000000").want(t, http.StatusUnauthorized, "session.otp_wrong")
	code := s.code(0)
	s.signIn(b, code[:3]+" "+code[3:]).want(t, http.StatusOK, "")
	s.signIn(h.browser(), code).want(t, http.StatusUnauthorized, "session.otp_used")
	s.signIn(h.browser(), s.code(-1)).want(t, http.StatusUnauthorized, "session.otp_used") // an earlier step than the last
	s.signIn(h.browser(), s.code(1)).want(t, http.StatusOK, "")                            // a phone that is 30 s ahead
	s.signIn(h.browser(), s.code(2)).want(t, http.StatusUnauthorized, "session.otp_wrong")

	lower := strings.ToLower(s.recovery[3])
	s.signIn(h.browser(), lower).want(t, http.StatusOK, "")
	s.signIn(h.browser(), s.recovery[3]).want(t, http.StatusUnauthorized, "session.otp_used")
	s.signIn(h.browser(), s.recovery[4]).want(t, http.StatusOK, "")
}

func TestOfManyWhoSignInWithOneCodeOneGetsIn(t *testing.T) {
	t.Parallel()
	h := open(t)
	s := h.secured("Eva", nil)
	rounds := 5
	if len(s.recovery) < rounds {
		t.Fatalf("%d recovery codes", len(s.recovery))
	}
	for round := range rounds {
		for what, code := range map[string]func() string{"code": func() string { return s.code(0) }, "recovery code": func() string { return s.recovery[round] }} {
			h.db.Shift(t, 15*time.Minute) // what lost before counts as a wrong try
			code := code()
			var wait sync.WaitGroup
			statuses := make([]int, 4)
			for i := range statuses {
				wait.Go(func() {
					statuses[i] = s.signIn(h.from(strconv.Itoa(len(what))+".51.100."+strconv.Itoa(4*round+i)), code).status
				})
			}
			wait.Wait()
			slices.Sort(statuses)
			if want := []int{200, 401, 401, 401}; !slices.Equal(statuses, want) {
				t.Errorf("with one %s: %v, want %v", what, statuses, want)
			}
		}
	}
}

func TestWrongCodesAreBoundedForAllAddressesTogetherButOnlyForWhoKnowsThePassword(t *testing.T) {
	t.Parallel()
	h := open(t)
	s := h.secured("Eva", nil)
	s.next()
	for i := range 30 { // a stranger
		h.from("203.0.113."+strconv.Itoa(i)).post("/v1/session", object{"email": s.Email, "password": "a guess at it", "otp": "000000"}).want(t, http.StatusUnauthorized, "session.wrong_credentials")
	}
	for i := range 5 {
		b := h.from("198.51.100." + strconv.Itoa(i))
		s.signIn(b, "").want(t, http.StatusUnauthorized, "session.otp_required") // resets nothing
		s.signIn(h.from("198.51.101."+strconv.Itoa(i)), "000000").want(t, http.StatusUnauthorized, "session.otp_wrong")
	}
	r := s.signIn(h.from("192.0.2.1"), s.code(0)).want(t, http.StatusTooManyRequests, "session.too_many_tries")
	if wait, err := strconv.Atoi(r.header.Get("Retry-After")); err != nil || wait < 14*60 || wait > 15*60 {
		t.Errorf("Retry-After is %q", r.header.Get("Retry-After"))
	}
	h.db.Shift(t, 15*time.Minute)
	s.signIn(h.from("192.0.2.2"), s.code(0)).want(t, http.StatusOK, "")
}

func TestALinkStandsForThePasswordAndStaysUnusedUntilTheSecondFactorIsRight(t *testing.T) {
	t.Parallel()
	h := open(t)
	s := h.secured("Eva", nil)
	s.next()
	link, err := h.s.SignInLink(t.Context(), session.Operator, s.Person.Person, session.LinkTTL)
	if err != nil {
		t.Fatal(err)
	}
	code := secretOf(link)
	pgtest.Secret(t, code)
	b := h.browser().with("Idempotency-Key", uuid.NewString())
	b.post("/v1/session/link", object{"code": code}).want(t, http.StatusUnauthorized, "session.otp_required")
	b.post("/v1/session/link", object{"code": code, "otp": "000000"}).want(t, http.StatusUnauthorized, "session.otp_wrong")
	now := s.code(0)
	b.post("/v1/session/link", object{"code": code, "otp": now}).want(t, http.StatusOK, "")
	b.post("/v1/session/link", object{"code": code, "otp": now}).want(t, http.StatusOK, "") // the answer was lost
	h.browser().post("/v1/session/link", object{"code": code, "otp": s.recovery[0]}).want(t, http.StatusGone, "link.used")
	if n := h.count(`SELECT count(*) FROM recovery_codes WHERE used_at IS NOT NULL`); n != 0 {
		t.Error("a link that was refused has cost a recovery code")
	}
}

func TestSettingTheSecondFactorUpEndsOtherSessionsAndCanBeSentAgain(t *testing.T) {
	t.Parallel()
	h := open(t)
	s := secured{h: h}
	s.desk, s.Person = h.atDesk("Eva", nil)
	s.desk.post("/v1/me/password", object{"password": password}).want(t, http.StatusNoContent, "")
	other := h.browser()
	signIn(other, s.Email, password).want(t, http.StatusOK, "")

	s.desk.post("/v1/me/second-factor", object{"current": "another password"}).want(t, http.StatusForbidden, "session.wrong_password")
	s.desk.post("/v1/me/second-factor/confirm", object{"code": "000000"}).want(t, http.StatusConflict, "second_factor.not_begun")
	s.begin()
	first := s.secret
	s.begin()
	if s.secret == first {
		t.Error("beginning anew gives the same secret")
	}
	s.desk.post("/v1/me/second-factor/confirm", object{"code": "000000"}).want(t, http.StatusBadRequest, "request.fields")
	signIn(h.browser(), s.Email, password).want(t, http.StatusOK, "") // it does not count yet
	before := s.desk.cookies["portillon"].Value
	key := uuid.NewString()
	s.confirm(key)
	codes := s.recovery
	s.desk.cookies["portillon"].Value = before // the answer was lost
	s.next()
	s.confirm(key)
	if len(codes) != 10 || !slices.Equal(codes, s.recovery) {
		t.Errorf("the recovery codes are %d, and sent again they are others", len(codes))
	}
	other.get("/v1/me").want(t, http.StatusUnauthorized, "session.required")
	s.desk.get("/v1/me").want(t, http.StatusOK, "")
	s.desk.post("/v1/me/second-factor", object{"current": password}).want(t, http.StatusConflict, "second_factor.present")

	remove := func(current, otp string) reply {
		return s.desk.post("/v1/me/second-factor/remove", object{"current": current, "otp": otp})
	}
	remove("another password", s.code(0)).want(t, http.StatusForbidden, "session.wrong_password")
	remove(password, "").want(t, http.StatusForbidden, "session.otp_required")
	remove(password, "000000").want(t, http.StatusForbidden, "session.otp_wrong")
	remove(password, s.code(0)).want(t, http.StatusNoContent, "")
	remove(password, s.code(0)).want(t, http.StatusConflict, "second_factor.none")
	s.desk.get("/v1/me").want(t, http.StatusOK, "")
	signIn(h.browser(), s.Email, password).want(t, http.StatusOK, "")
	if n := h.count(`SELECT count(*) FROM recovery_codes`); n != 0 {
		t.Errorf("%d recovery codes are left", n)
	}
}

func TestAnAdminTakesAnothersSecondFactorAwayButNotTheirOwnNorThatOfOneWhoIsMore(t *testing.T) {
	t.Parallel()
	h := open(t)
	chief := h.secured("Chief", everywhere(session.AdminRole))
	eva := h.secured("Eva", at(h.venue, session.AdminRole))
	karel := h.secured("Karel", at(h.venue, session.Controller))
	path := func(s secured) string { return "/v1/people/" + s.Person.Person.String() + "/second-factor/remove" }

	if r := eva.desk.get("/v1/people/"+karel.Person.Person.String()).want(t, http.StatusOK, ""); r.body["has_second_factor"] != true {
		t.Errorf("an admin is told %s", r.raw)
	}
	eva.desk.post(path(chief), nil).want(t, http.StatusForbidden, "session.right_missing")
	eva.desk.post(path(eva), nil).want(t, http.StatusConflict, "person.self")
	karel.desk.post(path(eva), nil).want(t, http.StatusForbidden, "session.right_missing")
	for range 2 {
		if r := eva.desk.post(path(karel), nil).want(t, http.StatusOK, ""); r.body["has_second_factor"] != false {
			t.Errorf("taken away, and the answer is %s", r.raw)
		}
	}
	karel.desk.get("/v1/me").want(t, http.StatusUnauthorized, "session.required")
	signIn(h.browser(), karel.Email, password).want(t, http.StatusOK, "")
	if n := h.count(`SELECT count(*) FROM audit WHERE act = 'person.second_factor_removed' AND person_id = $1 AND subject_id = $2`, eva.Person.Person, karel.Person.Person); n != 1 {
		t.Errorf("the audit has %d rows of it", n)
	}
}
