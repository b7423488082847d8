package interaction

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// JournalEntry stores the result of a step, a time or an answer for later turns of the run. Entries
// are kept in the order of their writing, and never changed.
type JournalEntry struct {
	// Path locates the entry in the engine's code; Name and Type describe the operation. Each has
	// at most MaxJournalWord bytes of UTF-8 without NUL. Path and Type are required.
	Path string `json:"path"`
	Name string `json:"name,omitempty"`
	Type string `json:"type"`
	// Body is the stored result: 1 to MaxJournalBody bytes.
	Body []byte `json:"body"`
}

// Limits of a journal.
const (
	MaxJournalWord    = 512
	MaxJournalBody    = 1 << 20
	MaxJournalEntries = 10_000
	MaxJournalSize    = 64 << 20 // bytes of all entries of a run, including paths, names and types
)

// ErrJournalFull reports that an entry exceeds a limit of the run's journal.
var ErrJournalFull = errors.New("interaction: the journal is full")

type JournalSize struct {
	Entries int   `json:"entries"`
	Bytes   int64 `json:"bytes"`
}

// Size returns the bytes that the entry adds to JournalSize.Bytes.
func (e *JournalEntry) Size() int { return len(e.Path) + len(e.Name) + len(e.Type) + len(e.Body) }

func (e *JournalEntry) validate() error {
	for _, word := range []string{e.Path, e.Name, e.Type} {
		if len(word) > MaxJournalWord || !utf8.ValidString(word) || strings.IndexByte(word, 0) >= 0 {
			return fmt.Errorf("path, name and type are at most %d bytes of UTF-8 without NUL, not %.80q, %.80q and "+
				"%.80q", MaxJournalWord, e.Path, e.Name, e.Type)
		}
	}
	if e.Path == "" || e.Type == "" || len(e.Body) == 0 {
		return errors.New("it has a path, a type and a body")
	}
	return nil
}

// With returns the size after adding the entries; nil means an empty journal. The error names the
// first entry that cannot be added, and matches ErrJournalFull if only a limit prevents it.
func (s *JournalSize) With(entries []JournalEntry) (*JournalSize, error) {
	if len(entries) == 0 {
		return s, nil
	}
	var next JournalSize
	if s != nil {
		next = *s
	}
	for i := range entries {
		e := &entries[i]
		if err := e.validate(); err != nil {
			return nil, fmt.Errorf("interaction: journal entry %.80q at %.80s: %w", e.Name, e.Path, err)
		}
		next.Entries++
		next.Bytes += int64(e.Size())
		limit := ""
		switch {
		case len(e.Body) > MaxJournalBody:
			limit = fmt.Sprintf("it has %d bytes, and an entry may have %d", len(e.Body), MaxJournalBody)
		case next.Entries > MaxJournalEntries:
			limit = fmt.Sprintf("a run may have %d entries", MaxJournalEntries)
		case next.Bytes > MaxJournalSize:
			limit = fmt.Sprintf("the entries of a run may have %d MiB together", MaxJournalSize>>20)
		}
		if limit != "" {
			return nil, fmt.Errorf("%w: entry %.80q at %.80s: %s", ErrJournalFull, e.Name, e.Path, limit)
		}
	}
	return &next, nil
}
