package session

import "portillon/server/rights"

// The words of package rights, given out here: whoever asks "who is it?" asks
// this package.
type (
	Right        = rights.Right
	Role         = rights.Role
	Scope        = rights.Scope
	CallerKind   = rights.CallerKind
	Grant        = rights.Grant
	WalletTicket = rights.WalletTicket
	Caller       = rights.Caller
)

// The rights; see package rights.
const (
	Public    = rights.Public
	Wallet    = rights.Wallet
	Staff     = rights.Staff
	Device    = rights.Device
	Scan      = rights.Scan
	Override  = rights.Override
	Supervise = rights.Supervise
	Read      = rights.Read
	Issue     = rights.Issue
	ShowLink  = rights.ShowLink
	Admin     = rights.Admin
)

// The roles and scopes; see package rights.
const (
	Controller = rights.Controller
	Supervisor = rights.Supervisor
	AdminRole  = rights.AdminRole

	ScopeScan  = rights.ScopeScan
	ScopeRead  = rights.ScopeRead
	ScopeIssue = rights.ScopeIssue
	ScopeAdmin = rights.ScopeAdmin
)

// The kinds of callers; see package rights.
const (
	NoOne    = rights.NoOne
	ByCookie = rights.ByCookie
	ByDevice = rights.ByDevice
	ByToken  = rights.ByToken
	ByWallet = rights.ByWallet
	ByShell  = rights.ByShell
	BySystem = rights.BySystem
)

// The callers that need no credential; see package rights.
var (
	Operator = rights.Operator
	System   = rights.System
)
