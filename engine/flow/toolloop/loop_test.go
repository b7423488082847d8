package toolloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/engine/flow/toolloop"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/lifecycle/rehearsal"
)

// message is a message of the fake model's API.
type message struct {
	Role, Text string
	Signature  json.RawMessage
}

// fake is a model. It calls answer with the conversation.
type fake struct {
	answer func(r toolloop.Request, said []message) (toolloop.Answer, error)
}

func (fake) User(text string) any { return message{Role: "user", Text: text} }

func (fake) Results(results []toolloop.Result) (all []any) {
	for _, r := range results {
		all = append(all, message{Role: "tool " + r.Call.ID, Text: r.Text})
	}
	return all
}

func (f fake) Next(_ context.Context, r toolloop.Request) (toolloop.Answer, error) {
	said := make([]message, len(r.Messages))
	for i, m := range r.Messages {
		if err := json.Unmarshal(m, &said[i]); err != nil {
			return toolloop.Answer{}, err
		}
	}
	a, err := f.answer(r, said)
	a.Usage = engine.Usage{InputTokens: 10, OutputTokens: 1}
	if a.Message == nil {
		a.Message = message{Role: "assistant", Text: a.Text, Signature: json.RawMessage(`{"n":12345678901234567890.10}`)}
	}
	return a, err
}

// calling returns a model that makes these calls and then repeats their results.
func calling(calls ...toolloop.Call) fake {
	return fake{func(_ toolloop.Request, said []message) (toolloop.Answer, error) {
		if len(said) == 1 {
			return toolloop.Answer{Text: "A moment.", Calls: calls}, nil
		}
		var results []string
		for _, m := range said[2:] {
			results = append(results, m.Role+": "+m.Text)
		}
		return toolloop.Answer{Text: strings.Join(results, "\n")}, nil
	}}
}

func call(id, tool, arguments string) toolloop.Call {
	return toolloop.Call{ID: id, Tool: tool, Arguments: json.RawMessage(arguments)}
}

// ledger records the effects of tools: their arguments by key.
type ledger struct {
	mu      sync.Mutex
	effects map[string]map[string]int // guarded by mu
}

func newLedger() *ledger { return &ledger{effects: make(map[string]map[string]int)} }

func (l *ledger) tool(name, risk string) toolloop.Tool {
	return toolloop.Tool{Name: name, Risk: risk, Schema: json.RawMessage(`{"type":"object"}`),
		Summary: func(arguments json.RawMessage) string { return "summary of " + string(arguments) },
		Changes: func(arguments json.RawMessage) []engine.Change {
			return []engine.Change{{Path: "bill", Kind: engine.ChangeCreate, After: string(arguments)}}
		},
		Run: func(ctx context.Context, arguments json.RawMessage) (string, error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			key := flow.Key(ctx)
			if l.effects[key] == nil {
				l.effects[key] = make(map[string]int)
			}
			l.effects[key][string(arguments)]++
			return "done " + string(arguments), nil
		}}
}

// check requires these effects: arguments by key. At most one effect may be repeated.
func (l *ledger) check(t *testing.T, want map[string]string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	got, repeated := make(map[string]string), 0
	for key, arguments := range l.effects {
		require.Len(t, arguments, 1, "%s: one key has one effect", key)
		for a, n := range arguments {
			got[strings.TrimPrefix(key, "rehearsal/")] = a
			repeated += n - 1
		}
	}
	require.Equal(t, want, got)
	require.LessOrEqual(t, repeated, 1)
}

func hosting(l toolloop.Loop) lifecycle.Config {
	return lifecycle.Config{Engine: flow.New("clerk", l.Run), Forgiving: true, OnInterrupt: lifecycle.Repeat}
}

// M1 K4: two approvals are asked at once, one call is edited, and one needs none. Wherever the host
// crashes, the approved arguments are executed, each call has one key, and the model is informed about
// the edit. One turn asks and one executes.
func TestM1K4ALoopSurvivesACrashAtEveryCommit(t *testing.T) {
	rehearsal.EveryCrash(t, func(*testing.T) rehearsal.Case {
		l := newLedger()
		loop := toolloop.Loop{Model: calling(call("a", "look", `{"at":"<all>"}`), call("b", "pay", `{"eur":9007199254740993.10}`),
			call("c", "pay", `{"eur":2}`)), Tools: []toolloop.Tool{l.tool("look", ""), l.tool("pay", "money leaves")},
			Approve: toolloop.Risky}
		return rehearsal.Case{Config: hosting(loop), Spec: lifecycle.Spec{Prompt: "Pay both."},
			Reply: func(q lifecycle.Question) lifecycle.Reply {
				r := lifecycle.Reply{Decision: lifecycle.Approve, AcceptRisk: true, Seen: q.Digest()}
				if q.Subject.Summary == `summary of {"eur":2}` {
					require.Equal(t, `{"eur":2}`, q.Subject.Changes[0].After)
					r.Decision, r.Value = lifecycle.Edit, json.RawMessage(`{"eur":1}`)
				}
				return r
			},
			Check: func(t *testing.T, run lifecycle.Run) {
				require.Equal(t, lifecycle.StateSucceeded, run.State, "%+v", run.Error)
				require.Equal(t, "tool a: done {\"at\":\"<all>\"}\ntool b: done {\"eur\":9007199254740993.10}\n"+
					"tool c: The arguments were changed before the call, which was executed with {\"eur\":1}.\n"+
					"done {\"eur\":1}", run.FinalText)
				l.check(t, map[string]string{"4/look": `{"at":"<all>"}`, "5/pay": `{"eur":9007199254740993.10}`,
					"6/pay": `{"eur":1}`})
			}}
	})
}

// K4 N1: the model gets the reason for a refusal, or the approver's note.
func TestN1K4TheModelLearnsOfDecisions(t *testing.T) {
	type paid = map[string]string
	const rejected = "The call was rejected and not executed."
	for name, c := range map[string]struct {
		reply   func(lifecycle.Question) lifecycle.Reply
		want    string
		effects paid
	}{
		"rejected":  {rehearsal.Rejects("too dear"), rejected + " The reason is: too dear", paid{}},
		"no reason": {rehearsal.Rejects(""), rejected, paid{}},
		"in time":   {nil, "The call was not executed: nobody has decided about it.", paid{}},
		"and a note": {reply(lifecycle.Reply{Decision: lifecycle.Approve, Text: "once"}),
			"Note of the approval: once\ndone {}", paid{"4/pay": "{}"}},
		"respond": {reply(lifecycle.Reply{Decision: lifecycle.Respond, Text: "ask Ada"}),
			"The call was not executed. The answer to it is: ask Ada", paid{}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger()
			pay := l.tool("pay", "")
			pay.Ask.Wait = &engine.Wait{End: 48 * time.Hour, Then: engine.ThenDecide}
			loop := toolloop.Loop{Model: calling(call("a", "pay", "")), Tools: []toolloop.Tool{pay}}
			seen := &watched{Engine: flow.New("clerk", loop.Run)}
			run := rehearsal.Play(t, rehearsal.Case{Spec: lifecycle.Spec{Prompt: "x"}, Reply: c.reply,
				Config: lifecycle.Config{Engine: seen, Forgiving: true, OnInterrupt: lifecycle.Repeat}})
			require.Equal(t, "tool a: "+c.want, run.FinalText)
			l.check(t, c.effects)
			require.Equal(t, engine.Usage{InputTokens: 20, OutputTokens: 2}, seen.usage)
			require.Equal(t, []string{"A moment."}, seen.messages)
		})
	}
}

func reply(r lifecycle.Reply) func(lifecycle.Question) lifecycle.Reply {
	return func(q lifecycle.Question) lifecycle.Reply {
		r.Seen = q.Digest()
		return r
	}
}

// People are not asked about invalid calls, and the model gets the reason.
func TestK4AnUnusableCallIsNotAsked(t *testing.T) {
	l := newLedger()
	fails := toolloop.Tool{Name: "fail", Approve: toolloop.Never,
		Run: func(context.Context, json.RawMessage) (string, error) { return "", errors.New("no such file") }}
	run := rehearsal.Play(t, rehearsal.Case{Spec: lifecycle.Spec{Prompt: "x"}, Config: hosting(toolloop.Loop{
		Model: calling(call("a", "steal", `{}`), call("b", "pay", `{"eur":`), call("c", "pay", `{"eur":1,"eur":2}`),
			call("d", "fail", `{}`)),
		Tools: []toolloop.Tool{l.tool("pay", ""), fails}})})
	require.Equal(t, lifecycle.StateSucceeded, run.State, "%+v", run.Error)
	lines := strings.Split(run.FinalText, "\n")
	require.Len(t, lines, 4)
	require.Equal(t, `tool a: There is no tool "steal".`, lines[0])
	require.Equal(t, "tool b: The arguments are not valid JSON.", lines[1])
	require.Contains(t, lines[2], "tool c: The arguments cannot be approved: ")
	require.Equal(t, "tool d: The call failed: no such file", lines[3])
	l.check(t, map[string]string{})
}

// J1: passing errors of the model are retried with growing pauses, then by the run's policy; others
// end the run. No tool is executed twice.
func TestJ1PassingErrorsOfTheModelAreRetried(t *testing.T) {
	for name, c := range map[string]struct {
		failures int
		err      string
		tries    int
		state    lifecycle.State
		atLeast  time.Duration
	}{
		"in the turn": {3, "429 Too Many Requests", 5, lifecycle.StateSucceeded, 7 * time.Second},
		"by the run":  {4, "503 Service Unavailable", 6, lifecycle.StateSucceeded, 7 * time.Second},
		"for good":    {1, "401 Unauthorized", 2, lifecycle.StateFailed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l, tries := newLedger(), 0
			model := calling(call("a", "pay", `{}`))
			healthy := model.answer
			model.answer = func(r toolloop.Request, said []message) (toolloop.Answer, error) {
				if tries++; tries > 1 && tries <= 1+c.failures {
					return toolloop.Answer{}, errors.New(c.err)
				}
				return healthy(r, said)
			}
			run := rehearsal.Play(t, rehearsal.Case{Spec: lifecycle.Spec{Prompt: "x"}, Config: hosting(toolloop.Loop{
				Model: model, Tools: []toolloop.Tool{l.tool("pay", "")}, Approve: toolloop.Never})})
			require.Equal(t, c.state, run.State, "%+v", run.Error)
			require.Equal(t, c.tries, tries)
			require.GreaterOrEqual(t, run.FinishedAt.Sub(run.CreatedAt), c.atLeast)
			l.check(t, map[string]string{"3/pay": "{}"})
		})
	}
}

// A streamed text is stored once per interval, not once per piece, and words are not split.
func TestL1AStreamedTextCostsOneCommitPerInterval(t *testing.T) {
	const pieces = 1000
	model := fake{func(r toolloop.Request, _ []message) (toolloop.Answer, error) {
		text := ""
		for i := range pieces {
			<-time.After(10 * time.Millisecond) // by the test's synctest clock
			piece := fmt.Sprintf("wo rd%d", i)
			if text += piece; r.Text(piece) != nil {
				return toolloop.Answer{}, errors.New("not stored")
			}
		}
		return toolloop.Answer{Text: text}, nil
	}}
	for every, most := range map[time.Duration]int{0: 0, time.Second: 11} {
		seen := &watched{Engine: flow.New("clerk", toolloop.Loop{Model: model, Stream: every}.Run)}
		run := rehearsal.Play(t, rehearsal.Case{Spec: lifecycle.Spec{Prompt: "x"},
			Config: lifecycle.Config{Engine: seen, Forgiving: true, OnInterrupt: lifecycle.Repeat}})
		require.LessOrEqual(t, len(seen.messages), most)
		if every == 0 {
			continue
		}
		require.Greater(t, len(seen.messages), 5)
		require.Equal(t, run.FinalText, strings.Join(seen.messages, ""))
		for _, m := range seen.messages[:len(seen.messages)-1] {
			require.True(t, strings.HasSuffix(m, " "), m)
		}
	}
}

// watched is an engine that records messages and usage.
type watched struct {
	engine.Engine

	messages []string
	usage    engine.Usage
}

func (w *watched) RunTurn(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	o, err := w.Engine.RunTurn(ctx, t, struct {
		messageSink
		engine.Journal
	}{messageSink{s, w}, s.(engine.Journal)})
	w.usage = w.usage.Add(o.Usage)
	return o, err
}

type messageSink struct {
	engine.Sink

	w *watched
}

func (s messageSink) Message(ctx context.Context, m engine.Message) error {
	s.w.messages = append(s.w.messages, m.Text)
	return s.Sink.Message(ctx, m)
}

// After a deploy of a loop with other texts, rules and tools, a run continues with the stored question
// and the stored decision of the rule.
func TestM1AnOpenApprovalSurvivesADeploy(t *testing.T) {
	l := newLedger()
	first, second := l.tool("pay", "money leaves"), l.tool("pay", "much money leaves")
	model := calling(call("a", "pay", `{"eur":1}`))
	before := flow.New("clerk", toolloop.Loop{Model: model, Tools: []toolloop.Tool{first}}.Run)
	after := flow.New("clerk", toolloop.Loop{Model: model, Tools: []toolloop.Tool{l.tool("new", ""), second},
		Approve: toolloop.Never}.Run)
	run := rehearsal.Play(t, rehearsal.Case{Spec: lifecycle.Spec{Prompt: "x"},
		Reply:  reply(lifecycle.Reply{Decision: lifecycle.Approve, AcceptRisk: true}),
		Config: lifecycle.Config{Engine: deployed{before, after}, Forgiving: true, OnInterrupt: lifecycle.Repeat}})
	require.Equal(t, `tool a: done {"eur":1}`, run.FinalText)
	l.check(t, map[string]string{"4/pay": `{"eur":1}`})
}

// deployed executes first turns with one engine, and later turns with another.
type deployed struct {
	engine.Engine
	then engine.Engine
}

func (d deployed) RunTurn(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	if t.Session == nil {
		return d.Engine.RunTurn(ctx, t, s)
	}
	return d.then.RunTurn(ctx, t, s)
}

// M1: an endless loop fails. A loop with unusable tools fails before it calls the model.
func TestM1ALoopHasAnEnd(t *testing.T) {
	pay := newLedger().tool("pay", "")
	for want, l := range map[string]toolloop.Loop{
		"still calls tools after 2 answers": {Model: fake{func(toolloop.Request, []message) (toolloop.Answer, error) {
			return toolloop.Answer{Calls: []toolloop.Call{call("a", "x", "")}}, nil
		}}, MaxAnswers: 2},
		"Model is nil":                {},
		"two tools have the name pay": {Model: fake{}, Tools: []toolloop.Tool{pay, pay}},
		"tool pay has no Run":         {Model: fake{}, Tools: []toolloop.Tool{{Name: "pay"}}},
		"want 1 to 128 bytes":         {Model: fake{}, Tools: []toolloop.Tool{{}}},
	} {
		run := rehearsal.Play(t, rehearsal.Case{Spec: lifecycle.Spec{Prompt: "x"}, Config: hosting(l)})
		require.Equal(t, lifecycle.StateFailed, run.State)
		require.Contains(t, run.Error.Message, want)
	}
}
