package lifecycle

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// Observer has functions that the library calls when this process changes runs: for metrics, traces
// and alarms. Each may be nil. An Observer without functions costs no time and no allocations.
//
// One goroutine calls all functions except Start, one at a time, after the commit. A slow function
// delays only later notices. At most MaxNotices wait in memory; more are dropped, and Dropped
// receives their number. Panics are logged.
//
// A notice may also be lost when the process dies or never learns that its commit was stored: for data
// that must not be lost, use the run's events. Commits in a transaction of the host (Client.On) have
// no notices, because their outcome is unknown. Almost simultaneous commits of one run may be in the
// wrong order: compare their Versions.
type Observer struct {
	// Start is not a notice: the worker calls it right before the engine and waits, so it must
	// return immediately. It may be called concurrently. It returns the engine's context, derived
	// from ctx, and a text that identifies the turn's trace, such as a traceparent: at most 256 bytes
	// of UTF-8, which the turn's last commit stores as Run.Trace. If Start panics, the turn continues
	// without it.
	Start func(ctx context.Context, turn StartedTurn) (forEngine context.Context, trace string)
	// Transition is called for a submission and for each change of a run's state.
	Transition func(Transition)
	// Turn is called when a turn of this process has ended, after the transition.
	Turn func(EndedTurn)
	// Settled is called when a question is settled, also by the end of its run.
	Settled func(Settlement)
	// Blocked is called when a turn is retried later or the run is held.
	Blocked func(BlockedRun)
	// LeaseLost is called when this process has lost its lease, so that others may take over its
	// runs. Serve rejoins.
	LeaseLost func(LostLease)
	// Dropped receives the number of notices dropped since its last call.
	Dropped func(notices int)
}

// MaxNotices limits the notices that wait for a slow Observer.
const MaxNotices = 4096

// ObservedRun identifies the run and the commit of a notice.
type ObservedRun struct {
	RunID, Engine, Pool, Key string
	Labels                   map[string]string
	// Attempt is the number of the current or last turn.
	Attempt int
	// Version is the run's version after the commit.
	Version uint64
	// At is the time of the commit.
	At time.Time
}

// Transition is a change of a run's state.
type Transition struct {
	ObservedRun
	// From is the previous state; empty for a submission, which has no Trigger either.
	From, To State
	Trigger  Trigger
	// Error is why the run failed or was canceled, or nil.
	Error *Failure
}

// StartedTurn is a turn whose engine is about to be called.
type StartedTurn struct {
	ObservedRun // its At is the time of the commit that took the run from the queue
	// Before is Run.Trace: Start's text for the last turn whose end was stored.
	Before string
	// Meta is the Meta of the run's Spec.
	Meta map[string]string
}

// EndedTurn is a turn that this process has executed.
type EndedTurn struct {
	ObservedRun
	// State is the run's state after the turn.
	State State
	// Stored reports that the turn's end was stored. Otherwise the run was canceled or taken over, or
	// the store does not answer.
	Stored bool
	// Queued is the run's time in the queue.
	Queued time.Duration
	// Usage is the turn's usage. Worked is set even if the engine reported none, and excludes waits
	// for people.
	Usage Usage
	// Meta is the Meta of the run's Spec.
	Meta map[string]string
	// Context is what Start returned for the engine; nil if Start failed or was not called.
	Context context.Context //nolint:containedctx // it connects Start with Turn, and ends nothing
}

type Settlement struct {
	ObservedRun
	InteractionID int
	Kind          Kind
	Resolution    Resolution
	// Waited is how long the question was open.
	Waited time.Duration
}

// BlockedRun is a run that cannot continue now.
type BlockedRun struct {
	ObservedRun
	Block Block
}

// LostLease is the loss of a node's lease.
type LostLease struct {
	Node string
	At   time.Time
}

// observed describes a run after a commit, without sharing memory with the record.
func observed(r *store.Run) ObservedRun {
	return ObservedRun{
		RunID: r.ID, Engine: r.Engine, Pool: r.Pool, Key: r.Key, Labels: maps.Clone(r.Labels), Attempt: r.Attempt,
		Version: r.Version, At: r.UpdatedAt,
	}
}

// notices queues notices for an observer. A nil *notices ignores them.
type notices struct {
	observer Observer
	log      *slog.Logger

	mu         sync.Mutex    // guards the fields below
	waiting    []any         // the waiting notices, from first
	first      int           // of waiting, the next notice
	dropped    int           // since the last call of Dropped
	faults     uint64        // calls that panicked or ended their goroutine
	delivering bool          // a goroutine delivers
	idle       chan struct{} // closed when it ends; nil without waiters
}

// newNotices returns nil for an observer without functions.
func newNotices(o Observer, log *slog.Logger) *notices {
	if o.Start == nil && o.Transition == nil && o.Turn == nil && o.Settled == nil && o.Blocked == nil &&
		o.LeaseLost == nil {
		return nil
	}
	return &notices{observer: o, log: log}
}

// add queues a notice, a pointer to the argument of an observer's function, or drops it if the queue
// is full.
func (n *notices) add(notice any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.waiting)-n.first >= MaxNotices {
		n.dropped++
		return
	}
	if n.first > 0 && len(n.waiting) == cap(n.waiting) { // move them to the front, rather than grow
		n.waiting = slices.Delete(n.waiting, 0, n.first)
		n.first = 0
	}
	n.waiting = append(n.waiting, notice)
	if !n.delivering {
		n.delivering = true
		go n.deliver()
	}
}

// deliver calls the observer until the queue is empty. If the observer panics or ends the goroutine, a
// new one continues.
func (n *notices) deliver() {
	var notice any
	defer func() {
		if notice == nil {
			return
		}
		n.noteFault(recover())
		go n.deliver()
	}()
	runtime.Gosched() // the committing goroutine's next commits are then delivered together
	for {
		if notice = n.next(); notice == nil {
			return
		}
		n.call(notice)
	}
}

type droppedNotices int

func (n *notices) call(notice any) {
	switch notice := notice.(type) {
	case *Transition:
		n.observer.Transition(*notice)
	case *EndedTurn:
		n.observer.Turn(*notice)
	case *Settlement:
		n.observer.Settled(*notice)
	case *BlockedRun:
		n.observer.Blocked(*notice)
	case *LostLease:
		n.observer.LeaseLost(*notice)
	case droppedNotices:
		n.observer.Dropped(int(notice))
	}
}

// keptNotices is the largest queue capacity that is reused.
const keptNotices = 256

// next removes and returns the next notice. Without one, it ends the delivery and returns nil.
func (n *notices) next() (notice any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if dropped := n.dropped; dropped > 0 && n.observer.Dropped != nil {
		n.dropped = 0
		return droppedNotices(dropped)
	}
	if n.first == len(n.waiting) {
		n.waiting, n.first = n.waiting[:0], 0
		if cap(n.waiting) > keptNotices {
			n.waiting = nil
		}
		n.delivering = false
		if n.idle != nil {
			close(n.idle)
			n.idle = nil
		}
		return nil
	}
	notice, n.waiting[n.first] = n.waiting[n.first], nil
	n.first++
	return notice
}

// noteFault logs the first, second, fourth, eighth … fault, so that a constantly panicking observer
// does not fill the log.
func (n *notices) noteFault(fault any) {
	n.mu.Lock()
	n.faults++
	faults := n.faults
	n.mu.Unlock()
	if faults&(faults-1) != 0 {
		return
	}
	what := "it ended its goroutine"
	if fault != nil {
		what = fmt.Sprintf("panic: %v", fault)
	}
	n.log.Error("observer failed", "times", faults, "err", what)
}

// flush waits at most flushLimit until all notices are delivered.
func (n *notices) flush() {
	if n == nil {
		return
	}
	n.mu.Lock()
	if !n.delivering {
		n.mu.Unlock()
		return
	}
	if n.idle == nil {
		n.idle = make(chan struct{})
	}
	idle := n.idle
	n.mu.Unlock()
	limit := time.NewTimer(flushLimit)
	defer limit.Stop()
	select {
	case <-idle:
	case <-limit.C:
	}
}

const flushLimit = time.Second

func (n *notices) Committed(cm *store.Commit) {
	if n == nil {
		return
	}
	o := &n.observer
	if o.Transition != nil {
		if from, trigger, ok := transitionIn(cm.Events); ok {
			n.add(&Transition{ObservedRun: observed(&cm.Run), From: from, To: cm.Run.State, Trigger: trigger,
				Error: cloned(cm.Run.Error)})
		}
	}
	for i := range cm.Settled {
		if s := &cm.Settled[i]; o.Settled != nil {
			n.add(&Settlement{observed(&cm.Run), s.Question.ID, s.Question.Kind, s.Resolution,
				s.ResolvedAt.Sub(s.Question.AskedAt)})
		}
	}
	if cm.Run.Block != nil && o.Blocked != nil {
		blocked := &BlockedRun{observed(&cm.Run), *cm.Run.Block}
		blocked.Block.Choices = slices.Clone(blocked.Block.Choices)
		n.add(blocked)
	}
}

func (n *notices) Claimed(r *store.Run) {
	if n == nil || n.observer.Transition == nil {
		return
	}
	n.add(&Transition{ObservedRun: observed(r), From: fsm.StateQueued, To: r.State, Trigger: fsm.EventTurnStarted})
}

const maxTrace = 256

// StartTurn calls the observer's Start. Without one, or if it panics, it returns nil.
func (n *notices) StartTurn(ctx context.Context, r *store.Run, at time.Time, meta map[string]string) (
	forEngine context.Context, trace string,
) {
	if n == nil || n.observer.Start == nil {
		return nil, ""
	}
	turn := StartedTurn{ObservedRun: observed(r), Before: r.Trace, Meta: meta}
	turn.At = at
	defer func() {
		if fault := recover(); fault != nil {
			n.noteFault(fault)
			forEngine, trace = nil, ""
		}
	}()
	forEngine, trace = n.observer.Start(ctx, turn)
	if len(trace) > maxTrace || !utf8.ValidString(trace) {
		trace = ""
	}
	return forEngine, trace
}

func (n *notices) TurnEnded(r *store.Run, turn node.EndedTurn) {
	if n == nil || n.observer.Turn == nil {
		return
	}
	n.add(&EndedTurn{ObservedRun: observed(r), State: r.State, Stored: turn.Stored, Queued: turn.Queued,
		Usage: turn.Usage, Meta: turn.Meta, Context: turn.Context})
}

func (n *notices) leaseLost(node string, at time.Time) {
	if n == nil || n.observer.LeaseLost == nil {
		return
	}
	n.add(&LostLease{node, at})
}

func cloned[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// transitionIn finds a commit's submission or change of state.
func transitionIn(events []store.Event) (from State, trigger Trigger, ok bool) {
	for _, e := range slices.Backward(events) {
		if from, trigger, ok := fcmp.ChangeIn(e.Body); ok {
			return State(from), Trigger(trigger), true
		}
	}
	return "", "", false
}
