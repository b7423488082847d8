package eino_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/eino"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/interaction"
)

// register is a tool that does at once what its arguments say.
type register struct {
	mu   sync.Mutex
	rung []string // guarded by mu
}

func (*register) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "pay", Desc: "pays a sum"}, nil
}

func (r *register) InvokableRun(_ context.Context, arguments string, _ ...tool.Option) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rung = append(r.rung, arguments)
	return "paid " + arguments, nil
}

func newCashier(t *testing.T, r *register, change func(*interaction.Question), sums ...string) *eino.Engine {
	t.Helper()
	e, err := eino.NewAgent(func(ctx context.Context) (adk.Agent, error) {
		return adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
			Name: "cashier", Description: "pays", Model: clerk{sums},
			ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{
				Tools: []tool.BaseTool{eino.Approve(r, change)}}},
		})
	}, eino.Config{})
	require.NoError(t, err)
	return e
}

// decisions are people's decisions, by the calls' arguments.
var decisions = map[string]interaction.Reply{
	`{"eur": 1}`:                       {Decision: interaction.Approve},
	`{"eur": 12345678901234567890.10}`: {Decision: interaction.Edit, Value: json.RawMessage(`{ "eur": 2 }`)},
	`{"eur":3}`:                        {Decision: interaction.Reject, Text: "too dear"},
	`{"eur":4}`:                        {Decision: interaction.Respond, Text: "ask in May"},
	`{"eur":5}`:                        {Decision: interaction.Edit, Value: json.RawMessage(`{"eur":50}`)},
}

// K1 K4: a model calls a tool five times in one answer, and the turn asks about all. Only approved
// and edited arguments are executed, byte for byte, each by its own call, in any order of the
// answers, and the model receives the other calls' reasons.
func TestK4ApprovedToolRunsWithWhatWasApproved(t *testing.T) {
	for _, reversed := range []bool{false, true} {
		var r register
		s := enginetest.NewTalk(t, newCashier(t, &r, nil, `{"eur": 1}`, `{"eur": 12345678901234567890.10}`, `{"eur":3}`,
			`{"eur":4}`, `{"eur":5}`))
		var answers []interaction.Answer
		for _, q := range s.Do("Pay.").Questions {
			require.Equal(t, interaction.Approval, q.Kind)
			require.Equal(t, "pay", q.Subject.Tool)
			reply, ok := decisions[string(q.Subject.Arguments)]
			require.True(t, ok, "%s", q.Subject.Arguments)
			reply.Seen = q.Digest()
			answers = append(answers, s.AnswerTo(q, reply))
		}
		require.Len(t, answers, 5)
		if reversed {
			slices.Reverse(answers)
		}
		turn := s.Next()
		turn.Answers = answers
		o, err := s.Execute(turn)
		require.NoError(t, err)
		require.Empty(t, o.Questions)
		require.ElementsMatch(t, []string{`{"eur": 1}`, `{ "eur": 2 }`, `{"eur":50}`}, r.rung)
		require.Regexp(t, `(?s)paid \{"eur": 1\}.*exactly these: \{ "eur": 2 \}\s+paid \{ "eur": 2 \}.*too dear.*`+
			`ask in May.*exactly these: \{"eur":50\}\s+paid \{"eur":50\}`, o.FinalText)
		require.Equal(t, 2, strings.Count(o.FinalText, "A person has changed the arguments."))
	}
}

// K1 K4: of two calls with the same arguments each has its own decision.
func TestK4EqualCallsAreDecidedSeparately(t *testing.T) {
	for _, rejected := range []int{0, 1} {
		var r register
		s := enginetest.NewTalk(t, newCashier(t, &r, nil, `{"eur":3}`, `{"eur":3}`))
		var answers []interaction.Answer
		for i, q := range s.Do("Pay.").Questions {
			reply := interaction.Reply{Decision: interaction.Edit, Value: json.RawMessage(`{"eur":2}`)}
			if i == rejected {
				reply = decisions[`{"eur":3}`]
			}
			answers = append([]interaction.Answer{s.AnswerTo(q, reply)}, answers...)
		}
		turn := s.Next()
		turn.Answers = answers
		o, err := s.Execute(turn)
		require.NoError(t, err)
		require.Equal(t, []string{`{"eur":2}`}, r.rung)
		want := []string{`too dear.*these: \{"eur":2\}\s+paid \{"eur":2\}`, `paid \{"eur":2\}.*too dear`}[rejected]
		require.Regexp(t, "(?s)"+want, o.FinalText)
	}
}

// K1 K4: an undecided call is not executed but asked about again; an answer to no waiting call, or
// to another call than it names, executes nothing.
func TestK4AnswerOfAnotherCallIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(answers []interaction.Answer) []interaction.Answer
		refused bool
	}{
		"swapped": {func(a []interaction.Answer) []interaction.Answer {
			a[0].Ref, a[1].Ref = a[1].Ref, a[0].Ref
			return a
		}, true},
		"without a call": {func(a []interaction.Answer) []interaction.Answer {
			a[0].Ref = ""
			return a
		}, true},
		"twice": {func(a []interaction.Answer) []interaction.Answer { return append(a, a[1]) }, true},
		"undecided": {func(a []interaction.Answer) []interaction.Answer {
			a[0] = interaction.Answer{ID: a[0].ID, Resolution: interaction.Superseded, Ref: a[0].Ref}
			return a
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var r register
			s := enginetest.NewTalk(t, newCashier(t, &r, nil, `{"eur": 1}`, `{"eur":5}`))
			questions := s.Do("Pay.").Questions
			var answers []interaction.Answer
			for _, q := range questions {
				answers = append(answers, s.AnswerTo(q, decisions[string(q.Subject.Arguments)]))
			}
			turn := s.Next()
			turn.Answers = c.change(answers)
			o, err := s.Execute(turn)
			if c.refused {
				require.ErrorContains(t, err, "not what the person was asked about")
				require.Empty(t, r.rung)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []string{`{"eur":50}`}, r.rung)
			require.Len(t, o.Questions, 1)
			require.Equal(t, questions[0].Subject, o.Questions[0].Subject)
			o, err = s.Decide(o.Questions[0], interaction.Reply{Decision: interaction.Reject, Text: "too late"})
			require.NoError(t, err)
			require.Equal(t, []string{`{"eur":50}`}, r.rung)
			require.Contains(t, o.FinalText, "too late")
		})
	}
}

// K4: an approval of other arguments than the waiting call's executes nothing.
func TestAnotherApprovalRunsNothing(t *testing.T) {
	var r register
	s := enginetest.NewTalk(t, newCashier(t, &r, nil, `{"eur":1}`))
	q := s.Do("Pay.").Questions[0]
	q.Subject.Arguments = json.RawMessage(`{"eur":100}`)
	_, err := s.Decide(q, interaction.Reply{Decision: interaction.Approve})
	require.ErrorContains(t, err, "not what the person was asked about")
	require.Empty(t, r.rung)

	// Without a decision the model is informed.
	s = enginetest.NewTalk(t, newCashier(t, &r, nil, `{"eur":1}`))
	q = s.Do("Pay.").Questions[0]
	turn := s.Next("")
	auto := interaction.NewAutoDecision(q).Answer(time.Now())
	auto.Ref = q.Ref
	turn.Answers = []interaction.Answer{auto}
	o, err := s.Engine.RunTurn(t.Context(), turn, s)
	require.NoError(t, err)
	require.Contains(t, o.FinalText, "Not executed")
	require.Empty(t, r.rung)
}

// K3 K4: a host adds a risk and a schema, and cannot change the approved arguments; arguments with
// a duplicate member are not asked about.
func TestQuestionOfAnApprovedTool(t *testing.T) {
	var r register
	change := func(q *interaction.Question) {
		q.Prompt, q.Schema = "Pay?", json.RawMessage(`{"properties":{"eur":{"maximum":5}}}`)
		q.Subject = &interaction.Subject{Risk: "money", Arguments: json.RawMessage(`{"eur":0}`)}
	}
	s := enginetest.NewTalk(t, newCashier(t, &r, change, `{"eur":1}`))
	q := s.Do("Pay.").Questions[0]
	require.Equal(t, &interaction.Subject{Tool: "pay", Arguments: json.RawMessage(`{"eur":1}`), Risk: "money"},
		q.Subject)
	require.Equal(t, "Pay?", q.Prompt)
	q.ID = 1
	require.ErrorIs(t, interaction.Reply{ID: 1, Decision: interaction.Edit, Value: json.RawMessage(`{"eur":6}`)}.
		ValidateFor(q), interaction.ErrInvalidReply)

	s = enginetest.NewTalk(t, newCashier(t, &r, nil, `{"eur":1,"eur":100}`))
	o := s.Do("Pay.")
	require.Empty(t, o.Questions)
	require.Contains(t, o.FinalText, "given twice")
	require.Empty(t, r.rung)
}
