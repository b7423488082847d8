package decide

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

type ForkSource struct {
	Run     store.Run
	WorkDir string               // of its specification
	From    *Origin              // if the run is a fork itself
	Settled []interaction.Record // its settled questions, in order
}

// ForkAt is the point of the source from which the fork continues.
type ForkAt struct {
	// Question is the number of a settled question, or 0 for the end of an ended run.
	Question int
	Answer   *interaction.Reply // replaces the stored answer in the fork, unless nil
	Author   interaction.Actor
}

// CannotFork explains why a run cannot be forked at a point.
type CannotFork struct {
	Reason string
	Err    error // the cause; often nil
}

func (e *CannotFork) Error() string {
	if e.Err != nil {
		return e.Reason + ": " + e.Err.Error()
	}
	return e.Reason
}

func (e *CannotFork) Unwrap() error { return e.Err }

func cannotForkf(format string, args ...any) error {
	return &CannotFork{Reason: fmt.Sprintf(format, args...)}
}

// Fork decides a fork's inheritance. The error is a *CannotFork, a *interaction.NotAskedError if the
// author may not give the answer, or store.ErrCorrupt if the source's inheritance is incomplete.
func Fork(s *ForkSource, at *ForkAt, now time.Time) (*Origin, error) {
	if at.Question > 0 {
		return s.forkQuestion(at.Question, at, now)
	}
	if !s.Run.State.Terminal() {
		return nil, cannotForkf("it is %s and has not ended; name a settled question", s.Run.State)
	}
	if n := len(s.Settled); n > 0 {
		first, end := s.askedTogether(n - 1)
		for _, r := range s.Settled[first:end] {
			if r.Resolution == interaction.Abandoned {
				return s.forkQuestion(r.Question.ID, at, now)
			}
		}
	}
	return s.forkEnd(at, now)
}

// forkQuestion forks the run at a settled question.
func (s *ForkSource) forkQuestion(number int, at *ForkAt, now time.Time) (*Origin, error) {
	i, err := s.findSettled(number)
	if err != nil {
		return nil, err
	}
	first, end := s.askedTogether(i)
	round, record := s.Settled[first:end], &s.Settled[i]
	o := s.inherit(first)
	if err := s.inheritSession(o, record, end); err != nil {
		return nil, err
	}
	o.OwnEntries, o.Point = record.Journal, record.Question.AskedAt
	if at.Answer != nil {
		return o, s.answer(o, round, i-first, at, now)
	}
	asks := o.inheritRound(round, s.ruleOf(round), at.Author)
	if !asks && record.Resolution == interaction.Abandoned {
		return nil, cannotForkf("question %d has no answer; give an Answer", number)
	}
	return o, nil
}

// findSettled returns the index of a settled question at which the run can be forked.
func (s *ForkSource) findSettled(number int) (int, error) {
	i := slices.IndexFunc(s.Settled, func(r interaction.Record) bool { return r.Question.ID == number })
	switch {
	case s.Run.OpenQuestion(number) != nil:
		return i, cannotForkf("question %d is open; reply to it, or fork the run once it is settled", number)
	case i < 0:
		return i, cannotForkf("it has asked %d questions; question %d does not exist", s.Run.Interactions, number)
	case len(s.Run.Open) > 0 && s.Run.Open[0].Attempt == s.Settled[i].Question.Attempt:
		return i, cannotForkf("question %d was asked together with others, and question %d of these is open", number,
			s.Run.Open[0].ID)
	case s.Run.Profile == fsm.ProfileStickyProcess:
		return i, cannotForkf("its session is in its resident process, which cannot be branched")
	}
	return i, nil
}

// inherit returns every fork's inheritance, with the first settled questions as history.
func (s *ForkSource) inherit(settled int) *Origin {
	o := &Origin{RunID: s.Run.ID, CreatedAt: s.Run.CreatedAt, WorkDir: s.WorkDir}
	if s.From != nil {
		o.History, o.Journal = slices.Clone(s.From.History), slices.Clone(s.From.Journal)
	}
	for _, r := range s.Settled[:settled] {
		o.History = append(o.History, forHistory(r))
	}
	return o
}

// inheritSession gives the fork the session at a settled question; end questions were settled with its
// turn.
func (s *ForkSource) inheritSession(o *Origin, record *interaction.Record, end int) error {
	session := record.Session
	noTurnSince := s.Run.Attempt == record.Question.Attempt
	if session == nil && noTurnSince {
		session = s.Run.Session
	}
	switch {
	case session != nil:
		o.Session, o.AtRest = session, noTurnSince && s.Run.State.Terminal()
	case s.hasUnbranchedSession() && end <= s.Run.ForkedFrom.AsksAgain: // the source asked before its first engine call
		o.branchSessionOf(s.From)
	default:
		return cannotForkf("the session of question %d was not kept: the question was settled by a release that "+
			"did not keep it, or the engine had none", record.Question.ID)
	}
	return nil
}

// answer gives the fork the author's answer to question i of the round, and the stored answers to
// the other questions.
func (s *ForkSource) answer(o *Origin, round []interaction.Record, i int, at *ForkAt, now time.Time) error {
	answered, err := answerBy(round[i].Question, *at.Answer, now)
	if err != nil {
		return err
	}
	round = slices.Clone(round)
	for k := range round {
		if k != i && mustAskAgain(&round[k], at.Author) {
			return cannotForkf("question %d was asked together with question %d, which the fork asks again; fork the "+
				"run without an Answer, and reply to the fork", round[i].Question.ID, round[k].Question.ID)
		}
	}
	round[i] = answered
	o.inheritAnswers(round)
	return nil
}

// answerBy settles a question of the source by the reply of the fork's author.
func answerBy(q interaction.Question, given interaction.Reply, now time.Time) (interaction.Record, error) {
	q = q.Unasked()
	given.ID = q.ID
	if q.DecidedBySeveral() {
		return interaction.Record{}, cannotForkf("question %d is decided by several people; fork the run without an "+
			"Answer, and reply to the fork", q.ID)
	}
	err := given.ValidateFor(q)
	switch {
	case errors.Is(err, interaction.ErrNotAsked):
		return interaction.Record{}, err
	case err != nil:
		return interaction.Record{}, &CannotFork{fmt.Sprintf("question %d does not take the answer", q.ID), err}
	}
	return interaction.Settle(q, given.AnswerTo(&q, now), "", ""), nil
}

// forkEnd forks a run that ended without an open question: the fork repeats its last turn, or
// continues its session with another message.
func (s *ForkSource) forkEnd(at *ForkAt, now time.Time) (*Origin, error) {
	o := s.inherit(len(s.Settled))
	o.AtRest = true
	switch n := len(s.Settled); {
	case at.Answer != nil:
		if at.Answer.Decision != "" || len(at.Answer.Value) > 0 {
			return nil, cannotForkf("it has no open question, so only a text can continue it from its end")
		}
		answer := interaction.Reply{Text: at.Answer.Text, Actor: at.Author}.Answer(now)
		o.Answer, o.Message, o.Point = &answer, true, now
		if s.Run.Journal != nil {
			o.OwnEntries = s.Run.Journal.Entries
		}
	case s.Run.State == fsm.StateSucceeded:
		return nil, cannotForkf("it has succeeded; give an Answer with the next task, or name a settled question")
	case n > 0:
		first, end := s.askedTogether(n - 1)
		o = s.inherit(first)
		o.AtRest = true
		o.inheritRound(s.Settled[first:end], s.ruleOf(s.Settled[first:end]), at.Author)
		o.OwnEntries, o.Point = s.Settled[n-1].Journal, s.Settled[n-1].Question.AskedAt
	case s.From != nil:
		if err := o.beginLike(s.From, at.Author); err != nil {
			return nil, err
		}
	}
	switch {
	case o.Answer == nil && o.Answers == nil && o.Asks == nil: // the fork starts over with the prompt
		o.Journal = nil
	case s.Run.Profile == fsm.ProfileStickyProcess:
		return nil, cannotForkf("its session was in its resident process, which has ended")
	case s.Run.Session != nil:
		o.Session = s.Run.Session
	case s.hasUnbranchedSession():
		o.branchSessionOf(s.From)
	default:
		return nil, cannotForkf("it has no session that could receive a message")
	}
	return o, nil
}

// askedTogether returns the range of settled questions that the same turn asked, usually one.
func (s *ForkSource) askedTogether(i int) (first, end int) {
	attempt := s.Settled[i].Question.Attempt
	for first = i; first > 0 && s.Settled[first-1].Question.Attempt == attempt; first-- {
	}
	for end = i + 1; end < len(s.Settled) && s.Settled[end].Question.Attempt == attempt; end++ {
	}
	return first, end
}

// ruleOf returns the rule of questions asked together. If the run no longer has it, it follows from
// the outcome, and is never weaker than the original.
func (s *ForkSource) ruleOf(round []interaction.Record) interaction.Rule {
	if t := s.Run.Together; t != nil && t.First == round[0].Question.ID {
		return t.Rule
	}
	return ruleOfOutcome(round)
}

// hasUnbranchedSession reports whether the source is a fork that has not branched its session yet.
func (s *ForkSource) hasUnbranchedSession() bool { return s.From != nil && s.From.Session != nil }
