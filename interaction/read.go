package interaction

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/fsm"
)

// DoneMarker is how an agent says that it is done: on a line of its own in its final text, or as a field that is true in
// its output object.
const DoneMarker = "__SKILL_DONE__"

// Diagnostic is something odd about an agent's text.
type Diagnostic struct {
	Code   fsm.Warning
	Detail string
}

// Reading is what an agent's final text says.
type Reading struct {
	// Done: the text or the output carries the done marker.
	Done bool
	// Output is the JSON that the agent hands over, without the marker; nil when there is none.
	Output json.RawMessage
	// Question is the explicit question; nil when there is none that can be read.
	Question *Question
	// Diagnostics concern the question and the marker.
	Diagnostics []Diagnostic
	// Text is the final text without marker and question, for people.
	Text string
}

// Read reads an agent's own final text, and the structured output that its engine handed over, nil for none. It never fails and
// takes time in proportion to the text.
//
// Done: the marker stands on a line of its own, outside code fences, indented code and quotes, or is the field
// "__SKILL_DONE__": true of the output object; false says "not done" (B4).
//
// Output: the structured output; otherwise the whole text when it is JSON, or its only fenced JSON block. JSON embedded in prose is none (B6).
//
// Question: {"ask_user": {…}} as the whole text, as a field of the output or in a fenced block; a fenced block named ask_user; or the
// tagged YAML form. The first counts. What is a question is not output too (B10, C2).
func Read(text string, structured json.RawMessage) Reading {
	r := reader{segments: segments(text)}
	for i := range r.segments {
		r.question(&r.segments[i])
	}
	r.text()
	r.output(structured)
	if r.asked > 1 {
		r.odd(fsm.WarnAskUserSurplus, fmt.Sprintf("%d questions in one turn; only the first is asked", r.asked))
	}
	return r.Reading
}

// reader is a Reading on its way.
type reader struct {
	Reading
	segments []segment
	asked    int  // questions seen, readable or not
	settled  bool // the first question was read, well or not
}

func (r *reader) odd(code fsm.Warning, detail string) {
	if len(r.Diagnostics) < 16 {
		detail, _ = cut(detail, 1<<10)
		r.Diagnostics = append(r.Diagnostics, Diagnostic{code, detail})
	}
}

// question takes the segment out of the text when it is a question.
func (r *reader) question(s *segment) {
	switch {
	case s.kind == tag && !s.closed:
		r.ask(nil, fmt.Errorf("%s has no end", openTag))
	case s.kind == tag:
		r.ask(parseYAML(s.body))
	case s.kind == fence && isAskUser(s.info):
		if !s.closed {
			r.ask(nil, errors.New("the ask_user block has no end"))
		} else {
			r.ask(parseYAML(s.body))
		}
	case s.kind == fence && s.closed && mayBeJSON(s) && strings.Contains(s.body, askUserField):
		tree, err := parseJSON(s.body)
		if err != nil || tree[askUserField] == nil {
			return
		}
		r.ask(tree, nil)
	default:
		return
	}
	*s = segment{kind: prose}
}

// isAskUser reports whether a fence's info names a question.
func isAskUser(info string) bool {
	word, _, _ := strings.Cut(info, " ")
	word = strings.ReplaceAll(word, "-", "_")
	return slices.Contains([]string{"ask_user", "ask_user_yaml", "ask_user_json"}, word)
}

// ask reads a question; the first that is met counts.
func (r *reader) ask(tree map[string]any, err error) {
	r.asked++
	if r.settled {
		return
	}
	r.settled = true
	if err == nil {
		var q Question
		var odd []Diagnostic
		if q, odd, err = questionOf(tree); err == nil {
			r.Question = &q
		}
		for _, d := range odd {
			r.odd(d.Code, d.Detail)
		}
	}
	if err != nil {
		code := fsm.WarnAskUserMalformed
		if tooLarge(err) {
			code = fsm.WarnAskUserTruncated
		}
		r.odd(code, err.Error())
	}
}

// text finds the marker in the prose, and leaves what is for people.
func (r *reader) text() {
	var b strings.Builder
	for i := range r.segments {
		s := &r.segments[i]
		if s.kind != prose {
			b.WriteString(s.raw)
			continue
		}
		if !strings.Contains(s.raw, DoneMarker) {
			b.WriteString(s.raw)
			continue
		}
		var kept strings.Builder
		for rest := s.raw; len(rest) > 0; {
			var line string
			line, rest = nextLine(rest)
			if isMarker(line) {
				r.Done = true
				continue
			}
			kept.WriteString(line)
		}
		s.raw = kept.String()
		b.WriteString(s.raw)
	}
	r.Text = strings.TrimSpace(strings.ToValidUTF8(b.String(), "\uFFFD"))
}

// isMarker reports whether the line is the marker alone, and not indented as code is.
func isMarker(line string) bool {
	return strings.TrimSpace(line) == DoneMarker && !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "\t")
}

// output finds the output, and the marker and the question in it.
func (r *reader) output(structured json.RawMessage) {
	found := bytes.TrimSpace(structured)
	if len(found) == 0 {
		found = r.candidate()
	}
	if len(found) == 0 {
		return
	}
	if len(found) > MaxOutput {
		r.odd(fsm.WarnEngineOutputTruncated, fmt.Sprintf("output has %d bytes, at most %d are taken", len(found), MaxOutput))
		return
	}
	if !json.Valid(found) {
		return
	}
	if found[0] != '{' {
		r.Output = bytes.Clone(found)
		return
	}
	r.object(found)
}

// object takes marker and question out of an output object.
func (r *reader) object(found []byte) {
	if !bytes.Contains(found, []byte(DoneMarker)) && !bytes.Contains(found, []byte(askUserField)) {
		r.Output = bytes.Clone(found)
		return
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(found, &fields) != nil {
		return
	}
	if said, ok := fields[DoneMarker]; ok {
		switch string(said) {
		case "true":
			r.Done = true
		case "false":
		default:
			r.odd(fsm.WarnEngineOutputMalformed, fmt.Sprintf("%s is neither true nor false; it counts as not done", DoneMarker))
		}
		delete(fields, DoneMarker)
	}
	if asked, ok := fields[askUserField]; ok && len(asked) > 0 && asked[0] == '{' {
		tree, err := parseJSON(string(asked))
		r.ask(tree, err)
		delete(fields, askUserField)
		if len(fields) == 0 {
			if r.Text == string(found) {
				r.Text = ""
			}
			return // it was the question alone
		}
	}
	r.Output, _ = json.Marshal(fields) // what was decoded can be encoded
}

// candidate is the JSON that the text hands over: all of it, or its only fenced JSON block.
func (r *reader) candidate() []byte {
	if r.Text != "" && (r.Text[0] == '{' || r.Text[0] == '[') {
		return []byte(r.Text)
	}
	var only *segment
	for i := range r.segments {
		s := &r.segments[i]
		if s.kind != fence || !mayBeJSON(s) {
			continue
		}
		if only != nil {
			return nil // which one?
		}
		only = s
	}
	if only == nil || !only.closed {
		return nil
	}
	return bytes.TrimSpace([]byte(only.body))
}

// mayBeJSON reports whether a fenced block is meant as JSON: it says so, or says nothing and looks so.
func mayBeJSON(s *segment) bool {
	word, _, _ := strings.Cut(s.info, " ")
	body := strings.TrimLeft(s.body, " \t\r\n")
	return word == "json" || word == "" && len(body) > 0 && (body[0] == '{' || body[0] == '[')
}
