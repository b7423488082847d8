package interaction_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
)

// K1: a rule needs all answers unless it names a number that there can be.
func TestK1RuleNeeds(t *testing.T) {
	for rule, needs := range map[interaction.Rule]int{
		{}: 3, {Answers: 1}: 1, {Answers: 2, StopOnReject: true}: 2, {Answers: 3}: 3, {Answers: 4}: 3, {Answers: -1}: 3,
	} {
		require.Equal(t, needs, rule.Needs(3), "%+v", rule)
	}
}

// K1, C6: a record gives the very answer that has settled it, whatever it is, so that a turn that
// goes on with several gets what a turn with one gets.
func TestK1RecordGivesTheAnswerThatSettledIt(t *testing.T) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	plain := interaction.Question{ID: 2, Kind: interaction.OpenText, Prompt: "Which?"}
	form := plain
	form.Schema = json.RawMessage(`{"type":"number"}`)
	approval := interaction.Question{ID: 3, Ref: "call-7", Kind: interaction.Approval, Prompt: "Pay?",
		Subject: &interaction.Subject{Tool: "pay", Arguments: json.RawMessage(`{"eur": 1.50}`)}}
	ada := interaction.Actor{ID: "ada", Via: "web"}
	for name, c := range map[string]struct {
		question interaction.Question
		reply    interaction.Reply
	}{
		"text":    {plain, interaction.Reply{ID: 2, Text: "red", Actor: ada}},
		"form":    {form, interaction.Reply{ID: 2, Value: json.RawMessage(`7`), Actor: ada}},
		"approve": {approval, interaction.Reply{ID: 3, Decision: interaction.Approve, Text: "go", Actor: ada}},
		"edit":    {approval, interaction.Reply{ID: 3, Decision: interaction.Edit, Value: []byte(`{"eur":1}`)}},
		"reject":  {approval, interaction.Reply{ID: 3, Decision: interaction.Reject, Text: "no money"}},
		"respond": {approval, interaction.Reply{ID: 3, Decision: interaction.Respond, Text: "why?"}},
	} {
		given := c.reply.AnswerTo(&c.question, now)
		require.Equal(t, given, interaction.Settle(c.question, given, "key", "digest").Answer(), name)
		require.True(t, given.Answered(), name)
		require.Equal(t, c.question.Ref, given.Ref, name)
		auto := interaction.NewAutoDecision(c.question).Answer(now)
		auto.Ref = c.question.Ref
		require.Equal(t, auto, interaction.Settle(c.question, auto, "", "").Answer(), name)
	}
	for _, r := range []interaction.Record{interaction.Supersede(plain, now), interaction.Abandon(plain, now)} {
		require.Equal(t, interaction.Answer{ID: 2, Resolution: r.Resolution, AcceptedAt: now}, r.Answer())
		require.False(t, r.Answer().Answered())
	}
}

// K1 K4: a Ref that cannot be stored unchanged is left out, since a part of it could be that of another
// call. It does not count in the digest, and the text of an agent never sets it.
func TestK4RefIsStoredAsItIsOrNotAtAll(t *testing.T) {
	q := interaction.Question{Kind: interaction.OpenText, Prompt: "Which?", DefaultPolicy: interaction.SafeDefault}
	for ref, kept := range map[string]bool{
		"": true, "call-1": true, strings.Repeat("x", interaction.MaxRef): true,
		strings.Repeat("x", interaction.MaxRef+1): false, "a\x00b": false, "\xff": false,
	} {
		named := q
		named.Ref = ref
		got, odd := interaction.Normalize(named)
		require.Equal(t, kept, len(odd) == 0, "%q", ref)
		require.Equal(t, kept, got.Ref == ref, "%q", ref)
		require.Equal(t, q.Digest(), named.Digest())
	}
	read := interaction.Read("```ask_user\nkind: open_text\nprompt: Which?\nref: call-1\n```", nil)
	require.Equal(t, "Which?", read.Question.Prompt)
	require.Empty(t, read.Question.Ref)
}
