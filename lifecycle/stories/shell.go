package stories

import (
	"context"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/exec"
	"github.com/interlude-go/interlude/interaction"
)

// echo is an agent's command line that prints its arguments, and can be resumed.
const echo = `cat >/dev/null; printf '{"session":"s-1"}\n{"text":"I was called with %s"}\n' "$*"`

// shell is an engine of real processes, outside of the story's bubble, whose time waits for them.
type shell struct {
	*exec.Engine

	turns chan engine.Turn // made outside of the bubble, as is ends
	ends  chan shellEnd
}

type shellEnd struct {
	outcome engine.Outcome
	err     error
}

// newShell must be called outside of the bubble. The engine ends with the context.
func newShell(ctx context.Context, stateDir string) (*shell, error) {
	e, err := exec.New(exec.Config{
		Name: "shell", Command: "sh", StateDir: stateDir, Env: []string{"PATH"}, Stdin: "{input}",
		Args:       []string{"-c", echo, "agent", "--print", "{auto}"},
		ResumeArgs: []string{"-c", echo, "agent", "--print", "--resume", "{session}", "{auto}"},
		AutoArgs:   []string{"--full-auto"},
		Rules: []exec.Rule{{Match: map[string]string{"session?": ""}, Do: exec.Session, Path: "session"},
			{Match: map[string]string{"text?": ""}, Do: exec.Final, Path: "text"}},
	})
	if err != nil {
		return nil, err
	}
	s := &shell{Engine: e, turns: make(chan engine.Turn), ends: make(chan shellEnd)}
	go func() {
		defer close(s.ends)
		for t := range s.turns {
			o, err := e.RunTurn(ctx, t, discard{})
			s.ends <- shellEnd{o, err}
		}
	}()
	return s, nil
}

// RunTurn implements engine.Engine.
func (s *shell) RunTurn(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	s.turns <- t
	end := <-s.ends
	return end.outcome, end.err
}

// close ends the engine. No turn may be in progress.
func (s *shell) close() error {
	close(s.turns)
	<-s.ends
	return s.Close()
}

// discard is a sink outside of the bubble: what matters to a story is in the outcome.
type discard struct{}

func (discard) Message(context.Context, engine.Message) error       { return nil }
func (discard) Session(context.Context, engine.SessionHandle) error { return nil }
func (discard) Warn(context.Context, interaction.Diagnostic) error  { return nil }
