package eino_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/eino"
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

// decide answers the question of the last turn with the reply, and executes the next turn.
func (s *session) decide(q engine.Question, r interaction.Reply) (engine.Outcome, error) {
	s.Helper()
	turn := s.next("")
	q.ID, r.ID = s.turn.Attempt-1, s.turn.Attempt-1
	q, odd := interaction.Normalize(q)
	require.Empty(s, odd)
	require.NoError(s, r.CheckFor(q))
	turn.Answers = []interaction.Answer{r.AnswerTo(&q, time.Now())}
	o, err := s.engine.RunTurn(s.Context(), turn, s)
	if o.Session != nil {
		s.turn.Session = o.Session
	}
	return o, err
}

// K4: a model calls a tool four times in one answer. Just the approved and the edited arguments are
// executed, byte for byte, and the model hears why the others are not.
func TestApprovedToolRunsWithWhatWasApproved(t *testing.T) {
	var r register
	s := newSession(t, newCashier(t, &r, nil, `{"eur": 1}`, `{"eur": 12345678901234567890.10}`, `{"eur":3}`,
		`{"eur":4}`))
	o := s.do("Pay.")
	replies := map[string]interaction.Reply{
		`{"eur": 1}`:                       {Decision: interaction.Approve},
		`{"eur": 12345678901234567890.10}`: {Decision: interaction.Edit, Value: json.RawMessage(`{ "eur": 2 }`)},
		`{"eur":3}`:                        {Decision: interaction.Reject, Text: "too dear"},
		`{"eur":4}`:                        {Decision: interaction.Respond, Text: "ask in May"},
	}
	for range replies {
		require.Len(t, o.Questions, 1)
		q := o.Questions[0]
		require.Equal(t, interaction.Approval, q.Kind)
		require.Equal(t, "pay", q.Subject.Tool)
		reply, ok := replies[string(q.Subject.Arguments)]
		require.True(t, ok, "%s", q.Subject.Arguments)
		reply.Seen = q.Digest()
		var err error
		o, err = s.decide(q, reply)
		require.NoError(t, err)
	}
	require.Empty(t, o.Questions)
	require.ElementsMatch(t, []string{`{"eur": 1}`, `{ "eur": 2 }`}, r.rung)
	require.Contains(t, o.FinalText, "too dear")
	require.Contains(t, o.FinalText, "ask in May")
}

// K4: an approval of other arguments than those of the call that waits executes nothing.
func TestAnotherApprovalRunsNothing(t *testing.T) {
	var r register
	s := newSession(t, newCashier(t, &r, nil, `{"eur":1}`))
	q := s.do("Pay.").Questions[0]
	q.Subject.Arguments = json.RawMessage(`{"eur":100}`)
	_, err := s.decide(q, interaction.Reply{Decision: interaction.Approve})
	require.ErrorContains(t, err, "not the one that a person was asked about")
	require.Empty(t, r.rung)

	// Nobody has decided: the model is told so.
	s = newSession(t, newCashier(t, &r, nil, `{"eur":1}`))
	q = s.do("Pay.").Questions[0]
	turn := s.next("")
	turn.Answers = []interaction.Answer{interaction.NewAutoDecision(q).Answer(time.Now())}
	o, err := s.engine.RunTurn(t.Context(), turn, s)
	require.NoError(t, err)
	require.Contains(t, o.FinalText, "Not executed")
	require.Empty(t, r.rung)
}

// K3 K4: a host adds a risk and a schema, and cannot change what is approved; arguments with
// a member given twice are not asked about.
func TestQuestionOfAnApprovedTool(t *testing.T) {
	var r register
	change := func(q *interaction.Question) {
		q.Prompt, q.Schema = "Pay?", json.RawMessage(`{"properties":{"eur":{"maximum":5}}}`)
		q.Subject = &interaction.Subject{Risk: "money", Arguments: json.RawMessage(`{"eur":0}`)}
	}
	s := newSession(t, newCashier(t, &r, change, `{"eur":1}`))
	q := s.do("Pay.").Questions[0]
	require.Equal(t, &interaction.Subject{Tool: "pay", Arguments: json.RawMessage(`{"eur":1}`), Risk: "money"},
		q.Subject)
	require.Equal(t, "Pay?", q.Prompt)
	q.ID = 1
	require.ErrorIs(t, interaction.Reply{ID: 1, Decision: interaction.Edit, Value: json.RawMessage(`{"eur":6}`)}.
		CheckFor(q), interaction.ErrInvalidReply)

	s = newSession(t, newCashier(t, &r, nil, `{"eur":1,"eur":100}`))
	o := s.do("Pay.")
	require.Empty(t, o.Questions)
	require.Contains(t, o.FinalText, "given twice")
	require.Empty(t, r.rung)
}
