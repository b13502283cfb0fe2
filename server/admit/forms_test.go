package admit_test

import (
	"testing"

	"portillon/server/servertest"
)

// forms are the two implementations of the act, which have to agree.
var forms = []struct {
	name string
	opts []servertest.Option
}{{"crowd", nil}, {"plain", []servertest.Option{servertest.Plain()}}}

// inBothForms runs a test over each form.
func inBothForms(t *testing.T, f func(t *testing.T, opts ...servertest.Option)) {
	t.Helper()
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) { f(t, form.opts...) })
	}
}
