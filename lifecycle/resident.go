package lifecycle

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// resident is a process of a run that an engine here may hold.
type resident struct {
	engine string
	since  time.Time // an instant; when its last turn began
}

// holdResident remembers that an engine here may hold a process of the run.
func (n *node) holdResident(runID, engineName string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.residents[runID] = resident{engineName, instant(n.clock)}
}

// dropResident ends the resident process of a run that has ended elsewhere. While the node leaves, that is left to the end.
func (n *node) dropResident(runID string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	held, ok := n.residents[runID]
	if !ok || n.leaving {
		return
	}
	delete(n.residents, runID)
	n.workers.Go(func() { n.end(runID, held.engine) })
}

// loseResident ends the run's resident process, if there is one, without making its worker wait.
func (n *node) loseResident(runID string) {
	n.mu.Lock()
	held, ok := n.residents[runID]
	delete(n.residents, runID)
	n.mu.Unlock()
	if ok {
		n.workers.Go(func() { n.end(runID, held.engine) })
	}
}

func (n *node) end(runID, engineName string) {
	r, ok := n.engines[engineName].(engine.Resident)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(n.live), time.Minute)
	defer cancel()
	if err := r.End(ctx, runID); err != nil {
		n.log.Warn("resident process not ended", "run", runID, "err", err)
	}
}

// endResidents ends every resident process here and waits for it.
func (n *node) endResidents() {
	n.mu.Lock()
	held := n.residents
	n.residents = make(map[string]resident)
	n.mu.Unlock()
	for id, r := range held {
		n.end(id, r.engine)
	}
}

// watchResidents has the engines report processes that end by themselves while their run waits (D6).
func (n *node) watchResidents() (stop func()) {
	var stops []func()
	for _, e := range n.engines {
		if r, ok := e.(engine.Resident); ok {
			stops = append(stops, r.OnLoss(func(runID string, _ error) {
				select {
				case n.lost <- runID:
				case <-n.live.Done():
				}
			}))
		}
	}
	return func() {
		for _, s := range stops {
			s()
		}
	}
}

const lostWhileWaiting = "the resident process ended while the run waited"

// losses settles the runs whose process was lost.
func (n *node) losses(ctx context.Context) error {
	for {
		select {
		case id := <-n.lost:
			n.mu.Lock()
			delete(n.residents, id)
			t := n.turns[id]
			if t != nil { // the run does not wait yet: its worker settles the loss when it does
				t.orphaned = true
			}
			n.mu.Unlock()
			if t == nil {
				n.settleLoss(ctx, id, lostWhileWaiting)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// settleLoss fails a waiting run whose process is gone. A run that was answered meanwhile is left to its
// next turn, which finds the process missing.
func (n *node) settleLoss(ctx context.Context, id, why string) {
	wait := 20 * time.Millisecond
	for {
		run, err := n.store.Run(ctx, id)
		if errors.Is(err, store.ErrNotFound) || (err == nil && (run.State != fsm.StateWaitingUser || run.Owner != n.id)) {
			return
		}
		if err == nil {
			now := stamp(n.clock)
			var cm store.Commit
			cm, err = transition(&run, &change{
				event: fsm.EventInteractionProcessLost, now: now, message: why, settled: abandoned(&run, now),
			})
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
		if n.rest(ctx, wait) != nil {
			return // recovery settles the run
		}
		wait = min(2*wait, n.cfg.Poll)
	}
}

// settleResidents ends the resident processes at a shutdown, and says so in their runs: a wait that only this
// process could end is over.
func (n *node) settleResidents(ctx context.Context) {
	n.mu.Lock()
	ids := slices.Sorted(maps.Keys(n.residents)) // the same story each time it is told
	n.mu.Unlock()
	n.endResidents()
	for _, id := range ids {
		n.settleLoss(ctx, id, "the host shut down while the run waited")
	}
}
