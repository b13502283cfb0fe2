package ticket

// Reason is the exact cause of a verdict. It is a stable word of the API and
// the key of its translated title ("reason.…") and advice ("advice.…").
type Reason string

// The reasons, in the fixed order in which they are checked. The first check
// that fails gives the reason.
const (
	Admitted Reason = "admitted"

	// 1. The form of the code.
	Malformed          Reason = "malformed"
	UnsupportedVersion Reason = "unsupported_version"
	NotATicket         Reason = "not_a_ticket"
	// 2. The ticket and its claim are known.
	UnknownTicket Reason = "unknown_ticket"
	// 3. The signature.
	BadSignature Reason = "bad_signature"
	// 4. The same ticket and key were admitted before: that answer again, unless
	// the admission was undone or superseded since.
	Undone     Reason = "undone"
	Superseded Reason = "superseded"
	// 5. This device, person and gate belong together.
	NotAssigned Reason = "not_assigned"
	// 6. The gate serves that event now, and that category.
	WrongEvent Reason = "wrong_event"
	WrongGate  Reason = "wrong_gate"
	// 7. The code is fresh enough for the event's policy. TOTPWrong and TOTPLocked come
	// before 6, and before 4, since a one-time code has no signature at 3.
	StaleNonce      Reason = "stale_nonce"
	UnknownNonce    Reason = "unknown_nonce"
	WrongController Reason = "wrong_controller"
	ClockSkew       Reason = "clock_skew"
	NeedsAssist     Reason = "needs_assist"
	FallbackRefused Reason = "fallback_refused"
	TOTPWrong       Reason = "totp_wrong"
	TOTPReplayed    Reason = "totp_replayed"
	TOTPLocked      Reason = "totp_locked"
	PaperNotAllowed Reason = "paper_not_allowed"
	// 8. The ticket.
	Moved   Reason = "moved"
	Revoked Reason = "revoked"
	Held    Reason = "held"
	// 9. The time.
	TooEarly Reason = "too_early"
	TooLate  Reason = "too_late"
	// 10. The use.
	ChoosePeople     Reason = "choose_people"
	AlreadyUsed      Reason = "already_used"
	AlreadyInside    Reason = "already_inside"
	NotInside        Reason = "not_inside"
	EntriesExhausted Reason = "entries_exhausted"
	// Only a device without network says this one.
	NotInPack Reason = "not_in_pack"
)

// Verdict is what the door does: let in, send away, or try once more.
type Verdict string

// The verdicts.
const (
	Admit  Verdict = "admit"
	Refuse Verdict = "refuse"
	Retry  Verdict = "retry"
)

// Class decides colour, shape, sound and vibration of an answer.
type Class string

// The classes: green tick, amber hand, red cross, grey circle.
const (
	ClassAdmit  Class = "admit"
	ClassAsk    Class = "ask"
	ClassRefuse Class = "refuse"
	ClassAgain  Class = "again"
)

// Overrider says who may let in against a reason.
type Overrider uint8

// From nobody to a supervisor. OverrideButton is the reason's own button, which
// sends the same code again under the same key.
const (
	OverrideNobody Overrider = iota
	OverrideButton
	OverrideController // with the right, once per ticket; then a supervisor
	OverrideSupervisor
)

// Rule is what belongs to a reason wherever it occurs. AlreadyUsed has two
// classes, by age: the table holds the young one, Decide the other.
type Rule struct {
	Reason   Reason
	Order    int // the check that gives it, 1 to 10; 0 for Admitted
	Verdict  Verdict
	Class    Class
	Override Overrider
}

// Rules lists every reason once, in the order of the checks.
var Rules = []Rule{
	{Admitted, 0, Admit, ClassAdmit, OverrideNobody},
	{Malformed, 1, Retry, ClassAgain, OverrideNobody},
	{UnsupportedVersion, 1, Retry, ClassAgain, OverrideNobody},
	{NotATicket, 1, Retry, ClassAgain, OverrideNobody},
	{UnknownTicket, 2, Refuse, ClassRefuse, OverrideNobody},
	{BadSignature, 3, Refuse, ClassRefuse, OverrideNobody},
	{Undone, 4, Retry, ClassAgain, OverrideNobody},
	{Superseded, 4, Refuse, ClassRefuse, OverrideNobody},
	{NotAssigned, 5, Refuse, ClassAsk, OverrideNobody},
	{WrongEvent, 6, Refuse, ClassAsk, OverrideSupervisor},
	{WrongGate, 6, Refuse, ClassAsk, OverrideSupervisor},
	{StaleNonce, 7, Retry, ClassAgain, OverrideNobody},
	{UnknownNonce, 7, Retry, ClassAgain, OverrideNobody},
	{WrongController, 7, Retry, ClassAgain, OverrideNobody},
	{ClockSkew, 7, Retry, ClassAgain, OverrideNobody},
	{NeedsAssist, 7, Retry, ClassAsk, OverrideButton},
	{FallbackRefused, 7, Retry, ClassAgain, OverrideNobody},
	{TOTPWrong, 7, Retry, ClassAgain, OverrideNobody},
	{TOTPReplayed, 7, Retry, ClassAgain, OverrideNobody},
	{TOTPLocked, 7, Refuse, ClassAsk, OverrideSupervisor},
	{PaperNotAllowed, 7, Refuse, ClassAsk, OverrideSupervisor},
	{Moved, 8, Refuse, ClassRefuse, OverrideNobody},
	{Revoked, 8, Refuse, ClassRefuse, OverrideNobody},
	{Held, 8, Refuse, ClassAsk, OverrideSupervisor},
	{TooEarly, 9, Refuse, ClassAsk, OverrideSupervisor},
	{TooLate, 9, Refuse, ClassRefuse, OverrideSupervisor},
	{ChoosePeople, 10, Retry, ClassAsk, OverrideButton},
	{AlreadyUsed, 10, Refuse, ClassAsk, OverrideController},
	{AlreadyInside, 10, Refuse, ClassAsk, OverrideController},
	{NotInside, 10, Refuse, ClassAsk, OverrideController},
	{EntriesExhausted, 10, Refuse, ClassRefuse, OverrideSupervisor},
	{NotInPack, 0, Refuse, ClassAsk, OverrideController},
}

var ruleOf = func() map[Reason]Rule {
	m := make(map[Reason]Rule, len(Rules))
	for _, r := range Rules {
		m[r.Reason] = r
	}
	return m
}()

// RuleOf gives the rule of a reason; the zero Rule for a word that is none.
func RuleOf(reason Reason) Rule { return ruleOf[reason] }
