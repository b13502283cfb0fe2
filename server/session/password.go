package session

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/audit"
	"portillon/server/fault"
	"portillon/server/pg"
	"portillon/server/seal"
	"portillon/server/ticket"
)

// hashing is the second recommendation for argon2id of RFC 9106, section 4, cut
// down to OWASP's minimum of 19 MiB and two passes: some 20 ms a try.
var hashing = &argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// hashesAtOnce bounds the memory that sign-ins can take.
var hashesAtOnce = max(2, runtime.GOMAXPROCS(0))

// Lengths of passwords in characters.
const (
	passwordMin = 10
	passwordMax = 200
)

// standIn is compared when there is nothing to compare with, so that the time
// taken does not tell whether somebody exists.
var standIn = sync.OnceValue(func() string {
	hash, _ := argon2id.CreateHash(seal.Random(), hashing) // fails only without randomness
	return hash
})

// hash makes what the database keeps of a password or a PIN.
func (s *Service) hash(ctx context.Context, secret string) (string, error) {
	release, err := s.hold(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	return argon2id.CreateHash(secret, hashing)
}

// matches compares a secret with its hash; a nil hash never matches.
func (s *Service) matches(ctx context.Context, secret string, hash *string) (bool, error) {
	release, err := s.hold(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	against := standIn
	if hash != nil {
		against = func() string { return *hash }
	}
	match, err := argon2id.ComparePasswordAndHash(secret, against())
	return match && hash != nil, err
}

// peppered mixes the operator's key into a PIN: a million PINs are soon tried by
// whoever has the database, but not without that key.
func (s *Service) peppered(person ticket.PersonID, pin string) string {
	return s.box.Secret("pin", person) + pin
}

// stamp names the present password and second factor without telling them.
func stamp(passwordHash *string, factor *uuid.UUID) []byte {
	var text string
	if passwordHash != nil {
		text = *passwordHash
	}
	if factor != nil {
		text += " " + factor.String()
	}
	return seal.Hash(text)
}

func passwordFault(field, password string) *fault.Error {
	switch n := utf8.RuneCountInString(password); {
	case n < passwordMin:
		return fault.Fields(fault.Field{Name: field, Code: "too_short"}).Fact("min", passwordMin)
	case n > passwordMax:
		return fault.Fields(fault.Field{Name: field, Code: "too_long"}).Fact("max", passwordMax)
	}
	return nil
}

func pinFault(pin string) *fault.Error {
	if len(pin) != 6 {
		return fault.Fields(fault.Field{Name: "pin", Code: "six_digits"})
	}
	for _, d := range []byte(pin) {
		if d < '0' || d > '9' {
			return fault.Fields(fault.Field{Name: "pin", Code: "six_digits"})
		}
	}
	if trivial(pin) {
		return fault.Fields(fault.Field{Name: "pin", Code: "too_simple"})
	}
	return nil
}

// trivial finds the PINs that are tried first: one digit six times, digits that
// count up or down, and one, two or three digits over and over.
func trivial(pin string) bool {
	step := (int(pin[1]) - int(pin[0]) + 10) % 10
	counting := step == 0 || step == 1 || step == 9
	for i := 1; i < len(pin) && counting; i++ {
		counting = (int(pin[i])-int(pin[i-1])+10)%10 == step
	}
	return counting || pin[:3] == pin[3:] || pin[:2] == pin[2:4] && pin[:2] == pin[4:]
}

// PasswordIn sets a password. Current is the old one; ByLink says that the person
// came by a one-time link and need not know it.
type PasswordIn struct {
	Password string
	Current  string
	ByLink   bool
}

// SetPassword sets the password of the caller himself (the operator: of anybody),
// which ends the person's desk sessions. The returned stamp is for the session
// that goes on. Faults: request.fields, session.wrong_password,
// session.too_many_tries, session.desk_required, person.not_found.
func (s *Service) SetPassword(ctx context.Context, by Caller, person ticket.PersonID, in PasswordIn) ([]byte, error) {
	if err := self(by, person); err != nil {
		return nil, err
	}
	if err := passwordFault("password", in.Password); err != nil {
		return nil, err
	}
	if err := s.knowsCurrent(ctx, by, person, in); err != nil {
		return nil, err
	}
	hash, err := s.hash(ctx, in.Password)
	if err != nil {
		return nil, err
	}
	err = s.setSecret(ctx, by, person, "person.password", `UPDATE people SET password_hash = @hash WHERE id = @person`, hash)
	if err != nil || by.Kind == ByShell {
		return nil, err
	}
	k, err := s.person(ctx, person, "")
	k.password = &hash // should another one be set meanwhile, this session ends with it
	return k.stamp(), err
}

func (s *Service) knowsCurrent(ctx context.Context, by Caller, person ticket.PersonID, in PasswordIn) error {
	if by.Kind == ByShell || in.ByLink {
		return nil
	}
	known, err := s.person(ctx, person, "")
	if err != nil || known.password == nil {
		return err
	}
	// It is the person himself who asks, so he is the address too: wherever he
	// sits, nobody else's tries delay him, and his delay nobody else.
	account := "password " + person.String()
	if err := s.limits.begin(account, account); err != nil {
		return err
	}
	match, err := s.matches(ctx, in.Current, known.password)
	if err != nil {
		return err
	}
	if !match {
		return fault.New(fault.Forbidden, "session.wrong_password", "the present password is another one")
	}
	s.limits.succeeded(account, account)
	return nil
}

// SetPIN sets the PIN of the caller himself (the operator: of anybody) and
// forgives the wrong tries so far. Faults: request.fields,
// session.desk_required, person.not_found.
func (s *Service) SetPIN(ctx context.Context, by Caller, person ticket.PersonID, pin string) error {
	if err := self(by, person); err != nil {
		return err
	}
	if err := pinFault(pin); err != nil {
		return err
	}
	hash, err := s.hash(ctx, s.peppered(person, pin))
	if err != nil {
		return err
	}
	return s.setSecret(ctx, by, person, "person.pin", `
WITH forgiven AS (DELETE FROM pin_tries WHERE person_id = @person)
UPDATE people SET pin_hash = @hash WHERE id = @person`, hash)
}

func (s *Service) setSecret(ctx context.Context, by Caller, person ticket.PersonID, act, update, hash string) error {
	return pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, update, pgx.NamedArgs{"person": person, "hash": hash})
		if err != nil {
			return fmt.Errorf("%s: %w", act, err)
		}
		if tag.RowsAffected() == 0 {
			return personNotFound()
		}
		return audit.Write(ctx, tx, by, audit.Act{Name: act, Subject: person})
	})
}

// self: passwords and PINs are set by their owner at the desk, where he signed in
// with more than a PIN, or by the operator.
func self(by Caller, person ticket.PersonID) error {
	if by.Kind == ByShell || by.Kind == ByCookie && by.Person == person {
		return nil
	}
	return fault.New(fault.Forbidden, "session.desk_required", "sign in at the desk to do this")
}
