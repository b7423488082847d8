package node

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// turn is one attempt of a run on this node.
type turn struct {
	node    *member
	owner   turnOwner // the node
	epoch   uint64
	spec    Spec            // set by the worker before the engine is called
	origin  *decide.Origin  // set with spec; a fork's inheritance, else nil
	started time.Time       // by MonotonicNow
	created time.Time       // of the run, from its record
	claimed time.Time       // of the run, from its record
	ctx     context.Context //nolint:containedctx // its cause says why the turn was interrupted
	cancel  context.CancelCauseFunc

	engineReturn engineReturn
	room         JournalRoom

	mu            CommitLock     // guards the fields below
	record        *store.Run     // as last stored by this worker; constant once settled
	profile       fsm.Profile    // the engine's, once known
	dialect       decide.Dialect // set with profile
	call          EngineCall     // the worker's last; only Method changes
	settling      bool           // by the worker or without it: the engine stores nothing more
	stuck         *StuckCall     // set if the turn was settled without its worker
	inTransaction *store.Commit  // that a transaction of the host may store; see AppendIn
	tries         []recordHash   // of the commit in progress: their outcomes are unknown
	begun         bool           // the engine was called to execute the turn
	reports       int            // their number
	reportBytes   int            // the stored events' size
	reportsFull   bool           // later reports are omitted
	// The results of Observer.Start: set before the engine is called, constant once settled.
	observed context.Context //nolint:containedctx // for the notice that the turn has ended
	trace    string

	// Guarded by Node.mu, and set only before the turn is removed.
	processLost bool // the resident process has ended by itself
	runEnded    bool // the store has announced that the run has ended, maybe after the turn's own commit
}

// turnOwner is the node as its turns use it.
type turnOwner interface {
	// addResident records that an engine here may hold a process of the run.
	addResident(runID, engine string)
	// abandonWorker settles a turn whose worker is stuck in an engine.
	abandonWorker(t *turn, cause error, stuck *StuckCall)
	// removeTurn removes a settled turn. The record is the run's latest one known here.
	removeTurn(t *turn, run *store.Run)
}

func newTurn(n *member, owner turnOwner, run *store.Run) *turn {
	ctx, cancel := context.WithCancelCause(n.live)
	return &turn{
		node: n, owner: owner, epoch: run.Epoch, started: MonotonicNow(n.proc.Clock), created: run.CreatedAt,
		claimed: run.UpdatedAt, ctx: ctx, cancel: cancel, record: run, profile: run.Profile,
		call: EngineCall{Engine: run.Engine, Method: "RunTurn", RunID: run.ID, Attempt: run.Attempt},
	}
}

func (t *turn) age() time.Duration { return MonotonicNow(t.node.proc.Clock).Sub(t.started) }

// run executes the turn and settles it, even if the engine exits this goroutine.
func (t *turn) run(storedSpec []byte) {
	var ev *decide.Evidence // nil: the engine has exited this goroutine
	defer func() { t.end(ev) }()
	spec, from, err := t.node.cfg.Specs.Decode(t.record.ID, storedSpec)
	if !t.setSpec(spec, from) {
		return
	}
	if err != nil {
		ev = t.failed(fsm.CodeEngineFailed, err)
		return
	}
	if spec.TurnTimeout > 0 {
		stop := t.limitTime(spec.TurnTimeout)
		defer stop()
	}
	ev = t.execute(t.ctx)
}

// setSpec sets the turn's specification, unless the turn is being settled, which reads it without
// the lock.
func (t *turn) setSpec(spec Spec, from *decide.Origin) (set bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.settling {
		return false
	}
	t.spec, t.origin = spec, from
	return true
}

// end settles the turn after its engine has returned, unless it was settled without the worker. An
// interrupted turn counts as interrupted, whatever its outcome.
func (t *turn) end(ev *decide.Evidence) {
	t.room.Close(t.node.proc.Journals)
	cause := context.Cause(t.ctx)
	t.mu.Lock()
	first := t.startSettling(nil)
	t.mu.Unlock()
	t.engineReturn.signal()
	if !first {
		t.node.proc.Stuck.Remove(t.stuckCall())
		t.node.proc.Log.Warn("engine has returned from a turn that was settled without it", "call", t.call.String())
		return
	}
	if ev == nil {
		ev = t.failed(fsm.CodeEngineFailed, ErrExited)
	}
	t.settle(cause, ev)
}

// startSettling decides who settles the turn: its worker, or waitForEngine, which passes the call
// in which the worker is stuck. The caller holds mu.
func (t *turn) startSettling(stuck *StuckCall) (first bool) {
	if t.settling {
		return false
	}
	t.settling, t.stuck = true, stuck
	return true
}

// checkOpen refuses a commit for the engine while the turn is being settled. The caller holds mu until
// the commit is stored.
func (t *turn) checkOpen() error {
	if t.settling {
		return errTurnEnded
	}
	return nil
}

var errTurnEnded = fmt.Errorf("%w: the turn has ended", engine.ErrStale)

// stuckCall is the worker's stuck call if the turn was settled without it, else nil.
func (t *turn) stuckCall() *StuckCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stuck
}

func (t *turn) settledWithoutWorker() bool { return t.stuckCall() != nil }

// interrupt ends the turn's context. If the engine has not returned TurnReturnLimit later, the turn is
// settled without its worker.
func (t *turn) interrupt(cause error) {
	t.cancel(cause)
	if returned, waiterEnded := t.engineReturn.startWaiting(); returned != nil {
		go func() {
			defer close(waiterEnded)
			t.waitForEngine(returned)
		}()
	}
}

// waitForEngine waits until an interrupted turn's engine has returned, and settles the turn without
// the worker if that takes too long.
func (t *turn) waitForEngine(returned <-chan struct{}) {
	for wait := TurnReturnLimit; ; wait = time.Second {
		tick, stop := t.node.proc.Clock.Timer(wait)
		select {
		case <-returned:
			stop()
			return
		case <-tick:
		}
		if !t.mu.TryLock() && !t.mu.Revoke() { // a report is being committed, and the store is slow
			continue
		}
		stuck := &StuckCall{EngineCall: t.call}
		stuck.Since = t.node.proc.Now()
		first := t.startSettling(stuck)
		t.mu.Unlock()
		if first {
			t.owner.abandonWorker(t, context.Cause(t.ctx), stuck)
		}
		return
	}
}

// engineReturn lets one goroutine wait for an interrupted turn's engine. Uninterrupted turns
// allocate nothing.
type engineReturn struct {
	mu          sync.Mutex    // guards the fields below
	over        bool          // the engine has returned
	returned    chan struct{} // made by an interrupt, closed when the engine has returned
	waiterEnded chan struct{} // made with returned, closed when the waiting goroutine ends
}

// startWaiting returns both channels, or nil if a goroutine waits already, or the engine has returned.
func (r *engineReturn) startWaiting() (returned <-chan struct{}, waiterEnded chan<- struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.returned != nil {
		return nil, nil
	}
	r.returned, r.waiterEnded = make(chan struct{}), make(chan struct{})
	return r.returned, r.waiterEnded
}

// signal records that the engine has returned, and waits for the end of the waiting goroutine.
func (r *engineReturn) signal() {
	r.mu.Lock()
	r.over = true
	ended := r.waiterEnded
	if ended != nil {
		close(r.returned)
	}
	r.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

// settle stores the turn's outcome, and removes the turn from its node. cause is why it was
// interrupted, or nil.
func (t *turn) settle(cause error, ev *decide.Evidence) {
	if cause != nil {
		ev.Interrupt(cause)
	}
	ended := EndedTurn{Usage: usageOf(ev.Usage, t.age()), Meta: t.spec.Meta, Context: t.observed}
	ended.Queued = max(0, t.claimed.Sub(decide.Later(t.record.QueuedAt, t.record.NotBefore)))
	run, stored := t.commitOutcome(ev, storedUsage(ev.Usage, ended.Usage))
	ended.Stored = stored
	t.node.proc.Notices.TurnEnded(run, ended)
	t.owner.removeTurn(t, run)
}

// commitOutcome commits the decision about the turn. An outcome that the contract or the store refuses
// fails the run.
func (t *turn) commitOutcome(ev *decide.Evidence, usage *store.Usage) (_ *store.Run, stored bool) {
	if errors.Is(ev.Interruption, engine.ErrCanceled) || errors.Is(ev.Interruption, engine.ErrStale) {
		return t.reload(), false // the run was ended or taken over elsewhere
	}
	err := t.commitEnd(ev, usage, func(run *store.Run, now time.Time) (*store.Commit, error) {
		cm, err := decide.Turn(run, ev, t.node.id, now)
		if err == nil {
			err = decide.AddJournal(cm, ev.FinalEntries())
		}
		return cm, err
	})
	var violation *fcmp.SchemaViolation
	if errors.As(err, &violation) || decide.Refused(err) || errors.Is(err, store.ErrInvalid) {
		t.node.proc.Log.Error("turn's result refused", "run", t.record.ID, "attempt", t.record.Attempt, "err", err)
		refusal := err
		err = t.commitEnd(ev, usage, func(run *store.Run, now time.Time) (*store.Commit, error) {
			return decide.RefusedOutcome(run, refusal, now)
		})
	}
	if errors.Is(err, store.ErrStaleEpoch) {
		// It was ended or taken over, or an earlier try was stored and the run has changed since.
		return t.reload(), false
	}
	if err != nil {
		t.node.proc.Log.Error("turn's result not stored; recovery settles the run", "run", t.record.ID, "attempt",
			t.record.Attempt, "err", err)
	}
	return t.record, err == nil
}

// commitEnd commits the turn's end, with its usage and trace (Observer.Start).
func (t *turn) commitEnd(ev *decide.Evidence, usage *store.Usage, d decision) error {
	return t.commit(func(run *store.Run, now time.Time) (*store.Commit, error) {
		cm, err := d(decide.WithUsage(run, usage, ev.Begun), now)
		if err == nil {
			cm.Usage = usage
			if t.trace != "" {
				cm.Run.Trace = t.trace
			}
		}
		return cm, err
	})
}

// reload returns the stored run, or else the worker's last record.
func (t *turn) reload() *store.Run {
	if run, err := t.node.proc.Store.Run(t.node.live, t.record.ID); err == nil {
		return &run
	}
	return t.record
}

// usageOf converts an engine's reported usage, and limits its numbers to storable values.
func usageOf(reported engine.Usage, worked time.Duration) store.Usage {
	bounded := func(n int64) int64 { return min(max(n, 0), store.MaxUsage) }
	cost := math.Round(reported.CostUSD * 1e6)
	if math.IsNaN(cost) {
		cost = 0
	}
	return store.Usage{
		InputTokens: bounded(reported.InputTokens), OutputTokens: bounded(reported.OutputTokens),
		CostMicroUSD: int64(min(max(cost, 0), store.MaxUsage)),
		Worked:       time.Duration(bounded(worked.Microseconds())) * time.Microsecond,
	}
}

// storedUsage returns the usage stored with the turn's end; nil if the engine reported none, so
// that plain turns write nothing.
func storedUsage(reported engine.Usage, used store.Usage) *store.Usage {
	if reported == (engine.Usage{}) {
		return nil
	}
	kept := used // a copy: a plain turn allocates nothing
	return &kept
}
