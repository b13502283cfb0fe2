package wallet

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/google/uuid"
)

var update = flag.Bool("update", false, "write testdata/vectors.json anew")

const vectorsPath = "testdata/vectors.json"

// vectors is the shape of testdata/vectors.json, which tests of other
// languages read too. Byte strings are base64url unless a name says hex.
type vectors struct {
	About      string            `json:"about"`
	Keys       map[string]vecKey `json:"keys"`
	Proofs     []vecProof        `json:"proofs"`
	Papers     []vecPaper        `json:"papers"`
	TOTP       []vecTOTP         `json:"totp"`
	GateCodes  []vecGate         `json:"gate_codes"`
	Templates  []vecTemplate     `json:"templates"`
	ClaimCodes []vecClaimCode    `json:"claim_codes"`
	Base45     []vecBase45       `json:"base45"`
	Base45Bad  []vecBad          `json:"base45_bad"`
	JWKs       []vecJWK          `json:"jwks"`
	Mutations  []vecMutation     `json:"mutations"`
}

type vecKey struct {
	PrivateKey string          `json:"private_key"`
	PublicKey  string          `json:"public_key"`
	JWK        json.RawMessage `json:"jwk"`
	Thumbprint string          `json:"thumbprint"`
	IssuerKey  string          `json:"issuer_key"`
}

type vecProof struct {
	Name         string    `json:"name"`
	Kind         string    `json:"kind"`
	Key          string    `json:"key"`
	Event        uuid.UUID `json:"event"`
	Ticket       uuid.UUID `json:"ticket"`
	Generation   uint8     `json:"generation"`
	Nonce        string    `json:"nonce,omitempty"`
	IssuedAt     int64     `json:"issued_at,omitempty"`
	SigningInput string    `json:"signing_input"`
	Signature    string    `json:"signature"`
	Packed       string    `json:"packed"`
	Text         string    `json:"text"`
}

type vecPaper struct {
	Name         string    `json:"name"`
	Key          string    `json:"key"`
	Event        uuid.UUID `json:"event"`
	Ticket       uuid.UUID `json:"ticket"`
	Generation   uint8     `json:"generation"`
	IssuerKey    string    `json:"issuer_key"`
	SigningInput string    `json:"signing_input"`
	Signature    string    `json:"signature"`
	Code         string    `json:"code"`
}

type vecTOTP struct {
	SecretHex  string    `json:"secret_hex"`
	Ticket     uuid.UUID `json:"ticket"`
	Generation uint8     `json:"generation"`
	IssuedAt   int64     `json:"issued_at"`
	Step       int64     `json:"step"`
	OTP        string    `json:"otp"`
	Code       string    `json:"code"`
}

type vecGate struct {
	Device      uuid.UUID `json:"device"`
	Nonce       string    `json:"nonce"`
	AcceptedFor uint8     `json:"accepted_for"`
	Code        string    `json:"code"`
}

type vecTemplate struct {
	Name      string    `json:"name"` // claim, session or transfer
	Key       string    `json:"key"`
	Challenge string    `json:"challenge"`
	Event     uuid.UUID `json:"event,omitzero"`
	Ticket    uuid.UUID `json:"ticket,omitzero"`
	ClaimCode string    `json:"claim_code,omitempty"`
	Address   string    `json:"address,omitempty"`
	Text      string    `json:"text"`
}

type vecClaimCode struct {
	ClaimKey string    `json:"claim_key"`
	Scope    string    `json:"scope"`
	ID       uuid.UUID `json:"id"`
	Serial   uint32    `json:"serial"`
	Code     string    `json:"code"`
	Hash     string    `json:"hash"`
}

type vecBase45 struct {
	Hex  string `json:"hex"`
	Text string `json:"text"`
}

type vecBad struct {
	Text string `json:"text"`
	Why  string `json:"why"`
}

type vecJWK struct {
	Name string `json:"name"`
	JWK  string `json:"jwk"`
	OK   bool   `json:"ok"`
}

// vecMutation is a code and what becomes of it: a parse reason, or
// bad_signature when it parses but does not verify with that key and event, or
// ok where a change is harmless.
type vecMutation struct {
	Name   string    `json:"name"`
	Code   string    `json:"code"`
	Key    string    `json:"key"`
	Event  uuid.UUID `json:"event"`
	Reason string    `json:"reason"`
	What   string    `json:"what,omitempty"`
}

// The fixed inputs of all vectors.
var (
	vecEvent      = uuid.MustParse("6f1d0f1e-5f0a-4b53-9d5b-0a7a5c1b2e33")
	vecOtherEvent = uuid.MustParse("0b9f3f0e-7a51-4a0e-8d92-3c4f5f6a7b88")
	vecTicket     = uuid.MustParse("3c9e1b52-8a44-4f0b-b1de-5d0c9a7e6f21")
	vecDevice     = uuid.MustParse("a4d2c6f0-1b3e-4c5d-8e7f-9a0b1c2d3e4f")
	vecID         = KeyID{vecTicket, 3}
	vecNonce      = first16(fixed("nonce"))
	vecChallenge  = fixed("challenge")
	vecClaimKey   = fixed("claim key")
	vecSecret     = fixed("totp secret")
)

const vecTime = 1764530100 // 2025-11-30T19:15:00Z

// fixed makes reproducible bytes that nobody would take for secret.
func fixed(name string) [32]byte { return sha256.Sum256([]byte("portillon test vectors: " + name)) }

func first16(raw [32]byte) [16]byte { return [16]byte(raw[:16]) }

func fixedKey(t testing.TB, name string) *ecdsa.PrivateKey {
	t.Helper()
	raw := fixed(name)
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), raw[:])
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// must fails the test on an error of a two-valued call.
func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// makeVectors is deterministic: a nil source of randomness means RFC 6979.
func makeVectors(t testing.TB) vectors {
	v := vectors{
		About: "Vectors of the codes in wallet/SPEC.md. Byte strings are base64url without padding unless the member's name ends in hex. " +
			"The private keys are public: never use them.",
		Keys:       map[string]vecKey{},
		GateCodes:  makeGateCodes(),
		ClaimCodes: makeClaimCodes(),
		Base45:     makeBase45(),
		Base45Bad:  badBase45,
		JWKs:       makeJWKs(t),
		Mutations:  makeMutations(t),
	}
	for _, name := range []string{"phone", "other_phone", "issuer"} {
		key := fixedKey(t, name)
		raw, thumb, id := PublicKeyOf(&key.PublicKey), Thumbprint(&key.PublicKey), IssuerKeyID(&key.PublicKey)
		secret := must[[]byte](t)(key.Bytes())
		v.Keys[name] = vecKey{b64u(secret), b64u(raw[:]), JWK(&key.PublicKey), b64u(thumb[:]), b64u(id[:])}
	}
	makeCodes(t, &v)
	makeTemplates(t, &v)
	return v
}

func makeCodes(t testing.TB, v *vectors) {
	phone, issuer := fixedKey(t, "phone"), fixedKey(t, "issuer")
	for _, id := range []KeyID{vecID, {vecTicket, 0}, {uuid.Max, 255}} {
		n := must[Code](t)(SignNonce(nil, phone, id, vecEvent, vecNonce))
		v.Proofs = append(v.Proofs, vecProof{"over a nonce, " + id.String(), "nonce", "phone", vecEvent, id.Ticket, id.Generation,
			b64u(n.Nonce[:]), 0, must[string](t)(n.phoneInput(vecEvent)), b64u(n.Signature[:]), n.String(), n.Text(vecEvent)})
		p := must[Code](t)(SignPaper(nil, issuer, id, vecEvent, IssuerKeyID(&issuer.PublicKey)))
		v.Papers = append(v.Papers, vecPaper{"paper, " + id.String(), "issuer", vecEvent, id.Ticket, id.Generation,
			b64u(p.IssuerKey[:]), p.paperInput(vecEvent), b64u(p.Signature[:]), p.String()})
	}
	for _, at := range []int64{vecTime, 1, 1<<32 - 1} {
		c := must[Code](t)(SignTime(nil, phone, vecID, vecEvent, at))
		v.Proofs = append(v.Proofs, vecProof{"by time", "time", "phone", vecEvent, vecTicket, vecID.Generation,
			"", at, must[string](t)(c.phoneInput(vecEvent)), b64u(c.Signature[:]), c.String(), c.Text(vecEvent)})
	}
	secret := vecSecret[:20]
	for _, at := range []int64{vecTime, vecTime + 14, vecTime + 15, 1e9, 9999999999} {
		c := must[Code](t)(TOTPPattern(secret, vecID, at))
		v.TOTP = append(v.TOTP, vecTOTP{hex.EncodeToString(secret), vecTicket, vecID.Generation, at, TOTPStep(at), c.OTP, c.String()})
	}
}

func makeTemplates(t testing.TB, v *vectors) {
	phone := fixedKey(t, "phone")
	code := ClaimCode(vecClaimKey[:], ScopeOrder, vecTicket, 0)
	const address = "Zoë@example.org"
	text := must[string](t)
	v.Templates = []vecTemplate{
		{Name: "claim", Key: "phone", Challenge: b64u(vecChallenge[:]), Event: vecEvent, ClaimCode: code,
			Text: text(SignClaim(nil, phone, vecChallenge, vecEvent, HashClaimCode(code)))},
		{Name: "session", Key: "phone", Challenge: b64u(vecChallenge[:]), Ticket: vecTicket,
			Text: text(SignSession(nil, phone, vecChallenge, vecTicket))},
		{Name: "transfer", Key: "phone", Challenge: b64u(vecChallenge[:]), Ticket: vecTicket, Address: address,
			Text: text(SignTransfer(nil, phone, vecChallenge, vecTicket, HashAddress(address)))},
	}
}

func makeGateCodes() (list []vecGate) {
	for _, g := range []GateCode{{vecDevice, vecNonce, 60}, {uuid.Nil, [16]byte{}, 0}, {uuid.Max, vecNonce, 255}} {
		list = append(list, vecGate{g.Device, b64u(g.Nonce[:]), g.AcceptedFor, g.String()})
	}
	return list
}

func makeClaimCodes() (list []vecClaimCode) {
	for _, scope := range []string{ScopeOrder, ScopeTicket} {
		for _, serial := range []uint32{0, 1, 1<<32 - 1} {
			code := ClaimCode(vecClaimKey[:], scope, vecTicket, serial)
			hash := HashClaimCode(code)
			list = append(list, vecClaimCode{b64u(vecClaimKey[:]), scope, vecTicket, serial, code, b64u(hash[:])})
		}
	}
	return list
}

// makeBase45 has the examples of RFC 9285, section 4, and the edges.
func makeBase45() []vecBase45 {
	list := []vecBase45{
		{hex.EncodeToString([]byte("AB")), "BB8"},
		{hex.EncodeToString([]byte("Hello!!")), "%69 VD92EX0"},
		{hex.EncodeToString([]byte("base-45")), "UJCLQE7W581"},
		{hex.EncodeToString([]byte("ietf!")), "QED8WEX0"},
	}
	for _, raw := range []string{"", "00", "ff", "0000", "ffff", "00ff", "ff00ff"} {
		b, _ := hex.DecodeString(raw)
		list = append(list, vecBase45{raw, EncodeBase45(b)})
	}
	return list
}

var badBase45 = []vecBad{
	{"GGW", "65536 does not fit in two bytes (RFC 9285, section 6)"},
	{":::", "the greatest group"},
	{"V5", "256 does not fit in a last byte"},
	{"::", "the greatest last group"},
	{"A", "no encoding has one character"},
	{"BB8A", "no encoding has four characters"},
	{"bb8", "lower case"},
	{"BB8\n", "line break"},
	{"BB_", "outside the alphabet"},
	{"BB\u00e9", "outside ASCII"},
	{"\x00B8", "control character"},
}

func encodeVectors(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(makeVectors(t)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// loadVectors reads the committed file, strictly.
func loadVectors(t testing.TB) vectors {
	t.Helper()
	text, err := os.ReadFile(vectorsPath)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	var v vectors
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTheVectorsFileIsWhatThisPackageMakes(t *testing.T) {
	want := encodeVectors(t)
	if *update {
		if err := os.WriteFile(vectorsPath, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(vectorsPath)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("%s differs from what the code makes; if that is meant: go test ./wallet -run VectorsFile -update", vectorsPath)
	}
}
