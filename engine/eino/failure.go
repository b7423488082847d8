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
	return &engine.Failure{Code: fsm.CodeEngineFailed, Detail: "eino", Err: err}
}

// failure is that of a graph or agent. One that fails before any of its nodes has begun could not
// go on from its checkpoint: the checkpoint is of a graph that was changed, or has a type that is
// not registered. Eino has no types for these errors.
func (p *play) failure(err error) error {
	text := err.Error()
	unread := strings.Contains(text, "load checkpoint from store fail") || strings.Contains(text,
		"failed to load from checkpoint")
	changed := p.open != nil && !p.begun.Load() && strings.Contains(text, "[GraphRunError]")
	var f *engine.Failure
	if errors.As(err, &f) || !unread && !changed {
		return failure(err)
	}
	return &engine.Failure{
		Code: fsm.CodeSessionResumeFailed, Err: err,
		Detail: "the graph cannot go on from its checkpoint: raise Config.Revision when a graph changes so that old " +
			"checkpoints do not fit",
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
