package acp

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/engine/transcript"
	"github.com/interlude-go/interlude/fsm"
)

// turn is one attempt. While it is attached to the agent, agent.handling guards the fields from
// state on; before and afterwards only RunTurn's goroutine uses them.
type turn struct {
	cfg        *Config
	agent      *agent
	parent     context.Context         //nolint:containedctx // a turn lives as long as its call; for the sink
	ctx        context.Context         //nolint:containedctx // ends with the turn's reason to stop
	halt       context.CancelCauseFunc // ends ctx
	in         engine.Turn
	sink       engine.Sink
	sticky     bool
	transcript *transcript.File
	timer      *process.TurnTimer

	state       state
	live        bool // messages belong to this turn; before, it replays its history
	replayed    bool // the agent replayed its history
	wrote       bool // the agent wrote something in this turn
	messages    messages
	tools       tools
	asked       []permissionQuestion // the permissions that the turn ends to ask for
	requests    []envelope           // the agent's open requests for these permissions
	out         engine.Outcome
	diagnostics process.Diagnostics
}

type errLimit struct{ what string }

func (e errLimit) Error() string { return "acp: " + e.what }

// startLimits starts the turn's context and limits; stop ends both.
func (t *turn) startLimits() (stop func()) {
	t.ctx, t.halt = context.WithCancelCause(t.parent)
	t.timer = process.StartTurnTimer(t.cfg.TurnLimit, t.cfg.IdleLimit, "no sign of work",
		func(what string) { t.halt(errLimit{what}) })
	return func() {
		t.halt(nil)
		t.timer.Stop()
	}
}

// pauseIdle pauses the idle timer while output is handled, so that a slow store does not count as
// an idle agent. restartIdle restarts it.
func (t *turn) pauseIdle() {
	if t != nil {
		t.timer.PauseIdle()
	}
}

func (t *turn) restartIdle() {
	if t != nil && t.ctx.Err() == nil {
		t.timer.RestartIdle()
	}
}

// diagnose adds a diagnostic; dropped between turns (nil t).
func (t *turn) diagnose(code fsm.Warning, detail string) {
	if t != nil {
		t.diagnostics.Add(code, detail)
	}
}

func (t *turn) validUTF8(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	if t == nil {
		return bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	return []byte(t.diagnostics.ValidUTF8(string(text)))
}

// sendInput sends the turn's input and waits until its prompt has ended. h is the permission
// request left open by the last turn, or nil.
func (t *turn) sendInput(h *waitingRequest) error {
	s, text := t.settle(), t.in.Input()
	if s != nil {
		text = s.text
	}
	if h != nil && s != nil && s.choice != nil && h.open() {
		return t.answerWaiting(h, *s.choice)
	}
	if s != nil {
		if err := t.store(); err != nil {
			return err
		}
	}
	if h != nil {
		if !h.dismiss(t.agent, t.cfg.Grace) {
			return errUnstopped
		}
		t.addUsage(h.prompt)
	}
	if err := t.skipHistory(); err != nil {
		return err
	}
	return t.awaitPrompt(t.agent.prompt(t.state.Session, escapeCommand(text)))
}

// escapeCommand keeps an agent from parsing a text as a slash command.
func escapeCommand(text string) string {
	if strings.HasPrefix(strings.TrimSpace(text), "/") {
		return "The input is this text, and no command:\n" + text
	}
	return text
}

// awaitPrompt waits until the prompt has ended or the turn must stop, and returns why.
func (t *turn) awaitPrompt(p *promptCall) error {
	select {
	case <-p.done:
	case <-t.ctx.Done():
	}
	why := context.Cause(t.ctx)
	switch {
	case why == nil && t.parkAsked(): // the agent gave up its requests before the cancel
		t.addUsage(p)
		return errAsked
	case why == nil:
		return t.addResult(p)
	case errors.Is(why, errWaiting):
		t.keepWaiting(p)
		return why
	case breaksConnection(why):
		return why
	case !errors.Is(why, errAsked): // an agent that asked is canceled already
		_ = t.agent.stop() // if this fails, the agent is ended after the grace
	}
	if !p.endsWithin(t.cfg.Grace) {
		return errors.Join(why, errUnstopped)
	}
	t.addUsage(p)
	if errors.Is(why, errAsked) && errors.Is(p.err, errEnded) {
		return errEnded
	}
	return why
}

func (t *turn) addResult(p *promptCall) error {
	if p.err != nil {
		return p.err
	}
	t.addUsage(p)
	t.agent.handling.Lock()
	defer t.agent.handling.Unlock()
	t.out.Output = t.structuredOutput(p.result)
	return p.result.endError()
}

// addUsage adds an ended prompt's tokens, also of a canceled one. A turn has two prompts if it
// first dismisses a waiting one.
func (t *turn) addUsage(p *promptCall) {
	if p.err != nil {
		return
	}
	t.agent.handling.Lock()
	defer t.agent.handling.Unlock()
	t.out.Usage = t.out.Usage.Add(p.result.usage())
}

var errUnstopped = errors.New("acp: the agent did not stop after a cancel")
