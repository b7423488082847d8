package pglocal

import (
	"io"
	"strings"
	"sync"
)

// tailSize is the part of a log kept for an error: the lines that explain the server's end, and a
// few before.
const tailSize = 4 << 10

// tail passes a log on and keeps its end.
type tail struct {
	to io.Writer

	mu   sync.Mutex // guards kept
	kept []byte
}

// Write never fails: a log that cannot be passed on must not stop the server.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	t.kept = t.kept[max(0, len(t.kept)-tailSize):]
	_, _ = t.to.Write(p)
	return len(p), nil
}

// String is the last lines, in one.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.FieldsFunc(string(t.kept), func(r rune) bool { return r == '\n' })
	return strings.Join(lines[max(0, len(lines)-8):], " | ")
}

func (t *tail) says(words string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Contains(string(t.kept), words)
}
