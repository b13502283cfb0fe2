package ticket

import "time"

// Status is what an admin or the door made of a ticket.
type Status string

// The states of a ticket.
const (
	Active        Status = "active"
	Used          Status = "used"
	HeldStatus    Status = "held"
	RevokedStatus Status = "revoked"
)

// Direction of a passage.
type Direction string

// In is the default; Out is known to events with re-entry only.
const (
	In  Direction = "in"
	Out Direction = "out"
)

// Kind of freshness: where the value that the code signs comes from.
type Kind string

// The kinds, from strongest to weakest. None is an entry without a code.
const (
	Pushed Kind = "pushed" // the venue's nonce, streamed to wallets
	Shown  Kind = "shown"  // the nonce of one gate device, read by the phone
	Short  Kind = "short"  // a pushed proof, typed as six digits
	Timed  Kind = "timed"  // the phone's clock
	TOTP   Kind = "totp"   // RFC 6238
	Paper  Kind = "paper"  // none
	None   Kind = "none"
)

// Freshness is an event's policy on kinds.
type Freshness string

// Live takes pushed, shown and short; Assisted also timed and totp when the
// controller says that the phone has no network; Open takes all.
const (
	Live     Freshness = "live"
	Assisted Freshness = "assisted"
	Open     Freshness = "open"
)

// Rescan is an event's policy on tickets that come again.
type Rescan string

// Strict: used is used. ShowTime: staff may judge while the last use is young.
// Recover: the same, and an answer that was never on a scanner's screen is taken
// back by itself when the same phone comes again. Its price: whoever gets a phone
// handed back after a lost answer enters with it.
const (
	Strict   Rescan = "strict"
	ShowTime Rescan = "show_time"
	Recover  Rescan = "recover"
)

// How long each kind is accepted; the clock is the database's.
const (
	PushedFor   = 35 * time.Second // from issue
	ShownFor    = 60 * time.Second // from issue, at that device only
	TimedBehind = 45 * time.Second // the phone's clock may be this far behind
	TimedAhead  = 10 * time.Second // and this far ahead
	ShortFor    = 60 * time.Second // once
)

// Venue, Gate, Event and Category as far as the decision needs them.
type (
	Venue struct {
		ID       VenueID
		Name     string
		TimeZone string // IANA
	}
	Gate struct {
		ID    GateID
		Name  string
		Venue VenueID
	}
	Event struct {
		ID           EventID
		Venue        Venue
		Name         string
		Screen       string
		DoorsOpenAt  time.Time
		StartsAt     time.Time
		EndsAt       time.Time
		Freshness    Freshness
		Rescan       Rescan
		RescanWindow time.Duration
		Reentry      bool
		ShowNames    bool
	}
	Category struct {
		ID         CategoryID
		Name       string
		Paper      bool
		ValidFrom  time.Time // zero: from doors
		ValidUntil time.Time // zero: until the event ends
		Gates      []Gate    // empty: every gate of the venue
	}
)

// Ticket is the locked row.
type Ticket struct {
	ID          ID
	Number      int
	Status      Status
	StatusSince time.Time
	Generation  uint8
	Admits      int
	Entries     int // people let in by this ticket, undone ones not counted
	Inside      int // people inside now
	Extra       int // entries beyond Admits that an override or a recovery gave
	Seat        string
	Holder      string
	ClaimedAt   time.Time // of the current generation
}

// Claim is what the code's generation is bound to.
type Claim struct {
	Generation uint8
	Paper      bool
}

// Admission is a row that made somebody enter or leave.
type Admission struct {
	Key        Key
	At         time.Time
	Gate       Gate
	Device     DeviceID // zero: by an API token
	Person     PersonID
	PersonName string
	Direction  Direction
	People     int
	Entries    int // the ticket's count after it
	Inside     int
	Kind       Kind
	Generation uint8
	Nonce      []byte    // of pushed and shown
	Shown      bool      // its answer was put on the screen
	MovedAt    time.Time // see Decision.MovedAt
	Undone     bool
	Ordinary   bool // no judgement of a person: by its code, or recovered
	Recovery   bool // it took the place of one whose answer was lost
	Superseded bool // undone because another took its place
}

// Nonce is what the database knows of the nonce that a code signs.
type Nonce struct {
	Venue    VenueID
	Device   DeviceID // zero: pushed to the venue's wallets
	IssuedAt time.Time
}

// Scan is what was asked.
type Scan struct {
	Key          Key
	Direction    Direction
	People       int // 0: not said
	PhoneOffline bool
	Code         CodeFacts
}

// CodeFacts is what the code says, before anything is known of the ticket.
type CodeFacts struct {
	Signs      Signs
	Generation uint8
	Nonce      []byte
	IssuedAt   time.Time // Signs == SignsTime, and SignsTOTP unless typed
	Spent      bool      // Signs == SignsShort, SignsTOTP: used before by another scan
	Expires    time.Time // Signs == SignsShort
	Typed      bool      // Signs == SignsTOTP: after the ticket's number, which may be wrong too
	Outside    bool      // Signs == SignsTOTP: right, but of a step too far from now
	Locked     bool      // Signs == SignsTOTP: so many were wrong that none counts now
}

// Signs is what the code's signature is over.
type Signs uint8

// A nonce, a time, nothing fresh (paper), a one-time code instead, a nonce that was
// verified when six digits were given for it, or nothing at all.
const (
	SignsNonce Signs = iota + 1
	SignsTime
	SignsPaper
	SignsTOTP
	SignsShort
	SignsNothing // there is no code: staff looked the ticket up
)

// Facts is all that a decision rests upon, read after the ticket was locked.
type Facts struct {
	Now    time.Time     // the database's
	Waited time.Duration // how long the request lay inside the server before Now

	Ticket        *Ticket // nil: no such ticket
	Claim         *Claim  // nil: no such claim
	Event         Event
	Category      Category
	SignatureGood bool // of a one-time code: that it is right

	SameKey *Admission // the admission of this ticket and key
	Last    *Admission // the latest entry that was not undone
	// LeftSince: somebody went out after Last (events with re-entry).
	LeftSince bool

	Gate       Gate
	Device     DeviceID
	Person     PersonID
	Assigned   bool     // device, person and gate belong together
	Nonce      *Nonce   // nil: never issued, or forgotten
	WalletLive bool     // the wallet's stream was alive and had a usable nonce
	ProofUsed  bool     // this proof made this passage before (events with re-entry)
	Overrides  int      // of this ticket so far, undone ones not counted
	History    *History // nil: not read
}

// Overriding is by what right somebody wants to let in against a refusal. The
// zero Overriding is nobody.
type Overriding struct {
	Controller bool // has the right to override, once per ticket
	Supervisor bool
}
