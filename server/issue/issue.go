// Package issue is the right to make tickets and to end them: venues, gates,
// events, categories, orders with their numbered tickets and claim links, and
// what an admin does to a ticket afterwards (revoke, reinstate, hold, release,
// reissue, print). It promises that the numbers of an event are unique and the
// lowest that are neither used nor kept for a form under a lease (leases.go), that
// an order is carried out under the number that its form showed or not at all, that
// a creating call repeated with its key makes nothing twice, that every act locks
// its ticket first and leaves one row in the audit, and that no claim link is
// stored anywhere. It does not know how a ticket gets onto a phone nor who gets in
// at the door.
//
// Locks are taken in the order: the repeated call's key, the event, its tickets
// in the order of their ids, the rest.
package issue

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"portillon/server/fault"
	"portillon/server/keyring"
	"portillon/server/post"
	"portillon/server/session"
	"portillon/server/ticket"
)

// pageSize is how many things a page of a list holds.
const pageSize = 100

// News tells the wallets that hold a ticket what became of it: "revoked",
// "held", "released" or "moved". It is called after the commit, never inside,
// and must not wait for a slow reader.
type News func(ctx context.Context, id ticket.ID, what string)

// What News says.
const (
	newsRevoked  = "revoked"
	newsHeld     = "held"
	newsReleased = "released"
	newsMoved    = "moved"
)

// Service makes and ends tickets.
type Service struct {
	pool      *pgxpool.Pool
	ring      *keyring.Ring
	post      *post.Service
	news      News
	publicURL string
}

// New builds the service. publicURL is the address at which customers reach the
// product ("https://tickets.example"), the beginning of every claim link; mails may
// be nil when none are sent, and news when there are no wallets to tell.
func New(pool *pgxpool.Pool, ring *keyring.Ring, mails *post.Service, news News, publicURL string) *Service {
	if news == nil {
		news = func(context.Context, ticket.ID, string) {}
	}
	return &Service{pool: pool, ring: ring, post: mails, news: news, publicURL: strings.TrimRight(publicURL, "/")}
}

// List is one page of a list; Next is the cursor of the following page, empty on
// the last.
type List[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next"`
}

// page cuts what was read with a limit of pageSize+1 to a page.
func page[T any](items []T, cursor func(T) string) List[T] {
	list := List[T]{Items: items}
	if len(items) > pageSize {
		list.Items = items[:pageSize]
		list.Next = base64.RawURLEncoding.EncodeToString([]byte(cursor(list.Items[pageSize-1])))
	}
	if list.Items == nil {
		list.Items = []T{}
	}
	return list
}

// openCursor gives what page was given; "" for the first page.
func openCursor(cursor string) (string, error) {
	text, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil {
		return "", badCursor(err)
	}
	return string(text), nil
}

func badCursor(cause error) error {
	return fault.New(fault.Invalid, "request.cursor", "the cursor is not one that this list gave; begin without one").With(cause)
}

// readable is the venues whose things the caller may read: all, or those listed.
func readable(by session.Caller) (all bool, venues []ticket.VenueID, err error) {
	if err := by.Require(session.Read, ticket.VenueID{}); err != nil {
		return false, nil, err
	}
	if by.MayEverywhere(session.Read) {
		return true, nil, nil
	}
	candidates := []ticket.VenueID{by.Venue}
	for _, grant := range by.Grants {
		candidates = append(candidates, grant.Venue)
	}
	for _, venue := range candidates {
		if !venue.IsZero() && by.May(session.Read, venue) {
			venues = append(venues, venue)
		}
	}
	return false, venues, nil
}
