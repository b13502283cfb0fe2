package challenge

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"portillon/server/fault"
	"portillon/server/session"
	"portillon/server/wire"
)

// writeFor is how long one event may take to leave. The kernel takes what fits
// into its buffers at once; only a dead or stalled phone takes longer.
const writeFor = 10 * time.Second

// HandleHold is POST /v1/nonces.
func (s *Service) HandleHold(c echo.Context) error {
	in, _, err := wire.Body[HoldIn](c, wire.SmallBody)
	if err != nil {
		return err
	}
	held, err := s.Hold(c.Request().Context(), session.From(c), in)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, held)
}

// HandleRenew is POST /v1/nonce-leases/{lease}/renew.
func (s *Service) HandleRenew(c echo.Context) error {
	held, err := s.Renew(c.Request().Context(), session.From(c), c.Param("lease"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, held)
}

// HandleRelease is POST /v1/nonce-leases/{lease}/release. The page that sends it
// is being closed: the act must not end with the connection.
func (s *Service) HandleRelease(c echo.Context) error {
	if err := s.Release(context.WithoutCancel(c.Request().Context()), c.Param("lease")); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// HandleClose is POST /v1/nonce-leases/{lease}/close.
func (s *Service) HandleClose(c echo.Context) error {
	if err := s.Close(c.Request().Context(), session.From(c), c.Param("lease")); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// HandleWalletNonce is GET /v1/wallet/nonce.
func (s *Service) HandleWalletNonce(c echo.Context) error {
	nonces, err := s.WalletNonces(c.Request().Context(), session.From(c))
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return c.JSON(http.StatusOK, nonces)
}

// HandleWalletStream is GET /v1/wallet/stream: server-sent events. 204 tells a
// browser not to connect again: none of the session's tickets is its any more.
func (s *Service) HandleWalletStream(c echo.Context) error {
	ctx := c.Request().Context()
	stream, err := s.Open(ctx, session.From(c))
	if err != nil {
		return err
	}
	if stream == nil {
		return c.NoContent(http.StatusNoContent)
	}
	header := c.Response().Header()
	header.Set(echo.HeaderContentType, "text/event-stream")
	header.Set(echo.HeaderCacheControl, "no-store")
	header.Set("X-Accel-Buffering", "no") // nginx would keep events back
	if line, ok := s.takeOver(c.Request(), c.Response().Writer); ok {
		c.Response().Status, c.Response().Committed = http.StatusOK, true // the HTTP server has let go of it
		s.alone(stream, line)
		return nil
	}
	defer stream.Close()
	c.Response().WriteHeader(http.StatusOK)
	s.broke(stream, stream.Run(ctx, s.writer(c.Response().Writer)))
	return nil
}

// broke: the answer has begun, there is nobody to tell but the log.
func (s *Service) broke(stream *Stream, err error) {
	if err != nil {
		s.log.Debug("a wallet's stream broke off", "request_id", stream.by.RequestID, "error", err.Error())
	}
}

// writer sends each event at once and gives up on a reader who does not take it.
func (s *Service) writer(w http.ResponseWriter) func([]byte) error {
	control := http.NewResponseController(w)
	return func(text []byte) error {
		if err := control.SetWriteDeadline(s.now().Add(writeFor)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return fault.New(fault.Internal, "internal", "no write deadline").With(err)
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
		return control.Flush()
	}
}
