package interaction_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

func asked(t *testing.T, q interaction.Question) interaction.Question {
	t.Helper()
	q.ID = 1
	q, odd := interaction.Normalize(q)
	require.Empty(t, odd)
	return q
}

func form(t *testing.T, schema string) interaction.Question {
	t.Helper()
	return asked(t, interaction.Question{Prompt: "?", Schema: json.RawMessage(schema)})
}

func approval(t *testing.T, arguments string) interaction.Question {
	t.Helper()
	return asked(t, interaction.Question{Prompt: "?", Subject: &interaction.Subject{Tool: "pay",
		Arguments: json.RawMessage(arguments)}})
}

// K3: the refusal names each invalid place by its pointer, and the expected value, in the same
// words each time.
func TestRefusalNamesEachPlace(t *testing.T) {
	q := form(t, `{"type":"object","required":["a/b"],"properties":{"a/b":{"type":"integer"},
		"list":{"type":"array","items":{"type":"string","maxLength":2}}}}`)
	require.Equal(t, interaction.FillFields, q.Kind)
	for range 20 {
		err := interaction.Reply{ID: 1, Value: json.RawMessage(`{"a/b":1.5,"list":["ab","abc",4]}`)}.ValidateFor(q)
		require.ErrorIs(t, err, interaction.ErrInvalidReply)
		var wrong *interaction.ValueError
		require.ErrorAs(t, err, &wrong)
		require.Equal(t, []interaction.Fault{
			{Pointer: "/a~1b", Want: "expected integer, but got number"},
			{Pointer: "/list/1", Want: "length must be <= 2, but got 3"},
			{Pointer: "/list/2", Want: "expected string, but got number"},
		}, wrong.Faults)
		require.EqualError(t, err, `interaction: invalid reply: the value does not fit the question's schema: `+
			`"/a~1b": expected integer, but got number; "/list/1": length must be <= 2, but got 3; `+
			`"/list/2": expected string, but got number`)
	}
	err := interaction.Reply{ID: 1, Value: json.RawMessage(`[` + strings.Repeat(`{},`, 99) + `{}]`)}.
		ValidateFor(form(t, `{"items":{"required":["x"]}}`))
	var wrong *interaction.ValueError
	require.ErrorAs(t, err, &wrong)
	require.Len(t, wrong.Faults, 20, "a long list is cut")
}

// K3: a value is compared as written, beyond the precision of a float64.
func TestNumbersOfValuesAreExact(t *testing.T) {
	q := form(t, `{"maximum":9007199254740992}`)
	require.NoError(t, interaction.Reply{ID: 1, Value: json.RawMessage(`9007199254740992`)}.ValidateFor(q))
	require.Error(t, interaction.Reply{ID: 1, Value: json.RawMessage(`9007199254740993`)}.ValidateFor(q))
	require.Error(t, interaction.Reply{ID: 1, Value: json.RawMessage(`9007199254740992.01`)}.ValidateFor(q))
}

// C3 K3 K4: which replies which question takes.
func TestWhatAQuestionTakes(t *testing.T) {
	text, value := interaction.Reply{Text: "x"}, interaction.Reply{Value: json.RawMessage(`1`)}
	both := interaction.Reply{Text: "x", Value: json.RawMessage(`1`)}
	approve := interaction.Reply{Decision: interaction.Approve}
	edit := interaction.Reply{Decision: interaction.Edit, Value: json.RawMessage(`{"eur":2}`)}
	editToList := interaction.Reply{Decision: interaction.Edit, Value: json.RawMessage(`[2]`)}
	reject := interaction.Reply{Decision: interaction.Reject}
	all := map[string]interaction.Reply{"text": text, "value": value, "both": both, "approve": approve, "edit": edit,
		"edit to list": editToList, "reject": reject,
		"respond": {Decision: interaction.Respond, Text: "x"}, "edit nothing": {Decision: interaction.Edit},
		"reject with reason": {Decision: interaction.Reject, Text: "why"},
		"approve value":      {Decision: interaction.Approve, Value: json.RawMessage(`{"eur":2}`)},
	}
	plain := asked(t, interaction.Question{Prompt: "?"})
	integer := form(t, `{"type":"integer"}`)
	either := integer
	either.AlsoText = true
	pay := approval(t, `{"eur":1}`)
	bounded := pay
	bounded.Schema = json.RawMessage(`{"properties":{"eur":{"maximum":1}}}`)
	spoken := pay
	spoken.AlsoText = true
	decisions := "approve edit reject respond reject with reason"
	for name, c := range map[string]struct {
		question interaction.Question
		takes    string
	}{
		"plain":   {plain, "text"},
		"integer": {integer, "value"},
		"either":  {either, "text value both"},
		"pay":     {pay, decisions},
		"list":    {approval(t, `[1]`), decisions + " edit to list"},
		"nothing": {approval(t, ``), decisions + " edit to list"},
		"bounded": {bounded, "approve edit to list reject respond reject with reason"},
		"spoken":  {spoken, decisions + " text"},
	} {
		for what, r := range all {
			r.ID = 1
			require.NoError(t, r.Validate(), what)
			err := r.ValidateFor(c.question)
			taken := strings.Contains(" "+c.takes+" ", " "+what+" ") && (what != "edit" || name != "bounded")
			require.Equal(t, taken, err == nil, "%s of %s: %v", what, name, err)
			if err != nil {
				require.ErrorIs(t, err, interaction.ErrInvalidReply)
			}
		}
	}
}

// K3 K4: what no question takes.
func TestFormsOfReplies(t *testing.T) {
	for field, bad := range map[string][]interaction.Reply{
		"Value": {
			{ID: 1, Value: json.RawMessage(`{"a":1,"a":2}`)}, {ID: 1, Value: json.RawMessage(`{"a":1,"\u0061":2}`)},
			{ID: 1, Value: json.RawMessage(`{`)}, {ID: 1, Value: json.RawMessage(` 1`)},
			{ID: 1, Value: json.RawMessage("1\n")}, {ID: 1, Value: json.RawMessage(`1 2`)},
			{ID: 1, Value: json.RawMessage("\"\xff\"")}, {ID: 1, Value: json.RawMessage("\"\x00\"")},
			{ID: 1, Value: json.RawMessage(`"\ud800"`)}, {ID: 1, Value: json.RawMessage(`"\udc00\ud800"`)},
			{ID: 1, Value: json.RawMessage(`"\ud800\u0041"`)}, {ID: 1, Value: json.RawMessage(`"\\\ud800x"`)},
			{ID: 1, Value: json.RawMessage(`1e99999`)}, {ID: 1, Value: json.RawMessage(`[{"a":-1e400}]`)},
			{ID: 1, Value: json.RawMessage(strings.Repeat("9", 310))},
			{ID: 1, Value: json.RawMessage(strings.Repeat("9", 2000))},
			{ID: 1, Value: json.RawMessage(strings.Repeat("[", 65) + strings.Repeat("]", 65))},
			{ID: 1, Value: json.RawMessage(`"` + strings.Repeat("x", interaction.MaxValue) + `"`)},
		},
		"Seen":     {{ID: 1, Text: "x", Seen: strings.Repeat("0", 65)}, {ID: 1, Text: "x", Seen: "\xff"}},
		"Decision": {{ID: 1, Text: "x", Decision: "perhaps"}, {ID: 1, Decision: "APPROVE"}},
		"Text": {{ID: 1, Decision: interaction.Respond}, {ID: 1, Decision: interaction.Reject, Text: " "},
			{ID: 1, Value: json.RawMessage(`1`), Text: "\t"}, {ID: 1}},
	} {
		for _, r := range bad {
			err := r.Validate()
			require.ErrorIs(t, err, interaction.ErrInvalidReply)
			var wrong *interaction.FieldError
			require.ErrorAs(t, err, &wrong)
			require.Equal(t, field, wrong.Field)
			require.Less(t, len(err.Error()), 300)
		}
	}
	for _, good := range []string{`null`, `""`, `"\ud83d\ude00"`, `"\\ud800"`, `{"a":{"a":1}}`, `-0`, `1e308`, `1e-400`,
		`"\u0000"`, `"1e400"`, strings.Repeat("9", 308), `0.` + strings.Repeat("9", 900),
		strings.Repeat("[", 64) + strings.Repeat("]", 64)} {
		require.NoError(t, interaction.Reply{ID: 1, Value: json.RawMessage(good)}.Validate(), good)
	}
}

// C5: the digest of a text reply is unchanged since before values and decisions; these count if
// present.
func TestDigestOfForms(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range []interaction.Reply{{ID: 1, Text: "x"}, {ID: 1, Value: json.RawMessage(`1`)},
		{ID: 1, Value: json.RawMessage(`1.0`)}, {ID: 1, Text: "x", Value: json.RawMessage(`1`)},
		{ID: 1, Decision: interaction.Approve}, {ID: 1, Decision: interaction.Reject},
		{ID: 1, Decision: interaction.Approve, Text: "x"}, {ID: 1, Decision: interaction.Edit,
			Value: json.RawMessage(`1`)},
	} {
		require.False(t, seen[r.Digest()])
		seen[r.Digest()] = true
	}
	require.Equal(t, sum("1\nx"), interaction.Reply{ID: 1, Text: "x"}.Digest())
	r := interaction.Reply{ID: 1, Decision: interaction.Approve}
	again := r
	again.Seen, again.Actor, again.Key = strings.Repeat("0", 64), interaction.Actor{ID: "ann"}, "k"
	require.Equal(t, r.Digest(), again.Digest(), "what the author saw is no part of what was said")
}

// sum is SHA-256, in hexadecimal digits.
func sum(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// K4: the digest of a question depends on its shown content and subject, and on nothing else.
func TestDigestOfAQuestion(t *testing.T) {
	q := asked(t, interaction.Question{Prompt: "Pay?", Context: "c", Options: []interaction.Option{{Label: "l",
		Value: "v"}},
		RequiredFields: []string{"f"}, Schema: json.RawMessage(`{"type":"object"}`),
		Subject: &interaction.Subject{Tool: "pay", Arguments: json.RawMessage(`{"b":[1.0,"<é>"],"a":{"y":1,"x":2}}`),
			Title: "t", Risk: "r"}})
	require.Equal(t, "655b6481cd51989678500863477ab8dae3bcef1219a11fd660ebc48bf31ac475", q.Digest(),
		"a digest that other programs compute, too, never changes")
	require.Equal(t, sum(`{"kind":"open_text","prompt":"p"}`),
		interaction.Question{Kind: interaction.OpenText, Prompt: "p"}.Digest(), "what is not set is not there")
	require.Equal(t, sum(`{"kind":"approval","prompt":"p","subject":{"tool":"t"}}`), interaction.Question{
		Kind: interaction.Approval, Prompt: "p", Subject: &interaction.Subject{Tool: "t"}}.Digest())
	same := q
	same.ID, same.Attempt, same.AskedAt, same.UIHints, same.DefaultPolicy = 7, 3, noon, map[string]any{"a": 1},
		interaction.Abort
	require.Equal(t, q.Digest(), same.Digest())
	subject := *q.Subject
	subject.Arguments = json.RawMessage("{ \"a\" : {\"x\":2, \"y\":1},\n\"b\":[1.0,\"\\u003c\\u00e9>\"]}")
	same.Subject = &subject
	require.Equal(t, q.Digest(), same.Digest(), "blanks, order and escapes mean nothing")

	seen := map[string]bool{q.Digest(): true}
	for name, change := range map[string]func(q *interaction.Question, s *interaction.Subject){
		"kind":    func(q *interaction.Question, _ *interaction.Subject) { q.Kind = interaction.RiskAck },
		"prompt":  func(q *interaction.Question, _ *interaction.Subject) { q.Prompt = "Pay" },
		"context": func(q *interaction.Question, _ *interaction.Subject) { q.Context = "" },
		"options": func(q *interaction.Question, _ *interaction.Subject) { q.Options = nil },
		"fields":  func(q *interaction.Question, _ *interaction.Subject) { q.RequiredFields = []string{"f", "g"} },
		"schema":  func(q *interaction.Question, _ *interaction.Subject) { q.Schema = json.RawMessage(`{}`) },
		"tool":    func(_ *interaction.Question, s *interaction.Subject) { s.Tool = "pay2" },
		"title":   func(_ *interaction.Question, s *interaction.Subject) { s.Title = "" },
		"risk":    func(_ *interaction.Question, s *interaction.Subject) { s.Risk = "t" },
		"number":  func(_ *interaction.Question, s *interaction.Subject) { s.Arguments = json.RawMessage(`{"a":1}`) },
		"zeros": func(_ *interaction.Question, s *interaction.Subject) {
			s.Arguments = json.RawMessage(`{"a":1.0}`)
		},
		"exponent": func(_ *interaction.Question, s *interaction.Subject) {
			s.Arguments = json.RawMessage(`{"a":1e0}`)
		},
		"large": func(_ *interaction.Question, s *interaction.Subject) {
			s.Arguments = json.RawMessage(`{"a":9007199254740992}`)
		},
		"larger": func(_ *interaction.Question, s *interaction.Subject) {
			s.Arguments = json.RawMessage(`{"a":9007199254740993}`)
		},
		"text": func(_ *interaction.Question, s *interaction.Subject) {
			s.Arguments = json.RawMessage(`"{\"a\":1}"`)
		},
		"none":    func(_ *interaction.Question, s *interaction.Subject) { s.Arguments = nil },
		"subject": func(q *interaction.Question, _ *interaction.Subject) { q.Subject = nil },
	} {
		other, about := q, *q.Subject
		other.Subject = &about
		change(&other, &about)
		require.False(t, seen[other.Digest()], name)
		seen[other.Digest()] = true
	}
}

// K4: a reply that was made to another text of the question is refused with the question as it is.
func TestReplyToAnotherQuestionIsRefused(t *testing.T) {
	before, now := approval(t, `{"eur":1}`), approval(t, `{"eur":100}`)
	r := interaction.Reply{ID: 1, Decision: interaction.Approve, Seen: before.Digest()}
	require.NoError(t, r.ValidateFor(before))
	err := r.ValidateFor(now)
	require.ErrorIs(t, err, interaction.ErrQuestionChanged)
	require.NotErrorIs(t, err, interaction.ErrInvalidReply)
	var changed *interaction.ChangedError
	require.ErrorAs(t, err, &changed)
	require.Equal(t, now, changed.Question)
	require.Contains(t, err.Error(), now.Digest())
	plain := asked(t, interaction.Question{Prompt: "?"})
	require.NoError(t, interaction.Reply{ID: 1, Text: "x", Seen: plain.Digest()}.ValidateFor(plain))
	stale := interaction.Reply{ID: 1, Text: "x", Seen: "x"}
	require.ErrorIs(t, stale.ValidateFor(plain), interaction.ErrQuestionChanged)
}

// K4: the answer has the arguments to execute, byte for byte, exactly when they were approved or
// edited; so has the history.
func TestAnswersToApprovals(t *testing.T) {
	arguments := `{ "to":"ann", "eur":12345678901234567890.10, "note":"\u003c<" }`
	q := approval(t, arguments)
	require.Equal(t, arguments, string(q.Subject.Arguments))
	edited := json.RawMessage(`{"to":"bob"}`)
	for name, c := range map[string]struct {
		reply     interaction.Reply
		arguments string
		message   string
	}{
		"approve": {interaction.Reply{Decision: interaction.Approve}, arguments, "Approved"},
		"edit":    {interaction.Reply{Decision: interaction.Edit, Value: edited}, string(edited), string(edited)},
		"reject":  {interaction.Reply{Decision: interaction.Reject, Text: "too much"}, "", "too much"},
		"no":      {interaction.Reply{Decision: interaction.Reject}, "", "Rejected"},
		"respond": {interaction.Reply{Decision: interaction.Respond, Text: "later"}, "", "later"},
		"text":    {interaction.Reply{Text: "yes"}, "", "yes"},
	} {
		a := c.reply.AnswerTo(&q, noon)
		require.Equal(t, c.arguments, string(a.Arguments), name)
		require.Equal(t, c.reply.Decision, a.Decision, name)
		require.Equal(t, q.Digest(), a.Digest, name)
		require.Empty(t, a.Value, name)
		require.Contains(t, a.Message(), c.message, name)
		record := interaction.Settle(q, a, "", "")
		require.Equal(t, c.reply.Value, record.Value, name)
		require.Equal(t, c.reply.Decision, record.Decision, name)
	}
	value := interaction.Reply{Value: edited, Text: "see"}
	f := form(t, `{}`)
	a := value.AnswerTo(&f, noon)
	require.Equal(t, edited, a.Value)
	require.Nil(t, a.Arguments)
	require.Equal(t, string(edited)+"\n\nsee", a.Message())
	require.Equal(t, edited, interaction.Settle(f, a, "", "").Value)
	auto := interaction.NewAutoDecision(q).Answer(noon)
	require.Empty(t, auto.Decision, "a deadline approves nothing")
	require.Nil(t, auto.Arguments)
}

// C2 K3 K4: malformed or too large parts of a form or an approval are omitted, with a diagnostic,
// and nothing invisible can be approved.
func TestNormalizeLeavesOutMalformedFormsAndApprovals(t *testing.T) {
	long := strings.Repeat("x", interaction.MaxLabel+1)
	for name, q := range map[string]interaction.Question{
		"schema":           {Schema: json.RawMessage(`{"type":"objekt"}`)},
		"schema not JSON":  {Schema: json.RawMessage(`{`)},
		"schema twice":     {Schema: json.RawMessage(`{"type":"string","type":"object"}`)},
		"schema of blanks": {Schema: json.RawMessage(`  `)},
		"schema elsewhere": {Schema: json.RawMessage(`{"$ref":"https://example.com/x"}`)},
		"schema deep":      {Schema: json.RawMessage(strings.Repeat(`{"not":`, 65) + `{}` + strings.Repeat(`}`, 65))},
		"schema large": {Schema: json.RawMessage(`{"title":"` + strings.Repeat("x", interaction.MaxSchema) +
			`"}`)},
		"schema slow": {Schema: json.RawMessage(`{"pattern":"(xxxxxxxxxx){1000}"}`)},
		"schema of patterns": {Schema: json.RawMessage(`{"allOf":[` + strings.Repeat(`{"pattern":"[a-z]{900}"},`, 9) +
			`{"patternProperties":{"\\pL{900}":true}}]}`)},
		"schema that repeats itself": {Schema: json.RawMessage(`{"$defs":{"a":{"pattern":"x{900}"},"b":{"allOf":[` +
			strings.Repeat(`{"$ref":"#/$defs/a"},`, 9) + `true]}},"$ref":"#/$defs/b"}`)},
		"schema of many checks": {Schema: json.RawMessage(`{"$defs":{"a":{"allOf":[` + strings.Repeat(`true,`, 99) +
			`true]}},"allOf":[` + strings.Repeat(`{"$ref":"#/$defs/a"},`, 20) + `true]}`)},
		"no subject":         {Kind: interaction.Approval},
		"no tool":            {Subject: &interaction.Subject{}},
		"tool too long":      {Subject: &interaction.Subject{Tool: long}},
		"tool not text":      {Subject: &interaction.Subject{Tool: "a\x00"}},
		"arguments":          {Subject: &interaction.Subject{Tool: "t", Arguments: json.RawMessage(`{`)}},
		"arguments twice":    {Subject: &interaction.Subject{Tool: "t", Arguments: json.RawMessage(`{"a":1,"a":2}`)}},
		"arguments no text":  {Subject: &interaction.Subject{Tool: "t", Arguments: json.RawMessage("\"\xff\"")}},
		"arguments infinite": {Subject: &interaction.Subject{Tool: "t", Arguments: json.RawMessage(`{"eur":1e400}`)}},
		"arguments half":     {Subject: &interaction.Subject{Tool: "t", Arguments: json.RawMessage(`"\ud800"`)}},
		"arguments large": {Subject: &interaction.Subject{Tool: "t",
			Arguments: json.RawMessage(`"` + strings.Repeat("x", interaction.MaxArguments) + `"`)}},
		"arguments deep": {Kind: interaction.Approval, Schema: json.RawMessage(`{}`), AlsoText: true,
			Subject: &interaction.Subject{Tool: "t",
				Arguments: json.RawMessage(strings.Repeat("[", 65) + strings.Repeat("]", 65))}},
	} {
		q.Prompt = "?"
		got, odd := interaction.Normalize(q)
		require.NotEmpty(t, odd, name)
		require.Equal(t, interaction.OpenText, got.Kind, name)
		require.Nil(t, got.Schema, name)
		require.Nil(t, got.Subject, name)
		require.False(t, got.AlsoText, name)
	}
	unusable := interaction.Question{Prompt: "?", Schema: json.RawMessage(`{"type":"objekt"}`)}
	require.ErrorIs(t, unusable.Validate(), interaction.ErrSchema)
	unusable.Subject = &interaction.Subject{Tool: "t"}
	require.NoError(t, unusable.Validate(), "only its arguments cannot be edited then")
	got, odd := interaction.Normalize(interaction.Question{Kind: interaction.Confirm, Prompt: "?", AlsoText: true,
		Schema:  json.RawMessage(`{"type":"objekt"}`),
		Subject: &interaction.Subject{Tool: "t", Title: long, Risk: "a\x00b"}})
	require.Len(t, odd, 3)
	require.Equal(t, fsm.WarnAskUserTruncated, odd[1].Code)
	require.Equal(t, interaction.Question{Kind: interaction.Approval, Prompt: "?", AlsoText: true,
		Schema: json.RawMessage(`false`), DefaultPolicy: interaction.EngineJudgement,
		Subject: &interaction.Subject{Tool: "t", Title: long[1:], Risk: "a\ufffdb"}}, got)
	plain, odd := interaction.Normalize(interaction.Question{Prompt: "?", AlsoText: true, Schema: json.RawMessage{}})
	require.Empty(t, odd)
	require.False(t, plain.AlsoText, "a plain question takes a text anyway")
	require.Nil(t, plain.Schema)
}

// N3: each value that a form must be able to take is accepted, reaches the engine as it was given,
// and is not replaced by another value that the schema allows, too.
func TestN3FormsTakeTheirValuesExactly(t *testing.T) {
	body, err := os.ReadFile("../proof/page/testdata/forms.json")
	require.NoError(t, err)
	var cases map[string]struct {
		Schema   json.RawMessage
		Examples []json.RawMessage
	}
	require.NoError(t, json.Unmarshal(body, &cases))
	require.GreaterOrEqual(t, len(cases), 19)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			q := interaction.Question{Kind: interaction.FillFields, Prompt: "What?", Schema: c.Schema, AlsoText: true}
			require.NoError(t, q.Validate())
			q, odd := interaction.Normalize(q)
			q.ID = 1
			require.Empty(t, slices.DeleteFunc(odd, func(d interaction.Diagnostic) bool {
				return name == "zod-email" && strings.Contains(d.Detail, "pattern")
			}))
			require.NotEmpty(t, q.Schema)
			require.NotEmpty(t, c.Examples)
			for _, value := range c.Examples {
				r := interaction.Reply{ID: 1, Value: value}
				require.NoError(t, r.Validate())
				require.NoError(t, r.ValidateFor(q), "%s", value)
				a := r.AnswerTo(&q, time.Now())
				got, err := interaction.As[json.RawMessage](a)
				require.NoError(t, err)
				require.Equal(t, string(value), string(got))
			}
			a := interaction.Reply{ID: 1, Text: "1"}.AnswerTo(&q, time.Now())
			require.Empty(t, a.Value, "a text is no value of the form")
			require.Equal(t, "1", a.Text)
		})
	}
}

// N3: members of an enum that read alike are different values.
func TestN3AlikeValuesOfAnEnumAreDifferent(t *testing.T) {
	q, odd := interaction.Normalize(interaction.Question{Kind: interaction.FillFields, Prompt: "What?",
		Schema: json.RawMessage(`{"enum": [1, "1", true, "true", null, "null", [1], ["1"]]}`)})
	require.Empty(t, odd)
	q.ID = 1
	digests := make(map[string]string)
	for _, value := range []string{`1`, `"1"`, `true`, `"true"`, `null`, `"null"`, `[1]`, `["1"]`} {
		r := interaction.Reply{ID: 1, Value: json.RawMessage(value)}
		require.NoError(t, r.ValidateFor(q), value)
		a := r.AnswerTo(&q, time.Now())
		require.Equal(t, value, string(a.Value))
		require.Empty(t, digests[r.Digest()], "two replies with one digest: %s", value)
		digests[r.Digest()] = value
		var v any
		require.NoError(t, json.Unmarshal([]byte(value), &v))
		got, err := interaction.As[any](a)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("%v", v), fmt.Sprintf("%v", got))
	}
	for _, value := range []string{`2`, `"2"`, `false`, `"false"`, `[true]`, `""`} {
		require.ErrorIs(t, interaction.Reply{ID: 1, Value: json.RawMessage(value)}.ValidateFor(q),
			interaction.ErrInvalidReply, value)
	}
	require.NoError(t, interaction.Reply{ID: 1, Value: json.RawMessage(`1.0`)}.ValidateFor(q), "1.0 is the number 1")
}

// N1, decision 13: an answer that accepts a risk must say so, whoever made the front end; every
// other answer need not.
func TestARiskIsAcceptedExplicitly(t *testing.T) {
	ask := func(values ...string) interaction.Question {
		q := interaction.Question{ID: 1, Kind: interaction.RiskAck, Prompt: "Wipe it?"}
		for _, v := range values {
			q.Options = append(q.Options, interaction.Option{Label: "Yes", Value: v})
		}
		return q
	}
	call := interaction.Question{ID: 1, Kind: interaction.Approval, Subject: &interaction.Subject{Tool: "pay",
		Risk: "It is gone.", Arguments: json.RawMessage(`{"eur":1}`)}}
	harmless, two := call, call
	harmless.Subject = &interaction.Subject{Tool: "pay", Arguments: json.RawMessage(`{"eur":1}`)}
	two.Need = 2
	text := func(s string) interaction.Reply { return interaction.Reply{ID: 1, Text: s} }
	decide := func(d interaction.Decision) interaction.Reply {
		return interaction.Reply{ID: 1, Decision: d, Text: "x"}
	}
	edit := interaction.Reply{ID: 1, Decision: interaction.Edit, Value: json.RawMessage(`{"eur":2}`)}
	for _, c := range []struct {
		question interaction.Question
		reply    interaction.Reply
		accepts  bool
	}{
		{ask(), text("yes"), true}, {ask(), text(" Accept\n"), true}, {ask(), text("no"), false},
		{ask(), text("yes, but later"), false},
		{ask("no", " YES"), text(" YES"), true}, {ask("no", "yes"), text("no"), false},
		{ask("no", "yes"), text("perhaps"), false},
		{ask("1", "0"), text("0"), true}, {ask("1", "0"), text("1"), true}, {ask("1", "0"), text("TRUE"), true},
		{ask("yes", "accept"), text("yes"), true}, {ask("yes", "accept", "no"), text("no"), true},
		{call, decide(interaction.Approve), true}, {call, edit, true}, {two, decide(interaction.Approve), true},
		{call, decide(interaction.Reject), false}, {call, decide(interaction.Respond), false},
		{harmless, decide(interaction.Approve), false}, {harmless, edit, false},
		{interaction.Question{ID: 1, Kind: interaction.Confirm, Prompt: "Ship it?"}, text("yes"), false},
	} {
		c.reply.Actor.ID = "ada"
		require.Equal(t, c.accepts, c.reply.AcceptsRisk(c.question), "%+v to %+v", c.reply, c.question)
		err := c.reply.ValidateFor(c.question)
		var wrong *interaction.FieldError
		require.Equal(t, c.accepts, errors.As(err, &wrong) && wrong.Field == "AcceptRisk", err)
		c.reply.AcceptRisk = true
		require.NoError(t, c.reply.ValidateFor(c.question))
	}
	yes := &interaction.DefaultReply{Text: "yes"}
	w := interaction.Wait{End: time.Hour, Then: interaction.ThenDefault, Default: yes}
	require.NoError(t, w.ValidateFor(ask()), "the host has chosen the default")
}
