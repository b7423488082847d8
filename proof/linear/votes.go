package linear

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// This file is the part of the model that is about approvals by one person or several (K4, K5): the
// requirements of each open question and its votes.

// policy is what decides an open question.
type policy struct {
	approval      bool
	need, rejects int // how many people must approve or reject it; 0 is one
}

// TextOfPolicy says what decides a question and who is asked, such that equal texts mean the same.
func TextOfPolicy(q *interaction.Question) string {
	need, rejects := int(q.Need), int(q.Rejects)
	if need <= 1 && rejects <= 1 {
		need, rejects = 0, 0 // one person decides
	}
	return fmt.Sprintf("%t %d %d %s", q.Subject != nil, need, rejects, TextOfAudience(q.To))
}

// startPolicies records the requirements of the questions that a turn has just asked. The submitter
// may be excepted.
func (now run) startPolicies(c *Change) (next run, wrong string) {
	asked := c.After.Open
	if len(asked) != len(now.open()) {
		return now, fmt.Sprintf("%d questions are open, want %d", len(asked), len(now.open()))
	}
	for i, id := range now.open() {
		text := TextOfPolicy(&asked[i])
		if e := c.Evidence; e != nil && i < len(e.Policies) {
			f := strings.Fields(e.Policies[i])
			if now.terms.Excepted != "" {
				f[3] = putTo(f[3], "///"+now.terms.Excepted)
			}
			if want := strings.Join(f, " "); text != want {
				return now, fmt.Sprintf("question %d is asked as %q, want %q", id, text, want)
			}
		}
		f := strings.Fields(text)
		now.policies = with(now.policies, id, f[:3]...)
		now = now.put(id, f[3])
		if s := asked[i].Subject; s != nil {
			tool, n := call(s)
			now.calls = with(now.calls, id, tool, n)
			if hides := now.terms.Hides; hides > 0 {
				now.Hidden = with(now.Hidden, id, fmt.Sprint(c.After.UpdatedAt.Add(hides).UnixMicro()))
			}
		}
	}
	return now, ""
}

// policy returns the policy of an open question.
func (now run) policy(question int) policy {
	p, _ := policyOf(now.textOfPolicy(question))
	return p
}

// textOfPolicy describes an open question as TextOfPolicy does; empty if it is not open.
func (now run) textOfPolicy(question int) string {
	for _, line := range of(now.policies, question) {
		return strings.Join(append(strings.Fields(line)[1:], now.to(question)), " ")
	}
	return ""
}

// policyOf reads a text of TextOfPolicy: the policy, and the audience.
func policyOf(text string) (p policy, to string) {
	f := strings.Fields(text)
	if len(f) == 0 {
		return policy{}, anybody
	}
	p.approval = f[0] == "true"
	p.need, _ = strconv.Atoi(f[1]) // TextOfPolicy wrote numbers
	p.rejects, _ = strconv.Atoi(f[2])
	return p, f[3]
}

// several reports whether no single person can decide the question either way.
func (p policy) several() bool { return p.need > 1 || p.rejects > 1 }

// ballot lists votes as "QUESTION PERSON DECISION", with the person for whom a deputy has voted, one
// on each line.
func ballot(question int, votes []interaction.Vote) (text string) {
	for _, v := range votes {
		text += fmt.Sprint(question, " ", strings.Join(voteOf(v.Actor, v.For, v.Decision), " "), "\n")
	}
	return text
}

func voteOf(person, absent string, d interaction.Decision) []string {
	vote := []string{person, string(d)}
	if absent != "" {
		vote = append(vote, absent)
	}
	return vote
}

// votesOf lists the votes on the open questions of a record.
func votesOf(r *store.Run) (text string) {
	for _, q := range r.Open {
		text += ballot(q.ID, q.Votes)
	}
	return text
}

// said is the content of an answer: a decision, a text, and the votes of several people.
func said(d interaction.Decision, text, votes string) string {
	return strings.TrimSpace(string(d) + " " + text + " " + votes)
}

// count is how many people have decided so about the question.
func (now run) count(question int, d interaction.Decision) (n int) {
	for _, line := range of(now.Votes, question) {
		if strings.Fields(line)[2] == string(d) {
			n++
		}
	}
	return n
}

// decides reports whether the reply is the last vote that its question needs.
func (now run) decides(r interaction.Reply) bool {
	p := now.policy(r.ID)
	if r.Decision == interaction.Reject {
		return now.count(r.ID, r.Decision)+1 >= p.rejects
	}
	return now.count(r.ID, interaction.Approve)+1 >= p.need
}

// castOn are the votes on a question with one more.
func (now run) castOn(question int, r interaction.Reply) string {
	return strings.Join(of(with(now.Votes, question, voteOf(r.Actor.ID, r.Actor.For, r.Decision)...), question), "")
}

// bodyOf is what must be equal in two replies with one key. The same words of another person are
// another vote.
func bodyOf(r interaction.Reply, several bool) string {
	body := fmt.Sprintf("%d %s %s", r.ID, r.Decision, r.Text)
	if several {
		body += " by " + r.Actor.ID
	}
	if r.Actor.For != "" {
		body += " for " + r.Actor.For
	}
	return body + " " + textOfBound(r.Remember)
}

// mayNotAnswer is why the person may not give this reply to the open question; empty if they may.
func (now run) mayNotAnswer(in Input) string {
	r := in.Reply
	p, absent := now.policy(r.ID), r.Actor.For
	if voted := now.votedBy(r); voted != "" {
		return voted
	}
	by := now.claimedBy(r.ID, r.Actor)
	switch {
	case in.lacksRight():
		return NotDeputy
	case !now.admitsDeputy(r):
		return NotAsked(now.to(r.ID))
	case p.approval != (r.Decision != ""):
		return NoReply
	case r.Remember != nil && (!p.approval || p.several() || absent != ""):
		return NoReply
	case by != "":
		return Claimed(by)
	case r.Remember != nil && !now.coversItself(r):
		return NoReply
	case absent != "" && p.several() && !now.decides(r) && !now.withVote(r).enough(r.ID, now.to(r.ID)):
		return NoReply // a deputy's vote uses up two people
	}
	return ""
}

// votedBy is how the person, or the absent person for whom they act, has voted; empty if neither has.
func (now run) votedBy(r interaction.Reply) string {
	for _, line := range of(now.Votes, r.ID) {
		f := strings.Fields(line)
		for _, voter := range voters(f) {
			if voter == r.Actor.ID || voter == r.Actor.For {
				return Voted(f[2])
			}
		}
	}
	return ""
}

// voters are the person of a vote and the one for whom they have voted.
func voters(vote []string) []string { return append(vote[1:2:2], vote[3:]...) }

// withVote is the run with one more vote.
func (now run) withVote(r interaction.Reply) run {
	now.Votes = with(now.Votes, r.ID, voteOf(r.Actor.ID, r.Actor.For, r.Decision)...)
	return now
}

// vote is a vote after which its question needs others still.
func (m *Model) vote(now run, r interaction.Reply) (run, Output) {
	verdict := m.law.Next(now.State, "interaction.recorded", contract.Facts{"pending_matches": true})
	if verdict.Transition == nil {
		return now, against("vote: %s", verdict.Code)
	}
	next := now.withVote(r).shown(r.ID)
	next.Voted++
	if r.Key != "" {
		next.ballots += settled{id: r.ID, key: r.Key, body: bodyOf(r, true), several: true}.line()
	}
	return next.enter(verdict.Transition, now.Owner), Output{}
}

// enough reports whether as many people as must still decide the question can do so if these are
// asked, or are asked by an escalation that is still to come.
func (now run) enough(question int, to string) bool {
	if !canBe(1, nil, to) {
		return false
	}
	p := now.policy(question)
	if !p.several() {
		return true
	}
	all := []string{to}
	for _, w := range now.ownWaits() {
		for i := w.fired; w.id == question && i < len(w.steps); i++ {
			if other, escalates := w.escalates(i); escalates {
				all = append(all, putTo(other, to))
			}
		}
	}
	var voted []string
	for _, line := range of(now.Votes, question) {
		voted = append(voted, voters(strings.Fields(line))...)
	}
	more := max(1, p.need-now.count(question, interaction.Approve), p.rejects-now.count(question, interaction.Reject))
	return canBe(more, voted, all...)
}

// canBe reports whether this many people may be asked, without those already in voted.
func canBe(people int, voted []string, audiences ...string) bool {
	var asked, excepted []string
	for _, to := range audiences {
		if to == anybody || len(names(to, everybody)) > 0 || len(names(to, groups)) > 0 {
			return true
		}
		asked, excepted = append(asked, names(to, users)...), append(excepted, names(to, except)...)
	}
	slices.Sort(asked)
	asked = slices.DeleteFunc(slices.Compact(asked), func(name string) bool {
		return slices.Contains(voted, name) || slices.Contains(excepted, name)
	})
	return len(asked) >= people
}
