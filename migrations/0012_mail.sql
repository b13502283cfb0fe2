-- +goose Up

-- The language in which the holder is written to.
ALTER TABLE orders
  ADD COLUMN language text NOT NULL DEFAULT 'en',
  ADD CONSTRAINT orders_language_check CHECK (language IN ('en', 'fr', 'cs'));

-- A mail that is to go out or went out. There is no address, no text and no link
-- here: whoever sends reads the one and derives the others at the moment of sending.
-- The cause names the act that the mail is about: one act, one mail.
CREATE TABLE mails (
  id            uuid        NOT NULL,
  cause         text        NOT NULL,
  kind          text        NOT NULL,
  at            timestamptz NOT NULL DEFAULT portillon_now(),
  event_id      uuid        NOT NULL,
  order_id      uuid,
  ticket_id     uuid,
  state         text        NOT NULL DEFAULT 'waiting',
  attempts      integer     NOT NULL DEFAULT 0,
  sending_until timestamptz,
  ended_at      timestamptz,
  CONSTRAINT mails_pkey PRIMARY KEY (id),
  CONSTRAINT mails_cause_key UNIQUE (cause),
  CONSTRAINT mails_event_id_fkey FOREIGN KEY (event_id) REFERENCES events (id),
  CONSTRAINT mails_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders (id),
  CONSTRAINT mails_ticket_id_fkey FOREIGN KEY (ticket_id) REFERENCES tickets (id),
  CONSTRAINT mails_kind_check CHECK (kind IN ('order_link', 'ticket_link') AND (kind = 'order_link') = (ticket_id IS NULL) AND order_id IS NOT NULL),
  CONSTRAINT mails_state_check CHECK (state IN ('waiting', 'sending', 'sent', 'failed')),
  CONSTRAINT mails_sending_check CHECK ((state = 'sending') = (sending_until IS NOT NULL)),
  CONSTRAINT mails_ended_check CHECK ((state IN ('sent', 'failed')) = (ended_at IS NOT NULL))
);
CREATE INDEX mails_event_idx ON mails (event_id, at, id);

-- Each step of each attempt to send a mail: where it went wrong, and why.
CREATE TABLE mail_steps (
  mail_id uuid        NOT NULL,
  attempt integer     NOT NULL,
  step    text        NOT NULL,
  at      timestamptz NOT NULL DEFAULT portillon_now(),
  took    interval    NOT NULL,
  outcome text        NOT NULL,
  detail  text        NOT NULL DEFAULT '',
  CONSTRAINT mail_steps_pkey PRIMARY KEY (mail_id, attempt, step),
  CONSTRAINT mail_steps_mail_id_fkey FOREIGN KEY (mail_id) REFERENCES mails (id),
  CONSTRAINT mail_steps_step_check CHECK (step IN ('compose', 'connect', 'starttls', 'authenticate', 'send')),
  CONSTRAINT mail_steps_outcome_check CHECK (outcome IN ('ok', 'failed'))
);

-- ── The job queue: the tables of River 0.51 (migrations 2 to 8 of its line main) ──
-- They stand here, and not in a migrator of their own, so that there is one order of
-- migrations and every constraint has a name. River finds them by these names.
CREATE TYPE river_job_state AS ENUM ('available', 'cancelled', 'completed', 'discarded', 'pending', 'retryable', 'running', 'scheduled');

CREATE FUNCTION river_job_state_in_bitmask(bitmask bit(8), state river_job_state) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE state
    WHEN 'available' THEN get_bit(bitmask, 7)
    WHEN 'cancelled' THEN get_bit(bitmask, 6)
    WHEN 'completed' THEN get_bit(bitmask, 5)
    WHEN 'discarded' THEN get_bit(bitmask, 4)
    WHEN 'pending'   THEN get_bit(bitmask, 3)
    WHEN 'retryable' THEN get_bit(bitmask, 2)
    WHEN 'running'   THEN get_bit(bitmask, 1)
    WHEN 'scheduled' THEN get_bit(bitmask, 0)
    ELSE 0
  END = 1
$$;

CREATE TABLE river_job (
  id            bigserial       NOT NULL,
  state         river_job_state NOT NULL DEFAULT 'available',
  attempt       smallint        NOT NULL DEFAULT 0,
  max_attempts  smallint        NOT NULL DEFAULT 25,
  attempted_at  timestamptz,
  created_at    timestamptz     NOT NULL DEFAULT now(),
  finalized_at  timestamptz,
  scheduled_at  timestamptz     NOT NULL DEFAULT now(),
  priority      smallint        NOT NULL DEFAULT 1,
  args          jsonb           NOT NULL,
  attempted_by  text[],
  errors        jsonb[],
  kind          text            NOT NULL,
  metadata      jsonb           NOT NULL DEFAULT '{}',
  queue         text            NOT NULL DEFAULT 'default',
  tags          varchar(255)[]  NOT NULL DEFAULT '{}',
  unique_key    bytea,
  unique_states bit(8),
  CONSTRAINT river_job_pkey PRIMARY KEY (id),
  CONSTRAINT finalized_or_finalized_at_null CHECK ((finalized_at IS NOT NULL) = (state IN ('cancelled', 'completed', 'discarded'))),
  CONSTRAINT max_attempts_is_positive CHECK (max_attempts > 0),
  CONSTRAINT priority_in_range CHECK (priority >= 1 AND priority <= 4),
  CONSTRAINT queue_length CHECK (char_length(queue) > 0 AND char_length(queue) < 128),
  CONSTRAINT kind_length CHECK (char_length(kind) > 0 AND char_length(kind) < 128)
);
CREATE INDEX river_job_kind ON river_job (kind);
CREATE INDEX river_job_state_and_finalized_at_index ON river_job (state, finalized_at) WHERE finalized_at IS NOT NULL;
CREATE INDEX river_job_prioritized_fetching_index ON river_job (state, queue, priority, scheduled_at, id);
CREATE INDEX river_job_args_index ON river_job USING gin (args);
CREATE INDEX river_job_metadata_index ON river_job USING gin (metadata);
CREATE UNIQUE INDEX river_job_unique_idx ON river_job (unique_key)
  WHERE unique_key IS NOT NULL AND unique_states IS NOT NULL AND river_job_state_in_bitmask(unique_states, state);

CREATE UNLOGGED TABLE river_leader (
  elected_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  leader_id  text        NOT NULL,
  name       text        NOT NULL DEFAULT 'default',
  CONSTRAINT river_leader_pkey PRIMARY KEY (name),
  CONSTRAINT name_length CHECK (name = 'default'),
  CONSTRAINT leader_id_length CHECK (char_length(leader_id) > 0 AND char_length(leader_id) < 128)
);

CREATE TABLE river_queue (
  name       text        NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  metadata   jsonb       NOT NULL DEFAULT '{}',
  paused_at  timestamptz,
  updated_at timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT river_queue_pkey PRIMARY KEY (name)
);

CREATE TABLE river_notification (
  id         bigserial   NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  payload    text        NOT NULL,
  topic      text        NOT NULL,
  CONSTRAINT river_notification_pkey PRIMARY KEY (id),
  CONSTRAINT topic_length CHECK (length(topic) > 0 AND length(topic) < 128)
);
CREATE INDEX river_notification_created_at_idx ON river_notification (created_at);
CREATE INDEX river_notification_topic_id_idx ON river_notification (topic, id);
