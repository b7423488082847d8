package interaction

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/internal/schema"
)

func (r *reader) output(structured json.RawMessage) {
	found := bytes.TrimSpace(structured)
	given := len(found) > 0 && string(found) != "null"
	trusted := given || r.nonce == ""
	if !given {
		var signed bool
		found, signed = r.candidate()
		trusted = trusted || signed
	}
	switch {
	case len(found) == 0 || !trusted && !r.Done && !r.signedField(found):
		// JSON without the nonce is ordinary text
	case !r.acceptable(found, given):
	case found[0] == '{':
		r.object(found)
	default:
		r.Output = bytes.Clone(found)
	}
}

func (r *reader) signedField(found []byte) bool {
	if len(found) > MaxOutput || found[0] != '{' || !strings.Contains(string(found), r.nonce) {
		return false
	}
	fields, err := fieldsOf(found)
	return err == nil && string(fields[DoneMarker]) == `"`+r.nonce+`"`
}

// acceptable reports whether the JSON may be the output. It sets OutputFault for rejected
// structured output.
func (r *reader) acceptable(found []byte, given bool) bool {
	switch {
	case len(found) == 0:
		return false
	case len(found) > MaxOutput:
		r.OutputFault = &Diagnostic{fsm.WarnEngineOutputTruncated,
			fmt.Sprintf("output has %d bytes, at most %d are accepted", len(found), MaxOutput)}
		return false
	}
	fault := ""
	if !json.Valid(found) {
		fault = "structured output is not valid JSON"
	} else if err := schema.ValidateFinite(found); err != nil {
		fault = fmt.Sprintf("structured output: %v", err)
	}
	if fault != "" && given { // text that only resembles an output stays text
		r.OutputFault = &Diagnostic{fsm.WarnEngineOutputMalformed, fault}
	}
	return fault == ""
}

func (r *reader) object(found []byte) {
	if !mayHold(string(found), DoneMarker) && !mayHold(string(found), askUserField) {
		r.Output = bytes.Clone(found)
		return
	}
	fields, err := fieldsOf(found)
	if err != nil {
		return // too deep for the decoder and for any schema
	}
	r.takeMarker(fields)
	if r.nonce != "" { // an agent with a nonce asks only in a block with the nonce
		r.Output = encoded(fields)
		return
	}
	took, read := r.takeQuestion(fields)
	if !took {
		r.Output = encoded(fields)
		return
	}
	if len(fields) > 0 {
		r.Output = encoded(fields)
	}
	if read && r.Text == string(found) { // people need not see the question twice
		r.Text = string(r.Output)
	}
}

func (r *reader) takeMarker(fields map[string]json.RawMessage) {
	said, ok := fields[DoneMarker]
	if !ok {
		return
	}
	switch text := string(said); {
	case text == "true" && r.nonce == "", text == `"`+r.nonce+`"` && r.nonce != "":
		r.Done = true
	case text == "true":
		r.diagnose(fsm.WarnEngineOutputMalformed, DoneMarker+" is true, and not this attempt's nonce; it counts for "+
			"nothing")
	case text == "false":
		r.NotDone = true
	default:
		r.NotDone = true
		r.diagnose(fsm.WarnEngineOutputMalformed, fmt.Sprintf("%s is neither true nor false; it counts as not done",
			DoneMarker))
	}
	delete(fields, DoneMarker)
}

// takeQuestion removes the question from an object's fields: an object named ask_user, or a list if
// several questions are allowed. A string or list as the only field counts as an unreadable
// question (read is false). Any other value of that name is an ordinary field.
func (r *reader) takeQuestion(fields map[string]json.RawMessage) (took, read bool) {
	asked := fields[askUserField]
	parse := func() (any, error) { return parseJSON(string(asked)) }
	switch {
	case len(asked) == 0:
		return false, false
	case asked[0] == '{', asked[0] == '[' && r.atMost > 1:
		if r.isRepeated(parse) {
			read = true
			break
		}
		read = r.readQuestion(parse)
	case len(fields) == 1 && (asked[0] == '"' || asked[0] == '['):
		read = r.readQuestion(func() (any, error) { return nil, errors.New("ask_user is not a mapping") })
	default:
		return false, false
	}
	delete(fields, askUserField)
	return true, read
}

// isRepeated reports whether the question was read before: some engines repeat their text as
// structured output.
func (r *reader) isRepeated(parse func() (any, error)) bool {
	if r.Question == nil {
		return false
	}
	tree, err := parse()
	if err != nil {
		return false
	}
	again, _, err := questionsOf(tree, r.atMost)
	return err == nil && reflect.DeepEqual(again[0], *r.Question) && slices.EqualFunc(again[1:], r.Siblings,
		func(a, b Question) bool { return reflect.DeepEqual(a, b) })
}

// candidate returns the JSON in the text that may be the output: the whole text, or its only fenced
// JSON block, a signed one first.
func (r *reader) candidate() (found []byte, signed bool) {
	if only := r.onlyFence(func(s *segment) bool { return r.nonce != "" && s.signed(r.nonce) }); only != nil {
		return bytes.TrimSpace([]byte(only.body)), true
	}
	if whole := []byte(r.message); len(whole) > 0 && (whole[0] == '{' || whole[0] == '[') {
		if json.Valid(whole) {
			return whole, false
		}
		if r.nonce == "" && meantToAsk(r.message) {
			r.readQuestion(func() (any, error) { return nil, errors.New("the question is not valid JSON") })
			return nil, false
		}
	}
	if only := r.onlyFence(func(*segment) bool { return true }); only != nil {
		return bytes.TrimSpace([]byte(only.body)), false
	}
	return nil, false
}

func (r *reader) onlyFence(kind func(*segment) bool) *segment {
	var only *segment
	for i := range r.segments {
		s := &r.segments[i]
		if s.kind != fence || !mayBeJSON(s) || !kind(s) {
			continue
		}
		if only != nil {
			return nil
		}
		only = s
	}
	if only == nil || !only.closed {
		return nil
	}
	return only
}

// mayBeJSON reports whether a fenced block is meant as JSON: its language is json, or it has none
// and looks like JSON.
func mayBeJSON(s *segment) bool {
	word, _, _ := strings.Cut(s.info, " ")
	body := strings.TrimLeft(s.body, " \t\r\n")
	return word == "json" || word == "" && len(body) > 0 && (body[0] == '{' || body[0] == '[')
}

// mayHold reports whether a JSON object may have the field, possibly escaped. It avoids decoding
// most outputs.
func mayHold(object, field string) bool {
	return strings.Contains(object, field) || strings.Contains(object, `\u`)
}

// meantToAsk reports whether invalid JSON starts like an object whose first field is ask_user.
func meantToAsk(text string) bool {
	inside, ok := strings.CutPrefix(strings.TrimSpace(text), "{")
	return ok && strings.HasPrefix(strings.TrimSpace(inside), `"`+askUserField+`"`)
}

func fieldsOf(object []byte) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(object, &fields); err != nil {
		return nil, fmt.Errorf("the question is not valid JSON: %w", err)
	}
	return fields, nil
}

func encoded(fields map[string]json.RawMessage) json.RawMessage {
	var object bytes.Buffer
	encoder := json.NewEncoder(&object)
	encoder.SetEscapeHTML(false) // escaping is longer and harder to read
	if encoder.Encode(fields) != nil {
		return nil // unreachable: each value is valid JSON
	}
	return bytes.TrimSpace(object.Bytes())
}
