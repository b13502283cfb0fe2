package claim

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"portillon/server/session"
	"portillon/server/useragent"
	"portillon/server/wire"
)

// ChallengeRequest is the body that HandleChallenge takes.
type ChallengeRequest struct {
	Code string `json:"code"`
}

// HandleChallenge is POST /v1/claims/challenge.
func (s *Service) HandleChallenge(c echo.Context) error {
	in, _, err := wire.Body[ChallengeRequest](c, wire.SmallBody)
	if err != nil {
		return err
	}
	offer, err := s.Challenge(c.Request().Context(), in.Code)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, offer)
}

// ClaimRequest is the body that HandleClaim takes.
type ClaimRequest struct {
	Code string  `json:"code"`
	Keys []KeyIn `json:"keys"`
}

// HandleClaim is POST /v1/claims.
func (s *Service) HandleClaim(c echo.Context) error {
	in, _, err := wire.Body[ClaimRequest](c, wire.LargeBody)
	if err != nil {
		return err
	}
	out, err := s.Claim(c.Request().Context(), session.From(c), In{
		Code: in.Code, Keys: in.Keys, Browser: useragent.Name(c.Request().UserAgent()),
	})
	if err != nil {
		return err
	}
	s.setCookie(c, out.Session)
	return c.JSON(http.StatusCreated, out)
}

// HandleAskMove is POST /v1/claims/move.
func (s *Service) HandleAskMove(c echo.Context) error {
	in, _, err := wire.Body[ChallengeRequest](c, wire.SmallBody)
	if err != nil {
		return err
	}
	out, err := s.AskMove(c.Request().Context(), in.Code)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusAccepted, out)
}

// MoveRequest is the body that HandleMove takes. OTP is the eight digits of the mail.
type MoveRequest struct {
	Code string  `json:"code"`
	OTP  string  `json:"otp"`
	Keys []KeyIn `json:"keys"`
}

// HandleMove is POST /v1/claims/move/confirm.
func (s *Service) HandleMove(c echo.Context) error {
	in, _, err := wire.Body[MoveRequest](c, wire.LargeBody)
	if err != nil {
		return err
	}
	out, err := s.Move(c.Request().Context(), session.From(c), MoveIn{
		In:     In{Code: in.Code, Keys: in.Keys, Browser: useragent.Name(c.Request().UserAgent())},
		Digits: in.OTP,
	})
	if err != nil {
		return err
	}
	s.setCookie(c, out.Session)
	return c.JSON(http.StatusCreated, out)
}

// HandleShowMove is POST /v1/claims/moved.
func (s *Service) HandleShowMove(c echo.Context) error {
	return aboutMove(c, func(code string) (MovedAway, error) { return s.ShowMove(c.Request().Context(), code) })
}

// HandleNotMe is POST /v1/claims/not-me.
func (s *Service) HandleNotMe(c echo.Context) error {
	return aboutMove(c, func(code string) (MovedAway, error) { return s.NotMe(c.Request().Context(), session.From(c), code) })
}

func aboutMove(c echo.Context, do func(code string) (MovedAway, error)) error {
	in, _, err := wire.Body[ChallengeRequest](c, wire.SmallBody)
	if err != nil {
		return err
	}
	out, err := do(in.Code)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, out)
}

// HandleWalletChallenge is POST /v1/wallet/challenge. Its body is empty or {}.
func (s *Service) HandleWalletChallenge(c echo.Context) error {
	if c.Request().ContentLength != 0 {
		if _, _, err := wire.Body[struct{}](c, wire.SmallBody); err != nil {
			return err
		}
	}
	made, err := s.WalletChallenge(c.Request().Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, made)
}

// WalletSessionRequest is the body that HandleWalletSession takes.
type WalletSessionRequest struct {
	Tickets []ProofIn `json:"tickets"`
}

// HandleWalletSession is POST /v1/wallet/session.
func (s *Service) HandleWalletSession(c echo.Context) error {
	in, _, err := wire.Body[WalletSessionRequest](c, wire.LargeBody)
	if err != nil {
		return err
	}
	out, cookie, err := s.WalletSession(c.Request().Context(), in.Tickets)
	if err != nil {
		return err
	}
	s.setCookie(c, cookie)
	return c.JSON(http.StatusOK, out)
}

// HandleTOTP is POST /v1/wallet/totp: the signature is the credential.
func (s *Service) HandleTOTP(c echo.Context) error {
	in, _, err := wire.Body[ProofIn](c, wire.SmallBody)
	if err != nil {
		return err
	}
	out, err := s.TOTP(c.Request().Context(), in)
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return c.JSON(http.StatusOK, out)
}

// HandleWallet is GET /v1/wallet.
func (s *Service) HandleWallet(c echo.Context) error {
	out, err := s.Wallet(c.Request().Context(), session.From(c))
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return c.JSON(http.StatusOK, out)
}

func (s *Service) setCookie(c echo.Context, cookie Cookie) {
	c.SetCookie(session.NewWalletCookie(s.publicURL, cookie.Secret, cookie.Lifetime))
}
