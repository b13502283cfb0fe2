package server

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"portillon/server/admit"
	"portillon/server/challenge"
	"portillon/server/claim"
	"portillon/server/issue"
	"portillon/server/offline"
	mails "portillon/server/post"
	"portillon/server/report"
	"portillon/server/session"
	"portillon/server/wire"
)

// Route is one call of the API. Right is what its caller must have somewhere;
// the verb behind it asks again at the venue that it is about.
type Route struct {
	Method  string
	Path    string
	Right   session.Right
	Does    string // one sentence of the reference
	handler echo.HandlerFunc
	Shape
}

// Shape is what a call takes and gives: values of the types that its handler
// decodes and encodes.
type Shape struct {
	In     any
	Status int
	Out    any
	Keyed  bool     // takes an Idempotency-Key
	Query  []string // takes these members of the query
}

func gives(status int, out any) Shape         { return Shape{Status: status, Out: out} }
func takes(in any, status int, out any) Shape { return Shape{In: in, Status: status, Out: out} }
func makes(in, out any) Shape {
	return Shape{In: in, Status: http.StatusCreated, Out: out, Keyed: true}
}
func takesFile(media mediaType, out any) Shape {
	return Shape{In: media, Status: http.StatusOK, Out: out}
}
func (s Shape) keyed() Shape               { s.Keyed = true; return s }
func (s Shape) asks(query ...string) Shape { s.Query = query; return s }
func lists[T any](query ...string) Shape   { return gives(http.StatusOK, wire.List[T]{}).asks(query...) }
func acts(out any) Shape                   { return takes(issue.ReasonRequest{}, http.StatusOK, out).keyed() }

const (
	get, post, patch, del = http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete
	ok, created, done     = http.StatusOK, http.StatusCreated, http.StatusNoContent
)

// Calls whose bodies or answers are files, and take their time.
const (
	importPath   = "/v1/events/:event/imports"
	ticketsPath  = "/v1/events/:event/tickets.csv"
	attemptsPath = "/v1/events/:event/attempts.csv"
	batchPath    = "/v1/scans/batch"
)

// Routes is the table of the API: whoever looks for a call starts here.
func (s *Server) Routes() []Route {
	return slices.Concat(s.staffRoutes(), s.deskRoutes(), s.walletRoutes(), s.doorRoutes())
}

// Who asks.
func (s *Server) staffRoutes() []Route {
	who := s.Session
	return []Route{
		{post, "/v1/session", session.Public, "Signs a person in at the desk.", who.HandleSignIn, takes(session.SignInRequest{}, ok, session.Me{})},
		{del, "/v1/session", session.Public, "Signs the person out.", who.HandleSignOut, gives(done, nil)},
		{post, "/v1/session/link", session.Public, "Signs a person in with a one-time link.", who.HandleSignInLink, takes(session.SignInLinkRequest{}, ok, session.Me{}).keyed()},
		{get, "/v1/me", session.Staff, "Tells who asks and what they may do.", who.HandleMe, gives(ok, session.Me{})},
		{post, "/v1/me/password", session.Staff, "Sets one's own password.", who.HandleSetPassword, takes(session.SetPasswordRequest{}, done, nil)},
		{post, "/v1/me/pin", session.Staff, "Sets one's own PIN for gate devices.", who.HandleSetPIN, takes(session.SetPINRequest{}, done, nil)},
		{post, "/v1/me/second-factor", session.Staff, "Makes a secret for one's own second factor; it counts once it is confirmed.", who.HandleBeginFactor, takes(session.BeginFactorRequest{}, ok, session.FactorSecret{})},
		{post, "/v1/me/second-factor/confirm", session.Staff, "Lets one's own second factor count, by its first code; answers with the recovery codes.", who.HandleConfirmFactor, takes(session.ConfirmFactorRequest{}, ok, session.RecoveryCodes{}).keyed()},
		{post, "/v1/me/second-factor/remove", session.Staff, "Takes one's own second factor away, with password and code.", who.HandleRemoveFactor, takes(session.RemoveFactorRequest{}, done, nil)},
		{get, "/v1/people", session.Admin, "Lists people and their roles.", who.HandleListPeople, lists[session.Person]("cursor")},
		{post, "/v1/people", session.Admin, "Adds a person; answers with a one-time link.", who.HandleAddPerson, makes(session.AddPersonRequest{}, session.Person{})},
		{get, "/v1/people/:person", session.Admin, "Shows a person and their roles.", who.HandleGetPerson, gives(ok, session.Person{})},
		{patch, "/v1/people/:person", session.Admin, "Changes a person's name or roles, or disables them.", who.HandleChangePerson, takes(session.ChangePersonRequest{}, ok, session.Person{})},
		{post, "/v1/people/:person/link", session.Admin, "Makes a new one-time link for a person.", who.HandlePersonLink, gives(ok, session.LinkAnswer{})},
		{post, "/v1/people/:person/second-factor/remove", session.Admin, "Takes a person's second factor away, should they have lost it.", who.HandleResetFactor, gives(ok, session.Person{})},
		{post, "/v1/pairings", session.Admin, "Makes a link that pairs a browser as a gate device.", who.HandleCreatePairing, makes(session.CreatePairingRequest{}, session.Pairing{})},
		{get, "/v1/pairings/:pairing", session.Admin, "Tells which browser opened the pairing link.", who.HandleGetPairing, gives(ok, session.Pairing{})},
		{post, "/v1/pairings/:pairing/confirm", session.Admin, "This one: pairs the browser.", who.HandleConfirmPairing, gives(ok, session.Pairing{})},
		{post, "/v1/pairings/:pairing/refuse", session.Admin, "Not this one: ends the pairing.", who.HandleRefusePairing, gives(ok, session.Pairing{})},
		{post, "/v1/pairings/open", session.Public, "A browser presents the link's code.", who.HandleOpenPairing, takes(session.OpenPairingRequest{}, ok, session.OpenedPairing{}).keyed()},
		{post, "/v1/pairings/collect", session.Public, "The browser asks whether the desk said yes, and gets its credential.", who.HandleCollectPairing, takes(session.CollectPairingRequest{}, ok, session.CollectedPairing{})},
		{get, "/v1/devices", session.Admin, "Lists gate devices.", who.HandleListDevices, lists[session.PairedDevice]("venue", "cursor")},
		{post, "/v1/devices/:device/revoke", session.Admin, "Ends a device's credential at once.", who.HandleRevokeDevice, gives(ok, session.PairedDevice{})},
		{get, "/v1/device", session.Device, "Tells a device its venue, gates and who may sign on.", who.HandleDevice, gives(ok, session.AtDevice{})},
		{post, "/v1/device/sign-on", session.Device, "Signs a person on to the device.", who.HandleSignOn, takes(session.SignOnRequest{}, ok, session.AtDevice{})},
		{post, "/v1/device/sign-off", session.Device, "Ends the sign-on.", who.HandleSignOff, gives(ok, session.AtDevice{})},
		{get, "/v1/tokens", session.Admin, "Lists API tokens.", who.HandleListTokens, lists[session.APIToken]("cursor")},
		{post, "/v1/tokens", session.Admin, "Makes an API token; it is shown in this answer only.", who.HandleCreateToken, makes(session.CreateTokenRequest{}, session.APIToken{})},
		{post, "/v1/tokens/:token/revoke", session.Admin, "Ends a token at once.", who.HandleRevokeToken, gives(ok, session.APIToken{})},
		{post, "/v1/qr", session.Staff, "Draws a link or a code as a QR symbol.", handleQR, takes(QRRequest{}, ok, mediaType("image/svg+xml"))},
	}
}

// Places, showings, tickets.
func (s *Server) deskRoutes() []Route {
	desk := s.Issue
	return []Route{
		{get, "/v1/venues", session.Read, "Lists venues.", desk.HandleListVenues, lists[issue.Venue]("cursor")},
		{post, "/v1/venues", session.Admin, "Adds a venue.", desk.HandleCreateVenue, makes(issue.VenueIn{}, issue.Venue{})},
		{get, "/v1/venues/:venue", session.Read, "Shows a venue.", desk.HandleGetVenue, gives(ok, issue.Venue{})},
		{get, "/v1/venues/:venue/gates", session.Read, "Lists a venue's gates.", desk.HandleListGates, lists[issue.Gate]()},
		{post, "/v1/venues/:venue/gates", session.Admin, "Adds a gate.", desk.HandleCreateGate, makes(issue.GateIn{}, issue.Gate{})},
		{get, "/v1/events", session.Read, "Lists events in the order of their doors.", desk.HandleListEvents, lists[issue.Event]("venue", "from", "cursor")},
		{post, "/v1/events", session.Admin, "Adds an event.", desk.HandleCreateEvent, makes(issue.EventIn{}, issue.Event{})},
		{get, "/v1/events/:event", session.Read, "Shows an event.", desk.HandleGetEvent, gives(ok, issue.Event{})},
		{patch, "/v1/events/:event", session.Admin, "Changes an event's times or policy.", desk.HandleChangeEvent, takes(issue.EventChange{}, ok, issue.Event{})},
		{get, "/v1/events/:event/categories", session.Read, "Lists an event's categories.", desk.HandleListCategories, lists[issue.Category]()},
		{post, "/v1/events/:event/categories", session.Admin, "Adds a category.", desk.HandleCreateCategory, makes(issue.CategoryIn{}, issue.Category{})},
		{get, "/v1/events/:event/tickets", session.Read, "Lists an event's tickets by number.", desk.HandleListTickets, lists[issue.Listed]("q", "status", "cursor")},
		{post, "/v1/events/:event/tickets", session.Issue, "Issues tickets with the next numbers, or with those of a lease: one order, one link.", desk.HandleIssue, makes(issue.TicketsIn{}, issue.Issued{})},
		{post, "/v1/events/:event/numbers", session.Issue, "Reserves the lowest free number for 15 s, for a form that shows it.", desk.HandleReserveNumber, gives(created, issue.NumberLease{})},
		{post, "/v1/number-leases/:lease/renew", session.Issue, "Keeps the number for another 15 s.", desk.HandleRenewNumber, gives(ok, issue.NumberLease{})},
		{post, "/v1/number-leases/:lease/release", session.Public, "Gives the number back; the lease is the credential.", desk.HandleReleaseNumber, gives(done, nil)},
		{post, importPath, session.Admin, "Takes in a CSV file of tickets that were sold elsewhere, by their external ids. The members of the query name columns, by heading or as #3; dry_run=true changes nothing; mails=false mails no link to the holders, language is that of those mails.", desk.HandleImport, takesFile("text/csv", issue.Imported{}).asks(append([]string{"dry_run", "encoding", "separator", "all_category", "language", "mails"}, issue.Columns...)...).keyed()},
		{get, ticketsPath, session.Admin, "Gives an event's tickets as CSV: flavour is machine or spreadsheet, lang the language of the spreadsheet.", desk.HandleExportTickets, gives(ok, mediaType("text/csv")).asks("flavour", "lang")},
		{get, attemptsPath, session.Admin, "Gives what was scanned of an event's tickets as CSV.", s.Report.HandleExportAttempts, gives(ok, mediaType("text/csv")).asks("flavour", "lang")},
		{get, "/v1/events/:event/report", session.Read, "Counts an event: tickets, people inside, and what its doors answered over time, by reason, gate and person.", s.Report.HandleEvent, gives(ok, report.Report{}).asks("from", "to", "step")},
		{get, "/v1/events/:event/mails", session.Admin, "Lists the mails about an event's tickets, the newest first, with each step of each attempt.", desk.HandleListMails, lists[mails.Sent]("state", "cursor")},
		{get, "/v1/tickets/:ticket", session.Read, "Shows a ticket and its history.", desk.HandleGetTicket, gives(ok, issue.Ticket{})},
		{post, "/v1/tickets/:ticket/revoke", session.Issue, "Ends a ticket.", desk.HandleRevoke, acts(issue.Ticket{})},
		{post, "/v1/tickets/:ticket/reinstate", session.Issue, "Gives a revoked ticket back.", desk.HandleReinstate, acts(issue.Ticket{})},
		{post, "/v1/tickets/:ticket/hold", session.Issue, "Blocks a ticket until it is released.", desk.HandleHold, acts(issue.Ticket{})},
		{post, "/v1/tickets/:ticket/release", session.Issue, "Releases a held ticket.", desk.HandleRelease, acts(issue.Ticket{})},
		{post, "/v1/tickets/:ticket/link", session.ShowLink, "Shows the claim link again; audited.", desk.HandleShowLink, takes(struct{}{}, ok, issue.Link{})},
		{post, "/v1/tickets/:ticket/resend", session.Issue, "Mails the claim link to the holder once more.", desk.HandleResend, acts(issue.Ticket{})},
		{post, "/v1/tickets/:ticket/allow-move", session.Issue, "Lets the ticket move to another phone by mailed digits once more than it might.", desk.HandleAllowMove, acts(issue.Ticket{})},
		{post, "/v1/tickets/:ticket/reissue", session.Issue, "Makes a new claim link and ends the old one.", desk.HandleReissue, acts(issue.Link{})},
		{post, "/v1/tickets/:ticket/print", session.Issue, "Moves the ticket to paper and answers with the paper code.", desk.HandlePrint, acts(issue.Printed{})},
	}
}

// Tickets move onto phones.
func (s *Server) walletRoutes() []Route {
	phone, push := s.Claim, s.Challenge
	return []Route{
		{post, "/v1/claims/challenge", session.Public, "Shows what a claim link is for, and makes a challenge.", phone.HandleChallenge, takes(claim.ChallengeRequest{}, ok, claim.Offer{})},
		{post, "/v1/claims", session.Public, "Binds tickets to keys of the phone that asks.", phone.HandleClaim, takes(claim.ClaimRequest{}, created, claim.Out{})},
		{post, "/v1/claims/move", session.Public, "Mails eight digits to the holder of a link's tickets, which move them to another phone within ten minutes.", phone.HandleAskMove, takes(claim.ChallengeRequest{}, http.StatusAccepted, claim.MoveAsked{})},
		{post, "/v1/claims/move/confirm", session.Public, "Moves tickets from the phone that has them to keys of the phone that asks, by the digits that were mailed.", phone.HandleMove, takes(claim.MoveRequest{}, created, claim.Out{})},
		{post, "/v1/claims/moved", session.Public, "Shows the holder a move that was mailed about, by the code of that mail's link.", phone.HandleShowMove, takes(claim.ChallengeRequest{}, ok, claim.MovedAway{})},
		{post, "/v1/claims/not-me", session.Public, "Not me: puts the tickets of that move on hold, until doors open.", phone.HandleNotMe, takes(claim.ChallengeRequest{}, ok, claim.MovedAway{})},
		{post, "/v1/wallet/challenge", session.Public, "Makes a challenge for a wallet session.", phone.HandleWalletChallenge, takes(struct{}{}, ok, claim.Challenge{})},
		{post, "/v1/wallet/session", session.Public, "Opens a wallet session by signatures of the tickets' keys.", phone.HandleWalletSession, takes(claim.WalletSessionRequest{}, ok, claim.Wallet{})},
		{post, "/v1/wallet/totp", session.Public, "Gives a claim's secret for one-time codes, by a signature of its key.", phone.HandleTOTP, takes(claim.ProofIn{}, ok, claim.TOTPOut{})},
		{get, "/v1/wallet", session.Wallet, "Tells how the session's tickets stand.", phone.HandleWallet, gives(ok, claim.Wallet{})},
		{get, "/v1/wallet/nonce", session.Wallet, "Gives the present nonces.", push.HandleWalletNonce, gives(ok, challenge.WalletNonces{})},
		{get, "/v1/wallet/stream", session.Wallet, "Follows nonces and news as server-sent events.", push.HandleWalletStream, gives(ok, mediaType("text/event-stream"))},
	}
}

// Gates hold the nonce and decide.
func (s *Server) doorRoutes() []Route {
	push, door := s.Challenge, admit.NewHandlers(s.Door, s.judge, s.text, s.now)
	return []Route{
		{post, "/v1/nonces", session.Scan, "Holds a lease on the gate's nonce, or makes a nonce to show.", push.HandleHold, takes(challenge.HoldIn{}, created, challenge.Held{})},
		{post, "/v1/nonce-leases/:lease/renew", session.Scan, "Renews the lease.", push.HandleRenew, gives(ok, challenge.Held{})},
		{post, "/v1/nonce-leases/:lease/release", session.Public, "Gives the lease back; its id is the credential.", push.HandleRelease, gives(done, nil)},
		{post, "/v1/nonce-leases/:lease/close", session.Scan, "Closes the gate.", push.HandleClose, gives(done, nil)},
		{post, "/v1/scans", session.Scan, "Decides about a code: 200 with a verdict.", door.HandleScan, takes(admit.ScanRequest{}, ok, admit.ScanAnswer{}).keyed()},
		{post, "/v1/wallet/short", session.Public, "Gives six digits for a fresh proof, to be typed at a gate within a minute.", door.HandleShort, takes(admit.ShortRequest{}, created, admit.ShortOut{})},
		{post, "/v1/scans/override", session.Scan, "Lets in against a refusal, by judgement and with a reason, as far as the caller may.", door.HandleOverride, takes(admit.OverrideRequest{}, ok, admit.ScanAnswer{}).keyed()},
		{post, "/v1/tickets/:ticket/admit", session.Override, "Lets in without a code, once the guest is identified.", door.HandleLookUp, takes(admit.LookUpRequest{}, ok, admit.ScanAnswer{}).keyed()},
		{post, searchPath, session.Scan, "Finds tickets of the events that are on, or open within twelve hours, at the gate's venue: by words of a name, seat, number or external id, 20 at most, 30 searches a minute.", door.HandleSearch, takes(admit.SearchRequest{}, ok, admit.FoundTickets{})},
		{post, "/v1/scans/shown", session.Device, "Receipts: these answers were put on the screen.", door.HandleShown, takes(admit.ShownRequest{}, ok, admit.ShownAnswer{})},
		{post, batchPath, session.Device, "Takes in what a device let happen without network, by its clock: a word on each item, in their order, and no item waits for another. A device that was revoked may hand in too; it is not believed.", s.Offline.HandleBatch, takes(offline.BatchRequest{}, ok, offline.Uploaded{})},
		{post, "/v1/scans/undo", session.Staff, "Takes an admission back.", door.HandleUndo, takes(admit.UndoRequest{}, ok, admit.UndoOut{}).keyed()},
	}
}
