package rights

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"portillon/server/fault"
	"portillon/server/ticket"
)

var (
	here  = ticket.VenueID(uuid.New())
	there = ticket.VenueID(uuid.New())
	none  = ticket.VenueID{}
	karel = ticket.PersonID(uuid.New())
)

func caller(kind CallerKind, role Role, venue ticket.VenueID) Caller {
	c := Caller{Kind: kind, Person: karel, Grants: []Grant{{Venue: venue, Role: role}}}
	if kind == ByDevice {
		c.Venue = here
	}
	return c
}

func TestTheWaySomebodyIsKnownCapsWhatHisRolesGive(t *testing.T) {
	t.Parallel()
	all := []Right{Scan, Override, Supervise, Read, Issue, ShowLink, Admin}
	program := func(scopes ...Scope) Caller {
		c := caller(ByToken, AdminRole, none)
		c.Scopes = scopes
		return c
	}
	helper := caller(ByDevice, Controller, here)
	helper.Grants[0].CanOverride = true
	alone := caller(ByDevice, AdminRole, here)
	alone.Person = ticket.PersonID{}
	for name, c := range map[string]struct {
		by   Caller
		want []Right
	}{
		"no one":                   {Caller{}, nil},
		"a wallet":                 {Caller{Kind: ByWallet}, nil},
		"controller at the desk":   {caller(ByCookie, Controller, here), nil},
		"supervisor at the desk":   {caller(ByCookie, Supervisor, here), []Right{Supervise}},
		"admin at the desk":        {caller(ByCookie, AdminRole, here), []Right{Supervise, Read, Issue, ShowLink, Admin}},
		"device without a person":  {alone, nil},
		"controller at the door":   {caller(ByDevice, Controller, here), []Right{Scan}},
		"controller with override": {helper, []Right{Scan, Override}},
		"supervisor at the door":   {caller(ByDevice, Supervisor, none), []Right{Scan, Override, Supervise}},
		"admin at the door":        {caller(ByDevice, AdminRole, none), []Right{Scan, Override, Supervise}},
		"token without a scope":    {program(), nil},
		"token to read":            {program(ScopeRead), []Right{Read}},
		"token to scan and issue":  {program(ScopeScan, ScopeIssue), []Right{Scan, Issue}},
		"token to administer":      {program(ScopeAdmin), []Right{Read, Issue, ShowLink, Admin}},
		"token of a controller":    {Caller{Kind: ByToken, Scopes: []Scope{ScopeScan, ScopeAdmin}, Grants: []Grant{{Venue: here, Role: Controller}}}, []Right{Scan}},
		"the operator":             {Operator, all},
		"the server":               {System, all},
	} {
		for _, right := range all {
			if got, want := c.by.May(right, here), slices.Contains(c.want, right); got != want {
				t.Errorf("%s: %s is %v", name, right, got)
			}
		}
	}
}

func TestARoleCountsAtItsVenueOnly(t *testing.T) {
	t.Parallel()
	local, boss := caller(ByCookie, AdminRole, here), caller(ByCookie, AdminRole, none)
	bound := caller(ByToken, AdminRole, none)
	bound.Scopes, bound.Venue = []Scope{ScopeAdmin}, here
	astray := caller(ByToken, AdminRole, there)
	astray.Scopes, astray.Venue = []Scope{ScopeAdmin}, here
	lent := caller(ByDevice, Supervisor, there)
	for name, c := range map[string]struct {
		by                                Caller
		right                             Right
		here, there, anywhere, everywhere bool
	}{
		"local admin":                     {local, Admin, true, false, true, false},
		"admin of everywhere":             {boss, Admin, true, true, true, true},
		"token bound to a venue":          {bound, Admin, true, false, true, false},
		"token bound where he is nobody":  {astray, Admin, false, false, false, false},
		"device, person of another venue": {lent, Scan, false, false, false, false},
		"device, person of everywhere":    {caller(ByDevice, Controller, none), Scan, true, false, true, false},
		"device itself":                   {Caller{Kind: ByDevice, Venue: here}, Device, true, false, true, false},
		"operator":                        {Operator, Admin, true, true, true, true},
	} {
		got := []bool{c.by.May(c.right, here), c.by.May(c.right, there), c.by.May(c.right, none), c.by.MayEverywhere(c.right)}
		if want := []bool{c.here, c.there, c.anywhere, c.everywhere}; !slices.Equal(got, want) {
			t.Errorf("%s: here, there, anywhere, everywhere are %v, want %v", name, got, want)
		}
	}
}

func TestARefusalSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	device := Caller{Kind: ByDevice, Venue: here}
	wallet := Caller{Kind: ByWallet, Wallet: []WalletTicket{{}}}
	for name, c := range map[string]struct {
		by    Caller
		right Right
		want  string
	}{
		"no one":                  {Caller{}, Staff, "session.required"},
		"a wallet at the desk":    {wallet, Staff, "session.required"},
		"a wallet":                {wallet, Wallet, ""},
		"no wallet":               {caller(ByCookie, AdminRole, none), Wallet, "session.wallet_required"},
		"device without a person": {device, Scan, "session.sign_on_required"},
		"device":                  {device, Device, ""},
		"any device is staff":     {device, Staff, ""},
		"a person as device":      {caller(ByCookie, AdminRole, none), Device, "session.right_missing"},
		"controller as admin":     {caller(ByCookie, Controller, here), Admin, "session.right_missing"},
		"everybody":               {Caller{}, Public, ""},
	} {
		err := c.by.Require(c.right, none)
		if (c.want == "") != (err == nil) || err != nil && !fault.Is(err, c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if err := caller(ByCookie, AdminRole, here).RequireEverywhere(Admin); !fault.Is(err, "session.right_missing") {
		t.Errorf("an admin of one venue is one everywhere: %v", err)
	}
}

func TestWhatATokenMayHandOn(t *testing.T) {
	t.Parallel()
	admin, reader := Caller{Scopes: []Scope{ScopeAdmin}}, Caller{Scopes: []Scope{ScopeRead}}
	for scope, want := range map[Scope][2]bool{
		ScopeScan: {false, false}, ScopeRead: {true, true}, ScopeIssue: {true, false}, ScopeAdmin: {true, false},
	} {
		if got := [2]bool{admin.HoldsScope(scope), reader.HoldsScope(scope)}; got != want {
			t.Errorf("%s: admin and reader %v, want %v", scope, got, want)
		}
		if !scope.Known() {
			t.Errorf("%s is no scope", scope)
		}
	}
	if Scope("all").Known() || Role("").Known() || !Controller.Known() {
		t.Error("the known words are others")
	}
	if got := caller(ByDevice, Supervisor, here).DoorRights(); !slices.Equal(got, []Right{Scan, Override, Supervise}) {
		t.Errorf("a supervisor's rights at the door are %v", got)
	}
}
