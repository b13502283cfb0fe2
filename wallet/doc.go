// Package wallet holds the codes and keys of a ticket: what a phone shows at
// the door, what a printer prints, what a gate shows to a phone, and what a
// phone signs when it claims, identifies itself or gives a ticket away.
//
// It promises that a code has exactly one spelling (what parses prints back to
// the same bytes), that nothing is verified but a template this package filled
// itself, so that no header of a token is ever obeyed, and that every reason
// for which a code is not a ticket has one name. SPEC.md says the same for
// people who write a wallet in another language; testdata/vectors.json says it
// for their tests.
//
// It does not know the time, the network, any database, whether a ticket
// exists or whether a nonce is fresh: those come in as arguments or are the
// caller's to judge. A code that verifies is authentic, not admissible.
package wallet
