package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"portillon/server/admit"
	"portillon/server/fault"
	"portillon/server/pg"
	"portillon/server/session"
	"portillon/server/ticket"
)

const (
	// MaxItems is how many items one upload may bring.
	MaxItems = 200
	// maxRevoked is how many items a revoked device may leave: a thief has its
	// credential.
	maxRevoked = 5000

	itemPatience = 3 * time.Second
	// What an upload did not get to in this time comes again.
	uploadPatience = 20 * time.Second
)

// How far a device's word may be off, once its clock is corrected.
const (
	oldest = 48 * time.Hour
	ahead  = 5 * time.Minute
)

// Verdict is what became of an item.
type Verdict string

// The verdicts. All but Retry are final, and a quarantined way out may still find its
// entry.
const (
	Recorded        Verdict = "recorded"         // also of a guest who was sent away
	DoubleAdmission Verdict = "double_admission" // recorded, and more people than the ticket lets in
	Quarantined     Verdict = "quarantined"      // not believed; a person looks at it
	Refused         Verdict = "refused"          // no item at all
	Retry           Verdict = "retry"            // nobody knows yet: send it again
)

// undecided is how an item is kept whose device got Retry.
const undecided = "undecided"

// The doubts about a device's word; the others are admit's and reasons of the door.
const (
	doubtRevoked   = "device_revoked"
	doubtOld       = "too_old"
	doubtAhead     = "from_the_future"
	doubtNoPack    = "before_pack"
	doubtHours     = "outside_hours"
	doubtPerson    = "not_signed_on"
	doubtElsewhere = "other_venue"
	doubtEvent     = "other_event"
	doubtReason    = "unknown_reason"
)

// Why something is no item, or not decided.
const (
	malformed = "malformed"
	tooMany   = "too_many"
	internal  = "internal"
)

// UploadIn is a queue, or the next part of it.
type UploadIn struct {
	SentAt  time.Time // by the device's clock, when it sent this
	Arrived time.Time // by the clock that New was given, when the whole was here
	Scans   []json.RawMessage
}

// Uploaded has a word on each item, in their order.
type Uploaded struct {
	ReceivedAt time.Time `json:"received_at"`
	Verdicts   []Outcome `json:"verdicts"`
}

// Outcome is the word on one item.
type Outcome struct {
	Key      string          `json:"key"` // empty when the item had none
	Verdict  Verdict         `json:"verdict"`
	Replayed bool            `json:"replayed"`          // the item, or its entry, was known before
	Reason   string          `json:"reason,omitempty"`  // why it is not believed, or what was wrong with it
	Against  []ticket.Reason `json:"against,omitempty"` // recorded, and the server would have refused it for these
	FirstUse *FirstUse       `json:"first_use,omitempty"`
}

// FirstUse is the other entry of a double admission.
type FirstUse struct {
	At         time.Time     `json:"at"`
	Gate       ticket.GateID `json:"gate"`
	GateName   string        `json:"gate_name"`
	Person     string        `json:"person"`
	SameDevice bool          `json:"same_device"`
}

// Upload takes the items one by one, each in a transaction of its own: one that
// cannot be decided never blocks those behind it. Fault: request.fields.
func (s *Service) Upload(ctx context.Context, by session.Caller, in UploadIn) (Uploaded, error) {
	if err := by.Require(session.Device, ticket.VenueID{}); err != nil {
		return Uploaded{}, err
	}
	var fields []fault.Field
	if !plausible(in.SentAt) {
		fields = append(fields, fault.Field{Name: "sent_at", Code: "required"})
	}
	if len(in.Scans) == 0 || len(in.Scans) > MaxItems {
		fields = append(fields, fault.Field{Name: "scans", Code: "count"})
	}
	if len(fields) > 0 {
		return Uploaded{}, fault.Fields(fields...)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), uploadPatience)
	defer cancel()
	var now time.Time
	var handedIn int
	err := s.pool.QueryRow(ctx, `
SELECT portillon_now(), CASE WHEN @revoked THEN (SELECT count(*) FROM uploads WHERE device_id = @device) ELSE 0 END`,
		pgx.NamedArgs{"device": by.Device, "revoked": by.Revoked}).Scan(&now, &handedIn)
	if err != nil {
		return Uploaded{}, fmt.Errorf("read the time: %w", err)
	}
	waited := max(0, s.now().Sub(in.Arrived)) // is not the device's clock's fault
	out := Uploaded{ReceivedAt: now.Add(-waited).UTC().Truncate(time.Microsecond), Verdicts: make([]Outcome, len(in.Scans))}
	for i, raw := range in.Scans {
		u := &upload{
			Service: s, by: by, sentAt: in.SentAt.UTC().Truncate(time.Microsecond), received: out.ReceivedAt, raw: raw,
			full: by.Revoked && handedIn+i >= maxRevoked,
		}
		out.Verdicts[i] = u.decide(ctx)
		s.meter.Uploaded(out.Verdicts[i].Verdict)
	}
	return out, nil
}

// decide gives the word on an item and never fails.
func (u *upload) decide(ctx context.Context) Outcome {
	u.item, u.readable = parse(u.raw)
	if u.readable {
		u.code = u.door.ReadLate(u.by, u.item.Code)
	}
	ctx, cancel := context.WithTimeout(ctx, itemPatience)
	defer cancel()
	err := pg.Tx(ctx, u.pool, func(ctx context.Context, tx pgx.Tx) error {
		u.key, u.late, u.out = u.item.Key, admit.Late{}, Outcome{}
		if !u.readable {
			u.key = keyOf(u.raw)
		}
		return u.take(ctx, tx)
	})
	if err != nil {
		u.log.ErrorContext(ctx, "an item that was scanned without network could not be decided; its device sends it again",
			"error", err.Error(), "device", u.by.Device.String(), "key", u.key.String())
		u.keepUndecided(ctx)
		u.out = Outcome{Verdict: Retry, Reason: internal}
	}
	if !u.item.Key.IsZero() {
		u.out.Key = u.item.Key.String()
	}
	if err == nil && !u.out.Replayed && u.item.Verdict == admitted && (u.out.Verdict == Recorded || u.out.Verdict == DoubleAdmission) {
		u.door.Told(ctx, u.late)
	}
	return u.out
}

// take finds the word that the item got before, or gives it one and keeps it.
func (u *upload) take(ctx context.Context, tx pgx.Tx) error {
	found, conflict, err := u.find(ctx, tx)
	if err != nil || found {
		return err
	}
	if conflict { // the key stands for another ticket: this is another fact
		u.key = keyOf(u.raw)
		if found, _, err := u.find(ctx, tx); err != nil || found {
			return err
		}
	}
	if u.full {
		u.out.Verdict, u.out.Reason = Refused, tooMany
		return nil
	}
	if !u.readable {
		u.out.Verdict, u.out.Reason = Refused, malformed
		return u.keep(ctx, tx)
	}
	gateIsOurs, err := u.place(ctx, tx)
	if err != nil {
		return err
	}
	doubt := u.doubt(gateIsOurs)
	if conflict {
		doubt = admit.DoubtKeyConflict
	}
	switch {
	case u.item.Verdict == refused:
		return u.takeRefusal(ctx, tx, doubt)
	case doubt != "":
		return u.quarantine(ctx, tx, doubt)
	}
	return u.takeEntry(ctx, tx)
}

// takeEntry records a passage.
func (u *upload) takeEntry(ctx context.Context, tx pgx.Tx) error {
	var err error
	if u.late, err = u.door.Record(ctx, tx, u.caller(), u.lateIn()); err != nil {
		return err
	}
	if u.late.Replayed {
		// The ticket's row is locked: whoever wrote it has also kept the word on it.
		if found, _, err := u.find(ctx, tx); err != nil || found {
			return err
		}
	}
	if u.late.Doubt != "" {
		return u.quarantine(ctx, tx, u.late.Doubt)
	}
	u.out = Outcome{Verdict: Recorded, Replayed: u.late.Replayed, Against: u.late.Against}
	if u.late.Double {
		u.out.Verdict = DoubleAdmission
		if first := u.late.First; first != nil {
			u.out.FirstUse = &FirstUse{
				At: first.At.UTC(), Gate: first.Gate.ID, GateName: first.Gate.Name, Person: first.PersonName,
				SameDevice: first.Device == u.by.Device,
			}
		}
	}
	if err := u.keep(ctx, tx); err != nil || u.late.Replayed {
		return err
	}
	return u.explain(ctx, tx)
}

// takeRefusal keeps that a guest was sent away: it changes no ticket, and needs no
// proof but who says so.
func (u *upload) takeRefusal(ctx context.Context, tx pgx.Tx, doubt string) error {
	if doubt == "" && (u.item.Reason == ticket.Admitted || ticket.RuleOf(u.item.Reason).Reason == "") {
		doubt = doubtReason
	}
	if doubt == "" {
		signedOn, err := u.signedOn(ctx, tx)
		if err != nil {
			return err
		}
		if !signedOn {
			doubt = doubtPerson
		}
	}
	if doubt != "" {
		return u.quarantine(ctx, tx, doubt)
	}
	u.out = Outcome{Verdict: Recorded, Reason: string(u.item.Reason)}
	if err := u.keep(ctx, tx); err != nil || u.out.Replayed {
		return err
	}
	var named ticket.ID
	if u.named {
		named = u.code.Names()
	}
	u.door.LogRefusal(ctx, tx, u.caller(), u.lateIn(), u.item.Reason, named, u.event)
	return nil
}

func (u *upload) quarantine(ctx context.Context, tx pgx.Tx, doubt string) error {
	u.out = Outcome{Verdict: Quarantined, Reason: doubt}
	return u.keep(ctx, tx)
}

// caller is the device and who was signed on to it then.
func (u *upload) caller() session.Caller {
	by := u.by
	by.Person = u.item.Person
	return by
}

func (u *upload) lateIn() admit.LateIn {
	return admit.LateIn{
		Gate: u.item.Gate, Code: u.code, Key: u.item.Key, Direction: u.item.Direction, People: u.item.People,
		PhoneOffline: u.item.PhoneOffline, At: u.corrected(), RawAt: u.item.ScannedAt, Received: u.received,
		ShownSince: func(nonce []byte) (time.Time, bool) {
			since, ok := u.shownSince(u.by.Device, nonce, u.item.ScannedAt)
			return since.Add(u.received.Sub(u.sentAt)), ok
		},
		Believe: u.believe,
	}
}

// place finds out which event the item belongs to: that of the ticket which the code
// names, else the one that the device says; and whether the gate is of its venue.
func (u *upload) place(ctx context.Context, tx pgx.Tx) (gateIsOurs bool, err error) {
	var event *ticket.EventID
	err = tx.QueryRow(ctx, `
SELECT EXISTS (SELECT FROM gates WHERE id = @gate AND venue_id = @venue), EXISTS (SELECT FROM tickets WHERE id = @ticket), coalesce(
  (SELECT e.id FROM tickets t JOIN events e ON e.id = t.event_id WHERE t.id = @ticket AND e.venue_id = @venue),
  (SELECT id FROM events WHERE id = @event AND venue_id = @venue))`,
		pgx.NamedArgs{"ticket": u.code.Names(), "event": u.item.Event, "venue": u.by.Venue, "gate": u.item.Gate}).
		Scan(&gateIsOurs, &u.named, &event)
	if err != nil {
		return false, fmt.Errorf("find the item's event: %w", err)
	}
	u.event = ticket.EventID{}
	if event != nil {
		u.event = *event
	}
	return gateIsOurs, nil
}

// doubt is what can be said before anything is known of the ticket.
func (u *upload) doubt(gateIsOurs bool) string {
	switch {
	case u.by.Revoked:
		return doubtRevoked
	case u.received.Sub(u.corrected()) > oldest:
		return doubtOld
	case u.corrected().Sub(u.received) > ahead:
		return doubtAhead
	case !gateIsOurs:
		return doubtElsewhere
	}
	return ""
}

// believe asks whether this device could have seen this ticket's code then.
func (u *upload) believe(ctx context.Context, tx pgx.Tx, f ticket.Facts) (string, error) {
	at, out := u.corrected(), u.item.Direction == ticket.Out
	switch {
	case f.Event.Venue.ID != u.by.Venue:
		return doubtElsewhere, nil
	case u.item.Event != nil && *u.item.Event != f.Event.ID:
		return doubtEvent, nil
	case at.Before(f.Event.DoorsOpenAt.Add(-admit.LateSlack)), !out && !at.Before(f.Event.EndsAt.Add(admit.LateSlack)):
		return doubtHours, nil
	}
	var pack bool
	err := tx.QueryRow(ctx, `
SELECT EXISTS (SELECT FROM packs WHERE device_id = @device AND gate_id = @gate AND event_id = @event AND first_at <= @latest)`,
		pgx.NamedArgs{"device": u.by.Device, "gate": u.item.Gate, "event": f.Event.ID, "latest": at.Add(admit.LateSlack)}).Scan(&pack)
	if err != nil {
		return "", fmt.Errorf("read since when the device has its pack: %w", err)
	}
	if !pack {
		return doubtNoPack, nil
	}
	signedOn, err := u.signedOn(ctx, tx)
	if err != nil || signedOn {
		return "", err
	}
	return doubtPerson, nil
}

// signedOn: whoever is named was signed on to the device then.
func (u *upload) signedOn(ctx context.Context, tx pgx.Tx) (yes bool, err error) {
	err = tx.QueryRow(ctx, `
SELECT EXISTS (SELECT FROM sign_ons WHERE device_id = @device AND person_id = @person AND signed_on_at <= @latest
  AND (signed_off_at IS NULL OR signed_off_at >= @earliest))`, pgx.NamedArgs{
		"device": u.by.Device, "person": u.item.Person,
		"latest": u.corrected().Add(admit.LateSlack), "earliest": u.corrected().Add(-admit.LateSlack),
	}).Scan(&yes)
	if err != nil {
		return false, fmt.Errorf("read who was signed on: %w", err)
	}
	return yes, nil
}
