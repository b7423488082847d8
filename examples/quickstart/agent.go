package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/interlude-go/interlude/engine"
)

// questions are the agent's questions, one per turn, with its own decision for a timeout.
var questions = []struct {
	title, own string
	engine.Question
}{
	{"Place", "garden", engine.Question{
		Kind: engine.ChooseOne, Prompt: "Where shall the party be?",
		Options: []engine.Option{{Label: "In the garden", Value: "garden"}, {Label: "On the roof", Value: "roof"}},
	}},
	{"Music", "no", engine.Question{Kind: engine.Confirm, Prompt: "Shall there be live music?"}},
	{"Wish", "lanterns", engine.Question{Kind: engine.OpenText, Prompt: "What must not be missing?"}},
}

// planner is the agent: Go code that executes one turn per call, today or on another day in another
// process. It could also be a command line, or a graph around a model: see docs/engines.
//
// It takes the answer, and returns the next question or the plan. Its memory is its session handle,
// which is stored in the same commit as the question.
func planner(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	var answers []string
	if t.Session != nil {
		if err := json.Unmarshal(t.Session.Data, &answers); err != nil {
			return engine.Outcome{}, err
		}
	}
	for _, a := range t.Answers {
		if a.Auto != nil { // the deadline has passed
			a.Text = questions[len(answers)].own
		}
		answers = append(answers, a.Text)
	}
	if len(answers) == len(questions) {
		plan := make([]string, len(questions))
		for i, q := range questions {
			plan[i] = fmt.Sprintf("%-6s %s", q.title, answers[i])
		}
		return engine.Done(strings.Join(plan, "\n")), nil
	}
	progress := fmt.Sprintf("Planning the party: question %d of %d.", len(answers)+1, len(questions))
	if err := s.Message(ctx, engine.Message{Text: progress}); err != nil {
		return engine.Outcome{}, err
	}
	memory, err := json.Marshal(answers)
	outcome := engine.Ask(questions[len(answers)].Question)
	outcome.Session = &engine.SessionHandle{Engine: "planner", Data: memory}
	return outcome, err
}
