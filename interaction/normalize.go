package interaction

import (
	"fmt"
	"strings"

	"github.com/interlude-go/interlude/fsm"
)

const genericPrompt = "The agent ended its turn without a result and without a question. How should it continue?"

// Baseline returns the library's question for a turn that neither completes nor asks: open text,
// with the agent's text as its prompt.
func Baseline(text string) Question {
	prompt, _ := cut(strings.TrimSpace(text), MaxPromptText)
	if prompt == "" {
		prompt = genericPrompt
	}
	return Question{Kind: OpenText, Prompt: prompt, DefaultPolicy: EngineJudgement}
}

// Baseline returns the question for a turn with this reading. It shows an output that was marked as
// not done, and says if an output was rejected.
func (r Reading) Baseline() Question {
	text := r.Text
	if text == "" && r.NotDone {
		text = string(r.Output)
	}
	if f := r.OutputFault; f != nil {
		text = "The agent returned an output that was rejected: " + f.Detail + ". How should it continue?\n\n" + text
	}
	return Baseline(text)
}

// Normalize limits a question and applies defaults: kind open_text and policy engine_judgement for
// missing or unknown values, and a generic prompt. The diagnostics report every change except a
// missing kind or policy.
func Normalize(q Question) (Question, []Diagnostic) {
	n := normalizer{}
	n.form(&q)
	switch q.Kind {
	case ChooseOne, Confirm, FillFields, OpenText, RiskAck:
	case "":
		q.Kind = OpenText
	case Approval:
		if q.Subject != nil {
			break
		}
		fallthrough
	default:
		n.diagnose(fsm.WarnAskUserUnknownKind, fmt.Sprintf("kind %.40q is asked as %s", q.Kind, OpenText))
		q.Kind = OpenText
	}
	switch q.DefaultPolicy {
	case EngineJudgement, SafeDefault, Abort:
	case "":
		q.DefaultPolicy = EngineJudgement
	default:
		n.diagnose(fsm.WarnAskUserMalformed, fmt.Sprintf("default_decision_policy %.40q counts as %s", q.DefaultPolicy,
			EngineJudgement))
		q.DefaultPolicy = EngineJudgement
	}
	q.Prompt = n.cut("prompt", q.Prompt, MaxPromptText)
	if strings.TrimSpace(q.Prompt) == "" {
		n.diagnose(fsm.WarnAskUserMalformed, "the question has no prompt")
		q.Prompt = genericPrompt
	}
	q.Context = n.cut("context", q.Context, MaxContext)
	q.Options = n.options(q.Options)
	if err := q.validateOnly(); err != nil {
		n.diagnose(fsm.WarnAskUserMalformed, err.Error())
		q.Only = false
	}
	q.RequiredFields = n.fields(q.RequiredFields)
	q.Files = n.files(q.Files)
	q.To = n.audience(q.To)
	n.votes(&q)
	q.Ref = n.ref(q.Ref)
	q.Wait = n.wait(q.Wait)
	hints, err := PlainHints(q.UIHints)
	if err != nil {
		n.diagnose(fsm.WarnAskUserTruncated, fmt.Sprintf("ui_hints are left out: %v", err))
	}
	q.UIHints = hints
	return q, n.diagnostics
}

type normalizer struct{ diagnostics []Diagnostic }

func (n *normalizer) diagnose(code fsm.Warning, detail string) {
	n.diagnostics = append(n.diagnostics, Diagnostic{code, detail})
}

func (n *normalizer) cut(field, s string, limit int) string {
	s, short := cut(s, limit)
	if short {
		n.diagnose(fsm.WarnAskUserTruncated, fmt.Sprintf("%s is cut at %d bytes", field, limit))
	}
	return s
}

func (n *normalizer) options(given []Option) []Option {
	if len(given) > MaxOptions {
		n.diagnose(fsm.WarnAskUserTruncated, fmt.Sprintf("%d options; the first %d are offered", len(given),
			MaxOptions))
		given = given[:MaxOptions]
	}
	if len(given) == 0 {
		return nil
	}
	all := make([]Option, 0, len(given))
	for _, o := range given {
		o.Label, o.Value = n.cut("option", o.Label, MaxLabel), n.cut("option", o.Value, MaxLabel)
		if o.Label == "" {
			o.Label = o.Value
		}
		if o.Value == "" {
			o.Value = o.Label
		}
		if o.Label != "" {
			all = append(all, o)
		}
	}
	return all
}

// audience copies the audience. An invalid one is replaced by an empty one, never by a larger one.
func (n *normalizer) audience(to *Audience) *Audience {
	if err := to.Validate(); err != nil {
		n.diagnose(fsm.WarnAskUserTruncated, "the audience has "+err.Error()+"; nobody may answer the question")
		return &Audience{}
	}
	return to.Clone()
}

// ref omits a ref that cannot be stored unchanged: a shortened ref could belong to another
// question.
func (n *normalizer) ref(ref string) string {
	if whole, short := cut(ref, MaxRef); short || whole != ref {
		n.diagnose(fsm.WarnAskUserTruncated, fmt.Sprintf("ref is left out: it has %d bytes, want a text of at most %d",
			len(ref), MaxRef))
		return ""
	}
	return ref
}

// wait copies the question's own wait; nil if missing or invalid.
func (n *normalizer) wait(w *Wait) *Wait {
	if err := w.Validate(); err != nil {
		n.diagnose(fsm.WarnAskUserMalformed, "the question's wait has "+err.Error()+"; it is left out")
		return nil
	}
	return w.Clone()
}

func (n *normalizer) fields(given []string) []string {
	if len(given) > MaxRequiredFields {
		n.diagnose(fsm.WarnAskUserTruncated, fmt.Sprintf("%d required_fields; the first %d are kept", len(given),
			MaxRequiredFields))
		given = given[:MaxRequiredFields]
	}
	if len(given) == 0 {
		return nil
	}
	all := make([]string, 0, len(given))
	for _, f := range given {
		if f = n.cut("required field", f, MaxLabel); f != "" {
			all = append(all, f)
		}
	}
	return all
}
