-- +goose Up

-- Since when a device has the data to decide without network, by gate and event, and
-- how fresh they are. What it says it scanned before that is not believed.
CREATE TABLE packs (
  device_id uuid        NOT NULL,
  gate_id   uuid        NOT NULL,
  event_id  uuid        NOT NULL,
  first_at  timestamptz NOT NULL DEFAULT portillon_now(),
  last_at   timestamptz NOT NULL DEFAULT portillon_now(),
  CONSTRAINT packs_pkey PRIMARY KEY (device_id, gate_id, event_id),
  CONSTRAINT packs_device_id_fkey FOREIGN KEY (device_id) REFERENCES devices (id),
  CONSTRAINT packs_gate_id_fkey FOREIGN KEY (gate_id) REFERENCES gates (id),
  CONSTRAINT packs_event_id_fkey FOREIGN KEY (event_id) REFERENCES events (id),
  CONSTRAINT packs_times_check CHECK (last_at >= first_at)
);

-- What devices handed in, and what became of it: an item that comes again gets the
-- same word. verdict is what the device did, so that one key may stand for a guest
-- who was first sent away and then let in; outcome is what the server made of it.
-- key is the item's own, or is made of its bytes when it has none that can be used
-- (said_key is the one that it brought). The code itself is never kept: ticket_id is
-- the ticket that it names, which in quarantine nobody has proven, and kind to
-- passage are what an exit needs that waits for its entry.
-- A device's clock may be wrong by any amount: scanned_at and sent_at are by that
-- clock, and corrected_at is by the database's.
CREATE TABLE uploads (
  device_id    uuid        NOT NULL,
  key          uuid        NOT NULL,
  verdict      text        NOT NULL,
  outcome      text        NOT NULL,
  reason       text,
  against      text[]      NOT NULL DEFAULT '{}',
  replayed     boolean     NOT NULL DEFAULT false,
  said_key     uuid,
  first_key    uuid,
  ticket_id    uuid,
  event_id     uuid,
  gate_id      uuid,
  person_id    uuid,
  direction    text,
  people       integer,
  kind         text,
  generation   smallint,
  nonce        bytea,
  passage      bytea,
  scanned_at   timestamptz,
  sent_at      timestamptz NOT NULL,
  received_at  timestamptz NOT NULL,
  corrected_at timestamptz,
  CONSTRAINT uploads_pkey PRIMARY KEY (device_id, key, verdict),
  CONSTRAINT uploads_device_id_fkey FOREIGN KEY (device_id) REFERENCES devices (id),
  CONSTRAINT uploads_verdict_check CHECK (verdict IN ('admitted', 'refused', 'unreadable')),
  CONSTRAINT uploads_outcome_check CHECK (outcome IN ('recorded', 'double_admission', 'quarantined', 'refused', 'undecided')),
  CONSTRAINT uploads_reason_check CHECK (reason <> '' AND (reason IS NOT NULL OR outcome IN ('recorded', 'double_admission'))),
  CONSTRAINT uploads_admitted_check CHECK (outcome <> 'double_admission' OR verdict = 'admitted' AND ticket_id IS NOT NULL),
  CONSTRAINT uploads_corrected_check CHECK (corrected_at - scanned_at = received_at - sent_at)
);
CREATE INDEX uploads_event_idx ON uploads (event_id, corrected_at);
CREATE INDEX uploads_ticket_idx ON uploads (ticket_id) WHERE outcome IN ('double_admission', 'quarantined');
CREATE INDEX uploads_nowhere_idx ON uploads (received_at) WHERE event_id IS NULL;

-- When it happened, of what a device told afterwards; NULL: when it was received.
ALTER TABLE attempts ADD COLUMN happened_at timestamptz;
