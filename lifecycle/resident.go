package lifecycle

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// resident is a process of a run that an engine here may hold.
type resident struct {
	engine string
	since  time.Time // when its last turn began, by monotonicNow
}

// holdResident remembers that an engine here may hold a process of the run.
func (n *node) holdResident(runID, engineName string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.residents[runID] = resident{engineName, monotonicNow(n.clock)}
}

// endResidentOfEndedRun ends the resident process of a run that somebody else has ended. When the
// node is leaving, endResidents does it.
func (n *node) endResidentOfEndedRun(runID string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	held, ok := n.residents[runID]
	if !ok || n.leaving {
		return
	}
	delete(n.residents, runID)
	n.workers.Go(func() { n.endResident(runID, held.engine, time.Minute) })
}

// endResidentAfterTurn ends the resident process of a run that needs it no more, beside the worker
// of its turn, which need not wait for that. Once residentCalls has ended, endResidents does it,
// which has less time.
func (n *node) endResidentAfterTurn(runID string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	held, ok := n.residents[runID]
	if !ok || n.residentCalls.Err() != nil {
		return
	}
	delete(n.residents, runID)
	n.workers.Go(func() { n.endResident(runID, held.engine, time.Minute) })
}

// endResident has the engine end a resident process. The call ends after the limit, or with
// residentCalls if that has not ended before.
func (n *node) endResident(runID, engineName string, limit time.Duration) {
	r, ok := n.engines[engineName].(engine.Resident)
	if !ok {
		return
	}
	ctx := n.residentCalls
	if ctx.Err() != nil { // endResidents, at the end of the node
		ctx = context.WithoutCancel(ctx)
	}
	what := EngineCall{Engine: engineName, Method: "End", RunID: runID}
	if err := n.call(ctx, limit, what, func(ctx context.Context) error { return r.End(ctx, runID) }); err != nil {
		n.log.Warn("resident process not ended", "run", runID, "err", err)
	}
}

// endResidents ends all resident processes of this node at the same time, and returns the ids of
// their runs, sorted.
func (n *node) endResidents() []string {
	n.mu.Lock()
	held := n.residents
	n.residents = make(map[string]resident)
	n.mu.Unlock()
	var all sync.WaitGroup
	for id, r := range held {
		all.Go(func() { n.endResident(id, r.engine, endLimit) })
	}
	all.Wait()
	return slices.Sorted(maps.Keys(held))
}

// watchResidents subscribes to the engines' reports of processes that end by themselves while their
// run waits (D6). It waits for each engine's OnLoss, but no longer than the lease allows. stop ends
// the subscriptions.
func (n *node) watchResidents() (stop func()) {
	var all sync.WaitGroup
	var ready sync.WaitGroup
	end := make(chan struct{})
	report := func(runID string, _ error) {
		select {
		case n.lostProcesses <- runID:
		case <-n.live.Done():
		}
	}
	for name, e := range n.engines {
		r, ok := e.(engine.Resident)
		if !ok {
			continue
		}
		ready.Add(1)
		all.Go(func() {
			given := make(chan func(), 1)
			what := EngineCall{Engine: name, Method: "OnLoss"}
			limit := min(lossLimit, n.cfg.Lease/4)
			err := n.call(n.residentCalls, limit, what, func(context.Context) error {
				given <- r.OnLoss(report)
				return nil
			})
			ready.Done()
			if err != nil {
				n.log.Error("engine does not report processes that end while their runs wait", "engine", name, "err",
					err)
			}
			<-end
			select {
			case stop := <-given:
				what.Method = "OnLoss's stop"
				err = n.call(context.WithoutCancel(n.residentCalls), lossLimit, what, func(context.Context) error {
					stop()
					return nil
				})
			default:
			}
			if err != nil {
				n.log.Warn("engine still reports processes", "engine", name, "err", err)
			}
		})
	}
	ready.Wait()
	return func() {
		close(end)
		all.Wait()
	}
}

const lostWhileWaiting = "the resident process ended while the run waited"

// watchLostProcesses settles the runs whose resident process has ended, as their engines report it.
func (n *node) watchLostProcesses(ctx context.Context) error {
	for {
		select {
		case id := <-n.lostProcesses:
			n.mu.Lock()
			delete(n.residents, id)
			t := n.turns[id]
			if t != nil { // the turn has not been settled yet: forgetTurn settles the loss after it
				t.orphaned = true
			}
			n.mu.Unlock()
			if t == nil {
				n.settleLostProcess(ctx, id, lostWhileWaiting)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// settleLostProcess fails a waiting run whose process has ended. It leaves a run alone that was
// answered meanwhile: its next turn finds the process missing.
func (n *node) settleLostProcess(ctx context.Context, id, why string) {
	backoff := 20 * time.Millisecond
	for {
		run, err := n.store.Run(ctx, id)
		if errors.Is(err, store.ErrNotFound) || membershipEnded(err) ||
			(err == nil && (run.State != fsm.StateWaitingUser || run.Owner != n.id)) {
			return
		}
		if err == nil {
			var cm store.Commit
			cm, err = decideLostProcess(&run, why, commitTime(n.clock))
			if err == nil {
				err = n.commit(ctx, cm)
			}
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		if errors.Is(err, store.ErrConflict) {
			continue
		}
		n.log.Error("lost process not settled; trying again", "run", id, "err", err)
		if n.sleep(ctx, backoff) != nil {
			return // recovery settles the run
		}
		backoff = min(2*backoff, n.cfg.Poll)
	}
}
