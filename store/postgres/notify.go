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
	// Found is the state of store.Announcer's Announce. An earlier release, which does not know it,
	// takes it for All.
	Found fsm.State `json:"found,omitempty"`
}

type runHint struct {
	ID    string    `json:"id"`
	State fsm.State `json:"s"`
	Seq   uint64    `json:"n"`
	// Claimed is Hint.Claimed. An earlier release claims nevertheless.
	Claimed bool `json:"c,omitempty"`
}

// notifier notifies other processes of commits, in separate transactions that no caller waits for:
// a notifying transaction locks the whole database until it is stored, which would serialize
// commits. A crash loses unsent hints: other processes poll.
type notifier struct {
	s       *Store
	wake    chan struct{}
	quiet   chan struct{} // like wake, for hints that wait for others: see quietGap
	closing chan struct{} // closed when the store is: the pending hints are sent, and no more

	mu      sync.Mutex                          // guards the fields below
	asked   map[*func(store.Hint) bool]struct{} // see store.Announcer
	found   fsm.State                           // of Announce
	pending map[string]runHint                  // the newest hint of each run
	order   []string                            // the runs in pending
	all     bool                                // too many hints are pending to list them
}

func newNotifier(s *Store) *notifier {
	return &notifier{
		s: s, wake: make(chan struct{}, 1), quiet: make(chan struct{}, 1), closing: make(chan struct{}),
		pending: make(map[string]runHint),
		asked:   make(map[*func(store.Hint) bool]struct{}),
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
	wake := n.quiet
	n.mu.Lock()
	for _, h := range hints {
		claimed := n.claims(h)
		if earlier, ok := n.pending[h.RunID]; ok && earlier.Seq > h.Seq {
			continue
		} else if !ok {
			n.order = append(n.order, h.RunID)
		}
		n.pending[h.RunID] = runHint{h.RunID, h.State, h.Seq, claimed}
		switch h.State {
		case fsm.StateQueued, fsm.StateRunning, fsm.StateCanceled:
			if !claimed {
				wake = n.wake
			}
		}
	}
	if len(n.order) > maxHints {
		n.all, n.order = true, nil
		clear(n.pending)
	}
	n.mu.Unlock()
	signal(wake)
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// claims reports whether this process makes the claim that the hint calls for, if any: a new run
// that cannot start yet calls for none. The caller holds mu.
func (n *notifier) claims(h store.Hint) bool {
	r := h.Run
	claimed := r != nil && r.Version == 1 && (r.Block != nil || r.NotBefore.After(r.UpdatedAt))
	for fn := range n.asked {
		claimed = (*fn)(h) || claimed
	}
	return claimed
}

func (s *Store) Claims(fn func(store.Hint) bool) (stop func()) {
	n := s.notifier
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked[&fn] = struct{}{}
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.asked, &fn)
	}
}

func (s *Store) Announce(state fsm.State) {
	if s.o.NoNotify {
		return
	}
	s.notifier.mu.Lock()
	if s.notifier.found != fsm.StateQueued { // which concerns more nodes
		s.notifier.found = state
	}
	s.notifier.mu.Unlock()
	signal(s.notifier.wake)
}

// next returns the next notification, nil when no hint is pending.
func (n *notifier) next() *notice {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all {
		n.all, n.order = false, nil
		clear(n.pending)
		return &notice{From: n.s.instance, All: true}
	}
	if len(n.order) == 0 && n.found == "" {
		return nil
	}
	note := &notice{From: n.s.instance, Found: n.found}
	n.found = ""
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

const (
	// noticeGap is the least time between two notifications: a busy process sends some hundred a
	// second, each for many commits, and an idle one sends one at once.
	noticeGap = 2 * time.Millisecond
	// quietGap is how long hints wait for others if they call for no claim and interrupt no turn: they
	// only spare readers a poll. Each notification wakes every listener, so a short run sends one.
	quietGap = 100 * time.Millisecond
)

func (n *notifier) run() {
	for {
		select {
		case <-n.wake:
		case <-n.quiet:
			n.pause(quietGap, n.wake)
		case <-n.closing: // otherwise the last hints would be lost, and others would wait for a poll
			n.flush(min(n.s.o.Timeout, closeTimeout))
			return
		}
		select {
		case <-n.quiet: // of a hint that is sent now
		default:
		}
		n.flush(n.s.o.Timeout)
		n.pause(noticeGap, nil)
	}
}

// pause waits, at most until wake or the store's end.
func (n *notifier) pause(d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-n.closing:
	}
}

const closeTimeout = time.Second

// flush sends the pending hints. If that fails, the receivers poll.
func (n *notifier) flush(timeout time.Duration) {
	ctx, cancel := context.WithTimeout(n.s.live, timeout)
	defer cancel()
	for note := n.next(); note != nil; note = n.next() {
		_, _ = n.s.pool.Exec(ctx, n.s.texts[notifyText], n.s.channel(), note.payload())
	}
}

// Watch implements store.Watcher. Hints of this process's commits include the run and its events.
// Hints of other processes have only the run's id, state and last event.
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
		if err != nil || wrongServer(conn.PgConn()) != nil {
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

// closeListener closes a connection, in order if that is quick.
func (s *Store) closeListener(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.live), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // nothing was written
}

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
	if err := json.Unmarshal([]byte(payload), &note); err != nil || len(note.Runs) == 0 && note.Found == "" {
		note.All = true
	}
	if note.From == s.instance {
		return
	}
	if note.All {
		s.watchers.Notify([]store.Hint{{}})
		return
	}
	hints := make([]store.Hint, len(note.Runs), len(note.Runs)+1)
	for i, r := range note.Runs {
		hints[i] = store.Hint{RunID: r.ID, State: r.State, Seq: r.Seq, Claimed: r.Claimed}
	}
	if note.Found != "" {
		hints = append(hints, store.Hint{State: note.Found})
	}
	s.watchers.Notify(hints)
}
