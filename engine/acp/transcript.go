package acp

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/interlude-go/interlude/engine"
)

// What begins a line of a transcript: who wrote it.
const (
	fromAgent = "< "
	toAgent   = "> "
)

// transcript keeps the lines of a turn, both ways, up to a limit. A nil transcript keeps nothing.
type transcript struct {
	name string

	mu   sync.Mutex
	file *os.File // guarded by mu; nil when closed
	at   int64    // guarded by mu; the file's length
	left int      // guarded by mu
}

// newTranscript makes the attempt's files: attempt-N.out, and attempt-N.err for the error output. What is there already is kept.
func newTranscript(dir string, attempt int, suffix string, limit int) (*transcript, error) {
	name := fmt.Sprintf("attempt-%d.%s", attempt, suffix)
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o640)
	if err != nil {
		return nil, fmt.Errorf("transcript: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("transcript: %w", err)
	}
	return &transcript{name: name, file: f, at: info.Size(), left: max(0, limit-int(info.Size()))}, nil
}

// keep writes a line as far as there is room, and says where it stands: nil when it is not there as a whole. It never fails: a full
// disk must not end a turn.
func (t *transcript) keep(who, line string) *engine.RawRef {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	text := who + line + "\n"
	part := text[:min(len(text), t.left)]
	if t.file == nil || part == "" {
		return nil
	}
	begin := t.at
	n, err := t.file.WriteString(part)
	t.at, t.left = t.at+int64(n), t.left-n
	if err != nil {
		t.left = 0
	}
	if n < len(text) {
		return nil
	}
	return &engine.RawRef{File: t.name, Offset: begin + int64(len(who)), Length: int64(len(line))}
}

// Write keeps the error output as it comes, as far as there is room. It never fails either.
func (t *transcript) Write(p []byte) (int, error) {
	if t == nil {
		return len(p), nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if part := p[:min(len(p), t.left)]; t.file != nil && len(part) > 0 {
		n, err := t.file.Write(part)
		t.at, t.left = t.at+int64(n), t.left-n
		if err != nil {
			t.left = 0
		}
	}
	return len(p), nil
}

func (t *transcript) close() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.file.Close() // what could not be written is lost already
	t.file = nil
}

// span is from the beginning of one line to the end of another; nil when either is not there.
func span(first, last *engine.RawRef) *engine.RawRef {
	if first == nil || last == nil {
		return nil
	}
	return &engine.RawRef{File: first.File, Offset: first.Offset, Length: last.Offset + last.Length - first.Offset}
}
