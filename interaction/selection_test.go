package interaction_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
)

func options(values ...string) (all []interaction.Option) {
	for _, v := range values {
		all = append(all, interaction.Option{Label: "Label of " + v, Value: v})
	}
	return all
}

// N1: the one table of a reply's selection. Every front end passes replies to Reply.ValidateFor and
// AnswerTo, so none needs another table.
func TestN1WhatAReplySelects(t *testing.T) {
	environment := interaction.Question{Kind: interaction.ChooseOne,
		Options: options("staging", "production", "1", "é")}
	confirm := interaction.Question{Kind: interaction.Confirm}
	ship := interaction.Question{Kind: interaction.Confirm, Options: []interaction.Option{
		{Label: "Yes, later", Value: "wait"}, {Label: "Now", Value: "ship", Yes: true}}}
	risk := interaction.Question{Kind: interaction.RiskAck, Options: []interaction.Option{
		{Label: "No", Value: "TRUE"}, {Label: "Yes", Value: "stop"}}}
	for _, c := range []struct {
		question          interaction.Question
		text, want, means string // want is the value that is selected; "" if none is
	}{
		{environment, "staging", "staging", ""},
		{environment, "  StaGing ", "staging", ""},
		{environment, "label  of\tPRODUCTION", "production", ""},
		{environment, "1", "1", ""},
		{environment, "2", "production", ""},
		{environment, "4", "é", ""},
		{environment, "e\u0301", "é", ""},
		{environment, "5", "", ""},
		{environment, "0", "", ""},
		{environment, "stagin", "", ""},
		{environment, "staging please", "", ""},
		{environment, "yes", "", ""},
		{confirm, "yes", "yes", "yes"},
		{confirm, " YES\n", "yes", "yes"},
		{confirm, "No", "no", "no"},
		{confirm, "1", "yes", "yes"},
		{confirm, "2", "no", "no"},
		{confirm, "yes, but", "", ""},
		{confirm, "nope", "", ""},
		{ship, "ship", "ship", "yes"},
		{ship, "now", "ship", "yes"},
		{ship, "wait", "wait", "no"},
		{ship, "yes, later", "wait", "no"},
		{ship, "yes", "", ""},
		{risk, "true", "TRUE", "yes"},
		{risk, "yes", "stop", "no"}, // a label never decides
	} {
		q := c.question
		q.ID, q.Prompt, q.Only = 1, "?", true
		require.NoError(t, q.Validate())
		asked, diagnostics := interaction.Normalize(q)
		require.True(t, asked.Only)
		require.Empty(t, diagnostics)
		reply := interaction.Reply{ID: 1, Text: c.text, AcceptRisk: true}
		err := reply.ValidateFor(asked)
		a := reply.AnswerTo(&asked, time.Time{})
		o, selected := a.Option()
		yes, ok := a.Yes()
		require.Equal(t, c.want, o.Value, c.text)
		require.Equal(t, c.want != "", selected, c.text)
		if c.want == "" {
			require.ErrorIs(t, err, interaction.ErrInvalidReply, c.text)
			for _, o := range asked.Choices() {
				require.ErrorContains(t, err, `"`+o.Value+`"`, "the error lists the valid replies")
			}
			continue
		}
		require.NoError(t, err, c.text)
		require.Equal(t, c.means == interaction.MeansYes, yes, c.text)
		require.Equal(t, c.means != "", ok, c.text)
		require.Equal(t, c.text, a.Text, "what the person wrote stays")

		q.Only = false // C3: without Only every text is accepted
		require.NoError(t, reply.ValidateFor(q))
	}
}

// N1: by value, by a mark, or not at all: which option means yes.
func TestN1WhichOptionMeansYes(t *testing.T) {
	marked := func(values ...string) []interaction.Option {
		all := options(values...)
		all[len(all)-1].Yes = true
		return all
	}
	for _, c := range []struct {
		q    interaction.Question
		want int
	}{
		{interaction.Question{Kind: interaction.Confirm}, 0},
		{interaction.Question{Kind: interaction.Confirm, Options: options("no", "accept")}, 1},
		{interaction.Question{Kind: interaction.Confirm, Options: marked("wait", "ship")}, 1},
		{interaction.Question{Kind: interaction.Confirm, Options: marked("yes", "ship")}, 0},
		{interaction.Question{Kind: interaction.Confirm, Options: marked("yes", "true", "ship")}, -1},
		{interaction.Question{Kind: interaction.Confirm, Options: options("wait", "ship")}, -1},
		{interaction.Question{Kind: interaction.Confirm, Schema: json.RawMessage(`{}`)}, -1},
		{interaction.Question{Kind: interaction.OpenText}, -1},
	} {
		require.Equal(t, c.want, c.q.YesOption(), "%v", c.q.Options)
		require.Equal(t, c.want >= 0 || len(c.q.Options) > 0, len(c.q.Choices()) > 0)
	}
}

// N1: without Only, an answer is a yes or a no only if it says nothing else.
func TestN1AnAnswerInOwnWordsIsNeitherYesNorNo(t *testing.T) {
	q := interaction.Question{ID: 1, Kind: interaction.Confirm}
	for text, want := range map[string][2]bool{
		"yes": {true, true}, " True ": {true, true}, "accept": {true, true}, "no": {false, true},
		"FALSE": {false, true}, "decline": {false, true}, "yes, but only on Monday": {}, "no problem": {}, "maybe": {},
		"": {}, "1": {},
	} {
		yes, ok := interaction.Reply{ID: 1, Text: text}.AnswerTo(&q, time.Time{}).Yes()
		require.Equal(t, want, [2]bool{yes, ok}, text)
	}
	decided := interaction.Answer{Resolution: interaction.AutoDecideTimeout, Text: "yes"}
	yes, ok := decided.Yes()
	require.False(t, yes || ok, "a deadline is nobody's consent")
	_, ok = decided.Option()
	require.False(t, ok)
}

// N1: Only is refused where it could not be answered, and never silently asked as free text.
func TestN1OnlyNeedsOptionsThatDecide(t *testing.T) {
	for name, q := range map[string]interaction.Question{
		"no options":  {Kind: interaction.ChooseOne},
		"open text":   {Kind: interaction.OpenText},
		"a form":      {Kind: interaction.Confirm, Schema: json.RawMessage(`{}`)},
		"an approval": {Kind: interaction.Approval, Subject: &interaction.Subject{Tool: "pay"}},
		"no yes":      {Kind: interaction.Confirm, Options: options("ship", "wait")},
		"two yes":     {Kind: interaction.RiskAck, Options: options("yes", "true")},
		"two marked": {Kind: interaction.Confirm, Options: []interaction.Option{
			{Value: "a", Yes: true}, {Value: "b", Yes: true}}},
		"equal values": {Kind: interaction.ChooseOne, Options: options("a", " A")},
		"one by its label": {Kind: interaction.Confirm, Options: []interaction.Option{
			{Label: "Yes", Value: "1"}, {Label: "No", Value: "0"}}},
	} {
		q.Only, q.Prompt = true, "?"
		require.ErrorIs(t, q.Validate(), interaction.ErrOnly, name)
		asked, diagnostics := interaction.Normalize(q)
		require.False(t, asked.Only, name)
		require.NotEmpty(t, diagnostics, name)
	}
	labels := interaction.Question{Kind: interaction.ChooseOne, Only: true,
		Options: []interaction.Option{{Label: "a"}, {Label: "b"}}}
	require.NoError(t, labels.Validate(), "a label is the value of an option without one")
}

// N1: the default answer of an Only question is an option of it, and the digest includes Only.
func TestN1OnlyBindsDefaultAndDigest(t *testing.T) {
	q := interaction.Question{Kind: interaction.Confirm, Prompt: "?", Only: true}
	wait := interaction.Wait{End: time.Hour, Then: interaction.ThenDefault,
		Default: &interaction.DefaultReply{Text: "later"}}
	require.ErrorContains(t, wait.ValidateFor(q), `one of "yes", "no"`)
	wait.Default.Text = "No"
	require.NoError(t, wait.ValidateFor(q))
	q.Wait = &wait
	yes, ok := q.TakeDefault(time.Time{}).Yes()
	require.Equal(t, [2]bool{false, true}, [2]bool{yes, ok})
	free, marked := q, q
	free.Only = false
	marked.Options = []interaction.Option{{Label: "a", Value: "a", Yes: true}}
	unmarked := marked
	unmarked.Options = []interaction.Option{{Label: "a", Value: "a"}}
	require.NotEqual(t, q.Digest(), free.Digest())
	require.NotEqual(t, marked.Digest(), unmarked.Digest())
}
