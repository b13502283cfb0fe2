-- +goose Up

-- Digits that are mailed to a ticket's holder, so that the tickets of a claim link may
-- move to another phone: the newest of each link. The digits are derived from the id
-- with the operator's key and stored nowhere. Whoever sends them sets expires_at; each
-- try is counted before it is compared. asked_at are the mails of the last hour.
CREATE TABLE move_codes (
  link       bytea         NOT NULL,
  id         uuid          NOT NULL,
  asked_at   timestamptz[] NOT NULL,
  expires_at timestamptz,
  tries      integer       NOT NULL DEFAULT 0,
  used_at    timestamptz,
  CONSTRAINT move_codes_pkey PRIMARY KEY (link),
  CONSTRAINT move_codes_id_key UNIQUE (id),
  CONSTRAINT move_codes_link_fkey FOREIGN KEY (link) REFERENCES claim_codes (hash),
  CONSTRAINT move_codes_asked_at_check CHECK (cardinality(asked_at) BETWEEN 1 AND 3),
  CONSTRAINT move_codes_tries_check CHECK (tries BETWEEN 0 AND 5)
);

-- What was moved by such digits, in one act; its claims name it. The mail about it
-- has a button, "not me", that puts the tickets on hold: not_me_at is when it was
-- pressed first.
CREATE TABLE moves (
  id        uuid        NOT NULL,
  order_id  uuid        NOT NULL,
  event_id  uuid        NOT NULL,
  at        timestamptz NOT NULL,
  browser   text        NOT NULL,
  not_me_at timestamptz,
  CONSTRAINT moves_pkey PRIMARY KEY (id),
  CONSTRAINT moves_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders (id),
  CONSTRAINT moves_event_id_fkey FOREIGN KEY (event_id) REFERENCES events (id)
);

ALTER TABLE claims
  ADD COLUMN move_id uuid,
  ADD CONSTRAINT claims_move_id_fkey FOREIGN KEY (move_id) REFERENCES moves (id);
CREATE INDEX claims_move_idx ON claims (move_id) WHERE move_id IS NOT NULL;

-- How often the ticket has moved, and how often it may. One taking back before the
-- ticket was at a door is no move: a browser that forgets is nobody's fault.
ALTER TABLE tickets
  ADD COLUMN moves         smallint NOT NULL DEFAULT 0,
  ADD COLUMN moves_allowed smallint NOT NULL DEFAULT 3,
  ADD COLUMN taken_back    boolean  NOT NULL DEFAULT false,
  ADD CONSTRAINT tickets_moves_check CHECK (moves BETWEEN 0 AND moves_allowed),
  ADD CONSTRAINT tickets_moves_allowed_check CHECK (moves_allowed BETWEEN 3 AND 100);

-- A mail about a move names it.
ALTER TABLE mails
  ADD COLUMN move_id uuid,
  DROP CONSTRAINT mails_kind_check,
  ADD CONSTRAINT mails_kind_check CHECK (kind IN ('order_link', 'ticket_link', 'move_code', 'moved')
    AND (kind = 'order_link') = (ticket_id IS NULL) AND (kind IN ('move_code', 'moved')) = (move_id IS NOT NULL) AND order_id IS NOT NULL);
