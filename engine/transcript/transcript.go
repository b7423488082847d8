// Package transcript writes an agent's output in an attempt to attempt-N.out, and its standard
// error to attempt-N.err, in the run's folder (engine.Turn.TranscriptDir). All rounds of an attempt
// share these files and one limit.
//
// The agent usually runs as the host's user and could replace the file by a link, a pipe or a
// folder. Anything but a regular file with one name fails the turn: no call blocks, and nothing is
// written elsewhere.
//
// The package is for authors of engines that run other programs. Hosts read the files that it
// writes, and do not call it.
//
// Neighbours: engine/exec and engine/acp write their transcripts with it.
package transcript

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/internal/plainfile"
)

// File is a transcript. It is safe for concurrent use. A nil File discards writes.
type File struct {
	name  string
	limit int64

	mu   sync.Mutex // guards the fields below
	file *os.File   // nil when closed
	size int64      // of the file
	full bool       // a write has failed, and nothing more is written
}

// Open opens attempt-N.KIND in the folder, readable by this user only, to append to it. limit
// bounds the file, in bytes.
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

// Write appends p up to the limit. It never fails: a full disk must not end a turn.
func (t *File) Write(p []byte) (int, error) {
	if t != nil {
		t.appendBounded(p)
	}
	return len(p), nil
}

// appendBounded appends p up to the limit, and returns offset and length of the written part.
func (t *File) appendBounded(p []byte) (offset int64, written int) {
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

// Line appends a line after a mark, which is not part of it, and returns its position; nil if it
// was not written completely.
func (t *File) Line(mark string, text []byte) *engine.RawRef {
	if t == nil {
		return nil
	}
	whole := make([]byte, 0, len(mark)+len(text)+1)
	whole = append(append(append(whole, mark...), text...), '\n')
	offset, written := t.appendBounded(whole)
	if written < len(whole) {
		return nil
	}
	return &engine.RawRef{File: t.name, Offset: offset + int64(len(mark)), Length: int64(len(text))}
}

// Close closes the file. Later writes are discarded.
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
