package offline_test

import (
	"context"
	"encoding/base64"

	"portillon/server/ticket"
)

func (s *scanner) takePack(gate ticket.GateID) {
	s.seed, _ = base64.RawURLEncoding.DecodeString(s.night.Box.Secret("shown without network", s.Device))
	if _, err := s.night.DB.Pool.Exec(context.Background(), `INSERT INTO packs (device_id, gate_id, event_id) VALUES ($1, $2, $3)`, s.Device, gate, s.night.Event.Event); err != nil {
		s.night.t.Fatal(err)
	}
}
