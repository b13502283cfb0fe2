package main

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"portillon/server"
	"portillon/server/repeat"
	"portillon/server/session"
	"portillon/server/ticket"
)

type staffCommand struct {
	Add     staffAdd     `cmd:"" help:"Add a person; prints a link that signs them in once."`
	List    staffList    `cmd:"" help:"List people and their roles."`
	Disable staffDisable `cmd:"" help:"End a person's access at once."`
	Reset   staffReset   `cmd:"" help:"A new one-time link, or a new password, for a person."`
	Token   staffToken   `cmd:"" help:"Make an API token that acts for a person: the first one, for the commands that need one."`
}

// officeFlags are those of commands that work on the database as the operator.
type officeFlags struct {
	databaseFlags
	PublicURL string `help:"What links begin with. Without it: the address of the server that runs on the data folder." env:"PORTILLON_PUBLIC_URL" placeholder:"URL"`
}

// work opens the server's verbs, lets fn work with them as the operator, and
// closes all again.
func (f officeFlags) work(ctx context.Context, out *console, fn func(context.Context, *server.Server) error) error {
	log := out.logger()
	db, err := f.open(ctx, log, false)
	if err != nil {
		return err
	}
	defer db.close(ctx)
	address := f.PublicURL
	for _, other := range []string{db.served, defaultURL} {
		if address == "" {
			address = other
		}
	}
	verbs, err := db.server(ctx, f.databaseFlags, server.Options{PublicURL: address, Log: log})
	if err != nil {
		return err
	}
	defer func() { _ = verbs.Close(context.WithoutCancel(ctx)) }()
	return fn(ctx, verbs)
}

type staffAdd struct {
	officeFlags
	repeatable
	Name          string         `help:"The person's name, as staff see it." required:""`
	Email         string         `help:"The address that the person signs in with." required:""`
	Role          session.Role   `help:"controller (scans), supervisor (also undoes and lets in by judgement), admin (everything)." enum:"controller,supervisor,admin" required:""`
	Venue         ticket.VenueID `help:"Only at this venue. Without it: at every venue." placeholder:"UUID"`
	CanOverride   bool           `help:"A controller who may let in by judgement, once a ticket."`
	PasswordStdin bool           `help:"Read a password from standard input instead of making a one-time link."`
}

// Run adds the person.
func (s *staffAdd) Run(ctx context.Context, out *console) error {
	var password string
	if s.PasswordStdin {
		var err error
		if password, err = out.secretLine("password"); err != nil {
			return err
		}
	}
	in := s.person(password)
	return s.work(ctx, out, func(ctx context.Context, verbs *server.Server) error {
		person, err := verbs.Session.AddPerson(ctx, session.Operator, in)
		if err != nil {
			return err
		}
		return out.answer(person, func() error {
			if person.SignInLink == "" {
				return out.line("%s can sign in with %s.", person.Name, person.Email)
			}
			return out.line("This link signs %s in, once, within 24 hours:\n%s", person.Name, person.SignInLink)
		})
	})
}

func (s *staffAdd) person(password string) session.PersonIn {
	in := session.PersonIn{
		Name: s.Name, Email: s.Email, Password: password,
		Grants: []session.Grant{{Venue: s.Venue, Role: s.Role, CanOverride: s.CanOverride}},
	}
	in.Repeat = repeatOf(s.Key, "person", in.Asked())
	return in
}

type staffList struct{ officeFlags }

// Run lists people.
func (s *staffList) Run(ctx context.Context, out *console) error {
	return s.work(ctx, out, func(ctx context.Context, verbs *server.Server) error {
		people, err := everyone(ctx, verbs)
		if err != nil {
			return err
		}
		return list(out, people, "EMAIL NAME ROLES STATE", func(p session.Person) []string {
			return []string{p.Email, p.Name, roles(p.Grants), either(p.Disabled, "disabled", "active")}
		})
	})
}

func everyone(ctx context.Context, verbs *server.Server) (people []session.Person, err error) {
	for cursor := ""; ; {
		page, next, err := verbs.Session.ListPeople(ctx, session.Operator, session.PeopleIn{Cursor: cursor})
		if people = append(people, page...); err != nil || next == "" {
			return people, err
		}
		cursor = next
	}
}

func roles(grants []session.Grant) string {
	words := make([]string, 0, len(grants))
	for _, g := range grants {
		word := string(g.Role)
		if !g.Venue.IsZero() {
			word += "@" + g.Venue.String()
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// onePerson is the argument of commands about one person.
type onePerson struct {
	officeFlags
	Email string `arg:"" help:"The person's e-mail address."`
}

type staffDisable struct{ onePerson }

// Run ends the person's access.
func (s *staffDisable) Run(ctx context.Context, out *console) error {
	return s.work(ctx, out, func(ctx context.Context, verbs *server.Server) error {
		person, err := verbs.Session.PersonByEmail(ctx, session.Operator, s.Email)
		if err != nil {
			return err
		}
		yes := true
		person, err = verbs.Session.ChangePerson(ctx, session.Operator, person.Person, session.PersonChange{Disabled: &yes})
		if err != nil {
			return err
		}
		return out.answer(person, func() error { return out.line("%s has no access any more.", person.Name) })
	})
}

type staffReset struct {
	onePerson
	PasswordStdin bool `help:"Read a password from standard input instead of making a one-time link."`
	SecondFactor  bool `help:"Also take the second factor away, for who has lost phone and recovery codes."`
}

type signInLink struct {
	Person     ticket.PersonID `json:"person"`
	SignInLink string          `json:"sign_in_link,omitempty"`
}

// Run makes a new way in.
func (s *staffReset) Run(ctx context.Context, out *console) error {
	return s.work(ctx, out, func(ctx context.Context, verbs *server.Server) error {
		person, err := s.person(ctx, verbs)
		if err != nil {
			return err
		}
		if s.PasswordStdin {
			return s.setPassword(ctx, out, verbs, person)
		}
		link, err := verbs.Session.SignInLink(ctx, session.Operator, person.Person, session.LinkTTL)
		if err != nil {
			return err
		}
		return out.answer(signInLink{person.Person, link}, func() error {
			return out.line("This link signs %s in, once, within 24 hours:\n%s", person.Name, link)
		})
	})
}

// person finds who is meant, without the second factor if it is to go.
func (s *staffReset) person(ctx context.Context, verbs *server.Server) (session.Person, error) {
	person, err := verbs.Session.PersonByEmail(ctx, session.Operator, s.Email)
	if err != nil || !s.SecondFactor {
		return person, err
	}
	return verbs.Session.ResetFactor(ctx, session.Operator, person.Person)
}

func (s *staffReset) setPassword(ctx context.Context, out *console, verbs *server.Server, person session.Person) error {
	password, err := out.secretLine("password")
	if err != nil {
		return err
	}
	if _, err := verbs.Session.SetPassword(ctx, session.Operator, person.Person, session.PasswordIn{Password: password}); err != nil {
		return err
	}
	return out.answer(signInLink{Person: person.Person}, func() error {
		return out.line("%s signs in with the new password.", person.Name)
	})
}

type staffToken struct {
	onePerson
	repeatable
	Name    string          `arg:"" help:"What the token is for."`
	Scopes  []session.Scope `name:"scope" help:"What it may do: read, issue, admin, scan; several with commas." required:"" placeholder:"SCOPE"`
	Venue   ticket.VenueID  `help:"Only at this venue." placeholder:"UUID"`
	Expires time.Duration   `help:"For how long, as in 720h. Without it: until it is revoked." placeholder:"TIME"`
}

// Run makes the token.
func (s *staffToken) Run(ctx context.Context, out *console) error {
	in := session.TokenIn{Name: s.Name, Scopes: s.Scopes, Venue: s.Venue}
	in.Repeat = repeatOf(s.Key, "token", in)
	if s.Expires > 0 {
		until := time.Now().Add(s.Expires).UTC()
		in.ExpiresAt = &until
	}
	return s.work(ctx, out, func(ctx context.Context, verbs *server.Server) error {
		person, err := verbs.Session.PersonByEmail(ctx, session.Operator, s.Email)
		if err != nil {
			return err
		}
		made, err := verbs.Session.CreateToken(ctx, operatorAs(person.Person), in)
		if err != nil {
			return err
		}
		return out.answer(made, func() error { return out.line("%s", made.Token) })
	})
}

// repeatOf is the creating call with a key; without one nothing is repeated. The
// database keeps a plain hash of what is asked for: give it no password.
func repeatOf(key ticket.Key, act string, in any) repeat.Call {
	body, _ := json.Marshal(in) // plain fields: it never fails
	return repeat.Call{Key: key.UUID(), Act: act, Hash: repeat.Hash(body)}
}
