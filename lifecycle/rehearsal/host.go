package rehearsal

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// errCrashed is the error of every write that a crashed host makes.
var errCrashed = errors.New("rehearsal: the host has crashed")

// ableStore is a store with hints. It leaves out store.Timekeeper, because a play keeps its
// bubble's time.
type ableStore interface {
	store.Store
	store.Watcher
}

// crashing is the store of a host that crashes: from then on, it refuses every write.
type crashing struct {
	ableStore

	at      point
	crash   func()        // ends the host
	changed chan struct{} // has a token after a commit

	mu      sync.Mutex
	commits int    // guarded by mu
	dead    bool   // guarded by mu
	node    string // guarded by mu; the id of the host's node, once registered
}

// crashingLocal is a crashing store that is a store.Local.
type crashingLocal struct {
	*crashing

	local store.Local
}

func (s *crashing) countCommit() (write, answer bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return false, false
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
	s.commits++
	if s.commits != s.at.commit {
		return true, true
	}
	s.dead = true
	s.crash()
	return s.at.stored, false
}

func (s *crashing) isDead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead
}

func (s *crashing) counted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commits
}

// joined returns the id of the host's node; empty if no node is registered yet.
func (s *crashing) joined() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.node
}

// Commit implements store.Writer. It does not depend on the host's context, so a commit right after
// which the host crashes is still written completely.
func (s *crashing) Commit(ctx context.Context, batch []store.Commit) []error {
	write, answer := s.countCommit()
	errs := make([]error, len(batch))
	if write && answer {
		return s.ableStore.Commit(ctx, batch)
	}
	if write {
		s.ableStore.Commit(context.WithoutCancel(ctx), batch)
	}
	for i := range errs {
		errs[i] = errCrashed
	}
	return errs
}

// Claim implements store.Writer. A claim that finds nothing does not count as a commit. There is no
// crash right before a claim: it would equal the one right after the previous commit.
func (s *crashing) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	if s.isDead() {
		return nil, errCrashed
	}
	claimed, err := s.ableStore.Claim(ctx, req)
	if err == nil && len(claimed) > 0 {
		if _, answer := s.countCommit(); !answer {
			return nil, errCrashed
		}
	}
	return claimed, err
}

// Recent implements store.RecentReader.
func (s *crashing) Recent(id string) (store.Run, bool) {
	if recent, ok := s.ableStore.(store.RecentReader); ok {
		return recent.Recent(id)
	}
	return store.Run{}, false
}

// Join implements store.Registry.
func (s *crashing) Join(ctx context.Context, n store.Node, now time.Time) error {
	s.mu.Lock()
	s.node = n.ID
	s.mu.Unlock()
	return s.ableStore.Join(ctx, n, now)
}

// Renew implements store.Registry: a crashed host renews no lease.
func (s *crashing) Renew(ctx context.Context, id string, now time.Time) ([]store.OwnedRun, error) {
	if s.isDead() {
		return nil, errCrashed
	}
	return s.ableStore.Renew(ctx, id, now)
}

// Expire implements store.Registry: a crashed host does not sign off.
func (s *crashing) Expire(ctx context.Context, now time.Time, ids ...string) ([]store.Node, error) {
	if s.isDead() {
		return nil, errCrashed
	}
	return s.ableStore.Expire(ctx, now, ids...)
}

// ExpireSilent implements store.Local.
func (s crashingLocal) ExpireSilent(ctx context.Context, now time.Time, nodes []store.Node) ([]store.Node, error) {
	if s.isDead() {
		return nil, errCrashed
	}
	return s.local.ExpireSilent(ctx, now, nodes)
}

type host struct {
	*lifecycle.Lifecycle

	view   *crashing
	cancel context.CancelFunc
	served chan error
}

// startHost has a host serve on the store, until it crashes at the point.
func startHost(t *testing.T, cfg lifecycle.Config, below store.Store, at point) *host {
	t.Helper()
	able, ok := below.(ableStore)
	if !ok {
		t.Fatalf("rehearsal: a %T is no store.Watcher", below)
	}
	ctx, cancel := context.WithCancel(t.Context())
	view := &crashing{ableStore: able, at: at, crash: cancel, changed: make(chan struct{}, 1)}
	cfg.Store = view
	if local, ok := below.(store.Local); ok {
		cfg.Store = crashingLocal{view, local}
	}
	if cfg.Clock == nil {
		cfg.Clock = lifecycle.SystemClock{} // the bubble's
	}
	if cfg.Poll == 0 {
		cfg.Poll = time.Hour
	}
	if cfg.Lease == 0 {
		cfg.Lease = 24 * time.Hour
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	lc, err := lifecycle.New(cfg)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	h := &host{lc, view, cancel, make(chan error, 1)}
	go func() { h.served <- lc.Serve(ctx) }()
	return h
}

// end ends the host, unless it has crashed, and waits for its goroutines.
func (h *host) end() {
	h.cancel()
	<-h.served
	h.Close()
}

// idle waits for a commit of the host, at most until the time.
func (h *host) idle(until time.Time) {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-h.view.changed:
	}
}
