package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// maxPayload is a little less than the 8000 bytes that a notification can carry.
const maxPayload = 7800

// maxHints bounds what waits to be told: more than that is told as "anything may have changed".
const maxHints = 4096

// notice is a notification: what a process has committed.
type notice struct {
	From string    `json:"from"` // the store instance, so that it does not listen to itself
	Runs []runHint `json:"runs,omitempty"`
	All  bool      `json:"all,omitempty"` // anything may have changed
}

// runHint is a store.Hint.
type runHint struct {
	ID    string    `json:"id"`
	State fsm.State `json:"s"`
	Seq   uint64    `json:"n"`
}

// notifier tells other processes of commits, in transactions of its own that nobody waits for: one
// that notifies holds a lock of the whole database until it is stored, so that commits would come
// one after the other. What is told after a crash is lost; the others poll.
type notifier struct {
	s    *Store
	wake chan struct{}
	last chan struct{} // closed when the store is: what waits is sent, and no more

	mu    sync.Mutex
	hints map[string]runHint // guarded by mu; what waits, by run: the newest is enough
	order []string           // guarded by mu; runs in hints
	all   bool               // guarded by mu
}

func newNotifier(s *Store) *notifier {
	return &notifier{s: s, wake: make(chan struct{}, 1), last: make(chan struct{}), hints: make(map[string]runHint)}
}

// notifyText needs no durability.
var notifyText = sql(`SELECT set_config('synchronous_commit', 'off', true), pg_notify($1::text, $2::text)`)

// channel is where the processes of a schema notify each other. A name of the server's has 63 bytes
// at most.
func (s *Store) channel() string {
	name := "interlude " + s.o.Schema
	if len(name) > 63 {
		sum := sha256.Sum256([]byte(name))
		return "interlude " + hex.EncodeToString(sum[:16])
	}
	return name
}

// payload is the notice as it is sent: what is too much for a notification is told as "anything may
// have changed".
func (n notice) payload() string {
	text, _ := json.Marshal(n) // its texts can all be encoded
	if len(text) > maxPayload {
		text, _ = json.Marshal(notice{From: n.From, All: true})
	}
	return string(text)
}

// add puts hints on the way.
func (n *notifier) add(hints []store.Hint) {
	if n.s.o.NoNotify || len(hints) == 0 {
		return
	}
	n.mu.Lock()
	for _, h := range hints {
		if known, ok := n.hints[h.RunID]; ok && known.Seq > h.Seq {
			continue
		} else if !ok {
			n.order = append(n.order, h.RunID)
		}
		n.hints[h.RunID] = runHint{h.RunID, h.State, h.Seq}
	}
	if len(n.order) > maxHints {
		n.all, n.order = true, nil
		clear(n.hints)
	}
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// take returns the next notification, nil when there is nothing to tell.
func (n *notifier) take() *notice {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all {
		n.all, n.order = false, nil
		clear(n.hints)
		return &notice{From: n.s.instance, All: true}
	}
	if len(n.order) == 0 {
		return nil
	}
	note := &notice{From: n.s.instance}
	size, i := 100, 0
	for ; i < len(n.order); i++ {
		h := n.hints[n.order[i]]
		if size += len(h.ID) + 60; size > maxPayload && i > 0 {
			break
		}
		note.Runs = append(note.Runs, h)
		delete(n.hints, h.ID)
	}
	n.order = n.order[i:]
	return note
}

// noticeGap is the least time between two notifications: so a busy node sends some hundred a
// second, each for many commits, and an idle one is heard at once.
const noticeGap = 2 * time.Millisecond

// run sends what is to be told until the store is closed.
func (n *notifier) run() {
	gap := time.NewTimer(0)
	defer gap.Stop()
	<-gap.C
	for {
		select {
		case <-n.wake:
			n.flush(n.s.o.Timeout)
		case <-n.last: // who submits a run and leaves has others wait for a poll else
			n.flush(min(n.s.o.Timeout, lastNotices))
			return
		}
		gap.Reset(noticeGap)
		select {
		case <-gap.C:
		case <-n.last:
		}
	}
}

// lastNotices is how long a store that is being closed goes on telling others what it has
// committed.
const lastNotices = time.Second

// flush sends what waits. A notification that cannot be sent is lost: whoever waits for it polls.
func (n *notifier) flush(timeout time.Duration) {
	ctx, cancel := context.WithTimeout(n.s.live, timeout)
	defer cancel()
	for note := n.take(); note != nil; note = n.take() {
		_, _ = n.s.pool.Exec(ctx, n.s.texts[notifyText], n.s.channel(), note.payload())
	}
}
