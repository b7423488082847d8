package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
)

// Queue stores the notices that were read from a feed and not yet accepted, and the dead letters.
// NewMemory, OpenSQLite and OpenPostgreSQL return one; a host may implement its own.
//
// A notice has the key (endpoint, run, seq), and is pending or dead. Each call is atomic and,
// except for Memory, durable when it returns. Any number of processes may use a queue at the same
// time. The caller retries after every error.
type Queue interface {
	// Add adds pending notices that are due now. An existing notice with the same body, pending or
	// dead, is kept. A different body means that the run was pruned and submitted again, or that a
	// restore removed the event: the notice is replaced.
	Add(ctx context.Context, endpoint string, entries []Entry, now time.Time) error
	// Claim returns up to n pending notices that are due. It makes each due again at until, and
	// increments its attempt. Only the lowest-numbered pending notice of each run can be claimed.
	// Concurrent callers never get the same notice. Next is the earliest due time of such notices,
	// including the claimed ones; zero if there are none.
	Claim(ctx context.Context, endpoint string, now, until time.Time, n int) (_ []Claimed, next time.Time, _ error)
	// Remove removes a notice in any state; a missing notice is not an error.
	Remove(ctx context.Context, endpoint string, key Key) error
	// Retry sets the notice's due time and the reason. It does nothing if the notice is missing or
	// dead, or was claimed again since.
	Retry(ctx context.Context, endpoint string, c Claimed, at time.Time, reason string) error
	// Bury makes the notice a dead letter, under the same conditions as Retry.
	Bury(ctx context.Context, endpoint string, c Claimed, now time.Time, reason string) error
	// Dead returns up to limit dead letters after the key, in the order of their keys.
	Dead(ctx context.Context, endpoint string, after Key, limit int) ([]DeadLetter, error)
	// Revive makes a dead letter pending, due now, with no attempts. ErrNoDeadLetter.
	Revive(ctx context.Context, endpoint string, key Key, now time.Time) error
	// Count counts the endpoint's notices.
	Count(ctx context.Context, endpoint string) (Count, error)
	// Clear removes all notices of the endpoint.
	Clear(ctx context.Context, endpoint string) error
}

// ErrNoDeadLetter: the endpoint has no dead letter with this key.
var ErrNoDeadLetter = errors.New("notify: the endpoint has no dead letter with this id")

// Key is the position of an event: its run, and its number there.
type Key struct {
	RunID string
	Seq   uint64
}

// ID is "run/seq".
func (k Key) ID() string { return fmt.Sprintf("%s/%d", k.RunID, k.Seq) }

func (k Key) less(other Key) bool {
	return k.RunID < other.RunID || k.RunID == other.RunID && k.Seq < other.Seq
}

// ParseID returns the key of a notice's ID. A queue has one notice of a key, so it needs no
// incarnation.
func ParseID(id string) (Key, error) {
	i := strings.LastIndexByte(id, '/')
	at, err := fcmp.ParseCursor(id[i+1:])
	if i < 1 || err != nil {
		return Key{}, fmt.Errorf("notify: notice ID %.80q is invalid, want run/seq", id)
	}
	return Key{RunID: id[:i], Seq: at.Seq}, nil
}

// Entry is a notice to be added to a queue.
type Entry struct {
	RunID string
	Seq   uint64
	// Body is the event as JSON.
	Body []byte
}

// Key is the notice's key.
func (e Entry) Key() Key { return Key{e.RunID, e.Seq} }

// ID is the event's ID.
func (e Entry) ID() string {
	var event fcmp.Event
	if json.Unmarshal(e.Body, &event) != nil || event.Seq != e.Seq {
		return e.Key().ID()
	}
	return event.ID()
}

// Claimed is a notice with an attempt in progress.
type Claimed struct {
	Entry
	// Attempt counts the claims, including this one.
	Attempt int
}

// DeadLetter is a notice that was not accepted and is no longer sent.
type DeadLetter struct {
	Entry
	Attempts int
	// Died is the time of the last failed attempt.
	Died   time.Time
	Reason string
}

// Count counts an endpoint's notices in the queue.
type Count struct {
	Pending, Dead int
	// Runs counts the runs with pending notices.
	Runs int
	// Oldest is when the oldest pending notice was added; zero without one.
	Oldest time.Time
}

// maxReason limits the stored text of an error, in bytes.
const maxReason = 500

// reason is an error's text in a form that every database stores.
func reason(err error) string {
	text := strings.ToValidUTF8(strings.ReplaceAll(err.Error(), "\x00", ""), "�")
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "")
	}
	return text
}
