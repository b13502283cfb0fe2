package server

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"portillon/server/admit"
	"portillon/server/challenge"
	"portillon/server/claim"
	"portillon/server/client"
	"portillon/server/issue"
	"portillon/server/report"
	"portillon/server/session"
)

// members lists the JSON members of a type, those of its members with a path.
func members(t reflect.Type, path string) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || strings.Contains(t.PkgPath(), "time") {
		return nil
	}
	var list []string
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || !f.IsExported() {
			continue
		}
		list = append(list, path+name)
		list = append(list, members(f.Type, path+name+".")...)
	}
	return list
}

// The client is a program of its own: it repeats the bodies instead of importing
// the server, and this holds the two together. It may know fewer members, and none
// that are not there.
func TestTheClientsBodiesHaveNoMemberThatTheServerHasNot(t *testing.T) {
	for _, pair := range [][2]any{
		{client.ScanAnswer{}, admit.ScanAnswer{}}, {client.Scan{}, admit.ScanRequest{}}, {client.Undone{}, admit.UndoOut{}}, {client.Short{}, admit.ShortOut{}},
		{client.Hold{}, challenge.Held{}}, {client.WalletNonces{}, challenge.WalletNonces{}},
		{client.Venue{}, issue.Venue{}}, {client.Gate{}, issue.Gate{}}, {client.Event{}, issue.Event{}}, {client.NewEvent{}, issue.EventIn{}},
		{client.Category{}, issue.Category{}}, {client.NewCategory{}, issue.CategoryIn{}}, {client.NewTickets{}, issue.TicketsIn{}},
		{client.Issued{}, issue.Issued{}}, {client.Ticket{}, issue.Ticket{}}, {client.ClaimLink{}, issue.Link{}}, {client.Printed{}, issue.Printed{}},
		{client.ClaimKey{}, claim.KeyIn{}}, {client.Claimed{}, claim.Out{}}, {client.WalletState{}, claim.Wallet{}}, {client.OneTimeSecret{}, claim.TOTPOut{}},
		{client.Token{}, session.APIToken{}}, {client.NewToken{}, session.CreateTokenRequest{}}, {client.Device{}, session.AtDevice{}},
		{client.Report{}, report.Report{}}, {client.Imported{}, issue.Imported{}},
	} {
		theirs := members(reflect.TypeOf(pair[1]), "")
		for _, name := range members(reflect.TypeOf(pair[0]), "") {
			if name == "gates.venue" { // one Gate serves also where the venue is not said
				continue
			}
			if !slices.Contains(theirs, name) {
				t.Errorf("%T has %s, which %T has not", pair[0], name, pair[1])
			}
		}
	}
}
