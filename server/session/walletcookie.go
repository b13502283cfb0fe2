package session

import (
	"net/http"
	"strings"
	"time"
)

// The wallet's cookie. With TLS the name carries the __Host- prefix (RFC 6265bis,
// section 4.1.3.2): no other host may set it, and it is never sent in clear.
const (
	walletCookieTLS   = "__Host-portillon-wallet"
	walletCookiePlain = "portillon-wallet"
)

// WalletCookieName is the name of the wallet session's cookie; secure is a server
// that is reached by HTTPS.
func WalletCookieName(secure bool) string {
	if secure {
		return walletCookieTLS
	}
	return walletCookiePlain
}

// NewWalletCookie makes the cookie of a wallet session whose secret is value
// (seal.Random); the database keeps seal.Hash of it. It is only a convenience:
// the key on the phone is the identity, and gets a new cookie at any time.
func NewWalletCookie(publicURL, value string, lifetime time.Duration) *http.Cookie {
	//nolint:gosec // without TLS (127.0.0.1, tests) a secure cookie would never be sent
	return &http.Cookie{
		Name: WalletCookieName(onTLS(publicURL)), Value: value, Path: "/",
		MaxAge: max(1, int(lifetime/time.Second)), Secure: onTLS(publicURL),
		HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}

func onTLS(publicURL string) bool {
	return len(publicURL) >= 8 && strings.EqualFold(publicURL[:8], "https://")
}
