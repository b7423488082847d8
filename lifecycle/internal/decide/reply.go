package decide

import (
	"slices"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// Reply settles the open question that the reply names. If several people decide the question and
// more must vote, it only records the vote. The run returns to the queue, unless it waits for
// other answers. Actor.CheckDeputy, Reply.ValidateFor or Question.CheckClaim returns the error.
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
	if !question.DecidedBySeveral() {
		return settle(run, question, reply, now)
	}
	voted := question.WithVote(reply, now)
	if question.Decides(reply.Decision) {
		return settle(run, &voted, reply, now)
	}
	if err := checkVotersLeft(&voted, &reply); err != nil {
		return nil, err
	}
	return recordVote(run, &voted, reply, now)
}

// settle settles the question. If several people decide it, its last vote is already recorded in
// it.
func settle(run *store.Run, question *interaction.Question, reply interaction.Reply, now time.Time,
) (*store.Commit, error) {
	answer := reply.AnswerTo(question, now)
	memory, err := memoryOf(run, question, &reply, &answer)
	if err != nil {
		return nil, err
	}
	record := settledBy(run, question, answer)
	record.Key, record.Seen = reply.Key, reply.Seen
	if reply.Key != "" {
		record.Digest = reply.DigestFor(question)
	}
	e := effects{now: now, facts: fsm.FactPendingMatches, settles: settlement{
		answers: []interaction.Answer{answer},
		vote:    question.DecidedBySeveral() && !interaction.IsPolicy(reply.Actor.ID),
		records: []interaction.Record{record}, remembers: memory,
	}}
	if reply.Decision == interaction.Reject && interaction.IsPolicy(reply.Actor.ID) {
		e.settles.refused = question.Subject.Tool
	}
	if run.Together != nil && !completesRule(run, answer.Decision) {
		return transition(run, fsm.EventInteractionRecorded, &e)
	}
	e.facts |= fsm.FactRuleMet
	e.settles.closeSiblings(run, now)
	return transition(run, fsm.EventInteractionReplyAccepted, &e)
}

// checkVotersLeft refuses a deputy's vote, which counts once and uses up two people, if it leaves
// fewer people than must still decide.
func checkVotersLeft(voted *interaction.Question, reply *interaction.Reply) error {
	if reply.Actor.For == "" {
		return nil
	}
	if err := interaction.ValidateVoters(*voted); err != nil {
		return &interaction.FieldError{Field: "Actor.For", Value: reply.Actor.For,
			Want: "none, because the approval then " + err.Error()}
	}
	return nil
}

// recordVote stores a vote that does not settle the question: voted, the question with it.
func recordVote(run *store.Run, voted *interaction.Question, reply interaction.Reply, now time.Time,
) (*store.Commit, error) {
	answers := []interaction.Answer{reply.AnswerTo(voted, now)}
	return transition(run, fsm.EventInteractionRecorded, &effects{
		now: now, facts: fsm.FactPendingMatches, edits: edit{question: voted},
		settles: settlement{answers: answers, vote: true},
	})
}

// completesRule reports whether the run continues after one more reply, with this decision.
func completesRule(run *store.Run, decision interaction.Decision) bool {
	return run.Together.Met(run.Together.Replies+1, len(run.Open)-1, decision == interaction.Reject)
}

// closeSiblings closes the other open questions: the run continues without answers to them.
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

func settledBy(run *store.Run, q *interaction.Question, answer interaction.Answer) interaction.Record {
	record := interaction.Settle(*q, answer, "", "")
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

// keepForkPoint stores in the record where a later fork begins: the session and the number of
// journal entries, which do not change while a run waits.
func keepForkPoint(r *interaction.Record, run *store.Run) {
	r.Session = run.Session
	if run.Journal != nil {
		r.Journal = run.Journal.Entries
	}
}
