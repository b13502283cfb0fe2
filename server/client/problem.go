package client

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Problem is a call that the server refused: its problem document (RFC 9457).
type Problem struct { //nolint:errname // the word of RFC 9457
	Title     string         `json:"title"`
	Status    int            `json:"status"`
	Code      string         `json:"code"`
	Detail    string         `json:"detail,omitempty"`
	RequestID string         `json:"request_id"`
	Fields    []Field        `json:"fields,omitempty"`
	Facts     map[string]any `json:"facts,omitempty"`
	// RetryAfter is how long the server asks to wait; zero when it did not say.
	RetryAfter time.Duration `json:"-"`
}

// Field is one field at fault.
type Field struct {
	Name string `json:"name"`
	Code string `json:"code"`
}

// Error says what the server said, with the fields at fault.
func (p *Problem) Error() string {
	s := p.Code
	if p.Detail != "" {
		s += ": " + p.Detail
	}
	fields := make([]string, 0, len(p.Fields))
	for _, f := range p.Fields {
		fields = append(fields, f.Name+" "+f.Code)
	}
	if len(fields) > 0 {
		s += " (" + strings.Join(fields, ", ") + ")"
	}
	if p.Status >= http.StatusInternalServerError && p.RequestID != "" {
		s += " [request " + p.RequestID + "]"
	}
	return s
}

// NotOursError is an answer that no Portillon server gave: a proxy's error page, or
// the sign-in page of a captive portal (which likes to answer 200).
type NotOursError struct {
	Status int // of the answer
	URL    string
}

// Error says what answered and where.
func (e *NotOursError) Error() string {
	return fmt.Sprintf("%s answered %d, and not as a Portillon server does: is the address right, and is a proxy or a sign-in page of the network in between?", e.URL, e.Status)
}

func problemOf(response *http.Response, raw []byte) error {
	var problem Problem
	if !isJSON(response) || json.Unmarshal(raw, &problem) != nil || problem.Code == "" {
		return &NotOursError{Status: response.StatusCode, URL: response.Request.URL.Redacted()}
	}
	problem.Status = response.StatusCode
	problem.RetryAfter = retryAfter(response)
	return &problem
}

// IsProblem reports whether err is the server's refusal with this code.
func IsProblem(err error, code string) bool {
	var problem *Problem
	return errors.As(err, &problem) && problem.Code == code
}

// RetryLater reports whether the same call, under the same key, may be answered
// later: nobody knows yet (503), too fast (429), or no answer came through. A
// call that its own caller gave up, a certificate that does not fit and an
// address that makes no sense are not worth another try.
func RetryLater(err error) bool {
	var problem *Problem
	if errors.As(err, &problem) {
		return problem.Status == http.StatusServiceUnavailable || problem.Status == http.StatusTooManyRequests
	}
	var other *NotOursError
	if errors.As(err, &other) {
		return other.Status < 300 || other.Status >= 500
	}
	var certificate *tls.CertificateVerificationError
	if errors.Is(err, context.Canceled) || errors.As(err, &certificate) {
		return false
	}
	var network *url.Error
	return errors.As(err, &network) && network.Op != "parse" && !strings.Contains(network.Error(), "unsupported protocol scheme")
}

// Wait is how long the server asks to wait before the call is repeated; zero
// when it did not say.
func Wait(err error) time.Duration {
	var problem *Problem
	if errors.As(err, &problem) {
		return problem.RetryAfter
	}
	return 0
}
