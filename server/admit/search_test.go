package admit_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"portillon/server/admit"
	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
)

func (k keeper) search(t *testing.T, q string) admit.FoundTickets {
	t.Helper()
	return servertest.Must(k.trySearch(q))(t)
}

func (k keeper) trySearch(q string) (admit.FoundTickets, error) {
	return client.Do[admit.FoundTickets](context.Background(), k.Client, http.MethodPost, "/v1/gates/"+k.h.Gate.Gate.String()+"/search", map[string]string{"q": q})
}

func numbers(found admit.FoundTickets) (list []int) {
	for _, f := range found.Items {
		list = append(list, f.Number)
	}
	return list
}

// T84: any part of a name in any order, as any keyboard writes it; and of several
// Anna Müllers all, told apart.
func TestAControllerFindsAGuestByAnythingThatIsPrinted(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel := keeper{h.Controller("Karel", session.Controller), h}
	number := map[string]int{}
	for _, name := range []string{
		"María José de la Cruz", "Nguyễn Văn An", "Siobhán O’Brien", "İpek Şahin", "Jörg Straße", "محمد", "Lee Min-ho",
		"Anna Müller", "Anna Müller", "Anna Müller",
	} {
		seat := fmt.Sprintf("Row %d Seat %d", len(number)+1, len(number)+11)
		issued := h.Issue(h.Event.Event, client.NewTickets{Category: h.Standard.Category, Holder: &client.Holder{Name: name, Email: "somebody@example.org"}, Seat: seat})
		number[name] = issued.Tickets[0].Number
	}
	for q, name := range map[string]string{
		"cruz maria": "María José de la Cruz", "JOSÉ": "María José de la Cruz", "an nguyen": "Nguyễn Văn An", "o'brien": "Siobhán O’Brien",
		"sahin ipek": "İpek Şahin", "STRASSE": "Jörg Straße", "محمد": "محمد", "min ho lee": "Lee Min-ho", "minho": "Lee Min-ho",
		"row2 nguyen": "Nguyễn Văn An", fmt.Sprint(number["Lee Min-ho"]): "Lee Min-ho",
	} {
		if found := karel.search(t, q); !slices.Equal(numbers(found), []int{number[name]}) {
			t.Errorf("%q finds %v, not %q", q, numbers(found), name)
		}
	}
	annas := karel.search(t, "anna muller")
	if len(annas.Items) != 3 || annas.Items[0].Category == "" || annas.Items[0].Seat == "" || annas.Items[0].Number >= annas.Items[1].Number {
		t.Errorf("of three Anna Müllers: %+v", annas)
	}
	if found := karel.search(t, "somebody"); len(found.Items) > 0 {
		t.Error("an address is searched at the door")
	}
	for q, code := range map[string]string{"": "too_short", "an": "too_short", " . ' ": "too_short", strings.Repeat("a", 101): "too_long"} {
		if _, err := karel.trySearch(q); !client.IsProblem(err, "request.fields") {
			t.Errorf("%q (%s): %v", q, code, err)
		}
	}
	if n := h.Count(t, "audit WHERE act = 'ticket.search' AND person_id IS NOT NULL AND device_id IS NOT NULL AND details->>'found' = '3'"); n != 1 {
		t.Errorf("the search for Anna is in the audit %d times", n)
	}
}

func TestASearchListsNobodyAndTellsAControllerOnlyWhatADoorNeeds(t *testing.T) {
	t.Parallel()
	h := servertest.NewHouse(t)
	karel, eva := keeper{h.Controller("Karel", session.Controller), h}, keeper{h.Overrider("Eva"), h}
	holder := &client.Holder{Name: "Jan Novák", Email: "jan@example.org"}
	phone, issued := h.Claimed(h.Event.Event, client.NewTickets{Category: h.Standard.Category, Holder: holder})
	h.Issue(h.Event.Event, client.NewTickets{Category: h.Standard.Category, Holder: &client.Holder{Name: "Jan Dlouhý"}, Count: 25})
	if found := karel.search(t, "jan"); len(found.Items) != 20 || !found.More {
		t.Errorf("%d of 26, more: %v", len(found.Items), found.More)
	}

	before := karel.search(t, "novak").Items
	if len(before) != 1 || before[0].Holder != "Jan Novák" || before[0].Claim != "phone" || before[0].LastUse != nil || len(before[0].Actions) > 0 {
		t.Fatalf("before the entry: %+v", before)
	}
	if a := eva.search(t, "novak").Items[0].Actions; !slices.Equal(a, []string{"admit"}) {
		t.Errorf("who may let in without a code is offered %v", a)
	}
	karel.Ask(t, phone.Signed(t, issued.Ticket, karel.Hold(t)))
	h.DB.Shift(t, 2*time.Minute)
	used := eva.search(t, "novak").Items[0]
	if used.Status != ticket.Used || used.Remaining != 0 || used.LastUse == nil || used.LastUse.Person != "Karel" || used.LastUse.SecondsAgo < 120 || len(used.Actions) > 0 {
		t.Errorf("after the entry: %+v, %+v", used, used.LastUse)
	}

	later := h.NewEvent("Nosferatu", "Screen 7", 13*time.Hour, nil)
	category := h.NewCategory(later.Event, client.NewCategory{Name: "Standard"})
	h.Issue(later.Event, client.NewTickets{Category: category.Category, Holder: &client.Holder{Name: "Petra Pozdní"}})
	elsewhere := servertest.Furnish(t, h.Server)
	elsewhere.Issue(elsewhere.Event.Event, client.NewTickets{Category: elsewhere.Standard.Category, Holder: &client.Holder{Name: "Petra Jinde"}})
	if found := karel.search(t, "petra"); len(found.Items) > 0 {
		t.Errorf("tomorrow's guests, or another house's: %+v", found.Items)
	}
	h.DB.Shift(t, 90*time.Minute)
	if found := karel.search(t, "petra"); len(found.Items) != 1 {
		t.Errorf("a guest who is early: %+v", found.Items)
	}
	if _, err := h.DB.Pool.Exec(context.Background(), `UPDATE events SET show_names = false`); err != nil {
		t.Fatal(err)
	}
	if found := karel.search(t, "petra"); len(found.Items) > 0 {
		t.Error("a name that the event hides is searched")
	}
}
