-- +goose Up

-- The only source of time. Test schemas replace it by one that can be shifted;
-- nothing else may. clock_timestamp() and not now(): a statement that waited for
-- a lock must see the time after the wait.
CREATE FUNCTION portillon_now() RETURNS timestamptz LANGUAGE sql VOLATILE
  AS 'SELECT clock_timestamp()';

-- Secrets of the installation, sealed with the operator's key (AES-256-GCM,
-- the name as associated data). 'check' proves at start that the key fits.
CREATE TABLE sealed_keys (
  name       text        NOT NULL,
  sealed     bytea       NOT NULL,
  created_at timestamptz NOT NULL DEFAULT portillon_now(),
  CONSTRAINT sealed_keys_pkey PRIMARY KEY (name)
);

-- Keys that sign paper codes and offline packs. kid is what a code carries.
CREATE TABLE issuer_keys (
  kid        bytea       NOT NULL,
  public_key bytea       NOT NULL,
  sealed     bytea       NOT NULL,
  created_at timestamptz NOT NULL DEFAULT portillon_now(),
  retired_at timestamptz,
  CONSTRAINT issuer_keys_pkey PRIMARY KEY (kid),
  CONSTRAINT issuer_keys_kid_check CHECK (octet_length(kid) = 4),
  CONSTRAINT issuer_keys_public_key_check CHECK (octet_length(public_key) = 64)
);

-- ── Places ────────────────────────────────────────────────────────────────

CREATE TABLE venues (
  id         uuid        NOT NULL,
  name       text        NOT NULL,
  time_zone  text        NOT NULL,
  created_at timestamptz NOT NULL DEFAULT portillon_now(),
  CONSTRAINT venues_pkey PRIMARY KEY (id),
  CONSTRAINT venues_name_check CHECK (name <> '')
);

CREATE TABLE gates (
  id         uuid        NOT NULL,
  venue_id   uuid        NOT NULL,
  name       text        NOT NULL,
  -- Set by the gate's own button: no nonce is made for it until it opens again.
  closed_at  timestamptz,
  created_at timestamptz NOT NULL DEFAULT portillon_now(),
  CONSTRAINT gates_pkey PRIMARY KEY (id),
  CONSTRAINT gates_venue_id_fkey FOREIGN KEY (venue_id) REFERENCES venues (id),
  CONSTRAINT gates_venue_name_key UNIQUE (venue_id, name),
  CONSTRAINT gates_name_check CHECK (name <> '')
);

-- ── Who asks ──────────────────────────────────────────────────────────────

CREATE TABLE people (
  id            uuid        NOT NULL,
  email         text        NOT NULL,
  name          text        NOT NULL,
  password_hash text,
  pin_hash      text,
  disabled_at   timestamptz,
  created_at    timestamptz NOT NULL DEFAULT portillon_now(),
  CONSTRAINT people_pkey PRIMARY KEY (id),
  CONSTRAINT people_email_key UNIQUE (email),
  CONSTRAINT people_email_check CHECK (email = lower(email) AND email <> ''),
  CONSTRAINT people_name_check CHECK (name <> '')
);

-- One role a venue; venue_id NULL is every venue.
CREATE TABLE person_roles (
  person_id    uuid    NOT NULL,
  venue_id     uuid,
  role         text    NOT NULL,
  can_override boolean NOT NULL DEFAULT false,
  CONSTRAINT person_roles_person_venue_key UNIQUE NULLS NOT DISTINCT (person_id, venue_id),
  CONSTRAINT person_roles_person_id_fkey FOREIGN KEY (person_id) REFERENCES people (id),
  CONSTRAINT person_roles_venue_id_fkey FOREIGN KEY (venue_id) REFERENCES venues (id),
  CONSTRAINT person_roles_role_check CHECK (role IN ('controller', 'supervisor', 'admin'))
);

-- Links that sign a person in once. Only the hash of the link's secret is here.
CREATE TABLE one_time_links (
  hash       bytea       NOT NULL,
  person_id  uuid        NOT NULL,
  created_at timestamptz NOT NULL DEFAULT portillon_now(),
  expires_at timestamptz NOT NULL,
  used_at    timestamptz,
  CONSTRAINT one_time_links_pkey PRIMARY KEY (hash),
  CONSTRAINT one_time_links_person_id_fkey FOREIGN KEY (person_id) REFERENCES people (id)
);

-- Staff sessions of the desk (the token column holds a hash).
CREATE TABLE sessions (
  token  text        NOT NULL,
  data   bytea       NOT NULL,
  expiry timestamptz NOT NULL,
  CONSTRAINT sessions_pkey PRIMARY KEY (token)
);
CREATE INDEX sessions_expiry_idx ON sessions (expiry);

CREATE TABLE devices (
  id         uuid        NOT NULL,
  venue_id   uuid        NOT NULL,
  name       text        NOT NULL,
  token_hash bytea       NOT NULL,
  user_agent text        NOT NULL DEFAULT '',
  paired_at  timestamptz NOT NULL DEFAULT portillon_now(),
  paired_by  uuid,
  revoked_at timestamptz,
  CONSTRAINT devices_pkey PRIMARY KEY (id),
  CONSTRAINT devices_token_hash_key UNIQUE (token_hash),
  CONSTRAINT devices_venue_id_fkey FOREIGN KEY (venue_id) REFERENCES venues (id),
  CONSTRAINT devices_paired_by_fkey FOREIGN KEY (paired_by) REFERENCES people (id),
  CONSTRAINT devices_name_check CHECK (name <> '')
);

-- A pairing link, the browser that opened it, and the desk's yes or no.
CREATE TABLE pairings (
  id           uuid        NOT NULL,
  venue_id     uuid        NOT NULL,
  code_hash    bytea       NOT NULL,
  created_by   uuid        NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT portillon_now(),
  expires_at   timestamptz NOT NULL,
  -- A link of the demo pairs without asking the desk.
  unattended   boolean     NOT NULL DEFAULT false,
  opened_at    timestamptz,
  device_name  text,
  user_agent   text,
  collect_hash bytea,
  decided_at   timestamptz,
  decided_by   uuid,
  confirmed    boolean,
  device_id    uuid,
  CONSTRAINT pairings_pkey PRIMARY KEY (id),
  CONSTRAINT pairings_code_hash_key UNIQUE (code_hash),
  CONSTRAINT pairings_collect_hash_key UNIQUE (collect_hash),
  CONSTRAINT pairings_venue_id_fkey FOREIGN KEY (venue_id) REFERENCES venues (id),
  CONSTRAINT pairings_created_by_fkey FOREIGN KEY (created_by) REFERENCES people (id),
  CONSTRAINT pairings_device_id_fkey FOREIGN KEY (device_id) REFERENCES devices (id)
);

-- Who was signed on to which device, and when. At most one open row a device.
CREATE TABLE sign_ons (
  device_id      uuid        NOT NULL,
  person_id      uuid        NOT NULL,
  signed_on_at   timestamptz NOT NULL DEFAULT portillon_now(),
  signed_off_at  timestamptz,
  CONSTRAINT sign_ons_device_id_fkey FOREIGN KEY (device_id) REFERENCES devices (id),
  CONSTRAINT sign_ons_person_id_fkey FOREIGN KEY (person_id) REFERENCES people (id)
);
CREATE UNIQUE INDEX sign_ons_open_key ON sign_ons (device_id) WHERE signed_off_at IS NULL;
CREATE INDEX sign_ons_device_idx ON sign_ons (device_id, signed_on_at);

-- Wrong PINs in a row, by person and device: the sixth try asks for the password.
CREATE TABLE pin_tries (
  person_id uuid        NOT NULL,
  device_id uuid        NOT NULL,
  tries     integer     NOT NULL,
  last_at   timestamptz NOT NULL,
  CONSTRAINT pin_tries_pkey PRIMARY KEY (person_id, device_id),
  CONSTRAINT pin_tries_person_id_fkey FOREIGN KEY (person_id) REFERENCES people (id),
  CONSTRAINT pin_tries_device_id_fkey FOREIGN KEY (device_id) REFERENCES devices (id)
);

CREATE TABLE api_tokens (
  id         uuid        NOT NULL,
  name       text        NOT NULL,
  token_hash bytea       NOT NULL,
  scopes     text[]      NOT NULL,
  person_id  uuid        NOT NULL,
  venue_id   uuid,
  created_at timestamptz NOT NULL DEFAULT portillon_now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  CONSTRAINT api_tokens_pkey PRIMARY KEY (id),
  CONSTRAINT api_tokens_token_hash_key UNIQUE (token_hash),
  CONSTRAINT api_tokens_person_id_fkey FOREIGN KEY (person_id) REFERENCES people (id),
  CONSTRAINT api_tokens_venue_id_fkey FOREIGN KEY (venue_id) REFERENCES venues (id),
  CONSTRAINT api_tokens_name_check CHECK (name <> ''),
  CONSTRAINT api_tokens_scopes_check CHECK (scopes <@ ARRAY['scan', 'read', 'issue', 'admin'] AND scopes <> '{}')
);

-- What a caller's Idempotency-Key made: the second try finds the first's answer.
CREATE TABLE repeats (
  actor       text        NOT NULL,
  key         uuid        NOT NULL,
  act         text        NOT NULL,
  body_hash   bytea       NOT NULL,
  resource_id uuid        NOT NULL,
  at          timestamptz NOT NULL DEFAULT portillon_now(),
  CONSTRAINT repeats_pkey PRIMARY KEY (actor, key)
);

-- Who changed what. Rows of a ticket are that ticket's history.
CREATE TABLE audit (
  id         bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
  at         timestamptz NOT NULL DEFAULT portillon_now(),
  actor      text        NOT NULL,
  person_id  uuid,
  device_id  uuid,
  token_id   uuid,
  act        text        NOT NULL,
  venue_id   uuid,
  event_id   uuid,
  ticket_id  uuid,
  subject_id uuid,
  reason     text,
  details    jsonb       NOT NULL DEFAULT '{}',
  request_id text        NOT NULL DEFAULT '',
  CONSTRAINT audit_pkey PRIMARY KEY (id),
  CONSTRAINT audit_actor_check CHECK (actor IN ('person', 'device', 'token', 'wallet', 'system', 'operator'))
);
CREATE INDEX audit_ticket_idx ON audit (ticket_id, at) WHERE ticket_id IS NOT NULL;
CREATE INDEX audit_at_idx ON audit (at);

-- ── What is issued ────────────────────────────────────────────────────────

CREATE TABLE events (
  id            uuid        NOT NULL,
  venue_id      uuid        NOT NULL,
  name          text        NOT NULL,
  screen        text        NOT NULL DEFAULT '',
  doors_open_at timestamptz NOT NULL,
  starts_at     timestamptz NOT NULL,
  ends_at       timestamptz NOT NULL,
  claim_from    timestamptz NOT NULL,
  freshness     text        NOT NULL DEFAULT 'assisted',
  rescan        text        NOT NULL DEFAULT 'show_time',
  rescan_window interval    NOT NULL DEFAULT '5 minutes',
  reentry       boolean     NOT NULL DEFAULT false,
  offline       text        NOT NULL DEFAULT 'off',
  show_names    boolean     NOT NULL DEFAULT true,
  created_at    timestamptz NOT NULL DEFAULT portillon_now(),
  CONSTRAINT events_pkey PRIMARY KEY (id),
  CONSTRAINT events_venue_id_fkey FOREIGN KEY (venue_id) REFERENCES venues (id),
  CONSTRAINT events_name_check CHECK (name <> ''),
  CONSTRAINT events_times_check CHECK (doors_open_at <= starts_at AND starts_at < ends_at),
  CONSTRAINT events_freshness_check CHECK (freshness IN ('live', 'assisted', 'open')),
  CONSTRAINT events_rescan_check CHECK (rescan IN ('strict', 'show_time', 'recover')),
  CONSTRAINT events_rescan_window_check CHECK (rescan_window >= '0' AND rescan_window <= '1 day'),
  CONSTRAINT events_offline_check CHECK (offline IN ('off', 'own_gate', 'any'))
);
CREATE INDEX events_venue_doors_idx ON events (venue_id, doors_open_at);

CREATE TABLE categories (
  id          uuid        NOT NULL,
  event_id    uuid        NOT NULL,
  name        text        NOT NULL,
  admits      integer     NOT NULL DEFAULT 1,
  paper       boolean     NOT NULL DEFAULT false,
  valid_from  timestamptz,
  valid_until timestamptz,
  created_at  timestamptz NOT NULL DEFAULT portillon_now(),
  CONSTRAINT categories_pkey PRIMARY KEY (id),
  CONSTRAINT categories_event_id_fkey FOREIGN KEY (event_id) REFERENCES events (id),
  CONSTRAINT categories_event_name_key UNIQUE (event_id, name),
  CONSTRAINT categories_name_check CHECK (name <> ''),
  CONSTRAINT categories_admits_check CHECK (admits BETWEEN 1 AND 100),
  CONSTRAINT categories_validity_check CHECK (valid_from < valid_until)
);

-- The gates of a category; a category without a row here may use every gate.
CREATE TABLE category_gates (
  category_id uuid NOT NULL,
  gate_id     uuid NOT NULL,
  CONSTRAINT category_gates_pkey PRIMARY KEY (category_id, gate_id),
  CONSTRAINT category_gates_category_id_fkey FOREIGN KEY (category_id) REFERENCES categories (id),
  CONSTRAINT category_gates_gate_id_fkey FOREIGN KEY (gate_id) REFERENCES gates (id)
);

CREATE TABLE orders (
  id           uuid        NOT NULL,
  event_id     uuid        NOT NULL,
  email        text        NOT NULL DEFAULT '',
  claim_serial integer     NOT NULL DEFAULT 1,
  created_at   timestamptz NOT NULL DEFAULT portillon_now(),
  CONSTRAINT orders_pkey PRIMARY KEY (id),
  CONSTRAINT orders_event_id_fkey FOREIGN KEY (event_id) REFERENCES events (id)
);

-- fillfactor and the absence of any index on a column that an admission writes
-- keep admissions HOT updates. tickets_entries_check and tickets_inside_check are
-- the rule "one ticket, one entry" at the write; extra counts the entries that an
-- override or a recovery added.
CREATE TABLE tickets (
  id           uuid        NOT NULL,
  event_id     uuid        NOT NULL,
  category_id  uuid        NOT NULL,
  order_id     uuid        NOT NULL,
  number       integer     NOT NULL,
  status       text        NOT NULL DEFAULT 'active',
  status_since timestamptz NOT NULL DEFAULT portillon_now(),
  generation   smallint    NOT NULL DEFAULT 0,
  claim_serial integer     NOT NULL DEFAULT 0,
  admits       integer     NOT NULL,
  entries      integer     NOT NULL DEFAULT 0,
  inside       integer     NOT NULL DEFAULT 0,
  extra        integer     NOT NULL DEFAULT 0,
  -- The event's policy, repeated here because a check sees one row only.
  reentry      boolean     NOT NULL DEFAULT false,
  used_at      timestamptz,
  holder_name  text        NOT NULL DEFAULT '',
  holder_email text        NOT NULL DEFAULT '',
  seat         text        NOT NULL DEFAULT '',
  external_id  text,
  created_at   timestamptz NOT NULL DEFAULT portillon_now(),
  CONSTRAINT tickets_pkey PRIMARY KEY (id),
  CONSTRAINT tickets_event_id_fkey FOREIGN KEY (event_id) REFERENCES events (id),
  CONSTRAINT tickets_category_id_fkey FOREIGN KEY (category_id) REFERENCES categories (id),
  CONSTRAINT tickets_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders (id),
  CONSTRAINT tickets_status_check CHECK (status IN ('active', 'used', 'held', 'revoked')),
  CONSTRAINT tickets_number_check CHECK (number > 0),
  CONSTRAINT tickets_generation_check CHECK (generation BETWEEN 0 AND 255),
  CONSTRAINT tickets_admits_check CHECK (admits > 0),
  CONSTRAINT tickets_extra_check CHECK (extra >= 0),
  CONSTRAINT tickets_entries_check CHECK (entries >= inside AND (reentry OR entries <= admits + extra)),
  CONSTRAINT tickets_inside_check CHECK (inside >= 0 AND inside <= admits + extra)
) WITH (fillfactor = 75);
CREATE INDEX tickets_event_number_idx ON tickets (event_id, number);
CREATE INDEX tickets_order_idx ON tickets (order_id);

-- What must be unique across tickets lives in small tables of its own, so that
-- the scan tables can be split by ticket one day.
CREATE TABLE numbers (
  event_id  uuid    NOT NULL,
  number    integer NOT NULL,
  ticket_id uuid    NOT NULL,
  CONSTRAINT numbers_pkey PRIMARY KEY (event_id, number),
  CONSTRAINT numbers_ticket_id_fkey FOREIGN KEY (ticket_id) REFERENCES tickets (id),
  CONSTRAINT numbers_number_check CHECK (number > 0)
);

CREATE TABLE external_ids (
  event_id    uuid NOT NULL,
  external_id text NOT NULL,
  ticket_id   uuid NOT NULL,
  CONSTRAINT external_ids_pkey PRIMARY KEY (event_id, external_id),
  CONSTRAINT external_ids_ticket_id_fkey FOREIGN KEY (ticket_id) REFERENCES tickets (id),
  CONSTRAINT external_ids_external_id_check CHECK (external_id <> '')
);

-- Finds an order or a ticket by the hash of the code in its claim link. The code
-- itself is derived from the claim key, the id and the serial, and stored nowhere.
CREATE TABLE claim_codes (
  hash      bytea   NOT NULL,
  order_id  uuid,
  ticket_id uuid,
  serial    integer NOT NULL,
  CONSTRAINT claim_codes_pkey PRIMARY KEY (hash),
  CONSTRAINT claim_codes_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders (id),
  CONSTRAINT claim_codes_ticket_id_fkey FOREIGN KEY (ticket_id) REFERENCES tickets (id),
  CONSTRAINT claim_codes_one_check CHECK (num_nonnulls(order_id, ticket_id) = 1)
);

-- ── What a ticket is bound to ─────────────────────────────────────────────

CREATE TABLE claims (
  ticket_id  uuid        NOT NULL,
  generation smallint    NOT NULL,
  kind       text        NOT NULL,
  public_key bytea,
  browser    text        NOT NULL DEFAULT '',
  serial     integer     NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT portillon_now(),
  CONSTRAINT claims_pkey PRIMARY KEY (ticket_id, generation),
  CONSTRAINT claims_ticket_id_fkey FOREIGN KEY (ticket_id) REFERENCES tickets (id),
  CONSTRAINT claims_kind_check CHECK (kind IN ('phone', 'paper')),
  CONSTRAINT claims_generation_check CHECK (generation BETWEEN 1 AND 255),
  CONSTRAINT claims_public_key_check CHECK ((kind = 'phone') = (public_key IS NOT NULL) AND octet_length(public_key) = 64)
);

-- A key is bound once, to one ticket.
CREATE TABLE keys (
  thumbprint bytea    NOT NULL,
  ticket_id  uuid     NOT NULL,
  generation smallint NOT NULL,
  CONSTRAINT keys_pkey PRIMARY KEY (thumbprint),
  CONSTRAINT keys_claim_fkey FOREIGN KEY (ticket_id, generation) REFERENCES claims (ticket_id, generation)
);

-- One-time values that claims and wallet sessions sign.
CREATE TABLE challenges (
  hash       bytea       NOT NULL,
  purpose    text        NOT NULL,
  expires_at timestamptz NOT NULL,
  CONSTRAINT challenges_pkey PRIMARY KEY (hash),
  CONSTRAINT challenges_purpose_check CHECK (purpose IN ('claim', 'session', 'transfer'))
);
CREATE INDEX challenges_expires_idx ON challenges (expires_at);

CREATE TABLE wallet_sessions (
  hash       bytea       NOT NULL,
  created_at timestamptz NOT NULL DEFAULT portillon_now(),
  expires_at timestamptz NOT NULL,
  CONSTRAINT wallet_sessions_pkey PRIMARY KEY (hash)
);

CREATE TABLE wallet_session_tickets (
  ticket_id    uuid     NOT NULL,
  generation   smallint NOT NULL,
  session_hash bytea    NOT NULL,
  CONSTRAINT wallet_session_tickets_pkey PRIMARY KEY (ticket_id, generation, session_hash),
  CONSTRAINT wallet_session_tickets_session_fkey FOREIGN KEY (session_hash) REFERENCES wallet_sessions (hash) ON DELETE CASCADE,
  CONSTRAINT wallet_session_tickets_claim_fkey FOREIGN KEY (ticket_id, generation) REFERENCES claims (ticket_id, generation)
);
CREATE INDEX wallet_session_tickets_session_idx ON wallet_session_tickets (session_hash);

-- When a wallet last gave a sign of life on its stream. Unlogged: losing it in a
-- crash only makes the next minutes more lenient.
CREATE UNLOGGED TABLE presence (
  ticket_id uuid        NOT NULL,
  seen_at   timestamptz NOT NULL,
  CONSTRAINT presence_pkey PRIMARY KEY (ticket_id)
);

-- ── Nonces and their leases ───────────────────────────────────────────────

-- A pushed nonce has an epoch and no device; a shown one has a device.
CREATE TABLE nonces (
  nonce     bytea       NOT NULL,
  venue_id  uuid        NOT NULL,
  epoch     bigint,
  device_id uuid,
  issued_at timestamptz NOT NULL DEFAULT portillon_now(),
  CONSTRAINT nonces_pkey PRIMARY KEY (nonce),
  CONSTRAINT nonces_venue_epoch_key UNIQUE (venue_id, epoch),
  CONSTRAINT nonces_nonce_check CHECK (octet_length(nonce) = 16),
  CONSTRAINT nonces_kind_check CHECK (num_nonnulls(epoch, device_id) = 1),
  CONSTRAINT nonces_venue_id_fkey FOREIGN KEY (venue_id) REFERENCES venues (id),
  CONSTRAINT nonces_device_id_fkey FOREIGN KEY (device_id) REFERENCES devices (id)
);
CREATE INDEX nonces_issued_idx ON nonces (issued_at);

-- The lease id is a credential (whoever has it may renew, release and close),
-- therefore only its hash is kept.
CREATE TABLE nonce_leases (
  hash       bytea       NOT NULL,
  gate_id    uuid        NOT NULL,
  device_id  uuid        NOT NULL,
  person_id  uuid        NOT NULL,
  opened_at  timestamptz NOT NULL DEFAULT portillon_now(),
  expires_at timestamptz NOT NULL,
  CONSTRAINT nonce_leases_pkey PRIMARY KEY (hash),
  CONSTRAINT nonce_leases_gate_id_fkey FOREIGN KEY (gate_id) REFERENCES gates (id),
  CONSTRAINT nonce_leases_device_id_fkey FOREIGN KEY (device_id) REFERENCES devices (id),
  CONSTRAINT nonce_leases_person_id_fkey FOREIGN KEY (person_id) REFERENCES people (id)
);
CREATE INDEX nonce_leases_gate_idx ON nonce_leases (gate_id);

-- ── The door ──────────────────────────────────────────────────────────────

-- The scan tables have the ticket first in their key, no constraint across
-- tickets and no foreign key to a row that other tickets share: such a key would
-- lock that row at every entry.

-- The row that makes an entry happen once.
CREATE TABLE admissions (
  ticket_id     uuid        NOT NULL,
  key           uuid        NOT NULL,
  at            timestamptz NOT NULL,
  event_id      uuid        NOT NULL,
  gate_id       uuid        NOT NULL,
  device_id     uuid,
  person_id     uuid        NOT NULL,
  direction     text        NOT NULL,
  people        integer     NOT NULL,
  entries_after integer     NOT NULL,
  inside_after  integer     NOT NULL,
  kind          text        NOT NULL,
  generation    smallint    NOT NULL,
  nonce         bytea,
  path          text        NOT NULL DEFAULT 'ordinary',
  reason        text,
  moved_at      timestamptz,
  CONSTRAINT admissions_pkey PRIMARY KEY (ticket_id, key),
  CONSTRAINT admissions_direction_check CHECK (direction IN ('in', 'out')),
  CONSTRAINT admissions_people_check CHECK (people > 0),
  CONSTRAINT admissions_kind_check CHECK (kind IN ('pushed', 'shown', 'timed', 'totp', 'short', 'paper', 'none')),
  CONSTRAINT admissions_path_check CHECK (path IN ('ordinary', 'override', 'look_up', 'recovery', 'offline'))
);

-- Finds a key that its device has used for another ticket.
CREATE INDEX admissions_key_idx ON admissions (key);

-- An undo is a new record, never a deletion; an admission is undone once.
CREATE TABLE undos (
  ticket_id uuid        NOT NULL,
  key       uuid        NOT NULL,
  at        timestamptz NOT NULL,
  device_id uuid,
  person_id uuid,
  reason    text        NOT NULL,
  CONSTRAINT undos_pkey PRIMARY KEY (ticket_id, key),
  CONSTRAINT undos_admission_fkey FOREIGN KEY (ticket_id, key) REFERENCES admissions (ticket_id, key),
  CONSTRAINT undos_reason_check CHECK (reason <> '')
);

-- Everything that reached the server, admitted or not, by day of its arrival.
-- Days are made ahead; the default partition takes what has none.
CREATE TABLE attempts (
  received_at timestamptz NOT NULL,
  ticket_id   uuid,
  key         uuid,
  event_id    uuid,
  gate_id     uuid        NOT NULL,
  device_id   uuid,
  person_id   uuid        NOT NULL,
  kind        text        NOT NULL,
  reason      text        NOT NULL,
  class       text        NOT NULL,
  replayed    boolean     NOT NULL DEFAULT false,
  dry_run     boolean     NOT NULL DEFAULT false,
  duration_us integer     NOT NULL
) PARTITION BY RANGE (received_at);
CREATE INDEX attempts_ticket_idx ON attempts (ticket_id, received_at);
CREATE INDEX attempts_event_idx ON attempts (event_id, received_at);
CREATE TABLE attempts_default PARTITION OF attempts DEFAULT;
