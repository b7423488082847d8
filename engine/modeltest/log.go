package modeltest

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
)

// Bounds of the log.
const (
	maxRequests = 10_000   // older requests are dropped
	maxText     = 64 << 10 // bytes of one text; the rest is cut
)

type Request struct {
	N         int    `json:"n"` // from 1
	Method    string `json:"method"`
	Path      string `json:"path"`
	UserAgent string `json:"user_agent,omitempty"`
	Bytes     int    `json:"bytes"`
	// API is empty for a request that does not ask the model.
	API   API    `json:"api,omitempty"`
	Model string `json:"model,omitempty"`
	// Side marks a side call; see Conversation.Side.
	Side bool `json:"side,omitempty"`
	// Users are the user's texts in order, without texts added by the agent; LastUser is the last
	// one. Results are the tool results since then.
	Users    []string `json:"users,omitempty"`
	LastUser string   `json:"last_user,omitempty"`
	Results  []string `json:"results,omitempty"`
	Tools    []string `json:"tools,omitempty"`
	Plan     string   `json:"plan,omitempty"`
	// Ended says that the answer was sent completely, Left that the client left before, Error what
	// failed.
	Ended bool   `json:"ended,omitempty"`
	Left  bool   `json:"left,omitempty"`
	Error string `json:"error,omitempty"`
}

// log keeps requests, in memory and in a file.
type log struct {
	file string

	mu       sync.Mutex // guards the fields below
	n        int        // requests so far
	times    map[[sha256.Size]byte]int
	requests []Request     // by number
	changed  chan struct{} // closed and replaced on each change
}

func (l *log) nextNumber() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	return l.n
}

func (l *log) countAsked(c Conversation) int {
	body, err := json.Marshal([]any{c.API, c.Model, c.System, c.Messages}) // strings only: no error
	if err != nil {
		return 0
	}
	key := sha256.Sum256(body)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.times == nil || len(l.times) >= maxRequests {
		l.times = make(map[[sha256.Size]byte]int)
	}
	l.times[key]++
	return l.times[key] - 1
}

func (l *log) record(r Request) error {
	r.LastUser, r.Users, r.Results = clipped(r.LastUser), clippedAll(r.Users), clippedAll(r.Results)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests = insert(l.requests, r)
	if more := len(l.requests) - maxRequests; more > 0 {
		l.requests = slices.Delete(l.requests, 0, more)
	}
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
	if l.file == "" {
		return nil
	}
	return appendLine(l.file, r)
}

// insert adds or replaces the request, in the order of numbers.
func insert(all []Request, r Request) []Request {
	at, found := slices.BinarySearchFunc(all, r.N, func(known Request, n int) int { return known.N - n })
	if found {
		all[at] = r
		return all
	}
	return slices.Insert(all, at, r)
}

// appendLine appends the request as a line in one write, so that it survives a crash of this
// process.
func appendLine(file string, r Request) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("modeltest: log: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// ReadLog reads a log file, which another process may be writing: an incomplete last line is
// ignored. A missing file is an empty log.
func ReadLog(file string) ([]Request, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("modeltest: log: %w", err)
	}
	defer f.Close()
	var all []Request
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil { // the end, or an incomplete line
			return all, nil
		}
		var r Request
		if err := json.Unmarshal(line, &r); err != nil {
			return all, fmt.Errorf("modeltest: log %s: %w", file, err)
		}
		all = insert(all, r)
	}
}

// Requests returns at most the last 10,000 requests, in order.
func (s *Server) Requests() []Request {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return slices.Clone(s.log.requests)
}

// Await returns when done returns true, or with an error when ctx ends. It calls done at once and
// after each change of the log.
func (s *Server) Await(ctx context.Context, done func([]Request) bool) error {
	for {
		s.log.mu.Lock()
		if s.log.changed == nil {
			s.log.changed = make(chan struct{})
		}
		changed := s.log.changed
		s.log.mu.Unlock()
		if done(s.Requests()) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("modeltest: the request that was waited for did not come: %w", context.Cause(ctx))
		}
	}
}

func clipped(s string) string { return s[:min(len(s), maxText)] }

func clippedAll(texts []string) []string {
	all := make([]string, len(texts))
	for i, s := range texts {
		all[i] = clipped(s)
	}
	return all
}
