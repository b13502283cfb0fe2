-- The reference: the classic idempotent scan in four statements, as small as it
-- can be. One table of tickets, one of the keys that were used, no foreign key, no
-- log. pgbench runs reference.pgbench on it.
CREATE SCHEMA reference;
CREATE TABLE reference.tickets (
  id      uuid PRIMARY KEY,
  status  text NOT NULL DEFAULT 'active',
  used_at timestamptz
) WITH (fillfactor = 75);
CREATE TABLE reference.processed_requests (
  ticket_id       uuid NOT NULL,
  idempotency_key uuid NOT NULL,
  at              timestamptz NOT NULL DEFAULT now(),
  UNIQUE (ticket_id, idempotency_key)
);
