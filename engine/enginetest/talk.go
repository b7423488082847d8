package enginetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// Talk is a run as its engine sees it: its turns in sequence, each with answers to the last turn's
// questions and with the last session. It is the Sink of its turns, and is not for concurrent use.
type Talk struct {
	testing.TB
	Recorder
	Engine engine.Engine
	Turn   engine.Turn            // the last one
	Asked  []interaction.Question // by the last turn
}

// NewTalk returns an interactive run before its first turn.
func NewTalk(tb testing.TB, e engine.Engine) *Talk {
	tb.Helper()
	return &Talk{TB: tb, Engine: e, Turn: engine.Turn{RunID: "r1", Mode: fsm.ModeInteractive, HomeDir: tb.TempDir()}}
}

// Next returns the run's next turn: with the prompt, or a text for each question of the last turn.
func (s *Talk) Next(inputs ...string) engine.Turn {
	s.Turn.Attempt++
	s.Turn.Epoch++
	s.Turn.Answers = nil
	for i, input := range inputs {
		if s.Turn.Attempt == 1 {
			s.Turn.Prompt = input
			break
		}
		a := interaction.Answer{ID: i + 1, Resolution: interaction.UserReply, Text: input}
		if i < len(s.Asked) {
			a.Ref = s.Asked[i].Ref
		}
		s.Turn.Answers = append(s.Turn.Answers, a)
	}
	return s.Turn
}

// Do executes the next turn, which must succeed.
func (s *Talk) Do(inputs ...string) engine.Outcome {
	s.Helper()
	o, err := s.Execute(s.Next(inputs...))
	require.NoError(s, err)
	require.Equal(s, engine.OK, o.Process.Status)
	return o
}

// Fails executes the next turn, which must fail.
func (s *Talk) Fails(input string) *engine.Failure {
	s.Helper()
	_, err := s.Engine.RunTurn(s.Context(), s.Next(input), s)
	var f *engine.Failure
	require.ErrorAs(s, err, &f)
	return f
}

// Execute executes a turn from Next, perhaps with other answers.
func (s *Talk) Execute(t engine.Turn) (engine.Outcome, error) {
	o, err := s.Engine.RunTurn(s.Context(), t, s)
	if o.Session != nil {
		s.Turn.Session = o.Session
	}
	s.Asked = o.Questions
	return o, err
}

// Decide replies to the question of the last turn, and executes the next turn.
func (s *Talk) Decide(q engine.Question, r interaction.Reply) (engine.Outcome, error) {
	s.Helper()
	turn := s.Next()
	turn.Answers = []interaction.Answer{s.AnswerTo(q, r)}
	return s.Execute(turn)
}

// AnswerTo returns the answer that a reply to a question of the last turn gives.
func (s *Talk) AnswerTo(q engine.Question, r interaction.Reply) interaction.Answer {
	s.Helper()
	q.ID, r.ID = s.Turn.Attempt, s.Turn.Attempt
	q, odd := interaction.Normalize(q)
	require.Empty(s, odd)
	require.NoError(s, r.ValidateFor(q))
	return r.AnswerTo(&q, time.Now())
}
