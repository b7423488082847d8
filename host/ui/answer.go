package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/interlude-go/interlude/host/front"
	"github.com/interlude-go/interlude/host/reqbody"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// callID names a question in both encodings: the run, the number, and the start of the digest of
// the question as it was shown. So an answer never reaches another question.
func callID(run string, question *lifecycle.Question) string {
	return run + "." + strconv.Itoa(question.ID) + "." + question.Digest()[:16]
}

type call struct {
	run      string
	question int
	seen     string // the start of the digest
}

func parseCall(id string) (c call, ok bool) {
	rest, seen, ok := cutLast(id)
	if !ok || len(id) > MaxID {
		return call{}, false
	}
	run, number, ok := cutLast(rest)
	n, err := strconv.Atoi(number)
	return call{run, n, seen}, ok && err == nil && n >= 0 && len(seen) == 16
}

func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, '.')
	if i < 0 {
		return "", "", false
	}
	return s[:i], s[i+1:], true
}

// given is an answer of a client.
type given struct {
	call
	id    string // of the call
	value json.RawMessage
}

// errStale reports an answer to a question that was shown differently, or never.
var errStale = front.Fault{Code: "QUESTION_CHANGED", Text: "The question has changed since you saw it."}

func (q *request) answer(ctx context.Context, g *given) error {
	record, err := q.Client().Question(ctx, g.run, g.question)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(record.Question.Digest(), g.seen) {
		return errStale
	}
	a, err := readAnswer(&record.Question, g.value)
	if err != nil {
		return err
	}
	a.Exchange, a.Question, a.Seen = g.id, g.question, record.Question.Digest()
	_, err = q.Send(ctx, g.run, a)
	return err
}

// verdict is the answer to an approval.
type verdict struct {
	Approved   *bool           `json:"approved"`
	EditedArgs json.RawMessage `json:"editedArgs"`
	Reason     string          `json:"reason"`
}

// readAnswer reads the answer to a question: a verdict for an approval, the values of the form, a
// value for the question's schema, or a text.
func readAnswer(q *lifecycle.Question, value json.RawMessage) (front.Answer, error) {
	var text *string
	value = bytes.TrimSpace(value)
	if json.Unmarshal(value, &text) == nil && text != nil && (len(q.Schema) == 0 && q.Subject == nil || q.AlsoText) {
		return textAnswer(q, *text), nil
	}
	if q.Subject != nil {
		return readVerdict(value)
	}
	form, flat := front.FormOf(q)
	switch {
	case flat && bytes.HasPrefix(value, []byte{'{'}):
		return form.Read(value)
	case len(q.Schema) > 0:
		return front.ReadValue(value)
	case len(value) > 0 && json.Valid(value) && string(value) != "null":
		return textAnswer(q, string(value)), nil // a number, or true
	}
	return front.Answer{}, front.Fault{Code: "INVALID_REPLY", Text: "The answer is invalid: it is missing."}
}

func readVerdict(value json.RawMessage) (front.Answer, error) {
	var v verdict
	if reqbody.Unmarshal(value, &v) != nil || v.Approved == nil {
		return front.Answer{}, front.Fault{Code: "INVALID_REPLY",
			Text: `The answer is invalid: want an object with "approved", true or false.`}
	}
	a := front.Answer{Decision: lifecycle.Reject, Text: v.Reason}
	if *v.Approved {
		// The request for the approval names the risk, and so the page that asks for it.
		a.Decision, a.AcceptRisk = lifecycle.Approve, true
		if len(v.EditedArgs) > 0 && string(v.EditedArgs) != "null" {
			edited, err := front.ReadValue(v.EditedArgs)
			if err != nil {
				return a, err
			}
			a.Decision, a.Value = lifecycle.Edit, edited.Value
		}
	}
	return a, nil
}

// textAnswer is a text, or an option. An option whose label names the risk accepts it.
func textAnswer(q *lifecycle.Question, text string) front.Answer {
	for _, o := range q.Choices() {
		if o.Value != text {
			continue
		}
		content, err := json.Marshal(map[string]string{"answer": text})
		if form, ok := front.FormOf(q); ok && err == nil {
			if a, err := form.Read(content); err == nil {
				return a
			}
		}
	}
	return front.Answer{Text: text}
}

// settledElsewhere reports whether an answer failed because the question was settled. Then the
// stream shows the accepted decision.
func settledElsewhere(err error) bool {
	return errors.Is(err, lifecycle.ErrSettled) || errors.Is(err, lifecycle.ErrNotWaiting) ||
		errors.Is(err, lifecycle.ErrTerminal) || errors.Is(err, lifecycle.ErrVoted)
}

// outcome returns the accepted answer in the form in which a client would send it.
func outcome(r *lifecycle.Record) any {
	switch {
	case r.Question.Subject != nil && r.Decision == "":
		return map[string]any{"reason": r.Response}
	case r.Question.Subject != nil:
		v := map[string]any{"approved": r.Decision == lifecycle.Approve || r.Decision == lifecycle.Edit}
		if r.Response != "" {
			v["reason"] = r.Response
		}
		if r.Decision == lifecycle.Edit {
			v["editedArgs"] = r.Value
		}
		return v
	case len(r.Value) > 0:
		return r.Value
	}
	return r.Response
}

// decidedBy says how a question was settled, for metadata.
func decidedBy(r *lifecycle.Record) map[string]any {
	m := map[string]any{"resolution": string(r.Resolution)}
	if r.Actor != "" {
		m["by"] = r.Actor
	}
	if absent := r.For(); absent != "" {
		m["for"] = absent
	}
	if r.Via != "" {
		m["via"] = r.Via
	}
	return m
}

// settlement says in words how a question was settled.
func settlement(r *lifecycle.Record) string {
	text := map[lifecycle.Resolution]string{
		lifecycle.Abandoned: "The run has ended.", lifecycle.Superseded: "Other answers were sufficient.",
		lifecycle.AutoDecideTimeout: "Decided automatically.", lifecycle.DefaultAnswer: "Decided by default.",
	}[r.Resolution]
	if r.Actor != "" {
		text = "Decided by " + interaction.Visible(r.Actor)
		if absent := r.For(); absent != "" {
			text += " for " + interaction.Visible(absent)
		}
		text += "."
	}
	if r.Question.Subject != nil && r.Response != "" {
		text += " " + interaction.VisibleProse(r.Response)
	}
	return text
}

func responseSchema(q *lifecycle.Question) json.RawMessage {
	if q.Subject != nil {
		args := json.RawMessage(`{"type":"object"}`)
		if len(q.Schema) > 0 {
			args = q.Schema
		}
		return json.RawMessage(`{"type":"object","properties":{"approved":{"type":"boolean"},"editedArgs":` +
			string(args) + `,"reason":{"type":"string"}},"required":["approved"]}`)
	}
	if form, flat := front.FormOf(q); flat {
		return form.Schema
	}
	return q.Schema
}
