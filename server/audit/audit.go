// Package audit keeps who changed what, from the first act on. It promises that
// a row is written in the transaction of the act itself: there is no act without
// its row and no row without its act. Rows that name a ticket are that ticket's
// history. It does not know what an act means, and is never given a secret, a
// code, a name or an address.
package audit

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"portillon/server/rights"
	"portillon/server/ticket"
)

// Act is one thing that somebody did. What is zero stays NULL.
type Act struct {
	Name    string // dotted: "ticket.revoke", "device.pair"
	Venue   ticket.VenueID
	Event   ticket.EventID
	Ticket  ticket.ID
	Subject [16]byte // any other thing's identifier
	Reason  string   // in the actor's words
	Details map[string]any
}

const insert = `
INSERT INTO audit (actor, person_id, device_id, token_id, act, venue_id, event_id, ticket_id, subject_id, reason, details, request_id)
VALUES (@actor, @person_id, @device_id, @token_id, @act, @venue_id, @event_id, @ticket_id, @subject_id, nullif(@reason, ''), @details, @request_id)`

// Write adds the act of the caller to the audit.
func Write(ctx context.Context, tx pgx.Tx, by rights.Caller, act Act) error {
	details := act.Details
	if details == nil {
		details = map[string]any{}
	}
	encoded, err := json.Marshal(details)
	if err != nil {
		return fmt.Errorf("audit %s: %w", act.Name, err)
	}
	_, err = tx.Exec(ctx, insert, pgx.NamedArgs{
		"actor": actor(by), "person_id": null(by.Person), "device_id": null(by.Device), "token_id": null(by.Token),
		"act": act.Name, "venue_id": null(act.Venue), "event_id": null(act.Event), "ticket_id": null(act.Ticket),
		"subject_id": null(act.Subject), "reason": act.Reason, "details": encoded, "request_id": by.RequestID,
	})
	if err != nil {
		return fmt.Errorf("audit %s: %w", act.Name, err)
	}
	return nil
}

func actor(by rights.Caller) string {
	switch by.Kind {
	case rights.ByCookie, rights.ByDevice, rights.ByToken, rights.ByWallet, rights.ByShell:
		return string(by.Kind)
	case rights.NoOne, "":
		return string(rights.ByWallet) // a customer with a claim link
	}
	return string(rights.BySystem)
}

func null[T ~[16]byte](id T) any {
	if id == *new(T) {
		return nil
	}
	return [16]byte(id)
}
