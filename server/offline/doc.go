// Package offline serves gate devices that go on without network: packs out, and
// afterwards what they let happen in. It promises that each item of an upload gets
// one word, whatever the others are and however often it is sent; that nothing which
// has happened is lost, and nothing is written because a device merely says so. It
// does not know the rule (package ticket) nor how an entry is written (package admit).
//
// A device is not believed without proof: the code has to be the phone's or the
// issuer's, and the device and whoever was signed on to it must have been able to see
// it. What is not believed is quarantined: kept for a person to look at, and it
// changes no ticket.
package offline
