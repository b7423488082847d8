package acp

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// ending says why and how a turn ended.
type ending struct {
	why    error // nil if the agent finished its turn
	exit   error // how the process ended, if died
	died   bool  // the process ended by itself, before the turn
	stderr string
}

// endSingle ends a single-turn process. After a successful turn the agent gets time to close its
// session.
func (t *turn) endSingle(why error) ending {
	a := t.agent
	end := ending{why: why}
	switch {
	case errors.Is(why, errEnded): // the process is exiting: its exit status has more detail
		patience := time.NewTimer(t.cfg.Grace)
		defer patience.Stop()
		select {
		case <-a.Ended():
			end.died, end.exit = true, a.Err()
		case <-patience.C:
		case <-t.ctx.Done():
		}
		a.End()
	case isReusable(why):
		a.closeInput()
	default:
		a.End()
	}
	end.stderr = a.errorOutput()
	return end
}

func (t *turn) endResident(why error) ending {
	if errors.Is(why, errEnded) {
		return t.endSingle(why)
	}
	t.agent.End()
	return ending{why: why, stderr: t.agent.errorOutput()}
}

// isReusable reports whether the agent can be used for another turn after this one.
func isReusable(why error) bool {
	var said *sdk.RequestError
	var stop errStopped
	switch {
	case errors.Is(why, errUnstopped):
		return false
	case why == nil, errors.Is(why, errAsked), errors.Is(why, errWaiting):
		return true
	}
	return errors.As(why, &said) || errors.As(why, &stop)
}

func (t *turn) outcome(end ending) (engine.Outcome, error) {
	o := &t.out
	o.Diagnostics = t.diagnostics.List()
	asking := errors.Is(end.why, errAsked) || errors.Is(end.why, errWaiting)
	if !asking {
		t.asked, o.Questions = nil, nil
	}
	if err := t.conclude(asking); err != nil && (end.why == nil || asking) {
		end.why = err
	}
	if errors.Is(end.why, process.ErrFlood) {
		o.Diagnostics = append(o.Diagnostics, interaction.Diagnostic{Code: fsm.WarnEngineOutputTruncated,
			Detail: "acp: " + process.ErrFlood.Error()})
	}
	t.state.setAsked(t.asked)
	o.Session = t.handle()
	var failure *engine.Failure
	switch {
	case t.parent.Err() != nil:
	case errors.As(end.why, &failure):
		return *o, failure
	case !errors.Is(end.why, engine.ErrStale) && isHostError(end.why):
		return *o, end.why
	}
	o.Process = t.process(end)
	o.Process.Transient = o.Process.Status == engine.Failed && o.Process.Code == fsm.CodeEngineFailed &&
		engine.PassingText(o.Process.Detail)
	if o.Process.Status != engine.OK {
		o.Questions = nil
	}
	return *o, nil
}

// conclude stores the remaining messages. The last one is the final text, unless the turn asks a
// question: then it is stored too, and there is no final text.
func (t *turn) conclude(asking bool) error {
	storeMessage := func(m engine.Message) error {
		m.Text = t.agent.redacted(m.Text)
		return t.sink.Message(t.parent, m)
	}
	err := t.messages.end(storeMessage)
	last := t.messages.final()
	switch {
	case last == nil:
	case asking && err == nil:
		err = storeMessage(*last)
	default:
		t.out.FinalText, t.out.FinalRef = t.agent.redacted(last.Text), last.RawRef
	}
	return err
}

// isHostError reports whether the error is the host's, for example of its store, not the agent's.
func isHostError(err error) bool {
	var said *sdk.RequestError
	var limit errLimit
	var stop errStopped
	if err == nil || breaksConnection(err) || errors.As(err, &said) || errors.As(err, &limit) || errors.As(err, &stop) {
		return false
	}
	for _, known := range []error{errEnded, errAsked, errWaiting, errStart, errUnstopped} {
		if errors.Is(err, known) {
			return false
		}
	}
	return true
}

func (t *turn) process(end ending) engine.Process {
	failed := func(detail string) engine.Process {
		return engine.Process{Status: engine.Failed, Code: fsm.CodeEngineFailed, Detail: t.agent.redacted(detail)}
	}
	var limit errLimit
	var stop errStopped
	switch why := end.why; {
	case errors.Is(context.Cause(t.parent), engine.ErrTurnTimeout):
		return engine.Process{Status: engine.TimedOut, Code: fsm.CodeTurnTimeout,
			Detail: "the turn exceeded its time limit"}
	case t.parent.Err() != nil, errors.Is(why, engine.ErrStale):
		return engine.Process{Status: engine.Interrupted, Code: fsm.CodeTurnInterrupted,
			Detail: "the turn was interrupted"}
	case errors.Is(why, process.ErrFlood):
		return failed(fmt.Sprintf("the agent wrote more than %d bytes in one turn", t.cfg.MaxStream))
	case breaksConnection(why):
		return failed(why.Error())
	case errors.As(why, &limit):
		return engine.Process{Status: engine.TimedOut, Code: fsm.CodeTurnTimeout, Detail: limit.Error()}
	case errors.Is(why, errStart):
		return engine.Process{Status: engine.Failed, Code: fsm.CodeEngineUnavailable, Detail: errStart.Error() + ": " +
			end.stderr}
	case errors.Is(why, errUnstopped) && (t.sticky || !errors.Is(why, errAsked)):
		return failed(why.Error())
	case errors.Is(why, errEnded):
		return t.processDied(end)
	case errors.As(why, &stop) && stop.reason == sdk.StopReasonCancelled:
		return engine.Process{Status: engine.Interrupted, Code: fsm.CodeTurnInterrupted, Detail: stop.Error()}
	case errors.As(why, &stop):
		return failed(stop.Error())
	case why != nil && !errors.Is(why, errAsked) && !errors.Is(why, errWaiting):
		return failed("the agent failed: " + describe(why))
	}
	return engine.Process{Status: engine.OK}
}

func (t *turn) processDied(end ending) engine.Process {
	p := engine.Process{Status: engine.Failed, Code: fsm.CodeEngineFailed, Detail: "the agent ended in the middle of " +
		"its turn"}
	if !end.died {
		p.Detail = "the agent closed its output in the middle of its turn"
	}
	var exit *exec.ExitError
	if errors.As(end.exit, &exit) {
		p.ExitCode = exit.ExitCode()
	}
	if end.exit != nil {
		p.Detail += ": " + end.exit.Error()
	}
	if end.stderr != "" {
		p.Detail += ": " + end.stderr
	}
	switch {
	case t.sticky && t.in.GoesOn() && !t.wrote:
		p.Code = fsm.CodeInteractionProcessLost
	case process.Killed(end.exit): // killed from outside: interrupted, not failed
		p.Status, p.Code = engine.Interrupted, fsm.CodeTurnInterrupted
	case t.agent.announced.ProtocolVersion == 0:
		p.Code = fsm.CodeEngineUnavailable
	}
	return p
}
