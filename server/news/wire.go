package news

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Between two tries to reach the database.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// maxPayload keeps a notification below PostgreSQL's 8000 bytes.
const maxPayload = 7500

// flushFor is how long the last items may take when the process stops.
const flushFor = time.Second

// parcel is what travels: items, and whose they are, since a process hears its
// own notifications too.
type parcel struct {
	From  string            `json:"from"`
	Items []json.RawMessage `json:"items"`
}

// Run sends and listens until ctx ends; what was published by then is still
// sent. It comes back after every loss of the database.
func (h *Hub) Run(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { h.again(ctx, "hear", h.listen) })
	both.Go(func() { h.again(ctx, "send", h.send) })
	both.Wait()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushFor)
	defer cancel()
	if _, err := h.connected(last, h.notify); err != nil {
		h.log.WarnContext(ctx, "the last news were not sent", "error", err.Error())
	}
}

// again runs one connection's work, and anew after each loss.
func (h *Hub) again(ctx context.Context, what string, work func(context.Context, *pgx.Conn, string) error) {
	pause := firstPause
	for ctx.Err() == nil {
		worked, err := h.connected(ctx, work)
		if ctx.Err() != nil {
			return
		}
		if worked {
			pause = firstPause
		}
		h.log.WarnContext(ctx, "news of other processes are delayed", "direction", what, "error", err.Error())
		wait(ctx, pause)
		pause = min(2*pause, lastPause)
	}
}

func (h *Hub) connected(ctx context.Context, work func(context.Context, *pgx.Conn, string) error) (worked bool, err error) {
	config := h.pool.Config().ConnConfig.Copy()
	if h.url != "" {
		if config, err = pgx.ParseConfig(h.url); err != nil {
			return false, fmt.Errorf("database URL: %w", err)
		}
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return false, fmt.Errorf("connect: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushFor)
		defer cancel()
		_ = conn.Close(closing) // the connection is given up in any case
	}()
	var schema string
	if err := conn.QueryRow(ctx, `SELECT current_schema()`).Scan(&schema); err != nil {
		return false, fmt.Errorf("which schema: %w", err)
	}
	return true, work(ctx, conn, channel(schema))
}

// channel carries the schema's name, since all schemas of a database share the
// channels. A name that is too long for one is replaced by its hash.
func channel(schema string) string {
	const prefix, limit = "portillon_news_", 63
	if len(prefix)+len(schema) <= limit {
		return prefix + schema
	}
	sum := sha256.Sum256([]byte(schema))
	return prefix + hex.EncodeToString(sum[:16])
}

func (h *Hub) listen(ctx context.Context, conn *pgx.Conn, channel string) error {
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	first := false
	h.once.Do(func() { first = true; close(h.ready) })
	if !first {
		h.missed()
	}
	for {
		notification, err := conn.WaitForNotification(ctx)
		if err != nil {
			return fmt.Errorf("wait for news: %w", err)
		}
		h.receive(notification.Payload)
	}
}

func (h *Hub) receive(payload string) {
	var p parcel
	if err := json.Unmarshal([]byte(payload), &p); err != nil {
		h.log.Warn("a notification that is not ours", "error", err.Error())
		return
	}
	if p.From == h.self {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, raw := range p.Items {
		var item Item
		if json.Unmarshal(raw, &item) == nil { // else of a newer version: not for us
			h.hand(item)
		}
	}
}

// rest is how long the sender is quiet after each batch. A single item waits for
// nothing; in a crowd, thousands of them become forty transactions a second.
const rest = 25 * time.Millisecond

// send empties the outbox whenever something is in it; what comes in while a batch is
// on its way, or just after, makes the next one.
func (h *Hub) send(ctx context.Context, conn *pgx.Conn, channel string) error {
	for {
		if err := h.notify(ctx, conn, channel); err != nil {
			return err
		}
		quiet := time.After(rest)
		select {
		case <-h.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case <-quiet:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (h *Hub) notify(ctx context.Context, conn *pgx.Conn, channel string) error {
	items := h.take()
	if len(items) == 0 {
		return nil
	}
	payloads, err := pack(h.self, items)
	if err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, `SELECT pg_notify(@channel, payload) FROM unnest(@payloads::text[]) AS payload`,
		pgx.NamedArgs{"channel": channel, "payloads": payloads}); err != nil {
		h.putBack(items)
		return fmt.Errorf("notify: %w", err)
	}
	return nil
}

// pack makes as few payloads as the limit allows. An item is far smaller than
// the limit; one that is not would be refused by the database for ever, so it is
// left out.
func pack(from string, items []Item) ([]string, error) {
	var payloads []string
	p, size := parcel{From: from}, 0
	flush := func() error {
		if len(p.Items) == 0 {
			return nil
		}
		text, err := json.Marshal(p)
		if err != nil {
			return fmt.Errorf("pack news: %w", err)
		}
		payloads = append(payloads, string(text))
		p.Items, size = nil, 0
		return nil
	}
	for _, item := range items {
		raw, err := json.Marshal(item)
		if err != nil {
			return nil, fmt.Errorf("pack news: %w", err)
		}
		if len(raw) > maxPayload-100 {
			continue
		}
		if size+len(raw) > maxPayload-100 {
			if err := flush(); err != nil {
				return nil, err
			}
		}
		p.Items, size = append(p.Items, raw), size+len(raw)+1
	}
	err := flush()
	return payloads, err
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
