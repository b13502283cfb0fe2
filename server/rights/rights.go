// Package rights says who asks and what he may do: the Caller, his rights, roles
// and scopes. It promises that the answer depends on nothing but the Caller and
// the venue. It does not know how a caller was recognised: package session does,
// and gives these names out as its own.
package rights

import (
	"portillon/server/fault"
	"portillon/server/ticket"
)

// Right is what a route or a verb asks of its caller.
type Right string

// The rights. A caller has each of them at some venues, or at every one.
const (
	Public    Right = "public"    // no one in particular
	Wallet    Right = "wallet"    // the cookie of a wallet session
	Staff     Right = "staff"     // any person, device or token that is known
	Device    Right = "device"    // a paired device, whoever is signed on to it
	Scan      Right = "scan"      // decide at the door
	Override  Right = "override"  // let in by judgement, once a ticket
	Supervise Right = "supervise" // undo, override and look up without limits
	Read      Right = "read"      // look at everything of a venue
	Issue     Right = "issue"     // make and end tickets
	ShowLink  Right = "show_link" // see a claim link after its issue
	Admin     Right = "admin"     // venues, events, people, devices, tokens
)

// Role of a person at a venue.
type Role string

// The roles; each has the rights of those before it.
const (
	Controller Role = "controller"
	Supervisor Role = "supervisor"
	AdminRole  Role = "admin"
)

// Scope of an API token.
type Scope string

// The scopes. Admin holds all the others but scan.
const (
	ScopeScan  Scope = "scan"
	ScopeRead  Scope = "read"
	ScopeIssue Scope = "issue"
	ScopeAdmin Scope = "admin"
)

// CallerKind says by what a caller is known.
type CallerKind string

// The kinds of callers.
const (
	NoOne    CallerKind = "no_one"
	ByCookie CallerKind = "person"   // a person at the desk
	ByDevice CallerKind = "device"   // a paired device
	ByToken  CallerKind = "token"    // an API token
	ByWallet CallerKind = "wallet"   // a wallet session
	ByShell  CallerKind = "operator" // the command line on the server itself
	BySystem CallerKind = "system"   // the server's own jobs
)

// Grant is a role at one venue, or at every one (a zero venue).
type Grant struct {
	Venue       ticket.VenueID `json:"venue,omitzero"`
	Role        Role           `json:"role"`
	CanOverride bool           `json:"can_override"`
}

// WalletTicket is a ticket that a wallet session is for.
type WalletTicket struct {
	Ticket     ticket.ID
	Generation uint8
}

// Caller is who asks. The zero Caller is no one.
type Caller struct {
	Kind       CallerKind
	Person     ticket.PersonID // of a device: who is signed on; of a token: who made it
	PersonName string
	Device     ticket.DeviceID
	DeviceName string
	Token      ticket.TokenID
	Scopes     []Scope
	Venue      ticket.VenueID // a device's venue; a token's, or zero for every one
	Grants     []Grant        // the person's
	// Wallet are the tickets of the wallet cookie. One browser may be a desk and
	// a wallet at once, so they do not depend on Kind.
	Wallet    []WalletTicket
	RequestID string
	// Unconfirmed is the hash of the credential of a device that was this caller a
	// moment ago: whoever acts for it has to look first whether it still is.
	Unconfirmed []byte
	// Revoked: a device that was, handing in what it let happen (see package offline).
	// It is the caller of that call alone.
	Revoked bool
}

// For says on whose behalf the caller acts: the command line makes a pairing
// link or a token for a person.
func (c Caller) For(person ticket.PersonID) Caller {
	c.Person = person
	return c
}

// DoorRights are the rights of a device's person at the door, for its page.
func (c Caller) DoorRights() []Right {
	list := []Right{}
	for _, r := range byDevice {
		if c.May(r, c.Venue) {
			list = append(list, r)
		}
	}
	return list
}

// HoldsScope reports whether a token with these scopes may hand the scope on.
func (c Caller) HoldsScope(scope Scope) bool {
	for _, s := range c.Scopes {
		if s == scope || s == ScopeAdmin && scope != ScopeScan {
			return true
		}
	}
	return false
}

// Known reports whether this is one of the roles.
func (r Role) Known() bool { return len(byRole[r]) > 0 }

// Known reports whether this is one of the scopes.
func (s Scope) Known() bool { return len(byScope[s]) > 0 }

// Operator is the caller of the command line that works on the database itself.
var Operator = Caller{Kind: ByShell}

// System is the caller of the server's own jobs.
var System = Caller{Kind: BySystem}

// byRole are the rights of each role at the desk; a gate device keeps those of
// the door, an API token those of its scopes.
var byRole = map[Role][]Right{
	Controller: {Scan},
	Supervisor: {Scan, Override, Supervise},
	AdminRole:  {Scan, Override, Supervise, Read, Issue, ShowLink, Admin},
}

var byDevice = []Right{Scan, Override, Supervise}

var byScope = map[Scope][]Right{
	ScopeScan:  {Scan},
	ScopeRead:  {Read},
	ScopeIssue: {Issue},
	ScopeAdmin: {Read, Issue, ShowLink, Admin},
}

// byCookie: a browser at the desk is not a scanner; scans need a device or a
// token, so that each can be revoked alone.
var byCookie = []Right{Read, Issue, ShowLink, Admin, Supervise}

// May reports whether the caller has the right at the venue. A zero venue asks
// whether he has it anywhere; use MayEverywhere for what belongs to no venue.
func (c Caller) May(right Right, venue ticket.VenueID) bool {
	switch right {
	case Public:
		return true
	case Wallet:
		return c.Kind == ByWallet || len(c.Wallet) > 0
	case Staff:
		return c.Kind != NoOne && c.Kind != "" && c.Kind != ByWallet
	case Device:
		return c.Kind == ByDevice && (venue.IsZero() || venue == c.Venue)
	default:
	}
	if c.Kind == ByShell || c.Kind == BySystem {
		return true
	}
	if !c.kindAllows(right) {
		return false
	}
	if !c.Venue.IsZero() {
		if !venue.IsZero() && venue != c.Venue {
			return false
		}
		venue = c.Venue // the only one for this device or token
	}
	for _, g := range c.Grants {
		at := venue.IsZero() || g.Venue.IsZero() || g.Venue == venue
		if at && g.holds(right) {
			return true
		}
	}
	return false
}

// MayEverywhere reports whether the caller has the right at every venue.
func (c Caller) MayEverywhere(right Right) bool {
	if c.Kind == ByShell || c.Kind == BySystem {
		return true
	}
	if !c.Venue.IsZero() || !c.kindAllows(right) {
		return false
	}
	for _, g := range c.Grants {
		if g.Venue.IsZero() && g.holds(right) {
			return true
		}
	}
	return false
}

func (g Grant) holds(right Right) bool {
	return has(byRole[g.Role], right) || right == Override && g.CanOverride
}

// kindAllows: the way somebody is known caps what his roles give.
func (c Caller) kindAllows(right Right) bool {
	switch c.Kind {
	case ByCookie:
		return has(byCookie, right)
	case ByDevice:
		return !c.Person.IsZero() && has(byDevice, right)
	case ByToken:
		for _, s := range c.Scopes {
			if has(byScope[s], right) {
				return true
			}
		}
	default:
	}
	return false
}

func has(rights []Right, right Right) bool {
	for _, r := range rights {
		if r == right {
			return true
		}
	}
	return false
}

// Require returns a fault when the caller has not the right at the venue: 401
// for no one, 403 otherwise. A verb calls it as soon as it has read which venue
// its thing belongs to.
func (c Caller) Require(right Right, venue ticket.VenueID) error {
	if c.May(right, venue) {
		return nil
	}
	return c.refused(right)
}

// RequireEverywhere is Require for what belongs to no venue.
func (c Caller) RequireEverywhere(right Right) error {
	if c.MayEverywhere(right) {
		return nil
	}
	return c.refused(right)
}

func (c Caller) refused(right Right) error {
	switch {
	case right == Wallet:
		return fault.New(fault.Unauthenticated, "session.wallet_required", "sign a challenge with the ticket's key (POST /v1/wallet/session)")
	case c.Kind == NoOne || c.Kind == "" || c.Kind == ByWallet: // a customer may be staff who has yet to sign in
		return fault.New(fault.Unauthenticated, "session.required", "sign in, pair the device or send an API token")
	case c.Kind == ByDevice && c.Person.IsZero() && right != Device:
		return fault.New(fault.Forbidden, "session.sign_on_required", "a person must sign on to this device first")
	}
	return fault.New(fault.Forbidden, "session.right_missing", "this needs the right %q here; ask an admin", right).Fact("right", string(right))
}
