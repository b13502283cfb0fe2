-- +goose Up

-- That an answer was put on the scanner's screen. Without one, nobody knows
-- whether the guest was let in.
CREATE TABLE receipts (
  ticket_id uuid        NOT NULL,
  key       uuid        NOT NULL,
  device_id uuid        NOT NULL,
  shown_at  timestamptz NOT NULL,
  CONSTRAINT receipts_pkey PRIMARY KEY (ticket_id, key),
  CONSTRAINT receipts_admission_fkey FOREIGN KEY (ticket_id, key) REFERENCES admissions (ticket_id, key)
);
