package drill_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/session"
	"portillon/server/ticket"
)

// crew is a house with two servers and a door for each client.
type crew struct {
	*servertest.House
	second *servertest.Server
	doors  []*servertest.Gatekeeper // every second one asks the second server
}

func newCrew(t *testing.T, doors int, f pair) *crew {
	t.Helper()
	c := &crew{House: servertest.NewHouse(t, f.opts(0)...)}
	c.second = servertest.On(t, c.DB, f.opts(1)...)
	for i := range doors {
		g := c.Controller(fmt.Sprintf("Controller %d", i), session.Controller)
		if i%2 == 1 {
			g = g.At(c.second)
		}
		c.doors = append(c.doors, g)
	}
	return c
}

// issued are n claimed tickets of a category, with a code each that is good now.
func (c *crew) issued(t *testing.T, category client.Category, n int) (ids []ticket.ID, codes []string) {
	t.Helper()
	phone := c.NewPhone()
	for len(ids) < n {
		some := c.Issue(c.Event.Event, client.NewTickets{Category: category.Category, Count: min(100, n-len(ids))})
		phone.Take(t, some.ClaimURL)
		for _, one := range some.Tickets {
			ids = append(ids, one.Ticket)
		}
	}
	nonce := c.doors[0].Hold(t)
	for _, id := range ids {
		codes = append(codes, phone.Signed(t, id, nonce))
	}
	return ids, codes
}

// insist sends a scan with its key until somebody knows, as every honest client
// does. It gives how often nobody knew.
func insist(ctx context.Context, at *servertest.Gatekeeper, key ticket.Key, scan client.Scan) (a client.ScanAnswer, unanswered int, err error) {
	for {
		a, err = at.Scan(ctx, key, scan)
		if err == nil || !client.RetryLater(err) || ctx.Err() != nil {
			return a, unanswered, err
		}
		unanswered++
	}
}

// share is the value below which that part of the times lies.
func share(times []time.Duration, part float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(len(sorted)-1, int(part*float64(len(sorted))))]
}
