package admit

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/fault"
	"portillon/server/pg"
	"portillon/server/session"
	"portillon/server/ticket"
)

// Shown names an answer that was put on the scanner's screen.
type Shown struct {
	Ticket ticket.ID  `json:"ticket"`
	Key    ticket.Key `json:"key"`
}

// maxShown is how many receipts one call may bring.
const maxShown = 100

// Receive keeps the receipts of a device: that it put these admissions on its
// screen. What is no admission of this device is passed over, so that a queue of
// receipts always empties. It gives how many are kept. Fault: request.fields.
func (s *Service) Receive(ctx context.Context, by session.Caller, shown []Shown) (int, error) {
	if err := by.Require(session.Device, ticket.VenueID{}); err != nil {
		return 0, err
	}
	if len(shown) == 0 || len(shown) > maxShown {
		return 0, fault.Fields(fault.Field{Name: "scans", Code: "count"})
	}
	tickets, keys := make([]uuid.UUID, len(shown)), make([]uuid.UUID, len(shown))
	for i, one := range shown {
		tickets[i], keys[i] = one.Ticket.UUID(), one.Key.UUID()
	}
	kept := 0
	err := pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `
WITH said AS (SELECT DISTINCT * FROM unnest(@tickets::uuid[], @keys::uuid[]) AS s (ticket_id, key)),
  new AS (
    INSERT INTO receipts (ticket_id, key, device_id, shown_at)
    SELECT a.ticket_id, a.key, @device, portillon_now() FROM said JOIN admissions a USING (ticket_id, key)
    WHERE a.device_id = @device ORDER BY a.ticket_id, a.key
    ON CONFLICT ON CONSTRAINT receipts_pkey DO NOTHING)
SELECT count(*) FROM said JOIN admissions a USING (ticket_id, key) WHERE a.device_id = @device`,
			pgx.NamedArgs{"tickets": tickets, "keys": keys, "device": by.Device}).Scan(&kept)
		if err != nil {
			return fmt.Errorf("keep the receipts: %w", err)
		}
		return nil
	})
	return kept, err
}
