package main

import (
	"context"
	"net/http"
	"strings"
	"time"

	"portillon/server/client"
	"portillon/server/ticket"
)

type tokenCommand struct {
	Add    tokenAdd    `cmd:"" help:"Make an API token; it is shown once."`
	List   tokenList   `cmd:"" help:"List API tokens, without their secrets."`
	Revoke tokenRevoke `cmd:"" help:"End an API token at once."`
}

type tokenAdd struct {
	apiFlags
	repeatable
	Name    string         `arg:"" help:"What it is for."`
	Scopes  []string       `name:"scope" help:"What it may do: read, issue, admin, scan; several with commas." required:"" placeholder:"SCOPE"`
	Venue   ticket.VenueID `help:"Only at this venue." placeholder:"UUID"`
	Expires time.Duration  `help:"For how long, as in 720h. Without it: until it is revoked." placeholder:"TIME"`
}

// Run makes the token.
func (t *tokenAdd) Run(ctx context.Context, out *console) error {
	body := client.NewToken{Name: t.Name, Scopes: t.Scopes, Venue: t.Venue}
	if t.Expires > 0 {
		body.ExpiresAt = time.Now().Add(t.Expires).UTC()
	}
	made, err := create[client.Token](ctx, t.apiFlags, t.Key, "/v1/tokens", body)
	if err != nil {
		return err
	}
	return out.answer(made, func() error { return out.line("%s", made.Token) })
}

type tokenList struct{ apiFlags }

// Run lists tokens.
func (t *tokenList) Run(ctx context.Context, out *console) error {
	tokens, err := all[client.Token](ctx, t.apiFlags, "/v1/tokens", nil)
	if err != nil {
		return err
	}
	return list(out, tokens, "TOKEN_ID NAME SCOPES EXPIRES REVOKED", func(t client.Token) []string {
		return []string{t.TokenID.String(), t.Name, strings.Join(t.Scopes, ","), clock(t.ExpiresAt, ""), clock(t.RevokedAt, "")}
	})
}

type tokenRevoke struct {
	apiFlags
	TokenID ticket.TokenID `arg:"" help:"The token's id, not its secret."`
}

// Run ends the token.
func (t *tokenRevoke) Run(ctx context.Context, out *console) error {
	_, err := call[struct{}](ctx, t.apiFlags, http.MethodPost, "/v1/tokens/"+t.TokenID.String()+"/revoke", nil)
	if err != nil {
		return err
	}
	return out.answer(struct {
		TokenID ticket.TokenID `json:"token_id"`
		Revoked bool           `json:"revoked"`
	}{t.TokenID, true}, func() error { return out.line("Revoked.") })
}
