package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// maxPayload is a little less than a notification's maximum of 8000 bytes.
const maxPayload = 7800

// maxHints bounds the pending hints: more are sent as "anything may have changed".
const maxHints = 4096

// notice is the content of a notification: a process's commits.
type notice struct {
	From string    `json:"from"` // the sender, which ignores it
	Runs []runHint `json:"runs,omitempty"`
	All  bool      `json:"all,omitempty"` // anything may have changed
}

type runHint struct {
	ID    string    `json:"id"`
	State fsm.State `json:"s"`
	Seq   uint64    `json:"n"`
}

// notifier notifies other processes of commits, in separate transactions that no caller waits for:
// a notifying transaction locks the whole database until it is stored, which would serialize
// commits. A crash loses unsent hints; the others poll.
type notifier struct {
	s       *Store
	wake    chan struct{}
	closing chan struct{} // closed with the store: pending hints are sent, and no more

	mu      sync.Mutex
	pending map[string]runHint // guarded by mu; the newest hint of each run
	order   []string           // guarded by mu; the runs in pending
	all     bool               // guarded by mu; too much is pending to name it
}

func newNotifier(s *Store) *notifier {
	return &notifier{
		s: s, wake: make(chan struct{}, 1), closing: make(chan struct{}), pending: make(map[string]runHint),
	}
}

// notifyText needs no durability.
var notifyText = sql(`SELECT set_config('synchronous_commit', 'off', true), pg_notify($1::text, $2::text)`)

// channel is the notification channel of a schema. The server allows 63 bytes.
func (s *Store) channel() string {
	name := "interlude " + s.o.Schema
	if len(name) > 63 {
		sum := sha256.Sum256([]byte(name))
		return "interlude " + hex.EncodeToString(sum[:16])
	}
	return name
}

// payload returns the notice in sent form. If too large, it becomes "anything may have changed".
func (n notice) payload() string {
	text, _ := json.Marshal(n) // its texts can be encoded
	if len(text) > maxPayload {
		text, _ = json.Marshal(notice{From: n.From, All: true})
	}
	return string(text)
}

func (n *notifier) enqueue(hints []store.Hint) {
	if n.s.o.NoNotify || len(hints) == 0 {
		return
	}
	n.mu.Lock()
	for _, h := range hints {
		if earlier, ok := n.pending[h.RunID]; ok && earlier.Seq > h.Seq {
			continue
		} else if !ok {
			n.order = append(n.order, h.RunID)
		}
		n.pending[h.RunID] = runHint{h.RunID, h.State, h.Seq}
	}
	if len(n.order) > maxHints {
		n.all, n.order = true, nil
		clear(n.pending)
	}
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// next returns the next notification, or nil.
func (n *notifier) next() *notice {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all {
		n.all, n.order = false, nil
		clear(n.pending)
		return &notice{From: n.s.instance, All: true}
	}
	if len(n.order) == 0 {
		return nil
	}
	note := &notice{From: n.s.instance}
	size, i := 100, 0
	for ; i < len(n.order); i++ {
		h := n.pending[n.order[i]]
		if size += len(h.ID) + 60; size > maxPayload && i > 0 {
			break
		}
		note.Runs = append(note.Runs, h)
		delete(n.pending, h.ID)
	}
	n.order = n.order[i:]
	return note
}

// noticeGap is the least time between two notifications: a busy node sends a few hundred per
// second, each for many commits, and an idle node sends one at once.
const noticeGap = 2 * time.Millisecond

func (n *notifier) run() {
	gap := time.NewTimer(0)
	defer gap.Stop()
	<-gap.C
	for {
		select {
		case <-n.wake:
			n.flush(n.s.o.Timeout)
		case <-n.closing: // otherwise the last hints would be lost, and others would wait for a poll
			n.flush(min(n.s.o.Timeout, closeTimeout))
			return
		}
		gap.Reset(noticeGap)
		select {
		case <-gap.C:
		case <-n.closing:
		}
	}
}

const closeTimeout = time.Second

// flush sends the pending hints. A failed notification is lost: its receivers poll.
func (n *notifier) flush(timeout time.Duration) {
	ctx, cancel := context.WithTimeout(n.s.live, timeout)
	defer cancel()
	for note := n.next(); note != nil; note = n.next() {
		_, _ = n.s.pool.Exec(ctx, n.s.texts[notifyText], n.s.channel(), note.payload())
	}
}

// Watch implements store.Watcher: hints of this process's commits include run and events, those of
// other processes the run's id, state and last event.
func (s *Store) Watch(fn func(store.Hint)) (stop func()) { return s.watchers.Watch(fn) }

// listen publishes the notifications of other processes, from a separate connection that is
// re-established with a backoff.
func (s *Store) listen() {
	backoff := minListenBackoff
	for s.live.Err() == nil {
		began := time.Now()
		s.listenOnce()
		if time.Since(began) > 10*time.Second { // the connection was good
			backoff = minListenBackoff
		}
		wait := time.NewTimer(backoff)
		select {
		case <-wait.C:
		case <-s.live.Done():
		}
		wait.Stop()
		backoff = min(2*backoff, maxListenBackoff)
	}
}

const (
	minListenBackoff = 100 * time.Millisecond
	maxListenBackoff = 5 * time.Second
)

func (s *Store) listenOnce() {
	conn, err := s.connectListener()
	if err != nil {
		return
	}
	defer s.closeListener(conn)
	if _, err := conn.Exec(s.live, `LISTEN `+quoted(s.channel())); err != nil {
		return
	}
	s.watchers.Notify([]store.Hint{{}}) // notifications may have been missed
	for {
		n, err := s.waitForNotification(conn, maxSilence)
		if err != nil {
			return
		}
		if n != nil {
			s.publishNotification(n.Payload)
		}
	}
}

// maxSilence is the idle time after which a connection is pinged, since a broken one is silent,
// too.
const maxSilence = 30 * time.Second

// waitForNotification returns the next notification; nil after a silence in which the connection
// answers a ping.
func (s *Store) waitForNotification(conn *pgx.Conn, silence time.Duration) (*pgconn.Notification, error) {
	ctx, cancel := context.WithTimeout(s.live, silence)
	defer cancel()
	n, err := conn.WaitForNotification(ctx)
	if err == nil || s.live.Err() != nil || !pgconn.Timeout(err) {
		return n, err
	}
	ctx, stop := context.WithTimeout(s.live, s.o.Timeout)
	defer stop()
	return nil, conn.Ping(ctx)
}

// closeListener closes a connection, telling the server if that is quick.
func (s *Store) closeListener(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.live), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // nothing was written
}

// connectListener connects to where notifications arrive.
func (s *Store) connectListener() (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(s.live, s.o.Timeout)
	defer cancel()
	if s.o.ListenDSN != "" {
		return pgx.Connect(ctx, s.o.ListenDSN)
	}
	config := s.pool.Config()
	if config.BeforeConnect != nil { // it may set a short-lived password
		if err := config.BeforeConnect(ctx, config.ConnConfig); err != nil {
			return nil, err
		}
	}
	return pgx.ConnectConfig(ctx, config.ConnConfig)
}

// publishNotification passes a notification on to the watchers. An undecodable one comes from a
// newer version: anything may have changed.
func (s *Store) publishNotification(payload string) {
	var note notice
	if err := json.Unmarshal([]byte(payload), &note); err != nil || len(note.Runs) == 0 {
		note.All = true
	}
	if note.From == s.instance {
		return
	}
	if note.All {
		s.watchers.Notify([]store.Hint{{}})
		return
	}
	hints := make([]store.Hint, len(note.Runs))
	for i, r := range note.Runs {
		hints[i] = store.Hint{RunID: r.ID, State: r.State, Seq: r.Seq}
	}
	s.watchers.Notify(hints)
}
