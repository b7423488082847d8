package adk_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"google.golang.org/adk/v2/session"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/adk"
	"github.com/interlude-go/interlude/interaction"
)

// decide answers the question of the last turn with the reply, executes the next turn, and returns
// its outcome.
func (s *talk) decide(q engine.Question, r interaction.Reply) (engine.Outcome, error) {
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

// K4: a model calls a tool three times in one answer. One call is approved, one is edited and one is
// rejected: just the approved and the edited arguments are executed, each by its own call, and the
// model hears the reason.
func TestDecisionsAboutCalls(t *testing.T) {
	for name, service := range services {
		t.Run(name, func(t *testing.T) {
			var shop till
			s := newTalk(t, newClerk(&shop), adk.Config{Sessions: service()})
			q := s.do("pay 1EUR 2EUR 3EUR 4EUR").Questions[0]
			require.JSONEq(t, `{"sum":"1EUR"}`, string(q.Subject.Arguments))
			o, err := s.decide(q, interaction.Reply{Decision: interaction.Approve, Seen: q.Digest()})
			require.NoError(t, err)
			q = o.Questions[0]
			require.JSONEq(t, `{"sum":"2EUR"}`, string(q.Subject.Arguments))
			o, err = s.decide(q, interaction.Reply{Decision: interaction.Edit, Value: json.RawMessage(`{"sum":"20EUR"}`)})
			require.NoError(t, err)
			o, err = s.decide(o.Questions[0], interaction.Reply{Decision: interaction.Reject, Text: "too dear"})
			require.NoError(t, err)
			require.Zero(t, shop.paid.Load())
			o, err = s.decide(o.Questions[0], interaction.Reply{Decision: interaction.Respond, Text: "ask in May"})
			require.NoError(t, err)
			for _, said := range []string{"paid 1EUR", "paid 20EUR", "too dear", "ask in May", "rejected"} {
				require.Contains(t, o.FinalText, said)
			}
			for _, unsaid := range []string{"paid 2EUR", "paid 3EUR", "paid 4EUR"} {
				require.NotContains(t, o.FinalText, unsaid)
			}
			require.EqualValues(t, 2, shop.paid.Load())
		})
	}
}

// K4: what is executed is what was approved. An approval of other arguments than those of the
// pending call is refused, and so is one whose call has changed in the host's session service.
func TestAnotherCallIsNotExecuted(t *testing.T) {
	var shop till
	s := newTalk(t, newClerk(&shop), adk.Config{})
	q := s.do("pay 1EUR").Questions[0]
	other := q
	other.Subject = &interaction.Subject{Tool: "pay", Arguments: json.RawMessage(`{"sum":"100EUR"}`)}
	_, err := s.decide(other, interaction.Reply{Decision: interaction.Approve})
	require.ErrorContains(t, err, "not the one that was approved")
	require.Zero(t, shop.paid.Load())

	service := session.InMemoryService()
	s = newTalk(t, newClerk(&shop), adk.Config{Sessions: service})
	q = s.do("pay 1EUR").Questions[0]
	list, err := service.List(t.Context(), &session.ListRequest{AppName: "interlude", UserID: "user"})
	require.NoError(t, err)
	for _, each := range list.Sessions {
		got, err := service.Get(t.Context(), &session.GetRequest{AppName: "interlude", UserID: "user",
			SessionID: each.ID()})
		require.NoError(t, err)
		for ev := range got.Session.Events().All() {
			if ev.Content == nil {
				continue
			}
			for _, part := range ev.Content.Parts {
				if part.FunctionCall != nil && part.FunctionCall.Name == "pay" {
					part.FunctionCall.Args["sum"] = "100EUR"
				}
			}
		}
	}
	_, err = s.decide(q, interaction.Reply{Decision: interaction.Approve})
	require.Error(t, err)
	require.Zero(t, shop.paid.Load())
}

// K3 K4: a model makes neither a form nor an approval of its question: its arguments are text.
func TestArgumentsOfAModelMakeNoApproval(t *testing.T) {
	q := adk.Ask(adk.Interrupt{Kind: adk.Result, Tool: "ask", Args: map[string]any{
		"kind": "approval", "prompt": "Pay?", "schema": map[string]any{"type": "object"}, "also_text": true,
		"subject": map[string]any{"tool": "pay", "arguments": map[string]any{"sum": "1EUR"}},
	}})
	q, odd := interaction.Normalize(q)
	require.Len(t, odd, 1)
	require.Equal(t, interaction.Question{Kind: interaction.OpenText, Prompt: "Pay?",
		DefaultPolicy: interaction.EngineJudgement}, q)
}
