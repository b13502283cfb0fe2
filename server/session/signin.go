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

// SignInIn is what somebody signs in with, and from which address. OTP is asked for
// of those who have a second factor: its code, or a recovery code.
type SignInIn struct {
	Email    string
	Password string
	OTP      string
	Address  string
}

// signedIn is who signed in, and the stamp of the password and the second
// factor that his session depends on.
type signedIn struct {
	caller Caller
	stamp  []byte
}

// signIn checks an e-mail address and a password, and then the second factor.
// Whatever is wrong of the first two, the answer and the time it takes are the
// same. Faults: session.wrong_credentials, session.too_many_tries,
// session.otp_required, session.otp_wrong, session.otp_used.
func (s *Service) signIn(ctx context.Context, in SignInIn, requestID string) (signedIn, error) {
	email, address := canonical(in.Email), network(in.Address)
	if err := s.limits.begin(email, address); err != nil {
		return signedIn{}, err
	}
	k, err := s.checkPassword(ctx, ticket.PersonID{}, email, in.Password)
	if err != nil {
		return signedIn{}, err
	}
	proven, err := s.prove(ctx, k, in.OTP, fault.Unauthenticated)
	if fault.Is(err, "session.otp_required") { // half of a sign-in is neither a wrong try nor the end of those before
		s.limits.half(email, address)
	}
	if err != nil {
		return signedIn{}, err
	}
	by := Caller{Kind: ByCookie, Person: k.id, PersonName: k.name, RequestID: requestID}
	err = pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		if err := (store{}).sweep(ctx, tx); err != nil {
			return err
		}
		if err := proven.spend(ctx, tx, fault.Unauthenticated); err != nil {
			return err
		}
		return audit.Write(ctx, tx, by, audit.Act{Name: "session.sign_in", Subject: k.id, Details: proven.details()})
	})
	if err != nil {
		return signedIn{}, err
	}
	s.limits.succeeded(email, address)
	return signedIn{by, k.stamp()}, nil
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

// signInByLink uses a one-time link up; see useLink for the key and the faults. A
// link stands for the password: whoever has a second factor is asked for it too, as
// in signIn, and until it is right the link stays unused.
func (s *Service) signInByLink(ctx context.Context, code, otp string, key uuid.UUID, requestID string) (signedIn, error) {
	owner, err := s.linkOwner(ctx, code)
	if err != nil {
		return signedIn{}, err
	}
	proven, err := s.prove(ctx, owner, otp, fault.Unauthenticated)
	if err != nil {
		return signedIn{}, err
	}
	var in signedIn
	err = pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		k, again, err := useLink(ctx, tx, code, key)
		if err != nil {
			return err
		}
		if !again { // or the code that was used with it is right once more
			if err := proven.spend(ctx, tx, fault.Unauthenticated); err != nil {
				return err
			}
		}
		in = signedIn{Caller{Kind: ByCookie, Person: k.id, PersonName: k.name, RequestID: requestID}, k.stamp()}
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
	// HasSecondFactor says whether signing in asks for a code besides.
	HasSecondFactor bool            `json:"has_second_factor"`
	Grants          []Grant         `json:"grants"`
	Scopes          []Scope         `json:"scopes,omitempty"`
	Device          ticket.DeviceID `json:"device,omitzero"`
	DeviceName      string          `json:"device_name,omitempty"`
	Venue           ticket.VenueID  `json:"venue,omitzero"`
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
	me.HasPassword, me.HasPIN, me.HasSecondFactor = k.password != nil, k.pin != nil, k.factor != nil
	if by.Kind == ByCookie {
		me.Email = k.email
	}
	return me, nil
}
