package lifecycle

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// Observer has functions that are called with what this process does to runs: for metrics, traces
// and alarms. Functions that are nil are left out; without any, nothing is done and nothing is
// allocated.
//
// They are called after the commit, one at a time, by a goroutine of their own: a slow function
// delays the notices behind it, and nothing else. Notices wait in memory, MaxNotices of them; what
// comes on top is dropped, and Dropped is told how many. One that panics or ends its goroutine is
// logged, and the next notice is delivered.
//
// A notice may be lost: when the process dies, when it never learns that its commit was stored, and
// when the queue is full. Nothing that must not be lost should depend on one; the run's events are
// all there. Each commit is told to the process that made it, and to no other. What is committed in
// a transaction of the host's own (Client.On) is told to nobody, since the library does not learn
// whether the transaction was.
//
// Notices come in the order in which this process learned of its commits. Two of one run may change
// places, if two goroutines made their commits one right after the other: Version tells.
type Observer struct {
	// Transition is called for a submission and for each change of a run's state.
	Transition func(Transition)
	// Turn is called when a turn that this process executed has ended, after the transition.
	Turn func(EndedTurn)
	// Settled is called when a question is settled: by a reply, by an automatic decision, or by the
	// end of its run.
	Settled func(Settlement)
	// Blocked is called when a run cannot go on now, and a Block says why: its turn is tried again
	// later (J2), or it is held (J5).
	Blocked func(BlockedRun)
	// LeaseLost is called when this process has lost its lease, so that others may take over the
	// runs that it was executing. Serve joins again by itself.
	LeaseLost func(LostLease)
	// Dropped is called when notices were dropped, with how many since it was called last.
	Dropped func(notices int)
}

// MaxNotices is how many notices wait for an Observer that is slow.
const MaxNotices = 4096

// ObservedRun says of which run a notice is, and of which commit of it.
type ObservedRun struct {
	RunID, Engine, Pool, Key string
	Labels                   map[string]string
	// Attempt is the number of the current or last turn.
	Attempt int
	// Version is that of the run after the commit.
	Version uint64
	// At is the time of the commit.
	At time.Time
}

// Transition is a change of a run's state.
type Transition struct {
	ObservedRun
	// From is the state before; empty for a submission, which has no Trigger either.
	From, To State
	Trigger  Trigger
	// Error is why the run failed or was canceled; nil when it did not.
	Error *Failure
}

// EndedTurn is a turn that this process has executed.
type EndedTurn struct {
	ObservedRun
	// State is where the run stands after the turn.
	State State
	// Stored says that the turn's end was stored. Otherwise the run was canceled meanwhile, another
	// node has taken it over, or the store does not answer.
	Stored bool
	// Queued is how long the run waited in the queue.
	Queued time.Duration
	// Usage is what the turn has used. How long it has Worked is there even if the engine reported
	// nothing. A question's wait for people is part of neither: see Settlement.
	Usage Usage
	// Meta is that of the run's Spec.
	Meta map[string]string
}

// Settlement is a question that was settled.
type Settlement struct {
	ObservedRun
	// InteractionID is the question's number.
	InteractionID int
	Resolution    Resolution
	// Waited is how long the question was open.
	Waited time.Duration
}

// BlockedRun is a run that cannot go on now.
type BlockedRun struct {
	ObservedRun
	Block Block
}

// LostLease is the loss of a node's lease.
type LostLease struct {
	Node string
	At   time.Time
}

// observed describes a run after a commit. It shares no memory with the record, which other
// goroutines read.
func observed(r *store.Run) ObservedRun {
	return ObservedRun{
		RunID: r.ID, Engine: r.Engine, Pool: r.Pool, Key: r.Key, Labels: maps.Clone(r.Labels), Attempt: r.Attempt,
		Version: r.Version, At: r.UpdatedAt,
	}
}

// notices queues and delivers notices to an observer. A nil *notices has no observer, and ignores
// every notice.
type notices struct {
	observer Observer
	log      *slog.Logger

	mu      sync.Mutex
	waiting []func()      // guarded by mu
	dropped int           // guarded by mu; since Dropped was called last
	faults  uint64        // guarded by mu; calls that did not return
	idle    chan struct{} // guarded by mu; not nil while a goroutine delivers, which closes it at its end
}

// newNotices returns nil for an observer without functions.
func newNotices(o Observer, log *slog.Logger) *notices {
	if o.Transition == nil && o.Turn == nil && o.Settled == nil && o.Blocked == nil && o.LeaseLost == nil {
		return nil
	}
	return &notices{observer: o, log: log}
}

// add queues a notice for delivery, or counts it as dropped if the queue is full. It never blocks.
func (n *notices) add(notice func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.waiting) >= MaxNotices {
		n.dropped++
		return
	}
	n.waiting = append(n.waiting, notice)
	if n.idle == nil {
		n.idle = make(chan struct{})
		go n.deliver()
	}
}

// deliver calls the observer until no notice waits. If the observer panics or ends the goroutine,
// another one goes on.
func (n *notices) deliver() {
	var notice func()
	defer func() {
		if notice == nil {
			return
		}
		n.noteFault(recover())
		go n.deliver()
	}()
	for {
		if notice = n.next(); notice == nil {
			return
		}
		notice()
	}
}

// next returns the next notice, nil if there is none: then delivery ends.
func (n *notices) next() (notice func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if dropped := n.dropped; dropped > 0 && n.observer.Dropped != nil {
		n.dropped = 0
		return func() { n.observer.Dropped(dropped) }
	}
	if len(n.waiting) == 0 {
		close(n.idle)
		n.idle, n.waiting = nil, nil
		return nil
	}
	notice, n.waiting[0] = n.waiting[0], nil
	n.waiting = n.waiting[1:]
	return notice
}

// noteFault logs a call that did not return: the first one, the second, the fourth and so on, so
// that an observer which always panics does not fill the log.
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

// flush waits until all notices are delivered, for flushLimit at most.
func (n *notices) flush() {
	if n == nil {
		return
	}
	n.mu.Lock()
	idle := n.idle
	n.mu.Unlock()
	if idle == nil {
		return
	}
	limit := time.NewTimer(flushLimit)
	defer limit.Stop()
	select {
	case <-idle:
	case <-limit.C:
	}
}

// flushLimit is how long Close waits for an observer.
const flushLimit = time.Second

// committed adds the notices of a stored commit.
func (n *notices) committed(cm *store.Commit) {
	if n == nil {
		return
	}
	run, o := observed(&cm.Run), &n.observer
	if o.Transition != nil {
		if change, ok := transitionIn(cm.Events); ok {
			change.ObservedRun, change.To, change.Error = run, cm.Run.State, cloned(cm.Run.Error)
			n.add(func() { o.Transition(change) })
		}
	}
	if s := cm.Settled; s != nil && o.Settled != nil {
		settled := Settlement{run, s.Question.ID, s.Resolution, s.ResolvedAt.Sub(s.Question.AskedAt)}
		n.add(func() { o.Settled(settled) })
	}
	if cm.Run.Block != nil && o.Blocked != nil {
		blocked := BlockedRun{run, *cm.Run.Block}
		blocked.Block.Choices = slices.Clone(blocked.Block.Choices)
		n.add(func() { o.Blocked(blocked) })
	}
}

// claimed adds the notices of a claim, which has started a turn.
func (n *notices) claimed(r *store.Run) {
	if n == nil || n.observer.Transition == nil {
		return
	}
	started := Transition{ObservedRun: observed(r), From: fsm.StateQueued, To: r.State, Trigger: fsm.EventTurnStarted}
	n.add(func() { n.observer.Transition(started) })
}

// turnEnded adds the notice that a turn has ended. The record is the last one of the run that this
// node knows.
func (n *notices) turnEnded(r *store.Run, turn EndedTurn) {
	if n == nil || n.observer.Turn == nil {
		return
	}
	ended := turn // a copy, so that nothing is allocated above
	ended.ObservedRun, ended.State = observed(r), r.State
	n.add(func() { n.observer.Turn(ended) })
}

// leaseLost adds the notice that a node has lost its lease.
func (n *notices) leaseLost(node string, at time.Time) {
	if n == nil || n.observer.LeaseLost == nil {
		return
	}
	n.add(func() { n.observer.LeaseLost(LostLease{node, at}) })
}

// cloned is a copy of what p points to, nil for nil.
func cloned[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// transitionIn finds the change of state that the events of a commit publish, or the submission. It
// is the last event, or stands before the question.
func transitionIn(events []store.Event) (Transition, bool) {
	for _, e := range slices.Backward(events) {
		event, err := fcmp.Decode(e.Body)
		if err != nil {
			continue // never: they were checked when they were encoded
		}
		switch event.Type {
		case fcmp.TypeStarted:
			return Transition{}, true
		case fcmp.TypeStateChanged:
			var changed fcmp.StateChanged
			if event.Decode(&changed) == nil {
				return Transition{From: State(changed.From), Trigger: Trigger(changed.Trigger)}, true
			}
		}
	}
	return Transition{}, false
}
