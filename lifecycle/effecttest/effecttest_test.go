package effecttest_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle/effecttest"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// C5 C8 I1 I9 J6: a function has one effect for each accepted answer.
func TestAFunctionPassesTheSuite(t *testing.T) {
	effecttest.Run(t, effecttest.Harness{
		Open: func(*testing.T) func() store.Store {
			s := memory.New()
			return func() store.Store { return s }
		},
		Agent: func(*testing.T) (func() engine.Engine, func() int) {
			var paid atomic.Int64
			pay := engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
				if !t.GoesOn() {
					return engine.Ask(engine.Question{Kind: engine.OpenText, Prompt: "Pay?"}), nil
				}
				if t.Input() == "yes" {
					paid.Add(1)
				}
				return engine.Done("done"), nil
			})
			return func() engine.Engine { return pay }, func() int { return int(paid.Load()) }
		},
		Prompt: "Pay.",
	})
}
