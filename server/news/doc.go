// Package news tells those who wait what has just happened: a ticket was
// admitted, moved or held; a gate opened or closed. It promises to tell at once
// inside the process and soon, by notification, in the other processes on the
// same database; it never blocks a publisher, and it drops a reader who does not
// keep up instead of keeping a heap for him.
//
// News may be lost (a cut connection, a reader who was dropped): the database is
// the truth, and whoever must not miss anything looks there too. After a gap
// every subscriber is told so (Missed). It does not know who is told, and an item
// never holds a secret, a name of a person or an address.
//
// Publish only after the commit: a transaction that notifies takes a lock of the
// whole database when it commits, which would put all doors in one queue.
// Therefore notifications leave in batches on a connection of their own.
package news
