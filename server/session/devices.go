package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/audit"
	"portillon/server/fault"
	"portillon/server/pg"
	"portillon/server/seal"
	"portillon/server/ticket"
	"portillon/server/useragent"
)

// Named is a person by name.
type Named struct {
	Person ticket.PersonID `json:"person"`
	Name   string          `json:"name"`
}

// PairedDevice is a gate device, as admins see it.
type PairedDevice struct {
	Device     ticket.DeviceID `json:"device"`
	Name       string          `json:"name"`
	Venue      ticket.VenueID  `json:"venue"`
	Browser    string          `json:"browser"`
	PairedAt   time.Time       `json:"paired_at"`
	Person     *Named          `json:"person"` // who is signed on
	SignedOnAt *time.Time      `json:"signed_on_at"`
	RevokedAt  *time.Time      `json:"revoked_at"`
}

// DevicesIn asks for a page of the devices, of one venue or of all that the
// caller is an admin of. Cursor is the Next of the page before.
type DevicesIn struct {
	Venue  ticket.VenueID
	Cursor string
}

const deviceSelect = `
SELECT d.id, d.name, d.venue_id, d.user_agent, d.paired_at, p.id, coalesce(p.name, ''), o.signed_on_at, d.revoked_at
FROM devices d
LEFT JOIN sign_ons o ON o.device_id = d.id AND o.signed_off_at IS NULL
LEFT JOIN people p ON p.id = o.person_id`

// ListDevices lists the devices, the newest first. Fault: session.right_missing.
func (s *Service) ListDevices(ctx context.Context, by Caller, in DevicesIn) (items []PairedDevice, next string, err error) {
	if err := by.Require(Admin, in.Venue); err != nil {
		return nil, "", err
	}
	rows, err := s.pool.Query(ctx, deviceSelect+`
WHERE (@all OR d.venue_id = ANY (@venues)) AND (@venue::uuid IS NULL OR d.venue_id = @venue)
  AND (@cursor::uuid IS NULL OR (d.paired_at, d.id) < (SELECT c.paired_at, c.id FROM devices c WHERE c.id = @cursor))
ORDER BY d.paired_at DESC, d.id DESC LIMIT @limit`,
		pgx.NamedArgs{
			"all": by.MayEverywhere(Admin), "venues": adminVenues(by), "venue": null(in.Venue),
			"cursor": cursorID(in.Cursor), "limit": pageSize + 1,
		})
	if err != nil {
		return nil, "", fmt.Errorf("list the devices: %w", err)
	}
	items, err = pgx.CollectRows(rows, toDevice)
	if err != nil {
		return nil, "", fmt.Errorf("list the devices: %w", err)
	}
	items, next = page(items, func(d PairedDevice) string { return d.Device.String() })
	return items, next, nil
}

// RevokeDevice ends a device's credential and sign-on from the next request on; a
// revoked one stays so. Faults: device.not_found, session.right_missing.
func (s *Service) RevokeDevice(ctx context.Context, by Caller, device ticket.DeviceID) (PairedDevice, error) {
	var revoked PairedDevice
	err := pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		venue, already, err := lockDevice(ctx, tx, device)
		if err != nil {
			return err
		}
		if err := by.Require(Admin, venue); err != nil {
			return err
		}
		if !already {
			if err := s.revoke(ctx, tx, by, device, venue); err != nil {
				return err
			}
		}
		revoked, err = readDevice(ctx, tx, device)
		return err
	})
	return revoked, err
}

func (s *Service) revoke(ctx context.Context, tx pgx.Tx, by Caller, device ticket.DeviceID, venue ticket.VenueID) error {
	if _, err := tx.Exec(ctx, `UPDATE devices SET revoked_at = portillon_now() WHERE id = @device`, pgx.NamedArgs{"device": device}); err != nil {
		return fmt.Errorf("revoke the device: %w", err)
	}
	if _, err := closeSignOn(ctx, tx, device); err != nil {
		return err
	}
	return audit.Write(ctx, tx, by, audit.Act{Name: "device.revoke", Venue: venue, Subject: device})
}

// PairDevice makes a device without a link, for the operator's scripts: a second
// call for the same venue and name gives the same device, unless it was revoked.
// Faults: request.fields, session.right_missing.
func (s *Service) PairDevice(ctx context.Context, by Caller, venue ticket.VenueID, name string) (ticket.DeviceID, string, error) {
	if err := by.Require(Admin, venue); err != nil {
		return ticket.DeviceID{}, "", err
	}
	if fields := nameFields(name); len(fields) > 0 {
		return ticket.DeviceID{}, "", fault.Fields(fields...)
	}
	var device ticket.DeviceID
	err := pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		lock := "device " + venue.String() + " " + name
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || @lock, 0))`, pgx.NamedArgs{"lock": lock}); err != nil {
			return fmt.Errorf("pair the device: %w", err)
		}
		err := tx.QueryRow(ctx, `
SELECT id FROM devices WHERE venue_id = @venue AND name = @name AND user_agent = '' AND revoked_at IS NULL
ORDER BY paired_at LIMIT 1`, pgx.NamedArgs{"venue": venue, "name": name}).Scan(&device)
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		device, err = s.addDevice(ctx, tx, by, deviceIn{venue: venue, name: name, pairedBy: by.Person})
		return err
	})
	return device, s.deviceSecret(device), err
}

func (s *Service) deviceSecret(device ticket.DeviceID) string {
	return DevicePrefix + s.box.Secret("device", device)
}

type deviceIn struct {
	venue     ticket.VenueID
	name      string
	userAgent string
	pairedBy  ticket.PersonID
}

func (s *Service) addDevice(ctx context.Context, tx pgx.Tx, by Caller, in deviceIn) (ticket.DeviceID, error) {
	device := ticket.DeviceID(uuid.New())
	_, err := tx.Exec(ctx, `
INSERT INTO devices (id, venue_id, name, token_hash, user_agent, paired_by)
VALUES (@device, @venue, @name, @hash, @user_agent, @paired_by)`,
		pgx.NamedArgs{
			"device": device, "venue": in.venue, "name": in.name, "hash": seal.Hash(s.deviceSecret(device)),
			"user_agent": in.userAgent, "paired_by": null(in.pairedBy),
		})
	if pg.Constraint(err) == "devices_venue_id_fkey" {
		return device, fault.Fields(fault.Field{Name: "venue", Code: "unknown"})
	}
	if err != nil {
		return device, fmt.Errorf("add the device: %w", err)
	}
	return device, audit.Write(ctx, tx, by, audit.Act{Name: "device.pair", Venue: in.venue, Subject: device})
}

// lockDevice locks the device's row: whoever signs on or off does it one by one.
func lockDevice(ctx context.Context, tx pgx.Tx, device ticket.DeviceID) (venue ticket.VenueID, revoked bool, err error) {
	err = tx.QueryRow(ctx, `SELECT venue_id, revoked_at IS NOT NULL FROM devices WHERE id = @device FOR NO KEY UPDATE`,
		pgx.NamedArgs{"device": device}).Scan(&venue, &revoked)
	if errors.Is(err, pgx.ErrNoRows) {
		return venue, false, deviceNotFound()
	}
	if err != nil {
		return venue, false, fmt.Errorf("lock the device: %w", err)
	}
	return venue, revoked, nil
}

func deviceNotFound() error {
	return fault.New(fault.NotFound, "device.not_found", "there is no such device")
}

func readDevice(ctx context.Context, q querier, device ticket.DeviceID) (PairedDevice, error) {
	rows, err := q.Query(ctx, deviceSelect+` WHERE d.id = @device`, pgx.NamedArgs{"device": device})
	if err != nil {
		return PairedDevice{}, fmt.Errorf("read the device: %w", err)
	}
	d, err := pgx.CollectExactlyOneRow(rows, toDevice)
	if errors.Is(err, pgx.ErrNoRows) {
		return PairedDevice{}, deviceNotFound()
	}
	if err != nil {
		return PairedDevice{}, fmt.Errorf("read the device: %w", err)
	}
	return d, nil
}

func toDevice(row pgx.CollectableRow) (PairedDevice, error) {
	var d PairedDevice
	var person *ticket.PersonID
	var name, userAgent string
	err := row.Scan(&d.Device, &d.Name, &d.Venue, &userAgent, &d.PairedAt, &person, &name, &d.SignedOnAt, &d.RevokedAt)
	d.Browser, d.PairedAt, d.SignedOnAt, d.RevokedAt = useragent.Name(userAgent), stored(d.PairedAt), storedOrNil(d.SignedOnAt), storedOrNil(d.RevokedAt)
	if person != nil {
		d.Person = &Named{*person, name}
	}
	return d, err
}
