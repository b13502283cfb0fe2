package session

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"portillon/server/fault"
	"portillon/server/ticket"
	"portillon/server/wire"
)

// SignInRequest is the body that HandleSignIn takes.
type SignInRequest struct {
	Email    string `json:"email"`
	Password string `json:"password"`
	OTP      string `json:"otp"`
}

// HandleSignIn is POST /v1/session.
func (s *Service) HandleSignIn(c echo.Context) error {
	body, _, err := wire.Body[SignInRequest](c, wire.SmallBody)
	if err != nil {
		return err
	}
	in, err := s.signIn(c.Request().Context(), SignInIn{
		Email: body.Email, Password: body.Password, OTP: body.OTP, Address: c.RealIP(),
	}, From(c).RequestID)
	if err != nil {
		return err
	}
	return s.welcome(c, in, false)
}

// SignInLinkRequest is the body that HandleSignInLink takes.
type SignInLinkRequest struct {
	Code string `json:"code"`
	OTP  string `json:"otp"`
}

// HandleSignInLink is POST /v1/session/link. With an Idempotency-Key it may be
// sent again for a minute, should its answer be lost.
func (s *Service) HandleSignInLink(c echo.Context) error {
	body, _, err := wire.Body[SignInLinkRequest](c, wire.SmallBody)
	if err != nil {
		return err
	}
	key, err := wire.Key(c)
	if err != nil {
		return err
	}
	in, err := s.signInByLink(c.Request().Context(), body.Code, body.OTP, key, From(c).RequestID)
	if err != nil {
		return err
	}
	return s.welcome(c, in, true)
}

// welcome sets the cookie of a new session and answers who signed in.
func (s *Service) welcome(c echo.Context, in signedIn, byLink bool) error {
	ctx := c.Request().Context()
	by, _, err := s.atDesk(ctx, in.caller.Person.String())
	if err != nil {
		return err
	}
	me, err := s.Me(ctx, by)
	if err != nil {
		return err
	}
	if err := s.open(ctx, c.Response(), c.Request(), in.caller.Person, in.stamp, byLink); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, me)
}

// HandleSignOut is DELETE /v1/session; without a session it is done already.
func (s *Service) HandleSignOut(c echo.Context) error {
	ctx := c.Request().Context()
	if err := s.signedOut(ctx, From(c)); err != nil {
		return err
	}
	if err := s.end(ctx, c.Request()); err != nil {
		return err
	}
	s.forget(ctx, c.Response())
	return c.NoContent(http.StatusNoContent)
}

// HandleMe is GET /v1/me.
func (s *Service) HandleMe(c echo.Context) error {
	me, err := s.Me(c.Request().Context(), From(c))
	return answer(c, http.StatusOK, me, err)
}

// SetPasswordRequest is the body that HandleSetPassword takes.
type SetPasswordRequest struct {
	Password string `json:"password"`
	Current  string `json:"current"`
}

// HandleSetPassword is POST /v1/me/password.
func (s *Service) HandleSetPassword(c echo.Context) error {
	body, _, err := wire.Body[SetPasswordRequest](c, wire.SmallBody)
	if err != nil {
		return err
	}
	ctx, by := c.Request().Context(), From(c)
	if err := self(by, by.Person); err != nil {
		return err
	}
	stamp, err := s.SetPassword(ctx, by, by.Person, PasswordIn{
		Password: body.Password, Current: body.Current, ByLink: s.byLink(c),
	})
	if err != nil {
		return err
	}
	if err := s.renew(ctx, c.Response(), stamp); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// SetPINRequest is the body that HandleSetPIN takes.
type SetPINRequest struct {
	PIN string `json:"pin"`
}

// HandleSetPIN is POST /v1/me/pin.
func (s *Service) HandleSetPIN(c echo.Context) error {
	body, _, err := wire.Body[SetPINRequest](c, wire.SmallBody)
	if err != nil {
		return err
	}
	by := From(c)
	if err := s.SetPIN(c.Request().Context(), by, by.Person, body.PIN); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// HandleListPeople is GET /v1/people.
func (s *Service) HandleListPeople(c echo.Context) error {
	items, next, err := s.ListPeople(c.Request().Context(), From(c), PeopleIn{Cursor: c.QueryParam("cursor")})
	return answer(c, http.StatusOK, wire.List[Person]{Items: items, Next: next}, err)
}

// HandleGetPerson is GET /v1/people/{person}.
func (s *Service) HandleGetPerson(c echo.Context) error {
	id, err := wire.ID[struct{}](c, "person")
	if err != nil {
		return err
	}
	person, err := s.GetPerson(c.Request().Context(), From(c), ticket.PersonID(id))
	return answer(c, http.StatusOK, person, err)
}

// AddPersonRequest is the body that HandleAddPerson takes.
type AddPersonRequest struct {
	Name     string  `json:"name"`
	Email    string  `json:"email"`
	Password string  `json:"password"`
	Grants   []Grant `json:"grants"`
}

// HandleAddPerson is POST /v1/people.
func (s *Service) HandleAddPerson(c echo.Context) error {
	body, _, err := wire.Body[AddPersonRequest](c, wire.SmallBody)
	if err != nil {
		return err
	}
	in := PersonIn{Name: body.Name, Email: body.Email, Password: body.Password, Grants: body.Grants}
	asked, err := json.Marshal(in.Asked())
	if err != nil {
		return err
	}
	if in.Repeat, err = wire.Call(c, "person", asked); err != nil {
		return err
	}
	person, err := s.AddPerson(c.Request().Context(), From(c), in)
	return answer(c, http.StatusCreated, person, err)
}

// ChangePersonRequest is the body that HandleChangePerson takes.
type ChangePersonRequest struct {
	Name     *string  `json:"name"`
	Grants   *[]Grant `json:"grants"`
	Disabled *bool    `json:"disabled"`
}

// HandleChangePerson is PATCH /v1/people/{person}.
func (s *Service) HandleChangePerson(c echo.Context) error {
	id, err := wire.ID[struct{}](c, "person")
	if err != nil {
		return err
	}
	body, _, err := wire.Body[ChangePersonRequest](c, wire.SmallBody)
	if err != nil {
		return err
	}
	person, err := s.ChangePerson(c.Request().Context(), From(c), ticket.PersonID(id), PersonChange(body))
	return answer(c, http.StatusOK, person, err)
}

// LinkAnswer is a person's new one-time link.
type LinkAnswer struct {
	SignInLink string    `json:"sign_in_link"`
	ExpiresAt  time.Time `json:"expires_at"`
}

// HandlePersonLink is POST /v1/people/{person}/link.
func (s *Service) HandlePersonLink(c echo.Context) error {
	id, err := wire.ID[struct{}](c, "person")
	if err != nil {
		return err
	}
	link, expires, err := s.signInLink(c.Request().Context(), From(c), ticket.PersonID(id), LinkTTL)
	return answer(c, http.StatusOK, LinkAnswer{link, expires}, err)
}

// HandleListTokens is GET /v1/tokens.
func (s *Service) HandleListTokens(c echo.Context) error {
	items, next, err := s.ListTokens(c.Request().Context(), From(c), TokensIn{Cursor: c.QueryParam("cursor")})
	return answer(c, http.StatusOK, wire.List[APIToken]{Items: items, Next: next}, err)
}

// CreateTokenRequest is the body that HandleCreateToken takes.
type CreateTokenRequest struct {
	Name      string         `json:"name"`
	Scopes    []Scope        `json:"scopes"`
	Venue     ticket.VenueID `json:"venue"`
	ExpiresAt *time.Time     `json:"expires_at"`
}

// HandleCreateToken is POST /v1/tokens.
func (s *Service) HandleCreateToken(c echo.Context) error {
	body, raw, err := wire.Body[CreateTokenRequest](c, wire.SmallBody)
	if err != nil {
		return err
	}
	call, err := wire.Call(c, "token", raw)
	if err != nil {
		return err
	}
	token, err := s.CreateToken(c.Request().Context(), From(c), TokenIn{
		Name: body.Name, Scopes: body.Scopes, Venue: body.Venue, ExpiresAt: body.ExpiresAt, Repeat: call,
	})
	return answer(c, http.StatusCreated, token, err)
}

// HandleRevokeToken is POST /v1/tokens/{token}/revoke.
func (s *Service) HandleRevokeToken(c echo.Context) error {
	id, err := wire.ID[struct{}](c, "token")
	if err != nil {
		return err
	}
	token, err := s.RevokeToken(c.Request().Context(), From(c), ticket.TokenID(id))
	return answer(c, http.StatusOK, token, err)
}

// answer sends what a verb returned, or hands its error to the error handler.
func answer(c echo.Context, status int, out any, err error) error {
	if err != nil {
		return err
	}
	return c.JSON(status, out)
}

// venueParam reads the venue of the query; none is the zero venue.
func venueParam(c echo.Context) (ticket.VenueID, error) {
	text := c.QueryParam("venue")
	if text == "" {
		return ticket.VenueID{}, nil
	}
	id, err := ticket.Parse[struct{}](text)
	if err != nil {
		return ticket.VenueID{}, fault.New(fault.NotFound, "venue.not_found", "there is no such venue")
	}
	return ticket.VenueID(id), nil
}

func pairingParam(c echo.Context) (uuid.UUID, error) {
	id, err := wire.ID[struct{}](c, "pairing")
	return id.UUID(), err
}
