package pg

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
)

const (
	tailLines = 20
	// A line longer than this is passed on in pieces.
	lineLimit = 8 << 10
)

// serverLog turns what the server writes into log records, and remembers the last
// lines for an error message.
type serverLog struct {
	log *slog.Logger

	mu   sync.Mutex
	part []byte
	last []string
}

func newServerLog(log *slog.Logger) *serverLog { return &serverLog{log: log} }

// Write takes any piece of the server's output.
func (l *serverLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.part = append(l.part, p...)
	for {
		line, rest, found := bytes.Cut(l.part, []byte("\n"))
		if !found {
			break
		}
		l.line(string(line))
		l.part = rest
	}
	if len(l.part) > lineLimit {
		l.line(string(l.part))
		l.part = nil
	}
	return len(p), nil
}

func (l *serverLog) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.part) > 0 {
		l.line(string(l.part))
		l.part = nil
	}
}

func (l *serverLog) line(text string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	l.last = append(l.last, text)
	if len(l.last) > tailLines {
		l.last = l.last[1:]
	}
	level := slog.LevelDebug
	for _, severe := range []string{"WARNING:", "FATAL:", "PANIC:"} {
		if strings.HasPrefix(text, severe) {
			level = slog.LevelWarn
		}
	}
	for _, ordinary := range []string{"is starting up", "due to administrator command"} {
		if strings.Contains(text, ordinary) { // said to each connection of a start or a stop
			level = slog.LevelDebug
		}
	}
	l.log.Log(context.Background(), level, "postgres", "line", text)
}

// tail is the last of what the server said, in one line.
func (l *serverLog) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.last) == 0 {
		return "(nothing)"
	}
	return strings.Join(l.last, " | ")
}

// blamesPrevious reports whether the server refused to start because processes of
// the previous one on this folder are still there.
func (l *serverLog) blamesPrevious() bool {
	said := l.tail()
	return strings.Contains(said, `lock file "postmaster.pid" already exists`) ||
		strings.Contains(said, "pre-existing shared memory block")
}
