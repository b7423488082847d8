package cast

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
)

// Journal records events outside the store, so that a judge need not rely on the store. It may be
// used concurrently, and several processes may add to one file. The zero value is in memory.
type Journal[E any] struct {
	mu   sync.Mutex
	file *os.File // guarded by mu
	all  []E      // guarded by mu
}

// OpenJournal opens a file for adding, with the entries that it has.
func OpenJournal[E any](path string) (*Journal[E], error) {
	all, err := ReadJournal[E](path)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return &Journal[E]{file: file, all: all}, err
}

// ReadJournal reads the entries of a file. There are none if its process was killed before it made
// the file, and the last entry is left out if its process was killed while it wrote it.
func ReadJournal[E any](path string) (all []E, _ error) {
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		var e E
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, len(all)+1, err)
		}
		all = append(all, e)
	}
	return all, nil
}

// Add adds an entry, in one write of one line. The entry is not lost if the process is killed
// afterwards.
func (j *Journal[E]) Add(e E) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.all = append(j.all, e)
	if j.file == nil {
		return nil
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = j.file.Write(append(line, '\n'))
	}
	return err
}

// All returns the entries in order.
func (j *Journal[E]) All() []E {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.all)
}

// Close closes the file.
func (j *Journal[E]) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return nil
	}
	return j.file.Close()
}
