package pagetest_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/pquerna/otp/totp"

	"portillon/server/client"
	"portillon/server/pgtest"
	"portillon/server/servertest"
	"portillon/web/pagetest"
)

// Who works here: people, their roles and ways in, and the tokens of programs.

// room goes to one of the desk's addresses and waits until its view is there.
func (o orderForm) room(fragment, view string) {
	o.t.Helper()
	o.Until(`document.querySelector(".top nav")`)
	o.Do(chromedp.Evaluate[chromedp.Void](`void (location.hash = "` + fragment + `")`))
	o.Until(`document.querySelector("main[data-view=` + view + `]")`)
}

// types puts a text into a field by its keys.
func (o orderForm) types(selector, text string) {
	o.t.Helper()
	o.Click(selector)
	o.Do(chromedp.KeyEvent(text))
	o.Until(`document.querySelector(` + strconv.Quote(selector) + `).value.endsWith(` + strconv.Quote(text) + `)`)
}

// chooses sets a select as a person does: the page hears that it changed.
func (o orderForm) chooses(selector, value string) {
	o.t.Helper()
	o.Until(`document.querySelector(` + strconv.Quote(selector) + `)`)
	o.Do(chromedp.Evaluate[chromedp.Void](`void ((select) => { select.value = ` + strconv.Quote(value) + `; select.dispatchEvent(new Event("change", { bubbles: true })); })(document.querySelector(` + strconv.Quote(selector) + `))`))
}

// handedOut is the link or the token that is shown, once.
func (o orderForm) handedOut(prefix string) string {
	o.t.Helper()
	o.Until(`document.querySelector("#handed-text")?.value.startsWith(` + strconv.Quote(prefix) + `)`)
	text := pagetest.Eval[string](o.Tab, `document.querySelector("#handed-text").value`)
	_, secret, found := strings.Cut(text, "#s.")
	if !found {
		secret = text
	}
	pgtest.Secret(o.t, secret)
	return text
}

func TestAPersonIsAddedSignsInByTheLinkGetsAnotherRoleAndIsDisabled(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	o := atTheDesk(t, h)
	o.room("#/people", "people")
	o.types(`[name="name"]`, "Petra Králová")
	o.types(`[name="email"]`, "petra@example.org")
	o.chooses(`[name="role.`+h.Venue.Venue.String()+`"]`, "admin")
	o.Do(chromedp.KeyEvent(kb.Enter)) // still in the last field that was typed in
	link := o.handedOut(h.URL + "/desk#s.")

	hers := orderForm{pagetest.NewTab(t, nil), t, h}
	hers.Do(chromedp.Navigate(link))
	hers.Click("#form-link button")
	hers.types(`[name="password"]`, "a long enough passphrase")
	hers.Do(chromedp.KeyEvent(kb.Enter))
	hers.Until(`document.querySelector("main[data-view=events]")`)

	if n := h.Count(t, "people WHERE email = 'petra@example.org' AND password_hash IS NOT NULL"); n != 1 {
		t.Fatalf("%d people have the address and a password", n)
	}
	o.Click("[data-act=add_again]")
	o.Do(chromedp.Evaluate[chromedp.Void](`void [...document.querySelectorAll("td a.title")].find((a) => a.textContent === "Petra Králová").click()`))
	o.Until(`document.querySelector("main[data-view=person]")`)
	o.chooses(`[name="role.`+h.Venue.Venue.String()+`"]`, "overrider")
	o.Click("#form-person button")
	o.Until(`document.querySelector(".facts").innerText.includes("controller with judgement at")`)
	if n := h.Count(t, "person_roles r JOIN people p ON p.id = r.person_id WHERE p.email = 'petra@example.org' AND r.role = 'controller' AND r.can_override"); n != 1 {
		t.Errorf("%d roles of a controller with judgement were written", n)
	}

	o.Click("#deed-disable")
	o.Until(`document.activeElement.id === "deed-really"`)
	o.Do(chromedp.KeyEvent(kb.Escape))
	o.Click("#deed-disable")
	if n := h.Count(t, "people WHERE email = 'petra@example.org' AND disabled_at IS NOT NULL"); n != 0 {
		t.Error("one press has disabled her")
	}
	o.Do(chromedp.KeyEvent(kb.Enter))
	o.Until(`document.querySelector("#deed-enable")`)
	hers.Expect("401")
	hers.Do(chromedp.Evaluate[chromedp.Void](`void (location.hash = "#/gates")`))
	hers.Until(`document.querySelector("main[data-view=sign_in]")`)
}

func TestASecondFactorIsSetUpAtTheAccountAndAskedForAtTheNextSignIn(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	o := atTheDesk(t, h)
	const passphrase = "a long enough passphrase"
	o.room("#/account", "account")
	o.types(`#password-password`, passphrase)
	o.Do(chromedp.KeyEvent(kb.Enter))
	o.Until(`document.querySelector("#factor-current")`) // from now on the password is asked for
	email := pagetest.Eval[string](o.Tab, `document.querySelector('input[name="username"]').value`)
	o.types(`#factor-current`, passphrase)
	o.Do(chromedp.KeyEvent(kb.Enter))
	o.Until(`document.activeElement.id === "factor-code" && document.querySelector("img.qr")`)
	secret := strings.ReplaceAll(pagetest.Eval[string](o.Tab, `document.querySelector(".secret").textContent`), " ", "")
	pgtest.Secret(t, secret)
	shows := func() string { return servertest.Must(totp.GenerateCode(secret, h.DB.Now(t)))(t) }
	o.Do(chromedp.KeyEvent(shows()), chromedp.KeyEvent(kb.Enter))
	o.Until(`document.querySelectorAll("#recovery li").length === 10`)
	recovery := pagetest.Eval[string](o.Tab, `document.querySelector("#recovery li").textContent`)
	pgtest.Secret(t, recovery)
	o.Click("[data-act=factor_done]")
	o.Until(`!document.body.innerHTML.includes("` + recovery + `")`)
	o.room("#/gates", "gates")
	o.room("#/account", "account")
	o.Until(`document.querySelector("#form-factor .danger")`) // known in every room
	o.Click("[data-act=sign_out]")

	o.Expect("401")
	o.types(`[name="email"]`, email)
	o.types(`[name="password"]`, passphrase)
	o.Do(chromedp.KeyEvent(kb.Enter))
	o.Until(`document.activeElement.id === "sign_in-otp"`)
	h.DB.Shift(t, 30*time.Second)
	o.Do(chromedp.KeyEvent(shows()), chromedp.KeyEvent(kb.Enter))
	o.Until(`document.querySelector("main[data-view=events], main[data-view=account]")`)
	if n := h.Count(t, "audit WHERE act = 'session.sign_in' AND details ->> 'second_factor' = 'otp'"); n != 1 {
		t.Errorf("%d sign-ins with a code are in the audit", n)
	}
}

// code is that of the problem which the server answered with.
func code(err error) string {
	var problem *client.Problem
	if errors.As(err, &problem) {
		return problem.Code
	}
	return ""
}

func TestATokenIsShownOnceWorksWithinItsScopesAndEnds(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	o := atTheDesk(t, h)
	o.room("#/tokens", "tokens")
	o.types(`[name="name"]`, "Reports")
	o.Do(chromedp.KeyEvent(kb.Enter))
	token := o.handedOut("pta_")

	ctx := context.Background()
	reader := h.Client(token)
	if _, err := client.Do[map[string]any](ctx, reader, "GET", "/v1/events/"+h.Event.Event.String(), nil); err != nil {
		t.Fatalf("the token that may read: %v", err)
	}
	if _, err := client.Do[client.Issued](ctx, reader, "POST", "/v1/events/"+h.Event.Event.String()+"/tickets", client.NewTickets{Category: h.Standard.Category}); code(err) != "session.right_missing" {
		t.Errorf("the token that may only read was answered %v", err)
	}
	o.Click("[data-act=token_kept]")
	o.Until(`!document.body.innerHTML.includes("pta_") && ![...document.querySelectorAll("input")].some((input) => input.value.includes("pta_"))`)
	o.Do(chromedp.Evaluate[chromedp.Void](`void [...document.querySelectorAll("tr")].find((row) => row.innerText.includes("Reports")).querySelector("[data-act=end_token]").click()`))
	o.Until(`document.activeElement.id === "end-really"`)
	o.Do(chromedp.KeyEvent(kb.Enter))
	o.Until(`[...document.querySelectorAll("tr")].find((row) => row.innerText.includes("Reports")).innerText.includes("Ended")`)
	if _, err := client.Do[map[string]any](ctx, reader, "GET", "/v1/events/"+h.Event.Event.String(), nil); code(err) != "session.unknown_credential" {
		t.Errorf("the ended token was answered %v", err)
	}
}
