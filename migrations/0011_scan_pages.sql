-- +goose Up

-- A log entry of a guest who went in is found by event and time. By ticket only the
-- others are asked for: what went in stands in admissions, under its ticket. One
-- page less to write for each guest, and at an arbitrary place.
DROP INDEX attempts_ticket_idx;
CREATE INDEX attempts_refused_idx ON attempts (ticket_id, received_at) WHERE reason <> 'admitted';
