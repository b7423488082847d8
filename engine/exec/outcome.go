package exec

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/engine/redact"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// ending is the state of the turn's process after its output has been read.
type ending struct {
	err    error  // nil for status 0, and for a running resident process
	stderr string // the end of its error output
}

func endingOf(p *process.Process) ending {
	if p.Running() {
		return ending{stderr: p.ErrorText()}
	}
	return ending{err: p.Err(), stderr: p.ErrorText()}
}

// outcome is the turn's outcome. broken is the error that stopped the reading of the output: the
// sink's error, or process.ErrFlood.
func (t *turn) outcome(end ending, broken error) (engine.Outcome, error) {
	if errors.Is(broken, errOtherSession) {
		broken = nil // t.evidence.sessionLost reports it
	}
	final, err := t.messages.conclude(broken == nil)
	if broken == nil {
		broken = err
	}
	o := engine.Outcome{FinalText: final.Text, FinalRef: final.RawRef, Output: t.evidence.output,
		Usage:   t.evidence.usage,
		Session: t.handle(), Diagnostics: t.diagnostics.List()}
	if errors.Is(broken, process.ErrFlood) {
		o.Diagnostics = append(o.Diagnostics, interaction.Diagnostic{Code: fsm.WarnEngineOutputTruncated,
			Detail: "exec: " + broken.Error()})
	} else if broken != nil && !errors.Is(broken, engine.ErrStale) && t.ctx.Err() == nil {
		return o, broken
	}
	o.Process = t.process(end, broken)
	o.Process.Transient = o.Process.Status == engine.Failed && o.Process.Code == fsm.CodeEngineFailed &&
		engine.PassingText(o.Process.Detail)
	return o, nil
}

func (t *turn) process(end ending, broken error) engine.Process {
	var memory *process.MemoryError
	switch limit := t.limits.exceeded(); {
	case errors.Is(context.Cause(t.ctx), engine.ErrTurnTimeout):
		return engine.Process{Status: engine.TimedOut, Code: fsm.CodeTurnTimeout,
			Detail: "the turn exceeded its time limit"}
	case errors.Is(broken, process.ErrFlood):
		return engine.Process{Status: engine.Failed, Code: fsm.CodeEngineFailed,
			Detail: fmt.Sprintf("the agent wrote more than %d bytes in one turn", t.cfg.MaxStream)}
	case t.ctx.Err() != nil || broken != nil:
		return engine.Process{Status: engine.Interrupted, Code: fsm.CodeTurnInterrupted,
			Detail: "the turn was interrupted"}
	case errors.As(end.err, &memory):
		return engine.Process{Status: engine.Failed, Code: fsm.CodeEngineFailed,
			Detail: "the agent was ended because of its memory: " + memory.Error()}
	case limit != nil && !errors.Is(limit, errLingering):
		return engine.Process{Status: engine.TimedOut, Code: fsm.CodeTurnTimeout, Detail: limit.Error()}
	}
	lingered := t.limits.exceeded() != nil
	stderr := process.ForPeople(end.stderr, 2000)
	var exit *exec.ExitError
	code := 0
	if !lingered && errors.As(end.err, &exit) { // the engine itself ended a lingering process
		code = exit.ExitCode()
	}
	switch {
	case t.evidence.sessionLost || t.resumeRefused(code, stderr):
		return engine.Process{Status: engine.Failed, Code: fsm.CodeSessionResumeFailed,
			Detail: "the agent cannot resume its session: " + t.failureText(stderr), ExitCode: code}
	case t.evidence.failed != nil:
		t.evidence.failed.ExitCode = code
		return *t.evidence.failed
	case t.evidence.ended && t.evidence.inputNotRead:
		return engine.Process{Status: engine.Failed, Code: fsm.CodeEngineFailed,
			Detail: "the agent ended its turn without reading its input", ExitCode: code}
	case lingered, t.evidence.ended && t.cfg.Resident:
		// The agent reported the end of its turn: later actions of its process do not belong to the
		// turn.
		return engine.Process{Status: engine.OK}
	case t.cfg.Resident && t.in.GoesOn() && !t.evidence.wrote:
		return engine.Process{Status: engine.Failed, Code: fsm.CodeInteractionProcessLost,
			Detail: "the resident process ended while the run waited: " + stderr, ExitCode: code}
	case end.err != nil && !errors.Is(end.err, exec.ErrWaitDelay):
		detail := "the agent's process ended with " + end.err.Error()
		if stderr != "" {
			detail += ": " + stderr
		}
		if process.Killed(end.err) { // killed from outside: interrupted, not failed
			return engine.Process{Status: engine.Interrupted, Code: fsm.CodeTurnInterrupted, Detail: detail,
				ExitCode: code}
		}
		return engine.Process{Status: engine.Failed, Code: fsm.CodeEngineFailed, Detail: detail, ExitCode: code}
	case t.cfg.Resident:
		return engine.Process{Status: engine.Failed, Code: fsm.CodeInteractionProcessLost,
			Detail: "the resident process ended during its turn: " + stderr}
	case !t.evidence.complete && t.cfg.saysComplete():
		return engine.Process{Status: engine.Failed, Code: fsm.CodeEngineFailed, Detail: "the agent's process ended " +
			"before its turn was complete: " + stderr}
	}
	return engine.Process{Status: engine.OK}
}

func (t *turn) resumeRefused(code int, stderr string) bool {
	if !t.resumed || code == 0 && t.evidence.failed == nil {
		return false
	}
	gone := t.cfg.ResumeFailed
	return slices.Contains(t.cfg.ResumeFailedStatus, code) ||
		gone != nil && (gone.MatchString(stderr) || t.evidence.failed != nil &&
			gone.MatchString(t.evidence.failed.Detail))
}

// failureText is the agent's reason for a failure: from a Failure rule, otherwise its error output.
func (t *turn) failureText(stderr string) string {
	if t.evidence.failed != nil && t.evidence.failed.Detail != "" {
		return process.Clip(t.evidence.failed.Detail, 2000)
	}
	return stderr
}

func (c Config) saysComplete() bool {
	return slices.ContainsFunc(c.Rules, func(r Rule) bool { return r.Do == Complete })
}

func (t *turn) redacted(o engine.Outcome) engine.Outcome {
	o.FinalText = process.Cut(t.secrets.String(o.FinalText), t.cfg.MaxOutput)
	o.Process.Detail = t.secrets.String(o.Process.Detail)
	for i := range o.Diagnostics {
		o.Diagnostics[i].Detail = t.secrets.String(o.Diagnostics[i].Detail)
	}
	return o
}

type errRedacted struct {
	text string
	err  error
}

func (e *errRedacted) Error() string { return e.text }

// Is compares with the cause. There is no Unwrap, because the cause's text contains the secret.
func (e *errRedacted) Is(target error) bool { return errors.Is(e.err, target) }

// redactError returns err with secrets removed from its text. An engine.Failure keeps its code.
func redactError(secrets *redact.Redactor, err error) error {
	if err == nil || secrets.String(err.Error()) == err.Error() {
		return err
	}
	var f *engine.Failure
	if errors.As(err, &f) {
		redacted := *f
		redacted.Detail, redacted.Err = secrets.String(f.Detail), redactError(secrets, f.Err)
		return &redacted
	}
	return &errRedacted{text: secrets.String(err.Error()), err: err}
}
