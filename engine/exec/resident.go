package exec

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
)

// resident is an agent that lives through the turns of its run.
type resident struct {
	*process
	lines *lines
	errs  *transcript

	mu   sync.Mutex
	busy bool // guarded by mu; a turn uses it, and finds out by itself when it ends
	told bool // guarded by mu; its end is expected or was reported
}

// residentTurn gives the input to the run's process, starting it for the first turn.
func (e *Engine) residentTurn(ctx context.Context, r *reading) (engine.Outcome, error) {
	p, err := e.residentOf(r)
	if err != nil {
		return engine.Outcome{}, err
	}
	stop := r.bound(ctx, p.process)
	err = p.tell(expand(e.cfg.Stdin, e.quoted(r.values())))
	if err == nil {
		err = r.read(p.lines)
	} else {
		r.diagnose(fsm.WarnEngineDiagnostic, "the agent did not take its input: "+err.Error())
		err = nil
	}
	stop()
	if err != nil || !r.ended || ctx.Err() != nil || r.limit() != nil {
		p.expectEnd()
		p.end()
		e.drop(r.turn.RunID, p)
	}
	o, err := r.outcome(ctx, p.process, err)
	if err == nil && o.Handle == nil { // a sticky run resumes by its process; the handle only names it
		o.Handle = &engine.Handle{Engine: e.cfg.Name, Data: []byte(`""`)}
	}
	p.mu.Lock()
	p.busy = false
	p.mu.Unlock()
	if !p.running() {
		e.lose(r.turn.RunID, p)
	}
	return o, err
}

// residentOf finds the run's process, or starts it for a run that was not answered yet.
func (e *Engine) residentOf(r *reading) (*resident, error) {
	e.mu.Lock()
	p := e.residents[r.turn.RunID]
	e.mu.Unlock()
	if p != nil {
		p.mu.Lock()
		p.busy = true
		p.mu.Unlock()
		if p.running() {
			return p, nil
		}
	}
	if len(r.turn.Answers) > 0 {
		return nil, &engine.Failure{Code: fsm.CodeInteractionProcessLost, Detail: "the resident process of the run is gone"}
	}
	errs, err := newTranscript(r.turn.TranscriptDir, r.turn.Attempt, "err", e.cfg.MaxTranscript)
	if err != nil {
		return nil, err
	}
	started, err := e.launch(r, e.cfg.Args, errs, true)
	if err != nil {
		errs.close()
		return nil, err
	}
	p = &resident{process: started, lines: newLines(started.stdout, e.cfg.MaxLine), errs: errs, busy: true}
	e.mu.Lock()
	e.residents[r.turn.RunID] = p
	e.mu.Unlock()
	go e.attend(r.turn.RunID, p) // ends with the process
	return p, nil
}

// tell writes one line to the agent.
func (p *resident) tell(text string) error {
	_, err := p.stdin.WriteString(strings.TrimRight(text, "\n") + "\n")
	return err
}

// attend waits for the end of the process, and reports it when nobody else finds out.
func (e *Engine) attend(runID string, p *resident) {
	<-p.ended
	p.mu.Lock()
	busy := p.busy
	p.mu.Unlock()
	if !busy {
		e.lose(runID, p)
	}
}

// lose reports, once, that the process ended by itself.
func (e *Engine) lose(runID string, p *resident) {
	p.mu.Lock()
	told := p.told
	p.told = true
	p.mu.Unlock()
	e.drop(runID, p)
	if told {
		return
	}
	e.mu.Lock()
	fns := make([]func(string, error), 0, len(e.onLoss))
	for fn := range e.onLoss {
		fns = append(fns, *fn)
	}
	e.mu.Unlock()
	reason := errors.New("the resident process ended")
	if p.result != nil {
		reason = fmt.Errorf("the resident process ended: %w", p.result)
	}
	for _, fn := range fns {
		fn(runID, reason)
	}
}

// drop forgets an ended process.
func (e *Engine) drop(runID string, p *resident) {
	e.mu.Lock()
	mine := e.residents[runID] == p
	if mine {
		delete(e.residents, runID)
	}
	e.mu.Unlock()
	if mine {
		e.forget(runID)
		_ = p.stdout.Close()
		p.errs.close()
	}
}

// expectEnd says that the process's end is wanted.
func (p *resident) expectEnd() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = true
}

// End ends the run's resident process, if there is one, and returns when it is gone.
func (e *Engine) End(_ context.Context, runID string) error {
	e.mu.Lock()
	p := e.residents[runID]
	e.mu.Unlock()
	if p == nil {
		return nil
	}
	p.expectEnd()
	p.end()
	e.drop(runID, p)
	return nil
}

// OnLoss has fn called for each resident process that ends by itself between its turns.
func (e *Engine) OnLoss(fn func(runID string, reason error)) (stop func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.onLoss[&fn] = struct{}{}
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.onLoss, &fn)
	}
}

// Close ends all resident processes. Serve does so for the runs that it knows.
func (e *Engine) Close() error {
	e.mu.Lock()
	var ids []string
	for id := range e.residents {
		ids = append(ids, id)
	}
	e.mu.Unlock()
	for _, id := range ids {
		if err := e.End(context.Background(), id); err != nil {
			return err
		}
	}
	return nil
}
