package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

func returning(o engine.Outcome, err error) engine.Func {
	return func(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) { return o, err }
}

// B11: a function's run may wait, though the function returns no handle.
func TestFuncAlwaysGivesAHandle(t *testing.T) {
	own := &engine.SessionHandle{Engine: "mine", Data: []byte("42")}
	first := engine.Turn{RunID: "r1", Attempt: 1}

	o, err := returning(engine.Say("hello"), nil).RunTurn(t.Context(), first, &enginetest.Recorder{})
	require.NoError(t, err)
	require.Equal(t, &engine.SessionHandle{Engine: "func", Data: []byte("r1")}, o.Session, "it names the run")

	later := engine.Turn{RunID: "r1", Attempt: 2, Session: own}
	o, err = returning(engine.Say("hello"), nil).RunTurn(t.Context(), later, &enginetest.Recorder{})
	require.NoError(t, err)
	require.Nil(t, o.Session, "the run keeps the one that it has")

	given := engine.Say("hello")
	given.Session = own
	o, err = returning(given, nil).RunTurn(t.Context(), first, &enginetest.Recorder{})
	require.NoError(t, err)
	require.Equal(t, own, o.Session, "the function's own counts")

	early := engine.Func(func(ctx context.Context, _ engine.Turn, s engine.Sink) (engine.Outcome, error) {
		return engine.Say("hello"), s.Session(ctx, *own)
	})
	var told enginetest.Recorder
	o, err = early.RunTurn(t.Context(), first, &told)
	require.NoError(t, err)
	require.Nil(t, o.Session, "one that was told early is not replaced")
	require.Equal(t, own, told.Last())
}

// A function receives its own state only.
func TestFuncFindsItsOwnStateOnly(t *testing.T) {
	o, err := returning(engine.Say("hello").WithState([]byte("42")), nil).RunTurn(t.Context(),
		engine.Turn{RunID: "r1"}, &enginetest.Recorder{})
	require.NoError(t, err)
	require.Equal(t, []byte("42"), engine.Turn{Session: o.Session}.State())
	require.Nil(t, engine.Say("hello").WithState(nil).Session, "the run keeps the one that it has")

	unnamed, err := returning(engine.Say("hello"), nil).RunTurn(t.Context(), engine.Turn{RunID: "r1"},
		&enginetest.Recorder{})
	require.NoError(t, err)
	foreign := &engine.SessionHandle{Engine: "mine", Version: "state", Data: []byte("1")}
	for _, h := range []*engine.SessionHandle{nil, unnamed.Session, foreign} {
		require.Nil(t, engine.Turn{Session: h}.State())
	}
}

func TestFuncOutcomeIsOKByDefault(t *testing.T) {
	o, err := returning(engine.Outcome{}, nil).RunTurn(t.Context(), engine.Turn{RunID: "r1"}, &enginetest.Recorder{})
	require.NoError(t, err)
	require.Equal(t, engine.OK, o.Process.Status)

	o, err = returning(engine.Outcome{Process: engine.Process{Status: engine.Failed}}, nil).RunTurn(t.Context(),
		engine.Turn{RunID: "r1"}, &enginetest.Recorder{})
	require.NoError(t, err)
	require.Equal(t, engine.Failed, o.Process.Status)

	wrong := errors.New("no such model")
	o, err = returning(engine.Outcome{}, wrong).RunTurn(t.Context(), engine.Turn{RunID: "r1"}, &enginetest.Recorder{})
	require.ErrorIs(t, err, wrong)
	require.Nil(t, o.Session, "a turn that failed leaves nothing to resume")
}

// B4, B6, B10: the short forms leave the promised evidence.
func TestAskSayDoneAndOutputMakeTheirOutcomes(t *testing.T) {
	require.Equal(t, engine.Outcome{Process: engine.Process{Status: engine.OK}, FinalText: "shipped", Done: true},
		engine.Done("shipped"))
	require.False(t, engine.Say("not yet").Done)
	require.Equal(t, "Ship it?", engine.Ask(interaction.Question{Kind: interaction.Confirm,
		Prompt: "Ship it?"}).Questions[0].Prompt)

	o, err := engine.Output(struct {
		Answer int `json:"answer"`
	}{42})
	require.NoError(t, err)
	require.True(t, o.Done)
	require.JSONEq(t, `{"answer":42}`, string(o.Output))

	o, err = engine.Output(map[string]any(nil))
	require.NoError(t, err)
	require.True(t, o.Done)
	require.JSONEq(t, `{}`, string(o.Output))
	for _, wrong := range []any{42, "text", []int{1}, func() {}} {
		_, err := engine.Output(wrong)
		require.ErrorContains(t, err, "JSON object")
	}
	_, err = engine.Output(map[string]any{"eur": json.Number("1e400")})
	require.ErrorContains(t, err, "above the range of a float64")
}

// J12: a function is plain code, unless the host says that it speaks for a language model.
func TestFuncProfileIsResumableAndPlain(t *testing.T) {
	p, err := engine.Func(nil).Profile(t.Context())
	require.NoError(t, err)
	require.Equal(t, fsm.ProfileResumable, p.Kind)
	require.True(t, p.Plain)
	p, err = engine.Model(nil).Profile(t.Context())
	require.NoError(t, err)
	require.Equal(t, fsm.ProfileResumable, p.Kind)
	require.False(t, p.Plain)
}

func TestTurnInputIsTheAnswerOrThePrompt(t *testing.T) {
	require.Equal(t, "do it", engine.Turn{Prompt: "do it"}.Input())
	require.Equal(t, "yes", engine.Turn{Prompt: "do it", Answers: []interaction.Answer{{Text: "yes"}}}.Input())
}

// K1: the text of a turn with several answers has each with its question, in order, and marks the
// missing ones.
func TestTurnInputHasEachAnswerToSeveralQuestions(t *testing.T) {
	answers := []interaction.Answer{{ID: 4, Text: "red"}, {ID: 5, Resolution: interaction.Superseded},
		{ID: 6, Decision: interaction.Reject, Text: "too dear"}, {ID: 7, Resolution: interaction.Abandoned}}
	require.Equal(t, "Answer to question 4, the 1st of 4:\nred\n\n"+
		"Answer to question 5, the 2nd of 4:\nThere is no answer: the others were enough to go on.\n\n"+
		"Answer to question 6, the 3rd of 4:\nRejected: do not do it. The reason is:\n\ntoo dear\n\n"+
		"Answer to question 7, the 4th of 4:\nThere is no answer: the others were enough to go on.",
		engine.Turn{Prompt: "do it", Plain: true, Answers: answers}.Input())
	require.Equal(t, "red", engine.Turn{Answers: answers[:1]}.Input(), "one answer is left as it is")
}

// K1: several questions make one outcome; a single one equals Ask's.
func TestAskAllMakesOneOutcome(t *testing.T) {
	a, b := engine.Question{Prompt: "a"}, engine.Question{Prompt: "b"}
	require.Equal(t, engine.Ask(a), engine.AskAll(a))
	require.Equal(t, engine.Outcome{Process: engine.Process{Status: engine.OK}, Questions: []engine.Question{a, b}},
		engine.AskAll(a, b))
}

// B1: a failure's text has its code, detail and cause.
func TestFailureErrorHasItsCodeDetailAndCause(t *testing.T) {
	why := errors.New("not in PATH")
	err := error(&engine.Failure{Code: fsm.CodeEngineUnavailable, Detail: "the agent cannot be started", Err: why})
	require.ErrorIs(t, err, why)
	require.Equal(t, "ENGINE_UNAVAILABLE: the agent cannot be started: not in PATH", err.Error())
	require.Equal(t, "ENGINE_FAILED: away", (&engine.Failure{Code: fsm.CodeEngineFailed, Detail: "away"}).Error())
}
