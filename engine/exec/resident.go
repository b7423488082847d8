package exec

import (
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
	secrets *redact.Redactor // of the process's environment
}

func (p *resident) Release() {
	p.Process.Release()
	p.errs.Close()
}

var errInputNotRead = errors.New("exec: the agent did not read its input")

// residentTurn sends the input to the run's process, which it starts for the first turn.
func (e *Engine) residentTurn(t *turn) (engine.Outcome, error) {
	entry, err := e.residentOf(t)
	if err != nil {
		return engine.Outcome{}, err
	}
	p := entry.Process
	t.setSecrets(p.secrets)
	stop := t.startLimits(p.Process)
	if t.in.GoesOn() {
		p.drain()
	}
	p.lines.Allow(e.cfg.MaxStream)
	written := make(chan error, 1)
	// Written concurrently: an agent that writes a lot before it reads would block if its output
	// were not read at the same time.
	go func() { written <- p.writeInput(process.Expand(e.cfg.Stdin, e.cfg.stdinValues(t.values()))) }()
	err = t.readOutput(p.lines)
	writeErr := errInputNotRead
	if t.evidence.ended && err == nil {
		patience := time.NewTimer(e.cfg.Grace)
		select {
		case writeErr = <-written:
		case <-patience.C: // the agent would read the rest as part of its next input
		case <-t.ctx.Done():
		}
		patience.Stop()
	}
	stop()
	if err != nil || writeErr != nil || t.ctx.Err() != nil || t.limits.exceeded() != nil {
		entry.End()
	}
	if errors.Is(writeErr, errInputNotRead) {
		writeErr = <-written // the process has ended, and the write with it
	}
	if writeErr != nil {
		t.evidence.inputNotRead = true
		t.diagnostics.Add(fsm.WarnEngineDiagnostic, "the agent did not read its input: "+writeErr.Error())
	}
	o, err := t.outcome(endingOf(p.Process), err)
	entry.TurnOver()
	return o, err
}

// residentOf returns the run's process, and starts it for the run's first turn.
func (e *Engine) residentOf(t *turn) (*process.Resident[*resident], error) {
	if entry := e.processes.Residents.Acquire(t.in.RunID); entry != nil {
		return entry, nil
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
	return e.processes.Residents.Add(t.in.RunID, &resident{Process: p, errs: errs, secrets: t.secrets,
		lines: process.NewLineReader(p.Stdout, t.secrets, e.cfg.MaxLine)}), nil
}

func (p *resident) writeInput(text string) error {
	_, err := p.Stdin.WriteString(strings.TrimRight(text, "\n") + "\n")
	return err
}
