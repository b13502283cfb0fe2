// Package client is a small typed client of the public HTTP API, for the command
// line and for tests: one generic call, the problem documents as errors, and the
// answers as structs with the API's own words. It also holds the part of the
// reference phone that talks to the server (Phone); keys and signatures are
// package wallet's.
//
// It promises that an error tells whether repeating the same call, under the
// same key, can help (RetryLater), and that whatever is not an answer of a
// Portillon server, a captive portal's page for instance, is an error and never
// an empty answer. It does not repeat by itself, and knows no clock.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"portillon/server/ticket"
)

// maxAnswer is the longest answer that is read, in bytes: a page of a list is a
// hundred times smaller.
const maxAnswer = 16 << 20

// Client calls one server with one credential. It may be used concurrently.
type Client struct {
	base  string
	token string
	http  *http.Client
}

// New makes a client of the server at baseURL ("https://tickets.example"). The
// token is an API token or a paired device's credential; "" calls as no one. A
// nil hc is a client of its own without a time limit: the context bounds calls.
func New(baseURL, token string, hc *http.Client) *Client {
	if hc == nil {
		hc = &http.Client{}
	}
	return &Client{base: strings.TrimRight(baseURL, "/"), token: token, http: hc}
}

// URL is the server's address, without a slash at the end.
func (c *Client) URL() string { return c.base }

// Option changes one request before it is sent.
type Option func(*http.Request)

// WithKey sends the Idempotency-Key: a UUID made once for what the call means,
// and the same one however often the call is repeated.
func WithKey(key ticket.Key) Option {
	return func(r *http.Request) { r.Header.Set("Idempotency-Key", key.String()) }
}

// WithLanguage asks for sentences in a language (RFC 9110, section 12.5.4).
func WithLanguage(languages string) Option {
	return func(r *http.Request) { r.Header.Set("Accept-Language", languages) }
}

// WithFile sends a file of comma-separated values as the body.
func WithFile(file []byte) Option {
	return func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(file)), int64(len(file))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(file)), nil }
		r.Header.Set("Content-Type", "text/csv")
	}
}

// Do makes one call and decodes its answer into a T. A nil body sends none; an
// answer without content leaves T's zero value. Errors: *Problem when the server
// refused, *url.Error when it could not be reached, *NotOursError when something else
// answered.
func Do[T any](ctx context.Context, c *Client, method, path string, body any, opts ...Option) (T, error) {
	var answer T
	response, err := c.send(ctx, method, path, body, opts)
	if err != nil {
		return answer, err
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return answer, &url.Error{Op: method, URL: c.base + path, Err: err}
	}
	if response.StatusCode >= 300 {
		return answer, problemOf(response, raw)
	}
	if response.StatusCode == http.StatusNoContent {
		return answer, nil
	}
	if !isJSON(response) || json.Unmarshal(raw, &answer) != nil {
		return answer, &NotOursError{Status: response.StatusCode, URL: c.base + path}
	}
	return answer, nil
}

func (c *Client) send(ctx context.Context, method, path string, body any, opts []Option) (*http.Response, error) {
	var reader io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encode %s %s: %w", method, path, err)
		}
		reader = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, reader)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", c.base+path, err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	request.Header.Set("Accept", "application/json")
	for _, option := range opts {
		option(request)
	}
	return c.http.Do(request)
}

// isJSON: also problem documents and other +json types.
func isJSON(response *http.Response) bool {
	media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	return err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
}

// retryAfter reads the header's form in seconds (RFC 9110, section 10.2.3); the
// other form, a date, is never sent by the server.
func retryAfter(response *http.Response) time.Duration {
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// All gives every item of a paged list, calling for page after page.
func All[T any](ctx context.Context, c *Client, path string, query url.Values) ([]T, error) {
	var items []T
	query = copyOf(query)
	for {
		full := path
		if len(query) > 0 {
			full += "?" + query.Encode()
		}
		page, err := Do[List[T]](ctx, c, http.MethodGet, full, nil)
		if err != nil {
			return items, err
		}
		items = append(items, page.Items...)
		if page.Next == "" {
			return items, nil
		}
		query.Set("cursor", page.Next)
	}
}

func copyOf(query url.Values) url.Values {
	copied := url.Values{}
	for name, values := range query {
		copied[name] = values
	}
	return copied
}
