package challenge

import (
	"encoding/base64"
	"net/http"
	"testing"
	"time"

	"portillon/server/session"
	"portillon/server/ticket"
	"portillon/wallet"
)

func parseTime(t *testing.T, a answer, name string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, a.text(t, name))
	if err != nil || at.Location() != time.UTC {
		t.Fatalf("%s: %v %v", name, at, err)
	}
	return at
}

func TestADeviceHoldsRenewsAndReleasesItsGate(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.replica(t)
	held := h.hold(t, r)
	lease := held.text(t, "lease")
	raw, err := base64.RawURLEncoding.DecodeString(held.text(t, "nonce"))
	if err != nil || len(raw) != 16 || len(lease) != 22 || held.body["kind"] != "pushed" || held.body["accepted_for"] != 35.0 {
		t.Fatalf("%v", held.body)
	}
	if lives := parseTime(t, held, "lease_expires_at").Sub(parseTime(t, held, "server_time")); lives <= 13*time.Second || lives > 15*time.Second {
		t.Fatalf("the lease lives for %v", lives)
	}
	h.db.Shift(t, 12*time.Second)
	renewed := call(t, "POST", r.url+"/v1/nonce-leases/"+lease+"/renew", "", bearer(h.device))
	if renewed.status != http.StatusOK || renewed.body["lease"] != lease || renewed.body["nonce"] == held.body["nonce"] {
		t.Fatalf("%d %v", renewed.status, renewed.body)
	}
	if a := call(t, "POST", r.url+"/v1/nonce-leases/"+lease+"/release", "", nobody); a.status != http.StatusNoContent {
		t.Fatalf("release: %d %v", a.status, a.body)
	}
	if a := call(t, "POST", r.url+"/v1/nonce-leases/AAAAAAAAAAAAAAAAAAAAAA/release", "beacon", nobody); a.status != http.StatusNoContent {
		t.Fatalf("release of nothing: %d %v", a.status, a.body)
	}
	gone := call(t, "POST", r.url+"/v1/nonce-leases/"+lease+"/renew", "", bearer(h.device))
	if gone.status != http.StatusGone || gone.code() != "nonce.lease_ended" {
		t.Fatalf("%d %v", gone.status, gone.body)
	}
}

func TestRenewingAfterTheLeaseLapsedIs410(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.replica(t)
	lease := h.hold(t, r).text(t, "lease")
	h.db.Shift(t, 16*time.Second)
	if a := call(t, "POST", r.url+"/v1/nonce-leases/"+lease+"/renew", "", bearer(h.device)); a.status != http.StatusGone || a.code() != "nonce.lease_ended" {
		t.Fatalf("%d %v", a.status, a.body)
	}
}

func TestAClosedGateRefusesRenewalAndOpensWithANewHoldBothAudited(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.replica(t)
	lease, other := h.hold(t, r).text(t, "lease"), h.hold(t, r).text(t, "lease")
	if a := call(t, "POST", r.url+"/v1/nonce-leases/"+lease+"/close", "", bearer(h.device)); a.status != http.StatusNoContent {
		t.Fatalf("close: %d %v", a.status, a.body)
	}
	if a := call(t, "POST", r.url+"/v1/nonce-leases/"+other+"/renew", "", bearer(h.device)); a.status != http.StatusConflict || a.code() != "nonce.gate_closed" {
		t.Fatalf("%d %v", a.status, a.body)
	}
	h.hold(t, r)
	var acts []string
	if err := h.db.Pool.QueryRow(t.Context(), `SELECT array_agg(act ORDER BY id) FROM audit WHERE subject_id = $1`, h.gate).Scan(&acts); err != nil {
		t.Fatal(err)
	}
	if len(acts) != 2 || acts[0] != "gate.close" || acts[1] != "gate.open" {
		t.Fatalf("%v", acts)
	}
}

func TestAShownNonceIsDrawnAsTheGatesCodeAndOpensNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.replica(t)
	a := call(t, "POST", r.url+"/v1/nonces", `{"gate":"`+h.gate.String()+`","kind":"shown"}`, bearer(h.device))
	if a.status != http.StatusCreated || a.body["kind"] != "shown" || a.body["accepted_for"] != 60.0 || a.body["lease"] != nil || a.body["lease_expires_at"] != nil {
		t.Fatalf("%d %v", a.status, a.body)
	}
	code, err := wallet.ParseGateCode(a.text(t, "code"))
	if err != nil || ticket.DeviceID(code.Device) != h.id || base64.RawURLEncoding.EncodeToString(code.Nonce[:]) != a.text(t, "nonce") || code.AcceptedFor != 60 {
		t.Fatalf("%+v %v", code, err)
	}
	c := h.session(t, h.ticket(t, -time.Minute))
	if polled := call(t, "GET", r.url+"/v1/wallet/nonce", "", cookie(c)); polled.body["venues"].([]any)[0].(map[string]any)["open"] != false {
		t.Fatalf("%v", polled.body)
	}
}

func TestWhoMayNotHoldAGateIsTold(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	other := inHouse(t, h.db)
	r := h.replica(t)
	_, lonely := h.pair(t, h.venue)
	lease := h.hold(t, r).text(t, "lease")
	body := `{"gate":"` + h.gate.String() + `"}`
	for name, c := range map[string]struct {
		path, body string
		as         func(*http.Request)
		status     int
		code       string
	}{
		"nobody":                       {"/v1/nonces", body, nobody, 401, "session.required"},
		"a wallet":                     {"/v1/nonces", body, cookie(h.session(t, h.ticket(t, 0))), 401, "session.required"},
		"a device without a person":    {"/v1/nonces", body, bearer(lonely), 403, "session.sign_on_required"},
		"another venue's device":       {"/v1/nonces", body, bearer(other.device), 403, "session.right_missing"},
		"another venue's, renewing":    {"/v1/nonce-leases/" + lease + "/renew", "", bearer(other.device), 403, "session.right_missing"},
		"another venue's, closing":     {"/v1/nonce-leases/" + lease + "/close", "", bearer(other.device), 403, "session.right_missing"},
		"a gate that is none":          {"/v1/nonces", `{"gate":"00000000-0000-4000-8000-000000000000"}`, bearer(h.device), 404, "gate.not_found"},
		"no gate at all":               {"/v1/nonces", `{}`, bearer(h.device), 400, "request.fields"},
		"a kind that is none":          {"/v1/nonces", `{"gate":"` + h.gate.String() + `","kind":"timed"}`, bearer(h.device), 400, "request.fields"},
		"something that is no request": {"/v1/nonces", `[]`, bearer(h.device), 400, "request.body"},
		"a lease that is none":         {"/v1/nonce-leases/nothing/close", "", bearer(h.device), 410, "nonce.lease_ended"},
	} {
		if a := call(t, "POST", r.url+c.path, c.body, c.as); a.status != c.status || a.code() != c.code {
			t.Errorf("%s: %d %v", name, a.status, a.body)
		}
	}
	for _, path := range []string{"/v1/wallet/nonce", "/v1/wallet/stream"} {
		for name, as := range map[string]func(*http.Request){"nobody": nobody, "a device": bearer(h.device)} {
			if a := call(t, "GET", r.url+path, "", as); a.status != 401 || a.code() != "session.wallet_required" {
				t.Errorf("%s at %s: %d %v", name, path, a.status, a.body)
			}
		}
	}
}

func TestALeaseOfAnAPITokenIsRefusedSinceNoPageStandsBehindIt(t *testing.T) {
	t.Parallel()
	by := session.Caller{Kind: session.ByToken, Scopes: []session.Scope{session.ScopeScan}, Grants: []session.Grant{{Role: session.Controller}}}
	if err := requireDoor(by, ticket.VenueID{1}); err == nil {
		t.Fatal("a token holds a gate")
	}
}

func TestAPollingWalletGetsTheNonceOfItsVenuesOnly(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	other := inHouse(t, h.db)
	r := h.replica(t)
	held := h.hold(t, r)
	other.hold(t, r)
	mine := call(t, "GET", r.url+"/v1/wallet/nonce", "", cookie(h.session(t, h.ticket(t, -time.Minute))))
	venues, _ := mine.body["venues"].([]any)
	if mine.status != 200 || len(venues) != 1 {
		t.Fatalf("%d %v", mine.status, mine.body)
	}
	v := venues[0].(map[string]any)
	if v["venue"] != h.venue.String() || v["open"] != true || v["accepted_for"] != 35.0 || v["issued_at"] == nil {
		t.Fatalf("%v", v)
	}
	again := call(t, "POST", r.url+"/v1/nonce-leases/"+held.text(t, "lease")+"/renew", "", bearer(h.device))
	if v["nonce"] != held.body["nonce"] && v["nonce"] != again.body["nonce"] {
		t.Fatal("the wallet got another nonce than the gate")
	}
	early := call(t, "GET", r.url+"/v1/wallet/nonce", "", cookie(h.session(t, h.ticket(t, time.Hour))))
	if len(early.body["venues"].([]any)) != 0 || early.body["next_doors_open_at"] == nil {
		t.Fatalf("%v", early.body)
	}
}
