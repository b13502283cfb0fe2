-- +goose Up

-- Each file of tickets sold elsewhere that was taken in: what came of its lines, and
-- which of its columns meant what. The next file with these headings at this venue
-- is read in the same way. No cell of the file is here, and of its headings only their
-- hash: a file without headings begins with somebody's name.
CREATE TABLE imports (
  id         uuid        NOT NULL,
  event_id   uuid        NOT NULL,
  venue_id   uuid        NOT NULL,
  at         timestamptz NOT NULL DEFAULT portillon_now(),
  headings   bytea       NOT NULL,
  mapping    jsonb       NOT NULL,
  counts     jsonb       NOT NULL,
  CONSTRAINT imports_pkey PRIMARY KEY (id),
  CONSTRAINT imports_event_id_fkey FOREIGN KEY (event_id) REFERENCES events (id),
  CONSTRAINT imports_venue_id_fkey FOREIGN KEY (venue_id) REFERENCES venues (id)
);
CREATE INDEX imports_venue_idx ON imports (venue_id, at);
