package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// agent is the engine of one profile in one process. At the end of a run it lists the answers that
// it has heard, so that a lost answer is missing in that list, and an answer that came twice is in
// it twice.
type agent struct {
	view     *view
	kind     fsm.Profile
	sessions map[string]*session // guarded by world.mu; the resident processes, by run
	onLoss   func(string, error) // guarded by world.mu
}

// session represents a resident process and holds its answers.
type session struct {
	heard  []string
	busy   bool // a turn is using the process
	broken bool // the process died during the turn
}

var (
	_ engine.Engine   = (*agent)(nil)
	_ engine.Resident = (*agent)(nil)
	_ engine.Checker  = (*agent)(nil)
	_ engine.Reaper   = (*agent)(nil)
	_ engine.Brancher = (*agent)(nil)
)

func newAgent(v *view, kind fsm.Profile) *agent {
	return &agent{view: v, kind: kind, sessions: make(map[string]*session)}
}

// Profile implements engine.Engine. The worker that calls it waits there until the world is
// quiescent: a shutdown may interrupt the turn in the moment in which it is dispatched, and no seed
// could decide whether the worker is quicker.
func (a *agent) Profile(ctx context.Context) (engine.Profile, error) {
	tick, stop := clock{a.view}.Timer(0)
	select {
	case <-tick:
	case <-ctx.Done():
		stop()
	}
	if a.unavailable() {
		a.suffer(a.view.world.plan.holds.outageBy, "Profile")
		return engine.Profile{}, errors.New("the program of the agent is missing")
	}
	return engine.Profile{Kind: a.kind, Reason: "as the plan says"}, nil
}

// RunTurn implements engine.Engine.
func (a *agent) RunTurn(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	w := a.view.world
	tries := 0
	err := a.step(ctx, t, "begins", func() { tries = w.turns.start(a.view, t) })
	if err != nil {
		return a.broken(ctx, t, err)
	}
	defer w.turns.end(a.view, t)
	p := w.script(t)
	if tries < p.busy {
		w.saw("a model was overloaded")
		return engine.Outcome{}, engine.Later(0, "overloaded")
	}
	heard, err := a.resume(t)
	if err != nil {
		return engine.Outcome{}, err
	}
	if m := &w.runPlan(t.RunID).mishaps; m.inTurn == len(heard) {
		a.suffer(m.turn, "RunTurn")
	}
	for i := range p.messages {
		if err := s.Message(ctx, engine.Message{Text: fmt.Sprintf("Step %d.", i+1)}); err != nil {
			return a.broken(ctx, t, err)
		}
	}
	if p.handle && a.kind == fsm.ProfileResumable {
		before := heard
		if t.GoesOn() {
			before = heard[:len(heard)-1]
		}
		if err := s.Session(ctx, *handle(before)); err != nil {
			return a.broken(ctx, t, err)
		}
	}
	if !a.view.rest(ctx.Done(), p.takes) {
		if p.deaf {
			_ = a.step(context.WithoutCancel(ctx), t, "goes on though it should end", func() {})
		} else {
			return a.broken(ctx, t, context.Cause(ctx))
		}
	}
	if err := a.step(ctx, t, "ends", func() {}); err != nil && !p.deaf {
		return a.broken(ctx, t, err)
	}
	return a.outcome(t, p, heard)
}

// step waits at the gate until the scheduler releases it.
func (a *agent) step(ctx context.Context, t engine.Turn, what string, apply func()) error {
	return a.view.ask(ctx, &request{kind: "Agent", what: fmt.Sprintf("%s attempt %d %s", t.RunID, t.Attempt, what),
		apply: apply})
}

// resume returns the agent's answers, including this turn's.
func (a *agent) resume(t engine.Turn) (heard []string, err error) {
	w := a.view.world
	if a.kind == fsm.ProfileStickyProcess {
		w.mu.Lock()
		defer w.mu.Unlock()
		s := a.sessions[t.RunID]
		switch {
		case !t.GoesOn():
			s = &session{}
			a.sessions[t.RunID] = s
		case s == nil:
			return nil, &engine.Failure{Code: fsm.CodeInteractionProcessLost, Detail: "no resident process"}
		}
		s.busy = true
		if t.GoesOn() {
			s.heard = append(slices.Clone(s.heard), hear(t))
		}
		return s.heard, nil
	}
	heard = remembered(t.Session)
	if t.GoesOn() {
		if t.Session == nil {
			return nil, &engine.Failure{Code: fsm.CodeSessionResumeFailed,
				Detail: "the turn goes on and has no session"}
		}
		heard = append(heard, hear(t))
	}
	if t.Session != nil && a.expired(t.RunID) {
		return nil, &engine.Failure{Code: fsm.CodeSessionResumeFailed, Detail: "the session has expired"}
	}
	return heard, nil
}

// expired reports whether the provider has forgotten the run's session, and has not been repaired.
func (a *agent) expired(runID string) bool {
	p, now := a.view.world.runPlan(runID), time.Since(epoch)
	return p.expires > 0 && now > p.expires && (p.repaired == 0 || now < p.repaired)
}

// Check implements engine.Checker.
func (a *agent) Check(_ context.Context, runID string, _ engine.SessionHandle) error {
	a.suffer(a.view.world.runPlan(runID).mishaps.check, "Check")
	if a.expired(runID) {
		a.view.world.saw("recovery found that a session had expired")
		return engine.ErrHandleRefused
	}
	return nil
}

// Reap implements engine.Reaper.
func (a *agent) Reap(_ context.Context, runID string) error {
	a.suffer(a.view.world.runPlan(runID).mishaps.reap, "Reap")
	if a.view.world.runPlan(runID).clings {
		return errors.New("a process will not die")
	}
	return nil
}

// handle returns a session that contains the answers.
func handle(heard []string) *engine.SessionHandle {
	return &engine.SessionHandle{Engine: "agent", Version: "1", Data: []byte("=" + strings.Join(heard, "|"))}
}

// broken ends a turn that could not continue, and the agent's process.
func (a *agent) broken(ctx context.Context, t engine.Turn, err error) (engine.Outcome, error) {
	a.drop(t.RunID)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return engine.Outcome{}, err
}

func (a *agent) drop(runID string) {
	w := a.view.world
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(a.sessions, runID)
}

// outcome returns the result of the turn.
func (a *agent) outcome(t engine.Turn, p turnPlan, heard []string) (engine.Outcome, error) {
	w := a.view.world
	o := engine.Outcome{Process: engine.Process{Status: engine.OK}, Usage: w.runPlan(t.RunID).spends(t.Attempt)}
	if a.kind == fsm.ProfileStickyProcess {
		w.mu.Lock()
		s := a.sessions[t.RunID]
		lost := s == nil || s.broken
		if lost {
			delete(a.sessions, t.RunID)
		} else {
			s.busy = false
		}
		w.mu.Unlock()
		if lost {
			return o, &engine.Failure{Code: fsm.CodeInteractionProcessLost, Detail: "the process died during the turn"}
		}
	} else {
		o.Session = handle(heard)
	}
	switch {
	case p.fails:
		return o, errors.New("the agent has no more ideas")
	case p.asks && t.Mode == fsm.ModeInteractive:
		first := 1
		for i := range len(heard) - w.runPlan(t.RunID).begins() {
			first += w.runPlan(t.RunID).turns[i].asked()
		}
		o.Questions, o.Rule = p.questions(first), p.several.rule
	default:
		o.FinalText = said(heard) + "\n" + interaction.DoneMarker + "\n"
	}
	return o, nil
}

// said is the final text of an agent that has heard these answers.
func said(heard []string) string {
	return fmt.Sprintf("I heard %d: [%s]", len(heard), strings.Join(heard, "|"))
}

// End implements engine.Resident.
func (a *agent) End(_ context.Context, runID string) error {
	a.drop(runID)
	a.suffer(a.view.world.runPlan(runID).mishaps.end, "End")
	return nil
}

// OnLoss implements engine.Resident.
func (a *agent) OnLoss(fn func(string, error)) func() {
	w := a.view.world
	w.mu.Lock()
	a.onLoss = fn
	w.mu.Unlock()
	a.suffer(w.plan.onLoss, "OnLoss") // it is registered then, and the host does not get what ends that
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		a.onLoss = nil
	}
}

// lose makes the run's resident process die.
func (a *agent) lose(runID string) {
	w := a.view.world
	w.mu.Lock()
	s, report := a.sessions[runID], a.onLoss
	if s != nil && s.busy {
		s.broken, report = true, nil
	} else {
		delete(a.sessions, runID)
	}
	w.mu.Unlock()
	if s != nil && report != nil {
		go report(runID, errors.New("killed"))
	}
}
