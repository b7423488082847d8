package engine_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
)

type invoice struct {
	To  string      `json:"to"`
	EUR json.Number `json:"eur"`
}

func answered(t *testing.T, q engine.Question, r interaction.Reply) engine.Answer {
	t.Helper()
	q.ID, r.ID = 1, 1
	q, odd := interaction.Normalize(q)
	require.Empty(t, odd)
	require.NoError(t, r.ValidateFor(q))
	return r.AnswerTo(&q, time.Now())
}

// K4: a function executes approved or edited arguments, and nothing after its call has changed, a
// rejection, or without a decision.
func TestApprovedReturnsOnlyWhatWasApprovedOrEdited(t *testing.T) {
	q, err := engine.ApprovalOf("Pay?", "pay", invoice{"ann", "12345678901234567890.10"})
	require.NoError(t, err)
	dearer, err := engine.ApprovalOf("Pay?", "pay", invoice{"ann", "12345678901234567890.11"})
	require.NoError(t, err)
	approve := interaction.Reply{Decision: interaction.Approve}
	edit := interaction.Reply{Decision: interaction.Edit, Value: json.RawMessage(`{"to":"bob"}`)}
	reject := interaction.Reply{Decision: interaction.Reject, Text: "no money"}
	turn := func(answers ...engine.Answer) engine.Turn { return engine.Turn{Answers: answers} }

	got, err := turn(answered(t, q, approve)).Approved(q)
	require.NoError(t, err)
	require.JSONEq(t, `{"to":"ann","eur":12345678901234567890.10}`, string(got))
	require.Contains(t, string(got), "12345678901234567890.10")
	got, err = turn(answered(t, q, edit)).Approved(q)
	require.NoError(t, err)
	require.Equal(t, `{"to":"bob"}`, string(got))

	refused := func(q engine.Question, answers ...engine.Answer) *interaction.NotApprovedError {
		t.Helper()
		got, err := turn(answers...).Approved(q)
		require.Nil(t, got)
		require.ErrorIs(t, err, interaction.ErrNotApproved)
		var not *interaction.NotApprovedError
		require.ErrorAs(t, err, &not)
		require.NotEmpty(t, err.Error())
		return not
	}
	require.True(t, refused(dearer, answered(t, q, approve)).Changed)
	require.True(t, refused(dearer, answered(t, q, edit)).Changed)
	not := refused(q, answered(t, q, reject))
	require.False(t, not.Changed)
	require.Equal(t, "no money", not.Answer.Text)
	require.False(t, refused(q).Changed)
	q.ID = 1
	require.False(t, refused(q, interaction.NewAutoDecision(q).Answer(time.Now())).Changed)

	// Of two calls, each has its own answer; two equal ones must agree.
	both := []engine.Answer{answered(t, dearer, reject), answered(t, q, edit)}
	got, err = turn(both...).Approved(q)
	require.NoError(t, err)
	require.Equal(t, `{"to":"bob"}`, string(got))
	require.Equal(t, interaction.Reject, refused(dearer, both...).Answer.Decision)
	refused(q, answered(t, q, edit), answered(t, q, reject))
	refused(q, answered(t, q, edit), answered(t, q, approve))
	_, err = turn(answered(t, q, edit), answered(t, q, edit)).Approved(q)
	require.NoError(t, err)
}

// K1 K4: of two calls with the same arguments each has its own answer, by its Ref.
func TestK4ApprovedArgumentsAreThoseOfTheCall(t *testing.T) {
	first, err := engine.ApprovalOf("Pay?", "pay", invoice{"ann", "1"})
	require.NoError(t, err)
	second := first
	first.Ref, second.Ref = "call-1", "call-2"
	edit := interaction.Reply{Decision: interaction.Edit, Value: json.RawMessage(`{"to":"bob"}`)}
	turn := engine.Turn{Answers: []engine.Answer{
		answered(t, second, interaction.Reply{Decision: interaction.Reject, Text: "twice"}), answered(t, first, edit)}}
	got, err := turn.Approved(first)
	require.NoError(t, err)
	require.Equal(t, `{"to":"bob"}`, string(got))
	var not *interaction.NotApprovedError
	_, err = turn.Approved(second)
	require.ErrorAs(t, err, &not)
	require.Equal(t, "twice", not.Answer.Text)
	second.Ref = "call-3"
	_, err = turn.Approved(second)
	require.ErrorAs(t, err, &not)
	require.True(t, not.Changed)
}

// K4: arguments that cannot be shown exactly cannot be asked about.
func TestApprovalOfRefusesArgumentsThatCannotBeShown(t *testing.T) {
	for _, arguments := range []any{json.RawMessage(`{"a":1,"a":2}`), json.RawMessage(`{`), func() {},
		strings.Repeat("x", interaction.MaxArguments)} {
		_, err := engine.ApprovalOf("?", "pay", arguments)
		require.Error(t, err)
	}
	_, err := engine.ApprovalOf("?", " ", 1)
	require.Error(t, err)
	q, err := engine.ApprovalOf("?", "pay", json.RawMessage("{ \"a\": 1e2 }"))
	require.NoError(t, err)
	require.Equal(t, "{ \"a\": 1e2 }", string(q.Subject.Arguments))
}

// K3: an answer's value is decoded without rounding numbers.
func TestAsDecodesAValueWithoutRoundingNumbers(t *testing.T) {
	q := engine.Question{Prompt: "?", Schema: json.RawMessage(`{}`)}
	a := answered(t, q, interaction.Reply{Value: json.RawMessage(`{"to":"ann","eur":12345678901234567890.10}`)})
	got, err := interaction.As[invoice](a)
	require.NoError(t, err)
	require.Equal(t, invoice{"ann", "12345678901234567890.10"}, got)
	open, err := interaction.As[map[string]any](a)
	require.NoError(t, err)
	require.Equal(t, json.Number("12345678901234567890.10"), open["eur"])
	_, err = interaction.As[[]int](a)
	require.Error(t, err)
	_, err = interaction.As[invoice](engine.Answer{ID: 2, Text: "three", Resolution: interaction.UserReply})
	require.ErrorIs(t, err, interaction.ErrNoValue)
}

// N4, decision 20: arguments keep the order of their fields or text, and visible characters are not
// escaped. The digest is the value's.
func TestN4ArgumentsKeepTheirOrder(t *testing.T) {
	type change struct {
		Old string          `json:"old"`
		New json.RawMessage `json:"new"`
	}
	q, err := engine.ApprovalOf("?", "edit", change{"<a> & b", json.RawMessage(`{"z":"<","a":1.10}`)})
	require.NoError(t, err)
	const text = `{"old":"<a> & b","new":{"z":"<","a":1.10}}`
	require.Equal(t, text, string(q.Subject.Arguments))
	escaped, err := engine.ApprovalOf("?", "edit",
		json.RawMessage(`{"new":{"a":1.10,"z":"\u003c"},"old":"\u003ca\u003e \u0026 b"}`))
	require.NoError(t, err)
	require.Equal(t, escaped.Digest(), q.Digest())
	byText, err := engine.ApprovalOf("?", "edit", json.RawMessage(text))
	require.NoError(t, err)
	require.Equal(t, text, string(byText.Subject.Arguments))
	byMap, err := engine.ApprovalOf("?", "edit", map[string]string{"b": "<", "a": "&"})
	require.NoError(t, err)
	require.Equal(t, `{"a":"&","b":"<"}`, string(byMap.Subject.Arguments))
}
