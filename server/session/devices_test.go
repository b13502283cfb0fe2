package session_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/pgtest"
	"portillon/server/session"
)

const android = "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Mobile Safari/537.36"

// pairing makes a link at the desk and gives its path and its code.
func (h *house) pairing(admin *client) (path, code string) {
	h.t.Helper()
	made := admin.post("/v1/pairings", object{"venue": h.venue}).want(h.t, http.StatusCreated, "")
	code = secretOf(made.text("pairing_link"))
	pgtest.Secret(h.t, code)
	return "/v1/pairings/" + made.text("pairing"), code
}

func (h *house) opens(b *client, code string) reply {
	r := b.post("/v1/pairings/open", object{"code": code, "name": ""})
	if r.text("collect") != "" {
		pgtest.Secret(h.t, r.text("collect"))
	}
	return r
}

func TestABrowserIsPairedWhenTheDeskSaysThatItIsTheOne(t *testing.T) {
	t.Parallel()
	h := open(t)
	admin := h.admin()
	path, code := h.pairing(admin)
	state := func() string { return admin.get(path).want(t, http.StatusOK, "").text("state") }
	if state() != "waiting" {
		t.Fatalf("state %s", state())
	}
	admin.post(path+"/confirm", nil).want(t, http.StatusConflict, "pairing.not_opened")
	phone := h.browser().with("User-Agent", android).with("Idempotency-Key", uuid.NewString())
	first := h.opens(phone, "p."+code).want(t, http.StatusOK, "")
	if again := h.opens(phone, code).want(t, http.StatusOK, ""); again.raw != first.raw || first.text("state") != "opened" {
		t.Errorf("a lost answer is repeated as %s after %s", again.raw, first.raw)
	}
	h.opens(h.browser(), code).want(t, http.StatusConflict, "pairing.already_opened")
	if seen := admin.get(path); seen.text("state") != "opened" || seen.text("browser") != "Chrome, Android" || seen.text("opened_at") == "" {
		t.Errorf("the desk sees %s", seen.raw)
	}
	collect := func() reply { return phone.post("/v1/pairings/collect", object{"collect": first.text("collect")}) }
	if r := collect().want(t, http.StatusOK, ""); r.text("state") != "opened" || r.text("token") != "" {
		t.Errorf("before the desk's yes: %s", r.raw)
	}
	admin.post(path+"/confirm", nil).want(t, http.StatusOK, "")
	if admin.post(path+"/confirm", nil).want(t, http.StatusOK, ""); state() != "confirmed" {
		t.Errorf("state %s", state())
	}
	got := collect().want(t, http.StatusOK, "")
	if again := collect().want(t, http.StatusOK, ""); again.raw != got.raw || got.text("state") != "confirmed" {
		t.Errorf("collected %s and then %s", got.raw, again.raw)
	}
	if state() != "collected" || h.count(`SELECT count(*) FROM devices`) != 1 {
		t.Errorf("state %s, %d devices", state(), h.count(`SELECT count(*) FROM devices`))
	}
	admin.post(path+"/refuse", nil).want(t, http.StatusConflict, "pairing.decided")
	device := h.bearer(got.text("token")).get("/v1/device").want(t, http.StatusOK, "")
	if device.text("device") != got.text("device") || device.under("venue").text("time_zone") != "Europe/Prague" {
		t.Errorf("the device is %s", device.raw)
	}
	h.db.Shift(t, session.PairingTTL)
	collect().want(t, http.StatusGone, "pairing.expired")
	for _, act := range []string{"pairing.create", "pairing.open", "pairing.confirm", "device.pair"} {
		if h.count(`SELECT count(*) FROM audit WHERE act = $1 AND person_id IS NOT NULL`, act) != 1 {
			t.Errorf("the audit has not one %s", act)
		}
	}
}

func TestOfTwoBrowsersThatOpenOneLinkAtOnceOneGetsIt(t *testing.T) {
	t.Parallel()
	h := open(t)
	path, code := h.pairing(h.admin())
	replies := make([]reply, 12)
	var all sync.WaitGroup
	for i := range replies {
		all.Go(func() { replies[i] = h.opens(h.browser().with("Idempotency-Key", uuid.NewString()), code) })
	}
	all.Wait()
	won := 0
	for _, r := range replies {
		if r.status == http.StatusOK {
			won++
			continue
		}
		r.want(t, http.StatusConflict, "pairing.already_opened")
	}
	if won != 1 {
		t.Errorf("%d browsers opened %s", won, path)
	}
}

func TestOneDeviceIsMadeHoweverOftenAnAnswerIsCollectedAtOnce(t *testing.T) {
	t.Parallel()
	h := open(t)
	admin := h.admin()
	path, code := h.pairing(admin)
	opened := h.opens(h.browser(), code)
	admin.post(path+"/confirm", nil).want(t, http.StatusOK, "")
	tokens := make([]string, 12)
	var all sync.WaitGroup
	for i := range tokens {
		all.Go(func() {
			tokens[i] = h.browser().post("/v1/pairings/collect", object{"collect": opened.text("collect")}).text("token")
		})
	}
	all.Wait()
	for _, token := range tokens {
		if token == "" || token != tokens[0] {
			t.Errorf("collected %d different credentials", len(tokens))
		}
	}
	pgtest.Secret(t, tokens[0])
	if n := h.count(`SELECT count(*) FROM devices`); n != 1 {
		t.Errorf("%d devices", n)
	}
}

func TestALinkThatTheDeskRefusesOrThatLapsesPairsNothing(t *testing.T) {
	t.Parallel()
	h := open(t)
	admin := h.admin()
	path, code := h.pairing(admin)
	opened := h.opens(h.browser(), code)
	admin.post(path+"/refuse", nil).want(t, http.StatusOK, "")
	admin.post(path+"/confirm", nil).want(t, http.StatusConflict, "pairing.decided")
	if r := h.browser().post("/v1/pairings/collect", object{"collect": opened.text("collect")}).want(t, http.StatusOK, ""); r.text("state") != "refused" {
		t.Errorf("collected %s", r.raw)
	}
	path, code = h.pairing(admin)
	admin.post(path+"/refuse", nil).want(t, http.StatusOK, "")
	h.opens(h.browser(), code).want(t, http.StatusGone, "pairing.refused")

	path, code = h.pairing(admin)
	h.db.Shift(t, session.PairingTTL)
	h.opens(h.browser(), code).want(t, http.StatusGone, "pairing.expired")
	admin.post(path+"/confirm", nil).want(t, http.StatusGone, "pairing.expired")
	h.opens(h.browser(), "nonsense").want(t, http.StatusNotFound, "pairing.not_found")
	h.browser().post("/v1/pairings/collect", object{"collect": "x"}).want(t, http.StatusNotFound, "pairing.not_found")

	path, code = h.pairing(admin)
	h.db.Shift(t, session.PairingTTL-time.Second)
	opened = h.opens(h.browser(), code).want(t, http.StatusOK, "") // the desk gets five minutes more
	h.db.Shift(t, session.PairingTTL-time.Minute)
	admin.post(path+"/confirm", nil).want(t, http.StatusOK, "")
	h.db.Shift(t, session.PairingTTL-time.Minute)
	token := h.browser().post("/v1/pairings/collect", object{"collect": opened.text("collect")}).want(t, http.StatusOK, "").text("token")
	h.bearer(token).get("/v1/device").want(t, http.StatusOK, "")
	if n := h.count(`SELECT count(*) FROM devices`); n != 1 {
		t.Errorf("%d devices", n)
	}
}

func TestADemonstrationsLinkPairsWithoutAskingTheDeskAndIsRepeatable(t *testing.T) {
	t.Parallel()
	h := open(t)
	boss := h.staff("Boss", everywhere(session.AdminRole))
	in := session.PairingIn{Venue: h.venue, Name: "Demo", Unattended: true, TTL: time.Hour}
	if _, err := h.s.Pairing(t.Context(), session.Operator, in); err == nil {
		t.Error("a link is made by nobody")
	}
	in.Repeat.Key, in.Repeat.Act = uuid.New(), "pairing"
	made, err := h.s.Pairing(t.Context(), session.Operator.For(boss.Person), in)
	if err != nil {
		t.Fatal(err)
	}
	again, err := h.s.Pairing(t.Context(), session.Operator.For(boss.Person), in)
	if err != nil || made != again {
		t.Errorf("made %v, %v and then %v", made, err, again)
	}
	pgtest.Secret(t, secretOf(made.PairingLink))
	opened := h.opens(h.browser(), secretOf(made.PairingLink)).want(t, http.StatusOK, "")
	got := h.browser().post("/v1/pairings/collect", object{"collect": opened.text("collect")}).want(t, http.StatusOK, "")
	if got.text("state") != "confirmed" || got.text("name") != "Demo" {
		t.Errorf("collected %s", got.raw)
	}
	h.bearer(got.text("token")).get("/v1/device").want(t, http.StatusOK, "")
}

func TestADeviceListsItsGatesAndWhoMayWorkThere(t *testing.T) {
	t.Parallel()
	h := open(t)
	karel := h.staff("Karel", []session.Grant{{Venue: h.venue, Role: session.Controller, CanOverride: true}})
	h.setPIN(karel, "271828")
	h.staff("Nopin", at(h.venue, session.Controller))
	h.setPIN(h.staff("Elsewhere", at(h.other, session.Controller)), "271828")
	h.setPIN(h.staff("Boss", everywhere(session.AdminRole)), "314159")
	h.exec(`INSERT INTO gates (id, venue_id, name) VALUES (gen_random_uuid(), @a, 'Main'), (gen_random_uuid(), @b, 'Foreign')`,
		pgx.NamedArgs{"a": h.venue, "b": h.other})
	device, id := h.device("Handheld 1")
	r := device.get("/v1/device").want(t, http.StatusOK, "")
	want := fmt.Sprintf(`{"device":%q,"name":"Handheld 1","venue":{"venue":%q,"name":"Aurora","time_zone":"Europe/Prague"}`, id, h.venue)
	if !strings.HasPrefix(r.raw, want) || strings.Count(r.raw, `"gate":`) != 1 || !strings.Contains(r.raw, `"name":"Main"`) {
		t.Errorf("the device is %s", r.raw)
	}
	if !strings.Contains(r.raw, `"name":"Boss"},{"person":"`+karel.Person.String()) || strings.Contains(r.raw, "Nopin") || strings.Contains(r.raw, "Elsewhere") {
		t.Errorf("the people are %s", r.raw)
	}
	on := device.post("/v1/device/sign-on", object{"person": karel.Person, "pin": "271828"}).want(t, http.StatusOK, "")
	if !strings.Contains(on.raw, `"person":{"person":"`+karel.Person.String()+`","name":"Karel","rights":["scan","override"]}`) {
		t.Errorf("signed on: %s", on.raw)
	}
	h.browser().get("/v1/device").want(t, http.StatusUnauthorized, "session.required")
	h.admin().get("/v1/device").want(t, http.StatusForbidden, "session.right_missing")
}

func TestAfterFiveWrongPINsOnlyThePasswordSignsOn(t *testing.T) {
	t.Parallel()
	h := open(t)
	karel := h.staff("Karel", at(h.venue, session.Controller))
	h.setPIN(karel, "271828")
	h.setPassword(karel, password)
	device, _ := h.device("Handheld 1")
	second, _ := h.device("Handheld 2")
	on := func(d *client, by object) reply { return d.post("/v1/device/sign-on", by) }
	pin := func(p string) object { return object{"person": karel.Person, "pin": p} }
	for left := 4; left >= 0; left-- {
		r := on(device, pin("111222")).want(t, http.StatusForbidden, "sign_on.wrong_pin")
		if r.fact("tries_left") != float64(left) {
			t.Errorf("tries left: %s", r.raw)
		}
	}
	on(device, pin("271828")).want(t, http.StatusForbidden, "sign_on.pin_locked")
	on(second, pin("271828")).want(t, http.StatusOK, "")
	on(device, object{"email": karel.Email, "password": "wrong wrong wrong"}).want(t, http.StatusForbidden, "sign_on.wrong_password")
	on(device, object{"person": karel.Person, "password": password}).want(t, http.StatusOK, "")
	on(device, pin("271828")).want(t, http.StatusOK, "")
	for range 4 {
		on(device, pin("111222")).want(t, http.StatusForbidden, "sign_on.wrong_pin")
	}
	on(device, pin("271828")).want(t, http.StatusOK, "") // a right one forgives the wrong ones
	on(device, pin("111222")).want(t, http.StatusForbidden, "sign_on.wrong_pin")
}

func TestManyPINsAtOnceGetNoMoreThanFiveTries(t *testing.T) {
	t.Parallel()
	h := open(t)
	karel := h.staff("Karel", at(h.venue, session.Controller))
	h.setPIN(karel, "271828")
	device, _ := h.device("Handheld 1")
	codes := make([]string, 20)
	var all sync.WaitGroup
	for i := range codes {
		all.Go(func() {
			codes[i] = device.post("/v1/device/sign-on", object{"person": karel.Person, "pin": fmt.Sprintf("11122%d", i%10)}).code()
		})
	}
	all.Wait()
	judged := 0
	for _, code := range codes {
		if code == "sign_on.wrong_pin" {
			judged++
		} else if code != "sign_on.pin_locked" {
			t.Errorf("answered %q", code)
		}
	}
	if judged != 5 {
		t.Errorf("%d PINs were compared", judged)
	}
}

func TestSigningOnEndsTheSignOnOfThePersonBefore(t *testing.T) {
	t.Parallel()
	h := open(t)
	karel, eva := h.staff("Karel", at(h.venue, session.Controller)), h.staff("Eva", at(h.venue, session.Supervisor))
	foreign := h.staff("Foreign", at(h.other, session.Supervisor))
	for _, p := range []session.Person{karel, eva, foreign} {
		h.setPIN(p, "271828")
	}
	device, id := h.device("Handheld 1")
	on := func(p session.Person) reply {
		return device.post("/v1/device/sign-on", object{"email": strings.ToUpper(p.Email), "pin": "271828"})
	}
	on(foreign).want(t, http.StatusForbidden, "sign_on.no_role")
	on(karel).want(t, http.StatusOK, "")
	on(karel).want(t, http.StatusOK, "") // the answer was lost
	if n := h.count(`SELECT count(*) FROM sign_ons`); n != 1 {
		t.Errorf("signing on twice made %d rows", n)
	}
	on(eva).want(t, http.StatusOK, "")
	if me := device.get("/v1/me"); me.text("name") != "Eva" || me.text("kind") != "device" || me.text("email") != "" {
		t.Errorf("on the device is %s", me.raw)
	}
	if n := h.count(`SELECT count(*) FROM sign_ons WHERE signed_off_at IS NULL AND device_id = $1`, id); n != 1 {
		t.Errorf("%d open sign-ons", n)
	}
	if off := device.post("/v1/device/sign-off", nil).want(t, http.StatusOK, ""); off.body["person"] != nil {
		t.Errorf("after signing off: %s", off.raw)
	}
	device.post("/v1/device/sign-off", nil).want(t, http.StatusOK, "")
	if me := device.get("/v1/me"); me.text("person") != "" {
		t.Errorf("on the device is %s", me.raw)
	}
	for act, n := range map[string]int{"device.sign_on": 2, "device.sign_off": 1} {
		if h.count(`SELECT count(*) FROM audit WHERE act = $1 AND device_id = $2 AND person_id IS NOT NULL`, act, id) != n {
			t.Errorf("the audit has not %d %s", n, act)
		}
	}
	for _, bad := range []object{{}, {"pin": "271828"}, {"person": karel.Person}, {"person": karel.Person, "email": "x", "pin": "1"}, {"person": karel.Person, "pin": "1", "password": "x"}} {
		device.post("/v1/device/sign-on", bad).want(t, http.StatusBadRequest, "request.fields")
	}
	device.post("/v1/device/sign-on", object{"person": uuid.NewString(), "pin": "271828"}).want(t, http.StatusNotFound, "person.not_found")
	h.staff("Nopin", at(h.venue, session.Controller))
	device.post("/v1/device/sign-on", object{"email": "nopin@example.org", "pin": "271828"}).want(t, http.StatusConflict, "sign_on.no_pin")
}

func TestManyPeopleWhoSignOnToOneDeviceAtOnceLeaveOne(t *testing.T) {
	t.Parallel()
	h := open(t)
	_, id := h.device("Handheld 1")
	var all sync.WaitGroup
	for i := range 8 {
		p := h.staff(fmt.Sprintf("Person%d", i), at(h.venue, session.Controller))
		all.Go(func() {
			if err := h.s.SignOn(t.Context(), id, p.Person); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if open, rows := h.count(`SELECT count(*) FROM sign_ons WHERE signed_off_at IS NULL`), h.count(`SELECT count(*) FROM sign_ons`); open != 1 || rows != 8 {
		t.Errorf("%d of %d sign-ons are open", open, rows)
	}
}

func TestARevokedDeviceIsUnknownAtOnceAndStaysListed(t *testing.T) {
	t.Parallel()
	h := open(t)
	admin := h.admin()
	device, id := h.device("Handheld 1")
	_, again, err := h.s.PairDevice(t.Context(), session.Operator, h.venue, "Handheld 1")
	if err != nil || "Bearer "+again != device.headers["Authorization"] {
		t.Errorf("pairing by name again gives another device (%v)", err)
	}
	karel := h.staff("Karel", at(h.venue, session.Controller))
	if err := h.s.SignOn(t.Context(), id, karel.Person); err != nil {
		t.Fatal(err)
	}
	if list := admin.get("/v1/devices?venue=" + h.venue.String()); len(list.items()) != 1 || !strings.Contains(list.raw, `"name":"Karel"`) {
		t.Errorf("devices: %s", list.raw)
	}
	if list := admin.get("/v1/devices?venue=" + h.other.String()); len(list.items()) != 0 {
		t.Errorf("devices of another venue: %s", list.raw)
	}
	admin.get("/v1/devices?venue=x").want(t, http.StatusNotFound, "venue.not_found")
	foreign, _ := h.atDesk("Foreign", at(h.other, session.AdminRole))
	foreign.get("/v1/devices?venue="+h.venue.String()).want(t, http.StatusForbidden, "session.right_missing")
	foreign.post("/v1/devices/"+id.String()+"/revoke", nil).want(t, http.StatusForbidden, "session.right_missing")
	foreign.post("/v1/pairings", object{"venue": h.venue}).want(t, http.StatusForbidden, "session.right_missing")
	path, _ := h.pairing(admin)
	foreign.get(path).want(t, http.StatusForbidden, "session.right_missing")
	foreign.post(path+"/confirm", nil).want(t, http.StatusForbidden, "session.right_missing")

	revoked := admin.post("/v1/devices/"+id.String()+"/revoke", nil).want(t, http.StatusOK, "")
	if revoked.text("revoked_at") == "" || revoked.body["person"] != nil {
		t.Errorf("revoked: %s", revoked.raw)
	}
	device.get("/v1/device").want(t, http.StatusUnauthorized, "session.unknown_credential")
	if r := admin.post("/v1/devices/"+id.String()+"/revoke", nil).want(t, http.StatusOK, ""); r.raw != revoked.raw {
		t.Errorf("revoked again: %s", r.raw)
	}
	admin.post("/v1/devices/"+uuid.NewString()+"/revoke", nil).want(t, http.StatusNotFound, "device.not_found")
	if other, _, err := h.s.PairDevice(t.Context(), session.Operator, h.venue, "Handheld 1"); err != nil || other == id {
		t.Errorf("a revoked device came back (%v)", err)
	}
}
