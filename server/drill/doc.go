// Package drill holds the tests of the door under fire: random lives of tickets
// over two servers, faults planted into the source, connections that are cut,
// processes that are killed, rows that somebody holds, and acts that race. Before
// the door come the desks, whose forms compete for the numbers of tickets.
//
// Everything goes over HTTP, so that the same drills hold whichever form of the act
// answers. Of the two servers one judges by each form, so that both are under fire, and
// against each other, at once; the large run has two of a form as well. Where a server
// is killed or cut off, and for the random lives, it is a process of its own. What an answer has to
// be is said here a second time, by a model that shares nothing with the rule.
//
// PORTILLON_SOAK makes the numbers large. There is no code for the product here.
package drill
