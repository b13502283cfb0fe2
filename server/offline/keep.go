package offline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/server/admit"
	"portillon/server/pg"
	"portillon/server/ticket"
)

// readWord finds the word on an item, and the other entry of a double admission.
const readWord = `
SELECT u.outcome, coalesce(u.reason, ''), u.against, u.ticket_id, a.at, a.gate_id, coalesce(g.name, ''), coalesce(p.name, ''), a.device_id
FROM uploads u LEFT JOIN admissions a ON a.ticket_id = u.ticket_id AND a.key = u.first_key AND u.outcome = 'double_admission'
LEFT JOIN gates g ON g.id = a.gate_id LEFT JOIN people p ON p.id = a.person_id
WHERE u.device_id = @device AND u.key = @key AND u.verdict = @verdict`

// find gives the word that this item got before. conflict: the key stands for another
// ticket's.
func (u *upload) find(ctx context.Context, tx pgx.Tx) (found, conflict bool, err error) {
	var out Outcome
	var named *ticket.ID
	var first struct {
		at     *time.Time
		gate   *ticket.GateID
		device *ticket.DeviceID
		use    FirstUse
	}
	err = tx.QueryRow(ctx, readWord, pgx.NamedArgs{"device": u.by.Device, "key": u.key, "verdict": u.item.Verdict}).Scan(
		&out.Verdict, &out.Reason, &out.Against, &named, &first.at, &first.gate, &first.use.GateName, &first.use.Person, &first.device)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, false, nil
	case err != nil:
		return false, false, fmt.Errorf("find the word on an item: %w", err)
	case valueOf(named) != u.code.Names():
		return false, true, nil
	case out.Verdict == undecided:
		return false, false, nil
	}
	if first.at != nil {
		first.use.At, first.use.Gate, first.use.SameDevice = first.at.UTC(), *first.gate, valueOf(first.device) == u.by.Device
		out.FirstUse = &first.use
	}
	out.Replayed = true
	u.out = out
	return true, false, nil
}

// insertWord takes the place of a row only while nobody had decided. Two uploads of one
// item at once end in one row: the later one waits for the first here at the latest.
const insertWord = `
INSERT INTO uploads AS u (device_id, key, verdict, outcome, reason, against, replayed, said_key, first_key, ticket_id, event_id, gate_id,
  person_id, direction, people, kind, generation, nonce, passage, scanned_at, sent_at, received_at, corrected_at)
VALUES (@device, @key, @verdict, @outcome, @reason, @against, @replayed, @said_key, @first_key, @ticket, @event, @gate,
  @person, @direction, @people, @kind, @generation, @nonce, @passage, @scanned, @sent, @received, @corrected)
ON CONFLICT ON CONSTRAINT uploads_pkey DO UPDATE SET outcome = excluded.outcome, reason = excluded.reason, against = excluded.against,
  replayed = excluded.replayed, first_key = excluded.first_key, direction = excluded.direction, people = excluded.people,
  kind = excluded.kind, generation = excluded.generation, nonce = excluded.nonce, passage = excluded.passage, event_id = excluded.event_id,
  scanned_at = excluded.scanned_at, sent_at = excluded.sent_at, received_at = excluded.received_at, corrected_at = excluded.corrected_at
WHERE u.outcome = 'undecided' AND excluded.outcome <> 'undecided'`

// keep writes the word on the item, or takes over the word that another upload of it
// got meanwhile.
func (u *upload) keep(ctx context.Context, tx pgx.Tx) error {
	tag, err := tx.Exec(ctx, insertWord, u.row(string(u.out.Verdict), u.out.Reason))
	if err != nil {
		return fmt.Errorf("keep the word on an item: %w", err)
	}
	if tag.RowsAffected() == 0 {
		found, _, err := u.find(ctx, tx)
		if err == nil && !found {
			err = errors.New("another item has come by under this key")
		}
		return err
	}
	return nil
}

// keepUndecided lets the desk see what could not be decided, as far as the database
// answers. The device sends it again, and the next word takes its place.
func (u *upload) keepUndecided(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), itemPatience)
	defer cancel()
	u.out = Outcome{}
	err := pg.Tx(ctx, u.pool, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, insertWord, u.row(undecided, internal))
		return err
	})
	if err != nil {
		u.log.ErrorContext(ctx, "an undecided item could not even be kept", "error", err.Error(), "device", u.by.Device.String())
	}
}

// row are the arguments of insertWord.
func (u *upload) row(outcome, reason string) pgx.NamedArgs {
	args := pgx.NamedArgs{
		"device": u.by.Device, "key": u.key, "verdict": u.item.Verdict, "outcome": outcome, "reason": nil, "against": []ticket.Reason{},
		"replayed": u.out.Replayed, "said_key": null(u.item.Key), "first_key": nil, "ticket": null(u.code.Names()), "event": null(u.event),
		"gate": null(u.item.Gate), "person": null(u.item.Person), "direction": nil, "people": nil, "kind": nil, "generation": nil,
		"nonce": nil, "passage": nil, "scanned": nil, "sent": u.sentAt, "received": u.received, "corrected": nil,
	}
	if reason != "" {
		args["reason"] = reason
	}
	if u.readable {
		args["scanned"], args["corrected"] = u.item.ScannedAt, u.corrected()
		args["direction"], args["people"] = u.item.Direction, max(1, u.item.People)
	}
	if len(u.out.Against) > 0 {
		args["against"] = u.out.Against
	}
	if p := u.late.Passage; !p.Ticket.IsZero() {
		args["kind"], args["generation"], args["nonce"], args["passage"] = p.Kind, p.Generation, p.Nonce, p.Proof
	}
	if u.late.Double && u.late.First != nil {
		args["first_key"] = u.late.First.Key
	}
	return args
}

// waitingExits are ways out that were told before the entry they belong to.
const waitingExits = `
SELECT device_id, key, event_id, gate_id, person_id, people, kind, generation, nonce, passage, corrected_at FROM uploads
WHERE ticket_id = @ticket AND outcome = 'quarantined' AND verdict = 'admitted' AND direction = 'out' AND reason = 'not_inside'
  AND kind IS NOT NULL AND corrected_at >= @at
ORDER BY corrected_at, key FOR UPDATE`

// explain looks at the ticket's other items again, now that one more passage is known:
// somebody who was not inside may have been, and what looked like one too many may
// have had a way out between.
func (u *upload) explain(ctx context.Context, tx pgx.Tx) error {
	if !u.late.Reentry {
		return nil
	}
	settled := u.late.Settled
	rows, err := tx.Query(ctx, waitingExits, pgx.NamedArgs{"ticket": u.late.Ticket, "at": u.late.At})
	if err != nil {
		return fmt.Errorf("find who left: %w", err)
	}
	waiting, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p admit.Passage, err error) {
		p = admit.Passage{Ticket: u.late.Ticket, Direction: ticket.Out}
		err = row.Scan(&p.Device, &p.Key, &p.Event, &p.Gate, &p.Person, &p.People, &p.Kind, &p.Generation, &p.Nonce, &p.Proof, &p.At)
		return p, err
	})
	if err != nil {
		return fmt.Errorf("find who left: %w", err)
	}
	for _, p := range waiting {
		left, now, err := u.door.RecordExit(ctx, tx, p)
		if err != nil {
			return err
		}
		if !left {
			continue
		}
		settled = now
		if _, err := tx.Exec(ctx, `
UPDATE uploads SET outcome = 'recorded', reason = NULL WHERE device_id = @device AND key = @key AND verdict = 'admitted'`,
			pgx.NamedArgs{"device": p.Device, "key": p.Key}); err != nil {
			return fmt.Errorf("keep that somebody left: %w", err)
		}
	}
	if !settled {
		return nil
	}
	if _, err := tx.Exec(ctx, `
UPDATE uploads SET outcome = 'recorded', first_key = NULL WHERE ticket_id = @ticket AND outcome = 'double_admission'`,
		pgx.NamedArgs{"ticket": u.late.Ticket}); err != nil {
		return fmt.Errorf("keep that nobody was too many: %w", err)
	}
	return nil
}

func valueOf[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}

func null[T ~[16]byte](id T) *T {
	if id == *new(T) {
		return nil
	}
	return &id
}
