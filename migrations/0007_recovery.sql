-- +goose Up

-- An admission whose answer nobody saw may be taken back in favour of a later one
-- of the same ticket: once, and only for one that exists.
ALTER TABLE undos ADD COLUMN superseded_by uuid;
ALTER TABLE undos ADD CONSTRAINT undos_superseded_by_fkey FOREIGN KEY (ticket_id, superseded_by) REFERENCES admissions (ticket_id, key);
ALTER TABLE undos ADD CONSTRAINT undos_superseded_by_key UNIQUE (ticket_id, superseded_by);
ALTER TABLE undos ADD CONSTRAINT undos_superseded_by_check CHECK (superseded_by <> key);

-- Whether a device says what it showed, and when it was last there.
CREATE INDEX receipts_device_idx ON receipts (device_id, shown_at);
CREATE INDEX nonce_leases_device_idx ON nonce_leases (device_id);
