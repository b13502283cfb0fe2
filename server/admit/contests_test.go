package admit_test

import (
	"context"
	"net/http"
	"net/http/cookiejar"
	"strings"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/ticket"
	"portillon/wallet"
)

// contest is an act that meets a scan, with what either order leaves behind.
type contest struct {
	name   string
	paper  bool                                // the ticket may be printed
	before func(r *round)                      // makes the ticket ready for the act
	act    func(r *round, start func()) string // calls start right before it asks, and says what it was told
	after  func(r *round, scanFirst bool)      // looks at what can be done with the ticket then

	scanFirst, actFirst outcome
}

var contests = []contest{
	{
		name: "revoke", act: desk("revoke"),
		scanFirst: outcome{"admitted", "done", ticket.RevokedStatus, 1, 1, 1, "ordinary", "ticket.revoke of used"},
		actFirst:  outcome{"revoked", "done", ticket.RevokedStatus, 0, 0, 1, "", "ticket.revoke of active"},
	},
	{
		name: "hold", act: desk("hold"),
		scanFirst: outcome{"admitted", "ticket.not_active", ticket.Used, 1, 1, 1, "ordinary", ""},
		actFirst:  outcome{"held", "done", ticket.HeldStatus, 0, 0, 1, "", "ticket.hold of active"},
	},
	{
		name: "release", before: func(r *round) { r.prepare("hold") }, act: desk("release"),
		scanFirst: outcome{"held", "done", ticket.Active, 0, 0, 1, "", "ticket.hold of active, ticket.release of held"},
		actFirst:  outcome{"admitted", "done", ticket.Used, 1, 1, 1, "ordinary", "ticket.hold of active, ticket.release of held"},
	},
	{
		name: "reinstate", before: func(r *round) { r.prepare("revoke") }, act: desk("reinstate"),
		scanFirst: outcome{"revoked", "done", ticket.Active, 0, 0, 1, "", "ticket.revoke of active, ticket.reinstate of revoked"},
		actFirst:  outcome{"admitted", "done", ticket.Used, 1, 1, 1, "ordinary", "ticket.revoke of active, ticket.reinstate of revoked"},
	},
	{
		// The phone that has the ticket keeps it until the new link is used.
		name: "reissue", act: reissue, after: newLinkClaimsNothing,
		scanFirst: outcome{"admitted", "done", ticket.Used, 1, 1, 1, "ordinary", "ticket.reissue"},
		actFirst:  outcome{"admitted", "done", ticket.Used, 1, 1, 1, "ordinary", "ticket.reissue"},
	},
	{
		name: "claim by another phone", before: func(r *round) { reissue(r, func() {}) }, act: claimByAnother, after: onePhoneGoesIn,
		scanFirst: outcome{"admitted", "claim.ticket_used", ticket.Used, 1, 1, 1, "ordinary", "ticket.reissue"},
		actFirst:  outcome{"moved", "done", ticket.Active, 0, 0, 2, "", "ticket.reissue, ticket.claim"},
	},
	{
		name: "print", paper: true, act: desk("print"),
		scanFirst: outcome{"admitted", "ticket.not_active", ticket.Used, 1, 1, 1, "ordinary", ""},
		actFirst:  outcome{"moved", "done", ticket.Active, 0, 0, 2, "", "ticket.print"},
	},
	{
		// An override that no rule stands against is an ordinary entry.
		name: "override", act: overrideByOlga,
		scanFirst: outcome{"admitted", "admitted against already_used", ticket.Used, 2, 2, 1, "ordinary, override", "scan.override"},
		actFirst:  outcome{"already_used by Olga", "admitted", ticket.Used, 1, 1, 1, "ordinary", ""},
	},
	{
		name: "look-up", act: lookUpByEva,
		scanFirst: outcome{"admitted", "already_used by Karel", ticket.Used, 1, 1, 1, "ordinary", ""},
		actFirst:  outcome{"already_used by Eva", "admitted", ticket.Used, 1, 1, 1, "look_up", "scan.look_up"},
	},
	{
		name: "undo of an entry before", before: enterBefore, act: undo,
		scanFirst: outcome{"already_used by Karel", "done", ticket.Active, 0, 0, 1, "ordinary undone", "scan.undo"},
		actFirst:  outcome{"admitted", "done", ticket.Used, 1, 1, 1, "ordinary undone, ordinary", "scan.undo"},
	},
	{
		name: "undo of the scan that is sent again", before: func(r *round) { enterBefore(r); r.key = r.before }, act: undo,
		scanFirst: outcome{"admitted again", "done", ticket.Active, 0, 0, 1, "ordinary undone", "scan.undo"},
		actFirst:  outcome{"undone", "done", ticket.Active, 0, 0, 1, "ordinary undone", "scan.undo"},
	},
}

// desk is an act that the desk does by one call.
func desk(verb string) func(r *round, start func()) string {
	return func(r *round, start func()) string {
		start()
		return refusal(r.atDesk(verb))
	}
}

func reissue(r *round, start func()) string {
	start()
	link, err := client.Do[client.ClaimLink](context.Background(), r.desk.Client(r.token), http.MethodPost,
		"/v1/tickets/"+r.id.String()+"/reissue", map[string]string{"reason": "a race"}, client.WithKey(servertest.NewKey()))
	_, r.link, _ = strings.Cut(link.ClaimURL, "#")
	return refusal(err)
}

// newLinkClaimsNothing: in either order the ticket is used.
func newLinkClaimsNothing(r *round, _ bool) {
	r.t.Helper()
	offer, err := r.phone.Look(context.Background(), r.link)
	if err != nil || offer.Claimable || len(offer.Tickets) != 1 {
		r.t.Errorf("the new link of a used ticket offers %+v, %v", offer, err)
	}
}

// claimByAnother has all but its last call behind it when the race begins.
func claimByAnother(r *round, start func()) string {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err.Error()
	}
	own := &http.Client{Transport: r.desk.HTTP.Transport, Jar: jar}
	r.moved = &servertest.Phone{Phone: client.NewPhone(r.desk.URL, &wallet.Phone{}, own), HTTP: own}
	_, err = r.moved.Claim(context.Background(), r.link, func() error { start(); return nil })
	return refusal(err)
}

// onePhoneGoesIn: the one that went in, or the one that has the ticket now.
func onePhoneGoesIn(r *round, scanFirst bool) {
	r.t.Helper()
	want := "already_used by Karel"
	if !scanFirst {
		r.code = r.moved.Signed(r.t, r.id, r.karel.Hold(r.t))
		want = "admitted"
	}
	if got := r.ask(r.eva, servertest.NewKey()); got != want {
		r.t.Errorf("afterwards: %s, want %s", got, want)
	}
}

func overrideByOlga(r *round, start func()) string {
	start()
	return r.told(client.Do[client.ScanAnswer](context.Background(), r.olga.At(r.desk).Client, http.MethodPost, "/v1/scans/override",
		map[string]any{"gate": r.Gate.Gate, "code": r.code, "reason": "I know them"}, client.WithKey(servertest.NewKey())))
}

func lookUpByEva(r *round, start func()) string {
	start()
	return r.told(client.Do[client.ScanAnswer](context.Background(), r.eva.At(r.desk).Client, http.MethodPost,
		"/v1/tickets/"+r.id.String()+"/admit", map[string]any{"gate": r.Gate.Gate, "reason": "flat battery"}, client.WithKey(servertest.NewKey())))
}

func enterBefore(r *round) {
	r.t.Helper()
	r.before = servertest.NewKey()
	if got := r.ask(r.karel, r.before); got != "admitted" {
		r.t.Fatalf("the entry before: %s", got)
	}
}

func undo(r *round, start func()) string {
	start()
	_, err := r.karel.At(r.desk).Undo(context.Background(), r.id, r.before, "the turnstile did not turn")
	return refusal(err)
}
