package exec

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/engine/redact"
	"github.com/interlude-go/interlude/engine/transcript"
	"github.com/interlude-go/interlude/fsm"
)

// resident is an agent that lives through the turns of its run.
type resident struct {
	*process.Process
	lines *lines
	errs  *transcript.File
	// secrets are those that it was started with.
	secrets *redact.Redactor

	mu   sync.Mutex
	busy bool // guarded by mu; a turn uses it, and finds out by itself when it ends
	told bool // guarded by mu; its end is expected or was reported
}

// errUntaken says that the agent has not read all of its input.
var errUntaken = errors.New("exec: the agent did not read its input")

// residentTurn gives the input to the run's process, starting it for the first turn.
func (e *Engine) residentTurn(ctx context.Context, r *reading) (engine.Outcome, error) {
	p, err := e.residentOf(r)
	if err != nil {
		return engine.Outcome{}, err
	}
	r.secrets = p.secrets
	stop := r.bound(ctx, p.Process)
	if r.turn.GoesOn() {
		p.drain()
	}
	p.lines.allow(e.cfg.MaxStream)
	taken := make(chan error, 1)
	// An agent that writes much before it reads must not wait for the reader, which waits for it.
	go func() { taken <- p.tell(expand(e.cfg.Stdin, e.quoted(r.values()))) }()
	err = r.read(p.lines)
	refused := errUntaken
	if r.ended && err == nil {
		patience := time.NewTimer(e.cfg.Grace)
		select {
		case refused = <-taken:
		case <-patience.C: // half an input would be the beginning of the next one
		case <-ctx.Done():
		}
		patience.Stop()
	}
	stop()
	if err != nil || refused != nil || ctx.Err() != nil || r.limit() != nil {
		p.expectEnd()
		p.End()
		e.drop(r.turn.RunID, p)
	}
	if errors.Is(refused, errUntaken) {
		refused = <-taken // nothing holds it any more
	}
	if refused != nil {
		r.untaken = true
		r.diagnose(fsm.WarnEngineDiagnostic, "the agent did not take its input: "+refused.Error())
	}
	o, err := r.outcome(ctx, endingOf(p.Process), err)
	p.mu.Lock()
	p.busy = false
	p.mu.Unlock()
	if !p.Running() {
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
		if p.Running() {
			return p, nil
		}
		e.lose(r.turn.RunID, p) // it ended while the run waited; whoever notices first reports it
	}
	if r.turn.GoesOn() {
		return nil, &engine.Failure{Code: fsm.CodeInteractionProcessLost, Detail: "the resident process of the run " +
			"is gone"}
	}
	errs, err := transcript.Open(r.turn.TranscriptDir, r.turn.Attempt, "err", e.cfg.MaxTranscript)
	if err != nil {
		return nil, err
	}
	started, err := e.launch(r, e.cfg.Args, errs, true)
	if err != nil {
		errs.Close()
		return nil, err
	}
	p = &resident{Process: started, lines: newLines(started.Stdout, r.secrets, e.cfg.MaxLine), errs: errs,
		secrets: r.secrets, busy: true}
	e.mu.Lock()
	e.residents[r.turn.RunID] = p
	e.mu.Unlock()
	go e.attend(r.turn.RunID, p) // ends with the process
	return p, nil
}

// tell writes one line to the agent.
func (p *resident) tell(text string) error {
	_, err := p.Stdin.WriteString(strings.TrimRight(text, "\n") + "\n")
	return err
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
		p.Release()
		p.errs.Close()
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
	p.End()
	e.drop(runID, p)
	return nil
}

// Close ends all resident processes, together, so that it takes one grace however many there are.
// Serve does so for the runs that it knows.
func (e *Engine) Close() error {
	e.mu.Lock()
	ids, scopes := slices.Collect(maps.Keys(e.residents)), slices.Clone(e.scopes)
	e.mu.Unlock()
	ended := make([]error, len(ids)+len(scopes))
	var all sync.WaitGroup
	for i, id := range ids {
		all.Go(func() { ended[i] = e.End(context.Background(), id) })
	}
	for i, s := range scopes {
		all.Go(func() { ended[len(ids)+i] = s.Close() })
	}
	all.Wait()
	return errors.Join(ended...)
}
