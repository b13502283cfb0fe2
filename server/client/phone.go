package client

import (
	"context"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"slices"
	"time"

	"portillon/server/ticket"
	"portillon/wallet"
)

// ClaimChallenge is what a claim link is for, and the value to sign.
type ClaimChallenge struct {
	Challenge  string        `json:"challenge"` // base64url of 32 bytes
	ExpiresAt  time.Time     `json:"expires_at"`
	ServerTime time.Time     `json:"server_time"`
	Event      WalletEvent   `json:"event"`
	ClaimFrom  time.Time     `json:"claim_from"`
	Claimable  bool          `json:"claimable"`
	MoveTo     string        `json:"move_to"` // where digits that move them would be mailed, masked; "" for nowhere
	Tickets    []ClaimTicket `json:"tickets"`
}

// WalletEvent is what a customer is told of an event.
type WalletEvent struct {
	Event       ticket.EventID `json:"event"`
	Name        string         `json:"name"`
	Screen      string         `json:"screen"`
	Venue       ticket.VenueID `json:"venue"`
	VenueName   string         `json:"venue_name"`
	TimeZone    string         `json:"time_zone"`
	DoorsOpenAt time.Time      `json:"doors_open_at"`
	StartsAt    time.Time      `json:"starts_at"`
	EndsAt      time.Time      `json:"ends_at"`
}

// ClaimTicket is a ticket of a claim link.
type ClaimTicket struct {
	Ticket    ticket.ID      `json:"ticket"`
	Event     ticket.EventID `json:"event"`
	Number    int            `json:"number"`
	Seat      string         `json:"seat"`
	Category  string         `json:"category"`
	Admits    int            `json:"admits"`
	Claimed   ClaimedBy      `json:"claimed"`
	Claimable bool           `json:"claimable"`
	Movable   bool           `json:"movable"` // by digits that are mailed
}

// ClaimedBy says when and on what a ticket was claimed; the zero value when it
// was not.
type ClaimedBy struct {
	At      time.Time `json:"at"`
	Browser string    `json:"browser"`
}

// UnmarshalJSON reads the object, or false.
func (c *ClaimedBy) UnmarshalJSON(text []byte) error {
	if string(text) == "false" || string(text) == "null" {
		*c = ClaimedBy{}
		return nil
	}
	type plain ClaimedBy
	return json.Unmarshal(text, (*plain)(c))
}

// ClaimKey is one ticket's key in a claim.
type ClaimKey struct {
	Ticket ticket.ID       `json:"ticket"`
	JWK    json.RawMessage `json:"jwk"`
	Proof  string          `json:"proof"`
}

// Claimed is the answer to a claim.
type Claimed struct {
	Tickets    []ClaimedTicket `json:"tickets"`
	ServerTime time.Time       `json:"server_time"`
}

// ClaimedTicket is a ticket that is on the phone now.
type ClaimedTicket struct {
	Ticket     ticket.ID   `json:"ticket"`
	Generation uint8       `json:"generation"`
	Event      WalletEvent `json:"event"`
	Number     int         `json:"number"`
	Seat       string      `json:"seat"`
	Category   string      `json:"category"`
	Admits     int         `json:"admits"`
}

// WalletState is how the session's tickets stand.
type WalletState struct {
	Tickets    []WalletTicket `json:"tickets"`
	ServerTime time.Time      `json:"server_time"`
}

// WalletTicket is one ticket of a wallet session. State is active, used, held,
// revoked or moved.
type WalletTicket struct {
	Ticket     ticket.ID   `json:"ticket"`
	Generation uint8       `json:"generation"`
	State      string      `json:"state"`
	Number     int         `json:"number"`
	Seat       string      `json:"seat"`
	Category   string      `json:"category"`
	Admits     int         `json:"admits"`
	Entries    int         `json:"entries"`
	Event      WalletEvent `json:"event"`
	Admitted   *struct {
		At   time.Time `json:"at"`
		Gate string    `json:"gate"`
	} `json:"admitted,omitempty"`
}

// WalletNonces are the present nonces of the venues whose doors are open.
type WalletNonces struct {
	Venues          []VenueNonce `json:"venues"`
	ServerTime      time.Time    `json:"server_time"`
	NextDoorsOpenAt time.Time    `json:"next_doors_open_at,omitzero"`
}

// VenueNonce is one venue's nonce; Open false: nobody holds a gate there.
type VenueNonce struct {
	Venue       ticket.VenueID `json:"venue"`
	Open        bool           `json:"open"`
	Nonce       string         `json:"nonce,omitempty"` // base64url of 16 bytes
	IssuedAt    time.Time      `json:"issued_at,omitzero"`
	AcceptedFor float64        `json:"accepted_for,omitempty"` // seconds from IssuedAt
}

// Phone is the part of the reference phone that talks to the server. Its cookie
// lives as long as it does; its keys are the caller's to save. A Phone does one
// thing at a time.
type Phone struct {
	Keys   *wallet.Phone
	client *Client
}

// NewPhone makes a phone with these keys, which calls the server at baseURL by
// hc. A client without a cookie jar is copied and gets one of the phone's own.
func NewPhone(baseURL string, keys *wallet.Phone, hc *http.Client) *Phone {
	own := http.Client{}
	if hc != nil {
		own = *hc
	}
	if own.Jar == nil {
		own.Jar, _ = cookiejar.New(nil) // never fails
	}
	return &Phone{Keys: keys, client: New(baseURL, "", &own)}
}

// Look asks what a claim link's code is for.
func (p *Phone) Look(ctx context.Context, code string) (ClaimChallenge, error) {
	return Do[ClaimChallenge](ctx, p.client, http.MethodPost, "/v1/claims/challenge", struct {
		Code string `json:"code"`
	}{code})
}

// claimAtOnce is how many tickets one claim or one wallet session may have.
const claimAtOnce = 64

// Claim puts the link's tickets (only those of ids, when there are any) onto this
// phone. Save is called before anything is sent, with the new keys in p.Keys, and
// after the answer: a key whose ticket is claimed must not be lost. A key whose
// claim was not answered is used again, so that a lost answer costs nothing.
func (p *Phone) Claim(ctx context.Context, code string, save func() error, ids ...ticket.ID) (Claimed, error) {
	var all Claimed
	done := map[ticket.ID]bool{}
	for {
		offer, err := p.Look(ctx, code)
		if err != nil {
			return all, err
		}
		wanted := p.wanted(offer, ids, done)
		if len(wanted) == 0 && len(done) > 0 {
			return all, nil
		}
		if len(wanted) == 0 {
			return all, nothingToClaim(offer)
		}
		for _, t := range wanted {
			done[t.Ticket] = true
		}
		claimed, err := p.claimSome(ctx, code, offer, wanted, save)
		if err != nil {
			return all, err
		}
		all.Tickets, all.ServerTime = append(all.Tickets, claimed.Tickets...), claimed.ServerTime
	}
}

// wanted are the next tickets to claim: those asked for, or all that can be
// claimed or were claimed by this phone.
func (p *Phone) wanted(offer ClaimChallenge, ids []ticket.ID, done map[ticket.ID]bool) (wanted []ClaimTicket) {
	for _, t := range offer.Tickets {
		asked := slices.Contains(ids, t.Ticket)
		ours := t.Claimable || p.Keys.Find(t.Ticket.UUID()) != nil
		if !done[t.Ticket] && (asked || len(ids) == 0 && ours) && len(wanted) < claimAtOnce {
			wanted = append(wanted, t)
		}
	}
	return wanted
}

func (p *Phone) claimSome(ctx context.Context, code string, offer ClaimChallenge, tickets []ClaimTicket, save func() error) (Claimed, error) {
	var challenge [32]byte
	if err := decode(challenge[:], offer.Challenge); err != nil {
		return Claimed{}, err
	}
	keys := make([]ClaimKey, 0, len(tickets))
	held := make([]*wallet.HeldTicket, 0, len(tickets))
	for _, t := range tickets {
		h, err := p.keyFor(t, offer)
		if err != nil {
			return Claimed{}, err
		}
		proof, err := h.SignClaim(challenge, code)
		if err != nil {
			return Claimed{}, err
		}
		held = append(held, h)
		keys = append(keys, ClaimKey{Ticket: t.Ticket, JWK: h.JWK(), Proof: proof})
	}
	return p.claim(ctx, code, keys, held, save)
}

// ErrNothingToClaim says that no ticket of a link can be claimed here now.
var ErrNothingToClaim = errors.New("none of the link's tickets can be put on this phone")

func nothingToClaim(offer ClaimChallenge) error {
	for _, t := range offer.Tickets {
		if !t.Claimed.At.IsZero() {
			return fmt.Errorf("%w: ticket %d was claimed at %s on %s", ErrNothingToClaim, t.Number, t.Claimed.At.Format(time.RFC3339), t.Claimed.Browser)
		}
	}
	if !offer.Claimable {
		return fmt.Errorf("%w before %s", ErrNothingToClaim, offer.ClaimFrom.Format(time.RFC3339))
	}
	return ErrNothingToClaim
}

// keyFor is the key to claim the ticket with: the phone's own while the ticket is
// claimed by it or nobody, else a fresh one, because a key is bound only once.
func (p *Phone) keyFor(t ClaimTicket, offer ClaimChallenge) (*wallet.HeldTicket, error) {
	held := p.Keys.Find(t.Ticket.UUID())
	if held != nil && (held.Generation == 0 || !t.Claimable) {
		return held, nil
	}
	event := t.Event
	if event.IsZero() {
		event = offer.Event.Event
	}
	fresh, err := p.Keys.Add(t.Ticket.UUID(), event.UUID())
	if err == nil && held != nil {
		p.Keys.Tickets = append(p.Keys.Tickets, held) // it counts until the new one does
	}
	return fresh, err
}

func (p *Phone) claim(ctx context.Context, code string, keys []ClaimKey, held []*wallet.HeldTicket, save func() error) (Claimed, error) {
	if err := save(); err != nil {
		return Claimed{}, err
	}
	claimed, err := Do[Claimed](ctx, p.client, http.MethodPost, "/v1/claims", struct {
		Code string     `json:"code"`
		Keys []ClaimKey `json:"keys"`
	}{code, keys})
	if err != nil && RetryLater(err) {
		return claimed, err // it may have counted: the keys stay for another try
	}
	for _, t := range claimed.Tickets {
		for _, h := range held {
			if h.Ticket == t.Ticket.UUID() {
				h.Generation = t.Generation
			}
		}
	}
	p.forgetUnused(held)
	return claimed, errors.Join(err, save())
}

// forgetUnused drops keys whose claim was refused, and those that a claim has
// replaced.
func (p *Phone) forgetUnused(asked []*wallet.HeldTicket) {
	for _, h := range asked {
		p.Keys.Tickets = slices.DeleteFunc(p.Keys.Tickets, func(other *wallet.HeldTicket) bool {
			if other.Ticket != h.Ticket {
				return false
			}
			return other == h && h.Generation == 0 || other != h && h.Generation != 0
		})
	}
}

// SignIn opens a wallet session with the phone's tickets (the first 64), whose
// cookie the phone keeps, and tells how they stand.
func (p *Phone) SignIn(ctx context.Context) (WalletState, error) {
	made, err := Do[ClaimChallenge](ctx, p.client, http.MethodPost, "/v1/wallet/challenge", struct{}{})
	if err != nil {
		return WalletState{}, err
	}
	var challenge [32]byte
	if err := decode(challenge[:], made.Challenge); err != nil {
		return WalletState{}, err
	}
	type signed struct {
		Ticket     ticket.ID `json:"ticket"`
		Generation uint8     `json:"generation"`
		Proof      string    `json:"proof"`
	}
	var tickets []signed
	for _, h := range p.Keys.Tickets {
		if h.Generation == 0 || len(tickets) == claimAtOnce {
			continue // its claim was never answered, or there are too many
		}
		proof, err := h.SignSession(challenge)
		if err != nil {
			return WalletState{}, err
		}
		tickets = append(tickets, signed{ticket.ID(h.Ticket), h.Generation, proof})
	}
	return Do[WalletState](ctx, p.client, http.MethodPost, "/v1/wallet/session", struct {
		Tickets []signed `json:"tickets"`
	}{tickets})
}

// OneTimeSecret is what makes one-time codes (RFC 6238) for one claim of a ticket.
type OneTimeSecret struct {
	Ticket     ticket.ID `json:"ticket"`
	Generation uint8     `json:"generation"`
	Number     int       `json:"number"` // to be said before the digits
	Secret     string    `json:"secret"` // base32 without padding
	Algorithm  string    `json:"algorithm"`
	Digits     int       `json:"digits"`
	Period     int       `json:"period"` // seconds
	ServerTime time.Time `json:"server_time"`
}

// OneTime asks for the secret of a held ticket's one-time codes and puts it on the
// phone, whose keys are then the caller's to save. The same claim gets the same again.
func (p *Phone) OneTime(ctx context.Context, held *wallet.HeldTicket) (OneTimeSecret, error) {
	made, err := Do[ClaimChallenge](ctx, p.client, http.MethodPost, "/v1/wallet/challenge", struct{}{})
	if err != nil {
		return OneTimeSecret{}, err
	}
	var challenge [32]byte
	if err := decode(challenge[:], made.Challenge); err != nil {
		return OneTimeSecret{}, err
	}
	proof, err := held.SignSession(challenge)
	if err != nil {
		return OneTimeSecret{}, err
	}
	given, err := Do[OneTimeSecret](ctx, p.client, http.MethodPost, "/v1/wallet/totp", struct {
		Ticket     ticket.ID `json:"ticket"`
		Generation uint8     `json:"generation"`
		Proof      string    `json:"proof"`
	}{ticket.ID(held.Ticket), held.Generation, proof})
	if err != nil {
		return given, err
	}
	held.OneTime, err = base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(given.Secret)
	return given, err
}

// State asks how the session's tickets stand.
func (p *Phone) State(ctx context.Context) (WalletState, error) {
	return Do[WalletState](ctx, p.client, http.MethodGet, "/v1/wallet", nil)
}

// Nonces asks for the present nonces.
func (p *Phone) Nonces(ctx context.Context) (WalletNonces, error) {
	return Do[WalletNonces](ctx, p.client, http.MethodGet, "/v1/wallet/nonce", nil)
}

// Bytes decodes the nonce.
func (n VenueNonce) Bytes() (nonce [16]byte, err error) {
	return nonce, decode(nonce[:], n.Nonce)
}

func decode(into []byte, text string) error {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != len(into) {
		return fmt.Errorf("%q is not base64url of %d bytes", text, len(into))
	}
	copy(into, raw)
	return nil
}
