package session

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"portillon/server/audit"
	"portillon/server/fault"
	"portillon/server/pg"
	"portillon/server/repeat"
	"portillon/server/ticket"
)

// Person is somebody of the staff, as admins see him.
type Person struct {
	Person      ticket.PersonID `json:"person"`
	Name        string          `json:"name"`
	Email       string          `json:"email"`
	Grants      []Grant         `json:"grants"`
	Disabled    bool            `json:"disabled"`
	HasPassword bool            `json:"has_password"`
	HasPIN      bool            `json:"has_pin"`
	// HasSecondFactor says whether signing in asks for a code besides.
	HasSecondFactor bool      `json:"has_second_factor"`
	CreatedAt       time.Time `json:"created_at"`
	// SignInLink is set in the answer that makes the person only.
	SignInLink string `json:"sign_in_link,omitempty"`
}

// PersonIn makes a person. Without a password a one-time link is made.
type PersonIn struct {
	Name     string
	Email    string
	Password string
	Grants   []Grant
	Repeat   repeat.Call
}

// AskedPerson is a PersonIn as far as an Idempotency-Key stands for it. It says
// whether there is a password, not which: everything else is easily known, so
// that a plain hash of all of it could be tried against billions of passwords a
// second, past the slow hash that guards them.
type AskedPerson struct {
	Name     string
	Email    string
	Grants   []Grant
	WithLink bool
}

// Asked is what repeat.Hash is made from, as JSON.
func (in PersonIn) Asked() AskedPerson {
	return AskedPerson{Name: in.Name, Email: in.Email, Grants: in.Grants, WithLink: in.Password == ""}
}

// AddPerson makes a person with his roles. The caller must be an admin wherever
// he gives a role. Faults: request.fields, person.email_taken,
// session.right_missing, request.key_conflict.
func (s *Service) AddPerson(ctx context.Context, by Caller, in PersonIn) (Person, error) {
	in.Name, in.Email = strings.TrimSpace(in.Name), canonical(in.Email)
	if err := in.check(); err != nil {
		return Person{}, err
	}
	if err := requireOver(by, in.Grants); err != nil {
		return Person{}, err
	}
	var hash *string
	if in.Password != "" {
		made, err := s.hash(ctx, in.Password)
		if err != nil {
			return Person{}, err
		}
		hash = &made
	}
	var person ticket.PersonID
	err := pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		earlier, found, err := repeat.Find(ctx, tx, by, in.Repeat)
		if err != nil {
			return err
		}
		if found {
			person = ticket.PersonID(earlier)
			return nil
		}
		person, err = s.addPerson(ctx, tx, by, in, hash)
		return err
	})
	if err != nil {
		return Person{}, err
	}
	out, err := s.readPerson(ctx, person)
	if err == nil && in.Password == "" {
		out.SignInLink = s.signInURL(s.firstLink(person))
	}
	return out, err
}

func (s *Service) addPerson(ctx context.Context, tx pgx.Tx, by Caller, in PersonIn, hash *string) (ticket.PersonID, error) {
	person := ticket.PersonID(uuid.New())
	_, err := tx.Exec(ctx, `
INSERT INTO people (id, email, name, password_hash) VALUES (@person, @email, @name, @hash)`,
		pgx.NamedArgs{"person": person, "email": in.Email, "name": in.Name, "hash": hash})
	if pg.Constraint(err) == "people_email_key" {
		return person, fault.New(fault.Conflict, "person.email_taken", "there is a person with this e-mail address already")
	}
	if err != nil {
		return person, fmt.Errorf("add the person: %w", err)
	}
	if err := setGrants(ctx, tx, person, in.Grants); err != nil {
		return person, err
	}
	if hash == nil {
		if err := addLink(ctx, tx, person, s.firstLink(person), LinkTTL); err != nil {
			return person, err
		}
	}
	if err := repeat.Made(ctx, tx, by, in.Repeat, person.UUID()); err != nil {
		return person, err
	}
	return person, audit.Write(ctx, tx, by, audit.Act{
		Name: "person.add", Subject: person, Details: map[string]any{"grants": in.Grants, "with_link": hash == nil},
	})
}

// PersonChange is what to change; what is nil stays.
type PersonChange struct {
	Name     *string
	Grants   *[]Grant
	Disabled *bool
}

// ChangePerson changes a person's name or roles, or disables him: his sessions,
// tokens and sign-ons count no more from the next request on. The caller must be
// an admin wherever the person has a role, before and after. Nobody disables
// himself or changes his own roles. Faults: request.fields, person.not_found,
// person.self, session.right_missing.
func (s *Service) ChangePerson(ctx context.Context, by Caller, person ticket.PersonID, in PersonChange) (Person, error) {
	if err := in.check(); err != nil {
		return Person{}, err
	}
	err := pg.Tx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		had, err := lockPerson(ctx, tx, person)
		if err != nil {
			return err
		}
		if err := in.allowed(by, person, had); err != nil {
			return err
		}
		if err := in.write(ctx, tx, person); err != nil {
			return err
		}
		return audit.Write(ctx, tx, by, audit.Act{Name: "person.change", Subject: person, Details: in.details()})
	})
	if err != nil {
		return Person{}, err
	}
	return s.readPerson(ctx, person)
}

func (in PersonChange) allowed(by Caller, person ticket.PersonID, had []Grant) error {
	if err := requireOver(by, had); err != nil {
		return err
	}
	if in.Grants != nil {
		if err := requireOver(by, *in.Grants); err != nil {
			return err
		}
	}
	if by.Kind != ByShell && by.Person == person && (in.Grants != nil || in.Disabled != nil) {
		return fault.New(fault.Conflict, "person.self", "another admin must change your roles or disable you")
	}
	return nil
}

func (in PersonChange) write(ctx context.Context, tx pgx.Tx, person ticket.PersonID) error {
	_, err := tx.Exec(ctx, `
UPDATE people SET name = coalesce(@name, name),
  disabled_at = CASE WHEN @disabled::boolean THEN coalesce(disabled_at, portillon_now())
                     WHEN @disabled IS NULL THEN disabled_at END
WHERE id = @person`,
		pgx.NamedArgs{"person": person, "name": in.Name, "disabled": in.Disabled})
	if err != nil {
		return fmt.Errorf("change the person: %w", err)
	}
	if in.Disabled != nil && *in.Disabled {
		_, err = tx.Exec(ctx, `
UPDATE sign_ons SET signed_off_at = portillon_now() WHERE person_id = @person AND signed_off_at IS NULL`,
			pgx.NamedArgs{"person": person})
		if err != nil {
			return fmt.Errorf("sign the person off: %w", err)
		}
	}
	if in.Grants == nil {
		return nil
	}
	return setGrants(ctx, tx, person, *in.Grants)
}

// details name what changed; a name itself is no matter for the audit.
func (in PersonChange) details() map[string]any {
	d := map[string]any{}
	if in.Name != nil {
		d["name"] = true
	}
	if in.Grants != nil {
		d["grants"] = *in.Grants
	}
	if in.Disabled != nil {
		d["disabled"] = *in.Disabled
	}
	return d
}

// lockPerson locks the person's row and reads his grants.
func lockPerson(ctx context.Context, tx pgx.Tx, person ticket.PersonID) ([]Grant, error) {
	var locked bool
	err := tx.QueryRow(ctx, `SELECT true FROM people WHERE id = @person FOR NO KEY UPDATE`,
		pgx.NamedArgs{"person": person}).Scan(&locked)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, personNotFound()
	}
	if err != nil {
		return nil, fmt.Errorf("lock the person: %w", err)
	}
	return readGrants(ctx, tx, person)
}

func personNotFound() error {
	return fault.New(fault.NotFound, "person.not_found", "there is no such person")
}

func setGrants(ctx context.Context, tx pgx.Tx, person ticket.PersonID, grants []Grant) error {
	if _, err := tx.Exec(ctx, `DELETE FROM person_roles WHERE person_id = @person`, pgx.NamedArgs{"person": person}); err != nil {
		return fmt.Errorf("replace the roles: %w", err)
	}
	for _, g := range grants {
		_, err := tx.Exec(ctx, `
INSERT INTO person_roles (person_id, venue_id, role, can_override) VALUES (@person, @venue, @role, @can_override)`,
			pgx.NamedArgs{"person": person, "venue": null(g.Venue), "role": string(g.Role), "can_override": g.CanOverride})
		if pg.Constraint(err) == "person_roles_venue_id_fkey" {
			return fault.Fields(fault.Field{Name: "grants.venue", Code: "unknown"})
		}
		if err != nil {
			return fmt.Errorf("give the role: %w", err)
		}
	}
	return nil
}

// requireOver refuses a caller who is not an admin wherever the grants are:
// whoever may give or reset them could otherwise become more than he is.
func requireOver(by Caller, grants []Grant) error {
	if err := by.Require(Admin, ticket.VenueID{}); err != nil {
		return err
	}
	for _, g := range grants {
		err := by.Require(Admin, g.Venue)
		if g.Venue.IsZero() {
			err = by.RequireEverywhere(Admin)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (in PersonIn) check() error {
	fields := append(nameFields(in.Name), grantFields(in.Grants)...)
	if parsed, err := mail.ParseAddress(in.Email); err != nil || parsed.Address != in.Email {
		fields = append(fields, fault.Field{Name: "email", Code: "invalid"})
	}
	if len(fields) > 0 {
		return fault.Fields(fields...)
	}
	if in.Password == "" {
		return nil
	}
	if err := passwordFault("password", in.Password); err != nil {
		return err
	}
	return nil
}

func (in *PersonChange) check() error {
	var fields []fault.Field
	if in.Name != nil {
		trimmed := strings.TrimSpace(*in.Name)
		in.Name = &trimmed
		fields = nameFields(trimmed)
	}
	if in.Grants != nil {
		fields = append(fields, grantFields(*in.Grants)...)
	}
	if len(fields) > 0 {
		return fault.Fields(fields...)
	}
	return nil
}

// Lengths: an address as in RFC 5321, section 4.5.3.1.3, in octets; names in
// characters.
const (
	emailMax = 254
	nameMax  = 100
)

func nameFields(name string) []fault.Field {
	switch {
	case name == "":
		return []fault.Field{{Name: "name", Code: "required"}}
	case utf8.RuneCountInString(name) > nameMax:
		return []fault.Field{{Name: "name", Code: "too_long"}}
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return []fault.Field{{Name: "name", Code: "invalid"}}
	}
	return nil
}

func grantFields(grants []Grant) []fault.Field {
	var fields []fault.Field
	venues := map[ticket.VenueID]bool{}
	for _, g := range grants {
		if !g.Role.Known() {
			fields = append(fields, fault.Field{Name: "grants.role", Code: "unknown"})
		}
		if venues[g.Venue] {
			fields = append(fields, fault.Field{Name: "grants.venue", Code: "twice"})
		}
		venues[g.Venue] = true
	}
	return fields
}

// canonical is the one spelling of an e-mail address that is stored; "" for what
// the database would not even look for.
func canonical(email string) string {
	email = strings.ToLower(strings.TrimSpace(email))
	if len(email) > emailMax || strings.ContainsRune(email, 0) {
		return ""
	}
	return email
}
