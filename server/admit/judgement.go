package admit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"portillon/server/audit"
	"portillon/server/fault"
	"portillon/server/session"
	"portillon/server/ticket"
)

// How an entry came into the books.
const (
	ordinary = "ordinary"
	override = "override" // against a refusal, by a person's judgement
	lookUp   = "look_up"  // without a code: the person was looked up and identified
	recovery = "recovery" // in place of one whose answer was lost
)

// maxReason is the longest reason in bytes.
const maxReason = 500

// Override lets in against a refusal, by the caller's judgement and with a reason.
// The scan is judged afresh; the answer is an ordinary one, and still a refusal
// where the caller may not override it. Faults: those of Scan, and request.fields.
func (s *Service) Override(ctx context.Context, by session.Caller, in ScanIn) (Answer, error) {
	var err error
	if in.Reason, err = checkReason(in.Reason); err != nil {
		return Answer{}, err
	}
	if !in.Ticket.IsZero() { // no code was shown
		if err := by.Require(session.Override, ticket.VenueID{}); err != nil {
			return Answer{}, err
		}
	}
	in.Over = true
	return s.Scan(ctx, by, in)
}

// LookUp lets in without a code: a flat battery, a forgotten phone. Whoever may
// override may do it, once the guest's identity is checked; the ticket's own rules
// hold as at any scan. Faults: those of Scan, and request.fields.
func (s *Service) LookUp(ctx context.Context, by session.Caller, in ScanIn) (Answer, error) {
	var err error
	if in.Reason, err = checkReason(in.Reason); err != nil {
		return Answer{}, err
	}
	if err := by.Require(session.Override, ticket.VenueID{}); err != nil {
		return Answer{}, err
	}
	return s.Scan(ctx, by, in)
}

// checkReason gives the reason without the white space around it.
func checkReason(reason string) (string, error) {
	reason = strings.TrimSpace(reason)
	switch {
	case reason == "":
		return "", fault.Fields(fault.Field{Name: "reason", Code: "required"})
	case len(reason) > maxReason:
		return "", fault.Fields(fault.Field{Name: "reason", Code: "too_long"})
	case !utf8.ValidString(reason) || strings.ContainsFunc(reason, unicode.IsControl):
		return "", fault.Fields(fault.Field{Name: "reason", Code: "control_characters"})
	}
	return reason, nil
}

// overriding is by what right the caller lets in against a refusal, if he asked to.
func (in ScanIn) overriding(by session.Caller, venue ticket.VenueID) ticket.Overriding {
	if !in.Over {
		return ticket.Overriding{}
	}
	return rightsOf(by, venue)
}

func rightsOf(by session.Caller, venue ticket.VenueID) ticket.Overriding {
	return ticket.Overriding{Controller: by.May(session.Override, venue), Supervisor: by.May(session.Supervise, venue)}
}

// pathOf: an override that no rule stood against is an ordinary entry.
func (in ScanIn) pathOf(d ticket.Decision) string {
	switch {
	case len(d.Over) > 0:
		return override
	case d.Recovers != nil:
		return recovery
	case !in.Ticket.IsZero():
		return lookUp
	}
	return ordinary
}

// repeatsJudgement: the answer is that of an entry which a person decided. What it
// was against stands in the audit alone, since nothing but a lost answer asks again.
func (a Answer) repeatsJudgement() bool { return a.Replayed && !a.Facts.SameKey.Ordinary }

// readAgainst finds the row that auditJudgement wrote; none if nothing stood against
// the entry.
const readAgainst = `
SELECT ARRAY(SELECT jsonb_array_elements_text(CASE jsonb_typeof(details->'against') WHEN 'array' THEN details->'against' ELSE '[]' END))
FROM audit WHERE ticket_id = @ticket AND subject_id = @key AND act = 'scan.override'
LIMIT 1`

// against is what an entry by judgement was against: its repeated answer says so as
// the first one did.
func against(ctx context.Context, tx pgx.Tx, a Answer) ([]ticket.Reason, error) {
	rows, err := tx.Query(ctx, readAgainst, pgx.NamedArgs{"ticket": a.Facts.Ticket.ID, "key": a.Facts.SameKey.Key})
	if err != nil {
		return nil, fmt.Errorf("read the judgement: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[[]ticket.Reason])
	if err != nil {
		return nil, fmt.Errorf("read the judgement: %w", err)
	}
	return slices.Concat(found...), nil
}

// auditJudgement signs what a person decided, and what was recovered: who, why, and
// against what.
func auditJudgement(ctx context.Context, tx pgx.Tx, by session.Caller, in ScanIn, a Answer) error {
	if a.path == ordinary {
		return nil
	}
	details := map[string]any{"against": a.Over, "people": a.People, "gate": in.Gate}
	if a.Recovers != nil {
		details["superseded"], details["superseded_gate"] = a.Recovers.Key, a.Recovers.Gate.ID
	}
	return audit.Write(ctx, tx, by, audit.Act{
		Name: "scan." + a.path, Venue: a.Facts.Gate.Venue, Event: a.Facts.Event.ID, Ticket: a.Facts.Ticket.ID, Subject: in.Key,
		Reason: in.Reason, Details: details,
	})
}
