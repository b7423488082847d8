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

// K1: a rule needs all answers unless it names a number that there can be.
func TestK1RuleNeeds(t *testing.T) {
	for rule, needs := range map[interaction.Rule]int{
		{}: 3, {Answers: 1}: 1, {Answers: 2, StopOnReject: true}: 2, {Answers: 3}: 3, {Answers: 4}: 3, {Answers: -1}: 3,
	} {
		require.Equal(t, needs, rule.Needs(3), "%+v", rule)
	}
}

// K1, C6: a record gives exactly the answer that settled it, so that a turn with several answers
// gets the same as a turn with one.
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

// K1: who may ask one question may not ask a list, not even of one; and a member ask_user of an
// output that has others, too, is a question only if it is an object or a list of what may be
// asked.
func TestK1AListNeedsLeaveForSeveral(t *testing.T) {
	one := interaction.ReadSeveral("```ask_user\n[{prompt: a}]\n```", nil, "", 1)
	require.Equal(t, "question is not a mapping", one.Diagnostics[0].Detail)
	for body, atMost := range map[string]int{
		`{"ask_user":[{"prompt":"a"}],"total":1}`: 1,
		`{"ask_user":"who?","total":1}`:           3,
	} {
		r := interaction.ReadSeveral("", json.RawMessage(body), "", atMost)
		require.Nil(t, r.Question, body)
		require.JSONEq(t, body, string(r.Output), "a member like the others")
		require.Empty(t, r.Diagnostics, body)
	}
}

// K1 K4: a Ref that cannot be stored unchanged is omitted, since a part of it could be another
// call's. It does not count in the digest, and the text of an agent never sets it.
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

// K1: for an agent that may ask several questions, each form takes a list of them, or one. The
// first list counts. A list next to an output is removed from it.
func TestK1ReadFindsAListOfQuestionsInEachForm(t *testing.T) {
	const nonce = "abcdefgh2345"
	yaml := "- kind: confirm\n  prompt: Ship it?\n- kind: open_text\n  prompt: When?\n"
	asJSON := `[{"kind":"confirm","prompt":"Ship it?"},{"kind":"open_text","prompt":"When?"}]`
	for name, text := range map[string]string{
		"tagged":               "Well.\n<ASK_USER_YAML>\nask_user:\n" + yaml + "</ASK_USER_YAML>",
		"a list in the tag":    "<ASK_USER_YAML>\n" + yaml + "</ASK_USER_YAML>",
		"fenced":               "```ask_user\n" + yaml + "```",
		"whole text":           `{"ask_user":` + asJSON + `}`,
		"beside an output":     `{"ask_user":` + asJSON + `,"a":1}`,
		"fenced beside output": "```json\n{\"ask_user\":" + asJSON + ",\"a\":1}\n```",
		"signed":               "```ask_user " + nonce + "\n" + yaml + "```",
		"signed json":          "```json " + nonce + "\n{\"ask_user\":" + asJSON + "}\n```",
	} {
		t.Run(name, func(t *testing.T) {
			signed := ""
			if strings.HasPrefix(name, "signed") {
				signed = nonce
			}
			r := interaction.ReadSeveral(text, nil, signed, 2)
			require.Empty(t, r.Diagnostics)
			require.NotNil(t, r.Question)
			require.Equal(t, "Ship it?", r.Question.Prompt)
			require.Len(t, r.Siblings, 1)
			require.Equal(t, interaction.Question{Kind: interaction.OpenText, Prompt: "When?",
				DefaultPolicy: interaction.EngineJudgement}, r.Siblings[0])
			require.NotContains(t, r.Text, "Ship it?")
			require.Equal(t, strings.Contains(name, "beside"), string(r.Output) == `{"a":1}`)
			twice := interaction.ReadSeveral(text, json.RawMessage(`{"ask_user":`+asJSON+`}`), signed, 2)
			require.Equal(t, r.Siblings, twice.Siblings, "said and handed over is asked once")
			require.Empty(t, interaction.ReadSigned(text, nil, signed).Siblings, "one is the rule")
			require.NotEqual(t, text, interaction.Quoted(strings.ReplaceAll(text, " "+nonce, "")),
				"J12: a person's text that would be a list of questions is a quotation")
		})
	}
	alone := interaction.ReadSeveral("```ask_user\nprompt: When?\n```\n```ask_user\n"+yaml+"```", nil, "", 2)
	require.Equal(t, "When?", alone.Question.Prompt)
	require.Empty(t, alone.Siblings)
	require.Equal(t, []interaction.Diagnostic{{Code: fsm.WarnAskUserSurplus,
		Detail: "2 lists of questions in one turn; only the first is asked"}}, alone.Diagnostics)
}

// K1, C2: a list that is longer than allowed, or of which an entry cannot be read, is treated like
// a question that cannot be read: none is asked, and people see them all.
func TestK1AListThatCannotBeReadIsShown(t *testing.T) {
	for list, fault := range map[string]string{
		"[]":                             "ask_user is neither a mapping nor a list of them",
		"yes":                            "ask_user is neither a mapping nor a list of them",
		"[{prompt: a}, b]":               "question 2 of 2 is not a mapping",
		"[{prompt: a}, {kind: confirm}]": "question 2 of 2: question has no prompt",
		"[{prompt: a}, {prompt: b}, {prompt: c}, {prompt: d}]": "4 questions in one list; at most 3 may be asked " +
			"together",
	} {
		r := interaction.ReadSeveral("Hm.\n```ask_user\nask_user: "+list+"\n```", nil, "", 3)
		require.Nil(t, r.Question, list)
		require.Empty(t, r.Siblings, list)
		require.Equal(t, []interaction.Diagnostic{{Code: fsm.WarnAskUserMalformed, Detail: fault}}, r.Diagnostics)
		require.Equal(t, "Hm.\nask_user: "+list, r.Baseline().Prompt)
	}
	odd := interaction.ReadSeveral("```ask_user\n[{prompt: a}, {prompt: b, kind: odd}]\n```", nil, "", 3)
	require.Len(t, odd.Siblings, 1)
	require.Equal(t, `question 2 of 2: kind "odd" is asked as open_text`, odd.Diagnostics[0].Detail)
	none := interaction.ReadSeveral("```ask_user\n["+strings.Repeat("{prompt: a}, ", interaction.MaxQuestions)+
		"{prompt: b}]\n```", nil, "", 1000)
	require.Nil(t, none.Question, "however many the caller names")
}

// K1, K3, K4, K5, K7: fields reserved for a host or an engine are ignored in the text of an agent,
// in a list and outside.
func TestK1AListSetsNoPolicy(t *testing.T) {
	r := interaction.ReadSeveral(`{"ask_user":[{"prompt":"a","to":{"users":["eve"]}},{"prompt":"b","kind":"approval",`+
		`"subject":{"tool":"pay","arguments":{}},"schema":{"type":"object"},"wait":{"end":1,"then":"fail"},"ref":"c",`+
		`"also_text":true,"interaction_id":7,"attempt":3}],"rule":{"answers":1}}`, nil, "", 2)
	plain := interaction.Question{Kind: interaction.OpenText, DefaultPolicy: interaction.EngineJudgement, Prompt: "a"}
	require.Equal(t, plain, *r.Question)
	plain.Prompt = "b"
	require.Equal(t, []interaction.Question{plain}, r.Siblings)
}

// K1, H2: the prompt of an agent that may ask several says how, and how many; Read understands its
// examples. An agent that may ask one gets the unchanged prompt.
func TestK1ThePromptSaysHowToAskSeveral(t *testing.T) {
	for _, nonce := range []string{"", "abcdefgh2345"} {
		parts := interaction.PromptParts{Task: "Do it.", Mode: fsm.ModeInteractive, Nonce: nonce}
		one := interaction.Patch(parts)
		parts.Questions = 1
		require.Equal(t, one, interaction.Patch(parts))
		require.Contains(t, one, "at most one question a turn")

		parts.Questions = 7
		told := interaction.Patch(parts)
		require.Contains(t, told, "one list of at most 7 questions")
		require.Contains(t, told, "free text")
		require.NotContains(t, told, "one question a turn")
		begin := max(strings.Index(told, "<ASK_USER_YAML>"), strings.Index(told, "```ask_user"))
		r := interaction.ReadSeveral(told[begin:strings.Index(told, "The questions are asked")], nil, nonce, 7)
		require.Empty(t, r.Diagnostics)
		require.Equal(t, "Which region?", r.Question.Prompt)
		require.Len(t, r.Question.Options, 1)
		require.Len(t, r.Siblings, 1)
		require.Equal(t, interaction.OpenText, r.Siblings[0].Kind)
		alone := one[max(strings.Index(one, "<ASK_USER_YAML>"), strings.Index(one, "```ask_user")):]
		require.Equal(t, *r.Question, *interaction.ReadSigned(alone, nil, nonce).Question)

		parts.Task, parts.Questions = told, 0
		require.Equal(t, one, interaction.Patch(parts), "H3: patched anew")
		parts.Questions = 1000
		require.Contains(t, interaction.Patch(parts), "at most 32 questions")
		parts.Mode = fsm.ModeAuto
		require.NotContains(t, interaction.Patch(parts), "questions", "H1")
	}
}
