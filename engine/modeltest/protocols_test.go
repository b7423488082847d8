package modeltest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/enginetest/script"
	"github.com/interlude-go/interlude/engine/internal/modelagent"
	"github.com/interlude-go/interlude/engine/modeltest"
	"github.com/interlude-go/interlude/interaction"
)

func started(tb testing.TB, cfg modeltest.Config) *modeltest.Server {
	tb.Helper()
	s, err := modeltest.Start(cfg)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return s
}

func userTexts(texts ...string) []modelagent.Entry {
	var all []modelagent.Entry
	for _, t := range texts {
		all = append(all, modelagent.Entry{Role: modeltest.User, Text: t})
	}
	return all
}

// everyWay runs the test in each protocol, streamed and not.
func everyWay(t *testing.T, play func(t *testing.T, q modelagent.Question)) {
	t.Helper()
	s := started(t, modeltest.Config{Pause: 1})
	for _, api := range []modeltest.API{modeltest.Responses, modeltest.Chat, modeltest.Messages, modeltest.Gemini} {
		for _, stream := range []bool{true, false} {
			name := string(api)
			if stream {
				name += " streamed"
			}
			t.Run(name, func(t *testing.T) { play(t, modelagent.Question{API: api, URL: s.URL, Stream: stream}) })
		}
	}
}

// asked asks the model, and fails the test without an answer.
func asked(tb testing.TB, q modelagent.Question, session ...modelagent.Entry) modelagent.Answer {
	tb.Helper()
	q.Session = session
	a, err := modelagent.Ask(tb.Context(), q)
	require.NoError(tb, err)
	require.True(tb, a.Ended)
	return a
}

// A request for the rest of an incomplete answer returns the rest.
func TestAnswerThatBrokeOffGoesOn(t *testing.T) {
	text := func(a modeltest.Answer) (all string) {
		for _, p := range a.Pieces {
			all += p.Text
		}
		return all
	}
	c := modeltest.Conversation{Messages: []modeltest.Message{{Role: modeltest.User,
		Text: script.Script("delta one half", "first 1 drop", `delta " and the other"`)}}}
	first := modeltest.ByScript(c, 0)
	require.Equal(t, modeltest.Drop, first.End)
	require.Equal(t, "one half", text(first))
	for _, got := range []string{"one half", "one ha", ""} {
		again := c
		again.Messages = slices.Concat(c.Messages, []modeltest.Message{{Role: modeltest.Assistant, Text: got},
			{Role: modeltest.User, Text: "Resume. <previous_response_suffix>" + got + "</previous_response_suffix>"}})
		require.Equal(t, "one half and the other", got+text(modeltest.ByScript(again, 0)))
	}
}

func TestAnswerFollowsTheScriptOfTheLastUserText(t *testing.T) {
	everyWay(t, func(t *testing.T, q modelagent.Question) {
		say := func(steps ...string) string {
			return asked(t, q, userTexts(":: final the wrong one", "Please do:\n"+script.Script(steps...)+
				"Thank you.\n")...).Text
		}
		require.Equal(t, "three", say("final one", "delta two", "final three"))
		require.Equal(t, "the quick föx", say(`delta "the qu"`, `delta "ick "`, `delta "fö"`, `delta "x"`))
		require.Equal(t, "ok", say("note nothing to say"))
		require.Equal(t, `{"a":1}`, say(`output {"a":1}`))
		require.Equal(t, "in pieces", say("slow 4", "final in pieces"))

		done := interaction.Read(say("done all is well"), nil)
		require.True(t, done.Done)
		require.Equal(t, "all is well", done.Text)
		question := interaction.Read(say(`ask "May \"I\"?"`), nil).Question
		require.NotNil(t, question)
		require.Equal(t, `May "I"?`, question.Prompt)
		output := interaction.Read(say("final here it is", `output {"a":1}`), nil)
		require.JSONEq(t, `{"a":1}`, string(output.Output))
	})
}

func TestRecallRepeatsTheHistory(t *testing.T) {
	everyWay(t, func(t *testing.T, q modelagent.Question) {
		a := asked(t, q, userTexts("Begin.\n:: note first", ":: note second\n:: ask What?",
			"third\n:: note \"third\"\n:: recall")...)
		require.Equal(t, "first | second | third", a.Text, "the notes, and nothing of what agents may have written "+
			"beside them")
	})
}

func TestTextIsStreamedInPieces(t *testing.T) {
	everyWay(t, func(t *testing.T, q modelagent.Question) {
		if !q.Stream {
			return
		}
		a := asked(t, q, userTexts(":: flood 500")...)
		require.Equal(t, 500, a.Pieces)
		require.Equal(t, 500, strings.Count(a.Text, "wave "))
		a = asked(t, q, userTexts(":: slow 7\n:: final a longer text")...)
		require.Equal(t, 7, a.Pieces)
	})
}

func TestScriptContinuesAfterAToolResult(t *testing.T) {
	everyWay(t, func(t *testing.T, q modelagent.Question) {
		session := userTexts(":: say one\n:: tool echo hello\n:: delta \"it said \"\n:: result\n")
		a := asked(t, q, session...)
		require.Equal(t, "one", a.Text, "a message that is to be seen at once comes with a call")
		require.NotNil(t, a.Call)
		require.Equal(t, "true", a.Call.Text)

		result := func(text string) {
			call := *a.Call
			session = append(session, call, modelagent.Entry{Role: modeltest.ToolResult, Text: text, ID: call.ID})
			a = asked(t, q, session...)
		}
		result("")
		require.NotNil(t, a.Call)
		require.Equal(t, "echo hello", a.Call.Text)
		result("hello")
		require.Nil(t, a.Call)
		require.Equal(t, "hello", a.Text)
	})
}

func TestToolStepWithoutToolsFails(t *testing.T) {
	everyWay(t, func(t *testing.T, q modelagent.Question) {
		q.NoTools = true
		require.Equal(t, "one\n\ntwo", asked(t, q, userTexts(":: say one\n:: delta two")...).Text)
		require.Contains(t, asked(t, q, userTexts(":: tool echo hello")...).Text, "no tool is offered")
		require.Contains(t, asked(t, q, userTexts(":: write /tmp/x hello")...).Text, "no tool is offered")
	})
}

func TestFailStepAnswersWithTheErrorOfTheAPI(t *testing.T) {
	everyWay(t, func(t *testing.T, q modelagent.Question) {
		for steps, want := range map[string]modelagent.APIError{
			":: done well\n:: fail the model is away": {Status: 400, Message: "the model is away"},
			":: fail 529 overloaded":                  {Status: 529, Message: "overloaded"},
			":: dance": {Status: 400, Message: "modeltest: the model does not know " +
				"the step dance"},
		} {
			q.Session = userTexts(steps)
			_, err := modelagent.Ask(t.Context(), q)
			var got *modelagent.APIError
			require.ErrorAs(t, err, &got)
			require.Equal(t, want, *got)
		}
	})
}

func TestAskFailsIfTheAnswerIsBroken(t *testing.T) {
	everyWay(t, func(t *testing.T, q modelagent.Question) {
		for _, steps := range []string{":: final half a\n:: drop", ":: final half a\n:: cut",
			`:: raw "data: {\"type\": oops\n\n"`} {
			q.Session = userTexts(steps)
			_, err := modelagent.Ask(t.Context(), q)
			require.Error(t, err, steps)
		}
		require.Equal(t, "f\uFFFD\uFFFDx", asked(t, q, userTexts(`:: final "f\xff\xfex"`)...).Text,
			"what is no UTF-8 arrives as it was")
	})
}

func TestRetryAfterAFailureSucceeds(t *testing.T) {
	everyWay(t, func(t *testing.T, q modelagent.Question) {
		q.Session = userTexts(string(q.API) + "\n:: first 1 fail 529 overloaded\n:: first 2 drop\n:: final here\n")
		if q.Stream {
			q.Session[0].Text += ":: note streamed\n"
		}
		var overloaded *modelagent.APIError
		_, err := modelagent.Ask(t.Context(), q)
		require.ErrorAs(t, err, &overloaded)
		_, err = modelagent.Ask(t.Context(), q)
		require.Error(t, err)
		require.Equal(t, "here", asked(t, q, q.Session...).Text)
	})
}

// Side calls contain the user's text, but must not execute its steps.
func TestSideCallsGetAHarmlessAnswer(t *testing.T) {
	everyWay(t, func(t *testing.T, q modelagent.Question) {
		q.NoTools = true
		title := asked(t, q, userTexts("Generate a title for this conversation:\n", ":: hang")...)
		require.Equal(t, "A test", title.Text)

		q.Schema = map[string]any{"type": "object", "required": []string{"reason", "score", "next", "deep", "all",
			"sure", "none", "either"}, "properties": map[string]any{
			"reason": map[string]any{"type": "STRING"}, "score": map[string]any{"type": "integer", "minimum": 3},
			"sure": map[string]any{"type": "boolean"},
			"next": map[string]any{"enum": []string{"model", "user"}}, "all": map[string]any{"type": "array",
				"minItems": 1, "items": map[string]any{"const": 7}},
			"deep":   map[string]any{"type": []string{"object", "null"}, "required": []string{"x"}},
			"none":   map[string]any{"type": "null"},
			"either": map[string]any{"anyOf": []any{map[string]any{"type": "string"}}},
			"more":   map[string]any{"type": "string"},
		}}
		routed := asked(t, q, userTexts(":: hang")...)
		require.JSONEq(t, `{"reason":"test","score":3,"next":"user","deep":{"x":{}},"all":[7],"sure":false,"none":null,"either":"test"}`, routed.Text)

		q.NoTools = false
		require.Equal(t, `{"mine":1}`, asked(t, q, userTexts(`:: output {"mine":1}`)...).Text,
			"a conversation may have a schema too")
	})
}
