package interaction_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
)

// C1 C2: any content of a tagged question is either a question within the limits, which can be
// asked again as JSON, or a diagnostic.
func FuzzQuestion(f *testing.F) {
	for _, body := range []string{
		"kind: choose_one\nprompt: Which?\noptions:\n  - {label: One, value: 1}\n  - two\nui_hints: {a: [1, 2.5, " +
			"null, true]}\n",
		"ask_user:\n  kind: risk_ack\n  prompt: |\n    Two\n    lines\n  default_decision_policy: abort\n",
		`{"ask_user":{"kind":"confirm","prompt":"x","options":[1e400,true,{"value":"v"}]}}`,
		"```yaml\nkind: confirm\nprompt: x\n```",
		"prompt: &a x\nkind: *a", "<<: {prompt: x}", "prompt: !!binary eA==", "? [a]\n: b", "prompt: \"\\ud800\"",
		"prompt: 2001-01-01", "%YAML 1.1\n---\nprompt: x\n...",
		"prompt: Which region: EU or US?", strings.Repeat("- ", 200), strings.Repeat("{a: ", 40),
		"prompt: x\n# c\n\n# d\nkind: confirm # e",
		"ask_user:\n  - prompt: x\n  - {kind: confirm, prompt: y, to: ops}\n- z", "- prompt: x\n- prompt: ''\n", "[]",
		`{"ask_user":[{"prompt":"x"},{"prompt":"y","schema":{},"wait":{"end":1},"subject":{"tool":"t"},"ref":"r"}]}`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if strings.Contains(body, "ASK_USER_YAML>") {
			return // another tag
		}
		requireList(t, body)
		r := interaction.Read("<ASK_USER_YAML>\n"+body+"\n</ASK_USER_YAML>\n", nil)
		require.False(t, r.Done)
		require.Nil(t, r.Output)
		require.True(t, utf8.ValidString(r.Text))
		if r.Question == nil {
			require.NotEmpty(t, r.Diagnostics)
			return
		}
		require.Empty(t, r.Text)
		q := *r.Question
		require.Nil(t, q.Schema, "which no agent sets by its text (K3)")
		require.Nil(t, q.Subject, "nor what is to be approved (K4)")
		require.NotEqual(t, interaction.Approval, q.Kind)
		again, odd := interaction.Normalize(q)
		require.Empty(t, odd)
		require.Equal(t, q, again)
		object, err := json.Marshal(map[string]any{"ask_user": asText(q)})
		require.NoError(t, err)
		if len(object) > interaction.MaxAskUser {
			return // its escapes made it longer
		}
		r = interaction.Read(string(object), nil)
		require.Empty(t, r.Diagnostics)
		require.NotNil(t, r.Question)
		require.Equal(t, q, *r.Question)
	})
}

// requireList checks the same for an agent that may ask several questions (K1): the tag is read
// whole or not at all, the text sets nothing reserved for a host, and the questions can be asked
// again as a list.
func requireList(t *testing.T, body string) {
	const atMost = 3
	r := interaction.ReadSeveral("<ASK_USER_YAML>\n"+body+"\n</ASK_USER_YAML>\n", nil, "", atMost)
	if r.Question == nil {
		require.NotEmpty(t, r.Diagnostics)
		require.Empty(t, r.Siblings)
		return
	}
	require.Empty(t, r.Text)
	all := append([]interaction.Question{*r.Question}, r.Siblings...)
	require.LessOrEqual(t, len(all), atMost)
	var asked []any
	for _, q := range all {
		require.Equal(t, interaction.Question{Kind: q.Kind, Prompt: q.Prompt, Options: q.Options, UIHints: q.UIHints,
			RequiredFields: q.RequiredFields, Context: q.Context, DefaultPolicy: q.DefaultPolicy}, q)
		again, odd := interaction.Normalize(q)
		require.Empty(t, odd)
		require.Equal(t, q, again)
		asked = append(asked, asText(q))
	}
	for i := 1; i <= len(asked); i++ {
		object, err := json.Marshal(map[string]any{"ask_user": asked[:i]})
		require.NoError(t, err)
		if len(object) > interaction.MaxAskUser {
			return // its escapes made it longer
		}
		one := interaction.ReadSeveral(string(object), nil, "", i-1)
		require.Nil(t, one.Question, "a list that is too long is no question")
		require.NotEmpty(t, one.Diagnostics)
		require.Equal(t, string(object), one.Text, "and is shown to people")
		r = interaction.ReadSeveral(string(object), nil, "", max(i, 2))
		require.Empty(t, r.Diagnostics)
		require.Equal(t, all[:i], append([]interaction.Question{*r.Question}, r.Siblings...))
	}
}

// asText is an agent's text of the question.
func asText(q interaction.Question) map[string]any {
	return map[string]any{
		"kind": q.Kind, "prompt": q.Prompt, "options": q.Options, "required_fields": q.RequiredFields,
		"ui_hints": q.UIHints, "context": q.Context,
		"default_decision_policy": q.DefaultPolicy,
	}
}

// Most turns of a long run resemble these.
func BenchmarkReadForms(b *testing.B) {
	prose := strings.Repeat("Some thoughts about the matter at hand.\n", 50)
	for name, text := range map[string]string{
		"prose":  prose,
		"fenced": prose + "```json\n{\"ask_user\":{\"kind\":\"confirm\",\"prompt\":\"Shall I?\"}}\n```\n",
		"output": `{"a":[` + strings.Repeat(`{"b":"c"},`, 500) + `1],"__SKILL_DONE__":true}`,
		"marker": prose + "```json\n{\"a\":1}\n```\n__SKILL_DONE__\n",
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				interaction.Read(text, nil)
			}
		})
	}
}

// K3 K4: for any schema and value, the refusal of a reply has a documented type, an accepted value
// is JSON that all parsers read alike, and the question is stored as validated.
func FuzzReplyToForm(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"type":"integer","maximum":9007199254740993}`, `9007199254740993`}, {`true`, `{"a":1,"a":2}`},
		{`{"pattern":"^(a+)+$"}`, `"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"`}, {`{"$ref":"#"}`, `[[[]]]`},
		{`{"multipleOf":0.01}`, `1e400`}, {`{"enum":["\ud800"]}`, `"\udc00"`}, {`false`, `null`}, {`{`, `{`},
		{`{"format":"date-time"}`, `"2026-02-30T00:00:00Z"`}, {`{"uniqueItems":true}`, `[1,1.0]`},
		{`{"$dynamicRef":"#a","$defs":{"a":{"$dynamicAnchor":"a"}}}`, "\"\x00\""},
	} {
		f.Add(seed[0], seed[1], true)
		f.Add(seed[0], seed[1], false)
	}
	f.Fuzz(func(t *testing.T, schema, value string, approval bool) {
		q := interaction.Question{ID: 1, Prompt: "?", Schema: json.RawMessage(schema)}
		r := interaction.Reply{ID: 1, Value: json.RawMessage(value)}
		if approval {
			q.Subject = &interaction.Subject{Tool: "t", Arguments: json.RawMessage(value)}
			r.Decision = interaction.Edit
		}
		asked, _ := interaction.Normalize(q)
		again, odd := interaction.Normalize(asked)
		require.Empty(t, odd)
		require.Equal(t, asked, again)
		require.Len(t, asked.Digest(), 64)
		err := r.Validate()
		if err == nil {
			err = r.ValidateFor(asked)
		}
		if err != nil {
			var field *interaction.FieldError
			var faults *interaction.ValueError
			require.ErrorIs(t, err, interaction.ErrInvalidReply)
			require.True(t, errors.As(err, &field) || errors.As(err, &faults) && len(faults.Faults) > 0)
			require.Less(t, len(err.Error()), 20_000)
			return
		}
		require.True(t, json.Valid(r.Value))
		require.True(t, utf8.ValidString(value))
	})
}
