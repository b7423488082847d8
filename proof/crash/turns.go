package crash

import (
	"context"
	"encoding/json"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
)

// asks returns a turn that asks the questions, one each time, and is done after the last.
func asks(prompts ...string) Turn {
	return func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		answered := 0
		if n := len(t.Answers); n > 0 {
			answered = t.Answers[n-1].ID
		}
		if answered < len(prompts) {
			o := engine.Ask(interaction.Question{Kind: interaction.OpenText, Prompt: prompts[answered]})
			o.FinalText = "I have a question."
			return o, nil
		}
		return engine.Done("The last answer was: " + t.Input()), nil
	}
}

// asksApproval returns a turn that asks whether a tool may be called, and is done when that is
// decided.
func asksApproval(tool string) Turn {
	return func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		if t.GoesOn() {
			return engine.Done("It was decided: " + t.Input()), nil
		}
		return engine.Ask(interaction.Question{Kind: interaction.Approval, Prompt: "May I?",
			Subject: &interaction.Subject{Tool: tool, Arguments: json.RawMessage(`{"to":"production"}`)}}), nil
	}
}

// asksUntil returns a turn that asks until it gets the answer.
func asksUntil(answer, prompt string) Turn {
	return func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
		if t.Input() == answer {
			return engine.Done("At last: " + answer), nil
		}
		return asks(prompt)(ctx, engine.Turn{}, s)
	}
}

// asksAll returns a turn that asks the questions at once, and is done after so many answers.
func asksAll(enough int, prompts ...string) Turn {
	return func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		if t.GoesOn() {
			return engine.Done("The answers were: " + t.Input()), nil
		}
		questions := make([]interaction.Question, len(prompts))
		for i := range prompts {
			questions[i] = interaction.Question{Kind: interaction.OpenText, Prompt: prompts[i]}
		}
		o := engine.AskAll(questions...)
		o.Rule.Answers = enough
		return o, nil
	}
}

// speaks reports its session and sends a message in the first turn, and then does the same as then.
func speaks(then Turn) Turn {
	return func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
		if t.Attempt == 1 && t.Repair == "" {
			if err := s.Session(ctx, engine.SessionHandle{Engine: "agent", Version: "1",
				Data: []byte("early")}); err != nil {
				return engine.Outcome{}, err
			}
			if err := s.Message(ctx, engine.Message{Text: "I am on it."}); err != nil {
				return engine.Outcome{}, err
			}
		}
		return then(ctx, t, s)
	}
}

// sticks ends its first turn only when it is canceled; a later turn does the same as then.
func sticks(then Turn) Turn {
	return speaks(func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
		if t.Attempt > 1 {
			return then(ctx, t, s)
		}
		<-ctx.Done()
		return engine.Outcome{}, context.Cause(ctx)
	})
}

// mends gives an invalid output, and a valid one in the repair round.
func mends(ctx context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	if t.Repair == "" {
		return engine.Output(map[string]any{"count": "many"})
	}
	return engine.Output(map[string]any{"count": 3})
}

// counts gives its output once it has the answer to the last question.
func counts(prompts ...string) Turn {
	return func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
		if len(t.Answers) == 0 || t.Answers[len(t.Answers)-1].ID < len(prompts) {
			return asks(prompts...)(ctx, t, s)
		}
		return engine.Output(map[string]any{"count": 7})
	}
}

// troubled is an agent whose model is overloaded in the second attempt, and which has the third one
// held.
func troubled(then Turn) Turn {
	return func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
		switch t.Attempt {
		case 2:
			return engine.Outcome{}, engine.Later(0, "overloaded")
		case 3:
			return unpaid(ctx, t, s)
		}
		return then(ctx, t, s)
	}
}

// unpaid is an agent that cannot execute a turn before it is paid.
func unpaid(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) {
	return engine.Outcome{}, engine.Hold(engine.CodeEngineFailed, "not paid")
}
