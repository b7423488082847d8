package front

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// Form is a question as the flat form that MCP and ACP define: one object whose members are strings,
// numbers, booleans, choices and lists of choices, without nesting and references.
type Form struct {
	// Schema is the form as a JSON Schema.
	Schema json.RawMessage
	// Read returns the answer for the values that the person has entered, as one JSON object. It
	// checks little: lifecycle.Client.Reply checks the answer. The error is a Fault.
	Read func(content json.RawMessage) (Answer, error)
}

// The members of forms for questions without a schema.
const (
	answerMember   = "answer"
	otherMember    = "other"
	decisionMember = "decision"
	commentMember  = "comment"
	valueMember    = "value"
)

// FormOf returns the flat form of the question. It reports false if the question's schema has no
// flat form; then a protocol refers to the host's page.
//
// The form of an approval has no arguments to edit. A control that accepts a risk names it.
func FormOf(q *lifecycle.Question) (Form, bool) {
	var form Form
	ok := true
	switch {
	case q.Subject != nil:
		form = approvalForm(q)
	case len(q.Schema) > 0:
		form, ok = schemaForm(q)
	case len(q.Choices()) > 0:
		form = choiceForm(q)
	case len(q.RequiredFields) > 0:
		form = namedForm(q)
	default:
		form = Form{Schema: object([]member{text(answerMember, "Your answer")}, answerMember), Read: readText}
	}
	if !ok {
		return Form{}, false
	}
	read, n, seen := form.Read, q.ID, q.Digest()
	form.Read = func(content json.RawMessage) (Answer, error) {
		if len(content) > interaction.MaxReplyText {
			return Answer{}, invalid("the form is too large")
		}
		a, err := read(content)
		a.Question, a.Seen = n, seen
		return a, err
	}
	return form, true
}

func invalid(format string, args ...any) error {
	return Fault{Code: "INVALID_REPLY", Text: "The answer is invalid: " + fmt.Sprintf(format, args...) + "."}
}

type member struct {
	name  string
	value json.RawMessage
}

func object(properties []member, required ...string) json.RawMessage {
	all := []member{{"type", quote("object")}, {"properties", encode(properties)}}
	if len(required) > 0 {
		list, _ := json.Marshal(required)
		all = append(all, member{"required", list})
	}
	return encode(all)
}

func encode(members []member) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quote(m.name))
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

func quote(s string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string has no error
	return bytes.TrimSpace(b.Bytes())
}

func text(name, title string) member {
	return member{name, encode([]member{{"type", quote("string")}, {"title", quote(title)}})}
}

// choice returns a member with options, each with its label and, if it differs, its value.
func choice(name, title string, options []lifecycle.Option) member {
	var list bytes.Buffer
	list.WriteByte('[')
	for i, o := range options {
		if i > 0 {
			list.WriteByte(',')
		}
		list.Write(encode([]member{{"const", quote(o.Value)}, {"title", quote(o.Label)}}))
	}
	list.WriteByte(']')
	return member{name, encode([]member{{"type", quote("string")}, {"title", quote(title)}, {"oneOf", list.Bytes()}})}
}

// entered reads the members of a form that has only texts.
func entered(content json.RawMessage, names ...string) (map[string]string, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(content, &all); err != nil {
		return nil, invalid("want the form's values as one object")
	}
	values := make(map[string]string, len(names))
	for _, name := range names {
		var value *string
		if raw, ok := all[name]; ok && json.Unmarshal(raw, &value) != nil {
			return nil, invalid("%s: want a text", name)
		}
		if value != nil {
			values[name] = *value
		}
	}
	return values, nil
}

func readText(content json.RawMessage) (Answer, error) {
	values, err := entered(content, answerMember)
	if err == nil && strings.TrimSpace(values[answerMember]) == "" {
		err = invalid("%s: missing", answerMember)
	}
	return Answer{Text: values[answerMember]}, err
}

func approvalForm(q *lifecycle.Question) Form {
	approve := "Approve"
	if q.Subject.Risk != "" {
		approve = "Approve, and accept the risk: " + interaction.VisibleProse(q.Subject.Risk)
	}
	options := []lifecycle.Option{{Label: approve, Value: string(lifecycle.Approve)},
		{Label: "Reject", Value: string(lifecycle.Reject)}}
	return Form{Schema: object([]member{choice(decisionMember, "Your decision", options),
		text(commentMember, "Comment")}, decisionMember),
		Read: func(content json.RawMessage) (Answer, error) {
			values, err := entered(content, decisionMember, commentMember)
			a := Answer{Decision: lifecycle.Decision(values[decisionMember]), Text: values[commentMember]}
			if err == nil && a.Decision != lifecycle.Approve && a.Decision != lifecycle.Reject {
				err = invalid("%s: want approve or reject", decisionMember)
			}
			a.AcceptRisk = a.Decision == lifecycle.Approve // the control names the risk
			return a, err
		}}
}

func choiceForm(q *lifecycle.Question) Form {
	var options []lifecycle.Option
	accepts := make(map[string]bool)
	for _, o := range q.Choices() {
		if slices.ContainsFunc(options, func(p lifecycle.Option) bool { return p.Value == o.Value }) {
			continue // the same answer
		}
		label := interaction.VisibleProse(o.Label)
		if o.Label != o.Value && len(q.Options) > 0 {
			label += " (" + interaction.Visible(o.Value) + ")"
		}
		if (lifecycle.Reply{Text: o.Value}).AcceptsRisk(*q) {
			label += ": I accept the risk"
			accepts[o.Value] = true
		}
		options = append(options, lifecycle.Option{Label: label, Value: o.Value})
	}
	members, required := []member{choice(answerMember, "Your answer", options)}, []string{answerMember}
	if !q.Only {
		members, required = append(members, text(otherMember, "Or in your own words")), nil
	}
	return Form{Schema: object(members, required...), Read: func(content json.RawMessage) (Answer, error) {
		values, err := entered(content, answerMember, otherMember)
		option, other := values[answerMember], values[otherMember]
		switch {
		case err != nil:
		case option != "" && strings.TrimSpace(other) != "":
			err = invalid("want an option or other words, not both")
		case option == "" && strings.TrimSpace(other) == "":
			err = invalid("%s: missing", answerMember)
		case option == "":
			return Answer{Text: other}, nil
		}
		return Answer{Text: option, AcceptRisk: accepts[option]}, err
	}}
}

// namedForm is the form of a text that has to contain certain fields.
func namedForm(q *lifecycle.Question) Form {
	var members []member
	var names []string
	for i := range q.RequiredFields {
		names = append(names, fmt.Sprintf("field%d", i+1))
		members = append(members, text(names[i], interaction.Visible(q.RequiredFields[i])))
	}
	members = append(members, text(otherMember, "More to say"))
	return Form{Schema: object(members, names...), Read: func(content json.RawMessage) (Answer, error) {
		values, err := entered(content, append(slices.Clone(names), otherMember)...)
		if err != nil {
			return Answer{}, err
		}
		var lines []string
		for i, name := range names {
			if strings.TrimSpace(values[name]) == "" {
				return Answer{}, invalid("%s: missing", q.RequiredFields[i])
			}
			lines = append(lines, q.RequiredFields[i]+": "+values[name])
		}
		return Answer{Text: strings.TrimSpace(strings.Join(append(lines, values[otherMember]), "\n"))}, nil
	}}
}

// schemaForm projects the question's schema. A schema of one simple value becomes a form with one
// member. The projection never refuses a value that the schema allows and the form can express; what
// it leaves out is checked when the answer is sent.
func schemaForm(q *lifecycle.Question) (Form, bool) {
	if property, ok := flatProperty(q.Schema); ok {
		return Form{Schema: object([]member{{valueMember, property}}, valueMember),
			Read: func(content json.RawMessage) (Answer, error) {
				var all map[string]json.RawMessage
				if json.Unmarshal(content, &all) != nil || len(all[valueMember]) == 0 {
					return Answer{}, invalid("%s: missing", valueMember)
				}
				return ReadValue(all[valueMember])
			}}, true
	}
	top, ok := membersOf(q.Schema)
	if !ok || !isText(find(top, "type"), "object") || find(top, "$ref") != nil || find(top, "allOf") != nil ||
		find(top, "anyOf") != nil || find(top, "oneOf") != nil {
		return Form{}, false
	}
	properties, ok := membersOf(find(top, "properties"))
	if !ok || len(properties) == 0 {
		return Form{}, false
	}
	flat := make([]member, len(properties))
	for i, p := range properties {
		value, ok := flatProperty(p.value)
		if !ok || !isVisible(p.name) {
			return Form{}, false
		}
		flat[i] = member{p.name, value}
	}
	var required []string
	if raw := find(top, "required"); raw != nil && json.Unmarshal(raw, &required) != nil {
		return Form{}, false
	}
	for _, name := range required {
		if !slices.ContainsFunc(flat, func(m member) bool { return m.name == name }) {
			return Form{}, false
		}
	}
	return Form{Schema: object(flat, required...), Read: ReadValue}, true
}

// ReadValue returns the answer for a JSON value that a client has sent, for a question with a schema or
// for the edited arguments of an approval. It refuses integers that a client of JavaScript may
// have rounded. The error is a Fault.
func ReadValue(content json.RawMessage) (Answer, error) {
	if len(content) > interaction.MaxReplyText {
		return Answer{}, invalid("the value is too large")
	}
	if !json.Valid(content) {
		return Answer{}, invalid("want one JSON value")
	}
	if !safeNumbers(content) {
		return Answer{}, invalid("a number is too large to be sent exactly; answer on the page")
	}
	return Answer{Value: content}, nil
}

// safeNumbers reports whether the value has no integer that a client of JavaScript may have rounded.
func safeNumbers(content json.RawMessage) bool {
	d := json.NewDecoder(bytes.NewReader(content))
	for {
		token, err := d.Token()
		if err != nil {
			return true // the end; syntax is checked with the answer
		}
		if n, ok := token.(float64); ok && n == math.Trunc(n) && math.Abs(n) > 1<<53-1 {
			return false
		}
	}
}

// keywords are the keywords of a flat property for each type.
var keywords = map[string][]string{
	"string":  {"minLength", "maxLength", "format", "enum", "oneOf", "default"},
	"number":  {"minimum", "maximum", "default"},
	"integer": {"minimum", "maximum", "default"},
	"boolean": {"default"},
	"array":   {"minItems", "maxItems", "items", "default"},
}

// flatProperty returns a property as flat forms allow it. It reports false if they cannot express it.
func flatProperty(schema json.RawMessage) (json.RawMessage, bool) {
	all, ok := membersOf(schema)
	if !ok {
		return nil, false
	}
	var kind string
	if json.Unmarshal(find(all, "type"), &kind) != nil || keywords[kind] == nil {
		return nil, false
	}
	out := []member{{"type", quote(kind)}}
	for _, m := range all {
		switch m.name {
		case "$ref", "$dynamicRef", "allOf", "anyOf", "const", "if", "not":
			return nil, false
		case "title", "description":
			var s string
			if json.Unmarshal(m.value, &s) == nil {
				out = append(out, member{m.name, quote(interaction.VisibleProse(s))})
			}
			continue
		case "format":
			if !isText(m.value, "email", "uri", "date", "date-time") {
				continue
			}
		case "enum", "oneOf":
			if kind != "string" || m.name == "enum" && !isTexts(m.value) {
				return nil, false
			}
			if m.name == "oneOf" {
				if m.value, ok = titled(m.value); !ok {
					return nil, false
				}
			}
		case "items":
			if m.value, ok = choiceOf(m.value); !ok {
				return nil, false
			}
		case "default":
			if !isVisible(string(m.value)) || !isVisible(asText(m.value)) {
				return nil, false
			}
		}
		if slices.Contains(keywords[kind], m.name) {
			out = append(out, m)
		}
	}
	if kind == "array" && find(all, "items") == nil {
		return nil, false
	}
	return encode(out), true
}

// choiceOf returns the items of a list. It reports false if they are not choices.
func choiceOf(items json.RawMessage) (json.RawMessage, bool) {
	all, ok := membersOf(items)
	if enum := find(all, "enum"); ok && len(all) == 2 && enum != nil {
		return items, isText(find(all, "type"), "string") && isTexts(enum)
	}
	if !ok || len(all) != 1 {
		return nil, false
	}
	options, ok := titled(find(all, "anyOf"))
	return encode([]member{{"anyOf", options}}), ok
}

// isVisible reports whether the text has no hidden characters: a client that does not mark them
// still shows the whole text.
func isVisible(s string) bool { return interaction.Visible(s) == s }

// asText returns the text of a JSON string; empty for other values.
func asText(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s)
	return s
}

func isText(raw json.RawMessage, allowed ...string) bool {
	var s string
	return json.Unmarshal(raw, &s) == nil && slices.Contains(allowed, s)
}

// isTexts reports whether the values are texts that a client can show.
func isTexts(raw json.RawMessage) bool {
	var list []*string
	return json.Unmarshal(raw, &list) == nil && len(list) > 0 &&
		!slices.ContainsFunc(list, func(s *string) bool { return s == nil || !isVisible(*s) })
}

// titled returns the options with titles that can be shown. It reports false if the options are
// not constants with titles, or have values that a client cannot show.
func titled(raw json.RawMessage) (json.RawMessage, bool) {
	var list []map[string]*string
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return nil, false
	}
	out := make([]json.RawMessage, len(list))
	for i, o := range list {
		if len(o) != 2 || o["const"] == nil || o["title"] == nil || !isVisible(*o["const"]) {
			return nil, false
		}
		title := quote(interaction.VisibleProse(*o["title"]))
		out[i] = encode([]member{{"const", quote(*o["const"])}, {"title", title}})
	}
	all, _ := json.Marshal(out) // cannot fail: the options are JSON
	return all, true
}

func membersOf(raw json.RawMessage) ([]member, bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	var all []member
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		var value json.RawMessage
		if err != nil || !ok || d.Decode(&value) != nil {
			return nil, false
		}
		all = append(all, member{name, value})
	}
	return all, true
}

func find(all []member, name string) json.RawMessage {
	for _, m := range all {
		if m.name == name {
			return m.value
		}
	}
	return nil
}
