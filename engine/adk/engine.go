package adk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/approval"
	"github.com/interlude-go/interlude/engine/checkpoint"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// Engine runs the turns of one agent. It is safe for concurrent use by different runs.
type Engine struct {
	checkpoint.Resumable // its Check does not look into the host's own service: the turn does

	cfg      Config
	newAgent func(context.Context) (agent.Agent, error)
	versions checkpoint.Sessions
}

var (
	_ engine.Engine   = (*Engine)(nil)
	_ engine.Checker  = (*Engine)(nil)
	_ engine.Brancher = (*Engine)(nil)
)

// New returns an engine of an agent or workflow. newAgent makes the root agent for each turn: ADK's
// runner sets up an agent on its first run, so one agent must not begin to run twice concurrently.
// Models, tools and toolsets may be shared.
func New(newAgent func(context.Context) (agent.Agent, error), cfg Config) (*Engine, error) {
	if newAgent == nil {
		return nil, errors.New("adk: the function that makes the agent is nil")
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg, newAgent: newAgent, versions: cfg.versions()}
	e.Resumable = e.versions.Resumable("an agent of ADK in this process is resumed from its session", e.branched)
	return e, nil
}

// branched is the version for a fork, with its own copy of a session in the host's service.
func (e *Engine) branched(ctx context.Context, t engine.Turn, body []byte) ([]byte, error) {
	k, err := readSession(body)
	if err != nil {
		return nil, err
	}
	if err := checkpoint.CheckReply(t, k.waits()); err != nil || k.Session == "" {
		return body, err
	}
	if err := e.copySession(ctx, t, k); err != nil {
		return nil, err
	}
	return json.Marshal(k)
}

// RunTurn runs the agent until it waits or ends. All its interrupts are asked together, and it
// continues when all are answered. If an answer is unclear, or questions exceeded the limits, the
// turn only stores the answers and asks for the rest. The outcome has the tokens of its models,
// also with an error.
func (e *Engine) RunTurn(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	if ctx.Err() != nil {
		return engine.Outcome{}, interrupted(ctx, context.Cause(ctx))
	}
	body, err := e.versions.Load(ctx, t)
	if err != nil {
		return engine.Outcome{}, err
	}
	before, err := readSession(body)
	if err != nil {
		return engine.Outcome{}, err
	}
	e.deleteOldSession(ctx, before)
	if err := e.storeFirstHandle(ctx, t, s); err != nil {
		return engine.Outcome{}, err
	}
	if before.waits() {
		if err := e.applyAnswers(ctx, t, before); err != nil {
			return engine.Outcome{}, failure(err)
		}
		if before.waits() {
			return e.ask(ctx, t, before)
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := &activeTurn{turn: t, sink: s, cancel: cancel}
	o, err := e.runActive(ctx, p, before)
	o.Usage = p.usage
	return o, err
}

// runActive runs the agent. The outcome is without its usage.
func (e *Engine) runActive(ctx context.Context, p *activeTurn, before *savedSession) (engine.Outcome, error) {
	after, err := e.runAgent(context.WithValue(ctx, turnKey{}, p), p, before)
	// The result is too late: the run may belong to another attempt.
	if cause := context.Cause(ctx); cause != nil {
		return engine.Outcome{}, interrupted(ctx, errors.Join(cause, err))
	}
	if err != nil {
		return engine.Outcome{}, failure(err)
	}
	return e.outcome(ctx, p, after)
}

func (e *Engine) storeFirstHandle(ctx context.Context, t engine.Turn, s engine.Sink) error {
	if t.Session != nil {
		return nil
	}
	h, err := e.versions.Fresh(t)
	if err != nil {
		return err
	}
	return s.Session(ctx, h)
}

// applyAnswers stores the responses of the turn's answers to the pending calls. Calls with a
// missing or unclear answer stay without a response, so nothing is executed.
func (e *Engine) applyAnswers(ctx context.Context, t engine.Turn, k *savedSession) error {
	if len(t.Answers) == 0 {
		return errNoAnswer
	}
	for _, answer := range t.Answers {
		if !answer.Answered() {
			continue
		}
		o, err := k.callOf(answer)
		if err != nil {
			return err
		}
		err = e.applyAnswer(ctx, t, o, answer)
		var need *Unclear
		switch {
		case errors.As(err, &need):
			o.Need = need.Need
		case err != nil:
			return err
		}
	}
	return nil
}

func (e *Engine) applyAnswer(ctx context.Context, t engine.Turn, o *pendingCall, answer engine.Answer) error {
	if answer.Digest != "" && answer.Digest != o.asked().Digest() {
		return o.anotherCall()
	}
	response, err := e.cfg.Reply(ctx, o.Interrupt, answer)
	if err != nil {
		return fmt.Errorf("the answer cannot be used: %w", err)
	}
	if response["confirmed"] == true && o.Document != nil && !o.Document.Intact(t.ArtifactDir) {
		return &Unclear{Need: "The artifact " + o.Document.Name + " is not as it was when this was asked, so it can " +
			"only be refused: please answer no."}
	}
	if err := o.decide(answer); err != nil {
		return err
	}
	if response == nil {
		response = map[string]any{}
	}
	o.Response = response
	return nil
}

// runInput is the agent's input: responses to its pending calls, or a text.
func runInput(t engine.Turn, k *savedSession) *genai.Content {
	if len(k.Open) == 0 {
		return genai.NewContentFromText(t.Input(), genai.RoleUser)
	}
	c := &genai.Content{Role: genai.RoleUser}
	for _, o := range k.Open {
		c.Parts = append(c.Parts, &genai.Part{
			FunctionResponse: &genai.FunctionResponse{ID: o.ID, Name: o.function(), Response: o.Response},
		})
	}
	return c
}

func (e *Engine) outcome(ctx context.Context, p *activeTurn, after *savedSession) (engine.Outcome, error) {
	if len(after.Open) == 0 {
		return e.ends(ctx, p, after)
	}
	if p.turn.Mode == fsm.ModeAuto {
		return engine.Outcome{}, &engine.Failure{
			Code: fsm.CodeEngineFailed, Detail: "the agent waits for a " + string(after.Open[0].Kind) +
				", but an automatic run asks no one",
		}
	}
	for i := range after.Open {
		o := &after.Open[i]
		asked := e.cfg.Question(o.Interrupt)
		if err := engine.ValidateQuestion(asked); err != nil {
			return engine.Outcome{}, err
		}
		q, document, err := approval.Fit(asked, p.turn.ArtifactDir, fmt.Sprintf("question-%d",
			p.turn.Attempt))
		if err != nil {
			return engine.Outcome{}, failure(fmt.Errorf("the arguments are too long to show, so the call cannot be "+
				"approved: configure a folder for runs: %w", err))
		}
		if q.Ref = ""; len(after.Open) > 1 || q.Subject != nil {
			q.Ref = approval.Ref(o.ID)
		}
		o.Document = document
		o.Question, _ = interaction.Normalize(q)
	}
	return e.ask(ctx, p.turn, after)
}

func (e *Engine) ends(ctx context.Context, p *activeTurn, after *savedSession) (engine.Outcome, error) {
	o := engine.Say(p.text())
	if e.cfg.Ends == EndsRun {
		o = engine.Done(p.text())
	}
	o.Output = p.output
	if e.cfg.Ends == EndsRun {
		return o, nil // no session to continue
	}
	return e.save(ctx, p.turn, o, after)
}

// ask asks about all calls without a response. Of calls with equal Refs only the first is asked, so
// that no answer can apply to another call.
func (e *Engine) ask(ctx context.Context, t engine.Turn, k *savedSession) (engine.Outcome, error) {
	var questions []interaction.Question
	refs := make(map[string]bool)
	for i := range k.Open {
		o := &k.Open[i]
		if o.Response != nil || refs[o.Question.Ref] || len(questions) == interaction.MaxQuestions {
			continue
		}
		refs[o.Question.Ref] = true
		questions = append(questions, o.asked())
	}
	return e.save(ctx, t, engine.AskAll(questions...), k)
}

func (e *Engine) save(ctx context.Context, t engine.Turn, o engine.Outcome, k *savedSession) (engine.Outcome, error) {
	body, err := json.Marshal(k)
	if err != nil {
		return engine.Outcome{}, failure(fmt.Errorf("the session cannot be written: %w", err))
	}
	ids := make([]string, len(k.Open))
	for i, w := range k.Open {
		ids[i] = w.ID
	}
	h, err := e.versions.Save(ctx, t, body, ids...)
	if err != nil {
		return engine.Outcome{}, err
	}
	o.Session = &h
	return o, nil
}

// failure gives an error its code: its own if it is a Failure.
func failure(err error) error {
	var f *engine.Failure
	if errors.As(err, &f) {
		return err
	}
	return &engine.Failure{Code: fsm.CodeEngineFailed, Detail: "adk", Err: err, Transient: engine.PassingError(err)}
}

// interrupted is the failure of a turn whose context ended.
func interrupted(ctx context.Context, err error) error {
	code := fsm.CodeTurnInterrupted
	if errors.Is(context.Cause(ctx), engine.ErrTurnTimeout) {
		code = fsm.CodeTurnTimeout
	}
	return &engine.Failure{Code: code, Detail: "adk: the turn was ended", Err: err}
}
