// Package admit decides at the door and writes what it decided. It promises that
// one ticket lets in as many people as it says, whoever asks at the same moment
// on whichever server; that the same ticket and key get the same answer however
// often they are sent; and that nobody is answered before the database has
// committed. It does not know the rule (package ticket), how codes are written
// (package wallet) or who may be where (package session).
//
// A one-time code is tried with the ticket's row locked: a step is used up by the
// first scan that brings it, admitted or not, and wrong ones are counted in the same
// transaction. The secret stays on the server.
//
// The act has two forms with one rule and one set of facts. Alone, a scan has a
// transaction of its own (Service.alone): the reference. In a crowd, the scans that
// wait while one transaction is under way go together into the next (engine): two
// round trips for all of them. What is rare, what a person judges, and a ticket
// whose row somebody holds are judged alone in both.
package admit
