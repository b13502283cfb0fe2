package issue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5"
	"golang.org/x/text/unicode/norm"

	"portillon/server/fault"
	"portillon/server/seal"
	"portillon/server/ticket"
)

// The members of a ticket that a column can fill.
const (
	colExternalID = "external_id"
	colNumber     = "number"
	colCategory   = "category"
	colSeat       = "seat"
	colName       = "holder_name"
	colEmail      = "holder_email"
	colAdmits     = "admits"
)

// Columns are these members, in the order in which forms show them.
var Columns = []string{colExternalID, colNumber, colCategory, colSeat, colName, colEmail, colAdmits}

// Mapping says which column fills a member, from 1; a member that is not in it is
// filled by none.
type Mapping map[string]int

// MappingFrom says who made a mapping.
type MappingFrom string

// Given by the caller; remembered from the last import of a file with the same
// headings at this venue; guessed from the headings.
const (
	MappingGiven      MappingFrom = "given"
	MappingRemembered MappingFrom = "remembered"
	MappingGuessed    MappingFrom = "guessed"
)

// headings are what other systems call a member, in three languages, the likeliest
// first, as plain makes them.
var headings = map[string][]string{
	colExternalID: {
		"external id", "ticket id", "order no", "order number", "booking", "booking id", "booking reference", "reference", "barcode", "code", "id", "uid",
		"identifiant", "reference billet", "reservation", "numero de commande", "code barres",
		"externi id", "cislo objednavky", "kod", "kod vstupenky", "rezervace", "carovy kod", "identifikator",
	},
	colNumber:   {"number", "ticket number", "ticket no", "no", "nr", "numero", "numero de billet", "n", "cislo", "cislo vstupenky"},
	colCategory: {"category", "ticket type", "type", "price category", "tariff", "categorie", "tarif", "type de billet", "kategorie", "typ", "typ vstupenky", "druh"},
	colSeat:     {"seat", "place", "seat number", "siege", "fauteuil", "sedadlo", "misto", "misto k sezeni"},
	colName:     {"holder name", "holder", "name", "customer", "full name", "attendee", "nom", "titulaire", "client", "nom complet", "jmeno", "drzitel", "zakaznik", "jmeno a prijmeni"},
	colEmail:    {"holder email", "email", "e mail", "mail", "email address", "courriel", "adresse e mail", "e mailova adresa"},
	colAdmits:   {"admits", "people", "persons", "quantity", "qty", "personnes", "nombre de personnes", "osob", "pocet osob", "pocet", "mnozstvi"},
}

// plain is a heading without case, accents and signs.
func plain(heading string) string {
	letters := strings.Map(func(r rune) rune {
		switch {
		case unicode.In(r, unicode.Mn):
			return -1
		case unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return ' '
	}, norm.NFKD.String(heading))
	return strings.Join(strings.Fields(letters), " ")
}

// guess finds the column of each member by its heading; a column fills one member.
func guess(titles []string) Mapping {
	m, taken := Mapping{}, map[int]bool{}
	for _, member := range Columns {
		for _, known := range headings[member] {
			i := slices.IndexFunc(titles, func(title string) bool { return plain(title) == known })
			if i >= 0 && !taken[i] {
				m[member], taken[i] = i+1, true
				break
			}
		}
	}
	return m
}

// resolve turns what a caller says, a heading or #3 for the third column, into
// columns. A heading that stands there twice has to be said by its place.
func resolve(said map[string]string, titles []string) (Mapping, error) {
	var c checks
	m := Mapping{}
	for _, member := range Columns {
		word := said[member]
		if word == "" {
			continue
		}
		if place, ok := strings.CutPrefix(word, "#"); ok {
			if n, err := strconv.Atoi(place); err == nil && n >= 1 && n <= len(titles) {
				m[member] = n
				continue
			}
		}
		word = strings.TrimSpace(norm.NFC.String(word))
		i := slices.Index(titles, word)
		switch {
		case i < 0:
			c.add(member, unknown)
		case slices.Contains(titles[i+1:], word):
			c.add(member, ambiguous)
		default:
			m[member] = i + 1
		}
	}
	return m, c.err()
}

// mapping is what the caller says, else what is remembered, else a guess.
func mapping(ctx context.Context, q querier, venue ticket.VenueID, said map[string]string, titles []string) (Mapping, MappingFrom, error) {
	if len(said) > 0 {
		m, err := resolve(said, titles)
		return m, MappingGiven, err
	}
	var m Mapping
	err := q.QueryRow(ctx, `SELECT mapping FROM imports WHERE venue_id = @venue AND headings = @headings ORDER BY at DESC LIMIT 1`,
		pgx.NamedArgs{"venue": venue, "headings": hashTitles(titles)}).Scan(&m)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return guess(titles), MappingGuessed, nil
	case err != nil:
		return nil, "", fmt.Errorf("look for the mapping: %w", err)
	}
	return m, MappingRemembered, nil
}

func hashTitles(titles []string) []byte { return seal.Hash(strings.Join(titles, "\x00")) }

func (m Mapping) check() error {
	if m[colExternalID] == 0 {
		return fault.New(fault.Invalid, "import.no_external_id", "say which column holds the other system's id of a ticket: it is the key of the import")
	}
	return nil
}

// cell is a row's cell for a member; "" where no column fills it.
func (m Mapping) cell(cells []string, member string) string {
	if i := m[member]; i > 0 && i <= len(cells) {
		return cells[i-1]
	}
	return ""
}
