-- +goose Up

-- Where guests go in and out, one proof is good for one passage: a photograph of
-- a code must not follow its owner out and in again. passage is the nonce, or the
-- time, that the proof signed; NULL where there is no re-entry.
ALTER TABLE admissions ADD COLUMN passage bytea;
ALTER TABLE admissions ADD CONSTRAINT admissions_passage_key UNIQUE (ticket_id, direction, passage);

-- When the scanner says that it scanned, by its own clock: for the record.
ALTER TABLE attempts ADD COLUMN scanned_at timestamptz;
