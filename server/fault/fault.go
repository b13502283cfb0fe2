// Package fault holds the errors that callers can act upon: a kind that decides
// the HTTP status, a stable dotted code that is also the translation key, and
// the fields at fault. It promises that a code, once published, keeps its
// meaning. It knows neither HTTP nor languages: package problem maps the one,
// package locale the other.
//
// A verdict at the door is a value and never a fault: a fault says that nobody
// knows, or that the question was not one.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Kind sorts faults by what the caller can do about them.
type Kind uint8

// The kinds, in the order of their HTTP status.
const (
	Internal        Kind = iota // a fault of ours: 500
	Invalid                     // the request does not make sense: 400
	Unauthenticated             // nobody is signed in: 401
	Forbidden                   // somebody is, without the right: 403
	NotFound                    // there is no such thing, or not for you: 404
	Conflict                    // the thing is not in the state for it: 409
	Gone                        // it was there and has lapsed: 410
	TooMany                     // slow down: 429
	Unavailable                 // nobody knows yet, repeat with the same key: 503
)

// Field names one field at fault, with a code of its own.
type Field struct {
	Name string `json:"name"`
	Code string `json:"code"`
}

// Error is a fault. Code is dotted and stable, for instance "claim.code_unknown".
type Error struct {
	Kind   Kind
	Code   string
	Detail string // English, for logs and developers; what to do next
	Fields []Field
	// Facts are values for the translated sentence and for machines, for
	// instance the next free number. They never hold a code or a name, and a secret
	// only where the answer is what hands it out: a new lease in place of a lost one.
	Facts map[string]any
	// RetryAfter is how long to wait before repeating; zero is unknown.
	RetryAfter time.Duration
	Cause      error
}

func (e *Error) Error() string {
	s := e.Code
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap gives the cause to errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Cause }

// New makes a fault; detail is a format for its English sentence.
func New(kind Kind, code, detail string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Detail: fmt.Sprintf(detail, args...)}
}

// With adds the cause and returns the same fault.
func (e *Error) With(cause error) *Error { e.Cause = cause; return e }

// Fact adds a value for the translated sentence and returns the same fault.
func (e *Error) Fact(name string, value any) *Error {
	if e.Facts == nil {
		e.Facts = map[string]any{}
	}
	e.Facts[name] = value
	return e
}

// Wait sets RetryAfter and returns the same fault.
func (e *Error) Wait(d time.Duration) *Error { e.RetryAfter = d; return e }

// Fields makes an Invalid fault that names the fields at fault.
func Fields(fields ...Field) *Error {
	return &Error{Kind: Invalid, Code: "request.fields", Detail: "correct the named fields and send again", Fields: fields}
}

// Of returns the fault in err's chain; an error without one is an Internal
// fault with code "internal".
func Of(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Kind: Internal, Code: "internal", Detail: "this is our fault; try again, and tell the operator the request id", Cause: err}
}

// Is reports whether err carries a fault with this code.
func Is(err error, code string) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}
