package session

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"

	"portillon/server/audit"
	"portillon/server/fault"
	"portillon/server/pg"
	"portillon/server/repeat"
	"portillon/server/seal"
	"portillon/server/ticket"
)

// The second factor is what every authenticator app makes: RFC 6238 with SHA-1, six
// digits and steps of 30 s. A phone's clock may be one step off.
const (
	factorSecretSize = 20 // bytes (RFC 4226, R6)
	factorPeriod     = 30 // seconds
	factorSkew       = 1  // steps
	factorDigits     = otp.DigitsSix

	// Of a million codes three count at a time, so that guesses need a bound that
	// holds for all addresses and processes. Only somebody who knows the password
	// reaches it: no stranger can keep the owner out.
	factorTries  = 5
	factorWithin = 15 * time.Minute

	recoveryCodes = 10
	recoverySize  = 10 // characters of base32: 50 bits
)

var base32Plain = base32.StdEncoding.WithPadding(base32.NoPadding)

// FactorSecret is what an authenticator app takes in, as text and as the link that
// its camera reads.
type FactorSecret struct {
	Secret string `json:"secret"` // base32 without padding
	URI    string `json:"uri"`    // otpauth://totp/…
}

// BeginFactor makes a new secret for the caller's second factor. It counts for
// nothing until ConfirmFactor; one that was begun before and not confirmed is
// replaced. The present password is asked for as in SetPassword. Faults:
// second_factor.present, session.wrong_password, session.too_many_tries,
// session.desk_required.
func (s *Service) BeginFactor(ctx context.Context, by Caller, in PasswordIn) (FactorSecret, error) {
	if err := self(by, by.Person); err != nil {
		return FactorSecret{}, err
	}
	if err := s.knowsCurrent(ctx, by, by.Person, in); err != nil {
		return FactorSecret{}, err
	}
	k, err := s.person(ctx, by.Person, "")
	if err != nil {
		return FactorSecret{}, err
	}
	secret, id := make([]byte, factorSecretSize), uuid.New()
	_, _ = rand.Read(secret) // never fails: crypto/rand ends the program instead
	key, err := totp.Generate(totp.GenerateOpts{Issuer: "Portillon", AccountName: k.email, Secret: secret, Period: factorPeriod, Digits: factorDigits})
	if err != nil {
		return FactorSecret{}, fmt.Errorf("make the second factor: %w", err)
	}
	tag, err := s.pool.Exec(ctx, `
INSERT INTO second_factors (person_id, id, sealed) VALUES (@person, @factor, @sealed)
ON CONFLICT ON CONSTRAINT second_factors_pkey DO UPDATE SET id = EXCLUDED.id, sealed = EXCLUDED.sealed, created_at = EXCLUDED.created_at
WHERE second_factors.confirmed_at IS NULL`,
		pgx.NamedArgs{"person": by.Person, "factor": id, "sealed": s.box.Seal(factorName(by.Person, id), secret)})
	if err != nil {
		return FactorSecret{}, fmt.Errorf("keep the second factor: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return FactorSecret{}, fault.New(fault.Conflict, "second_factor.present", "there is a second factor already; take it away first")
	}
	return FactorSecret{Secret: key.Secret(), URI: key.URL()}, nil
}

func factorName(person ticket.PersonID, factor uuid.UUID) string {
	return "second factor " + person.String() + " " + factor.String()
}

// ConfirmFactor lets the second factor count from now on, after one of its codes has
// shown that the app has it, and hands out the recovery codes; they are derived, so
// that the same call sent again gives the same. The person's other desk sessions
// end; the returned stamp is for the one that goes on. Faults: request.fields,
// second_factor.not_begun, session.desk_required, request.key_conflict.
func (s *Service) ConfirmFactor(ctx context.Context, by Caller, code string, call repeat.Call) (codes []string, stamp []byte, err error) {
	if err := self(by, by.Person); err != nil {
		return nil, nil, err
	}
	var factor uuid.UUID
	err = pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		earlier, found, err := repeat.Find(ctx, tx, by, call)
		if err != nil {
			return err
		}
		if found {
			factor = earlier
			return nil
		}
		if factor, err = s.confirmFactor(ctx, tx, by.Person, code); err != nil {
			return err
		}
		if err := repeat.Made(ctx, tx, by, call, factor); err != nil {
			return err
		}
		return audit.Write(ctx, tx, by, audit.Act{Name: "person.second_factor", Subject: by.Person})
	})
	if err != nil {
		return nil, nil, err
	}
	k, err := s.person(ctx, by.Person, "")
	return s.recoveryCodes(factor), k.stamp(), err
}

func (s *Service) confirmFactor(ctx context.Context, tx pgx.Tx, person ticket.PersonID, code string) (uuid.UUID, error) {
	var f factor
	err := tx.QueryRow(ctx, `
SELECT id, sealed, portillon_now() FROM second_factors WHERE person_id = @person AND confirmed_at IS NULL FOR UPDATE`,
		pgx.NamedArgs{"person": person}).Scan(&f.id, &f.sealed, &f.now)
	if errors.Is(err, pgx.ErrNoRows) {
		return uuid.Nil, fault.New(fault.Conflict, "second_factor.not_begun", "there is no second factor to confirm; begin anew")
	}
	if err != nil {
		return uuid.Nil, fmt.Errorf("read the second factor: %w", err)
	}
	step, right, err := s.stepOf(person, f, plainCode(code))
	if err != nil {
		return uuid.Nil, err
	}
	if !right {
		return uuid.Nil, fault.Fields(fault.Field{Name: "code", Code: "otp_wrong"})
	}
	hashes := make([][]byte, 0, recoveryCodes)
	for _, c := range s.recoveryCodes(f.id) {
		hashes = append(hashes, s.recoveryHash(f.id, plainCode(c)))
	}
	_, err = tx.Exec(ctx, `
WITH handed_out AS (INSERT INTO recovery_codes (factor_id, hash) SELECT @factor, unnest(@hashes::bytea[]))
UPDATE second_factors SET confirmed_at = portillon_now(), last_step = @step, tries = 0 WHERE id = @factor`,
		pgx.NamedArgs{"factor": f.id, "hashes": hashes, "step": step})
	if err != nil {
		return uuid.Nil, fmt.Errorf("confirm the second factor: %w", err)
	}
	return f.id, nil
}

// recoveryCodes are those of a factor, as they are written down: ABCDE-FGHIJ.
func (s *Service) recoveryCodes(factor uuid.UUID) []string {
	codes := make([]string, recoveryCodes)
	for i := range codes {
		text := base32Plain.EncodeToString([]byte(s.box.Secret("recovery code "+strconv.Itoa(i), factor)))
		codes[i] = text[:recoverySize/2] + "-" + text[recoverySize/2:recoverySize]
	}
	return codes
}

// recoveryHash is keyed: 50 bits are soon tried by whoever has the database, but
// not without the operator's key.
func (s *Service) recoveryHash(factor uuid.UUID, code string) []byte {
	return seal.Hash(s.box.Secret("recovery hash", factor) + code)
}

// factor is a second factor as it is read.
type factor struct {
	id     uuid.UUID
	sealed []byte
	now    time.Time
}

// proof is a code that was right, to be spent in the transaction that rests on it.
// The zero proof is of somebody without a second factor.
type proof struct {
	factor   uuid.UUID
	step     int64
	recovery []byte
}

// prove checks the code of a person's second factor, if there is one. The try is
// counted before it is compared, so that many at once gain nothing. Faults, the
// first three of the given kind: session.otp_required, session.otp_wrong,
// session.too_many_tries.
func (s *Service) prove(ctx context.Context, k known, code string, kind fault.Kind) (proof, error) {
	if k.factor == nil {
		return proof{}, nil
	}
	code = plainCode(code)
	if code == "" {
		return proof{}, fault.New(kind, "session.otp_required", "send also otp, the code of the authenticator app, or a recovery code")
	}
	f, err := s.countTry(ctx, k.id)
	if err != nil {
		return proof{}, err
	}
	step, right, err := s.stepOf(k.id, f, code)
	if err != nil || right {
		return proof{factor: f.id, step: step}, err
	}
	hash := s.recoveryHash(f.id, code)
	err = s.pool.QueryRow(ctx, `SELECT true FROM recovery_codes WHERE factor_id = @factor AND hash = @hash`,
		pgx.NamedArgs{"factor": f.id, "hash": hash}).Scan(&right)
	if errors.Is(err, pgx.ErrNoRows) {
		return proof{}, fault.New(kind, "session.otp_wrong", "the code is wrong; type the one that the app shows now, or a recovery code")
	}
	if err != nil {
		return proof{}, fmt.Errorf("look for the recovery code: %w", err)
	}
	return proof{factor: f.id, recovery: hash}, nil
}

// countTry counts a code that is typed, and reads the factor that it is for.
func (s *Service) countTry(ctx context.Context, person ticket.PersonID) (f factor, err error) {
	args := pgx.NamedArgs{"person": person, "most": factorTries, "within": factorWithin}
	err = s.pool.QueryRow(ctx, `
UPDATE second_factors SET
  tries = CASE WHEN tries_since > portillon_now() - @within::interval THEN tries + 1 ELSE 1 END,
  tries_since = CASE WHEN tries > 0 AND tries_since > portillon_now() - @within::interval THEN tries_since ELSE portillon_now() END
WHERE person_id = @person AND confirmed_at IS NOT NULL
  AND (tries < @most OR tries_since <= portillon_now() - @within::interval)
RETURNING id, sealed, portillon_now()`, args).Scan(&f.id, &f.sealed, &f.now)
	if err == nil || !errors.Is(err, pgx.ErrNoRows) {
		return f, err
	}
	var left time.Duration
	err = s.pool.QueryRow(ctx, `
SELECT tries_since + @within::interval - portillon_now() FROM second_factors WHERE person_id = @person AND confirmed_at IS NOT NULL`, args).Scan(&left)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return f, noFactor()
	case err != nil:
		return f, fmt.Errorf("count the code: %w", err)
	}
	return f, fault.New(fault.TooMany, "session.too_many_tries", "too many wrong codes; wait, then try again").Wait(max(left, time.Second))
}

// stepOf finds the step of which a code is, among those that count now.
func (s *Service) stepOf(person ticket.PersonID, f factor, code string) (step int64, right bool, err error) {
	secret, err := s.box.Open(factorName(person, f.id), f.sealed)
	if err != nil {
		return 0, false, fmt.Errorf("open the second factor: %w", err)
	}
	text, present := base32Plain.EncodeToString(secret), f.now.Unix()/factorPeriod
	for at := present - factorSkew; at <= present+factorSkew; at++ {
		want, err := hotp.GenerateCodeCustom(text, uint64(max(at, 0)), hotp.ValidateOpts{Digits: factorDigits, Algorithm: otp.AlgorithmSHA1})
		if err != nil {
			return 0, false, fmt.Errorf("make the code: %w", err)
		}
		if subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			step, right = at, true
		}
	}
	return step, right, nil
}

// spend uses a proof up: of two who bring the same code one passes. A later step
// ends the codes of those before it. Fault of the given kind: session.otp_used.
func (p proof) spend(ctx context.Context, tx pgx.Tx, kind fault.Kind) error {
	if p.factor == uuid.Nil {
		return nil
	}
	update := `UPDATE second_factors SET last_step = @step, tries = 0 WHERE id = @factor AND last_step < @step`
	if p.recovery != nil {
		update = `
WITH used AS (UPDATE recovery_codes SET used_at = portillon_now() WHERE factor_id = @factor AND hash = @hash AND used_at IS NULL RETURNING factor_id)
UPDATE second_factors SET tries = 0 WHERE id = (SELECT factor_id FROM used)`
	}
	tag, err := tx.Exec(ctx, update, pgx.NamedArgs{"factor": p.factor, "step": p.step, "hash": p.recovery})
	if err != nil {
		return fmt.Errorf("use the code up: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return fault.New(kind, "session.otp_used", "this code has been used; wait for the next one, or take another recovery code")
	}
	return nil
}

// details say in the audit how the second factor was shown.
func (p proof) details() map[string]any {
	switch {
	case p.recovery != nil:
		return map[string]any{"second_factor": "recovery_code"}
	case p.factor != uuid.Nil:
		return map[string]any{"second_factor": "otp"}
	}
	return nil
}

// RemoveFactorIn takes one's own second factor away: it needs the present password
// and a code.
type RemoveFactorIn struct {
	Current string
	OTP     string
	ByLink  bool
}

// RemoveFactor takes the caller's second factor away; the returned stamp is for the
// session that goes on. Faults: second_factor.none, session.wrong_password,
// session.otp_required, session.otp_wrong, session.otp_used,
// session.too_many_tries, session.desk_required.
func (s *Service) RemoveFactor(ctx context.Context, by Caller, in RemoveFactorIn) ([]byte, error) {
	if err := self(by, by.Person); err != nil {
		return nil, err
	}
	k, err := s.person(ctx, by.Person, "")
	if err != nil {
		return nil, err
	}
	if k.factor == nil {
		return nil, noFactor()
	}
	if err := s.knowsCurrent(ctx, by, by.Person, PasswordIn{Current: in.Current, ByLink: in.ByLink}); err != nil {
		return nil, err
	}
	proven, err := s.prove(ctx, k, in.OTP, fault.Forbidden)
	if err != nil {
		return nil, err
	}
	err = pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		if err := proven.spend(ctx, tx, fault.Forbidden); err != nil {
			return err
		}
		return removeFactor(ctx, tx, by, by.Person)
	})
	k.factor = nil
	return k.stamp(), err
}

// ResetFactor takes another person's second factor away, for who has lost phone and
// recovery codes: password or link alone let him in again, and his desk sessions
// end. Without one nothing happens. The caller must be an admin wherever the person
// has a role. Faults: person.not_found, person.self, session.right_missing.
func (s *Service) ResetFactor(ctx context.Context, by Caller, person ticket.PersonID) (Person, error) {
	err := pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		had, err := lockPerson(ctx, tx, person)
		if err != nil {
			return err
		}
		if err := requireOver(by, had); err != nil {
			return err
		}
		if by.Kind != ByShell && by.Person == person {
			return fault.New(fault.Conflict, "person.self", "take your own second factor away at your account, with a code")
		}
		return removeFactor(ctx, tx, by, person)
	})
	if err != nil {
		return Person{}, err
	}
	return s.readPerson(ctx, person)
}

func removeFactor(ctx context.Context, tx pgx.Tx, by Caller, person ticket.PersonID) error {
	tag, err := tx.Exec(ctx, `DELETE FROM second_factors WHERE person_id = @person`, pgx.NamedArgs{"person": person})
	if err != nil {
		return fmt.Errorf("take the second factor away: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return nil
	}
	return audit.Write(ctx, tx, by, audit.Act{Name: "person.second_factor_removed", Subject: person})
}

func noFactor() error {
	return fault.New(fault.Conflict, "second_factor.none", "there is no second factor to take away")
}

// plainCode forgives how a code is typed: spaces, hyphens and case.
func plainCode(code string) string {
	if len(code) > 100 {
		return "-" // no code looks like this
	}
	return strings.ToUpper(strings.NewReplacer(" ", "", "-", "", "\u00a0", "").Replace(code))
}
