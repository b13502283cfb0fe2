// Package pgtest gives each test a real PostgreSQL with Portillon's schema, all
// its own, in the time that making its tables takes (some 60 ms for forty of them).
//
// New makes a fresh schema; tests may run in parallel, in one process and in
// many. The clock of that schema moves at the test's word (DB.Shift), without a
// sleep. Secrets that a test says it has handed out (Secret) are looked for in
// every row of the schema before it is dropped: a database that holds one fails
// the test.
//
// The server is the one that PORTILLON_TEST_DATABASE_URL names (package run starts
// one for a whole "go test ./..."), or else one that the first New of the process
// starts in a temporary folder, and that is gone with its folder a moment after
// the process. A machine without PostgreSQL fails the tests; it never skips them.
//
// It does not know what the tables mean, and it is for tests only: its server
// would not survive a power cut.
package pgtest
