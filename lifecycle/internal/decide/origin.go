package decide

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// MaxOrigin limits a fork's inheritance, in bytes of JSON, mostly history and journal.
const MaxOrigin = 16 << 20

// Origin is a fork's inheritance, stored with its specification and never changed.
type Origin struct {
	// RunID and CreatedAt identify the run that owns the session. WorkDir is from that run's
	// Spec.
	RunID     string    `json:"run_id"`
	CreatedAt time.Time `json:"created_at"`
	WorkDir   string    `json:"work_dir,omitempty"`
	// Session, unless nil, is the session that the fork's first turn branches.
	Session *interaction.SessionHandle `json:"session,omitempty"`
	AtRest  bool                       `json:"at_rest,omitempty"` // see engine.BranchPoint
	Message bool                       `json:"message,omitempty"` // see engine.BranchPoint
	History []interaction.Record       `json:"history,omitempty"`
	// Journal has the source's own inherited entries, then its entries up to the fork's point. The
	// fork's journal follows them.
	Journal []engine.JournalEntry `json:"journal,omitempty"`
	// Answer is for the fork's first turn; Answers replace it if several questions were asked
	// together.
	Answer  *interaction.Answer  `json:"answer,omitempty"`
	Answers []interaction.Answer `json:"answers,omitempty"`
	// Asks are the questions, with their rule, that the fork's first turn repeats instead of an answer.
	Asks []interaction.Question `json:"asks,omitempty"`
	Rule interaction.Rule       `json:"rule,omitzero"`
	// Withheld are the indexes of History's records whose answers the fork does not inherit.
	Withheld []int `json:"withheld,omitempty"`

	// Point, and the fields after it, are used only while the fork is made. Point is the time in
	// the source's life from which the fork continues.
	Point      time.Time `json:"-"`
	OwnEntries int       `json:"-"`
	answered   int
}

// BranchPoint describes the branched session for the engine, without folders.
func (o *Origin) BranchPoint() engine.BranchPoint {
	return engine.BranchPoint{RunID: o.RunID, Session: *o.Session.Clone(), AtRest: o.AtRest, Message: o.Message}
}

// WithheldRecords returns the records at the indexes in Withheld.
func (o *Origin) WithheldRecords() (all []interaction.Record) {
	for _, i := range o.Withheld {
		if i < len(o.History) {
			all = append(all, o.History[i])
		}
	}
	return all
}

// Withhold sets Withheld for a fork by this author. An engine that keeps answers itself asks these
// questions again (engine.Turn.Withheld).
func (o *Origin) Withhold(author interaction.Actor) {
	for i := range o.History[:len(o.History)-o.answered] {
		if mustAskAgain(&o.History[i], author) {
			o.Withheld = append(o.Withheld, i)
		}
	}
}

// mustAskAgain reports whether a fork by this author does not inherit the record's answer: an
// approval allows one execution, and a fork's author decides nothing that they could not have
// decided by a reply.
func mustAskAgain(r *interaction.Record, author interaction.Actor) bool {
	q := &r.Question
	return r.Resolution != interaction.Superseded &&
		(q.Subject != nil || q.DecidedBySeveral() || !q.To.Admits(author))
}

// inheritRound gives the fork the answers to questions that were asked together, or has it ask all
// again if one answer is not inherited.
func (o *Origin) inheritRound(round []interaction.Record, rule interaction.Rule, author interaction.Actor) (asks bool) {
	if !slices.ContainsFunc(round, func(r interaction.Record) bool { return mustAskAgain(&r, author) }) {
		o.inheritAnswers(round)
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

// inheritAnswers adds the questions to the history, and gives the fork's first turn the answers.
func (o *Origin) inheritAnswers(round []interaction.Record) {
	answers := make([]interaction.Answer, 0, len(round))
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

// beginLike lets the fork begin like its source, a fork that has asked nothing itself. It returns
// store.ErrCorrupt if the source's history lacks a question that its first turn had an answer to.
func (o *Origin) beginLike(from *Origin, author interaction.Actor) error {
	switch answers := max(len(from.Answers), 1); {
	case len(from.Asks) > 0:
		o.Asks, o.Rule = from.Asks, from.Rule
	case from.Message:
		o.Answer, o.Message = from.Answer, true
	case from.Answer == nil && len(from.Answers) == 0:
	case len(o.History) < answers:
		return fmt.Errorf("%w: it inherited %d answers to the questions of a history of %d", store.ErrCorrupt, answers,
			len(o.History))
	default:
		before := len(o.History) - answers
		round := o.History[before:]
		o.History = slices.Clone(o.History[:before])
		o.inheritRound(round, ruleOfOutcome(round), author)
	}
	return nil
}

// branchSessionOf lets the fork branch the session that its source has inherited.
func (o *Origin) branchSessionOf(from *Origin) {
	o.RunID, o.CreatedAt, o.WorkDir = from.RunID, from.CreatedAt, from.WorkDir
	o.Session, o.AtRest = from.Session, from.AtRest
}

// forHistory returns a record without the fields that only its own run needs.
func forHistory(r interaction.Record) interaction.Record {
	r.Session, r.Journal, r.Key, r.Digest = nil, 0, "", ""
	r.Question.Notes = nil
	return r
}

// ruleOfOutcome infers a rule from the records' outcome. It is never weaker than the original.
func ruleOfOutcome(round []interaction.Record) interaction.Rule {
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
