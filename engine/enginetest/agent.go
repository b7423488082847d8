package enginetest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest/script"
	"github.com/interlude-go/interlude/fsm"
)

// Agent returns the scripted agent as an in-process engine that keeps its inputs in memory. Its
// text is read like a model's.
func Agent() engine.Engine { return engine.Model(scripted(false)) }

// Plain returns Agent as plain code: a turn without a question completes its run.
func Plain() engine.Engine { return scripted(true) }

func scripted(plain bool) engine.Func {
	var mu sync.Mutex
	sessions := make(map[string][]string) // guarded by mu; the inputs of each session
	return func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
		id := rand.Text()
		if t.Session != nil {
			id = string(t.Session.Data)
		}
		mu.Lock()
		inputs, known := sessions[id]
		if t.Session != nil && !known {
			mu.Unlock()
			return engine.Outcome{}, &engine.Failure{Code: fsm.CodeSessionResumeFailed, Detail: "no session " + id}
		}
		inputs = append(append([]string(nil), inputs...), t.Input())
		sessions[id] = inputs
		mu.Unlock()

		h := engine.SessionHandle{Engine: "scripted", Version: "1", Data: []byte(id)}
		if err := s.Session(ctx, h); err != nil {
			return engine.Outcome{}, err
		}
		on := &inProcess{sink: s, plain: plain}
		on.o.Process.Status, on.o.Session = engine.OK, &h
		err := play(ctx, inputs, t.ArtifactDir, on)
		on.o.Done = plain && len(on.o.Questions) == 0
		return on.o, err
	}
}

type inProcess struct {
	sink  engine.Sink
	plain bool
	o     engine.Outcome
}

func (on *inProcess) say(ctx context.Context, text string) error {
	return on.sink.Message(ctx, engine.Message{Text: text})
}
func (on *inProcess) delta(text string)           { on.o.FinalText += text }
func (on *inProcess) final(text string)           { on.o.FinalText = text }
func (on *inProcess) output(body json.RawMessage) { on.o.Output = body }
func (on *inProcess) ask(question string) {
	if on.plain {
		on.o.Questions = []engine.Question{{Kind: engine.OpenText, Prompt: question}}
	} else {
		on.o.FinalText = script.Ask(question)
	}
}
func (on *inProcess) fail(text string) error {
	on.o.Process = engine.Process{Status: engine.Failed, Code: fsm.CodeEngineFailed, Detail: text}
	return nil
}
func (on *inProcess) do(ctx context.Context, name string, effect func(context.Context) error) error {
	return directly(ctx, name, effect)
}
func (on *inProcess) act(s Step) (bool, error) { return panics(s) }
