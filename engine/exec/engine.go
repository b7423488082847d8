package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
)

// Engine runs agents that are command lines. Use New. It is safe for concurrent use.
type Engine struct {
	cfg Config

	mu        sync.Mutex
	residents map[string]*resident              // guarded by mu; by run id
	onLoss    map[*func(string, error)]struct{} // guarded by mu; who wants to know of lost processes
}

var (
	_ engine.Engine   = (*Engine)(nil)
	_ engine.Resident = (*Engine)(nil)
	_ engine.Reaper   = (*Engine)(nil)
)

// New checks the configuration. The agent itself is looked for by Profile and at each turn.
func New(cfg Config) (*Engine, error) {
	cfg, err := cfg.checked()
	if err != nil {
		return nil, err
	}
	if !supported {
		return nil, errors.New("exec: child processes are not supported on this system: process groups and signals are needed")
	}
	return &Engine{cfg: cfg, residents: make(map[string]*resident), onLoss: make(map[*func(string, error)]struct{})}, nil
}

// Profile looks for the agent and says how it goes on after a wait.
func (e *Engine) Profile(context.Context) (engine.Profile, error) {
	path, err := exec.LookPath(e.cfg.Command)
	if err != nil {
		return engine.Profile{}, unavailable(err)
	}
	if e.cfg.Resident {
		return engine.Profile{Kind: fsm.ProfileStickyProcess, Reason: path + " is configured to stay resident"}, nil
	}
	return engine.Profile{Kind: fsm.ProfileResumable, Reason: path + " is configured to resume by its session id"}, nil
}

func unavailable(err error) error {
	return &engine.Failure{Code: fsm.CodeEngineUnavailable, Detail: "the agent's program cannot be started", Err: err}
}

// RunTurn executes one attempt.
func (e *Engine) RunTurn(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	if t.WorkDir == "" || t.TranscriptDir == "" {
		return engine.Outcome{}, &engine.Failure{
			Code: fsm.CodeEngineUnavailable, Detail: "an agent that is a child process needs folders: set lifecycle.Config.Dir",
		}
	}
	transcript, err := newTranscript(t.TranscriptDir, t.Attempt, "out", e.cfg.MaxTranscript)
	if err != nil {
		return engine.Outcome{}, err
	}
	defer transcript.close()
	r := &reading{cfg: &e.cfg, turn: t, sink: s, transcript: transcript, session: sessionOf(t.Handle)}
	if e.cfg.Resident {
		return e.residentTurn(ctx, r)
	}
	return e.singleTurn(ctx, r)
}

// singleTurn runs one process for the turn.
func (e *Engine) singleTurn(ctx context.Context, r *reading) (engine.Outcome, error) {
	errs, err := newTranscript(r.turn.TranscriptDir, r.turn.Attempt, "err", e.cfg.MaxTranscript)
	if err != nil {
		return engine.Outcome{}, err
	}
	defer errs.close()
	templates := e.cfg.Args
	if r.turn.Handle != nil && len(e.cfg.ResumeArgs) > 0 {
		templates, r.resumed = e.cfg.ResumeArgs, true
	}
	p, err := e.launch(r, templates, errs, false)
	if err != nil {
		return engine.Outcome{}, err
	}
	defer e.forget(r.turn.RunID)
	stop := r.bound(ctx, p)
	err = r.read(newLines(p.stdout, e.cfg.MaxLine))
	stop()
	if err != nil { // the sink refused, or the output cannot be read: nothing more is wanted of it
		p.end()
	}
	<-p.ended
	_ = p.stdout.Close()
	if ctx.Err() != nil || r.limit() != nil {
		p.end() // also what left the group
	}
	return r.outcome(ctx, p, err)
}

// launch starts the agent with what is remembered for a later host.
func (e *Engine) launch(r *reading, templates []string, errs *transcript, channel bool) (*process, error) {
	values := r.values()
	rec := record{RunID: r.turn.RunID, Token: newToken()}
	if err := e.remember(rec); err != nil {
		return nil, err
	}
	var input *textInput
	if !channel && e.cfg.Stdin != "" {
		input = newTextInput(expand(e.cfg.Stdin, e.quoted(values)))
	}
	p, err := e.start(e.cfg.arguments(templates, values, r.turn.Mode), e.environment(values, rec), r.turn.WorkDir, input.reader(), channel, rec.Token, errs)
	if err != nil {
		e.forget(r.turn.RunID)
		return nil, unavailable(err)
	}
	rec.Identity = p.identity()
	if err := e.remember(rec); err != nil {
		p.end()
		return nil, err
	}
	return p, nil
}

// environment is all that the agent sees: what is allowed, what is set, and the marks of its run.
func (e *Engine) environment(values map[string]string, rec record) []string {
	env := make([]string, 0, len(e.cfg.Env)+len(e.cfg.Set)+2)
	for _, name := range e.cfg.Env {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	for name, v := range e.cfg.Set {
		env = append(env, name+"="+expand(v, values))
	}
	return append(env, envRun+"="+rec.RunID, envToken+"="+rec.Token)
}

// quoted are the values as they are put into Stdin.
func (e *Engine) quoted(values map[string]string) map[string]string {
	if !e.cfg.StdinJSON {
		return values
	}
	quoted := make(map[string]string, len(values))
	for name, v := range values {
		body, _ := json.Marshal(v) // a string can be encoded
		quoted[name] = string(body)
	}
	return quoted
}

// Reap ends the processes that a dead host left for the run. They are known by the token in their environment, which
// nobody can guess; on systems where it cannot be read, by the identity of the process alone.
func (e *Engine) Reap(_ context.Context, runID string) error {
	rec, ok, err := e.recall(runID)
	if err != nil || !ok {
		return err
	}
	if !sweep(rec.Token) && alive(rec.Identity) {
		return fmt.Errorf("exec: processes of run %s are still alive", runID)
	}
	e.forget(runID)
	return nil
}
