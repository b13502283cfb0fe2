package session

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"portillon/server/ticket"
	"portillon/server/wire"
)

// CreatePairingRequest is the body that HandleCreatePairing takes.
type CreatePairingRequest struct {
	Venue ticket.VenueID `json:"venue"`
	Name  string         `json:"name"`
}

// HandleCreatePairing is POST /v1/pairings.
func (s *Service) HandleCreatePairing(c echo.Context) error {
	body, raw, err := wire.Body[CreatePairingRequest](c, wire.SmallBody)
	if err != nil {
		return err
	}
	call, err := wire.Call(c, "pairing", raw)
	if err != nil {
		return err
	}
	made, err := s.Pairing(c.Request().Context(), From(c), PairingIn{Venue: body.Venue, Name: body.Name, Repeat: call})
	return answer(c, http.StatusCreated, made, err)
}

// HandleGetPairing is GET /v1/pairings/{pairing}.
func (s *Service) HandleGetPairing(c echo.Context) error {
	id, err := pairingParam(c)
	if err != nil {
		return err
	}
	p, err := s.ShowPairing(c.Request().Context(), From(c), id)
	return answer(c, http.StatusOK, p, err)
}

// HandleConfirmPairing is POST /v1/pairings/{pairing}/confirm.
func (s *Service) HandleConfirmPairing(c echo.Context) error { return s.handleDecision(c, true) }

// HandleRefusePairing is POST /v1/pairings/{pairing}/refuse.
func (s *Service) HandleRefusePairing(c echo.Context) error { return s.handleDecision(c, false) }

func (s *Service) handleDecision(c echo.Context, confirm bool) error {
	id, err := pairingParam(c)
	if err != nil {
		return err
	}
	p, err := s.DecidePairing(c.Request().Context(), From(c), id, confirm)
	return answer(c, http.StatusOK, p, err)
}

// OpenPairingRequest is the body that HandleOpenPairing takes.
type OpenPairingRequest struct {
	Code string `json:"code"`
	Name string `json:"name"`
}

// HandleOpenPairing is POST /v1/pairings/open.
func (s *Service) HandleOpenPairing(c echo.Context) error {
	body, _, err := wire.Body[OpenPairingRequest](c, wire.SmallBody)
	if err != nil {
		return err
	}
	key, err := wire.Key(c)
	if err != nil {
		return err
	}
	opened, err := s.OpenPairing(c.Request().Context(), OpenPairingIn{
		Code: body.Code, Name: body.Name, UserAgent: c.Request().UserAgent(), Key: key, RequestID: From(c).RequestID,
	})
	return answer(c, http.StatusOK, opened, err)
}

// CollectPairingRequest is the body that HandleCollectPairing takes.
type CollectPairingRequest struct {
	Collect string `json:"collect"`
}

// HandleCollectPairing is POST /v1/pairings/collect.
func (s *Service) HandleCollectPairing(c echo.Context) error {
	body, _, err := wire.Body[CollectPairingRequest](c, wire.SmallBody)
	if err != nil {
		return err
	}
	collected, err := s.CollectPairing(c.Request().Context(), body.Collect, From(c).RequestID)
	return answer(c, http.StatusOK, collected, err)
}

// HandleListDevices is GET /v1/devices.
func (s *Service) HandleListDevices(c echo.Context) error {
	venue, err := venueParam(c)
	if err != nil {
		return err
	}
	items, next, err := s.ListDevices(c.Request().Context(), From(c), DevicesIn{Venue: venue, Cursor: c.QueryParam("cursor")})
	return answer(c, http.StatusOK, wire.List[PairedDevice]{Items: items, Next: next}, err)
}

// HandleRevokeDevice is POST /v1/devices/{device}/revoke.
func (s *Service) HandleRevokeDevice(c echo.Context) error {
	id, err := wire.ID[struct{}](c, "device")
	if err != nil {
		return err
	}
	device, err := s.RevokeDevice(c.Request().Context(), From(c), ticket.DeviceID(id))
	return answer(c, http.StatusOK, device, err)
}

// HandleDevice is GET /v1/device.
func (s *Service) HandleDevice(c echo.Context) error {
	device, err := s.ThisDevice(c.Request().Context(), From(c))
	return answer(c, http.StatusOK, device, err)
}

// SignOnRequest is the body that HandleSignOn takes.
type SignOnRequest struct {
	Person   ticket.PersonID `json:"person"`
	Email    string          `json:"email"`
	PIN      string          `json:"pin"`
	Password string          `json:"password"`
}

// HandleSignOn is POST /v1/device/sign-on.
func (s *Service) HandleSignOn(c echo.Context) error {
	body, _, err := wire.Body[SignOnRequest](c, wire.SmallBody)
	if err != nil {
		return err
	}
	device, err := s.SignOnBy(c.Request().Context(), From(c), SignOnIn(body))
	return answer(c, http.StatusOK, device, err)
}

// HandleSignOff is POST /v1/device/sign-off.
func (s *Service) HandleSignOff(c echo.Context) error {
	device, err := s.SignOff(c.Request().Context(), From(c))
	return answer(c, http.StatusOK, device, err)
}
