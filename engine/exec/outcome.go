package exec

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/fsm"
)

// ending is how the turn's process stands when its output has been read.
type ending struct {
	err    error  // of its end; nil also for a resident one that lives
	stderr string // the end of its error output
}

func endingOf(p *process.Process) ending {
	if p.Running() {
		return ending{stderr: p.ErrorText()}
	}
	return ending{err: p.Err(), stderr: p.ErrorText()}
}

// outcome is the evidence of the turn. broken is why reading ended early: the sink's error, or a
// flood.
func (r *reading) outcome(ctx context.Context, end ending, broken error) (engine.Outcome, error) {
	if r.odd > maxOdd {
		r.out.Diagnostics = append(r.out.Diagnostics, engine.Diagnostic{
			Code: fsm.WarnEngineDiagnostic, Detail: fmt.Sprintf("%d more oddities of the output are not listed",
				r.odd-maxOdd),
		})
	}
	if errors.Is(broken, errOtherSession) {
		broken = nil // r.lost says it
	}
	if broken == nil && r.final != nil {
		broken = r.flush()
	}
	o := r.out
	o.Handle = r.handle()
	switch {
	case r.final != nil:
		o.FinalText, o.FinalRef = *r.final, r.ref
		if r.held != nil && r.held.Text != *r.final && broken == nil {
			broken = r.sink.Message(r.ctx, *r.held)
		}
	case r.delta.Len() > 0:
		if r.held != nil && broken == nil {
			broken = r.sink.Message(r.ctx, *r.held)
		}
		o.FinalText = r.pieces()
	case r.held != nil:
		o.FinalText, o.FinalRef = r.held.Text, r.held.RawRef
	}
	if errors.Is(broken, errFlood) {
		o.Diagnostics = append(o.Diagnostics, engine.Diagnostic{Code: fsm.WarnEngineOutputTruncated,
			Detail: broken.Error()})
	} else if broken != nil && !errors.Is(broken, engine.ErrStale) && ctx.Err() == nil {
		return o, broken
	}
	o.Process = r.process(ctx, end, broken)
	return o, nil
}

// process says how the turn's process ended.
func (r *reading) process(ctx context.Context, end ending, broken error) engine.Process {
	var memory *process.MemoryError
	switch limit := r.limit(); {
	case errors.Is(context.Cause(ctx), engine.ErrTurnTimeout):
		return engine.Process{Status: engine.TimedOut, Code: fsm.CodeTurnTimeout,
			Detail: "the turn exceeded its time limit"}
	case errors.Is(broken, errFlood):
		return engine.Process{Status: engine.Failed, Code: fsm.CodeEngineFailed,
			Detail: fmt.Sprintf("the agent wrote more than %d bytes in one turn", r.cfg.MaxStream)}
	case ctx.Err() != nil || broken != nil:
		return engine.Process{Status: engine.Interrupted, Code: fsm.CodeTurnInterrupted,
			Detail: "the turn was interrupted"}
	case errors.As(end.err, &memory):
		return engine.Process{Status: engine.Failed, Code: fsm.CodeEngineFailed,
			Detail: "the agent was ended because of its memory: " + memory.Error()}
	case limit != nil && !errors.Is(limit, errLingers):
		return engine.Process{Status: engine.TimedOut, Code: fsm.CodeTurnTimeout, Detail: limit.Error()}
	}
	lingered := r.limit() != nil
	stderr := clip(strings.ToValidUTF8(strings.TrimSpace(end.stderr), "\uFFFD"), 2000)
	var exit *exec.ExitError
	code := 0
	if !lingered && errors.As(end.err, &exit) { // the end of one that lingered was the engine's
		code = exit.ExitCode()
	}
	switch {
	case r.lost || r.refusedToResume(code, stderr):
		return engine.Process{Status: engine.Failed, Code: fsm.CodeSessionResumeFailed,
			Detail: "the agent cannot resume its session: " + r.why(stderr), ExitCode: code}
	case r.failed != nil:
		r.failed.ExitCode = code
		return *r.failed
	case r.ended && r.untaken:
		return engine.Process{Status: engine.Failed, Code: fsm.CodeEngineFailed,
			Detail: "the agent ended its turn without taking its input", ExitCode: code}
	case lingered, r.ended && r.cfg.Resident:
		// its turn is over by its own word; what its process does then is not the turn's
		return engine.Process{Status: engine.OK}
	case r.cfg.Resident && r.turn.GoesOn() && !r.heard:
		return engine.Process{Status: engine.Failed, Code: fsm.CodeInteractionProcessLost,
			Detail: "the resident process ended while the run waited: " + stderr, ExitCode: code}
	case end.err != nil && !errors.Is(end.err, exec.ErrWaitDelay):
		detail := "the agent's process ended with " + end.err.Error()
		if stderr != "" {
			detail += ": " + stderr
		}
		if process.Killed(end.err) { // somebody ended it, not its work
			return engine.Process{Status: engine.Interrupted, Code: fsm.CodeTurnInterrupted, Detail: detail,
				ExitCode: code}
		}
		return engine.Process{Status: engine.Failed, Code: fsm.CodeEngineFailed, Detail: detail, ExitCode: code}
	case r.cfg.Resident:
		return engine.Process{Status: engine.Failed, Code: fsm.CodeInteractionProcessLost,
			Detail: "the resident process ended during its turn: " + stderr}
	case !r.complete && r.cfg.completes():
		return engine.Process{Status: engine.Failed, Code: fsm.CodeEngineFailed, Detail: "the agent's process ended " +
			"before its turn was complete: " + stderr}
	}
	return engine.Process{Status: engine.OK}
}

// refusedToResume reports whether a resumed turn failed because its session is gone.
func (r *reading) refusedToResume(code int, stderr string) bool {
	if !r.resumed || code == 0 && r.failed == nil {
		return false
	}
	gone := r.cfg.ResumeFailed
	return slices.Contains(r.cfg.ResumeFailedStatus, code) ||
		gone != nil && (gone.MatchString(stderr) || r.failed != nil && gone.MatchString(r.failed.Detail))
}

// why is the agent's own reason of a failure: its failure line, otherwise its error output.
func (r *reading) why(stderr string) string {
	if r.failed != nil && r.failed.Detail != "" {
		return clip(r.failed.Detail, 2000)
	}
	return stderr
}

// completes reports whether the agent says that a turn is complete.
func (c Config) completes() bool {
	return slices.ContainsFunc(c.Rules, func(r Rule) bool { return r.Do == Complete })
}
