package interaction_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// C3 C4: a reply is any text; its references are checked.
func TestReplyValidateRefuses(t *testing.T) {
	require.NoError(t, interaction.Reply{ID: 1, Text: "anything: {not json", Key: "k",
		Actor: interaction.Actor{ID: "ada"}}.Validate())
	for field, bad := range map[string][]interaction.Reply{
		"ID": {{Text: "x"}, {ID: -1, Text: "x"}},
		"Text": {{ID: 1}, {ID: 1, Text: " \n"}, {ID: 1, Text: "\xff"}, {ID: 1, Text: "a\x00"},
			{ID: 1, Text: strings.Repeat("x", interaction.MaxReplyText+1)}},
		"Key":   {{ID: 1, Text: "x", Key: strings.Repeat("k", 256)}, {ID: 1, Text: "x", Key: "\xff"}},
		"Actor": {{ID: 1, Text: "x", Actor: interaction.Actor{ID: strings.Repeat("k", 256)}}},
	} {
		for _, r := range bad {
			err := r.Validate()
			require.ErrorIs(t, err, interaction.ErrInvalidReply)
			var wrong *interaction.FieldError
			require.ErrorAs(t, err, &wrong)
			require.Equal(t, field, wrong.Field)
			require.Less(t, len(err.Error()), 200)
		}
	}
}

// C5: the digest depends on the body, whoever the author.
func TestDigestDependsOnTheBodyOfAReplyAlone(t *testing.T) {
	r := interaction.Reply{ID: 1, Text: "yes", Key: "a", Actor: interaction.Actor{ID: "ada"}}
	require.Equal(t, r.Digest(), interaction.Reply{ID: 1, Text: "yes", Key: "b",
		Actor: interaction.Actor{ID: "bob"}}.Digest())
	require.NotEqual(t, r.Digest(), interaction.Reply{ID: 2, Text: "yes"}.Digest())
	require.NotEqual(t, r.Digest(), interaction.Reply{ID: 1, Text: "no"}.Digest())
	require.NotEqual(t, interaction.Reply{ID: 1, Text: "1\nx"}.Digest(), interaction.Reply{ID: 11, Text: "x"}.Digest())
}

// C6: the envelope of an automatic decision, by each policy, through the entry of replies.
func TestAutoDecisionAnswersByEachPolicy(t *testing.T) {
	seen := map[string]bool{}
	for _, policy := range []interaction.DecisionPolicy{interaction.EngineJudgement, interaction.SafeDefault,
		interaction.Abort} {
		auto := interaction.NewAutoDecision(interaction.Question{ID: 3, DefaultPolicy: policy})
		body, err := json.Marshal(auto)
		require.NoError(t, err)
		var envelope map[string]any
		require.NoError(t, json.Unmarshal(body, &envelope))
		require.Equal(t, map[string]any{
			"source": "auto_decide_timeout", "interaction_id": 3.0, "reason": "user_no_reply", "policy": string(policy),
			"instruction": auto.Instruction,
		}, envelope)
		require.False(t, seen[auto.Instruction], "each policy instructs differently")
		seen[auto.Instruction] = true
		answer := auto.Answer(noon)
		require.Equal(t, interaction.AutoDecideTimeout, answer.Resolution)
		require.Equal(t, auto.Instruction, answer.Text)
		require.Equal(t, 3, answer.ID)
	}
	require.Equal(t, interaction.EngineJudgement, interaction.NewAutoDecision(interaction.Question{}).Policy,
		"the default")
}

// C7: what history keeps of each way to settle.
func TestRecordKeepsEachWayToSettle(t *testing.T) {
	q := interaction.Question{ID: 1, Attempt: 1, Prompt: "?", AskedAt: noon}
	reply := interaction.Reply{ID: 1, Text: "yes", Key: "k", Actor: interaction.Actor{ID: "ada"}}
	require.Equal(t, interaction.Record{
		Question: q, Resolution: interaction.UserReply, Response: "yes", Actor: "ada", ResolvedAt: noon, Key: "k",
		Digest: reply.Digest(),
	}, interaction.Settle(q, reply.Answer(noon), reply.Key, reply.Digest()))
	auto := interaction.NewAutoDecision(q)
	require.Equal(t, interaction.Record{
		Question: q, Resolution: interaction.AutoDecideTimeout, Response: auto.Instruction, ResolvedAt: noon,
		AutoDecideReason: "user_no_reply",
	}, interaction.Settle(q, auto.Answer(noon), "", ""))
	require.Equal(t, interaction.Record{Question: q, Resolution: interaction.Abandoned, ResolvedAt: noon},
		interaction.Abandon(q, noon))
}

// C2: what Normalize lets through, the event's schema takes.
func TestNormalizedQuestionsPassTheSchema(t *testing.T) {
	raw, err := os.ReadFile("../contract/events/user.input.required.schema.json")
	require.NoError(t, err)
	var schema struct {
		Properties map[string]struct {
			MaxLength, MaxItems, MaxProperties int
			Items                              struct {
				MaxLength  int
				Properties map[string]struct{ MaxLength int }
			}
		}
	}
	require.NoError(t, json.Unmarshal(raw, &schema)) //nolint:musttag // JSON Schema names its words so
	p := schema.Properties
	require.GreaterOrEqual(t, p["prompt"].MaxLength, interaction.MaxPromptText)
	require.GreaterOrEqual(t, p["context"].MaxLength, interaction.MaxContext)
	require.GreaterOrEqual(t, p["options"].MaxItems, interaction.MaxOptions)
	require.GreaterOrEqual(t, p["options"].Items.Properties["label"].MaxLength, interaction.MaxLabel)
	require.GreaterOrEqual(t, p["required_fields"].MaxItems, interaction.MaxRequiredFields)
	require.GreaterOrEqual(t, p["required_fields"].Items.MaxLength, interaction.MaxLabel)
	require.GreaterOrEqual(t, p["ui_hints"].MaxProperties, interaction.MaxOptions)
}

// C2: an engine's question is brought within the limits.
func TestNormalizeBringsAQuestionWithinTheLimits(t *testing.T) {
	q := interaction.Question{
		Kind: "x", Prompt: strings.Repeat("é", interaction.MaxPromptText), Context: "a\xffb", DefaultPolicy: "y",
		Options:        make([]interaction.Option, interaction.MaxOptions+1),
		RequiredFields: []string{"", "a"}, UIHints: map[string]any{"bad": make(chan int)},
	}
	q.Options[0].Label = "only a label"
	got, odd := interaction.Normalize(q)
	require.Equal(t, interaction.OpenText, got.Kind)
	require.LessOrEqual(t, len(got.Prompt), interaction.MaxPromptText)
	require.Equal(t, "a\uFFFDb", got.Context)
	require.Equal(t, []interaction.Option{{Label: "only a label", Value: "only a label"}}, got.Options)
	require.Equal(t, []string{"a"}, got.RequiredFields)
	require.Nil(t, got.UIHints)
	require.Len(t, odd, 5)
	again, odd := interaction.Normalize(got)
	require.Empty(t, odd)
	require.Equal(t, got, again)
	require.NotEmpty(t, interaction.Baseline("").Prompt)
}

// H1 H2 H3: the prompt of each mode, in order, once, and with nothing of the other mode.
func TestPatchAddsThePromptOfTheModeOnce(t *testing.T) {
	parts := interaction.PromptParts{Task: "Do it.", Mode: fsm.ModeInteractive, ArtifactDir: "/runs/1/artifacts",
		OutputSchema: []byte(`{"type":"object"}`)}
	interactive := interaction.Patch(parts)
	inOrder(t, interactive, "Do it.", "/runs/1/artifacts", "kind", "prompt", "options", "ui_hints",
		"default_decision_policy", "free text", "never demand JSON", interaction.DoneMarker, `{"type":"object"}`)
	require.Contains(t, interactive, "at most one question a turn", "H2")
	again := parts
	again.Task = interactive
	require.Equal(t, interactive, interaction.Patch(again), "H3: patching is idempotent")

	parts.Mode = fsm.ModeAuto
	auto := interaction.Patch(parts)
	inOrder(t, auto, "Do it.", "/runs/1/artifacts", "Decide everything by your own judgement", `{"type":"object"}`)
	for _, word := range []string{"ask_user", "kind", "ui_hints", interaction.DoneMarker, "default_decision_policy"} {
		require.NotContains(t, strings.ToLower(auto), strings.ToLower(word), "H1: nothing of the interactive part")
	}
	again.Mode = fsm.ModeAuto
	require.Equal(t, auto, interaction.Patch(again), "H3: a prompt of the other mode is patched anew")
	require.NotContains(t, interaction.Patch(interaction.PromptParts{Task: "x"}), "Artifacts",
		"no folder, no word of it")
	require.NotContains(t, interaction.Patch(interaction.PromptParts{Task: "x"}), "Schema", "no schema, no word of it")

	// Read understands the examples of the prompt.
	r := interaction.Read(interactive[strings.Index(interactive, "<ASK_USER_YAML>"):strings.Index(interactive,
		"The reply comes")], nil)
	require.NotNil(t, r.Question)
	require.Equal(t, interaction.ChooseOne, r.Question.Kind)
	require.Empty(t, r.Diagnostics)
}

func inOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		i := strings.Index(text, p)
		require.GreaterOrEqual(t, i, 0, "%q is missing, or not in order", p)
		text = text[i+len(p):]
	}
}
