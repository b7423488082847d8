package link

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// form is a form as displayed: a question's, or the arguments of an approval for editing. Fields is
// nil if the value is written as JSON, because it is not flat or the person prefers it.
type form struct {
	T      *words
	Edits  bool // the value replaces an approval's arguments
	Risk   bool
	Fields []field
	Flat   bool   // fields are possible
	JSON   string // as typed
	Schema string // shown with the JSON
	Note   string // the text of the decision, kept between the steps
	Open   bool   // the person is editing
	Faults []string
}

// review is the step between an edit and its approval.
type review struct {
	Value      string // is sent
	Arguments  excerpt
	Difference difference
}

// valueName is the name of the control that has a value as JSON, typed or reviewed.
const valueName = "value"

// formOf returns the form of a question with the value that it begins with, or nil. It is nil if the
// question has no form, and its arguments cannot be edited.
func formOf(q *lifecycle.Question, value json.RawMessage, w *words) *form {
	f := &form{T: w, Edits: q.Subject != nil}
	schema := q.Schema
	if f.Edits {
		if q.DecidedBySeveral() || string(schema) == "false" || len(q.Subject.Arguments) == 0 {
			return nil
		}
		f.Risk = q.Subject.Risk != ""
		if len(schema) == 0 {
			schema = schemaOf(q.Subject.Arguments)
		}
	}
	if len(schema) == 0 && !f.Edits {
		return nil
	}
	if len(q.Schema) > 0 {
		f.Schema = interaction.VisibleJSON(q.Schema, "  ")
	}
	if f.Fields = fieldsOf(schema, value, w); f.Fields != nil {
		f.Flat = true
		return f
	}
	f.JSON = editable(value)
	return f
}

// asJSON changes the form to a field for JSON.
func (f *form) asJSON(text string) *form {
	f.Fields, f.JSON = nil, text
	return f
}

func editable(value json.RawMessage) string {
	var laid bytes.Buffer
	if json.Indent(&laid, value, "", "  ") != nil {
		return string(value)
	}
	return interaction.EditableJSON(laid.Bytes())
}

// schemaOf returns the schema of the arguments of a call, for an approval without one.
func schemaOf(arguments json.RawMessage) json.RawMessage {
	properties, names := make(map[string]any), []string{}
	for _, m := range membersOf(arguments) {
		kind := map[byte]string{'"': "string", 't': "boolean", 'f': "boolean", '{': "object", '[': "array",
			'n': "null"}[m.value[0]]
		if kind == "" {
			kind = "number"
		}
		properties[m.name] = map[string]string{"type": kind}
		names = append(names, m.name)
	}
	schema, _ := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": names})
	return schema // cannot fail: names and kinds are texts
}

// read reads what the person has typed, and keeps it for the page. If there are faults, the value
// lacks the members that have them, or is nil.
func (f *form) read(typed url.Values) json.RawMessage {
	if typed.Has(valueName) {
		text := strings.ReplaceAll(typed.Get(valueName), "\r\n", "\n")
		f.asJSON(text)
		var b bytes.Buffer
		if err := json.Compact(&b, []byte(text)); err != nil {
			f.Faults = append(f.Faults, f.T.NotJSON+" "+err.Error())
			return nil
		}
		return b.Bytes()
	}
	var out bytes.Buffer
	faults := false
	for i := range f.Fields {
		field := &f.Fields[i]
		value := field.read(typed, f.T)
		if faults = faults || field.Fault != ""; value == nil {
			continue
		}
		if out.Len() > 0 {
			out.WriteByte(',')
		}
		out.Write(quoted(field.name))
		out.WriteByte(':')
		out.Write(value)
	}
	if faults {
		f.Faults = append(f.Faults, f.T.FaultsBelow)
	}
	return slices.Concat([]byte("{"), out.Bytes(), []byte("}"))
}

// refuse adds the reasons for which the question does not accept the value.
func (f *form) refuse(err error) {
	var invalid *interaction.ValueError
	if !errors.As(err, &invalid) {
		f.Faults = append(f.Faults, interaction.VisibleProse(err.Error()))
		return
	}
	for _, fault := range invalid.Faults {
		i := slices.IndexFunc(f.Fields, func(m field) bool { return pointer(m.name) == fault.Pointer })
		if i >= 0 {
			f.Fields[i].Fault = strings.TrimSpace(f.Fields[i].Fault + " " + interaction.VisibleProse(fault.Want))
			continue
		}
		f.Faults = append(f.Faults, interaction.VisibleProse(fmt.Sprintf("%s: %s", fault.Pointer, fault.Want)))
	}
	if len(f.Faults) == 0 {
		f.Faults = append(f.Faults, f.T.FaultsBelow)
	}
}

// fill handles the buttons of a form. It sets the reply's value, or the form or review that the page
// shows next. Nothing is stored.
func fill(r *http.Request, v *visit, reply *lifecycle.Reply) *refusal {
	q, w, proposed := &v.question, wordsFor(r), argumentsOf(&v.question)
	f := formOf(q, proposed, w)
	if f == nil {
		return &refusal{reason: Invalid}
	}
	f.Note = reply.Text
	value, step := f.read(r.PostForm), r.PostForm.Get("step")
	switch {
	case step == "json" && value != nil:
		f.Faults = nil
		v.form = f.asJSON(editable(value))
		return nil
	case step == "back" && value != nil:
		v.form = formOf(q, value, w)
		v.form.Note = f.Note
		return nil
	case f.Edits:
		reply.Decision = lifecycle.Edit
	default:
		reply.Text = ""
	}
	reply.Value = value
	checked := *reply
	checked.Actor, checked.AcceptRisk = v.actor, true // the risk is accepted in the review
	switch err := cmp.Or(checked.Validate(), checked.ValidateFor(*q)); {
	case len(f.Faults) > 0:
	case errors.Is(err, interaction.ErrInvalidReply):
		f.refuse(err)
	case f.Edits && compact(proposed) == string(value):
		f.Faults = append(f.Faults, w.NothingChanged)
	case f.Edits && step != "":
		v.reviewed, v.form = value, f
		return nil
	default:
		return nil
	}
	v.form = f
	return &refusal{reason: Invalid}
}

// argumentsOf returns the arguments of an approval; nil for other questions.
func argumentsOf(q *lifecycle.Question) json.RawMessage {
	if q.Subject == nil {
		return nil
	}
	return q.Subject.Arguments
}

func compact(value json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return string(value)
	}
	return b.String()
}
