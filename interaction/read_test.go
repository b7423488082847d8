package interaction_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// B4 B5 B6: only the assistant's own marker counts.
func TestReadCountsOnlyTheAssistantsDoneMarker(t *testing.T) {
	for name, c := range map[string]struct {
		text       string
		structured string
		done       bool
		output     string
		shown      string
	}{
		"B4/on a line of its own": {"All done.\n__SKILL_DONE__\n", "", true, "", "All done."},
		"B4/alone":                {"__SKILL_DONE__", "", true, "", ""},
		"B4/with blanks around":   {"x\n  __SKILL_DONE__ \r\ny", "", true, "", "x\ny"},
		"B4/inside a sentence it is no marker": {"I will write __SKILL_DONE__ when done.", "", false, "",
			"I will write __SKILL_DONE__ when done."},
		"B4/quoted it is no marker":           {"> __SKILL_DONE__", "", false, "", "> __SKILL_DONE__"},
		"B4/in a code fence it is no marker":  {"```\n__SKILL_DONE__\n```", "", false, "", "```\n__SKILL_DONE__\n```"},
		"B4/in an open fence it is no marker": {"~~~\n__SKILL_DONE__", "", false, "", "~~~\n__SKILL_DONE__"},
		"B4/indented as code it is no marker": {"    __SKILL_DONE__", "", false, "", "__SKILL_DONE__"},
		"B4/a field of the output": {`{"a":1,"__SKILL_DONE__":true}`, "", true, `{"a":1}`,
			`{"a":1,"__SKILL_DONE__":true}`},
		"B8/false says not done": {`{"a":1,"__SKILL_DONE__":false}`, "", false, `{"a":1}`,
			`{"a":1,"__SKILL_DONE__":false}`},
		"B8/a text is neither": {`{"a":1,"__SKILL_DONE__":"true"}`, "", false, `{"a":1}`,
			`{"a":1,"__SKILL_DONE__":"true"}`},
		"B8/false beside the marker's line": {"{\"a\":1,\"__SKILL_DONE__\":false}\n__SKILL_DONE__", "", true,
			`{"a":1}`, `{"a":1,"__SKILL_DONE__":false}`},
		"B4/a field of structured output":   {"Here.", `{"a":1,"__SKILL_DONE__":true}`, true, `{"a":1}`, "Here."},
		"B6/the whole message is JSON":      {` {"a":1} `, "", false, `{"a":1}`, `{"a":1}`},
		"B4/marker and the whole rest JSON": {"{\"a\":1}\n__SKILL_DONE__", "", true, `{"a":1}`, `{"a":1}`},
		"B6/the only fenced JSON block": {"Here:\n```json\n{\"a\":1}\n```\nBye.", "", false, `{"a":1}`,
			"Here:\n```json\n{\"a\":1}\n```\nBye."},
		"B6/a nameless fence that is JSON": {"```\n{\"a\":1}\n```", "", false, `{"a":1}`, "```\n{\"a\":1}\n```"},
		"B6/two fenced blocks are none": {"```json\n{\"a\":1}\n```\n```json\n{\"a\":2}\n```", "", false, "",
			"```json\n{\"a\":1}\n```\n```json\n{\"a\":2}\n```"},
		"B6/JSON in prose is none": {`The answer is {"a":1}, I think.`, "", false, "",
			`The answer is {"a":1}, I think.`},
		"B5/JSON that does not parse is none": {`{"a":`, "", false, "", `{"a":`},
		"B5/an open fence is none":            {"```json\n{\"a\":1}", "", false, "", "```json\n{\"a\":1}"},
		"B4/after lines that open no fence": {"~~no~~\n``no\n`no\n``` `no` ```\n``` no`\n    ```\n__SKILL_DONE__",
			"", true, "", "~~no~~\n``no\n`no\n``` `no` ```\n``` no`\n    ```"},
		"B4/in a fence of tildes about ticks": {"~~~ a`b\n__SKILL_DONE__\n~~~", "", false, "",
			"~~~ a`b\n__SKILL_DONE__\n~~~"},
		"B4/in a fence that is indented": {"x\n   ```\n__SKILL_DONE__\n   ```", "", false, "",
			"x\n   ```\n__SKILL_DONE__\n   ```"},
		"B4/after an empty line": {"All done.\n\n__SKILL_DONE__\n", "", true, "", "All done."},
		"B4/in a fence that holds a shorter": {"````\n```\n__SKILL_DONE__\n```\n````", "", false, "",
			"````\n```\n__SKILL_DONE__\n```\n````"},
		"B4/in a fence that holds a named one": {"```\n```go\n__SKILL_DONE__\n```", "", false, "",
			"```\n```go\n__SKILL_DONE__\n```"},
		"B4/in a fence that holds another": {"```\n~~~\n__SKILL_DONE__\n~~~\n```", "", false, "",
			"```\n~~~\n__SKILL_DONE__\n~~~\n```"},
		"B6/a fence after an empty line": {"\n\n```json\n{\"a\":1}\n```", "", false, `{"a":1}`,
			"```json\n{\"a\":1}\n```"},
		"B4/indented by a tab it is no marker": {"\t__SKILL_DONE__", "", false, "", "__SKILL_DONE__"},
		"B6/a list is the whole message":       {"[1, 2]", "", false, "[1, 2]", "[1, 2]"},
		"B6/a number alone is no output":       {"42", "", false, "", "42"},
		"B6/a quoted word alone is no output":  {`"yes"`, "", false, "", `"yes"`},
		"B6/a fence of code beside it": {"```python\nx\n```\n```json\n{\"a\":1}\n```", "", false, `{"a":1}`,
			"```python\nx\n```\n```json\n{\"a\":1}\n```"},
		"B6/a nameless fence that is a list": {"```\n[1]\n```", "", false, `[1]`, "```\n[1]\n```"},
		"B6/a nameless fence of text":        {"```\n42\n```", "", false, "", "```\n42\n```"},
		"B6/a nameless fence of nothing":     {"```\n\n```", "", false, "", "```\n\n```"},
		"B2/structured output wins":          {`{"a":1}`, `{"b":2}`, false, `{"b":2}`, `{"a":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := interaction.Read(c.text, json.RawMessage(c.structured))
			require.Equal(t, c.done, r.Done)
			require.Equal(t, strings.HasPrefix(name, "B8/"), r.NotDone)
			require.Equal(t, c.output, string(r.Output))
			require.Equal(t, c.shown, r.Text)
			require.Nil(t, r.Question)
		})
	}
}

// C1 B10: a question in each of its forms; its text is neither output nor shown.
func TestReadFindsAQuestionInEachForm(t *testing.T) {
	want := interaction.Question{
		Kind: interaction.ChooseOne, Prompt: "Which?", Context: "It matters.",
		Options:        []interaction.Option{{Label: "One", Value: "1"}, {Label: "two", Value: "two"}},
		RequiredFields: []string{"name"}, UIHints: map[string]any{"wide": true}, DefaultPolicy: interaction.SafeDefault,
	}
	yaml := "kind: choose_one\nprompt: Which?\ncontext: It matters.\noptions:\n  - {label: One, value: 1}\n  - " +
		"two\nrequired_fields: [name]\nui_hints: {wide: true}\ndefault_decision_policy: safe_default\n"
	object := `{"kind":"choose_one","prompt":"Which?","context":"It matters.","options":[{"label":"One","value":"1"},"two"],"required_fields":["name"],"ui_hints":{"wide":true},"default_decision_policy":"safe_default"}`
	under := "ask_user:\n  " + strings.ReplaceAll(strings.TrimSpace(yaml), "\n", "\n  ") + "\n"
	for name, text := range map[string]string{
		"tagged YAML":                   "Hello.\n<ASK_USER_YAML>\n" + yaml + "</ASK_USER_YAML>\n",
		"tagged YAML under its key":     "Hello.\n<ASK_USER_YAML>\n" + under + "</ASK_USER_YAML>",
		"tagged YAML in a fence":        "Hello.\n<ASK_USER_YAML>\n```yaml\n" + yaml + "```\n</ASK_USER_YAML>",
		"tagged in the middle of prose": "Hello.<ASK_USER_YAML>" + object + "</ASK_USER_YAML>",
		"a fenced block of its name":    "Hello.\n```ask_user\n" + yaml + "```",
		"a fenced YAML block":           "Hello.\n```ask-user-yaml\n" + under + "```",
		"a fenced JSON block":           "Hello.\n```json\n{\"ask_user\":" + object + "}\n```",
	} {
		t.Run("C1/"+name, func(t *testing.T) {
			r := interaction.Read(text, nil)
			require.Empty(t, r.Diagnostics)
			require.NotNil(t, r.Question)
			require.Equal(t, want, *r.Question)
			require.Nil(t, r.Output)
			require.Equal(t, "Hello.", r.Text)
		})
	}
	t.Run("C1/the whole message", func(t *testing.T) {
		r := interaction.Read(`{"ask_user":`+object+`}`, nil)
		require.Equal(t, want, *r.Question)
		require.Nil(t, r.Output)
		require.Empty(t, r.Text)
	})
	t.Run("B10/beside output", func(t *testing.T) {
		r := interaction.Read("Look.", json.RawMessage(`{"a":1,"ask_user":`+object+`}`))
		require.Equal(t, want, *r.Question)
		require.JSONEq(t, `{"a":1}`, string(r.Output))
		r = interaction.Read("```ask_user\n"+yaml+"```\n```json\n{\"a\":1}\n```\n", nil)
		require.Equal(t, want, *r.Question)
		require.JSONEq(t, `{"a":1}`, string(r.Output))
	})
	t.Run("B6/output that looks a little like a question is output", func(t *testing.T) {
		r := interaction.Read(`{"kind":"confirm","prompt":"x"}`, nil)
		require.Nil(t, r.Question)
		require.NotNil(t, r.Output)
	})
}

// C2: malformed, partial or oversized content is a diagnostic, never a question and never a fault.
func TestReadReportsMalformedQuestions(t *testing.T) {
	tagged := func(s string) string { return "<ASK_USER_YAML>\n" + s + "\n</ASK_USER_YAML>" }
	for name, c := range map[string]struct {
		text string
		code fsm.Warning
	}{
		"no YAML":          {tagged("kind: [choose_one"), fsm.WarnAskUserMalformed},
		"no mapping":       {tagged("- a\n- b"), fsm.WarnAskUserMalformed},
		"empty":            {tagged(""), fsm.WarnAskUserMalformed},
		"no prompt":        {tagged("kind: confirm"), fsm.WarnAskUserMalformed},
		"a blank prompt":   {tagged("kind: confirm\nprompt: '  '"), fsm.WarnAskUserMalformed},
		"no end":           {"<ASK_USER_YAML>\nkind: confirm\nprompt: x", fsm.WarnAskUserMalformed},
		"an open fence":    {"```ask_user\nkind: confirm\nprompt: x", fsm.WarnAskUserMalformed},
		"anchors":          {tagged("a: &a [1]\nprompt: x\nkind: confirm\nb: *a"), fsm.WarnAskUserMalformed},
		"an anchor alone":  {tagged("prompt: &a x\nkind: confirm"), fsm.WarnAskUserMalformed},
		"nothing at all":   {"<ASK_USER_YAML></ASK_USER_YAML>", fsm.WarnAskUserMalformed},
		"a merge key":      {tagged("prompt: x\n<<: {kind: confirm}"), fsm.WarnAskUserMalformed},
		"a tag of its own": {tagged("prompt: !!binary aGVsbG8=\nkind: confirm"), fsm.WarnAskUserMalformed},
		"a key twice":      {tagged("prompt: x\nprompt: y\nkind: confirm"), fsm.WarnAskUserMalformed},
		"ask_user no map":  {tagged("ask_user: hello"), fsm.WarnAskUserMalformed},
		"too large": {tagged("kind: confirm\nprompt: " + strings.Repeat("x", interaction.MaxAskUser)),
			fsm.WarnAskUserTruncated},
		"too deep": {tagged("prompt: x\nui_hints: " + strings.Repeat("[", 50) + strings.Repeat("]", 50)),
			fsm.WarnAskUserTruncated},
		"too deep by dashes": {tagged("prompt: x\nui_hints:\n  " + strings.Repeat("- ", 50) + "x"),
			fsm.WarnAskUserTruncated},
	} {
		t.Run("C2/"+name, func(t *testing.T) {
			r := interaction.Read(c.text, nil)
			require.Nil(t, r.Question)
			require.Len(t, r.Diagnostics, 1)
			require.Equal(t, c.code, r.Diagnostics[0].Code)
			require.NotEmpty(t, r.Diagnostics[0].Detail)
			require.NotContains(t, strings.TrimPrefix(r.Text, "<ASK_USER_YAML>\nkind: confirm\nprompt: x"),
				"ASK_USER_YAML>", "only a tag without an end is left in the text")
		})
	}
	t.Run("C2/an unknown kind becomes open_text", func(t *testing.T) {
		r := interaction.Read(tagged("kind: dance\nprompt: Shall we?"), nil)
		require.Equal(t, interaction.OpenText, r.Question.Kind)
		require.Equal(t, fsm.WarnAskUserUnknownKind, r.Diagnostics[0].Code)
	})
	t.Run("C1/none is open_text, and nothing odd", func(t *testing.T) {
		r := interaction.Read(tagged("prompt: What next?"), nil)
		require.Equal(t, interaction.OpenText, r.Question.Kind)
		require.Empty(t, r.Diagnostics)
	})
	t.Run("C2/a broken part is left out", func(t *testing.T) {
		r := interaction.Read(tagged("kind: confirm\nprompt: x\noptions: yes\nrequired_fields: {}\nui_hints: "+
			"[]\ndefault_decision_policy: maybe"), nil)
		require.Equal(t, interaction.Question{Kind: interaction.Confirm, Prompt: "x",
			DefaultPolicy: interaction.EngineJudgement}, *r.Question)
		require.Len(t, r.Diagnostics, 4)
	})
	t.Run("C2/an option needs a label or a value", func(t *testing.T) {
		r := interaction.Read(tagged("kind: choose_one\nprompt: x\noptions: [{label: One}, {value: two}, three]"), nil)
		require.Empty(t, r.Diagnostics)
		require.Equal(t, []interaction.Option{{Label: "One", Value: "One"}, {Label: "two", Value: "two"},
			{Label: "three", Value: "three"}}, r.Question.Options)
		for _, without := range []string{"{}", "[three]", "{label: [a]}"} {
			r = interaction.Read(tagged("kind: choose_one\nprompt: x\noptions: [{label: One}, "+without+"]"), nil)
			require.Nil(t, r.Question.Options)
			require.Equal(t, "options is left out: want a list of texts, or of label and value",
				r.Diagnostics[0].Detail)
		}
	})
	t.Run("C2/the first of several counts", func(t *testing.T) {
		r := interaction.Read(tagged("kind: confirm\nprompt: one")+"\n"+tagged("kind: confirm\nprompt: two"), nil)
		require.Equal(t, "one", r.Question.Prompt)
		require.Equal(t, fsm.WarnAskUserSurplus, r.Diagnostics[0].Code)
	})
	t.Run("C2/code that looks like a question asks nothing", func(t *testing.T) {
		for _, text := range []string{
			"```javascript\n{\"ask_user\":{\"kind\":\"confirm\",\"prompt\":\"x\"}}\n```",
			"```json\n{\"ask_user\":{\"kind\":\"confirm\",\"prompt\":\"x\"}}",
		} {
			r := interaction.Read(text, nil)
			require.Nil(t, r.Question)
			require.Empty(t, r.Diagnostics)
			require.Equal(t, text, r.Text)
		}
	})
	t.Run("C2/a quoted tag asks nothing", func(t *testing.T) {
		r := interaction.Read("Write `<ASK_USER_YAML>` to ask.\n> <ASK_USER_YAML>\n```\n<ASK_USER_YAML>\n```\n", nil)
		require.Nil(t, r.Question)
		require.Empty(t, r.Diagnostics)
	})
}

// C2 I11: a hostile text is read in time that grows with its length, and no faster.
func TestReadTakesLinearTimeForHostileTexts(t *testing.T) {
	for _, piece := range []string{"`", "```\n", "{", "[", "<ASK_USER_YAML>", "__SKILL_DONE__\n", "> ", "~~~x\n",
		"\xff", "```json\n{}\n```\n"} {
		text := strings.Repeat(piece, 4<<20/len(piece))
		r := interaction.Read(text, nil) // were it quadratic, 4 MB would take hours
		require.LessOrEqual(t, len(r.Diagnostics), 17)
	}
}

// C1: any question that is within the limits comes through each form as it is.
func TestReadReturnsEachFormUnchanged(t *testing.T) {
	word := rapid.StringMatching(`[A-Za-z][A-Za-z0-9 ,.]{0,20}[a-z]`)
	rapid.Check(t, func(t *rapid.T) {
		q := interaction.Question{
			Kind: rapid.SampledFrom([]interaction.Kind{interaction.ChooseOne, interaction.Confirm,
				interaction.FillFields, interaction.OpenText, interaction.RiskAck}).Draw(t, "kind"),
			Prompt: word.Draw(t, "prompt"), Context: word.Draw(t, "context"),
			DefaultPolicy: rapid.SampledFrom([]interaction.DecisionPolicy{interaction.EngineJudgement,
				interaction.SafeDefault, interaction.Abort}).Draw(t, "policy"),
		}
		for range rapid.IntRange(0, 4).Draw(t, "options") {
			q.Options = append(q.Options, interaction.Option{Label: word.Draw(t, "label"), Value: word.Draw(t,
				"value")})
		}
		q.RequiredFields = rapid.SliceOfN(word, 0, 3).Draw(t, "fields")
		if len(q.RequiredFields) == 0 {
			q.RequiredFields = nil
		}
		body, err := json.Marshal(map[string]any{
			"kind": q.Kind, "prompt": q.Prompt, "context": q.Context, "options": q.Options,
			"required_fields": q.RequiredFields, "default_decision_policy": q.DefaultPolicy,
		})
		require.NoError(t, err)
		for _, text := range []string{
			`{"ask_user":` + string(body) + `}`, "```ask_user\n" + string(body) + "\n```", "<ASK_USER_YAML>\n" +
				string(body) + "\n</ASK_USER_YAML>",
		} {
			r := interaction.Read(text, nil)
			require.NotNil(t, r.Question, text)
			require.Equal(t, q, *r.Question)
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add("<ASK_USER_YAML>\nkind: confirm\nprompt: x\n</ASK_USER_YAML>\n__SKILL_DONE__", []byte(`{"a":1}`))
	f.Add("```json\n{\"ask_user\":{\"prompt\":\"x\"}}\n```", []byte(nil))
	f.Add("~~~ask_user\n? [a]\n: b\n~~~", []byte(`{"__SKILL_DONE__":1,"ask_user":{}}`))
	f.Fuzz(func(t *testing.T, text string, structured []byte) {
		r := interaction.Read(text, structured)
		if r.Output != nil {
			require.True(t, json.Valid(r.Output))
			require.LessOrEqual(t, len(r.Output), interaction.MaxOutput+64)
		}
		if r.Question != nil {
			q, odd := interaction.Normalize(*r.Question)
			require.Empty(t, odd, "what was read is within the limits")
			require.Equal(t, *r.Question, q)
		}
		require.LessOrEqual(t, len(r.Text), 3*len(text))
		require.NotEmpty(t, interaction.Baseline(r.Text).Prompt)
	})
}

func BenchmarkRead(b *testing.B) {
	text := strings.Repeat("Some thoughts about the matter at hand.\n", 50) + "<ASK_USER_YAML>\nkind: " +
		"confirm\nprompt: Shall I?\n</ASK_USER_YAML>\n"
	b.ReportAllocs()
	for b.Loop() {
		interaction.Read(text, nil)
	}
}
