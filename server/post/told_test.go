package post_test

import (
	"io"
	"mime"
	"mime/quotedprintable"
	"net/http"
	"net/mail"
	"strings"
	"testing"

	"portillon/server/client"
	"portillon/server/post"
	"portillon/server/servertest"
)

// read gives a mail's reader, subject and text.
func read(t *testing.T, raw string) (to, subject, text string) {
	t.Helper()
	m, err := mail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil {
		t.Fatal(err)
	}
	if subject, err = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); err != nil {
		t.Fatal(err)
	}
	return strings.Trim(m.Header.Get("To"), "<>"), subject, strings.ReplaceAll(string(body), "\r\n", "\n")
}

// sent waits for so many mails and gives their texts by "reader: subject".
func sent(t *testing.T, o *servertest.Office, n int) map[string]string {
	t.Helper()
	until(t, "all mails are sent", func() bool { return len(o.Texts()) >= n })
	all := map[string]string{}
	for _, raw := range o.Texts() {
		to, subject, text := read(t, raw)
		all[to+": "+subject] = text
	}
	if len(all) != n {
		t.Fatalf("%d mails of %d: %v", len(all), n, all)
	}
	return all
}

func responsible(t *testing.T, h *servertest.House, email, language string) {
	t.Helper()
	change := map[string]any{"responsible": client.Responsible{Email: email, Language: language}}
	got, err := client.Do[client.Event](t.Context(), h.Admin, http.MethodPatch, "/v1/events/"+h.Event.Event.String(), change)
	if err != nil || got.Responsible.Email != email || got.Responsible.Language != language {
		t.Fatalf("%+v, %v", got.Responsible, err)
	}
}

// An order and a file are one act each: one mail to whoever is responsible for the
// event, without a link that claims anything; and each holder gets the link, all
// tickets of a file that are one holder's in one mail.
func TestEachActIsOneMailToWhoeverIsResponsibleAndEachHolderGetsTheLink(t *testing.T) {
	t.Parallel()
	o, h, _ := start(t, true, nil)
	responsible(t, h, "chief@example.org", "fr")
	h.Issue(h.Event.Event, client.NewTickets{Category: h.Standard.Category, Seats: []string{"A1", "A2", "A3"}, Holder: &client.Holder{Name: "Marie", Email: "marie@example.net"}})
	event := h.Event.Name
	all := sent(t, o, 2)
	told := all["chief@example.org: "+event+" : billets émis, n° 1–3"]
	if !strings.Contains(told, "3 × Standard, n° 1–3") || !strings.Contains(told, "/desk#/event/"+h.Event.Event.String()) || strings.Contains(told, "/w#") {
		t.Errorf("the responsible person reads %q of %v", told, all)
	}

	file := "id,name,email,seat\nX1,Anna,anna@example.net,B1\nX2,Anna,anna@example.net,B2\nX3,Karel,karel@example.net,B3\nX4,Nobody,,B4\nX5,,no address,B5\n"
	take := func(file, query string) client.ImportCounts {
		t.Helper()
		got, err := client.Do[client.Imported](t.Context(), h.Admin, http.MethodPost,
			"/v1/events/"+h.Event.Event.String()+"/imports?all_category=Standard"+query, nil, client.WithFile([]byte(file)))
		if err != nil {
			t.Fatal(err)
		}
		return got.Counts
	}
	if n := take(file, "&language=cs"); n.Create != 4 || n.Error != 1 {
		t.Fatalf("%+v", n)
	}
	all = sent(t, o, 5)
	if anna := all["anna@example.net: Vaše vstupenka: "+event]; strings.Count(anna, "/w#") != 2 || !strings.Contains(anna, "Č. 4 B1\n") || !strings.Contains(anna, "Č. 5 B2\n") {
		t.Errorf("Anna reads %q of %v", anna, all)
	}
	if karel := all["karel@example.net: Vaše vstupenka: "+event]; strings.Count(karel, "/w#") != 1 {
		t.Errorf("Karel reads %q of %v", karel, all)
	}
	told = all["chief@example.org: "+event+" : une liste a été importée"]
	if !strings.Contains(told, "Lignes : 5\nNouveaux billets : 4\nModifiés : 0\nInchangés : 0\nÉcartées par une erreur : 1\n") {
		t.Errorf("the responsible person reads %q of %v", told, all)
	}

	// The same file again changes nothing and sends nothing; a corrected address gets
	// its link, and a quiet file sends none.
	responsible(t, h, "", "fr")
	take(file, "")
	take("id,email\nX4,quiet@example.net\n", "&mails=false")
	take("id,email\nX3,karel.novak@example.net\nX1,anna@example.net\n", "")
	all = sent(t, o, 6)
	if _, ok := all["karel.novak@example.net: Vaše vstupenka: "+event]; !ok {
		t.Errorf("the corrected address got nothing: %v", all)
	}
	logged, err := post.List(t.Context(), h.Pool, h.Event.Event, post.Query{Limit: 10})
	if err != nil || len(logged) != 6 {
		t.Errorf("%d mails in the log, %v", len(logged), err)
	}
	for _, m := range logged {
		if m.To == "" && m.Kind != post.OrderTold && m.Kind != post.ImportTold {
			t.Errorf("a mail of the kind %s is to nobody", m.Kind)
		}
		if (m.Number == nil) != (m.Kind == post.ImportTold) {
			t.Errorf("a mail of the kind %s is about %v", m.Kind, m.Number)
		}
	}
}
