package admit

import (
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// enterMany is enter and insertAdmission for many tickets whose rows are locked. A
// locked row stays where it was read, and going there is a search of the index less.
// What the conditions pass over gets no admission either.
const enterMany = `
WITH entered AS (
  UPDATE tickets t SET entries = t.entries + d.people, inside = t.inside + d.people, used_at = coalesce(t.used_at, @at),
    status = CASE WHEN NOT d.reentry AND t.entries + d.people >= t.admits + t.extra THEN 'used' ELSE t.status END,
    status_since = CASE WHEN NOT d.reentry AND t.entries + d.people >= t.admits + t.extra THEN @at ELSE t.status_since END
  FROM unnest(@places::tid[], @tickets::uuid[], @keys::uuid[], @gates::uuid[], @devices::uuid[], @persons::uuid[], @people::int[], @kinds::text[],
    @generations::smallint[], @nonces::bytea[], @moved::timestamptz[], @passages::bytea[], @reentries::boolean[])
    AS d (place, ticket_id, key, gate_id, device_id, person_id, people, kind, generation, nonce, moved_at, passage, reentry)
  WHERE t.ctid = d.place AND t.id = d.ticket_id AND t.status = 'active' AND t.generation = d.generation
    AND t.inside + d.people <= t.admits + t.extra AND (d.reentry OR t.entries + d.people <= t.admits + t.extra)
  RETURNING d.*, t.event_id, t.entries, t.inside)
INSERT INTO admissions (ticket_id, key, at, event_id, gate_id, device_id, person_id, direction, people,
  entries_after, inside_after, kind, generation, nonce, moved_at, path, passage)
SELECT ticket_id, key, @at, event_id, gate_id, device_id, person_id, 'in', people,
  entries, inside, kind, generation, nonce, moved_at, 'ordinary', passage
FROM entered
RETURNING ticket_id`

// entriesOf are the arguments of enterMany.
func entriesOf(batch []*waiting) pgx.NamedArgs {
	n := len(batch)
	tickets, keys, gates, persons := make([][16]byte, n), make([][16]byte, n), make([][16]byte, n), make([][16]byte, n)
	devices := make([]pgtype.UUID, n)
	places := make([]pgtype.TID, n)
	people, generations, kinds := make([]int32, n), make([]int16, n), make([]string, n)
	nonces, passages, moved, reentries := make([][]byte, n), make([][]byte, n), make([]*time.Time, n), make([]bool, n)
	for i, w := range batch {
		a := w.answer
		places[i] = w.place
		tickets[i], keys[i], gates[i], persons[i] = w.ticket, w.in.Key, w.in.Gate, w.by.Person
		devices[i] = nullable(w.by.Device)
		people[i], generations[i], kinds[i] = int32(a.People), int16(a.Facts.Ticket.Generation), string(a.Kind)
		reentries[i] = a.Facts.Event.Reentry
		nonces[i], passages[i], moved[i] = w.facts.Nonce, w.passageIf(reentries[i]), nullTime(a.MovedAt)
	}
	return pgx.NamedArgs{
		"places": places, "tickets": tickets, "keys": keys, "gates": gates, "devices": devices, "persons": persons, "people": people, "kinds": kinds,
		"generations": generations, "nonces": nonces, "moved": moved, "passages": passages, "reentries": reentries,
		"at": batch[0].answer.Facts.Now,
	}
}

const insertAttempts = `
INSERT INTO attempts (received_at, ticket_id, key, event_id, gate_id, device_id, person_id, kind, reason, class, replayed, dry_run, duration_us, scanned_at)
SELECT * FROM unnest(@received_at::timestamptz[], @tickets::uuid[], @keys::uuid[], @events::uuid[], @gates::uuid[], @devices::uuid[],
  @persons::uuid[], @kinds::text[], @reasons::text[], @classes::text[], @replayed::boolean[], @dry_runs::boolean[], @durations::int[],
  @scanned_at::timestamptz[])`

// attemptsOf are the arguments of insertAttempts.
func (s *Service) attemptsOf(batch []*waiting) pgx.NamedArgs {
	n := len(batch)
	received, scanned := make([]time.Time, n), make([]*time.Time, n)
	tickets, events, devices := make([]pgtype.UUID, n), make([]pgtype.UUID, n), make([]pgtype.UUID, n)
	keys, gates, persons := make([][16]byte, n), make([][16]byte, n), make([][16]byte, n)
	kinds, reasons, classes := make([]string, n), make([]string, n), make([]string, n)
	replayed, dry, durations := make([]bool, n), make([]bool, n), make([]int32, n)
	now := s.now()
	for i, w := range batch {
		a, took := w.answer, max(0, now.Sub(w.in.Arrived))
		received[i], scanned[i], durations[i] = a.Facts.Now.Add(-took), w.in.ScannedAt, int32(took.Microseconds())
		keys[i], gates[i], persons[i], devices[i] = w.in.Key, w.in.Gate, w.by.Person, nullable(w.by.Device)
		kinds[i], reasons[i], classes[i] = string(a.loggedKind()), string(a.Reason), string(a.Class)
		replayed[i], dry[i] = a.Replayed, w.in.DryRun
		if t := a.Facts.Ticket; t != nil {
			tickets[i], events[i] = nullable(t.ID), nullable(a.Facts.Event.ID)
		}
	}
	return pgx.NamedArgs{
		"received_at": received, "tickets": tickets, "keys": keys, "events": events, "gates": gates, "devices": devices,
		"persons": persons, "kinds": kinds, "reasons": reasons, "classes": classes, "replayed": replayed, "dry_runs": dry,
		"durations": durations, "scanned_at": scanned,
	}
}

// nullable is NULL for the zero identifier. Lists hold arrays of bytes and not
// uuid.UUID, which the driver would first ask for its text.
func nullable[T ~[16]byte](id T) pgtype.UUID {
	return pgtype.UUID{Bytes: id, Valid: id != *new(T)}
}
