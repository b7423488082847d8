package flow

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/interlude-go/interlude/engine"
)

// Stream stores streamed text as events of the run. Each event is a commit, so it stores one event
// per interval, not per piece. It is not safe for concurrent use.
type Stream struct {
	ctx   context.Context //nolint:containedctx // the step's
	run   *run
	every time.Duration
	last  time.Time // when the last event was stored, or the stream began
	text  strings.Builder
}

// maxStreamed is the number of bytes that Write stores before the interval has passed.
const maxStreamed = 16 << 10

// NewStream makes the stream of the step executed with this context, with at most one event per
// interval, except for 16 KiB of text. Call Flush at the end. A step that is executed again stores
// its text again.
func NewStream(ctx context.Context, every time.Duration) (*Stream, error) {
	s, ok := ctx.Value(inStep{}).(*stepInfo)
	if !ok {
		return nil, errors.New("flow: a Stream needs the context of a step")
	}
	return &Stream{ctx: ctx, run: s.run, every: every, last: s.run.clock.Now()}, nil
}

// Write adds a piece. After the interval, it stores the text up to the end of its last line or word.
func (s *Stream) Write(piece string) error {
	s.text.WriteString(piece)
	if s.run.clock.Now().Sub(s.last) < s.every && s.text.Len() < maxStreamed {
		return nil
	}
	text := s.text.String()
	end := strings.LastIndexByte(text, '\n') + 1
	if end == 0 {
		end = strings.LastIndexByte(text, ' ') + 1
	}
	if end == 0 && len(text) < maxStreamed {
		return nil // a word is not split
	}
	if end == 0 {
		end = len(text)
	}
	return s.store(text[:end], text[end:])
}

// Flush stores the rest.
func (s *Stream) Flush() error { return s.store(s.text.String(), "") }

func (s *Stream) store(text, rest string) error {
	s.text.Reset()
	s.text.WriteString(rest)
	s.last = s.run.clock.Now()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return s.run.sink.Message(s.ctx, engine.Message{Text: text})
}
