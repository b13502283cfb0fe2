package server

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"portillon/server/fault"
	"portillon/server/wire"
	"portillon/wallet"
)

// QRRequest asks for the picture of a link or a paper code. It travels in the
// body, since it may hold a secret.
type QRRequest struct {
	Text string `json:"text"`
}

// handleQR is POST /v1/qr: an SVG, dark on white with its quiet zone.
func handleQR(c echo.Context) error {
	req, _, err := wire.Body[QRRequest](c, wire.SmallBody)
	if err != nil {
		return err
	}
	if req.Text == "" || len(req.Text) > 1000 {
		return fault.Fields(fault.Field{Name: "text", Code: "out_of_range"})
	}
	picture, err := wallet.QR(req.Text, wallet.LevelM)
	if err != nil {
		return fault.Fields(fault.Field{Name: "text", Code: "too_long"})
	}
	return c.Blob(http.StatusOK, "image/svg+xml", []byte(picture.SVG()))
}
