package session_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"portillon/server/pgtest"
	"portillon/server/session"
)

func (h *house) makeToken(b *client, body object) (*client, reply) {
	h.t.Helper()
	r := b.post("/v1/tokens", body).want(h.t, http.StatusCreated, "")
	return h.bearer(r.text("token")), r
}

func TestATokenCanDoWhatItsScopesAndItsPersonsRolesBothAllow(t *testing.T) {
	t.Parallel()
	h := open(t)
	admin := h.admin()
	program, made := h.makeToken(admin, object{"name": "till", "scopes": []string{"read", "issue", "read"}})
	if !strings.HasPrefix(made.text("token"), "pta_") || len(made.text("token")) != 47 || !strings.Contains(made.raw, `"scopes":["issue","read"]`) {
		t.Errorf("made %s", made.raw)
	}
	me := program.get("/v1/me").want(t, http.StatusOK, "")
	if me.text("kind") != "token" || me.text("name") != "Admin1" || me.text("email") != "" {
		t.Errorf("me: %s", me.raw)
	}
	by := h.caller.Load().(session.Caller)
	for right, want := range map[session.Right]bool{session.Read: true, session.Issue: true, session.Admin: false, session.Scan: false} {
		if by.May(right, h.venue) != want {
			t.Errorf("%s: %v", right, !want)
		}
	}
	program.get("/v1/people").want(t, http.StatusForbidden, "session.right_missing")
	program.post("/v1/tokens", object{"name": "x", "scopes": []string{"read"}}).want(t, http.StatusForbidden, "session.right_missing")
	if list := admin.get("/v1/tokens"); strings.Contains(list.raw, "pta_") || len(list.items()) != 1 {
		t.Errorf("tokens: %s", list.raw)
	}
}

func TestATokenMakesNoneThatCanMoreOrLastsLonger(t *testing.T) {
	t.Parallel()
	h := open(t)
	soon := h.db.Now(t).Add(time.Hour).Truncate(time.Second)
	maker, _ := h.makeToken(h.admin(), object{"name": "maker", "scopes": []string{"admin"}, "expires_at": soon})
	maker.post("/v1/tokens", object{"name": "x", "scopes": []string{"scan"}}).want(t, http.StatusForbidden, "session.right_missing")
	maker.post("/v1/tokens", object{"name": "x", "scopes": []string{"read"}, "expires_at": soon.Add(time.Second)}).want(t, http.StatusBadRequest, "request.fields")
	child, made := h.makeToken(maker, object{"name": "child", "scopes": []string{"read", "issue", "admin"}})
	if made.text("expires_at") != soon.Format(time.RFC3339) {
		t.Errorf("the child lasts until %s, its maker until %v", made.text("expires_at"), soon)
	}
	child.get("/v1/people").want(t, http.StatusOK, "")
	bound, _ := h.makeToken(h.admin(), object{"name": "bound", "scopes": []string{"admin"}, "venue": h.venue})
	bound.post("/v1/tokens", object{"name": "x", "scopes": []string{"read"}}).want(t, http.StatusForbidden, "session.right_missing")
	bound.post("/v1/tokens", object{"name": "x", "scopes": []string{"read"}, "venue": h.other}).want(t, http.StatusForbidden, "session.right_missing")
	h.makeToken(bound, object{"name": "x", "scopes": []string{"read"}, "venue": h.venue})
	h.db.Shift(t, time.Hour)
	child.get("/v1/me").want(t, http.StatusUnauthorized, "session.unknown_credential")
}

func TestARevokedTokenIsUnknownAtOnce(t *testing.T) {
	t.Parallel()
	h := open(t)
	admin := h.admin()
	program, made := h.makeToken(admin, object{"name": "till", "scopes": []string{"read"}})
	local, _ := h.atDesk("Local", at(h.venue, session.AdminRole))
	path := "/v1/tokens/" + made.text("token_id") + "/revoke"
	local.post(path, nil).want(t, http.StatusForbidden, "session.right_missing")
	local.post("/v1/tokens", object{"name": "x", "scopes": []string{"read"}}).want(t, http.StatusForbidden, "session.right_missing")
	h.makeToken(local, object{"name": "mine", "scopes": []string{"read"}, "venue": h.venue})
	if list := local.get("/v1/tokens"); len(list.items()) != 1 {
		t.Errorf("an admin of one venue sees %s", list.raw)
	}
	first := admin.post(path, nil).want(t, http.StatusOK, "")
	if again := admin.post(path, nil).want(t, http.StatusOK, ""); again.raw != first.raw || first.text("revoked_at") == "" {
		t.Errorf("revoked %s and then %s", first.raw, again.raw)
	}
	program.get("/v1/me").want(t, http.StatusUnauthorized, "session.unknown_credential")
	admin.post("/v1/tokens/"+uuid.NewString()+"/revoke", nil).want(t, http.StatusNotFound, "token.not_found")
	if n := h.count(`SELECT count(*) FROM audit WHERE act = 'token.revoke'`); n != 1 {
		t.Errorf("%d audit rows", n)
	}
}

func TestATokenMadeTwiceUnderOneKeyIsOneToken(t *testing.T) {
	t.Parallel()
	h := open(t)
	admin := h.admin().with("Idempotency-Key", uuid.NewString())
	body := object{"name": "till", "scopes": []string{"read"}}
	_, first := h.makeToken(admin, body)
	_, again := h.makeToken(admin, body)
	if first.raw != again.raw {
		t.Errorf("made %s and then %s", first.raw, again.raw)
	}
	for field, bad := range map[string]object{
		"name":       {"name": "", "scopes": []string{"read"}},
		"scopes":     {"name": "x", "scopes": []string{}},
		"scopes ":    {"name": "x", "scopes": []string{"everything"}},
		"venue":      {"name": "x", "scopes": []string{"read"}, "venue": uuid.NewString()},
		"expires_at": {"name": "x", "scopes": []string{"read"}, "expires_at": "2001-01-01T00:00:00Z"},
	} {
		r := admin.with("Idempotency-Key", uuid.NewString()).post("/v1/tokens", bad).want(t, http.StatusBadRequest, "request.fields")
		if !strings.Contains(r.raw, `"name":"`+strings.TrimSpace(field)+`"`) {
			t.Errorf("%s: %s", field, r.raw)
		}
	}
}

func TestAWrongBearerIsRefusedAndNeverTakenForNoOne(t *testing.T) {
	t.Parallel()
	h := open(t)
	b, p := h.atDesk("Eva", nil)
	token := "ptd_" + strings.Repeat("A", 43)
	for _, header := range []string{"Bearer " + token, "Bearer pta_x", "Bearer x", "Bearer ", "Basic " + token, token, "Bearer " + strings.Repeat("A", 5000)} {
		wrong := b.with("Authorization", header) // even with a good cookie
		wrong.get("/v1/me").want(t, http.StatusUnauthorized, "session.unknown_credential")
		r := wrong.post("/v1/session/link", object{"code": secretOf(p.SignInLink)}).want(t, http.StatusUnauthorized, "session.unknown_credential")
		if r.header.Get("WWW-Authenticate") != "Bearer" {
			t.Error("a 401 names no scheme")
		}
	}
	device, _ := h.device("Handheld")
	good := device.headers["Authorization"]
	pgtest.Secret(t, strings.TrimPrefix(good, "Bearer "))
	h.browser().with("Authorization", strings.Replace(good, "Bearer", "bearer", 1)).get("/v1/device").want(t, http.StatusOK, "")
}
