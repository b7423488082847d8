package interaction_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
)

// C1 C2: whatever stands in a tagged question, it is either a question within the limits, which
// survives being asked again as JSON, or a diagnostic.
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
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if strings.Contains(body, "ASK_USER_YAML>") {
			return // another tag
		}
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
		again, odd := interaction.Normalize(q)
		require.Empty(t, odd)
		require.Equal(t, q, again)
		asked := map[string]any{
			"kind": q.Kind, "prompt": q.Prompt, "options": q.Options, "required_fields": q.RequiredFields,
			"ui_hints": q.UIHints, "context": q.Context,
			"default_decision_policy": q.DefaultPolicy,
		}
		object, err := json.Marshal(map[string]any{"ask_user": asked})
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

// Most turns of a long run look like one of these.
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
