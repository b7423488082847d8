package main

import (
	"context"
	"encoding/json"
	"os"

	"github.com/interlude-go/interlude/engine"
)

const demo = "demo"

// demoAgent is an agent in this process. Its memory is its session handle.
func demoAgent(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	a := act{alone: t.Mode == engine.Auto, folder: t.ArtifactDir, schema: t.OutputSchema}
	if t.Session != nil {
		if err := json.Unmarshal(t.Session.Data, &a.given); err != nil {
			return engine.Outcome{}, &engine.Failure{Code: engine.CodeSessionResumeFailed,
				Detail: "the session cannot be read", Err: err}
		}
	}
	for _, answer := range t.Answers {
		a.given = append(a.given, answer.Text)
	}
	if err := s.Message(ctx, engine.Message{Text: a.remark()}); err != nil {
		return engine.Outcome{}, err
	}
	o, err := a.play()
	if err != nil {
		return o, err
	}
	memory, err := json.Marshal(a.given)
	o.Session = &engine.SessionHandle{Engine: demo, Data: memory}
	return o, err
}

func (a act) play() (engine.Outcome, error) {
	if q := a.next(); q != nil {
		return engine.Ask(*q), nil
	}
	if file := a.file(); file != "" {
		if err := os.WriteFile(file, []byte(a.greeting()+"\n"), 0o600); err != nil {
			return engine.Outcome{}, err
		}
	}
	output, err := a.output()
	if err != nil {
		return engine.Outcome{}, err
	}
	o := engine.Done(a.greeting())
	o.Output = output
	return o, nil
}
