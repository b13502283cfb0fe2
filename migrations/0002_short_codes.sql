-- +goose Up

-- Six digits that stand for a fresh proof for a minute, for cameras that fail.
-- The code is kept as a keyed hash; a used one stays for a while, so that a scan
-- whose answer was lost finds its ticket again.
CREATE TABLE short_codes (
  venue_id   uuid        NOT NULL,
  hash       bytea       NOT NULL,
  ticket_id  uuid        NOT NULL,
  generation smallint    NOT NULL,
  nonce      bytea       NOT NULL,
  made_at    timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  used_at    timestamptz,
  CONSTRAINT short_codes_pkey PRIMARY KEY (venue_id, hash),
  CONSTRAINT short_codes_venue_id_fkey FOREIGN KEY (venue_id) REFERENCES venues (id)
);
CREATE INDEX short_codes_ticket_idx ON short_codes (ticket_id);
CREATE INDEX short_codes_expires_idx ON short_codes (expires_at);
