package session_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/pgtest"
	"portillon/server/session"
)

func TestAFirstAdminSignsInByHisLinkAndSetsAPasswordWithoutAnOldOne(t *testing.T) {
	t.Parallel()
	h := open(t)
	p := h.staff("Eva", everywhere(session.AdminRole))
	if !strings.HasPrefix(p.SignInLink, "http://gate.test/desk#s.") {
		t.Fatalf("link %q", p.SignInLink)
	}
	b := h.browser()
	me := b.post("/v1/session/link", object{"code": "s." + secretOf(p.SignInLink)}).want(t, http.StatusOK, "")
	if me.text("email") != "eva@example.org" || me.text("kind") != "person" || me.body["has_password"] != false {
		t.Errorf("me: %s", me.raw)
	}
	password := "correct horse battery"
	pgtest.Secret(t, password)
	b.post("/v1/me/password", object{"password": "short"}).want(t, http.StatusBadRequest, "request.fields")
	b.post("/v1/me/password", object{"password": password}).want(t, http.StatusNoContent, "")
	b.get("/v1/me").want(t, http.StatusOK, "")
	b.post("/v1/me/password", object{"password": "another long one"}).want(t, http.StatusForbidden, "session.wrong_password")
	h.browser().post("/v1/session", object{"email": " Eva@Example.ORG", "password": password, "otp": ""}).want(t, http.StatusOK, "")
	for _, act := range []string{"person.add", "session.sign_in_link", "person.password", "session.sign_in"} {
		if h.count(`SELECT count(*) FROM audit WHERE act = $1 AND subject_id = $2`, act, p.Person) != 1 {
			t.Errorf("the audit has not one %s", act)
		}
	}
}

func TestAOneTimeLinkLetsOneInHoweverManySendItAtOnce(t *testing.T) {
	t.Parallel()
	h := open(t)
	p := h.staff("Eva", nil)
	replies := make([]reply, 12)
	var all sync.WaitGroup
	for i := range replies {
		all.Go(func() { replies[i] = h.browser().post("/v1/session/link", object{"code": secretOf(p.SignInLink)}) })
	}
	all.Wait()
	won := 0
	for _, r := range replies {
		if r.status == http.StatusOK {
			won++
			continue
		}
		r.want(t, http.StatusGone, "link.used")
	}
	if won != 1 || h.count(`SELECT count(*) FROM sessions`) != 1 {
		t.Errorf("%d were let in, %d sessions", won, h.count(`SELECT count(*) FROM sessions`))
	}
}

func TestALinkThatIsUnknownOrLapsedOrReplacedSaysSo(t *testing.T) {
	t.Parallel()
	h := open(t)
	admin := h.admin()
	p := h.staff("Eva", nil)
	first := secretOf(p.SignInLink)
	fresh := admin.post("/v1/people/"+p.Person.String()+"/link", object{}).want(t, http.StatusOK, "")
	second := secretOf(fresh.text("sign_in_link"))
	pgtest.Secret(t, second)
	enter := func(code string) reply { return h.browser().post("/v1/session/link", object{"code": code}) }
	enter("nonsense").want(t, http.StatusNotFound, "link.unknown")
	enter(first).want(t, http.StatusGone, "link.expired")
	h.db.Shift(t, session.LinkTTL-time.Minute)
	enter(second).want(t, http.StatusOK, "")
	third, err := h.s.SignInLink(t.Context(), session.Operator, p.Person, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Secret(t, secretOf(third))
	h.db.Shift(t, time.Hour)
	enter(secretOf(third)).want(t, http.StatusGone, "link.expired")
}

func TestAPersonMadeTwiceUnderOneKeyIsOnePersonWithTheSameLink(t *testing.T) {
	t.Parallel()
	h := open(t)
	admin := h.admin().with("Idempotency-Key", uuid.NewString())
	body := object{"name": "Karel", "email": "karel@example.org", "grants": at(h.venue, session.Controller)}
	first := admin.post("/v1/people", body).want(t, http.StatusCreated, "")
	pgtest.Secret(t, secretOf(first.text("sign_in_link")))
	again := admin.post("/v1/people", body).want(t, http.StatusCreated, "")
	if first.raw != again.raw || first.text("sign_in_link") == "" {
		t.Errorf("answered\n%s and then\n%s", first.raw, again.raw)
	}
	body["name"] = "Karel II"
	admin.post("/v1/people", body).want(t, http.StatusConflict, "request.key_conflict")
	admin.with("Idempotency-Key", uuid.NewString()).post("/v1/people", body).want(t, http.StatusConflict, "person.email_taken")
}

func TestWhatAKeyKeepsSaysThatThereWasAPasswordAndNotWhich(t *testing.T) {
	t.Parallel()
	h := open(t)
	admin := h.admin()
	body := object{"name": "Karel", "email": "karel@example.org", "grants": at(h.venue, session.Controller), "password": password}
	add := func() *client {
		t.Helper()
		keyed := admin.with("Idempotency-Key", uuid.NewString())
		keyed.post("/v1/people", body).want(t, http.StatusCreated, "")
		return keyed
	}
	add()
	h.exec(`UPDATE people SET email = 'somebody@else.example' WHERE email = 'karel@example.org'`, nil)
	body["password"] = "quite another password"
	second := add()
	if n := h.count(`SELECT count(DISTINCT body_hash) FROM repeats WHERE act = 'person'`); n != 1 {
		t.Errorf("two passwords leave %d hashes: they can be guessed from them", n)
	}
	delete(body, "password")
	second.post("/v1/people", body).want(t, http.StatusConflict, "request.key_conflict")
}

func TestALinkWhoseAnswerWasLostWorksAgainForItsKeyAloneAndForAMinute(t *testing.T) {
	t.Parallel()
	h := open(t)
	p := h.staff("Eva", nil)
	send := func(key string) reply {
		return h.browser().with("Idempotency-Key", key).post("/v1/session/link", object{"code": secretOf(p.SignInLink)})
	}
	mine := uuid.NewString()
	send(mine).want(t, http.StatusOK, "")
	send(uuid.NewString()).want(t, http.StatusGone, "link.used")
	h.browser().post("/v1/session/link", object{"code": secretOf(p.SignInLink)}).want(t, http.StatusGone, "link.used")
	send("no key").want(t, http.StatusBadRequest, "request.idempotency_key")
	h.db.Shift(t, 50*time.Second)
	b := h.browser().with("Idempotency-Key", mine)
	b.post("/v1/session/link", object{"code": secretOf(p.SignInLink)}).want(t, http.StatusOK, "")
	b.get("/v1/me").want(t, http.StatusOK, "")
	h.db.Shift(t, 11*time.Second)
	send(mine).want(t, http.StatusGone, "link.used")
	other := h.staff("Karel", nil)
	h.browser().post("/v1/session/link", object{"code": secretOf(other.SignInLink)}).want(t, http.StatusOK, "")
	h.browser().post("/v1/session/link", object{"code": secretOf(other.SignInLink)}).want(t, http.StatusGone, "link.used")
}

func TestOfManyKeysThatSendALinkAtOnceOneIsLetIn(t *testing.T) {
	t.Parallel()
	h := open(t)
	p := h.staff("Eva", nil)
	replies := make([]reply, 12)
	keys := []string{uuid.NewString(), uuid.NewString(), uuid.NewString()}
	var all sync.WaitGroup
	for i := range replies {
		all.Go(func() {
			replies[i] = h.browser().with("Idempotency-Key", keys[i%3]).post("/v1/session/link", object{"code": secretOf(p.SignInLink)})
		})
	}
	all.Wait()
	won := map[int]int{}
	for i, r := range replies {
		if r.status == http.StatusOK {
			won[i%3]++
			continue
		}
		r.want(t, http.StatusGone, "link.used")
	}
	if len(won) != 1 || !slices.Contains(slices.Collect(maps.Values(won)), 4) {
		t.Errorf("let in by key: %v; want all four of one", won)
	}
}

func TestLinksAndPairingsThatEndedADayAgoAreForgotten(t *testing.T) {
	t.Parallel()
	h := open(t)
	admin := h.admin()               // used now
	unused := h.staff("Unused", nil) // lapses in a day
	_, code := h.pairing(admin)      // lapses in minutes
	links := func() int { return h.count(`SELECT count(*) FROM one_time_links`) }
	h.db.Shift(t, 25*time.Hour)
	h.staff("Later", nil)
	h.opens(h.browser(), code).want(t, http.StatusGone, "pairing.expired")
	if n := links(); n != 2 {
		t.Errorf("after a day %d links, want the unused and the new one", n)
	}
	h.browser().post("/v1/session/link", object{"code": secretOf(unused.SignInLink)}).want(t, http.StatusGone, "link.expired")
	h.db.Shift(t, 24*time.Hour)
	again := h.admin()
	if n := links(); n != 2 {
		t.Errorf("after two days %d links, want the two newest", n)
	}
	h.pairing(again)
	if n := h.count(`SELECT count(*) FROM pairings`); n != 1 {
		t.Errorf("%d pairings, want the new one", n)
	}
	h.browser().post("/v1/session/link", object{"code": secretOf(unused.SignInLink)}).want(t, http.StatusNotFound, "link.unknown")
}

func TestFieldsAtFaultAreNamed(t *testing.T) {
	t.Parallel()
	h := open(t)
	admin := h.admin()
	good := func() object {
		return object{"name": "Karel", "email": "karel@example.org", "grants": at(h.venue, session.Controller)}
	}
	for _, c := range []struct {
		field string
		value any
		names string
		code  string
	}{
		{"name", "  ", "name", "required"},
		{"name", "a\u0000b", "name", "invalid"},
		{"name", strings.Repeat("x", 101), "name", "too_long"},
		{"email", "nobody", "email", "invalid"},
		{"email", "Karel <k@example.org>", "email", "invalid"},
		{"email", strings.Repeat("k", 250) + "@example.org", "email", "invalid"},
		{"password", "123456789", "password", "too_short"},
		{"grants", []object{{"role": "king"}}, "grants.role", "unknown"},
		{"grants", []object{{"role": "admin"}, {"role": "controller"}}, "grants.venue", "twice"},
		{"grants", []object{{"role": "admin", "venue": uuid.NewString()}}, "grants.venue", "unknown"},
	} {
		body := good()
		body[c.field] = c.value
		r := admin.post("/v1/people", body).want(t, http.StatusBadRequest, "request.fields")
		if !strings.Contains(r.raw, `"fields":[{"name":"`+c.names+`","code":"`+c.code+`"}]`) {
			t.Errorf("%s %v: %s", c.field, c.value, r.raw)
		}
	}
	desk, _ := h.atDesk("Eva", nil)
	for _, pin := range []string{"12345", "1234567", "12345a", "000000", "123456", "987654", "901234", "121212", "123123"} {
		desk.post("/v1/me/pin", object{"pin": pin}).want(t, http.StatusBadRequest, "request.fields")
	}
	desk.post("/v1/me/pin", object{"pin": "271828"}).want(t, http.StatusNoContent, "")
}

func TestAnAdminOfOneVenueGivesAndTakesNothingBeyondIt(t *testing.T) {
	t.Parallel()
	h := open(t)
	local, _ := h.atDesk("Local", at(h.venue, session.AdminRole))
	boss := h.staff("Boss", everywhere(session.AdminRole))
	foreign := h.staff("Foreign", at(h.other, session.Controller))
	add := func(email string, grants []session.Grant) reply {
		return local.post("/v1/people", object{"name": "New", "email": email, "grants": grants})
	}
	add("a@example.org", everywhere(session.Controller)).want(t, http.StatusForbidden, "session.right_missing")
	add("b@example.org", at(h.other, session.Controller)).want(t, http.StatusForbidden, "session.right_missing")
	mine := add("c@example.org", at(h.venue, session.Supervisor)).want(t, http.StatusCreated, "")
	pgtest.Secret(t, secretOf(mine.text("sign_in_link")))
	for _, p := range []session.Person{boss, foreign} {
		path := "/v1/people/" + p.Person.String()
		local.post(path+"/link", object{}).want(t, http.StatusForbidden, "session.right_missing")
		local.send(http.MethodPatch, path, object{"disabled": true}).want(t, http.StatusForbidden, "session.right_missing")
		local.send(http.MethodPatch, path, object{"grants": []session.Grant{}}).want(t, http.StatusForbidden, "session.right_missing")
	}
	path := "/v1/people/" + mine.text("person")
	local.send(http.MethodPatch, path, object{"grants": everywhere(session.AdminRole)}).want(t, http.StatusForbidden, "session.right_missing")
	changed := local.send(http.MethodPatch, path, object{"name": "Newer", "grants": at(h.venue, session.Controller)}).want(t, http.StatusOK, "")
	if changed.text("name") != "Newer" || !strings.Contains(changed.raw, `"role":"controller"`) {
		t.Errorf("changed: %s", changed.raw)
	}
	if listed := local.get("/v1/people"); len(listed.items()) != 2 {
		t.Errorf("an admin of one venue sees %s", listed.raw)
	}
	controller, _ := h.atDesk("Karel", at(h.venue, session.Controller))
	controller.get("/v1/people").want(t, http.StatusForbidden, "session.right_missing")
	h.browser().get("/v1/people").want(t, http.StatusUnauthorized, "session.required")
}

func TestNobodyDisablesHimselfOrChangesHisOwnRoles(t *testing.T) {
	t.Parallel()
	h := open(t)
	b, p := h.atDesk("Eva", everywhere(session.AdminRole))
	path := "/v1/people/" + p.Person.String()
	b.send(http.MethodPatch, path, object{"disabled": true}).want(t, http.StatusConflict, "person.self")
	b.send(http.MethodPatch, path, object{"grants": []session.Grant{}}).want(t, http.StatusConflict, "person.self")
	b.send(http.MethodPatch, path, object{"name": "Eva Nová"}).want(t, http.StatusOK, "")
	b.send(http.MethodPatch, "/v1/people/"+uuid.NewString(), object{"name": "x"}).want(t, http.StatusNotFound, "person.not_found")
	b.send(http.MethodPatch, "/v1/people/nobody", object{"name": "x"}).want(t, http.StatusNotFound, "person.not_found")
}

func TestADisabledPersonIsNoOneFromTheNextRequestOn(t *testing.T) {
	t.Parallel()
	h := open(t)
	admin := h.admin()
	desk, p := h.atDesk("Eva", everywhere(session.AdminRole))
	token := desk.post("/v1/tokens", object{"name": "till", "scopes": []string{"read"}}).want(t, http.StatusCreated, "")
	program := h.bearer(token.text("token"))
	device, id := h.device("Handheld 1")
	if err := h.s.SignOn(t.Context(), id, p.Person); err != nil {
		t.Fatal(err)
	}
	h.setPassword(p, "a password of Eva's")
	desk, _ = h.browser(), p
	desk.post("/v1/session", object{"email": p.Email, "password": "a password of Eva's"}).want(t, http.StatusOK, "")
	for _, b := range []*client{desk, program, device} {
		if got := b.get("/v1/me").want(t, http.StatusOK, ""); got.text("person") != p.Person.String() {
			t.Fatalf("before: %s", got.raw)
		}
	}
	h.exec(`UPDATE people SET disabled_at = now() WHERE id = @person`, pgx.NamedArgs{"person": p.Person})
	if me := device.get("/v1/me").want(t, http.StatusOK, ""); me.text("person") != "" || h.count(`SELECT count(*) FROM sign_ons WHERE signed_off_at IS NULL`) != 1 {
		t.Errorf("a sign-on that is still open counts: %s", me.raw)
	}
	h.exec(`UPDATE people SET disabled_at = NULL WHERE id = @person`, pgx.NamedArgs{"person": p.Person})
	admin.send(http.MethodPatch, "/v1/people/"+p.Person.String(), object{"disabled": true}).want(t, http.StatusOK, "")
	desk.get("/v1/me").want(t, http.StatusUnauthorized, "session.required")
	program.get("/v1/me").want(t, http.StatusUnauthorized, "session.unknown_credential")
	if me := device.get("/v1/me").want(t, http.StatusOK, ""); me.text("person") != "" {
		t.Errorf("the device still has a person: %s", me.raw)
	}
	h.browser().post("/v1/session", object{"email": p.Email, "password": "a password of Eva's"}).want(t, http.StatusUnauthorized, "session.wrong_credentials")
	admin.post("/v1/people/"+p.Person.String()+"/link", object{}).want(t, http.StatusConflict, "person.disabled")
	admin.send(http.MethodPatch, "/v1/people/"+p.Person.String(), object{"disabled": false}).want(t, http.StatusOK, "")
	program.get("/v1/me").want(t, http.StatusOK, "")
}

func TestListsComeInPagesWithoutALossOrARepeat(t *testing.T) {
	t.Parallel()
	h := open(t)
	admin := h.admin()
	h.exec(`INSERT INTO people (id, email, name) SELECT gen_random_uuid(), n || '@example.org', 'Person ' || n % 7 FROM generate_series(1, 430) n`, nil)
	h.exec(`
INSERT INTO devices (id, venue_id, name, token_hash, paired_at)
SELECT gen_random_uuid(), @venue, 'Device', int4send(n), now() - (n % 5) * interval '1 hour' FROM generate_series(1, 430) n`, pgx.NamedArgs{"venue": h.venue})
	h.exec(`
INSERT INTO api_tokens (id, name, token_hash, scopes, person_id)
SELECT gen_random_uuid(), 'Token', int4send(n), '{read}', (SELECT id FROM people LIMIT 1) FROM generate_series(1, 430) n`, nil)
	for path, want := range map[string]int{"/v1/people": 431, "/v1/devices": 430, "/v1/tokens": 430} {
		id := map[string]string{"/v1/people": "person", "/v1/devices": "device", "/v1/tokens": "token_id"}[path]
		seen, pages, cursor := map[string]bool{}, 0, ""
		for more := true; more; more = cursor != "" {
			r := admin.get(path+"?cursor="+cursor).want(t, http.StatusOK, "")
			for _, item := range r.items() {
				seen[item.(object)[id].(string)] = true
			}
			cursor = r.text("next")
			if pages++; pages > 10 {
				t.Fatal("the list does not end")
			}
		}
		if len(seen) != want || pages != 3 {
			t.Errorf("%s: %d of %d in %d pages", path, len(seen), want, pages)
		}
	}
}
