-- +goose Up

-- One-time codes (RFC 6238) of a claim, for phones that cannot show a signed code.
-- The secret is sealed with the operator's key and bound to its claim; no gate gets
-- it. A step counts once: last_step is the latest that a right code was for, and
-- last_key the scan that it came with, which may be repeated. wrong_at are the wrong
-- codes of the last minute; the one that fills it empties it and sets locked_until.
CREATE TABLE one_time_codes (
  ticket_id    uuid          NOT NULL,
  generation   smallint      NOT NULL,
  sealed       bytea         NOT NULL,
  created_at   timestamptz   NOT NULL DEFAULT portillon_now(),
  last_step    bigint,
  last_key     uuid,
  wrong_at     timestamptz[] NOT NULL DEFAULT '{}',
  locked_until timestamptz,
  CONSTRAINT one_time_codes_pkey PRIMARY KEY (ticket_id, generation),
  CONSTRAINT one_time_codes_claim_fkey FOREIGN KEY (ticket_id, generation) REFERENCES claims (ticket_id, generation),
  CONSTRAINT one_time_codes_last_check CHECK ((last_step IS NULL) = (last_key IS NULL)),
  CONSTRAINT one_time_codes_wrong_at_check CHECK (cardinality(wrong_at) < 5)
);
