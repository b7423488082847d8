package interaction

import (
	"fmt"
	"strings"
	"time"
)

// Limits of the questions of one turn.
const (
	// MaxQuestions limits the questions of one turn.
	MaxQuestions = 32
	// MaxTogether limits their total size, as JSON. A single question has only the limits of its
	// parts.
	MaxTogether = 256 << 10
)

// Rule decides when a run that waits for several questions continues. The zero Rule requires an
// answer to each. The run also continues when no question is open. Questions still open then are
// closed as Superseded.
type Rule struct {
	// Answers is the number of questions that people must answer; 0, or more than were asked: all.
	Answers int `json:"answers"`
	// StopOnReject continues the run as soon as a person rejects an Approval.
	StopOnReject bool `json:"stop_on_reject,omitempty"`
}

func (r Rule) Needs(asked int) int {
	if r.Answers <= 0 || r.Answers > asked {
		return asked
	}
	return r.Answers
}

// Supersede returns the history entry of a question closed because its siblings' answers satisfied
// the rule.
func Supersede(q Question, at time.Time) Record {
	return Record{Question: q, Resolution: Superseded, ResolvedAt: at}
}

// Answer returns the record's answer for a turn: from a person or an automatic decision. For an
// unanswered question only its Resolution is set, without a Text.
func (r Record) Answer() Answer {
	switch r.Resolution {
	case AutoDecideTimeout:
		a := NewAutoDecision(r.Question).Answer(r.ResolvedAt)
		a.Text, a.Ref = r.Response, r.Question.Ref
		return a
	case UserReply, DefaultAnswer:
		reply := Reply{ID: r.Question.ID, Text: r.Response, Value: r.Value, Decision: r.Decision,
			Actor: Actor{ID: r.Actor, Via: r.Via, For: r.For()}}
		a := reply.AnswerTo(&r.Question, r.ResolvedAt)
		a.Resolution = r.Resolution
		return a
	}
	return Answer{ID: r.Question.ID, Resolution: r.Resolution, AcceptedAt: r.ResolvedAt, Ref: r.Question.Ref}
}

// Answered reports whether a person or an automatic decision has answered, as opposed to a question
// that was closed or whose run ended.
func (a Answer) Answered() bool { return a.Resolution != Superseded && a.Resolution != Abandoned }

// Message returns the answers to one turn's questions, in order, as text for an agent without
// another source.
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
