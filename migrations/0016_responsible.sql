-- +goose Up

-- Whom an event's acts are told by mail, and in which language. No address: nobody.
ALTER TABLE events
  ADD COLUMN responsible_email    text NOT NULL DEFAULT '',
  ADD COLUMN responsible_language text NOT NULL DEFAULT 'en',
  ADD CONSTRAINT events_responsible_language_check CHECK (responsible_language IN ('en', 'fr', 'cs'));

-- Each of an event's acts of issuing is one mail to whoever is responsible for it; a
-- file that was taken in is one act.
ALTER TABLE mails
  ADD COLUMN import_id uuid,
  ADD CONSTRAINT mails_import_id_fkey FOREIGN KEY (import_id) REFERENCES imports (id),
  DROP CONSTRAINT mails_kind_check,
  ADD CONSTRAINT mails_kind_check CHECK (CASE kind
    WHEN 'order_link'  THEN order_id IS NOT NULL AND ticket_id IS NULL AND import_id IS NULL
    WHEN 'ticket_link' THEN order_id IS NOT NULL AND ticket_id IS NOT NULL
    WHEN 'order_told'  THEN order_id IS NOT NULL AND ticket_id IS NULL AND import_id IS NULL
    WHEN 'import_told' THEN order_id IS NULL AND ticket_id IS NULL AND import_id IS NOT NULL
    WHEN 'move_code'   THEN order_id IS NOT NULL AND ticket_id IS NOT NULL AND import_id IS NULL
    WHEN 'moved'       THEN order_id IS NOT NULL AND ticket_id IS NOT NULL AND import_id IS NULL
    ELSE false END AND (kind IN ('move_code', 'moved')) = (move_id IS NOT NULL));

-- The other tickets whose links stand in a mail about one: those of the same import
-- to the same address.
CREATE TABLE mail_tickets (
  mail_id   uuid NOT NULL,
  ticket_id uuid NOT NULL,
  CONSTRAINT mail_tickets_pkey PRIMARY KEY (mail_id, ticket_id),
  CONSTRAINT mail_tickets_mail_id_fkey FOREIGN KEY (mail_id) REFERENCES mails (id),
  CONSTRAINT mail_tickets_ticket_id_fkey FOREIGN KEY (ticket_id) REFERENCES tickets (id)
);
