package pagetest_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/web/pagetest"
)

func TestEachOfTheThreeLinksLeadsToTheFirstStateOfItsPage(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	_, pairing := newcomer(t, h)
	for name, link := range map[string]struct{ address, waits string }{
		"the one-time link of the desk":   {h.Member("Alena", session.Grant{Role: session.AdminRole}).SignInLink, "#form-link button"},
		"the link that pairs a gate":      {pairing, "#pair"},
		"the claim link of a new ticket":  {h.Issue(h.Event.Event, client.NewTickets{Category: h.Standard.Category}).ClaimURL, "#put"},
		"the claim link of a whole order": {h.Issue(h.Event.Event, client.NewTickets{Category: h.Family.Category, Count: 3}).ClaimURL, "#put"},
	} {
		t.Run(name, func(t *testing.T) {
			answers(t, link.address)
			tab, _ := pagetest.Visit(t)
			tab.Do(chromedp.EmulateViewport(390, 844), chromedp.Navigate(link.address))
			tab.Until(`document.querySelector('` + link.waits + `')?.checkVisibility()`)
			if language := pagetest.Eval[string](tab, "document.documentElement.lang"); language != "en" {
				t.Errorf("the page speaks %s", language)
			}
			if address := pagetest.Eval[string](tab, "location.hash"); address != "" {
				t.Error("the secret still stands in the address")
			}
		})
	}
	if n := h.Count(t, "claims"); n != 0 {
		t.Errorf("looking at the links made %d claims", n)
	}
}

// answers asks for the page behind a link, as a mail scanner would.
func answers(t *testing.T, link string) {
	t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, link, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Security-Policy") == "" {
		t.Errorf("the link answers %s under the policy %q", response.Status, response.Header.Get("Content-Security-Policy"))
	}
}
