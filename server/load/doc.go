// Package load measures the door: it fills a database with tickets, starts the
// server as a process of its own, lets gates scan over HTTP as fast as they can,
// and runs the classic four statements of an idempotent scan by pgbench beside it.
// And the queue before it: it lets a crowd of phones follow their streams and tells
// how soon each has a new nonce.
//
// It promises that every answer is checked (a wrong one fails the measurement),
// that what is compared is measured in alternating rounds of one run, and that
// nothing is left behind. It does not judge the figures: machines differ.
package load
