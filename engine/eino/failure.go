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
	code := fsm.CodeEngineFailed
	// Eino has no type for a checkpoint that it cannot read: of a graph that was changed, or with a type that is not registered.
	if strings.Contains(err.Error(), "load checkpoint from store fail") || strings.Contains(err.Error(), "failed to load from checkpoint") {
		code = fsm.CodeSessionResumeFailed
	}
	return &engine.Failure{Code: code, Detail: "eino", Err: err}
}

// interrupted is the failure of a turn whose context ended.
func interrupted(ctx context.Context, err error) error {
	code := fsm.CodeTurnInterrupted
	if errors.Is(context.Cause(ctx), engine.ErrTurnTimeout) {
		code = fsm.CodeTurnTimeout
	}
	return &engine.Failure{Code: code, Detail: "eino: the turn was ended", Err: err}
}
