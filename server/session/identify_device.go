package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/labstack/echo/v4"

	"portillon/server/crowd"
	"portillon/server/fault"
	"portillon/server/seal"
	"portillon/server/ticket"
)

// Devices are asked for all the time, so those that ask at the same moment are looked
// up together. A device that was revoked is no one at once: nothing that was
// remembered from an earlier time is ever the last word (see IdentifyLately).
const (
	devicesWorkers = 2
	devicesRoom    = 4096
	devicesMost    = 128
	devicesWithin  = 3 * time.Second
)

// deviceAsked is a device that waits to be told who it is.
type deviceAsked struct {
	hash string
	by   Caller // its Device is zero when the credential is unknown
	err  error
	done chan struct{}
}

func (s *Service) newDeviceLine() *crowd.Line[*deviceAsked] {
	return crowd.New(devicesWorkers, devicesRoom, devicesMost, func(batch []*deviceAsked) []*deviceAsked {
		ctx, cancel := context.WithTimeout(context.Background(), devicesWithin)
		defer cancel()
		found, err := s.readDevices(ctx, batch)
		for _, asked := range batch {
			asked.by, asked.err = found[asked.hash], err
			close(asked.done)
		}
		return nil
	})
}

// byDevice finds the device, who is signed on to it and his roles.
func (s *Service) byDevice(ctx context.Context, credential string) (Caller, error) {
	asked := &deviceAsked{hash: string(seal.Hash(credential)), done: make(chan struct{})}
	if !s.devices.Join(asked) {
		return Caller{}, fault.New(fault.TooMany, "session.crowded", "too many requests are waiting; send this one again").Wait(time.Second)
	}
	select {
	case <-asked.done:
	case <-ctx.Done():
		return Caller{}, ctx.Err()
	}
	switch {
	case asked.err != nil:
		return Caller{}, fmt.Errorf("identify the device: %w", asked.err)
	case asked.by.Device.IsZero():
		return Caller{}, unknownCredential()
	}
	return asked.by, nil
}

// DeviceRow is one role of who is signed on to a device, or a device without any.
type DeviceRow struct {
	Hash        []byte           `db:"token_hash"`
	Device      ticket.DeviceID  `db:"device_id"`
	DeviceName  string           `db:"device_name"`
	Venue       ticket.VenueID   `db:"device_venue"`
	Person      *ticket.PersonID `db:"person_id"`
	PersonName  string           `db:"person_name"`
	Role        *Role            `db:"role"`
	RoleVenue   *ticket.VenueID  `db:"role_venue"`
	CanOverride bool             `db:"can_override"`
}

// ReadDevices gives the DeviceRows of the credentials with @hashes.
const ReadDevices = `
SELECT d.token_hash, d.id AS device_id, d.name AS device_name, d.venue_id AS device_venue, p.id AS person_id,
  coalesce(p.name, '') AS person_name, r.role, r.venue_id AS role_venue, coalesce(r.can_override, false) AS can_override
FROM devices d
LEFT JOIN sign_ons o ON o.device_id = d.id AND o.signed_off_at IS NULL
LEFT JOIN people p ON p.id = o.person_id AND p.disabled_at IS NULL
LEFT JOIN person_roles r ON r.person_id = p.id
WHERE d.token_hash = ANY(@hashes) AND d.revoked_at IS NULL`

// Devices are the callers that DeviceRows tell of, by their credential's hash.
type Devices map[string]Caller

// Add takes one more row.
func (d Devices) Add(r DeviceRow) {
	by, seen := d[string(r.Hash)]
	if !seen {
		by = Caller{
			Kind: ByDevice, Device: r.Device, DeviceName: r.DeviceName, Venue: r.Venue,
			Person: orZero(r.Person), PersonName: r.PersonName,
		}
	}
	if r.Role != nil {
		by.Grants = append(by.Grants, Grant{Venue: orZero(r.RoleVenue), Role: *r.Role, CanOverride: r.CanOverride})
	}
	d[string(r.Hash)] = by
}

// Confirm gives the caller as the rows say that he is now. Fault:
// session.unknown_credential.
func (d Devices) Confirm(by Caller) (Caller, error) {
	now, ok := d[string(by.Unconfirmed)]
	if !ok {
		return Caller{}, unknownCredential()
	}
	now.RequestID = by.RequestID
	return now, nil
}

func (s *Service) readDevices(ctx context.Context, batch []*deviceAsked) (Devices, error) {
	hashes := make([][]byte, len(batch))
	for i, asked := range batch {
		hashes[i] = []byte(asked.hash)
	}
	rows, err := s.pool.Query(ctx, ReadDevices, pgx.NamedArgs{"hashes": hashes})
	if err != nil {
		return nil, err
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[DeviceRow])
	found := make(Devices, len(batch))
	for _, r := range list {
		found.Add(r)
	}
	return found, err
}

// IdentifyHandingIn is Identify for the one call that a revoked device may still
// make: it hands in what it let happen, and Caller.Revoked says what its word is
// worth.
func (s *Service) IdentifyHandingIn() echo.MiddlewareFunc {
	return s.identifying(func(c echo.Context) (Caller, error) {
		by, err := s.identify(c)
		credential, ok := deviceCredential(c.Request().Header.Get(echo.HeaderAuthorization))
		if !ok || err == nil || !fault.Is(err, "session.unknown_credential") {
			return by, err
		}
		by = Caller{Kind: ByDevice, Revoked: true}
		found := s.pool.QueryRow(c.Request().Context(), `
SELECT id, name, venue_id FROM devices WHERE token_hash = @hash AND revoked_at IS NOT NULL`,
			pgx.NamedArgs{"hash": seal.Hash(credential)}).Scan(&by.Device, &by.DeviceName, &by.Venue)
		switch {
		case errors.Is(found, pgx.ErrNoRows):
			return Caller{}, err
		case found != nil:
			return Caller{}, fmt.Errorf("identify the device: %w", found)
		}
		return by, nil
	})
}
