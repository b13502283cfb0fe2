package post

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// entry is one line of the journal.
type entry struct {
	At      time.Time `json:"at"`
	Mail    uuid.UUID `json:"mail"`
	To      string    `json:"to"` // masked
	Attempt int       `json:"attempt"`
	Step    string    `json:"step"`
	TookMS  float64   `json:"took_ms"`
	Outcome string    `json:"outcome"`
	Detail  string    `json:"detail,omitempty"`
}

// recorder is the one writer of steps: into the table, and then into the journal of
// the day (UTC). What cannot be written down is logged and keeps no mail back.
func (s *Service) recorder(ctx context.Context, id uuid.UUID, attempt int, to string) watcher {
	ctx = context.WithoutCancel(ctx)
	return func(step string, took time.Duration, err error) {
		ctx, cancel := context.WithTimeout(ctx, writeWithin)
		defer cancel()
		e := entry{Mail: id, To: Mask(to), Attempt: attempt, Step: step, TookMS: float64(took.Microseconds()) / 1000, Outcome: "ok"}
		if err != nil {
			e.Outcome, e.Detail = "failed", s.reason(err, to)
		}
		if err := s.record(ctx, &e, took); err != nil {
			s.Log.Error("a step of a mail was not written down", "mail", id, "step", step, "error", err)
		}
	}
}

func (s *Service) record(ctx context.Context, e *entry, took time.Duration) error {
	err := s.Pool.QueryRow(ctx, `
INSERT INTO mail_steps (mail_id, attempt, step, took, outcome, detail)
VALUES (@mail, @attempt, @step, @took, @outcome, @detail) RETURNING at`,
		pgx.NamedArgs{"mail": e.Mail, "attempt": e.Attempt, "step": e.Step, "took": took, "outcome": e.Outcome, "detail": e.Detail}).Scan(&e.At)
	if err != nil {
		return fmt.Errorf("into the database: %w", err)
	}
	e.At = e.At.UTC()
	if err := s.journal(e); err != nil {
		return fmt.Errorf("into the journal: %w", err)
	}
	return nil
}

// journal adds the line in one write, so that lines of several processes do not mix.
func (s *Service) journal(e *entry) error {
	if s.Journal == "" {
		return nil
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.Journal, 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(s.Journal, e.At.Format(time.DateOnly)+".jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}
