package main

import (
	"context"
	"time"

	"portillon/server"
	"portillon/server/session"
	"portillon/server/ticket"
)

type deviceCommand struct {
	Add    deviceAdd    `cmd:"" help:"Make a gate device for a script and sign a person on to it; prints its credential."`
	List   deviceList   `cmd:"" help:"List gate devices, those of browsers too."`
	Revoke deviceRevoke `cmd:"" help:"End a device's credential at once."`
}

type deviceAdd struct {
	officeFlags
	Name   string         `arg:"" help:"What the device is called. The same name again gives the same device."`
	Venue  ticket.VenueID `help:"Where it is used." required:"" placeholder:"UUID"`
	Person string         `help:"E-mail address of who is signed on to it." required:"" placeholder:"EMAIL"`
}

type deviceCredential struct {
	Device ticket.DeviceID `json:"device"`
	Person ticket.PersonID `json:"person"`
	Token  string          `json:"token"`
}

// Run makes the device.
func (d *deviceAdd) Run(ctx context.Context, out *console) error {
	return d.work(ctx, out, func(ctx context.Context, verbs *server.Server) error {
		person, err := verbs.Session.PersonByEmail(ctx, session.Operator, d.Person)
		if err != nil {
			return err
		}
		made, err := signedOn(ctx, verbs, d.Venue, d.Name, person.Person)
		if err != nil {
			return err
		}
		return out.answer(made, func() error { return out.line("%s", made.Token) })
	})
}

// signedOn makes a device, or finds the one of that name, and signs the person on.
func signedOn(ctx context.Context, verbs *server.Server, venue ticket.VenueID, name string, person ticket.PersonID) (deviceCredential, error) {
	device, token, err := verbs.Session.PairDevice(ctx, operatorAs(person), venue, name)
	if err != nil {
		return deviceCredential{}, err
	}
	return deviceCredential{device, person, token}, verbs.Session.SignOn(ctx, device, person)
}

// operatorAs is the operator acting for a person, who is written down with it.
func operatorAs(person ticket.PersonID) session.Caller {
	by := session.Operator
	by.Person = person
	return by
}

type deviceList struct {
	officeFlags
	Venue ticket.VenueID `help:"Only at this venue." placeholder:"UUID"`
}

// Run lists devices.
func (d *deviceList) Run(ctx context.Context, out *console) error {
	return d.work(ctx, out, func(ctx context.Context, verbs *server.Server) error {
		var devices []session.PairedDevice
		for cursor := ""; ; {
			page, next, err := verbs.Session.ListDevices(ctx, session.Operator, session.DevicesIn{Venue: d.Venue, Cursor: cursor})
			if err != nil {
				return err
			}
			devices = append(devices, page...)
			if next == "" {
				break
			}
			cursor = next
		}
		return list(out, devices, "DEVICE NAME PAIRED PERSON REVOKED", func(d session.PairedDevice) []string {
			person := ""
			if d.Person != nil {
				person = d.Person.Name
			}
			return []string{d.Device.String(), d.Name, clock(d.PairedAt, ""), person, clockOf(d.RevokedAt)}
		})
	})
}

func clockOf(at *time.Time) string {
	if at == nil {
		return ""
	}
	return clock(*at, "")
}

type deviceRevoke struct {
	officeFlags
	Device ticket.DeviceID `arg:"" help:"The device's id."`
}

// Run ends the device's credential.
func (d *deviceRevoke) Run(ctx context.Context, out *console) error {
	return d.work(ctx, out, func(ctx context.Context, verbs *server.Server) error {
		revoked, err := verbs.Session.RevokeDevice(ctx, session.Operator, d.Device)
		if err != nil {
			return err
		}
		return out.answer(revoked, func() error { return out.line("%s has no access any more.", revoked.Name) })
	})
}
