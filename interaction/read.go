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

// DoneMarker reports completion: on a separate line of an agent's final text, or as a true field of
// its output object.
const DoneMarker = "__SKILL_DONE__"

// Diagnostic reports an oddity, in an agent's text or from an engine, that ends neither turn nor
// run.
//
// Code is from the contract (such as ENGINE_DIAGNOSTIC) or the engine's: X_ and up to 60 characters
// of A to Z, 0 to 9 and _. Any other code is stored as ENGINE_DIAGNOSTIC with the code in its
// detail. A run's record lists the first codes, at most fifty with engine codes; its events have
// all.
type Diagnostic struct {
	Code   fsm.Warning `json:"code"`
	Detail string      `json:"detail,omitempty"`
}

// Reading is the parsed final text of an agent.
type Reading struct {
	// Done: the text or the output has the done marker.
	Done bool
	// NotDone: the output has a done field that is not true. It outweighs every sign of completion.
	NotDone bool
	// Output is the agent's JSON output without the marker, or nil.
	Output json.RawMessage
	// OutputFault says why the output was rejected, so that it is never dropped silently; else nil.
	OutputFault *Diagnostic
	// Question is the explicit question; nil if absent or unreadable. Siblings are the turn's other
	// questions, in order.
	Question *Question
	Siblings []Question
	// Diagnostics report oddities of the question and the marker.
	Diagnostics []Diagnostic
	// Text is the final text without marker and question, for people. An unreadable question stays in
	// it.
	Text string
}

// Read reads an agent's final text, and the structured output of its engine, or nil. It never fails
// and takes time in proportion to the text.
//
// Done: the marker is a separate line outside code fences, indented code and quotes, or the field
// "__SKILL_DONE__": true of the output object; any other value of that field says "not done".
//
// Output: the structured output, unless it is null; otherwise the whole text if it is JSON, or its
// only fenced JSON block. JSON within prose does not count.
//
// Question: {"ask_user": {…}} as the whole text, as a field of the output or in a fenced block; a
// fenced block named ask_user; or the tagged YAML form. The first counts, and is not also the
// output. An unreadable question stays in Text, so that the person sees it.
func Read(text string, structured json.RawMessage) Reading { return ReadSigned(text, structured, "") }

// ReadSigned is Read for an agent that was given a nonce; an empty nonce makes it Read. Only these
// signals count:
//
// Done: the marker's line with the nonce, or the nonce as the output object's field
// "__SKILL_DONE__"; true there means nothing, and any other value means not done.
//
// Output: structured output; the only fenced JSON block whose first line has the nonce; or, in a
// message that is done, what Read finds in the text.
//
// Question: a fenced block named ask_user, or a fenced JSON block with an object of that name,
// whose first line has the nonce.
//
// Everything without the nonce is text like any other. Text and Output do not show the nonce.
func ReadSigned(text string, structured json.RawMessage, nonce string) Reading {
	return ReadSeveral(text, structured, nonce, 1)
}

// ReadSeveral is ReadSigned for an agent that may ask up to atMost questions per turn, at most
// MaxQuestions, as a list in place of a question. A list that is empty, too long, or has an entry
// that is not a question counts as an unreadable question.
func ReadSeveral(text string, structured json.RawMessage, nonce string, atMost int) Reading {
	r := reader{nonce: nonce, atMost: min(atMost, MaxQuestions)}
	var unended bool
	if r.segments, unended = segments(text, nonce == ""); unended {
		r.diagnose(fsm.WarnAskUserMalformed, openTag+" has no end")
	}
	for i := range r.segments {
		r.extractQuestion(&r.segments[i])
	}
	r.collectText()
	r.output(structured)
	r.Text = RemoveNonce(r.Text, nonce)
	if r.asked > 1 {
		what := "questions"
		if r.atMost > 1 {
			what = "lists of questions"
		}
		r.diagnose(fsm.WarnAskUserSurplus, fmt.Sprintf("%d %s in one turn; only the first is asked", r.asked, what))
	}
	return r.Reading
}

// ReadPlain is the Reading of Go code: its text is for people, its output is data, and neither
// contains signals.
func ReadPlain(text string, structured json.RawMessage) Reading {
	r := reader{}
	r.Text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	if found := bytes.TrimSpace(structured); string(found) != "null" && r.acceptable(found, true) {
		r.Output = bytes.Clone(found)
	}
	return r.Reading
}

type reader struct {
	Reading
	nonce    string // required in the agent's signals; empty: unsigned
	atMost   int    // limit of questions per turn; below 2: one
	segments []segment
	message  string // the text without the marker and questions, readable or not
	asked    int    // questions seen, readable or not
	parsed   bool   // the first question was parsed, readable or not
}

func (r *reader) diagnose(code fsm.Warning, detail string) {
	if len(r.Diagnostics) < 16 {
		detail, _ = cut(detail, 1<<10)
		r.Diagnostics = append(r.Diagnostics, Diagnostic{code, detail})
	}
}

// extractQuestion reads the segment as a question, if it is one, and removes it from the text.
func (r *reader) extractQuestion(s *segment) {
	if r.nonce != "" && (s.kind != fence || !s.signed(r.nonce)) {
		if s.kind == fence && isAskUser(s.info) {
			r.diagnose(fsm.WarnAskUserMalformed, "an ask_user block without this attempt's nonce is not a question")
		}
		return
	}
	var read bool
	switch {
	case s.kind == fence && isAskUser(s.info) && !s.closed:
		read = r.readQuestion(func() (any, error) {
			return nil, errors.New("the ask_user block has no end")
		})
	case s.kind == tag, s.kind == fence && isAskUser(s.info):
		read = r.readQuestion(func() (any, error) { return parseYAML(s.body) })
	case s.kind == fence && s.closed && mayBeJSON(s) && mayHold(s.body, askUserField):
		fields, err := fieldsOf([]byte(s.body))
		switch {
		case err != nil && !meantToAsk(s.body):
			return
		case err != nil:
			read = r.readQuestion(func() (any, error) { return nil, err })
		default:
			var took bool
			if took, read = r.takeQuestion(fields); !took {
				return
			}
		}
		if len(fields) > 0 { // an output next to the question
			rest, raw := encoded(fields), s.raw
			if read {
				raw = "```json\n" + string(rest) + "\n```\n"
			}
			*s = segment{kind: fence, raw: raw, info: s.info, body: string(rest), closed: true}
			return
		}
	default:
		return
	}
	if read {
		*s = segment{kind: prose}
		return
	}
	left, _ := cut(strings.TrimSpace(s.body), MaxPromptText)
	*s = segment{kind: unreadable, raw: left + "\n"}
}

func isAskUser(info string) bool {
	word, _, _ := strings.Cut(info, " ")
	word = strings.ReplaceAll(word, "-", "_")
	return slices.Contains([]string{"ask_user", "ask_user_yaml", "ask_user_json"}, word)
}

// readQuestion counts a question or list, and parses the first, which takes effect. It returns
// false if that is unreadable.
func (r *reader) readQuestion(parse func() (any, error)) bool {
	r.asked++
	if r.parsed {
		return true
	}
	r.parsed = true
	tree, err := parse()
	if err == nil {
		var all []Question
		var odd []Diagnostic
		if all, odd, err = questionsOf(tree, r.atMost); err == nil {
			r.Question, r.Siblings = &all[0], all[1:]
		}
		for _, d := range odd {
			r.diagnose(d.Code, d.Detail)
		}
	}
	if err != nil {
		code := fsm.WarnAskUserMalformed
		if tooLarge(err) {
			code = fsm.WarnAskUserTruncated
		}
		r.diagnose(code, err.Error())
	}
	return err == nil
}

// collectText finds the marker in the prose, and collects the text for people.
func (r *reader) collectText() {
	var shown, message strings.Builder
	for i := range r.segments {
		s := &r.segments[i]
		if s.kind == prose {
			s.raw = r.removeMarkers(s.raw)
		}
		shown.WriteString(s.raw)
		if s.kind != unreadable {
			message.WriteString(s.raw)
		}
	}
	r.Text = strings.TrimSpace(strings.ToValidUTF8(shown.String(), "\uFFFD"))
	r.message = strings.TrimSpace(strings.ToValidUTF8(message.String(), "\uFFFD"))
}

func (r *reader) removeMarkers(raw string) string {
	if !strings.Contains(raw, DoneMarker) {
		return raw
	}
	var kept strings.Builder
	for len(raw) > 0 {
		var line string
		line, raw = nextLine(raw)
		if r.nonce == "" && isMarker(line) || r.nonce != "" && signedLine(line, r.nonce) {
			r.Done = true
			continue
		}
		if isMarker(line) {
			r.diagnose(fsm.WarnEngineOutputMalformed, DoneMarker+" occurs without this attempt's nonce; it "+
				"counts "+
				"for nothing")
		}
		kept.WriteString(line)
	}
	return kept.String()
}

// isMarker reports whether the line consists of the marker and is not indented like code.
func isMarker(line string) bool {
	return strings.TrimSpace(line) == DoneMarker && !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "\t")
}
