package node

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// LogRepeatedOnce returns a logger that logs a repeated error once a minute, with the number of omitted
// ones: otherwise an outage logs hundreds of lines per node.
func LogRepeatedOnce(l *slog.Logger) *slog.Logger {
	return slog.New(repeatedOnce{l.Handler(), &repeats{seen: make(map[string]*repeat)}})
}

// tryingAgain ends the message of an error that its loop repeats.
const tryingAgain = "trying again"

// repeatGap is the least time between two records with one message.
const repeatGap = time.Minute

type repeatedOnce struct {
	slog.Handler

	repeats *repeats
}

type repeats struct {
	mu   sync.Mutex
	seen map[string]*repeat // guarded by mu; by message, which the code limits
}

type repeat struct {
	logged time.Time
	left   int
}

func (h repeatedOnce) Handle(ctx context.Context, r slog.Record) error {
	if !strings.HasSuffix(r.Message, tryingAgain) {
		return h.Handler.Handle(ctx, r)
	}
	left, due := h.repeats.note(r.Message, r.Time)
	if !due {
		return nil
	}
	if left > 0 {
		r.AddAttrs(slog.Int("repeated", left))
	}
	return h.Handler.Handle(ctx, r)
}

// note reports whether a record is due, and how many were left out before it.
func (s *repeats) note(message string, at time.Time) (left int, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.seen[message]
	if last != nil && at.Sub(last.logged) < repeatGap {
		last.left++
		return 0, false
	}
	if last != nil {
		left = last.left
	}
	s.seen[message] = &repeat{logged: at}
	return left, true
}

func (h repeatedOnce) WithAttrs(attrs []slog.Attr) slog.Handler {
	return repeatedOnce{h.Handler.WithAttrs(attrs), h.repeats}
}

func (h repeatedOnce) WithGroup(name string) slog.Handler {
	return repeatedOnce{h.Handler.WithGroup(name), h.repeats}
}
