package interaction

import (
	"fmt"
	"strings"
	"time"
)

// Limits of the questions that a turn asks together.
const (
	// MaxQuestions is the most questions that are asked together.
	MaxQuestions = 32
	// MaxTogether bounds their size together, as JSON. A question that is asked alone has the
	// limits of its parts only.
	MaxTogether = 256 << 10
)

// Rule says when a run goes on that waits with several questions. The zero Rule waits for an
// answer to each of them. In any case the run goes on when none of its questions is open any more.
// The questions that are still open then are closed as Superseded.
type Rule struct {
	// Answers is how many of the questions people must answer; 0, or more than there are: all.
	Answers int `json:"answers"`
	// StopOnReject lets the run go on as soon as a person rejects an Approval.
	StopOnReject bool `json:"stop_on_reject,omitempty"`
}

// Needs returns how many answers the rule needs if so many questions are asked together.
func (r Rule) Needs(asked int) int {
	if r.Answers <= 0 || r.Answers > asked {
		return asked
	}
	return r.Answers
}

// Supersede is the history entry of a question that was closed without an answer, because the rule
// of the questions that it was asked with is met.
func Supersede(q Question, at time.Time) Record {
	return Record{Question: q, Resolution: Superseded, ResolvedAt: at}
}

// Answer is how the question of the record was settled, as a turn is told: the answer that a person
// or an automatic decision gave. For a question that nobody answered it says so by its Resolution,
// and has no Text.
func (r Record) Answer() Answer {
	switch r.Resolution {
	case AutoDecideTimeout:
		a := NewAutoDecision(r.Question).Answer(r.ResolvedAt)
		a.Text, a.Ref = r.Response, r.Question.Ref
		return a
	case UserReply, DefaultAnswer:
		reply := Reply{ID: r.Question.ID, Text: r.Response, Actor: Actor{ID: r.Actor, Via: r.Via}, Value: r.Value,
			Decision: r.Decision}
		a := reply.AnswerTo(&r.Question, r.ResolvedAt)
		a.Resolution = r.Resolution
		return a
	}
	return Answer{ID: r.Question.ID, Resolution: r.Resolution, AcceptedAt: r.ResolvedAt, Ref: r.Question.Ref}
}

// Answered reports whether a person or an automatic decision has answered: not so if the question
// was closed, or its run ended before.
func (a Answer) Answered() bool { return a.Resolution != Superseded && a.Resolution != Abandoned }

// Message is the text for an agent that is told nothing else than the answers to the questions that
// it asked together, in their order.
func Message(answers []Answer) string {
	if len(answers) == 1 {
		return answers[0].Message()
	}
	var text strings.Builder
	for i, a := range answers {
		said := a.Message()
		if !a.Answered() {
			said = "There is no answer: the others were enough to go on."
		}
		if i > 0 {
			text.WriteString("\n\n")
		}
		fmt.Fprintf(&text, "Answer to question %d, the %s of %d:\n%s", a.ID, ordinal(i+1), len(answers), said)
	}
	return text.String()
}

// ordinal returns 1st, 2nd, 3rd, 4th and so on.
func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}
