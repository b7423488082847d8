// Package rehearsal plays runs of a host's own in its tests (M5): with people who answer as a function
// says, weeks in milliseconds, and a crash of the host at every commit.
//
//	func TestOrders(t *testing.T) {
//		rehearsal.EveryCrash(t, func(t *testing.T) rehearsal.Case {
//			bank := newBank() // a new one for each play
//			return rehearsal.Case{
//				Config: lifecycle.Config{Engine: orders(bank), Forgiving: true, OnInterrupt: lifecycle.Repeat},
//				Spec:   lifecycle.Spec{Input: []byte(`{"order": 7}`)},
//				Reply:  func(q lifecycle.Question) lifecycle.Reply { return lifecycle.Reply{Text: "yes"} },
//				Check:  func(t *testing.T, run lifecycle.Run) { … the bank was charged once … },
//			}
//		})
//	}
//
// A play takes place in a bubble of testing/synctest, on a store in memory: its time passes as soon as
// everybody waits. So nothing in it may wait for the outside: a server, a file that is written slowly.
//
// Neighbours: docs/testing.md tells how to test a host by hand; lifecycletest is for authors of stores.
package rehearsal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// Case is one run that is played to its end.
type Case struct {
	// Config is the host. The play sets its Store, and Poll, Lease and Logger if they are zero.
	Config lifecycle.Config
	// Spec is the run.
	Spec lifecycle.Spec
	// Reply is what people say to a question of the run, or of one that it has started, a minute
	// after it was asked; the play sets ID and Key. A nil Reply, or one without Text, Value and Decision,
	// leaves the question open.
	Reply func(q lifecycle.Question) lifecycle.Reply
	// Crash is the commit right after which the host crashes; 0: it does not. It is for Play.
	Crash int
	// Check, unless it is nil, is called with the run when it has ended.
	Check func(t *testing.T, run lifecycle.Run)
}

// longest bounds the fake time that a play may take, and mostTurns how many steps it may have.
const (
	longest   = 10 * 365 * 24 * time.Hour
	mostTurns = 100_000
)

// Play plays the case in a bubble of its own, and returns the run as it ended.
func Play(t *testing.T, c Case) (run lifecycle.Run) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { run, _ = play(t, c, point{commit: c.Crash, stored: true}) })
	return run
}

// EveryCrash plays the case once without a crash, and then, for each commit, once with a crash of the
// host right before it and once right after it. After a crash, another host goes on with the store. Each
// play must come to the same state, output, final text and error code as the first one. The case is
// made anew for each.
func EveryCrash(t *testing.T, newCase func(t *testing.T) Case) {
	t.Helper()
	var want string
	var commits int
	synctest.Test(t, func(t *testing.T) {
		run, counted := play(t, newCase(t), point{})
		want, commits = endOf(run), counted
	})
	if t.Failed() {
		return
	}
	for n := 1; n <= commits; n++ {
		for _, stored := range []bool{false, true} {
			p := point{commit: n, stored: stored}
			t.Run(p.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					run, _ := play(t, newCase(t), p)
					if got := endOf(run); got != want && !t.Failed() {
						t.Errorf("the run ended with\n\t%s\nand without a crash with\n\t%s", got, want)
					}
				})
			})
		}
	}
}

// endOf is what plays of a case have in common.
func endOf(run lifecycle.Run) string {
	end := map[string]any{"state": run.State, "final_text": run.FinalText, "output": run.Output}
	if run.Error != nil {
		end["code"] = run.Error.Code
	}
	body, err := json.Marshal(end)
	if err != nil {
		return err.Error()
	}
	return string(body)
}

// point is where the host crashes. The zero point is nowhere.
type point struct {
	commit int
	stored bool // the commit is stored, but the host does not learn of it
}

func (p point) String() string {
	if p.stored {
		return fmt.Sprintf("after commit %d", p.commit)
	}
	return fmt.Sprintf("before commit %d", p.commit)
}

// errCrashed is the error of every write that a crashed host makes.
var errCrashed = errors.New("rehearsal: the host has crashed")

// crashing is the store of a host that crashes: from the crash on, it refuses every write.
type crashing struct {
	*memory.Store

	at    point
	crash func() // ends the host

	mu      sync.Mutex
	commits int  // guarded by mu
	dead    bool // guarded by mu
}

// countCommit counts a commit, and returns what becomes of it.
func (s *crashing) countCommit() (write, answer bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return false, false
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

// Commit implements store.Writer.
func (s *crashing) Commit(ctx context.Context, batch []store.Commit) []error {
	write, answer := s.countCommit()
	errs := make([]error, len(batch))
	if write {
		errs = s.Store.Commit(ctx, batch)
	}
	if !answer {
		for i := range errs {
			errs[i] = errCrashed
		}
	}
	return errs
}

// Claim implements store.Writer. A claim that finds nothing is no commit, and one that has not
// happened is a crash after the commit before it.
func (s *crashing) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	if s.isDead() {
		return nil, errCrashed
	}
	claimed, err := s.Store.Claim(ctx, req)
	if err == nil && len(claimed) > 0 {
		if _, answer := s.countCommit(); !answer {
			return nil, errCrashed
		}
	}
	return claimed, err
}

// Renew implements store.Registry: nobody renews the lease of a crashed host.
func (s *crashing) Renew(ctx context.Context, id string, now time.Time) ([]store.Hold, error) {
	if s.isDead() {
		return nil, errCrashed
	}
	return s.Store.Renew(ctx, id, now)
}

// Expire implements store.Registry: a crashed host does not sign off.
func (s *crashing) Expire(ctx context.Context, now time.Time, ids ...string) ([]store.Node, error) {
	if s.isDead() {
		return nil, errCrashed
	}
	return s.Store.Expire(ctx, now, ids...)
}

// ExpireSilent implements store.Local.
func (s *crashing) ExpireSilent(ctx context.Context, now time.Time, nodes []store.Node) ([]store.Node, error) {
	if s.isDead() {
		return nil, errCrashed
	}
	return s.Store.ExpireSilent(ctx, now, nodes)
}

// host is one host of a play.
type host struct {
	*lifecycle.Lifecycle

	store *crashing
	end   func()
}

// start has a host serve on the store. It crashes at the point.
func start(t *testing.T, c *Case, s *memory.Store, p point) *host {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	view := &crashing{Store: s, at: p, crash: cancel}
	cfg := c.Config
	cfg.Store = view
	if cfg.Poll == 0 {
		cfg.Poll = time.Hour
	}
	if cfg.Lease == 0 {
		cfg.Lease = time.Hour
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	lc, err := lifecycle.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	return &host{lc, view, func() {
		cancel()
		<-served
		lc.Close()
	}}
}

// play plays the case in the bubble, and returns how it ended, and how many commits there were.
func play(t *testing.T, c Case, p point) (run lifecycle.Run, commits int) {
	t.Helper()
	s := memory.New()
	h := start(t, &c, s, p)
	defer func() { h.end() }()
	if c.Spec.ID == "" {
		c.Spec.ID = "rehearsal"
	}
	began := time.Now()
	for range mostTurns {
		synctest.Wait()
		if h.store.isDead() {
			h.end()
			h = start(t, &c, s, point{})
			continue
		}
		var ended bool
		if run, ended = h.moveOn(t, &c); ended {
			if c.Check != nil && !t.Failed() {
				c.Check(t, run)
			}
			return run, h.store.counted()
		}
		if time.Since(began) > longest {
			break
		}
	}
	t.Errorf("the run does not come to an end; it is %s after %s: %+v", run.State, time.Since(began), run.Block)
	return run, h.store.counted()
}

// moveOn submits the run if it is not there, lets people reply to its questions, or lets time pass.
func (h *host) moveOn(t *testing.T, c *Case) (run lifecycle.Run, ended bool) {
	t.Helper()
	run, err := h.Get(t.Context(), c.Spec.ID)
	if errors.Is(err, lifecycle.ErrNotFound) {
		run, err = h.Submit(t.Context(), c.Spec)
	}
	switch {
	case errors.Is(err, errCrashed):
		return run, false
	case err != nil:
		t.Errorf("submit: %v", err)
		return run, true
	case run.State.Terminal():
		return run, true
	case run.Block != nil && run.Block.Kind == lifecycle.BlockHeld && run.Block.Until.IsZero():
		t.Errorf("the run is held until somebody decides: %s", run.Block.Reason)
		return run, true
	}
	waiting, err := h.store.Waiting(t.Context(), store.WaitingQuery{Query: store.Query{Limit: store.MaxBatch}})
	if err != nil {
		t.Errorf("questions: %v", err)
		return run, true
	}
	time.Sleep(pauseOf(&run))
	synctest.Wait()
	for i := range waiting.Runs {
		if !h.reply(t, c, &waiting.Runs[i]) {
			return run, true
		}
	}
	return run, false
}

// pauseOf is how long nothing happens to the run.
func pauseOf(run *lifecycle.Run) time.Duration {
	until := time.Now().Add(time.Minute)
	if run.State == lifecycle.StateQueued && run.NotBefore.After(until) {
		until = run.NotBefore
	}
	return time.Until(until)
}

// reply has people answer the questions that were open before the pause. It returns false if that
// is refused.
func (h *host) reply(t *testing.T, c *Case, run *lifecycle.Run) bool {
	t.Helper()
	if run.Pending == nil || c.Reply == nil {
		return true
	}
	for _, q := range append([]lifecycle.Question{*run.Pending}, slices.Clone(run.Siblings)...) {
		r := c.Reply(q)
		if r.Text == "" && r.Value == nil && r.Decision == "" {
			continue
		}
		r.ID, r.Key = q.ID, fmt.Sprintf("rehearsal-%d", q.ID)
		_, err := h.Reply(t.Context(), run.ID, r)
		switch {
		case err == nil, errors.Is(err, errCrashed), errors.Is(err, lifecycle.ErrSettled),
			errors.Is(err, lifecycle.ErrTerminal):
		default:
			t.Errorf("reply to question %d: %v", q.ID, err)
			return false
		}
	}
	return true
}
