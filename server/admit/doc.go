// Package admit decides at the door and writes what it decided. It promises that
// one ticket lets in as many people as it says, whoever asks at the same moment
// on whichever server; that the same ticket and key get the same answer however
// often they are sent; and that nobody is answered before the database has
// committed. It does not know the rule (package ticket), how codes are written
// (package wallet) or who may be where (package session).
package admit
