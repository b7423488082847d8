package simulate

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/interlude-go/interlude/interaction"
)

// This file has approvals by several people (K5): the seed's plan, and the judge that compares the
// votes in the history with people's answers.

// planVotes gives some approvals to several people. Steps of their waits may ask fewer people than
// must decide. Like planHolds, it has a separate generator.
func (p *plan) planVotes() {
	r := rand.New(rand.NewPCG(uint64(p.poll)<<20|uint64(p.lease), uint64(p.peace)))
	for _, run := range p.runs {
		for i := range run.turns {
			t := &run.turns[i]
			if len(t.several.approvals) == 0 || r.IntN(2) == 0 || p.memory.lasts > 0 {
				continue
			}
			t.several.needs = make([]need, len(t.several.approvals))
			for j, approval := range t.several.approvals {
				if approval {
					t.several.needs[j] = need{1 + r.IntN(3), 1 + r.IntN(2)}
				}
			}
		}
	}
}

// need is how many people must approve, and how many must reject; 0 and 0 for a text.
type need struct{ approve, reject int }

func (n need) several() bool { return n.approve > 1 || n.reject > 1 }

// need returns the need of the question with this number.
func (p *runPlan) need(number int) need {
	for i := range p.turns {
		n := p.turns[i].asked()
		if number <= n {
			if needs := p.turns[i].several.needs; number >= 1 && len(needs) > 0 {
				return needs[number-1]
			}
			return need{}
		}
		number -= n
	}
	return need{}
}

// voted explains which vote was lost, or counted twice, and which question was decided by others
// than its votes say.
func (e *ending) voted(*ending) string {
	votes := make(map[int][]interaction.Vote)
	for _, q := range e.run.Open {
		votes[q.ID] = q.Votes
		if why := e.tally(&q, interaction.Record{}); why != "" {
			return why
		}
	}
	for i := range e.settled {
		r := &e.settled[i]
		votes[r.Question.ID] = r.Question.Votes
		if why := e.tally(&r.Question, *r); why != "" {
			return why
		}
	}
	for _, p := range e.people {
		for _, a := range p.accepted {
			if !e.plan.need(a.reply.ID).several() {
				continue
			}
			found := false
			for _, v := range votes[a.reply.ID] {
				found = found || v.Actor == a.reply.Actor.ID && v.For == a.reply.Actor.For &&
					v.Decision == a.reply.Decision && v.Key == a.reply.Key && v.Text == a.reply.Text
			}
			if !found {
				return fmt.Sprintf("the vote %q of %s on %d was accepted, and is not among %+v", a.reply.Decision,
					a.reply.Actor.ID, a.reply.ID, votes[a.reply.ID])
			}
		}
		for _, r := range p.votedBefore {
			mine := func(v interaction.Vote) bool {
				return counted(&interaction.Vote{Actor: r.Actor.ID, For: r.Actor.For}, []interaction.Vote{v})
			}
			if !slices.ContainsFunc(votes[r.ID], mine) {
				return fmt.Sprintf("%s was told of having voted on %d, whose votes are %+v", r.Actor.ID, r.ID,
					votes[r.ID])
			}
		}
	}
	return ""
}

// tally recounts the votes on a question.
func (e *ending) tally(q *interaction.Question, as interaction.Record) string {
	n, by, decision := e.needOf(q.ID), as.Resolution, as.Decision
	switch {
	case !n.several():
		return ""
	case interaction.IsPolicy(as.Actor) && len(q.Votes) > 0:
		return fmt.Sprintf("question %d has the votes %+v, and was settled by %s", q.ID, q.Votes, as.Actor)
	case interaction.IsPolicy(as.Actor):
		return ""
	}
	counts := make(map[interaction.Decision]int)
	for i, v := range q.Votes {
		if counted(&v, q.Votes[:i]) {
			return fmt.Sprintf("%s for %q has voted twice on %d", v.Actor, v.For, q.ID)
		}
		if v.For != "" {
			e.world.saw("a deputy voted")
		}
		counts[v.Decision]++
	}
	if len(q.Votes) > 0 {
		e.world.saw("somebody voted")
	}
	approved, rejected := counts[interaction.Approve] >= n.approve, counts[interaction.Reject] >= n.reject
	switch {
	case (approved || rejected) != (by == interaction.UserReply):
		return fmt.Sprintf("question %d needs %+v, has %v, and was settled by %q", q.ID, n, counts, by)
	case approved && (decision != interaction.Approve || counts[interaction.Approve] > n.approve):
		return fmt.Sprintf("question %d needs %+v, has %v, and was settled with %q", q.ID, n, counts, decision)
	case rejected && (decision != interaction.Reject || counts[interaction.Reject] > n.reject):
		return fmt.Sprintf("question %d needs %+v, has %v, and was settled with %q", q.ID, n, counts, decision)
	case approved && q.Fired > 0:
		e.world.saw("several people approved, some of them after a step of the wait")
	case approved:
		e.world.saw("several people approved")
	case len(q.Votes) > 0 && by == interaction.DefaultAnswer:
		e.world.saw("a wait ended before enough people had voted")
	case rejected && n.reject > 1:
		e.world.saw("several people rejected")
	}
	return ""
}
