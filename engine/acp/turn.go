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

// turn is one attempt. What the agent's lines change is changed under agent.hear; when the turn is
// detached, it belongs to RunTurn.
type turn struct {
	cfg        *Config
	agent      *agent
	parent     context.Context //nolint:containedctx // a turn lives as long as its call; for the sink
	ctx        context.Context //nolint:containedctx // ends with the turn's reason to stop
	halt       context.CancelCauseFunc
	in         engine.Turn
	sink       engine.Sink
	sticky     bool
	transcript *transcript.File
	timer      *process.TurnTimer

	state    state
	speaking bool // what the agent says is the turn's: its history has been replayed
	replayed bool // the agent told its history
	heard    bool // the agent wrote something in this turn
	messages messages
	tools    tools
	asked    *asked
	out      engine.Outcome
	odd      process.Diagnostics
}

// errLimit is why the engine itself ended a turn.
type errLimit struct{ what string }

func (e errLimit) Error() string { return "acp: " + e.what }

// bound gives the turn its context and its limits, until the function that it returns is called.
func (t *turn) bound() (stop func()) {
	t.ctx, t.halt = context.WithCancelCause(t.parent)
	t.timer = process.StartTurnTimer(t.cfg.TurnLimit, t.cfg.IdleLimit, "no sign of work",
		func(what string) { t.halt(errLimit{what}) })
	return func() {
		t.halt(nil)
		t.timer.Stop()
	}
}

// rest stops the idle clock while a sign of work is dealt with: a slow store is not an idle agent.
// wake sets it again.
func (t *turn) rest() {
	if t != nil {
		t.timer.PauseIdle()
	}
}

func (t *turn) wake() {
	if t != nil && t.ctx.Err() == nil {
		t.timer.RestartIdle()
	}
}

// diagnose notes an oddity. Between turns nobody is told.
func (t *turn) diagnose(code fsm.Warning, detail string) {
	if t != nil {
		t.odd.Add(code, detail)
	}
}

// valid replaces invalid UTF-8, with a diagnostic.
func (t *turn) valid(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	if t == nil {
		return bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	return []byte(t.odd.ValidUTF8(string(text)))
}

// goOn gives the agent the turn's input, and waits for what comes of it. h is the permission
// request that stayed open since the last turn, nil when there is none.
func (t *turn) goOn(h *held) error {
	s, text := t.settle(), t.in.Input()
	if s != nil {
		text = s.text
	}
	if h != nil && s != nil && s.choice != nil && h.open() {
		return t.release(h, *s.choice)
	}
	if s != nil {
		if err := t.store(); err != nil {
			return err
		}
	}
	if h != nil && !h.dismiss(t.agent, t.cfg.Grace) {
		return errUnstopped
	}
	if err := t.listen(); err != nil {
		return err
	}
	return t.converse(t.agent.prompt(t.state.Session, plain(text)))
}

// plain is an input that no agent takes for one of its own commands, which begin with a slash: what
// a person answers is text.
func plain(text string) string {
	if strings.HasPrefix(strings.TrimSpace(text), "/") {
		return "The input is this text, and no command:\n" + text
	}
	return text
}

// converse waits for the end of a prompt, or for a reason to stop waiting. Its error is that of the
// prompt, or the reason.
func (t *turn) converse(p *prompting) error {
	select {
	case <-p.done:
	case <-t.ctx.Done():
	}
	why := context.Cause(t.ctx)
	switch {
	case why == nil:
		return t.ended(p)
	case errors.Is(why, errHeld):
		t.hold(p)
		return why
	case spoiled(why):
		return why
	case !errors.Is(why, errAsked): // when it asked, the agent was told at once
		_ = t.agent.stop() // an agent that does not read is ended soon
	}
	if !p.within(t.cfg.Grace) {
		return errors.Join(why, errUnstopped)
	}
	if errors.Is(why, errAsked) && errors.Is(p.err, errGone) {
		return errGone
	}
	return why
}

// ended takes what the prompt ended with.
func (t *turn) ended(p *prompting) error {
	if p.err != nil {
		return p.err
	}
	t.agent.hear.Lock()
	defer t.agent.hear.Unlock()
	t.out.Usage = p.result.usage()
	t.out.Output = t.structured(p.result)
	return p.result.verdict()
}

// errUnstopped says that the agent did not stop its work when it was told to.
var errUnstopped = errors.New("acp: the agent did not stop when it was told to")
