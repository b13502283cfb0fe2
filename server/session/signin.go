package session

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/audit"
	"portillon/server/fault"
	"portillon/server/pg"
	"portillon/server/ticket"
)

// SignInIn is what somebody signs in with, and from which address. OTP is taken
// for clients that send it; no second factor is asked for yet.
type SignInIn struct {
	Email    string
	Password string
	OTP      string
	Address  string
}

// signedIn is who signed in, and the stamp of the password that his session
// depends on.
type signedIn struct {
	caller Caller
	stamp  []byte
}

// signIn checks an e-mail address and a password. Whatever is wrong, the answer
// and the time it takes are the same. Faults: session.wrong_credentials,
// session.too_many_tries.
func (s *Service) signIn(ctx context.Context, in SignInIn, requestID string) (signedIn, error) {
	email, address := canonical(in.Email), network(in.Address)
	if err := s.limits.begin(email, address); err != nil {
		return signedIn{}, err
	}
	k, err := s.checkPassword(ctx, ticket.PersonID{}, email, in.Password)
	if err != nil {
		return signedIn{}, err
	}
	s.limits.succeeded(email, address)
	by := Caller{Kind: ByCookie, Person: k.id, PersonName: k.name, RequestID: requestID}
	err = pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		if err := (store{}).sweep(ctx, tx); err != nil {
			return err
		}
		return audit.Write(ctx, tx, by, audit.Act{Name: "session.sign_in", Subject: k.id})
	})
	return signedIn{by, stamp(k.password)}, err
}

// checkPassword finds a person by id or e-mail address and compares.
func (s *Service) checkPassword(ctx context.Context, person ticket.PersonID, email, password string) (known, error) {
	k, err := s.person(ctx, person, email)
	if err != nil && !fault.Is(err, "person.not_found") {
		return known{}, err
	}
	match, err := s.matches(ctx, password, k.password)
	if err != nil {
		return known{}, err
	}
	if !match {
		return known{}, fault.New(fault.Unauthenticated, "session.wrong_credentials", "the e-mail address or the password is wrong")
	}
	return k, nil
}

// signInByLink uses a one-time link up; see useLink for the key and the faults.
func (s *Service) signInByLink(ctx context.Context, code string, key uuid.UUID, requestID string) (signedIn, error) {
	var in signedIn
	err := pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		k, again, err := useLink(ctx, tx, code, key)
		if err != nil {
			return err
		}
		in = signedIn{Caller{Kind: ByCookie, Person: k.id, PersonName: k.name, RequestID: requestID}, stamp(k.password)}
		return audit.Write(ctx, tx, in.caller, audit.Act{
			Name: "session.sign_in_link", Subject: k.id, Details: map[string]any{"again": again},
		})
	})
	return in, err
}

// signedOut records that a desk session ended.
func (s *Service) signedOut(ctx context.Context, by Caller) error {
	if by.Kind != ByCookie {
		return nil
	}
	return pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		return audit.Write(ctx, tx, by, audit.Act{Name: "session.sign_out", Subject: by.Person})
	})
}

// Me is who the caller is. Email is told to the person himself only.
type Me struct {
	Kind        CallerKind      `json:"kind"`
	Person      ticket.PersonID `json:"person,omitzero"`
	Name        string          `json:"name"`
	Email       string          `json:"email,omitempty"`
	HasPassword bool            `json:"has_password"`
	HasPIN      bool            `json:"has_pin"`
	Grants      []Grant         `json:"grants"`
	Scopes      []Scope         `json:"scopes,omitempty"`
	Device      ticket.DeviceID `json:"device,omitzero"`
	DeviceName  string          `json:"device_name,omitempty"`
	Venue       ticket.VenueID  `json:"venue,omitzero"`
}

// Me tells the caller who he is. Fault: session.required.
func (s *Service) Me(ctx context.Context, by Caller) (Me, error) {
	if err := by.Require(Staff, ticket.VenueID{}); err != nil {
		return Me{}, err
	}
	me := Me{
		Kind: by.Kind, Person: by.Person, Name: by.PersonName, Grants: by.Grants, Scopes: by.Scopes,
		Device: by.Device, DeviceName: by.DeviceName, Venue: by.Venue,
	}
	if me.Grants == nil {
		me.Grants = []Grant{}
	}
	if by.Person.IsZero() {
		return me, nil
	}
	k, err := s.person(ctx, by.Person, "")
	if err != nil {
		return Me{}, err
	}
	me.HasPassword, me.HasPIN = k.password != nil, k.pin != nil
	if by.Kind == ByCookie {
		me.Email = k.email
	}
	return me, nil
}
