// Package claim moves tickets onto phones. It promises that a ticket is bound to
// the first key that asks with the right link and signature, and to no second
// one; that an answer that was lost can be had again by the same key; that a new
// claim kills the one before it, phone or paper, in the same transaction; and
// that a request for several tickets binds all of them or none.
//
// From a phone that has them, tickets move by digits that are mailed to their holder:
// each try is counted before it is compared, the holder is mailed and may say "not me"
// until doors open, and how often a ticket moves is bounded.
//
// The key on the phone is the identity. The cookie of a wallet session is only a
// convenience that the key can renew at any time: it gives nonces and news.
//
// A claim may have a secret for one-time codes, for whoever signs with its key; it is
// kept sealed, and the next claim ends it.
//
// It does not know how a link reaches its customer, nor anything about doors. It
// stores no claim code, challenge or cookie, but their hashes; the digits of a move are
// derived, and stored in no form.
package claim
