-- +goose Up

-- These rows held a plain hash of a body that a password could be part of.
DELETE FROM repeats WHERE act = 'person';

-- The hash of the Idempotency-Key that a link was used with: for a minute the
-- same key gets the lost answer again.
ALTER TABLE one_time_links ADD COLUMN used_key bytea;

-- What sweeps look for. What the operator made with a key is kept.
CREATE INDEX one_time_links_ended_idx ON one_time_links (least(expires_at, used_at));
CREATE INDEX pairings_expires_idx ON pairings (expires_at);
CREATE INDEX repeats_at_idx ON repeats (at) WHERE actor <> 'operator';
