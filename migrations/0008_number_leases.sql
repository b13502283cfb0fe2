-- +goose Up

-- followed: the next number is used too. Numbers are never given up, so that this
-- stays true once it is; false only means that nobody has said so. What is left in
-- the index are the ends of runs of used numbers: behind each a gap begins, and the
-- lowest free number is found without passing the others.
ALTER TABLE numbers ADD COLUMN followed boolean NOT NULL DEFAULT false;
UPDATE numbers n SET followed = true
WHERE EXISTS (SELECT FROM numbers x WHERE x.event_id = n.event_id AND x.number = n.number + 1);
CREATE INDEX numbers_ends_idx ON numbers (event_id, number) WHERE NOT followed;

-- A number that a form keeps while it is open. The lease id is a credential
-- (whoever has it may give the number back), therefore only its hash is kept.
CREATE TABLE number_leases (
  event_id   uuid        NOT NULL,
  number     integer     NOT NULL,
  hash       bytea       NOT NULL,
  -- Who reserved it, and by which token; the operator is no person.
  person_id  uuid,
  token_id   uuid,
  opened_at  timestamptz NOT NULL DEFAULT portillon_now(),
  expires_at timestamptz NOT NULL,
  CONSTRAINT number_leases_pkey PRIMARY KEY (event_id, number),
  CONSTRAINT number_leases_hash_key UNIQUE (hash),
  CONSTRAINT number_leases_event_id_fkey FOREIGN KEY (event_id) REFERENCES events (id),
  CONSTRAINT number_leases_person_id_fkey FOREIGN KEY (person_id) REFERENCES people (id),
  CONSTRAINT number_leases_token_id_fkey FOREIGN KEY (token_id) REFERENCES api_tokens (id),
  CONSTRAINT number_leases_number_check CHECK (number > 0)
);
