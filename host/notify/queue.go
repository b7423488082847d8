package notify

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Queue keeps the notices that were read from a feed and are not yet accepted, and the dead
// letters. NewMemory, OpenSQLite and OpenPostgreSQL return one; a host may write its own.
//
// A notice has the key (endpoint, run, seq), and is pending or dead. Each call is atomic and, but
// for Memory, durable when it returns. Any number of processes may use a queue at the same time.
// Errors are taken to pass: the caller tries again later.
type Queue interface {
	// Add adds pending notices that are due now. One that is there with the same body, pending or
	// dead, stays as it is; one with another body, of a run that was pruned and submitted again, is
	// replaced.
	Add(ctx context.Context, endpoint string, entries []Entry, now time.Time) error
	// Claim returns up to n notices that are pending and due, and makes each due again at until,
	// and its attempt one more. Of each run it looks at the notice with the lowest number alone:
	// the others wait for it. Of several callers at the same time one gets a notice. Next is when
	// the first notice that nobody waits for is due, those that were claimed included; zero if
	// there is none.
	Claim(ctx context.Context, endpoint string, now, until time.Time, n int) (_ []Claimed, next time.Time, _ error)
	// Remove removes a notice, whatever became of it meanwhile; none is no error.
	Remove(ctx context.Context, endpoint string, key Key) error
	// Retry makes the notice due at that time, for the reason. It does nothing if the notice has
	// gone, is dead, or has been claimed since.
	Retry(ctx context.Context, endpoint string, c Claimed, at time.Time, reason string) error
	// Bury makes the notice a dead letter. It does nothing where Retry does nothing.
	Bury(ctx context.Context, endpoint string, c Claimed, now time.Time, reason string) error
	// Dead returns up to limit dead letters after the key, in the order of their keys.
	Dead(ctx context.Context, endpoint string, after Key, limit int) ([]DeadLetter, error)
	// Revive makes a dead letter a pending notice that is due now, with no attempt.
	// ErrNoDeadLetter.
	Revive(ctx context.Context, endpoint string, key Key, now time.Time) error
	// Count counts the endpoint's notices.
	Count(ctx context.Context, endpoint string) (Count, error)
	// Clear removes all notices of the endpoint.
	Clear(ctx context.Context, endpoint string) error
}

// ErrNoDeadLetter: the endpoint has no dead letter with this key.
var ErrNoDeadLetter = errors.New("notify: no such dead letter")

// Key is the place of an event: its run, and its number there.
type Key struct {
	RunID string
	Seq   uint64
}

// ID is "run/seq".
func (k Key) ID() string { return fmt.Sprintf("%s/%d", k.RunID, k.Seq) }

// less orders keys by run and number.
func (k Key) less(other Key) bool {
	return k.RunID < other.RunID || k.RunID == other.RunID && k.Seq < other.Seq
}

// ParseID returns the key of a notice's ID.
func ParseID(id string) (Key, error) {
	i := strings.LastIndexByte(id, '/')
	seq, err := strconv.ParseUint(id[i+1:], 10, 63)
	if i < 1 || err != nil {
		return Key{}, fmt.Errorf("notify: %.80q is no ID of a notice, want run/seq", id)
	}
	return Key{RunID: id[:i], Seq: seq}, nil
}

// Entry is a notice as it is added to a queue.
type Entry struct {
	RunID string
	Seq   uint64
	// Body is the event as JSON.
	Body []byte
}

// Key is the notice's key.
func (e Entry) Key() Key { return Key{e.RunID, e.Seq} }

// ID is "run/seq".
func (e Entry) ID() string { return e.Key().ID() }

// Claimed is a notice for which an attempt is being made.
type Claimed struct {
	Entry
	// Attempt counts the claims, this one included.
	Attempt int
}

// DeadLetter is a notice that was not accepted, and is not sent any more.
type DeadLetter struct {
	Entry
	Attempts int
	// Died is when the last attempt failed, for the reason.
	Died   time.Time
	Reason string
}

// Count is how many notices of an endpoint are in the queue.
type Count struct {
	Pending, Dead int
	// Runs is how many runs have pending notices.
	Runs int
	// Oldest is when the oldest pending notice was added; zero when there is none.
	Oldest time.Time
}

// maxReason is how much of an error is stored, in bytes.
const maxReason = 500

// reason is an error as a text that every database stores.
func reason(err error) string {
	text := strings.ToValidUTF8(strings.ReplaceAll(err.Error(), "\x00", ""), "�")
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "")
	}
	return text
}
