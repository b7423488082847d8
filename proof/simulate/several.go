package simulate

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
)

// This file has the turns that ask several questions at once (K1, K2): their questions, their rule,
// and people's decisions about the approvals among them. It also has the judge that computes from
// the history when the run had to continue.

// severalPlan has a turn's questions; without approvals it asks one question, or none.
type severalPlan struct {
	approvals []bool // by question: whether it is an approval, and not a text
	rule      interaction.Rule
	needs     []need // by question; nil: one person decides each
}

// planSeveral lets some turns ask several questions. Like planHolds, it has a separate generator.
func (p *plan) planSeveral() {
	r := rand.New(rand.NewPCG(uint64(p.poll), uint64(p.peace)<<20|uint64(p.lease)))
	for _, run := range p.runs {
		for i := range run.turns {
			if t := &run.turns[i]; t.asks && r.IntN(3) == 0 {
				t.several = newSeveral(r)
			}
		}
	}
}

func newSeveral(r *rand.Rand) (s severalPlan) {
	for range 2 + r.IntN(3) {
		s.approvals = append(s.approvals, r.IntN(2) == 0)
	}
	if r.IntN(2) == 0 {
		s.rule.Answers = 1 + r.IntN(len(s.approvals))
	}
	s.rule.StopOnReject = r.IntN(2) == 0
	return s
}

// asked is how many questions the turn asks.
func (t *turnPlan) asked() int { return max(1, len(t.several.approvals)) }

// turn returns the index of the turn that gets the answer to question number answered, together
// with the answers to the questions that were asked with it. Index 0 is the first turn, which gets
// none.
func (p *runPlan) turn(answered int) int {
	turn, first := 0, 1
	for turn < len(p.turns) && answered >= first {
		first += p.turns[turn].asked()
		turn++
	}
	return turn
}

// approval reports whether the question of that number is an approval.
func (p *runPlan) approval(number int) bool {
	for i := range p.turns {
		n := p.turns[i].asked()
		if number <= n {
			several := p.turns[i].several.approvals
			return number >= 1 && len(several) > 0 && several[number-1]
		}
		number -= n
	}
	return false
}

// questions returns the turn's questions, numbered from first.
func (t *turnPlan) questions(first int) (all []interaction.Question) {
	for i := range t.asked() {
		q := interaction.Question{Kind: interaction.OpenText, Prompt: fmt.Sprintf("Question %d?", first+i)}
		if len(t.several.approvals) > 0 && t.several.approvals[i] {
			var err error
			if q, err = engine.ApprovalOf(q.Prompt, "tool", map[string]any{"number": first + i,
				"kind": kind(first + i)}); err != nil {
				panic(err)
			}
		}
		q.DefaultPolicy = t.policy
		if len(t.several.needs) > 0 {
			q.Need, q.Rejects = int8(t.several.needs[i].approve), int8(t.several.needs[i].reject)
		}
		if len(t.waits) > 0 {
			q.Wait = t.waits[i].Clone()
		}
		all = append(all, q)
	}
	return all
}

// decide adds a person's decision about an approval to a reply: always the same one. Several people
// only approve or reject.
func (p *replierPlan) decide(reply *interaction.Reply, n need) {
	if n.several() {
		reply.Decision = interaction.Approve
		if rand.New(rand.NewPCG(p.seed, uint64(reply.ID))).IntN(3) == 0 {
			reply.Decision = interaction.Reject
		}
		return
	}
	switch rand.New(rand.NewPCG(p.seed, uint64(reply.ID))).IntN(4) {
	case 0:
		reply.Decision = interaction.Reject
	case 1:
		reply.Decision, reply.Value = interaction.Edit, fmt.Appendf(nil, `{"number":%d}`, -reply.ID)
	case 2:
		reply.Decision = interaction.Respond
	default:
		reply.Decision = interaction.Approve
	}
}

// hear returns an agent's memory of a turn's answers.
func hear(t engine.Turn) string {
	switch {
	case len(t.Answers) == 1 && t.Answers[0].Resolution == interaction.DefaultAnswer:
		return t.Answers[0].Text // Input also reports that no one replied
	case len(t.Answers) < 2:
		return t.Input()
	}
	all := make([]string, len(t.Answers))
	for i, a := range t.Answers {
		all[i] = heardAs(a.ID, a.Text, a.Decision)
	}
	return strings.Join(all, " & ")
}

// heardAs is an answer among several, or an entry among several in a run's history.
func heardAs(number int, text string, decision interaction.Decision) string {
	return fmt.Sprintf("%d: %s %s", number, text, decision)
}

// round is the history of one turn's questions.
type round struct {
	first   int // the number of the first question
	records []interaction.Record
	open    int // how many of them are open
}

// rounds returns the run's rounds of questions, in order. The error says why the history
// contradicts the plan.
func (e *ending) rounds() (all []round, err error) {
	left, open, number := e.settled, e.run.Open, 1
	for i := range e.plan.turns {
		r := round{first: number}
		for range e.plan.turns[i].asked() {
			switch {
			case len(left) > 0 && left[0].Question.ID == number:
				r.records, left = append(r.records, left[0]), left[1:]
			case len(open) > 0 && open[0].ID == number:
				r.open, open = r.open+1, open[1:]
			default:
				continue
			}
			number++
		}
		if asked := len(r.records) + r.open; asked == 0 {
			break
		} else if asked != e.plan.turns[i].asked() {
			return nil, fmt.Errorf("the turn that asked question %d has asked %d, and should have asked %d", r.first,
				asked, e.plan.turns[i].asked())
		}
		all = append(all, r)
	}
	if len(left) > 0 || len(open) > 0 || number != e.run.Interactions+1 {
		return nil, fmt.Errorf("the history and the open questions have numbers up to %d, %d and %d are left over, "+
			"and %d were asked", number-1, len(left), len(open), e.run.Interactions)
	}
	return all, nil
}

// over reports whether the run continued with the answers of the round.
func (r *round) over() bool { return r.open == 0 && r.count(interaction.Abandoned) == 0 }

func (r *round) count(by interaction.Resolution) (n int) {
	for i := range r.records {
		if r.records[i].Resolution == by {
			n++
		}
	}
	return n
}

// heard is the agent's expected memory of the round.
func (r *round) heard() string {
	if len(r.records) == 1 {
		return r.records[0].Response
	}
	all := make([]string, len(r.records))
	for i := range r.records {
		all[i] = heardAs(r.records[i].Question.ID, r.records[i].Response, r.records[i].Decision)
	}
	return strings.Join(all, " & ")
}

// ruled reports a round that ended too early or too late for its rule. It recounts from the
// history.
func (e *ending) ruled(*ending) string {
	rounds, err := e.rounds()
	if err != nil {
		return err.Error()
	}
	for i := range rounds {
		r, plan := &rounds[i], &e.plan.turns[i].several
		if len(plan.approvals) == 0 {
			continue
		}
		if why := r.ruled(plan, e.plan.wait(r.first) != nil); why != "" {
			return fmt.Sprintf("the questions from %d on, under %+v: %s", r.first, plan.rule, why)
		}
		e.world.sawRound(r, plan)
	}
	return ""
}

// ruled judges one round. With waits its questions are settled one by one; otherwise the deadline
// decides about all open ones.
func (r *round) ruled(plan *severalPlan, ownWaits bool) string {
	enough := len(plan.approvals)
	if plan.rule.Answers > 0 {
		enough = plan.rule.Answers
	}
	replies := r.count(interaction.UserReply)
	decided, superseded := r.count(interaction.AutoDecideTimeout), r.count(interaction.Superseded)
	if ownWaits {
		decided = 0
	}
	stopped := plan.stopped(r)
	met := replies >= enough || stopped > 0
	switch {
	case replies > enough || stopped > 1:
		return fmt.Sprintf("%d replies were accepted, %d of which stopped it", replies, stopped)
	case met && (r.open > 0 || decided > 0):
		return fmt.Sprintf("the rule is met, %d are still open, and %d were decided by themselves", r.open, decided)
	case !met && superseded > 0:
		return fmt.Sprintf("%d were closed after %d replies", superseded, replies)
	case superseded > 0 && decided > 0:
		return fmt.Sprintf("%d were closed, and %d decided by themselves", superseded, decided)
	case met && r.count(interaction.Abandoned) > 0:
		return "the rule is met, and some were abandoned"
	}
	return ""
}

// stopped counts the replies of the round that continue the run by a rejection.
func (s *severalPlan) stopped(r *round) int {
	if !s.rule.StopOnReject {
		return 0
	}
	n := 0
	for i := range r.records { // a default answer rejects too, and stops nothing
		if r.records[i].Resolution == interaction.UserReply && r.records[i].Decision == interaction.Reject {
			n++
		}
	}
	return n
}

// sawRound counts how several questions ended.
func (w *world) sawRound(r *round, plan *severalPlan) {
	w.saw("several questions were asked at once")
	replies, decided := r.count(interaction.UserReply), r.count(interaction.AutoDecideTimeout)
	abandoned := r.count(interaction.Abandoned)
	switch {
	case plan.stopped(r) > 0:
		w.saw("a rejection stopped several questions")
	case r.count(interaction.Superseded) > 0:
		w.saw("enough of several questions were answered")
	case replies > 0 && decided > 0:
		w.saw("some of several questions were answered when the deadline passed")
	case replies > 0 && abandoned > 0:
		w.saw("some of several questions were answered when the run ended")
	case replies == len(r.records):
		w.saw("each of several questions was answered")
	}
}
