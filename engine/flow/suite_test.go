package flow_test

import (
	"context"
	"testing"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/flow"
)

// scripted is the suite's agent as an ordinary function: each effect is a step, and it asks until
// no question is left.
func scripted() engine.Engine {
	return flow.New("scripted", func(c *flow.Ctx, prompt string) (any, error) {
		say := func(_ context.Context, text string) error { return c.Say(text) }
		do := func(_ context.Context, name string, effect func(context.Context) error) error {
			_, err := flow.Step(c, name, func(ctx context.Context) (struct{}, error) { return struct{}{}, effect(ctx) })
			return err
		}
		for inputs := []string{prompt}; ; {
			left, err := enginetest.PerformSteps(c.Context(), inputs, "", say, do)
			switch {
			case err != nil:
				return nil, err
			case left.Question == "" && left.Output != nil:
				return left.Output, nil
			case left.Question == "":
				return left.Text, nil
			}
			answer, err := flow.Ask[string](c, "next", ask(left.Question))
			if err != nil {
				return nil, err
			}
			inputs = append(inputs, answer)
		}
	})
}

// M1, M2, B1, B2, B4, B10, B11, D5, E2, E4, I2, I6, I11: a function with a journal passes the
// suite.
func TestM1AFunctionPassesTheSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Harness{Journal: true,
		New: func(testing.TB, string) engine.Engine { return scripted() }})
}
