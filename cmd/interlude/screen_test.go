package main

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/cmd/internal/terminal"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/internal/hostile"
	"github.com/interlude-go/interlude/lifecycle"
)

// C3: the number of an option selects its value; any other text is the reply.
func TestChooseTurnsANumberIntoTheOptionsValue(t *testing.T) {
	q := &lifecycle.InputRequired{Options: []fcmp.Option{{Label: "A", Value: "a"}, {Label: "B", Value: "b"}}}
	for text, want := range map[string]string{"1": "a", "2": "b", "the first": "the first"} {
		got, err := choose(q, text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := choose(q, "3")
	require.ErrorContains(t, err, "there is no option 3")
}

func TestSpanWritesADurationInOneUnit(t *testing.T) {
	for d, want := range map[time.Duration]string{
		1250 * time.Millisecond: "1.2 s", 59 * time.Second: "59 s", 3 * time.Minute: "3 min", 5 * time.Hour: "5 h",
		72 * time.Hour: "3 days",
	} {
		require.Equal(t, want, terminal.Span(d))
	}
}

// The command that continues a run has its flags, except the single-use ones.
func TestResumeCommandHasOnlyTheFlagsTheRunNeeds(t *testing.T) {
	for want, args := range map[string][]string{
		"./interlude run -agent demo hello": {"./interlude", "-new", "-agent", "demo",
			"-kill", "parked", "hello", "--reply=yes", "-reply", "no"},
		"go run ./cmd/interlude run -offline -agent 'acp:opencode acp' 'a b'": {"/tmp/go-build1/b001/exe/interlude",
			"-offline", "-agent", "acp:opencode acp", "a b"},
		`interlude run 'it'\''s'`: {"interlude", "it's"},
	} {
		require.Equal(t, want, resumeCommand(args[0], args[1:]))
	}
}

// A hint describes the expected reply.
func TestHintSaysWhatReplyIsExpected(t *testing.T) {
	at := time.Now().Add(time.Minute)
	for want, q := range map[string]lifecycle.InputRequired{
		"in your own words":                           {Kind: "open_text"},
		"yes or no":                                   {Kind: "confirm"},
		"yes accepts the risk, no does not":           {Kind: "risk_ack"},
		"please include name, date":                   {RequiredFields: []string{"name", "date"}},
		"a number, or your own words":                 {Kind: "choose_one", Options: make([]fcmp.Option, 2)},
		"yes, no, other arguments as JSON, or a text": {Kind: "approval", Subject: &fcmp.Subject{Tool: "pay"}},
		`JSON that matches {"type":"integer"}`:        {Kind: "fill_fields", Schema: `{"type":"integer"}`},
		"yes or no; until " + at.Local().Format("15:04:05") + ", then the run fails": {Kind: "confirm",
			WaitDeadlineAt: at, OnDeadline: "fail"},
	} {
		require.Equal(t, want, hint(q))
	}
}

// N4: run shows every character of a question.
func TestN4RunShowsHostileText(t *testing.T) {
	for _, c := range hostile.Cases() {
		q := c.Question
		asked := lifecycle.InputRequired{InteractionID: 1, Kind: string(q.Kind), Prompt: q.Prompt, Context: q.Context,
			RequiredFields: q.RequiredFields, Schema: string(q.Schema)}
		for _, o := range q.Options {
			asked.Options = append(asked.Options, fcmp.Option{Label: o.Label, Value: o.Value})
		}
		prose := c.Prose
		if s := q.Subject; s != nil {
			asked.Subject = &fcmp.Subject{Tool: s.Tool, Title: s.Title, Risk: s.Risk, Arguments: string(s.Arguments)}
		}
		if q.Schema != nil { // shown as one JSON text
			c.Exact, prose = append(c.Exact, "caption", "remark"), prose[:2]
		}
		var b bytes.Buffer
		talk := conversation{screen: &screen{to: &output{Writer: &b}}, death: &death{}}
		talk.ask(asked, true)
		require.NoError(t, hostile.Check(b.String(), c.Exact, prose))
	}
}

// K3 K4: a typed reply is a decision, a value or a text, as the question accepts it, and always
// answers the displayed question.
func TestReplyToReadsATextAsTheQuestionTakesIt(t *testing.T) {
	pay := lifecycle.InputRequired{InteractionID: 1, Subject: &fcmp.Subject{Tool: "pay"}, Digest: "d"}
	spoken, form := pay, lifecycle.InputRequired{InteractionID: 1, Schema: "{}", Digest: "d"}
	spoken.AlsoText = true
	risky := pay
	risky.Subject = &fcmp.Subject{Tool: "pay", Risk: "it is gone"}
	plain := lifecycle.InputRequired{InteractionID: 1}
	for _, c := range []struct {
		question lifecycle.InputRequired
		text     string
		want     lifecycle.Reply
	}{
		{pay, "Yes", lifecycle.Reply{Decision: lifecycle.Approve}},
		{risky, "y", lifecycle.Reply{Decision: lifecycle.Approve, AcceptRisk: true}},
		{spoken, "no", lifecycle.Reply{Decision: lifecycle.Reject}},
		{pay, `{"eur":1}`, lifecycle.Reply{Decision: lifecycle.Edit, Value: json.RawMessage(`{"eur":1}`)}},
		{pay, "later", lifecycle.Reply{Decision: lifecycle.Respond, Text: "later"}},
		{spoken, "later", lifecycle.Reply{Text: "later"}},
		{form, "3", lifecycle.Reply{Value: json.RawMessage("3")}},
		{form, "three", lifecycle.Reply{Text: "three"}},
		{plain, `{"eur":1}`, lifecycle.Reply{Text: `{"eur":1}`}},
		{plain, "yes", lifecycle.Reply{Text: "yes"}},
	} {
		c.want.ID, c.want.Seen = 1, c.question.Digest
		got, err := replyTo(&c.question, c.text)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
}
