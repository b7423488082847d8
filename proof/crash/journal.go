package crash

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"github.com/interlude-go/interlude/interaction"
)

// Entry is a line of a Journal: a round that an agent was given, a receipt that a person was
// given, or a change that a person was told is made.
type Entry struct {
	Run string `json:"run"`

	Attempt int    `json:"attempt,omitempty"`
	Input   string `json:"input,omitempty"` // "prompt" in a first turn

	Source uint64 `json:"source,omitempty"` // the version of the source before a run was forked from it

	Hand string `json:"hand,omitempty"` // what a person changed about the first question
	By   string `json:"by,omitempty"`

	// Fed is an event that the reader of a feed was given, and Acked the last one of which it was
	// told that it is acknowledged.
	Fed   uint64 `json:"fed,omitempty"`
	Acked uint64 `json:"acked,omitempty"`

	Key     string               `json:"key,omitempty"`
	Receipt *interaction.Receipt `json:"receipt,omitempty"`
	Refused string               `json:"refused,omitempty"`
}

// Journal records what really happened outside of the store. Each entry is on the disk before the
// agent or the person goes on. Without a file, the journal is in memory.
type Journal struct {
	mu   sync.Mutex
	file *os.File // guarded by mu
	all  []Entry  // guarded by mu
}

// OpenJournal opens the file, and reads the entries of earlier hosts.
func OpenJournal(path string) (*Journal, error) {
	j := &Journal{}
	old, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(old))
	for lines.Scan() {
		var e Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("journal %s: %w", path, err)
		}
		j.all = append(j.all, e)
	}
	j.file, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return j, err
}

// Add adds an entry, in one write of one line.
func (j *Journal) Add(e Entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.all = append(j.all, e)
	if j.file == nil {
		return nil
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		return err
	}
	return j.file.Sync()
}

// Of returns the entries of a run in order.
func (j *Journal) Of(run string) []Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	var all []Entry
	for _, e := range j.all {
		if e.Run == run {
			all = append(all, e)
		}
	}
	return all
}

// Close closes the file.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.file.Close()
}
