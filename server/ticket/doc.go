// Package ticket is the heart of the product: what a ticket, an event and a
// category are, and the rule that decides at the door (Decide). It is pure. It
// promises that the same facts give the same decision, in the fixed order of
// checks that reasons.go documents, and that nothing about a ticket's state is
// said before its signature is known to be good. It knows no clock, no HTTP and
// no database: time and facts come in as arguments.
package ticket
