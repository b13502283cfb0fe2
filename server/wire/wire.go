// Package wire is what every http.go shares: bodies decoded strictly, path
// identifiers, idempotency keys, cursors. It promises that a body that does not
// fit is refused as a whole with a stable code, before anything is done. It does
// not know any route.
package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"portillon/server/fault"
	"portillon/server/repeat"
	"portillon/server/ticket"
)

// Limits of request bodies in bytes.
const (
	SmallBody = 4 << 10  // a scan, a sign-in
	LargeBody = 64 << 10 // whatever lists tickets
)

// Body decodes the request's one JSON value into T: no unknown members, nothing
// after it, at most limit bytes. It also returns the raw bytes, for
// idempotency. Faults: request.too_large, request.media_type, request.body.
func Body[T any](c echo.Context, limit int64) (T, []byte, error) {
	var value T
	if media, _, _ := strings.Cut(c.Request().Header.Get(echo.HeaderContentType), ";"); media != "" && !strings.EqualFold(strings.TrimSpace(media), echo.MIMEApplicationJSON) {
		return value, nil, fault.New(fault.Invalid, "request.media_type", "send Content-Type: application/json")
	}
	raw, err := File(c, limit)
	if err != nil {
		return value, nil, err
	}
	if !utf8.Valid(raw) {
		return value, nil, fault.New(fault.Invalid, "request.body", "the body is not UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&value); err != nil {
		return value, nil, fault.New(fault.Invalid, "request.body", "the body is not the JSON object that this call takes (see /v1/docs)").With(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return value, nil, fault.New(fault.Invalid, "request.body", "the body holds more than one JSON value")
	}
	return value, raw, nil
}

// File reads a body that is a file, at most limit bytes. Faults: request.too_large,
// request.body.
func File(c echo.Context, limit int64) ([]byte, error) {
	raw, err := io.ReadAll(http.MaxBytesReader(c.Response(), c.Request().Body, limit))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return nil, fault.New(fault.Invalid, "request.too_large", "the body has more than %d bytes", limit).Fact("limit", limit)
	}
	if err != nil {
		return nil, fault.New(fault.Invalid, "request.body", "the body did not arrive whole; send it again").With(err)
	}
	return raw, nil
}

// ID reads an identifier from the path; one that is not a UUID names nothing.
func ID[T any](c echo.Context, name string) (ticket.Of[T], error) {
	id, err := ticket.Parse[T](c.Param(name))
	if err != nil {
		return id, fault.New(fault.NotFound, name+".not_found", "there is no such %s", name)
	}
	return id, nil
}

// Key reads the Idempotency-Key header; uuid.Nil when there is none.
func Key(c echo.Context) (uuid.UUID, error) {
	text := c.Request().Header.Get("Idempotency-Key")
	if text == "" {
		return uuid.Nil, nil
	}
	key, err := ticket.Parse[struct{}](text)
	if err != nil || key.IsZero() {
		return uuid.Nil, fault.New(fault.Invalid, "request.idempotency_key", "Idempotency-Key is a UUID made by the caller")
	}
	return key.UUID(), nil
}

// Call is the repeatable call that a creating request makes. The hash covers the
// path too: the same body for another parent is another request.
func Call(c echo.Context, act string, raw []byte) (repeat.Call, error) {
	key, err := Key(c)
	if err != nil {
		return repeat.Call{}, err
	}
	return repeat.Call{Key: key, Act: act, Hash: repeat.Hash(append([]byte(c.Request().URL.Path+"\n"), raw...))}, nil
}

// List is one page of a list; Next is empty on the last.
type List[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next"`
}
