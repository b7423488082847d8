// Package transcript keeps what an agent wrote in an attempt: attempt-N.out, and attempt-N.err for
// its error output, in the run's folder (engine.Turn.TranscriptDir). All rounds of an attempt are
// in the same two files, under one limit.
//
// The agent runs as the host's user as a rule, and could put something else where the file is to
// be. What is no regular file with one name fails the turn; it blocks nobody, and nothing is
// written elsewhere.
//
// Neighbours: engine/exec and engine/acp keep their transcripts with it.
package transcript

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/internal/plainfile"
)

// File is a transcript. It is safe for concurrent use. A nil File keeps nothing.
type File struct {
	name  string
	limit int64

	mu   sync.Mutex
	file *os.File // guarded by mu; nil when closed
	size int64    // guarded by mu; of the file
	full bool     // guarded by mu; the disk is, nothing more is kept
}

// Open opens attempt-N.KIND in the folder, which is readable by this user only. What is there
// already stays. limit bounds the file, in bytes.
func Open(dir string, attempt int, kind string, limit int) (*File, error) {
	name := fmt.Sprintf("attempt-%d.%s", attempt, kind)
	f, err := plainfile.Append(dir, name)
	if err != nil {
		return nil, fmt.Errorf("transcript: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("transcript: %w", err), f.Close())
	}
	return &File{name: name, limit: int64(limit), file: f, size: info.Size()}, nil
}

// Write keeps p as far as there is room. It never fails: a full disk must not end a turn.
func (t *File) Write(p []byte) (int, error) {
	if t != nil {
		t.keep(p)
	}
	return len(p), nil
}

// keep appends p as far as there is room, and returns where the part of it that was kept begins and
// how long that is.
func (t *File) keep(p []byte) (offset int64, kept int) {
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

// Line appends a line, after a mark that is not part of it, and returns where it stands; nil when
// it was not kept whole.
func (t *File) Line(mark string, text []byte) *engine.RawRef {
	if t == nil {
		return nil
	}
	whole := make([]byte, 0, len(mark)+len(text)+1)
	whole = append(append(append(whole, mark...), text...), '\n')
	offset, kept := t.keep(whole)
	if kept < len(whole) {
		return nil
	}
	return &engine.RawRef{File: t.name, Offset: offset + int64(len(mark)), Length: int64(len(text))}
}

// Close closes the file. What is written later is not kept.
func (t *File) Close() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file != nil {
		_ = t.file.Close() // what could not be written is lost already
	}
	t.file = nil
}
