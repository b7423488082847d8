package exec

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/engine/redact"
	"github.com/interlude-go/interlude/engine/transcript"
	"github.com/interlude-go/interlude/fsm"
)

// resident is a resident process: an agent that lives through the turns of its run.
type resident struct {
	*process.Process

	lines   *process.LineReader
	errs    *transcript.File // of the error output
	secrets *redact.Redactor // that the process was started with
}

// Release gives back what is kept for the ended process.
func (p *resident) Release() {
	p.Process.Release()
	p.errs.Close()
}

// errUnread says that the agent has not read all of its input.
var errUnread = errors.New("exec: the agent did not read its input")

// residentTurn gives the input to the run's process, starting it for the first turn.
func (e *Engine) residentTurn(t *turn) (engine.Outcome, error) {
	kept, err := e.residentOf(t)
	if err != nil {
		return engine.Outcome{}, err
	}
	p := kept.Process
	t.setSecrets(p.secrets)
	stop := t.startLimits(p.Process)
	if t.in.GoesOn() {
		p.drain()
	}
	p.lines.Allow(e.cfg.MaxStream)
	written := make(chan error, 1)
	// An agent that writes much before it reads must not wait for the reader, which waits for it.
	go func() { written <- p.writeInput(process.Expand(e.cfg.Stdin, e.cfg.quoted(t.values()))) }()
	err = t.readOutput(p.lines)
	notWritten := errUnread
	if t.shown.ended && err == nil {
		patience := time.NewTimer(e.cfg.Grace)
		select {
		case notWritten = <-written:
		case <-patience.C: // half an input would be the beginning of the next one
		case <-t.ctx.Done():
		}
		patience.Stop()
	}
	stop()
	if err != nil || notWritten != nil || t.ctx.Err() != nil || t.limits.exceeded() != nil {
		kept.End()
	}
	if errors.Is(notWritten, errUnread) {
		notWritten = <-written // nothing holds it any more
	}
	if notWritten != nil {
		t.shown.inputUnread = true
		t.odd.Add(fsm.WarnEngineDiagnostic, "the agent did not take its input: "+notWritten.Error())
	}
	o, err := t.outcome(endingOf(p.Process), err)
	kept.TurnOver()
	return o, err
}

// residentOf finds the run's process, or starts it for a run that was not answered yet.
func (e *Engine) residentOf(t *turn) (*process.Resident[*resident], error) {
	if kept := e.residents.Acquire(t.in.RunID); kept != nil {
		return kept, nil
	}
	if t.in.GoesOn() {
		return nil, &engine.Failure{Code: fsm.CodeInteractionProcessLost, Detail: "the resident process of the run " +
			"is gone"}
	}
	errs, err := transcript.Open(t.in.TranscriptDir, t.in.Attempt, "err", e.cfg.MaxTranscript)
	if err != nil {
		return nil, err
	}
	p, err := e.launch(t, e.cfg.Args, errs)
	if err != nil {
		errs.Close()
		return nil, err
	}
	return e.residents.Add(t.in.RunID, &resident{Process: p, errs: errs, secrets: t.secrets,
		lines: process.NewLineReader(p.Stdout, t.secrets, e.cfg.MaxLine)}), nil
}

// writeInput writes one line to the agent.
func (p *resident) writeInput(text string) error {
	_, err := p.Stdin.WriteString(strings.TrimRight(text, "\n") + "\n")
	return err
}

// End ends the run's resident process, if there is one, and returns when it is gone.
func (e *Engine) End(_ context.Context, runID string) error {
	e.residents.End(runID)
	return nil
}

// OnLoss has fn called for each resident process that ends by itself between its turns. fn must not
// call the function that is returned.
func (e *Engine) OnLoss(fn func(runID string, reason error)) (stop func()) {
	return e.residents.OnLoss(fn)
}

// Close ends all resident processes, together, so that it takes one grace however many there are.
// Serve does so for the runs that it knows.
func (e *Engine) Close() error {
	e.residents.Close()
	return nil
}
