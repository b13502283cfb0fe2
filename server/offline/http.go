package offline

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"portillon/server/session"
	"portillon/server/wire"
)

// batchBody is the longest body of an upload in bytes: as many items as it may bring,
// each with the longest code.
const batchBody = 1 << 20

// BatchRequest is the body of POST /v1/scans/batch. Each of the scans is decoded by
// itself (Item): one that is broken must not keep the others.
type BatchRequest struct {
	SentAt time.Time         `json:"sent_at"` // by the device's clock
	Scans  []json.RawMessage `json:"scans"`
}

// HandleBatch is POST /v1/scans/batch.
func (s *Service) HandleBatch(c echo.Context) error {
	req, _, err := wire.Body[BatchRequest](c, batchBody)
	if err != nil {
		return err
	}
	out, err := s.Upload(c.Request().Context(), session.From(c), UploadIn{SentAt: req.SentAt, Arrived: s.now(), Scans: req.Scans})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, out)
}
