package main

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"portillon/server/client"
	"portillon/server/ticket"
)

// apiFlags say which server a command calls, and as whom.
type apiFlags struct {
	URL   string `help:"Address of the server. Without it: of the one that runs on the data folder, else http://127.0.0.1:8080." env:"PORTILLON_URL" placeholder:"URL"`
	Token string `help:"API token, or a gate device's credential." env:"PORTILLON_TOKEN" secret:"" placeholder:"TOKEN"`
	Data  string `help:"The data folder whose running server is called." default:"./data" type:"path" env:"PORTILLON_DATA" placeholder:"DIR"`
}

const defaultURL = "http://127.0.0.1:8080"

func (f apiFlags) client() (*client.Client, error) {
	if f.Token == "" {
		return nil, usage("--token is missing: make one with \"portillon token add\" or at the desk, and give it in $PORTILLON_TOKEN or $PORTILLON_TOKEN_FILE")
	}
	address := f.URL
	if address == "" {
		address = folder{f.Data}.runningURL()
	}
	if address == "" {
		address = defaultURL
	}
	if err := checkURL(address); err != nil {
		return nil, err
	}
	return client.New(address, f.Token, nil), nil
}

func checkURL(address string) error {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return usage("--url: %q is not the address of a server; it looks like https://tickets.example", address)
	}
	return nil
}

// callWithin bounds one call, so that a server that is away is noticed.
const callWithin = 20 * time.Second

func call[T any](ctx context.Context, f apiFlags, method, path string, body any, opts ...client.Option) (T, error) {
	var none T
	c, err := f.client()
	if err != nil {
		return none, err
	}
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	return client.Do[T](ctx, c, method, path, body, opts...)
}

// create is a POST that makes something, under the given key or a fresh one.
func create[T any](ctx context.Context, f apiFlags, key ticket.Key, path string, body any) (T, error) {
	if key.IsZero() {
		key = newKey()
	}
	return call[T](ctx, f, http.MethodPost, path, body, client.WithKey(key))
}

func all[T any](ctx context.Context, f apiFlags, path string, query url.Values) ([]T, error) {
	c, err := f.client()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*callWithin)
	defer cancel()
	return client.All[T](ctx, c, path, query)
}

// repeatable is for commands that make something: the same key makes it once,
// however often the command is run within a week.
type repeatable struct {
	Key ticket.Key `help:"Idempotency key (a UUID): the same one makes the thing once, however often the command is run within a week. Without it each run makes another." placeholder:"UUID"`
}
