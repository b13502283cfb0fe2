package load

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"time"
)

// publicURL decides the name of the wallet's cookie: over TLS it stays the plain one
// here, since both listeners share one server.
const publicURL = "http://127.0.0.1"

// Street serves the API on two loopback addresses, in clear and over TLS, until ctx
// ends; ready is told both.
func Street(ctx context.Context, databaseURL string, log *slog.Logger, ready func(plain, secure string) error) error {
	return stand(ctx, databaseURL, Crowd, log, func(handler http.Handler) error {
		plain, err := listen(ctx)
		if err != nil {
			return err
		}
		secure, err := listen(ctx)
		if err != nil {
			return err
		}
		certificate, err := selfSigned()
		if err != nil {
			return err
		}
		overTLS := tls.NewListener(secure, &tls.Config{
			Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		})
		return serve(ctx, handler, []net.Listener{plain, overTLS}, func() error {
			return ready(plain.Addr().String(), secure.Addr().String())
		})
	})
}

func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
