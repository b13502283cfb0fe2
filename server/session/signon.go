package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"portillon/server/audit"
	"portillon/server/fault"
	"portillon/server/pg"
	"portillon/server/ticket"
)

// pinTries is how many wrong PINs of a person a device takes in a row.
const pinTries = 5

// AtDevice is what a gate device shows before the first scan.
type AtDevice struct {
	Device ticket.DeviceID `json:"device"`
	Name   string          `json:"name"`
	Venue  AtVenue         `json:"venue"`
	Gates  []AtGate        `json:"gates"`
	Person *AtWork         `json:"person,omitempty"`
	// People are those who may sign on with a PIN.
	People []Named `json:"people"`
}

// AtVenue is the device's venue.
type AtVenue struct {
	Venue    ticket.VenueID `json:"venue"`
	Name     string         `json:"name"`
	TimeZone string         `json:"time_zone"`
}

// AtGate is a gate of the device's venue.
type AtGate struct {
	Gate ticket.GateID `json:"gate"`
	Name string        `json:"name"`
}

// AtWork is who is signed on and what he may do at the door.
type AtWork struct {
	Person ticket.PersonID `json:"person"`
	Name   string          `json:"name"`
	Rights []Right         `json:"rights"`
}

// ThisDevice tells a device where it is and who may work on it. Fault:
// session.right_missing for who is no device.
func (s *Service) ThisDevice(ctx context.Context, by Caller) (AtDevice, error) {
	if err := by.Require(Device, by.Venue); err != nil {
		return AtDevice{}, err
	}
	out := AtDevice{Device: by.Device, Name: by.DeviceName, Venue: AtVenue{Venue: by.Venue}}
	if !by.Person.IsZero() {
		out.Person = &AtWork{by.Person, by.PersonName, by.DoorRights()}
	}
	err := s.pool.QueryRow(ctx, `SELECT name, time_zone FROM venues WHERE id = @venue`,
		pgx.NamedArgs{"venue": by.Venue}).Scan(&out.Venue.Name, &out.Venue.TimeZone)
	if err != nil {
		return AtDevice{}, fmt.Errorf("read the venue: %w", err)
	}
	rows, err := s.pool.Query(ctx, `SELECT id, name FROM gates WHERE venue_id = @venue ORDER BY name`, pgx.NamedArgs{"venue": by.Venue})
	if err == nil {
		out.Gates, err = pgx.CollectRows(rows, pgx.RowToStructByPos[AtGate])
	}
	if err != nil {
		return AtDevice{}, fmt.Errorf("read the gates: %w", err)
	}
	rows, err = s.pool.Query(ctx, `
SELECT p.id, p.name FROM people p
WHERE p.pin_hash IS NOT NULL AND p.disabled_at IS NULL
  AND EXISTS (SELECT FROM person_roles r WHERE r.person_id = p.id AND (r.venue_id = @venue OR r.venue_id IS NULL))
ORDER BY p.name, p.id`, pgx.NamedArgs{"venue": by.Venue})
	if err == nil {
		out.People, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Named])
	}
	if err != nil {
		return AtDevice{}, fmt.Errorf("read the people: %w", err)
	}
	return out, nil
}

// SignOnIn names a person by id or e-mail address and proves him by PIN or
// password.
type SignOnIn struct {
	Person   ticket.PersonID
	Email    string
	PIN      string
	Password string
}

// SignOnBy signs a person on to the calling device; the person before is signed
// off. Faults: request.fields, sign_on.wrong_pin with tries_left,
// sign_on.pin_locked, sign_on.no_pin, sign_on.no_role, sign_on.wrong_password,
// session.too_many_tries.
func (s *Service) SignOnBy(ctx context.Context, by Caller, in SignOnIn) (AtDevice, error) {
	if err := by.Require(Device, by.Venue); err != nil {
		return AtDevice{}, err
	}
	if fields := in.fields(); len(fields) > 0 {
		return AtDevice{}, fault.Fields(fields...)
	}
	check := s.byPassword
	if in.PIN != "" {
		check = s.byPIN
	}
	person, err := check(ctx, by, in)
	if err != nil {
		return AtDevice{}, err
	}
	if err := s.signOn(ctx, by.For(person), by.Device); err != nil {
		return AtDevice{}, err
	}
	now, err := s.asDevice(ctx, by)
	if err != nil {
		return AtDevice{}, err
	}
	return s.ThisDevice(ctx, now)
}

func (in SignOnIn) fields() []fault.Field {
	var fields []fault.Field
	if in.Person.IsZero() == (in.Email == "") {
		fields = append(fields, fault.Field{Name: "person", Code: "person_or_email"})
	}
	if (in.PIN == "") == (in.Password == "") {
		fields = append(fields, fault.Field{Name: "pin", Code: "pin_or_password"})
	}
	return fields
}

// byPassword: a device is paired, so a stranger has none; tries count by device.
func (s *Service) byPassword(ctx context.Context, by Caller, in SignOnIn) (ticket.PersonID, error) {
	account, address := canonical(in.Email), "device "+by.Device.String()
	if account == "" {
		account = in.Person.String()
	}
	if err := s.limits.begin(account, address); err != nil {
		return ticket.PersonID{}, err
	}
	k, err := s.checkPassword(ctx, in.Person, canonical(in.Email), in.Password)
	if fault.Is(err, "session.wrong_credentials") { // 401 would say that the device is not known
		err = fault.New(fault.Forbidden, "sign_on.wrong_password", "the person or the password is wrong")
	}
	if err != nil {
		return ticket.PersonID{}, err
	}
	s.limits.succeeded(account, address)
	return k.id, s.forgive(ctx, k.id, by.Device)
}

// byPIN counts the try before it compares, so that many at once gain nothing.
func (s *Service) byPIN(ctx context.Context, by Caller, in SignOnIn) (ticket.PersonID, error) {
	k, err := s.person(ctx, in.Person, canonical(in.Email))
	if err != nil {
		return ticket.PersonID{}, err
	}
	if k.pin == nil {
		return ticket.PersonID{}, fault.New(fault.Conflict, "sign_on.no_pin", "this person has no PIN: use the password, and set a PIN at the desk")
	}
	var tries int
	err = s.pool.QueryRow(ctx, `
INSERT INTO pin_tries AS t (person_id, device_id, tries, last_at) VALUES (@person, @device, 1, portillon_now())
ON CONFLICT (person_id, device_id) DO UPDATE SET tries = t.tries + 1, last_at = portillon_now() WHERE t.tries < @most
RETURNING tries`, pgx.NamedArgs{"person": k.id, "device": by.Device, "most": pinTries}).Scan(&tries)
	if errors.Is(err, pgx.ErrNoRows) {
		return ticket.PersonID{}, pinLocked()
	}
	if err != nil {
		return ticket.PersonID{}, fmt.Errorf("count the try: %w", err)
	}
	match, err := s.matches(ctx, s.peppered(k.id, in.PIN), k.pin)
	if err != nil {
		return ticket.PersonID{}, err
	}
	if !match {
		return ticket.PersonID{}, fault.New(fault.Forbidden, "sign_on.wrong_pin", "the PIN is wrong").Fact("tries_left", pinTries-tries)
	}
	return k.id, s.forgive(ctx, k.id, by.Device)
}

func pinLocked() error {
	return fault.New(fault.Forbidden, "sign_on.pin_locked", "too many wrong PINs on this device: use the password")
}

// forgive forgets the wrong PINs of the person on the device.
func (s *Service) forgive(ctx context.Context, person ticket.PersonID, device ticket.DeviceID) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM pin_tries WHERE person_id = @person AND device_id = @device`,
		pgx.NamedArgs{"person": person, "device": device})
	if err != nil {
		return fmt.Errorf("forgive the tries: %w", err)
	}
	return nil
}

// SignOn signs the person on to the device without asking him, for the operator's
// scripts. Faults: device.not_found, sign_on.no_role.
func (s *Service) SignOn(ctx context.Context, device ticket.DeviceID, person ticket.PersonID) error {
	return s.signOn(ctx, Operator.For(person), device)
}

func (s *Service) signOn(ctx context.Context, by Caller, device ticket.DeviceID) error {
	return pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		venue, revoked, err := lockDevice(ctx, tx, device)
		if err != nil {
			return err
		}
		if revoked {
			return unknownCredential()
		}
		var works, already bool
		err = tx.QueryRow(ctx, `
SELECT EXISTS (SELECT FROM person_roles r JOIN people p ON p.id = r.person_id AND p.disabled_at IS NULL
               WHERE r.person_id = @person AND (r.venue_id = @venue OR r.venue_id IS NULL)),
  EXISTS (SELECT FROM sign_ons WHERE device_id = @device AND person_id = @person AND signed_off_at IS NULL)`,
			pgx.NamedArgs{"person": by.Person, "venue": venue, "device": device}).Scan(&works, &already)
		if err != nil {
			return fmt.Errorf("look the roles up: %w", err)
		}
		if !works {
			return fault.New(fault.Forbidden, "sign_on.no_role", "this person has no role at this venue; ask an admin")
		}
		if already {
			return nil
		}
		if _, err := closeSignOn(ctx, tx, device); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO sign_ons (device_id, person_id, signed_on_at) VALUES (@device, @person, portillon_now())`,
			pgx.NamedArgs{"device": device, "person": by.Person})
		if err != nil {
			return fmt.Errorf("sign on: %w", err)
		}
		return audit.Write(ctx, tx, by, audit.Act{Name: "device.sign_on", Venue: venue, Subject: device})
	})
}

// SignOff signs off whoever is signed on to the calling device; nobody is fine
// too. Fault: session.right_missing for who is no device.
func (s *Service) SignOff(ctx context.Context, by Caller) (AtDevice, error) {
	if err := by.Require(Device, by.Venue); err != nil {
		return AtDevice{}, err
	}
	err := pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		if _, _, err := lockDevice(ctx, tx, by.Device); err != nil {
			return err
		}
		closed, err := closeSignOn(ctx, tx, by.Device)
		if err != nil || !closed {
			return err
		}
		return audit.Write(ctx, tx, by, audit.Act{Name: "device.sign_off", Venue: by.Venue, Subject: by.Device})
	})
	if err != nil {
		return AtDevice{}, err
	}
	by.Person, by.PersonName, by.Grants = ticket.PersonID{}, "", nil
	return s.ThisDevice(ctx, by)
}

func closeSignOn(ctx context.Context, tx pgx.Tx, device ticket.DeviceID) (closed bool, err error) {
	tag, err := tx.Exec(ctx, `UPDATE sign_ons SET signed_off_at = portillon_now() WHERE device_id = @device AND signed_off_at IS NULL`,
		pgx.NamedArgs{"device": device})
	if err != nil {
		return false, fmt.Errorf("sign off: %w", err)
	}
	return tag.RowsAffected() > 0, nil
}

// asDevice identifies the device anew, with who is signed on to it now.
func (s *Service) asDevice(ctx context.Context, by Caller) (Caller, error) {
	now, err := s.byDevice(ctx, s.deviceSecret(by.Device))
	now.RequestID = by.RequestID
	return now, err
}
