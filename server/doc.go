// Package server builds the product from its parts by plain calls and serves it:
// routes.go is the table of calls, pages.go the three pages, metrics.go what an
// operator watches.
//
// # Where things are
//
// A scan is readable in three files: admit/http.go decodes and encodes,
// admit/admit.go is the act (lock, read, decide, write), ticket/decide.go is the
// rule. What the act reads is in admit/read.go; admit/engine.go is the same act for
// all the scans that wait at the same time.
// A wall between folders is a wall between rights:
//
//	ticket     the rule at the door, pure
//	issue      events, gates, categories, numbers, tickets: the desk's acts; import
//	claim      a ticket moves onto a phone
//	challenge  leases over HTTP and the stream to the wallets
//	admit      the decision and its transaction, and taking it back
//	report     counts, and what the doors answered over time
//	session    who asks: people, roles, devices, tokens
//	audit      who changed what
//	repeat     creating calls that may be sent twice
//	keyring    the claim key and the issuer's keys
//	seal       sealing and deriving secrets with the operator's key
//	news       what wallets are told, within and across processes
//	problem    faults become application/problem+json
//	fault      errors with a stable code
//	locale     sentences in three languages
//	exchange   CSV, read and written
//	crowd      calls that wait at the same time are answered together
//	wire       what every http.go shares
//	pg         PostgreSQL: the launcher, the pool, transactions, migrations
//	client     the API's typed client, for the command line and tests
//	pgtest     a fresh schema for each test
//	servertest a running server for each test
//
// imports_test.go holds as a table who may import whom.
package server
