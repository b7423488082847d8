package exec

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/interlude-go/interlude/engine"
)

// transcript keeps what the agent wrote in an attempt, as it was but for secrets, up to a limit. A nil transcript keeps nothing.
type transcript struct {
	name  string
	limit int64

	mu   sync.Mutex
	file *os.File // guarded by mu
	size int64    // guarded by mu; of the file
	full bool     // guarded by mu; the disk is, nothing more is kept
}

// newTranscript opens the attempt's files: attempt-N.out, and attempt-N.err for the error output. An attempt that has several rounds has
// all of them in one file, under one limit.
func newTranscript(dir string, attempt int, suffix string, limit int) (*transcript, error) {
	if dir == "" {
		return nil, nil //nolint:nilnil // no folder, no transcript
	}
	name := fmt.Sprintf("attempt-%d.%s", attempt, suffix)
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o640)
	if err != nil {
		return nil, fmt.Errorf("transcript: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("transcript: %w", err), f.Close())
	}
	return &transcript{name: name, limit: int64(limit), file: f, size: info.Size()}, nil
}

// Write keeps p as far as there is room. It never fails: a full disk must not end a turn.
func (t *transcript) Write(p []byte) (int, error) {
	if t != nil {
		t.keep(p)
	}
	return len(p), nil
}

// keep appends p as far as there is room, and returns where the part of it that was kept begins and how long that is.
func (t *transcript) keep(p []byte) (offset int64, kept int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	offset = t.size
	if part := p[:max(0, min(int64(len(p)), t.limit-t.size))]; t.file != nil && !t.full && len(part) > 0 {
		n, err := t.file.Write(part)
		t.size += int64(n)
		t.full = err != nil
		return offset, n
	}
	return offset, 0
}

// line appends a line and returns where it stands, nil when it was not kept whole.
func (t *transcript) line(text []byte) *engine.RawRef {
	if t == nil {
		return nil
	}
	whole := append(append(make([]byte, 0, len(text)+1), text...), '\n')
	offset, kept := t.keep(whole)
	if kept < len(whole) {
		return nil
	}
	return &engine.RawRef{File: t.name, Offset: offset, Length: int64(len(text))}
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
