-- +goose Up

-- Where there is no re-entry no passage is kept, and an entry in this index for
-- each admission all the same was one page more to write.
ALTER TABLE admissions DROP CONSTRAINT admissions_passage_key;
CREATE UNIQUE INDEX admissions_passage_key ON admissions (ticket_id, direction, passage) WHERE passage IS NOT NULL;
