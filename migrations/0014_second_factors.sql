-- +goose Up

-- A person's second factor: the secret of his authenticator app (RFC 6238), sealed
-- with the operator's key, his identifier and the factor's as associated data. It
-- counts once its first code was typed. last_step is the youngest step whose code
-- was used: each counts once. tries are the codes typed since tries_since without
-- one that was right.
CREATE TABLE second_factors (
  person_id    uuid        NOT NULL,
  id           uuid        NOT NULL,
  sealed       bytea       NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT portillon_now(),
  confirmed_at timestamptz,
  last_step    bigint      NOT NULL DEFAULT 0,
  tries        integer     NOT NULL DEFAULT 0,
  tries_since  timestamptz NOT NULL DEFAULT portillon_now(),
  CONSTRAINT second_factors_pkey PRIMARY KEY (person_id),
  CONSTRAINT second_factors_id_key UNIQUE (id),
  CONSTRAINT second_factors_person_id_fkey FOREIGN KEY (person_id) REFERENCES people (id),
  CONSTRAINT second_factors_tries_check CHECK (tries >= 0)
);

-- What stands in for a lost phone, each once. Only a keyed hash is here.
CREATE TABLE recovery_codes (
  factor_id uuid  NOT NULL,
  hash      bytea NOT NULL,
  used_at   timestamptz,
  CONSTRAINT recovery_codes_pkey PRIMARY KEY (factor_id, hash),
  CONSTRAINT recovery_codes_factor_id_fkey FOREIGN KEY (factor_id) REFERENCES second_factors (id) ON DELETE CASCADE
);
