package acp

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// settlement is the decision in a person's answer about the requested permission.
type settlement struct {
	choice *choice // nil if the answer chooses no option
	text   string  // the agent's input, unless the choice answers a waiting request
}

// settle reads the answers to the last turn's permission requests, if any.
func (t *turn) settle() *settlement {
	var all []string
	var last *settlement
	for _, a := range t.in.Answers {
		if s := t.settleOne(a); s != nil {
			all, last = append(all, s.text), s
		}
	}
	if len(all) > 1 {
		return &settlement{nil, strings.Join(all, "\n\n")}
	}
	return last
}

// settleOne reads the answer to one permission. It adds the decision to the grants once, even if
// the turn is repeated.
func (t *turn) settleOne(a engine.Answer) *settlement {
	q := t.state.askedFor(a)
	if q == nil {
		return nil
	}
	if !a.Answered() {
		return &settlement{nil, q.answerText(nil, "Nobody has decided.")}
	}
	if q.SettledBy != 0 && q.SettledBy != a.ID {
		return nil // an earlier answer settled it
	}
	first := q.SettledBy == 0
	q.SettledBy = a.ID
	if a.Decision != "" && a.Digest != q.Seen {
		t.diagnose(fsm.WarnEngineDiagnostic, "a permission was not given: the decision is about something else")
		return &settlement{nil, q.answerText(nil, "What was decided is not what you asked for. Propose it again.")}
	}
	option := q.choice(a)
	if option != nil && option.allows() && q.Document != nil && !q.Document.Intact(t.in.ArtifactDir) {
		t.diagnose(fsm.WarnEngineDiagnostic, "a permission was not given: the artifact "+q.Document.Name+
			" is not what was to be approved")
		return &settlement{nil,
			q.answerText(nil, "What was to be approved was changed before it was. Propose it again.")}
	}
	if option != nil && first && q.Digest != "" {
		t.state.Grants = slices.DeleteFunc(t.state.Grants, func(g grant) bool { return g.Digest == q.Digest })
		t.state.Grants = append(t.state.Grants, grant{q.Digest, *option})
	}
	text := q.answerText(option, a.Text)
	if a.Decision == interaction.Reject && option != nil && a.Text != "" {
		text += " The reason is:\n" + a.Text
	}
	return &settlement{option, text}
}

func (q *permissionQuestion) answerText(option *choice, text string) string {
	switch {
	case option == nil:
		return fmt.Sprintf("You asked for a permission: %s\nIt was not given. The answer was:\n%s", q.Title, text)
	case option.allows():
		return fmt.Sprintf("You asked for a permission: %s\nThe person decided: %s. Go on. To do it, propose exactly "+
			"the same again: the decision will be applied to it.", q.Title, option.Name)
	}
	return fmt.Sprintf("You asked for a permission: %s\nThe person decided: %s. Do not do it; go on without it, or "+
		"say why you cannot.", q.Title, option.Name)
}

// choice finds the option that an answer means: by its decision, if it holds once; by its value,
// label or list number; or by yes and no with one option to allow and one to reject. An answer that
// fits two options in any of these ways, or none, and an automatic decision choose nothing.
func (q *permissionQuestion) choice(a interaction.Answer) *choice {
	if a.Auto != nil || a.Resolution == interaction.AutoDecideTimeout {
		return nil
	}
	switch a.Decision {
	case "":
	case interaction.Approve:
		return firstOnce(q.Options, choice.allows)
	case interaction.Reject:
		return firstOnce(q.Options, choice.rejects)
	default:
		return nil
	}
	text := strings.TrimSpace(a.Text)
	var found *choice
	for i, o := range q.Options {
		switch {
		case strings.EqualFold(o.value(), text), strings.EqualFold(o.Name, text), strconv.Itoa(i+1) == text,
			twoWays(q.Options) && yesOrNo(o, text):
			if found != nil {
				return nil
			}
			found = &q.Options[i]
		}
	}
	return found
}

func yesOrNo(o choice, text string) bool {
	switch strings.ToLower(text) {
	case "yes", "y":
		return o.allows()
	case "no", "n":
		return o.rejects()
	}
	return false
}
