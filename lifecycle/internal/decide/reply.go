package decide

import (
	"slices"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// Reply settles the open question that the reply names. The run returns to the queue, unless it
// waits for other answers. If several people decide the question and others must vote, the reply is
// recorded as a vote. Reply.ValidateFor, Actor.CheckDeputy and
// Question.CheckClaim may refuse it.
func Reply(run *store.Run, reply interaction.Reply, now time.Time) (*store.Commit, error) {
	question := run.OpenQuestion(reply.ID)
	now = Later(now, run.UpdatedAt) // the answer has the time of the commit
	if err := reply.Actor.CheckDeputy(now); err != nil {
		return nil, err
	}
	if err := reply.ValidateFor(*question); err != nil {
		return nil, err
	}
	if err := question.CheckClaim(reply.Actor, now); err != nil {
		return nil, err
	}
	if question.Claim != nil {
		reply.Actor = question.Claimant(reply.Actor, now)
	}
	if question.DecidedBySeveral() {
		voted := question.WithVote(reply, now)
		if !question.Decides(reply.Decision) {
			if err := leavesVoters(&voted, &reply); err != nil {
				return nil, err
			}
			return recordVote(run, &voted, reply, now)
		}
		question = &voted
	}
	return settle(run, question, reply, now)
}

// settle settles the question, with its last vote if several people decide it.
func settle(run *store.Run, question *interaction.Question, reply interaction.Reply, now time.Time,
) (*store.Commit, error) {
	answer := reply.AnswerTo(question, now)
	digest := ""
	if reply.Key != "" {
		digest = reply.DigestFor(question)
	}
	e := effects{now: now, facts: fsm.FactPendingMatches | fsm.FactRuleMet, settles: settlement{
		answers: []interaction.Answer{answer},
		vote:    question.DecidedBySeveral() && !interaction.IsPolicy(reply.Actor.ID),
		records: []interaction.Record{settledBy(run, question, answer, reply.Key, digest)},
	}}
	e.settles.records[0].Seen = reply.Seen
	if run.Together != nil && !completesRule(run, answer.Decision) {
		e.facts &^= fsm.FactRuleMet
		return transition(run, fsm.EventInteractionRecorded, &e)
	}
	e.settles.closeSiblings(run, now)
	return transition(run, fsm.EventInteractionReplyAccepted, &e)
}

// leavesVoters returns an error if a deputy's vote, which counts once and uses up two people, leaves
// fewer people than must still decide.
func leavesVoters(voted *interaction.Question, reply *interaction.Reply) error {
	if reply.Actor.For == "" {
		return nil
	}
	if err := interaction.ValidateVoters(*voted); err != nil {
		return &interaction.FieldError{Field: "Actor.For", Value: reply.Actor.For,
			Want: "none, because the approval then " + err.Error()}
	}
	return nil
}

// recordVote makes the commit of a vote that needs others; voted is the question with it. Votes are
// part of the question and its history, so that both always agree.
func recordVote(run *store.Run, voted *interaction.Question, reply interaction.Reply, now time.Time,
) (*store.Commit, error) {
	answers := []interaction.Answer{reply.AnswerTo(voted, now)}
	return transition(run, fsm.EventInteractionRecorded, &effects{
		now: now, facts: fsm.FactPendingMatches, edits: edit{question: voted},
		settles: settlement{answers: answers, vote: true},
	})
}

// completesRule reports whether the run continues with a reply that has this decision.
func completesRule(run *store.Run, decision interaction.Decision) bool {
	return run.Together.Met(run.Together.Replies+1, len(run.Open)-1, decision == interaction.Reject)
}

// closeSiblings closes the open questions that the first record does not settle: the run continues
// without answers to them.
func (s *settlement) closeSiblings(run *store.Run, now time.Time) {
	if len(run.Open) == 1 {
		return
	}
	answered := s.records[0].Question.ID
	for _, q := range run.Open {
		if q.ID != answered {
			record := interaction.Supersede(q, now)
			keepForkPoint(&record, run)
			s.records = append(s.records, record)
		}
	}
	slices.SortFunc(s.records, func(a, b interaction.Record) int { return a.Question.ID - b.Question.ID })
}

func settledBy(run *store.Run, q *interaction.Question, answer interaction.Answer, key, digest string,
) interaction.Record {
	record := interaction.Settle(*q, answer, key, digest)
	keepForkPoint(&record, run)
	return record
}

// abandoned closes each open question of an ending run without an answer.
func abandoned(run *store.Run, at time.Time) []interaction.Record {
	if len(run.Open) == 0 {
		return nil
	}
	all := make([]interaction.Record, len(run.Open))
	for i := range run.Open {
		all[i] = interaction.Abandon(run.Open[i], at)
		keepForkPoint(&all[i], run)
	}
	return all
}

// keepForkPoint stores with a question's record the start of a later fork: the session, and the
// number of journal entries. Neither has changed while the run waited.
func keepForkPoint(r *interaction.Record, run *store.Run) {
	r.Session = run.Session
	if run.Journal != nil {
		r.Journal = run.Journal.Entries
	}
}
