// Package pg is all that Portillon knows about PostgreSQL itself, as opposed to
// what it keeps there: a server of its own (Start), the pool (Open), the
// transaction (Tx), what an error means (Constraint, Unavailable and friends),
// and migrations (Migrate, Status, CheckVersion).
//
// It promises that:
//
//   - a data folder is never deleted or overwritten, that one folder is served by
//     one process at a time, and that killing this process shuts the database
//     down cleanly (on Linux; elsewhere the next Start does it);
//   - a server of its own is reached through a private socket folder only, never
//     through the network;
//   - every pool works at READ COMMITTED with time limits on statements, locks
//     and idle transactions, and sees times in UTC;
//   - a transaction whose fate is not known says so (ErrOutcomeUnknown), and one
//     that the server quietly rolled back is not reported as committed.
//
// It does not know one table: migrations come in as a file system, and the names
// of constraints as strings. It does not read the environment.
package pg
