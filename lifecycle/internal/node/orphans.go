package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

const EngineWait = time.Second

// collectEvidence asks all engines concurrently about the orphans. The evidence is nil for one whose
// engine has not answered within EngineWait; settleLate settles it.
func (r *Recoverer) collectEvidence(ctx context.Context, orphans []store.Run) []*orphanEvidence {
	answers := &engineAnswers{evidence: make([]*orphanEvidence, len(orphans)), all: make(chan struct{})}
	var asked []int
	for i := range orphans {
		if r.process.asksEngine(&orphans[i]) {
			asked = append(asked, i)
		} else {
			answers.evidence[i] = r.process.inspectOrphan(ctx, &orphans[i])
		}
	}
	if len(asked) == 0 {
		return answers.evidence
	}
	answers.missing = len(asked)
	for _, i := range asked {
		r.askEngine(&orphans[i], func(found *orphanEvidence) (inTime bool) { return answers.add(i, found) })
	}
	tick, stop := r.process.Clock.Timer(EngineWait)
	defer stop()
	select {
	case <-answers.all:
	case <-tick:
	case <-ctx.Done():
	}
	found := answers.close()
	for _, i := range asked {
		if found[i] != nil {
			r.setAwaited(orphans[i].ID, false)
		}
	}
	return found
}

// askEngine asks the run's engine on a separate goroutine, which settles the orphan if the answer is
// too late for the batch.
func (r *Recoverer) askEngine(run *store.Run, answer func(*orphanEvidence) (inTime bool)) {
	r.setAwaited(run.ID, true)
	r.engineCalls.Go(func() {
		found := r.process.inspectOrphan(r.callCtx, run)
		if !answer(found) {
			r.settleLate(run, found)
		}
	})
}

// engineAnswers collects the evidence about a batch until the batch proceeds without the missing
// answers.
type engineAnswers struct {
	all chan struct{} // closed when nothing is missing

	mu       sync.Mutex        // guards the fields below
	evidence []*orphanEvidence // nil: not answered
	missing  int
	closed   bool
}

// add adds the evidence about one orphan, unless the batch has proceeded without it.
func (a *engineAnswers) add(i int, found *orphanEvidence) (inTime bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return false
	}
	a.evidence[i] = found
	if a.missing--; a.missing == 0 {
		close(a.all)
	}
	return true
}

func (a *engineAnswers) close() []*orphanEvidence {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	return a.evidence
}

func (p *Process) asksEngine(run *store.Run) bool {
	e := p.Engines[run.Engine]
	_, reaps := e.(engine.Reaper)
	_, checks := e.(engine.Checker)
	return run.Slot && reaps || run.State == fsm.StateWaitingUser && checks
}

// ErrNoSession says why a resumable run cannot continue after a wait.
var ErrNoSession = errors.New("the session handle is missing")

// orphanEvidence has the known facts of an orphan in addition to its record.
type orphanEvidence struct {
	decide.OrphanEvidence

	intact bool // a parked run that continues unchanged: nothing to commit
}

// inspectOrphan has the engine end the processes of the orphan's worker, and asks it whether the
// session of a wait is valid.
func (p *Process) inspectOrphan(ctx context.Context, run *store.Run) *orphanEvidence {
	found := new(orphanEvidence)
	if run.Slot { // a run without a slot has no process
		found.Warnings = p.reap(ctx, run)
	}
	if run.State == fsm.StateWaitingUser && run.Profile != fsm.ProfileStickyProcess {
		fault, known := p.sessionFault(ctx, run)
		found.SessionFault = fault
		stillHeld, stillValid := run.Held() && fault != "", !run.Held() && fault == ""
		found.intact = !known || stillHeld || stillValid
	}
	found.At = p.Now()
	return found
}

// sessionFault says why a wait cannot continue; empty if it can. If the engine cannot decide now,
// known is false, and the next turn finds out.
func (p *Process) sessionFault(ctx context.Context, run *store.Run) (fault string, known bool) {
	switch {
	case len(run.Open) == 0:
		return "the pending question is missing", true
	case !run.HasSession():
		return ErrNoSession.Error(), true
	case run.Session == nil: // a fork that has asked again; its next turn branches the inherited session
		return "", false
	}
	checker, ok := p.Engines[run.Engine].(engine.Checker)
	if !ok {
		return "", false
	}
	h := *run.Session
	what := EngineCall{Engine: run.Engine, Method: "Check", RunID: run.ID}
	err := p.Call(ctx, CheckLimit, what, func(ctx context.Context) error { return checker.Check(ctx, run.ID, h) })
	if errors.Is(err, engine.ErrHandleRefused) {
		return decide.Shortened(err.Error()), true
	}
	return "", err == nil
}

// reap has the engine end the dead worker's processes. A failure is a warning.
func (p *Process) reap(ctx context.Context, run *store.Run) []interaction.Diagnostic {
	e, known := p.Engines[run.Engine]
	if !known && len(p.Engines) > 0 { // this node lacks the engine; another one might have reaped
		return []interaction.Diagnostic{{
			Code: fsm.WarnOrphanReapFailed,
			Detail: fmt.Sprintf("engine %q is not configured in the process that recovered the run: if its worker "+
				"left processes, they were not ended", run.Engine),
		}}
	}
	r, ok := e.(engine.Reaper)
	if !ok {
		return nil
	}
	what := EngineCall{Engine: run.Engine, Method: "Reap", RunID: run.ID}
	if err := p.Call(ctx, ReapLimit, what, func(ctx context.Context) error { return r.Reap(ctx, run.ID) }); err != nil {
		return []interaction.Diagnostic{{Code: fsm.WarnOrphanReapFailed, Detail: decide.Shortened(err.Error())}}
	}
	return nil
}

// CleanUp has the engines end the processes of dead hosts on this machine, at the start and after
// each pause. Recovery misses the processes of runs that were canceled, or taken over by a node of
// another machine.
func (p *Process) CleanUp(ctx context.Context, pause time.Duration) error {
	logged := make(map[string]string) // the last fault by engine
	for {
		for _, name := range slices.Sorted(maps.Keys(p.Engines)) {
			s, ok := p.Engines[name].(engine.ProcessCleaner)
			if !ok {
				continue
			}
			fault := ""
			if err := p.cleanUpEngine(ctx, name, s); err != nil && ctx.Err() == nil {
				fault = err.Error()
			}
			if fault != logged[name] && fault != "" {
				p.Log.Warn("processes of dead workers may be left", "engine", name, "err", fault)
			}
			logged[name] = fault
		}
		if p.Sleep(ctx, pause) != nil {
			return nil
		}
	}
}

func (p *Process) cleanUpEngine(ctx context.Context, name string, s engine.ProcessCleaner) error {
	what := EngineCall{Engine: name, Method: "CleanUp"}
	if slices.ContainsFunc(p.Stuck.List(), func(c EngineCall) bool {
		return c.Engine == name && c.Method == what.Method
	}) {
		return errors.New("the last call has not returned yet")
	}
	return p.Call(ctx, CleanUpLimit, what, s.CleanUp)
}
