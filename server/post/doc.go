// Package post writes mails and sends them. It promises that a mail is asked for in
// the transaction of the act that it is about, so that there is no mail without its
// act and no act without its mail; that one act makes one mail however often its job
// runs; that a job carries the mail's id and nothing else, the address being read
// and the link derived at the moment of sending; and that every step of every
// attempt (compose, connect, STARTTLS, authenticate, send) is kept with its time
// and outcome in the database and in a daily journal, by one writer. It does not
// know who may ask for a mail.
//
// Once is a promise of the database, not of mail: when this process dies after the
// server took the text and before that is written down, the text goes out again
// after sendingFor. Both copies then have the same Message-ID.
package post
