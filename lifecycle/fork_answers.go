package lifecycle

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// This file decides which answers a fork inherits, and has a fork ask the other questions again
// (N11). An answer is used only for the question that was asked: an approval allows one execution,
// and the author of a fork decides nothing that they could not have decided by a reply.

// mustAskAgain reports whether a fork by this author does not inherit the answer of the record.
func mustAskAgain(r *Record, author Actor) bool {
	q := &r.Question
	return r.Resolution != interaction.Superseded &&
		(q.Subject != nil || q.DecidedBySeveral() || !q.To.Admits(author))
}

// askedTogether returns the range of the settled questions that were asked together with the one at
// this index: those of one attempt. Usually it is one.
func (s *forkSource) askedTogether(i int) (first, end int) {
	attempt := s.settled[i].Question.Attempt
	for first = i; first > 0 && s.settled[first-1].Question.Attempt == attempt; first-- {
	}
	for end = i + 1; end < len(s.settled) && s.settled[end].Question.Attempt == attempt; end++ {
	}
	return first, end
}

// ruleOf returns the rule of a round of settled questions. If the run has forgotten it, the rule
// follows from the outcome, and is never weaker than the original one.
func (s *forkSource) ruleOf(first, end int) interaction.Rule {
	round := s.settled[first:end]
	if t := s.run.Together; t != nil && t.First == round[0].Question.ID {
		return t.Rule
	}
	return ruleOfOutcome(round)
}

func ruleOfOutcome(round []Record) interaction.Rule {
	replies, superseded, rejected := 0, false, false
	for i := range round {
		superseded = superseded || round[i].Resolution == interaction.Superseded
		rejected = rejected || round[i].Decision == interaction.Reject
		if round[i].Resolution == interaction.UserReply {
			replies++
		}
	}
	switch {
	case !superseded:
		return interaction.Rule{}
	case rejected:
		return interaction.Rule{StopOnReject: true}
	}
	return interaction.Rule{Answers: replies}
}

// answer settles a question of the source by the reply of the fork's author.
func (s *forkSource) answer(q Question, given Reply, now time.Time) (Record, error) {
	q = q.Unasked()
	given.ID = q.ID
	if q.DecidedBySeveral() {
		return Record{}, s.refuse("question %d is decided by several people; fork the run without an Answer, and "+
			"reply to the fork", q.ID)
	}
	err := given.CheckFor(q)
	switch {
	case errors.Is(err, ErrNotAsked):
		return Record{}, fmt.Errorf("lifecycle: fork run %s: %w", s.run.ID, err)
	case err != nil:
		return Record{}, fmt.Errorf("%w: run %s: question %d does not take the answer: %w", ErrCannotFork, s.run.ID,
			q.ID, err)
	}
	return interaction.Settle(q, given.AnswerTo(&q, now), "", ""), nil
}

// continueWith has the fork continue with the answers to these questions, or ask all of them again
// if it does not inherit one of the answers. It reports whether the fork asks.
func (o *origin) continueWith(round []Record, rule interaction.Rule, author Actor) (asks bool) {
	if !slices.ContainsFunc(round, func(r Record) bool { return mustAskAgain(&r, author) }) {
		o.continueWithAnswers(round)
		return false
	}
	for i := range round {
		o.Asks = append(o.Asks, round[i].Question.Unasked())
	}
	if len(round) > 1 {
		o.Rule = rule
	}
	return true
}

// continueWithAnswers adds the questions to the history, and has the first turn of the fork get the
// answers.
func (o *origin) continueWithAnswers(round []Record) {
	answers := make([]Answer, 0, len(round))
	for i := range round {
		o.History = append(o.History, forHistory(round[i]))
		answers = append(answers, round[i].Answer())
	}
	o.answered = len(round)
	if len(answers) > 1 {
		o.Answers = answers
	} else {
		o.Answer = &answers[0]
	}
}

// continueAs has the fork begin as its source would have, which is a fork that has asked nothing.
func (o *origin) continueAs(from *origin, author Actor) {
	switch {
	case len(from.Asks) > 0:
		o.Asks, o.Rule = from.Asks, from.Rule
	case from.Message:
		o.Answer, o.Message = from.Answer, true
	case from.Answer != nil || len(from.Answers) > 0:
		before := len(o.History) - max(len(from.Answers), 1)
		round := o.History[before:]
		o.History = slices.Clone(o.History[:before])
		o.continueWith(round, ruleOfOutcome(round), author)
	}
}

// inheritsSession reports whether the source is a fork that has not branched its session yet.
func (s *forkSource) inheritsSession() bool { return s.from != nil && s.from.Session != nil }

// branchSessionOf has the fork branch the session that its source has inherited.
func (o *origin) branchSessionOf(from *origin) {
	o.RunID, o.CreatedAt, o.WorkDir = from.RunID, from.CreatedAt, from.WorkDir
	o.Session, o.AtRest = from.Session, from.AtRest
}

// forHistory returns a record without what only its own run needs.
func forHistory(r Record) Record {
	r.Session, r.Journal, r.Key, r.Digest = nil, 0, "", ""
	return r
}

// withheld returns the indexes of the inherited records whose answers the fork does not inherit. An
// engine that keeps answers itself asks these questions again (engine.Turn.Withheld).
func withheld(o *origin, author Actor) (all []int) {
	for i := range o.History[:len(o.History)-o.answered] {
		if mustAskAgain(&o.History[i], author) {
			all = append(all, i)
		}
	}
	return all
}

// withheldRecords returns the records of the history whose answers the fork does not inherit.
func (o *origin) withheldRecords() (all []Record) {
	for _, i := range o.Withheld {
		if i < len(o.History) {
			all = append(all, o.History[i])
		}
	}
	return all
}

// askAgain is the evidence of a fork's first turn that asks questions of the source again. The
// engine is not called, and need not be: the questions are known.
func (t *turn) askAgain() *turnEvidence {
	return &turnEvidence{
		profile: fsm.ProfileResumable, process: engine.Process{Status: engine.OK}, host: t.node.host, asksAgain: true,
		question: &t.origin.Asks[0], siblings: t.origin.Asks[1:], rule: t.origin.Rule,
	}
}

// asksAgain returns how many questions a fork asks again, for its first event.
func asksAgain(p *store.ForkPoint) int {
	if p == nil {
		return 0
	}
	return p.AsksAgain
}

// decideAskAgain parks a fork with the questions that it asks again.
func decideAskAgain(run *store.Run, turn *turnEvidence, node string, now time.Time) (*store.Commit, error) {
	return transition(run, fsm.EventTurnNeedsInput, &details{
		now: now, node: node, profile: turn.profile, question: turn.question, siblings: turn.siblings, rule: turn.rule,
	})
}
