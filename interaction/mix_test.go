package interaction_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// B4 B6: an output is found next to any other text.
func TestReadFindsOutputBesideOtherText(t *testing.T) {
	fence := "```json\n{\"a\":1}\n```\n"
	for name, c := range map[string]struct {
		text, structured string
		output           string
		done             bool
	}{
		"B6/prose that begins with a bracket": {text: "[x] Step one.\n" + fence, output: `{"a":1}`},
		"B6/prose that begins with a brace":   {text: "{braces} first.\n" + fence, output: `{"a":1}`},
		"B4/prose that names the tag": {text: "I need no <ASK_USER_YAML> here.\n" + fence +
			"__SKILL_DONE__\n", output: `{"a":1}`, done: true},
		"B4/a question that has no end": {text: fence +
			"<ASK_USER_YAML>\nkind: confirm\n\n__SKILL_DONE__\n", output: `{"a":1}`, done: true},
		"B6/a field ask_user that asks nothing": {text: "```json\n{\"a\":1,\"ask_user\":false}\n```",
			output: `{"a":1,"ask_user":false}`},
		"B6/the same as a whole message": {text: `{"a":1,"ask_user":"never"}`,
			output: `{"a":1,"ask_user":"never"}`},
		"B6/an engine's null is no output": {text: fence, structured: "null", output: `{"a":1}`},
		"B4/a marker field that is written escaped": {text: `{"a":1,"__SKILL_DON\u0045__":true}`, output: `{"a":1}`,
			done: true},
		"B6/a broken question's JSON is no output": {text: "```ask_user\n{\"a\":1}\n```\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := interaction.Read(c.text, json.RawMessage(c.structured))
			require.Equal(t, c.output, string(r.Output))
			require.Equal(t, c.done, r.Done)
			require.Nil(t, r.Question)
		})
	}
}

// B10: a question and an output in one object are separated, wherever in the text the object is.
func TestReadSeparatesQuestionAndOutputOfOneObject(t *testing.T) {
	object := `{"a":1,"ask_user":{"kind":"confirm","prompt":"Go on?"}}`
	for name, c := range map[string]struct{ text, structured, shown string }{
		"B10/structured":         {"Look.", object, "Look."},
		"B10/the whole message":  {object, "", `{"a":1}`},
		"B10/a fenced block":     {"Look.\n```json\n" + object + "\n```\n", "", "Look.\n```json\n{\"a\":1}\n```"},
		"B10/said and handed in": {object, object, `{"a":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := interaction.Read(c.text, json.RawMessage(c.structured))
			require.NotNil(t, r.Question)
			require.Equal(t, "Go on?", r.Question.Prompt)
			require.Equal(t, `{"a":1}`, string(r.Output))
			require.Equal(t, c.shown, r.Text)
			require.Empty(t, r.Diagnostics)
		})
	}
	t.Run("C2/a broken question beside an output leaves the output", func(t *testing.T) {
		for _, text := range []string{"```json\n{\"a\":\"<&>\",\"ask_user\":{\"kind\":\"confirm\"}}\n```",
			`{"a":"<&>","ask_user":{"kind":"confirm"}}`} {
			r := interaction.Read(text, nil)
			require.Nil(t, r.Question)
			require.Equal(t, `{"a":"<&>"}`, string(r.Output))
			require.Equal(t, text, r.Text)
			require.Len(t, r.Diagnostics, 1)
		}
	})
	t.Run("C2/the same question said and handed in is one", func(t *testing.T) {
		fence := "```json\n{\"ask_user\":{\"kind\":\"confirm\",\"prompt\":\"Go on?\"}}\n```"
		r := interaction.Read(fence, json.RawMessage(`{"ask_user":{"kind":"confirm","prompt":"Go on?"}}`))
		require.NotNil(t, r.Question)
		require.Empty(t, r.Diagnostics)
		require.Nil(t, r.Output)
	})
	t.Run("C2/another question handed in is one too many", func(t *testing.T) {
		fence := "```json\n{\"ask_user\":{\"kind\":\"confirm\",\"prompt\":\"Go on?\"}}\n```"
		for _, other := range []string{`{"ask_user":{"kind":"confirm","prompt":"Stop?"}}`,
			`{"ask_user":{"kind":"confirm"}}`} {
			r := interaction.Read(fence, json.RawMessage(other))
			require.Equal(t, "Go on?", r.Question.Prompt)
			require.Equal(t, []interaction.Diagnostic{{Code: fsm.WarnAskUserSurplus,
				Detail: "2 questions in one turn; only the first is asked"}}, r.Diagnostics)
			require.Nil(t, r.Output)
		}
	})
}

// C2: when a question cannot be read, the person is shown the text as the agent wrote it.
func TestReadShowsTheTextOfAMalformedQuestion(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		code fsm.Warning
	}{
		"a colon in the prompt": {"<ASK_USER_YAML>\nkind: confirm\nprompt: Which region: EU or US?\n</ASK_USER_YAML>",
			fsm.WarnAskUserMalformed},
		"an open tag":   {"<ASK_USER_YAML>\nkind: confirm\nprompt: Which region", fsm.WarnAskUserMalformed},
		"an open fence": {"```ask_user\nkind: confirm\nprompt: Which region", fsm.WarnAskUserMalformed},
		"a comma too many": {"```json\n{\"ask_user\": {\"prompt\": \"Which region?\",}}\n```",
			fsm.WarnAskUserMalformed},
		"the same, whole message": {"{\"ask_user\": {\"prompt\": \"Which region?\",}}", fsm.WarnAskUserMalformed},
		"no prompt": {`{"ask_user": {"kind": "confirm", "question": "Which region?"}}`,
			fsm.WarnAskUserMalformed},
		"a text": {`{"ask_user": "Which region?"}`, fsm.WarnAskUserMalformed},
		"a list": {"```json\n{\"ask_user\": [{\"prompt\": \"Which region?\"}]}\n```",
			fsm.WarnAskUserMalformed},
		"oversized": {
			"```json\n{\"ask_user\": {\"prompt\": \"Which region?\", \"x\": \"" + strings.Repeat("x",
				interaction.MaxAskUser) + "\"}}\n```", fsm.WarnAskUserTruncated,
		},
	} {
		t.Run("C2/"+name, func(t *testing.T) {
			r := interaction.Read(c.text, nil)
			require.Nil(t, r.Question)
			require.Nil(t, r.Output, "what was meant as a question is no output")
			require.Len(t, r.Diagnostics, 1)
			require.Equal(t, c.code, r.Diagnostics[0].Code)
			asked := interaction.Baseline(r.Text)
			require.Equal(t, interaction.OpenText, asked.Kind)
			require.Contains(t, asked.Prompt, "Which region")
		})
	}
	t.Run("C2/a marker inside it is no marker", func(t *testing.T) {
		r := interaction.Read("```ask_user\nkind: [\n__SKILL_DONE__\n```", nil)
		require.False(t, r.Done)
		require.Contains(t, r.Text, "kind: [")
	})
}

// C1: a mention of the tag in prose does not prevent that the question after it is read.
func TestReadFindsAQuestionAfterTextThatMentionsTheTag(t *testing.T) {
	r := interaction.Read("I ask with <ASK_USER_YAML>, as told:\n```json\n{\"a\":1}\n```\n<ASK_USER_YAML>\nkind: "+
		"confirm\nprompt: Go on?\n</ASK_USER_YAML>\n", nil)
	require.NotNil(t, r.Question)
	require.Equal(t, "Go on?", r.Question.Prompt)
	require.Equal(t, `{"a":1}`, string(r.Output))
	require.Empty(t, r.Diagnostics)

	r = interaction.Read("<ASK_USER_YAML>\nkind: confirm\nprompt: Shall I write <ASK_USER_YAML>?\n</ASK_USER_YAML>\n",
		nil)
	require.NotNil(t, r.Question)
	require.Equal(t, "Shall I write <ASK_USER_YAML>?", r.Question.Prompt)
}

// C1: a number in an option keeps the form in which the agent wrote it.
func TestReadKeepsNumbersOfOptionsAsWritten(t *testing.T) {
	r := interaction.Read(
		`{"ask_user":{"kind":"choose_one","prompt":"How many?","options":[{"label":"many","value":1000000},12345678901234567890,1.50],"ui_hints":{"rows":2}}}`, nil)
	require.NotNil(t, r.Question)
	require.Equal(t, []interaction.Option{
		{Label: "many", Value: "1000000"}, {Label: "12345678901234567890", Value: "12345678901234567890"},
		{Label: "1.50", Value: "1.50"},
	}, r.Question.Options)
	require.Equal(t, map[string]any{"rows": 2.0}, r.Question.UIHints)
}

// C2 I11: tags that open and close in any order are read in linear time, and only one question is
// parsed.
func TestReadTakesLinearTimeForHostileTags(t *testing.T) {
	const open, end = "<ASK_USER_YAML>", "</ASK_USER_YAML>"
	for name, text := range map[string]string{
		"opened by lines, closed once":     strings.Repeat(open+"\n", 200_000) + end,
		"opened in lines, closed once":     strings.Repeat("x "+open+"\n", 200_000) + open + "\n" + end,
		"opened in one line, never closed": strings.Repeat(open, 200_000),
		"closed only":                      strings.Repeat(end+"\n", 200_000),
		"many questions":                   strings.Repeat(open+strings.Repeat("a: b\n# c\n", 1000)+end+"\n", 300),
	} {
		t.Run("C2/"+name, func(t *testing.T) {
			began := time.Now()
			r := interaction.Read(text, nil)
			require.Nil(t, r.Question)
			require.LessOrEqual(t, len(r.Diagnostics), 17)
			require.Less(t, time.Since(began), time.Minute, "were it quadratic, this would take hours")
		})
	}
}
