package client

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// maxEvent is the longest line of a stream that is read, in bytes.
const maxEvent = 64 << 10

// StreamEvent is one server-sent event of a wallet's stream: nonce, closed,
// waiting or ticket, and its data.
type StreamEvent struct {
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
}

// Follow reads the wallet's stream (WHATWG HTML, section 9.2) and calls on for
// each event, until the server ends the stream (nil), ctx does, or on fails. The
// phone must have signed in.
func (p *Phone) Follow(ctx context.Context, on func(StreamEvent) error) error {
	response, err := p.client.send(ctx, http.MethodGet, "/v1/wallet/stream", nil, []Option{func(r *http.Request) {
		r.Header.Set("Accept", "text/event-stream")
	}})
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= 300 {
		raw, _ := io.ReadAll(io.LimitReader(response.Body, maxEvent))
		return problemOf(response, raw)
	}
	if response.StatusCode == http.StatusNoContent {
		return nil
	}
	err = readEvents(response.Body, on)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// readEvents understands the part of the format that the server sends: "event"
// and "data" of one line each; comments and "retry" are passed over.
func readEvents(r io.Reader, on func(StreamEvent) error) error {
	var event StreamEvent
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4096), maxEvent)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case name == "event":
			event.Event = value
		case name == "data":
			event.Data = json.RawMessage(value)
		case lines.Text() == "" && event.Data != nil:
			if err := on(event); err != nil {
				return err
			}
			event = StreamEvent{}
		}
	}
	if err := lines.Err(); err != nil {
		return &url.Error{Op: "Get", URL: "/v1/wallet/stream", Err: err}
	}
	return nil
}
