package session

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"portillon/server/ticket"
	"portillon/server/wire"
)

// BeginFactorRequest is the body that HandleBeginFactor takes.
type BeginFactorRequest struct {
	Current string `json:"current"`
}

// HandleBeginFactor is POST /v1/me/second-factor.
func (s *Service) HandleBeginFactor(c echo.Context) error {
	body, _, err := wire.Body[BeginFactorRequest](c, wire.SmallBody)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	made, err := s.BeginFactor(ctx, From(c), PasswordIn{Current: body.Current, ByLink: s.byLink(c)})
	return answer(c, http.StatusOK, made, err)
}

// ConfirmFactorRequest is the body that HandleConfirmFactor takes.
type ConfirmFactorRequest struct {
	Code string `json:"code"`
}

// RecoveryCodes stand in for the authenticator app, each once.
type RecoveryCodes struct {
	RecoveryCodes []string `json:"recovery_codes"`
}

// HandleConfirmFactor is POST /v1/me/second-factor/confirm. The key does not stand
// for the code: whoever repeats the call has another one by then.
func (s *Service) HandleConfirmFactor(c echo.Context) error {
	body, _, err := wire.Body[ConfirmFactorRequest](c, wire.SmallBody)
	if err != nil {
		return err
	}
	call, err := wire.Call(c, "second_factor", nil)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	codes, stamp, err := s.ConfirmFactor(ctx, From(c), body.Code, call)
	if err != nil {
		return err
	}
	if err := s.restamp(ctx, c.Response(), stamp); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, RecoveryCodes{codes})
}

// RemoveFactorRequest is the body that HandleRemoveFactor takes.
type RemoveFactorRequest struct {
	Current string `json:"current"`
	OTP     string `json:"otp"`
}

// HandleRemoveFactor is POST /v1/me/second-factor/remove.
func (s *Service) HandleRemoveFactor(c echo.Context) error {
	body, _, err := wire.Body[RemoveFactorRequest](c, wire.SmallBody)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	stamp, err := s.RemoveFactor(ctx, From(c), RemoveFactorIn{Current: body.Current, OTP: body.OTP, ByLink: s.byLink(c)})
	if err != nil {
		return err
	}
	if err := s.restamp(ctx, c.Response(), stamp); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// HandleResetFactor is POST /v1/people/{person}/second-factor/remove.
func (s *Service) HandleResetFactor(c echo.Context) error {
	id, err := wire.ID[struct{}](c, "person")
	if err != nil {
		return err
	}
	person, err := s.ResetFactor(c.Request().Context(), From(c), ticket.PersonID(id))
	return answer(c, http.StatusOK, person, err)
}

// byLink says whether the caller's session came by a one-time link and has set no
// password since. A caller without a session has none.
func (s *Service) byLink(c echo.Context) bool {
	return From(c).Kind == ByCookie && s.cookies.GetBool(c.Request().Context(), keyByLink)
}
