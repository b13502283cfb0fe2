package wallet

import "github.com/google/uuid"

// GateCode is what a gate device shows to a phone without network: a nonce
// that only this device will accept. It is never a ticket.
type GateCode struct {
	Device      uuid.UUID // the gate device that shows the code
	Nonce       [16]byte
	AcceptedFor uint8 // seconds from issue
}

const (
	gateKind  = 5 // low nibble of the first byte; 4 is left to one-time codes
	gateBytes = 1 + 16 + 16 + 1 + 2
	gateChars = len(prefixGate) + gateBytes/2*3
)

// String prints the code, 58 characters.
func (g GateCode) String() string {
	raw := make([]byte, 0, gateBytes)
	raw = append(raw, packedVersion|gateKind)
	raw = append(raw, g.Device[:]...)
	raw = append(raw, g.Nonce[:]...)
	raw = append(raw, g.AcceptedFor, 0, 0) // the last two bytes are reserved
	return prefixGate + EncodeBase45(raw)
}

// ParseGateCode reads a gate's code exactly; errors are *ParseError with the
// reasons Malformed and UnsupportedVersion, and NotATicket for a text that has
// another prefix altogether.
func ParseGateCode(code string) (GateCode, error) {
	if len(code) < len(prefixGate) || code[:len(prefixGate)] != prefixGate {
		return GateCode{}, notATicket(WhatOther)
	}
	if len(code) != gateChars {
		return GateCode{}, malformed("a gate code of %d characters", len(code))
	}
	raw, err := DecodeBase45(code[len(prefixGate):])
	if err != nil {
		return GateCode{}, malformed("gate code: %w", err)
	}
	kind, err := packedKind(raw)
	if err != nil {
		return GateCode{}, err
	}
	if kind != gateKind || raw[34] != 0 || raw[35] != 0 {
		return GateCode{}, malformed("gate code: kind or reserved bytes")
	}
	g := GateCode{AcceptedFor: raw[33]}
	copy(g.Device[:], raw[1:17])
	copy(g.Nonce[:], raw[17:33])
	return g, nil
}
