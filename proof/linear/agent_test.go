package linear_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/proof/linear"
)

// findings stores the evidence of each turn, by run and attempt, as the turn's agent knows it.
type findings struct {
	sync.Map

	begun sync.Map // the attempts that were begun
}

type attempt struct {
	run string
	n   int
}

func (f *findings) of(run string, n int) *linear.Evidence {
	if e, ok := f.Load(attempt{run, n}); ok {
		return e.(*linear.Evidence)
	}
	return nil
}

// agent ends its turns with every kind of evidence. The seed decides its behaviour in each attempt
// of a run.
type agent struct {
	enginetest.FakeAgent

	seed  uint64
	clock quick
	found *findings
	rules bool // the world has rules
}

func newAgent(kind fsm.Profile, w *world) *agent {
	a := &agent{seed: w.seed, clock: w.clock, found: &w.found, rules: w.rules}
	a.Kind, a.Reason = kind, "as the seed says"
	return a
}

func (f *findings) began(run string, n int) bool {
	_, ok := f.begun.Load(attempt{run, n})
	return ok
}

// dice returns the random numbers of a seed and a name.
func dice(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

func (a *agent) RunTurn(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	rng := dice(a.seed, fmt.Sprint(t.RunID, "/", t.Attempt))
	e := &linear.Evidence{Facts: contract.Facts{}, Profile: string(a.Kind)}
	a.found.begun.Store(attempt{t.RunID, t.Attempt}, true)
	defer a.found.Store(attempt{t.RunID, t.Attempt}, e)
	if err := a.Enter(t); err != nil {
		e.Code = string(fsm.CodeInteractionProcessLost)
		return engine.Outcome{}, err
	}
	handle := &engine.SessionHandle{Engine: "agent", Version: "1", Data: []byte("session of " + t.RunID)}
	if rng.IntN(4) == 0 {
		_ = s.Message(ctx, engine.Message{Text: "I am on it."}) // the store refuses it when the turn is over
	}
	if rng.IntN(4) == 0 {
		_ = s.Session(ctx, *handle) // likewise
	}
	if rng.IntN(4) == 0 {
		ctx = context.WithoutCancel(ctx) // this turn ignores its cancellation
	}
	a.clock.ponder(ctx, time.Duration(rng.IntN(600))*time.Millisecond)
	o, err := a.end(rng, t, e)
	if rng.IntN(3) > 0 {
		o.Usage = engine.Usage{InputTokens: rng.Int64N(1000), OutputTokens: 1 + rng.Int64N(100),
			CostUSD: float64(rng.IntN(50)) / 100}
		e.Used = fmt.Sprint(o.Usage.InputTokens, o.Usage.OutputTokens, int64(math.Round(o.Usage.CostUSD*1e6)))
	}
	if e.Handle = err == nil && rng.IntN(12) > 0; e.Handle {
		o.Session = handle
	}
	return o, err
}

// approves reports whether the agent of the run asks for approvals above all: in a third of the
// runs.
func approves(seed uint64, run string) bool { return dice(seed, run+" approves").IntN(3) == 0 }

// drawAudience is who may be asked a question; nil is everybody.
func drawAudience(rng *rand.Rand) *interaction.Audience {
	return []*interaction.Audience{nil, nil, {Users: []string{linear.Boss, "ada"}}, {Users: []string{"ada"},
		Groups: []string{"crew"}}, {Groups: []string{"crew"}}, {Everybody: true, Except: []string{"ada"}}}[rng.IntN(6)]
}

// drawQuestion is a question for a text, or an approval by one person or several. Every other
// question has a wait.
func drawQuestion(rng *rand.Rand, prompt string, approval bool) interaction.Question {
	q := interaction.Question{Kind: interaction.OpenText, Prompt: prompt, To: drawAudience(rng)}
	if rng.IntN(2) == 0 {
		q.To = nil
	}
	if approval {
		q.Kind = interaction.Approval
		q.Subject = &interaction.Subject{Tool: "pay", Arguments: json.RawMessage(`{"n":1}`)}
		q.Need, q.Rejects = int8(rng.Int32N(4)), int8(rng.Int32N(3))
	}
	q.Wait = drawWait(rng)
	if w := q.Wait; w != nil && w.Default != nil && approval {
		w.Default.Decision = interaction.Reject
	}
	return q
}

// drawCall gives the approval one of a few calls, so that a remembered decision covers others. Most of
// them need one person.
func drawCall(rng *rand.Rand, q *interaction.Question) {
	if rng.IntN(5) == 0 {
		q.Subject.Tool = "send"
	}
	q.Subject.Arguments = fmt.Appendf(nil, `{"n":%d}`, 1+rng.IntN(3))
	if rng.IntN(4) > 0 {
		q.Need, q.Rejects, q.To = 0, 0, nil
	}
}

// CanBranch implements engine.Brancher.
func (a *agent) CanBranch(context.Context, engine.BranchPoint) error { return nil }

// Branch implements engine.Brancher.
func (a *agent) Branch(_ context.Context, p engine.BranchPoint, t engine.Turn) (engine.SessionHandle, error) {
	s := p.Session
	s.Data = []byte("session of " + t.RunID)
	return s, nil
}

// drawWait gives every other question a wait.
func drawWait(rng *rand.Rand) *interaction.Wait {
	if rng.IntN(2) == 0 {
		return nil
	}
	w, at := &interaction.Wait{}, time.Duration(0)
	for range rng.IntN(3) {
		at += time.Duration(1+rng.IntN(2)) * time.Second
		step := interaction.WaitStep{Do: interaction.Remind, After: at}
		if rng.IntN(3) == 0 {
			step.Do, step.To = interaction.Escalate, &interaction.Audience{Users: []string{linear.Boss}}
		}
		w.Steps = append(w.Steps, step)
	}
	ends := []interaction.Then{interaction.ThenWait, interaction.ThenFail, interaction.ThenDecide,
		interaction.ThenDefault, ""}
	if w.Then = ends[rng.IntN(len(ends))]; w.Then != "" {
		w.End = at + time.Duration(1+rng.IntN(2))*time.Second
	}
	if w.Then == interaction.ThenDefault {
		w.Default = &interaction.DefaultReply{Text: "Do without."}
	}
	return w
}

var answerSchema = json.RawMessage(
	`{"type":"object","properties":{"answer":{"type":"integer"}},"required":["answer"],"additionalProperties":false}`)

// end returns an outcome with a random kind of evidence, and sets the facts that it shows.
func (a *agent) end(rng *rand.Rand, t engine.Turn, e *linear.Evidence) (engine.Outcome, error) {
	o := engine.Outcome{Process: engine.Process{Status: engine.OK}, FinalText: "Here I am."}
	approving := a.rules || approves(a.seed, t.RunID)
	facts := contract.Facts{"process_ok": true, "schema_declared": len(t.OutputSchema) > 0}
	maps.Copy(e.Facts, facts)
	asks := func() {
		n := max(1, rng.IntN(5)) // three turns in five ask several at once
		for i := range n {
			prompt := fmt.Sprintf("Question %d of attempt %d?", i+1, t.Attempt)
			o.Questions = append(o.Questions, drawQuestion(rng, prompt, approving && rng.IntN(4) > 0))
			if s := o.Questions[i].Subject; s != nil && a.rules {
				drawCall(rng, &o.Questions[i])
			}
			e.Waits = append(e.Waits, linear.TextOf(o.Questions[i].Wait))
			e.Policies = append(e.Policies, linear.TextOfPolicy(&o.Questions[i]))
		}
		if n > 1 {
			o.Rule.Answers, o.Rule.StopOnReject = 1+rng.IntN(n), rng.IntN(2) == 0
			e.Asked, e.Needs, e.Stops = n, o.Rule.Answers, o.Rule.StopOnReject
		}
		e.Facts["question_asked"] = true
	}
	output := func(text string, valid bool) {
		o.Output = json.RawMessage(text)
		e.Facts["output_valid"] = valid && e.Facts["schema_declared"]
	}
	done := func() {
		o.FinalText += "\n__SKILL_DONE__\n"
		e.Facts["done_marker"] = true
	}
	fails := func(code fsm.Code) {
		o.Process = engine.Process{Status: engine.Failed, Code: code, Detail: "exit status 3", ExitCode: 3}
		e.Facts["process_ok"], e.Code = false, string(code)
	}
	way := rng.IntN(20)
	if approving && t.Attempt < 4 && rng.IntN(4) > 0 || a.rules && t.Attempt < 8 && rng.IntN(8) > 0 {
		way = 19
	}
	switch way {
	default:
		asks()
	case 0, 1:
	case 2:
		done()
	case 3:
		output(`{"answer":42}`, true)
		done()
	case 4:
		output(`{"answer":"x"}`, false)
		done()
	case 5:
		output(`{"answer":42}`, true)
	case 6:
		asks()
		output(`{"answer":42}`, true)
	case 7:
		fails([]fsm.Code{"", fsm.CodeEngineUnavailable, fsm.CodeTurnTimeout, fsm.CodeWorkspaceMissing,
			"OF_ITS_OWN"}[rng.IntN(5)])
	case 8, 9:
		fails(fsm.CodeEngineUnavailable)
	case 10:
		e.Facts["process_ok"], e.Code = false, string(fsm.CodeEngineFailed)
		return engine.Outcome{}, errors.New("no fuel")
	}
	return o, nil
}
