// Package challenge brings nonces from the server to those who need them: gate
// pages hold their lease here, wallets get the venue's nonce and the news of
// their tickets over one stream each. It promises that a wallet learns of a new
// nonce, of a gate that opens or closes and of its ticket's admission within a
// second, that one slow or dead phone costs nobody else anything, and that it
// says when a wallet gave its last sign of life (table presence).
//
// It does not know what a phone does with a nonce and decides about no ticket.
// Everything that it tells can be asked for as well (GET /v1/wallet and
// /v1/wallet/nonce): streams are cut by networks, and nothing may depend on them.
package challenge
