package exec

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// transcript keeps what the agent wrote in a turn, as it was, up to a limit. A nil transcript keeps nothing.
type transcript struct {
	name string

	mu   sync.Mutex
	file *os.File // guarded by mu
	left int      // guarded by mu
}

// newTranscript makes the attempt's files: attempt-N.out, and attempt-N.err for the error output. What an earlier round of the
// attempt left there is kept, and counts.
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
	return &transcript{name: name, file: f, left: limit - int(min(info.Size(), int64(limit)))}, nil
}

// Write keeps p as far as there is room. It never fails: a full disk must not end a turn.
func (t *transcript) Write(p []byte) (int, error) {
	if t == nil {
		return len(p), nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if part := p[:min(len(p), t.left)]; t.file != nil && len(part) > 0 {
		n, err := t.file.Write(part)
		t.left -= n
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
