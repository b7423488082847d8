package node

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// resident is a process that an engine here may hold for a run.
type resident struct {
	engine string
	since  time.Time // when its last turn began, by MonotonicNow
}

func (n *Node) addResident(runID, engineName string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.residents[runID] = resident{engineName, MonotonicNow(n.proc.Clock)}
}

// endResidentOfEndedRun ends the resident process of a run that ended elsewhere; when the node is
// leaving, endResidents does.
func (n *Node) endResidentOfEndedRun(runID string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.leaving {
		n.startEndingResident(runID)
	}
}

// endResidentAfterTurn ends a resident process that its run no longer needs. Its caller is counted in
// workers, so it may start a goroutine while the node is leaving. After endCtx, endResidents does it.
func (n *Node) endResidentAfterTurn(runID string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.endCtx.Err() == nil {
		n.startEndingResident(runID)
	}
}

// startEndingResident ends the run's resident process, if any, on a separate goroutine. The caller
// holds mu.
func (n *Node) startEndingResident(runID string) {
	held, ok := n.residents[runID]
	if !ok {
		return
	}
	delete(n.residents, runID)
	n.workers.Go(func() { n.endResident(runID, held.engine, time.Minute) })
}

// endResidents ends all resident processes concurrently, and returns their runs' ids, sorted.
func (n *Node) endResidents() []string {
	n.mu.Lock()
	held := n.residents
	n.residents = make(map[string]resident)
	n.mu.Unlock()
	var all sync.WaitGroup
	for id, r := range held {
		all.Go(func() { n.endResident(id, r.engine, EndLimit) })
	}
	all.Wait()
	return slices.Sorted(maps.Keys(held))
}

// endResident has the engine end a resident process within the limit, or until endCtx ends.
func (n *Node) endResident(runID, engineName string, limit time.Duration) {
	r, ok := n.proc.Engines[engineName].(engine.Resident)
	if !ok {
		return
	}
	ctx := n.endCtx
	if ctx.Err() != nil { // called by endResidents
		ctx = context.WithoutCancel(ctx)
	}
	what := EngineCall{Engine: engineName, Method: "End", RunID: runID}
	if err := n.proc.Call(ctx, limit, what, func(ctx context.Context) error { return r.End(ctx, runID) }); err != nil {
		n.proc.Log.Warn("resident process not ended", "run", runID, "err", err)
	}
}

// watchResidents subscribes to the engines' reports of processes that end by themselves while their
// run waits. It waits until each engine's OnLoss has returned, as long as the lease allows.
func (n *Node) watchResidents() (stop func()) {
	var subscribing, subscribed sync.WaitGroup
	stopped := make(chan struct{})
	for name, e := range n.proc.Engines {
		r, ok := e.(engine.Resident)
		if !ok {
			continue
		}
		subscribing.Add(1)
		subscribed.Go(func() {
			s := n.subscribeToLosses(name, r)
			subscribing.Done()
			<-stopped
			n.unsubscribe(s)
		})
	}
	subscribing.Wait()
	return func() {
		close(stopped)
		subscribed.Wait()
	}
}

type lossSubscription struct {
	engine string
	err    error       // why the subscription is uncertain
	stop   chan func() // receives what OnLoss returns
}

func (n *Node) subscribeToLosses(name string, r engine.Resident) *lossSubscription {
	report := func(runID string, _ error) {
		select {
		case n.lostProcesses <- runID:
		case <-n.live.Done():
		}
	}
	s := &lossSubscription{engine: name, stop: make(chan func(), 1)}
	what := EngineCall{Engine: name, Method: "OnLoss"}
	s.err = n.proc.Call(n.endCtx, min(LossLimit, n.cfg.Lease/4), what, func(context.Context) error {
		s.stop <- r.OnLoss(report)
		return nil
	})
	if s.err != nil {
		n.proc.Log.Error("engine does not report processes that end while their runs wait", "engine", name,
			"err", s.err)
	}
	return s
}

// unsubscribe calls the function that OnLoss has returned. Without one, it only logs that.
func (n *Node) unsubscribe(s *lossSubscription) {
	err := s.err
	select {
	case stop := <-s.stop:
		what := EngineCall{Engine: s.engine, Method: "OnLoss's stop"}
		err = n.proc.Call(context.WithoutCancel(n.endCtx), LossLimit, what, func(context.Context) error {
			stop()
			return nil
		})
	default:
	}
	if err != nil {
		n.proc.Log.Warn("engine still reports processes", "engine", s.engine, "err", err)
	}
}

// watchLostProcesses settles runs whose engine has reported the end of their resident process.
func (n *Node) watchLostProcesses(ctx context.Context) error {
	for {
		select {
		case id := <-n.lostProcesses:
			n.mu.Lock()
			delete(n.residents, id)
			t := n.turns[id]
			if t != nil { // the turn is not settled: removeTurn settles the loss after it
				t.processLost = true
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

const lostWhileWaiting = "the resident process ended while the run waited"

// settleLostProcess fails a waiting run whose process has ended. It retries while the store fails;
// after ctx has ended, recovery settles the run.
func (n *Node) settleLostProcess(ctx context.Context, id, why string) {
	backoff := firstBackoff
	for {
		err := n.failLostWait(ctx, id, why)
		if err == nil || ctx.Err() != nil {
			return
		}
		n.proc.Log.Error("lost process not settled; trying again", "run", id, "err", err)
		if n.proc.Sleep(ctx, backoff) != nil {
			return
		}
		backoff = min(2*backoff, n.cfg.Poll)
	}
}

// failLostWait fails the run if it still waits with its process on this node. If it was answered, its
// next turn finds the process missing.
func (n *Node) failLostWait(ctx context.Context, id, why string) error {
	cmd := Command{Verb: "fail", Run: id}
	return n.proc.CarryOut(ctx, cmd, func() (*store.Commit, error) {
		run, err := n.proc.Store.Run(ctx, id)
		if err != nil && !errors.Is(err, store.ErrNotFound) && !membershipEnded(err) {
			return nil, cmd.Failed(err)
		}
		if err != nil || run.State != fsm.StateWaitingUser || run.Owner != n.id {
			return nil, nil // nothing has to change
		}
		return decide.LostProcess(&run, why, n.proc.Now())
	})
}
