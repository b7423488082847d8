package eino

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/approval"
	"github.com/interlude-go/interlude/engine/checkpoint"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// Engine runs the turns of one graph or agent. It is safe for concurrent use by different runs.
type Engine struct {
	checkpoint.Resumable

	cfg      Config
	talks    bool // it is an agent, whose last message may be a question
	sessions checkpoint.Sessions
	run      func(context.Context, *activeTurn) (result, error)
}

var (
	_ engine.Engine   = (*Engine)(nil)
	_ engine.Checker  = (*Engine)(nil)
	_ engine.Brancher = (*Engine)(nil)
)

// result is the result of a graph or agent that was interrupted or has finished.
type result struct {
	interrupts []Interrupt
	end        Result
}

// Result is the result of a graph or agent.
type Result struct {
	// Text is the assistant's final text.
	Text string
	// Output is structured output as JSON, nil for none.
	Output json.RawMessage
}

// rootID is Eino's id of the checkpoint of the graph or agent itself.
const rootID = "interlude"

func newEngine(cfg Config, talks bool, run func(context.Context, *activeTurn) (result, error)) (*Engine, error) {
	if cfg.Ends != EndsRun && cfg.Ends != EndsTurn {
		return nil, fmt.Errorf("eino: Config.Ends is %d, want EndsRun or EndsTurn", cfg.Ends)
	}
	if cfg.Question == nil {
		cfg.Question = Ask
	}
	sessions := cfg.sessions()
	resumable := sessions.Resumable("a graph or agent of Eino in this process is resumed from its checkpoint", branched)
	return &Engine{Resumable: resumable, cfg: cfg, talks: talks, sessions: sessions, run: run}, nil
}

// branched is the version for a fork, whose interrupts are the same.
func branched(_ context.Context, t engine.Turn, body []byte) ([]byte, error) {
	kept, err := readSession(body)
	if err != nil {
		return nil, err
	}
	return body, checkpoint.CheckReply(t, len(kept.asked()) > 0)
}

// RunTurn runs the graph or agent until it is interrupted or ends. The outcome has the tokens of
// its models, also with an error.
func (e *Engine) RunTurn(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	if ctx.Err() != nil {
		return engine.Outcome{}, interrupted(ctx, context.Cause(ctx))
	}
	p, err := e.startTurn(ctx, t, s)
	if err != nil {
		return engine.Outcome{}, err
	}
	ctx, p.cancel = context.WithCancelCause(ctx)
	defer p.cancel(nil)
	o, err := e.runActive(ctx, p)
	o.Usage = p.usage.sum()
	return o, err
}

// runActive runs the graph or agent. The outcome is without its usage.
func (e *Engine) runActive(ctx context.Context, p *activeTurn) (engine.Outcome, error) {
	done, err := e.run(context.WithValue(ctx, turnKey{}, p), p)
	// The result is too late: the run may belong to another attempt.
	if cause := context.Cause(ctx); cause != nil {
		return engine.Outcome{}, interrupted(ctx, errors.Join(cause, err))
	}
	if err != nil {
		return engine.Outcome{}, p.failure(err)
	}
	if len(done.interrupts) > 0 {
		return e.askOutcome(ctx, p, done.interrupts)
	}
	return e.endOutcome(ctx, p, done.end)
}

// startTurn reads the turn's session. It stores the handle of the run's first turn.
func (e *Engine) startTurn(ctx context.Context, t engine.Turn, s engine.Sink) (*activeTurn, error) {
	body, err := e.sessions.Load(ctx, t)
	if err != nil {
		return nil, err
	}
	kept, err := readSession(body)
	if err != nil {
		return nil, &engine.Failure{Code: fsm.CodeSessionResumeFailed, Detail: "the session cannot be resumed",
			Err: err}
	}
	p := &activeTurn{turn: t, sink: s, open: kept.asked(), history: kept.Past,
		checkpoints: &turnCheckpoints{byID: kept.Checkpoints}}
	if len(p.open) > 0 {
		if p.data, err = e.resumeAll(ctx, t, p.open); err != nil {
			return nil, err
		}
	}
	if t.Session == nil {
		h, err := e.sessions.Fresh(t)
		if err == nil {
			err = s.Session(ctx, h)
		}
		if err != nil {
			return nil, err
		}
	}
	return p, nil
}

// resumeAll is the resume data of the open interrupts, by id. An answer belongs to the interrupt
// named by its Ref, never to the one at its position. Interrupts without an answer are not resumed:
// they interrupt again.
func (e *Engine) resumeAll(ctx context.Context, t engine.Turn, open []openInterrupt) (map[string]any, error) {
	data := make(map[string]any)
	for _, answer := range t.Answers {
		if !answer.Answered() {
			continue
		}
		i := slices.IndexFunc(open, func(o openInterrupt) bool {
			_, answered := data[o.ID]
			return o.Question.Ref == answer.Ref && !answered
		})
		if i < 0 || answer.Digest != "" && answer.Digest != open[i].Question.Digest() {
			return nil, &engine.Failure{Code: fsm.CodeSessionResumeFailed, Detail: fmt.Sprintf("the subject of the "+
				"answer to question %d is not what the person was asked about", answer.ID)}
		}
		given, err := e.resumeData(ctx, open[i], answer)
		if err != nil {
			return nil, err
		}
		data[open[i].ID] = given
	}
	if len(data) == 0 {
		return nil, &engine.Failure{Code: fsm.CodeEngineFailed, Detail: "the session waits for an answer, and the " +
			"turn has none"}
	}
	return data, nil
}

func (e *Engine) resumeData(ctx context.Context, o openInterrupt, answer engine.Answer) (any, error) {
	switch {
	case e.cfg.Reply != nil:
	case len(o.Question.Schema) > 0 || o.Question.Subject != nil:
		return answer, nil
	default:
		return answer.Text, nil
	}
	data, err := e.cfg.Reply(ctx, Interrupt{ID: o.ID, Address: o.Address, Gate: o.Gate, Question: o.Question}, answer)
	if err != nil {
		return nil, failure(fmt.Errorf("the answer cannot be used: %w", err))
	}
	return data, nil
}

// askOutcome is the outcome of an interrupted turn. All interrupts are asked together, except a
// gate, which is asked separately. Nodes that were not asked about interrupt again when the others
// are resumed.
func (e *Engine) askOutcome(ctx context.Context, p *activeTurn, all []Interrupt) (engine.Outcome, error) {
	first := all[0]
	switch {
	case p.turn.Mode == fsm.ModeAuto:
		return engine.Outcome{}, &engine.Failure{
			Code: fsm.CodeEngineFailed, Detail: "interrupted at " + first.Address + ", but an automatic run asks " +
				"no one: " + text(first.Info),
		}
	case first.Gate && e.cfg.Reply == nil:
		return engine.Outcome{}, &engine.Failure{
			Code: fsm.CodeEngineFailed,
			Detail: "the graph is compiled to stop at " + first.Address + ", where no node reads an answer: " +
				"configure the effect of a reply, or have a node interrupt",
		}
	}
	kept := session{Checkpoints: p.checkpoints.all(), Past: p.history}
	if kept.Checkpoints[rootID] == nil {
		return engine.Outcome{}, &engine.Failure{
			Code: fsm.CodeEngineFailed, Detail: "interrupted without a checkpoint: compile the graph with the " +
				"engine's checkpoint store",
		}
	}
	open, err := e.openInterrupts(p, all)
	if err != nil {
		return engine.Outcome{}, err
	}
	kept.setOpen(open)
	ids := make([]string, len(all))
	for i, in := range all {
		ids[i] = in.ID
	}
	questions := make([]interaction.Question, len(open))
	for i, o := range open {
		questions[i] = o.Question
	}
	return e.save(ctx, p, engine.AskAll(questions...), kept, ids...)
}

func (e *Engine) openInterrupts(p *activeTurn, all []Interrupt) ([]openInterrupt, error) {
	if !all[0].Gate {
		all = slices.DeleteFunc(slices.Clone(all), func(i Interrupt) bool { return i.Gate })
	} else {
		all = all[:1]
	}
	all = all[:min(len(all), interaction.MaxQuestions)]
	open := make([]openInterrupt, len(all))
	for i, in := range all {
		asked := e.cfg.Question(in)
		if err := engine.ValidateQuestion(asked); err != nil {
			return nil, err
		}
		q, _, err := approval.Fit(asked, p.turn.ArtifactDir, fmt.Sprintf("question-%d", p.turn.Attempt))
		if err != nil {
			return nil, failure(fmt.Errorf("the question at %s cannot be shown completely: configure a folder for "+
				"runs: %w", in.Address, err))
		}
		if q.Ref = ""; len(all) > 1 || q.Subject != nil {
			q.Ref = approval.Ref(in.ID)
		}
		q, _ = interaction.Normalize(q)
		open[i] = openInterrupt{ID: in.ID, Address: in.Address, Gate: in.Gate, Question: q}
	}
	return open, nil
}

// goesOn reports whether an agent's last message asks a question, or says that it is not done.
func (p *activeTurn) goesOn(end Result) bool {
	r := interaction.ReadSeveral(end.Text, end.Output, p.turn.Nonce, interaction.MaxQuestions)
	return r.Question != nil || r.NotDone
}

func (e *Engine) endOutcome(ctx context.Context, p *activeTurn, end Result) (engine.Outcome, error) {
	o := engine.Say(end.Text)
	o.Output = end.Output
	if asks := e.talks && p.goesOn(end); e.cfg.Ends == EndsRun && !asks {
		o.Done = true
		return o, nil // no session to continue
	}
	return e.save(ctx, p, o, session{Past: p.history})
}

func (e *Engine) save(ctx context.Context, p *activeTurn, o engine.Outcome, kept session,
	interrupts ...string) (engine.Outcome, error) {
	body, err := json.Marshal(kept)
	if err != nil {
		return engine.Outcome{}, failure(fmt.Errorf("the session cannot be written: %w", err))
	}
	h, err := e.sessions.Save(ctx, p.turn, body, interrupts...)
	if err != nil {
		return engine.Outcome{}, err
	}
	o.Session = &h
	return o, nil
}
