package interaction

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Selection is the option that an answer selects. The questions with Only have one in each reply
// that they accept.
type Selection struct {
	Label string `json:"label"`
	Value string `json:"value"`
	// Means is MeansYes or MeansNo in the answer to a question of kind Confirm or RiskAck that has
	// exactly one option for yes; otherwise it is empty.
	Means string `json:"means,omitempty"`
}

// The values of Selection.Means. They are also the values of the two options of a Confirm or
// RiskAck without options.
const (
	MeansYes = "yes"
	MeansNo  = "no"
)

// ErrOnly is matched by the error of Question.Validate about Only.
var ErrOnly = errors.New("interaction: the question cannot accept only its options")

// spelling returns the form in which texts are compared: without case, in Unicode normal form C,
// with single blanks.
func spelling(text string) string {
	if isWord(text) { // without an allocation, as each reply to a Confirm asks for it
		return strings.ToLower(text)
	}
	return strings.ToLower(norm.NFC.String(strings.Join(strings.Fields(text), " ")))
}

// isWord reports whether the text consists of letters and digits of ASCII.
func isWord(text string) bool {
	for i := range len(text) {
		c := text[i]
		if letter := 'a' <= c|0x20 && c|0x20 <= 'z'; !letter && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// agrees reports whether a value says yes by itself.
func agrees(value string) bool {
	switch spelling(value) {
	case "yes", "true", "accept":
		return true
	}
	return false
}

// decidesYesOrNo reports whether a yes or a no answers the question.
func (q *Question) decidesYesOrNo() bool {
	return q.plain() && (q.Kind == Confirm || q.Kind == RiskAck)
}

// Choices returns the options of the question. A Confirm or RiskAck without options has two, with
// the values MeansYes and MeansNo.
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
// the option whose value is yes, true or accept, otherwise the option with Yes. It is -1 unless
// exactly one option qualifies. A label never decides.
func (q *Question) YesOption() int {
	if !q.decidesYesOrNo() {
		return -1
	}
	options := q.Choices()
	yes := only(options, func(o Option) bool { return agrees(o.Value) })
	if yes < 0 && !slices.ContainsFunc(options, func(o Option) bool { return agrees(o.Value) }) {
		yes = only(options, func(o Option) bool { return o.Yes })
	}
	return yes
}

// only returns the index of the one option that matches; -1 if none or several do.
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
// by its number in Choices, from 1. Case, Unicode form and repeated blanks do not matter. A text
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

// validateOnly returns an error if the question has Only and cannot accept only its options.
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

// checkOnly returns an error that lists the valid replies, unless the text is one of them.
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

// Yes reports what was answered to a Confirm or RiskAck. Ok is false if the answer is neither a
// yes nor a no, for example an automatic decision or a text in other words: then ask again or stop,
// and never take it for a yes. Without Only, the text counts: "yes", "true" and "accept" mean yes;
// "no", "false" and "decline" mean no.
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

// Option returns the option that was selected. Ok is false if the answer selects none. For the
// answer to a question without Only, call Question.Select with the answer's text instead: such an
// answer is stored without its question.
func (a Answer) Option() (o Option, ok bool) {
	if a.Selection == nil {
		return o, false
	}
	return Option{Label: a.Selection.Label, Value: a.Selection.Value}, true
}
