package decide

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// findQuestions finds the questions of a run that the gate lets wait: the agent's, from
// Outcome.Questions or the text, or the baseline question.
func (ev *Evidence) findQuestions(o engine.Outcome) {
	ev.question = ev.reading.Question
	ev.questionWarnings = slices.Clip(ev.reading.Diagnostics)
	if len(o.Questions) == 0 {
		ev.siblings = slices.Clip(ev.reading.Siblings)
	}
	for i, asked := range o.Questions {
		if i == interaction.MaxQuestions {
			ev.warnSurplusf("%d questions in one turn; the first %d are asked", len(o.Questions), i)
			break
		}
		q, diagnostics := interaction.Normalize(asked)
		ev.questionWarnings = append(ev.questionWarnings, diagnostics...)
		if i == 0 {
			ev.question = &q
		} else {
			ev.siblings = append(ev.siblings, q)
		}
	}
	ev.rule = o.Rule
	ev.rule.Answers = max(ev.rule.Answers, 0) // 0 means all, and so does a number above the number of questions
	ev.facts |= factIf(ev.question != nil, fsm.FactQuestionAsked)
	if ev.question == nil {
		q := ev.reading.Baseline()
		ev.question = &q
	}
}

// failUnusableSchema fails a turn that asks with an unusable schema: code that asks with a schema
// cannot use an answer in text form.
func (ev *Evidence) failUnusableSchema(o engine.Outcome) {
	if ev.Process.Status != engine.OK || ev.reading.Done {
		return
	}
	for _, q := range o.Questions {
		if err := engine.ValidateQuestion(q); err != nil {
			ev.SetProcess(FailedProcess(fsm.CodeEngineFailed, err))
			return
		}
	}
}

// findPause finds the end of the run's sleep, or the children that it awaits, unless the run is
// done or asks.
func (ev *Evidence) findPause(o engine.Outcome) {
	none := o.Sleep.IsZero() && len(o.Children) == 0
	if none || ev.Process.Status != engine.OK || ev.reading.Done || len(o.Questions) > 0 {
		return
	}
	if ev.profile == fsm.ProfileStickyProcess {
		ev.SetProcess(engine.Process{Status: engine.Failed, Detail: "a run whose engine holds a process cannot " +
			"sleep, nor wait for other runs"})
		return
	}
	ev.sleep, ev.children, ev.anyChild = o.Sleep, slices.Clone(o.Children), o.AnyChild
}

// limitQuestions drops the last questions if all are together too large for one record.
func (ev *Evidence) limitQuestions() {
	if len(ev.siblings) == 0 {
		return
	}
	size := sizeOfQuestion(ev.question)
	for i := range ev.siblings {
		if size += sizeOfQuestion(&ev.siblings[i]); size > interaction.MaxTogether {
			ev.warnSurplusf("the first %d of %d questions have %d KiB together, which is the limit; the others are "+
				"not asked", i+1, 1+len(ev.siblings), interaction.MaxTogether>>10)
			ev.siblings = ev.siblings[:i]
			return
		}
	}
}

// sizeOfQuestion estimates the question's size in the record, in bytes.
func sizeOfQuestion(q *interaction.Question) int {
	body, err := json.Marshal(q)
	if err != nil { // unreachable for stored texts; otherwise the store reports it
		return 0
	}
	return len(body)
}

func (ev *Evidence) warnSurplusf(format string, args ...any) {
	ev.questionWarnings = append(ev.questionWarnings, interaction.Diagnostic{
		Code: fsm.WarnAskUserSurplus, Detail: fmt.Sprintf(format, args...),
	})
}

// addressQuestion applies the run's AskPolicy to the question. A fault is a warning.
func (ev *Evidence) addressQuestion(terms *Terms, q *interaction.Question) {
	if err := applyPolicy(terms.Ask, terms.Submitter, q); err != nil {
		ev.questionWarnings = append(ev.questionWarnings, interaction.Diagnostic{
			Code: fsm.WarnAskUserMalformed, Detail: Shortened(err.Error()),
		})
	}
}

// applyPolicy sets the question's audience, the numbers of people who decide, and its wait, where
// the engine has not. The question is asked even after an error: its wait was invalid, or too few
// people may decide the approval.
func applyPolicy(policy *interaction.AskPolicy, submitter string, q *interaction.Question) error {
	Address(policy, submitter, q)
	needPeople(policy, q)
	if q.Wait == nil && policy != nil {
		q.Wait = policy.Wait.Clone()
	}
	if err := q.Wait.ValidateFor(*q); err != nil {
		q.Wait = &interaction.Wait{}
		return fmt.Errorf("the question's wait has %w; it waits without limit", err)
	}
	if err := interaction.ValidateVoters(*q); err != nil {
		return fmt.Errorf("the approval %w: they cannot approve it, or cannot reject it", err)
	}
	return nil
}

// needPeople sets how many people decide an approval. For one person, both numbers are 0.
func needPeople(policy *interaction.AskPolicy, q *interaction.Question) {
	if policy != nil && q.Subject != nil {
		q.Need = cmp.Or(q.Need, int8(policy.Need))
		q.Rejects = cmp.Or(q.Rejects, int8(policy.Rejects))
	}
	if q.DecidedBySeveral() {
		q.AlsoText = false
	} else {
		q.Need, q.Rejects = 0, 0
	}
}

// Address sets who may answer a question. The engine's audience has precedence over the policy's,
// but the run's submitter stays excepted.
func Address(policy *interaction.AskPolicy, submitter string, q *interaction.Question) {
	if policy == nil || policy.To == nil && !policy.NotSubmitter {
		return
	}
	to := q.To.Clone()
	if to == nil {
		to = policy.To.Clone()
	}
	if to == nil {
		to = &interaction.Audience{Everybody: true}
	}
	if policy.NotSubmitter && !slices.Contains(to.Except, submitter) {
		to.Except = append(to.Except, submitter)
	}
	q.To = to
}

// Restricts reports whether the policy affects a run's questions.
func Restricts(policy *interaction.AskPolicy) bool {
	return policy != nil && (policy.To != nil || policy.NotSubmitter || policy.Wait != nil || policy.Need > 1 ||
		policy.Rejects > 1)
}
