package eino

import (
	"context"
	"errors"
	"strings"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
)

// failure gives an error of a graph or agent its code: its own when it is a Failure of a node.
func failure(err error) error {
	var f *engine.Failure
	if errors.As(err, &f) {
		return err
	}
	return &engine.Failure{Code: fsm.CodeEngineFailed, Detail: "eino", Err: err, Transient: engine.PassingError(err)}
}

// failure is the failure of a graph or agent. If a resume failed before any node started, the
// checkpoint was unusable: the graph has changed, or a type is not registered. Eino has no types
// for these errors, hence the texts.
func (p *activeTurn) failure(err error) error {
	text := err.Error()
	unreadable := strings.Contains(text, "load checkpoint from store fail") || strings.Contains(text,
		"failed to load from checkpoint")
	changed := p.open != nil && !p.nodeStarted.Load() && strings.Contains(text, "[GraphRunError]")
	var f *engine.Failure
	if errors.As(err, &f) || !unreadable && !changed {
		return failure(err)
	}
	return &engine.Failure{
		Code: fsm.CodeSessionResumeFailed, Err: err,
		Detail: "the graph cannot continue from its checkpoint: give a graph that cannot read old checkpoints a new " +
			"revision",
	}
}

// interrupted is the failure of a turn whose context ended.
func interrupted(ctx context.Context, err error) error {
	code := fsm.CodeTurnInterrupted
	if errors.Is(context.Cause(ctx), engine.ErrTurnTimeout) {
		code = fsm.CodeTurnTimeout
	}
	return &engine.Failure{Code: code, Detail: "eino: the turn was ended", Err: err}
}
