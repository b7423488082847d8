package interaction

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Selection is the option that an answer selects. Every accepted reply to a question with Only has
// one.
type Selection struct {
	Label string `json:"label"`
	Value string `json:"value"`
	// Means is MeansYes or MeansNo in the answer to a Confirm or RiskAck with exactly one option
	// for yes; else empty.
	Means string `json:"means,omitempty"`
}

// The values of Selection.Means, and of the two options of a Confirm or RiskAck without options.
const (
	MeansYes = "yes"
	MeansNo  = "no"
)

// ErrOnly is matched by the error of Question.Validate about Only.
var ErrOnly = errors.New("interaction: the question cannot accept only its options")

// spelling returns the form for comparing texts: without case, in Unicode normal form C, with
// single blanks.
func spelling(text string) string {
	if isWord(text) { // without an allocation, as each reply to a Confirm asks for it
		return strings.ToLower(text)
	}
	return strings.ToLower(norm.NFC.String(strings.Join(strings.Fields(text), " ")))
}

func isWord(text string) bool {
	for i := range len(text) {
		c := text[i]
		if letter := 'a' <= c|0x20 && c|0x20 <= 'z'; !letter && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

func agrees(value string) bool {
	switch spelling(value) {
	case "yes", "true", "accept":
		return true
	}
	return false
}

func (q *Question) decidesYesOrNo() bool {
	return q.plain() && (q.Kind == Confirm || q.Kind == RiskAck)
}

// Choices returns the question's options. A Confirm or RiskAck without options has two, with the
// values MeansYes and MeansNo.
func (q *Question) Choices() []Option {
	if len(q.Options) == 0 && q.decidesYesOrNo() {
		return []Option{{Label: "Yes", Value: MeansYes}, {Label: "No", Value: MeansNo}}
	}
	return q.Options
}

// HasSelection reports whether the question has Only or an option with Yes. Its answer then has a
// Selection.
func (q *Question) HasSelection() bool {
	return q.Only || slices.ContainsFunc(q.Options, func(o Option) bool { return o.Yes })
}

// YesOption returns the index in Choices of the option that means yes, for a Confirm or RiskAck:
// with the value yes, true or accept, otherwise with Yes; -1 unless exactly one option qualifies. A
// label never decides.
func (q *Question) YesOption() int {
	if !q.decidesYesOrNo() {
		return -1
	}
	options, byValue := q.Choices(), func(o Option) bool { return agrees(o.Value) }
	if slices.ContainsFunc(options, byValue) {
		return only(options, byValue)
	}
	return only(options, func(o Option) bool { return o.Yes })
}

func only(options []Option, match func(Option) bool) int {
	found := -1
	for i, o := range options {
		if match(o) {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}

// Select returns the option that the text selects: by its value, otherwise by its label, otherwise
// by its number in Choices, from 1, regardless of case, Unicode form and repeated blanks. A text
// that matches several options by value or label selects none.
func (q *Question) Select(text string) (c Selection, ok bool) {
	options := q.Choices()
	i := q.indexOf(text)
	if i < 0 {
		return Selection{}, false
	}
	c.Label, c.Value = options[i].Label, options[i].Value
	switch yes := q.YesOption(); {
	case yes < 0:
	case i == yes:
		c.Means = MeansYes
	default:
		c.Means = MeansNo
	}
	return c, true
}

func (q *Question) indexOf(text string) int {
	options, want := q.Choices(), spelling(text)
	for _, of := range []func(Option) string{
		func(o Option) string { return o.Value }, func(o Option) string { return o.Label },
	} {
		matches := func(o Option) bool { return spelling(of(o)) == want }
		if i := only(options, matches); i >= 0 || slices.ContainsFunc(options, matches) {
			return i
		}
	}
	for i := range options {
		if want == fmt.Sprint(i+1) {
			return i
		}
	}
	return -1
}

func (q *Question) validateOnly() error {
	switch {
	case !q.Only:
		return nil
	case !q.plain(), q.Kind != ChooseOne && q.Kind != Confirm && q.Kind != RiskAck:
		return fmt.Errorf("%w: its kind is %q; choose_one, confirm and risk_ack have Only", ErrOnly, q.Kind)
	case q.Kind == ChooseOne && len(q.Options) == 0:
		return fmt.Errorf("%w: it has none", ErrOnly)
	case q.Kind != ChooseOne && q.YesOption() < 0:
		return fmt.Errorf("%w: exactly one option must mean yes, by its value (yes, true, accept) or by Option.Yes",
			ErrOnly)
	}
	for i, o := range q.Options {
		if q.indexOf(o.Value) != i {
			return fmt.Errorf("%w: several have the value %.80q", ErrOnly, o.Value)
		}
	}
	return nil
}

// checkOnly returns an error that lists the valid replies, unless the text is valid.
func (r Reply) checkOnly(q *Question) error {
	if !q.Only {
		return nil
	}
	if _, ok := q.Select(r.Text); ok {
		return nil
	}
	var valid []string
	for _, o := range q.Choices() {
		valid = append(valid, fmt.Sprintf("%.80q", o.Value))
	}
	return &FieldError{"Text", fmt.Sprintf("%.80q", r.Text), "one of " + strings.Join(valid, ", ")}
}

// Yes reports the answer to a Confirm or RiskAck. ok is false if it is neither a yes nor a no, for
// example an automatic decision or a text in other words: then ask again or stop, and never take it
// for a yes. Without Only, the text counts: "yes", "true" and "accept" mean yes; "no", "false" and
// "decline" mean no.
func (a Answer) Yes() (yes, ok bool) {
	switch {
	case a.Resolution != UserReply && a.Resolution != DefaultAnswer:
		return false, false
	case a.Selection != nil:
		return a.Selection.Means == MeansYes, a.Selection.Means != ""
	case agrees(a.Text):
		return true, true
	}
	switch spelling(a.Text) {
	case "no", "false", "decline":
		return false, true
	}
	return false, false
}

// Option returns the selected option; ok is false if the answer selects none. For a question
// without Only, call Question.Select with the answer's text instead: its options are not stored
// with the answer.
func (a Answer) Option() (o Option, ok bool) {
	if a.Selection == nil {
		return o, false
	}
	return Option{Label: a.Selection.Label, Value: a.Selection.Value}, true
}
