package wallet

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/uuid"
)

// Phone is the reference wallet: it holds tickets with their private keys and
// signs. Tests, load and the command line use it; customers' phones keep their
// keys where no program can read them. A Phone is not safe for concurrent
// changes; signing with its tickets is.
type Phone struct {
	Tickets []*HeldTicket
}

// HeldTicket is a ticket on a Phone. Generation is zero until a claim was
// answered.
type HeldTicket struct {
	KeyID
	Event uuid.UUID
	Key   *ecdsa.PrivateKey
	// OneTime is the secret of the claim's one-time codes; nil: never asked for.
	OneTime []byte
}

// ErrKeyFile means a key file that is not one, or that others can read.
var ErrKeyFile = errors.New("wallet: unusable key file")

// Add makes a key for a ticket and holds it in place of an older one of the
// same ticket.
func (p *Phone) Add(ticket, event uuid.UUID) (*HeldTicket, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("wallet: make a key: %w", err)
	}
	p.Remove(ticket)
	held := &HeldTicket{KeyID: KeyID{Ticket: ticket}, Event: event, Key: key}
	p.Tickets = append(p.Tickets, held)
	return held, nil
}

// Find gives a held ticket, or nil.
func (p *Phone) Find(ticket uuid.UUID) *HeldTicket {
	for _, held := range p.Tickets {
		if held.Ticket == ticket {
			return held
		}
	}
	return nil
}

// Remove forgets a ticket and its key.
func (p *Phone) Remove(ticket uuid.UUID) {
	p.Tickets = slices.DeleteFunc(p.Tickets, func(h *HeldTicket) bool { return h.Ticket == ticket })
}

// JWK is the public key to send with a claim.
func (h *HeldTicket) JWK() []byte { return JWK(&h.Key.PublicKey) }

// SignNonce makes the proof to show for a nonce.
func (h *HeldTicket) SignNonce(nonce [16]byte) (Code, error) {
	return SignNonce(rand.Reader, h.Key, h.KeyID, h.Event, nonce)
}

// SignTime makes the proof to show without a nonce; unix is in seconds.
func (h *HeldTicket) SignTime(unix int64) (Code, error) {
	return SignTime(rand.Reader, h.Key, h.KeyID, h.Event, unix)
}

// SignClaim answers the challenge of a claim made with a claim code.
func (h *HeldTicket) SignClaim(challenge [32]byte, claimCode string) (string, error) {
	return SignClaim(rand.Reader, h.Key, challenge, h.Event, HashClaimCode(claimCode))
}

// SignSession answers the challenge of a wallet session.
func (h *HeldTicket) SignSession(challenge [32]byte) (string, error) {
	return SignSession(rand.Reader, h.Key, challenge, h.Ticket)
}

// SignTransfer gives the ticket to another e-mail address.
func (h *HeldTicket) SignTransfer(challenge [32]byte, address string) (string, error) {
	return SignTransfer(rand.Reader, h.Key, challenge, h.Ticket, HashAddress(address))
}

// OneTimeCode is the eight digits to say after the ticket's number; unix is in
// seconds. The error is ErrTOTP.
func (h *HeldTicket) OneTimeCode(unix int64) (string, error) {
	return TOTPCode(h.OneTime, TOTPStep(unix))
}

// OneTimePattern is the same code as a wallet app shows it in a QR. The error is
// ErrTOTP.
func (h *HeldTicket) OneTimePattern(unix int64) (Code, error) {
	return TOTPPattern(h.OneTime, h.KeyID, unix)
}

// keyFile is the shape of the file: the members of the glossary.
type keyFile struct {
	Version int          `json:"version"`
	Tickets []fileTicket `json:"tickets"`
}

type fileTicket struct {
	Ticket     uuid.UUID `json:"ticket"`
	Generation uint8     `json:"generation"`
	Event      uuid.UUID `json:"event"`
	PrivateKey string    `json:"private_key"`        // base64url of 32 bytes
	OneTime    []byte    `json:"one_time,omitempty"` // base64
}

// Save writes the key file, readable by its owner only. It replaces the old
// file in one step: a key whose ticket was claimed must survive a crash.
func (p *Phone) Save(path string) error {
	text, err := p.marshal()
	if err != nil {
		return fmt.Errorf("wallet: save: %w", err)
	}
	return replaceFile(path, text)
}

func (p *Phone) marshal() ([]byte, error) {
	file := keyFile{Version: 1, Tickets: []fileTicket{}}
	for _, held := range p.Tickets {
		secret, err := held.Key.Bytes()
		if err != nil {
			return nil, err
		}
		file.Tickets = append(file.Tickets, fileTicket{held.Ticket, held.Generation, held.Event, b64u(secret), held.OneTime})
	}
	text, err := json.MarshalIndent(file, "", "  ")
	return append(text, '\n'), err
}

// replaceFile relies on CreateTemp making files of mode 0600.
func replaceFile(path string, text []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".wallet-*")
	if err != nil {
		return fmt.Errorf("wallet: save: %w", err)
	}
	_, werr := tmp.Write(text)
	err = errors.Join(werr, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("wallet: save: %w", errors.Join(err, os.Remove(tmp.Name())))
	}
	return nil
}

// LoadPhone reads a key file. The error is ErrKeyFile for a file that others
// than its owner can read or that is not a key file, fs.ErrNotExist where
// there is none.
func LoadPhone(path string) (*Phone, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("wallet: load: %w", err)
	}
	defer f.Close() // read only
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("wallet: load: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%w: %s has mode %04o, wanted 0600", ErrKeyFile, path, info.Mode().Perm())
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("wallet: load: %w", err)
	}
	return parsePhone(text)
}

func parsePhone(text []byte) (*Phone, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	var file keyFile
	if err := dec.Decode(&file); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKeyFile, err)
	}
	if dec.More() {
		return nil, fmt.Errorf("%w: more than one value", ErrKeyFile)
	}
	if file.Version != 1 {
		return nil, fmt.Errorf("%w: version %d", ErrKeyFile, file.Version)
	}
	p := &Phone{}
	for _, t := range file.Tickets {
		secret := make([]byte, 32)
		if !fromB64u(secret, t.PrivateKey) {
			return nil, fmt.Errorf("%w: private key of ticket %s", ErrKeyFile, t.Ticket)
		}
		key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), secret)
		if err != nil {
			return nil, fmt.Errorf("%w: private key of ticket %s: %w", ErrKeyFile, t.Ticket, err)
		}
		p.Tickets = append(p.Tickets, &HeldTicket{KeyID{t.Ticket, t.Generation}, t.Event, key, t.OneTime})
	}
	return p, nil
}
