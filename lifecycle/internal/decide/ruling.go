package decide

import (
	"cmp"
	"errors"
	"strconv"
	"time"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// ErrNoPolicy: the host's policy does not decide the question (any more). The policy may have
// left the question to people, or a person has changed it.
var ErrNoPolicy = errors.New("lifecycle: the host's policy does not decide the question")

// ErrNotRemembered: the run remembers no decision with this number, or it does not cover the question.
var ErrNotRemembered = errors.New("lifecycle: no such decision is remembered")

// Recall approves a hidden question by the remembered decision with this number. ErrNoPolicy: the
// question is not hidden (any more).
func Recall(run *store.Run, number, memory int, now time.Time) (*store.Commit, error) {
	now = Later(now, run.UpdatedAt)
	q := run.OpenQuestion(number)
	if q == nil || !q.Hidden(now) {
		return nil, ErrNoPolicy
	}
	m := run.Memory(memory)
	if m == nil || !m.Covers(q, now) {
		return nil, ErrNotRemembered
	}
	return settle(run, q, interaction.Reply{ID: number, Decision: interaction.Approve, Actor: m.By()}, now)
}

// Ruling applies a valid ruling of the host's policy to an open question. It settles the
// question, regardless of its audience and the number of people who must decide, or leaves it to
// people. The question has no claim: a claim would have ended the policy's part.
func Ruling(run *store.Run, number int, r interaction.Ruling, now time.Time) (*store.Commit, error) {
	q := run.OpenQuestion(number)
	if q == nil || q.HiddenFor == 0 {
		return nil, ErrNoPolicy
	}
	now = Later(now, run.UpdatedAt)
	if r.Decision == "" {
		return leaveToPeople(run, q, r, now)
	}
	reply := r.Reply(number)
	bare := *q
	bare.To, bare.Need, bare.Rejects = nil, 0, 0
	reply.AcceptRisk = true // by the host
	if err := cmp.Or(reply.Validate(), reply.ValidateFor(bare)); err != nil {
		return nil, err
	}
	reply.Actor = r.Actor()
	return settle(run, q, reply, now)
}

// leaveToPeople shows the question to its audience, or to the people whom the ruling names.
func leaveToPeople(run *store.Run, q *interaction.Question, r interaction.Ruling, now time.Time,
) (*store.Commit, error) {
	next := *q
	if next.Need = max(q.Need, int8(r.Need)); next.DecidedBySeveral() {
		next.AlsoText = false
	} else {
		next.Need = q.Need
	}
	if r.To != nil {
		return Reassign(run, &next, r.Actor(), q.To, *r.To, now)
	}
	if err := interaction.ValidateVoters(next); err != nil {
		return nil, &BadArgument{"need", strconv.Itoa(r.Need), "such that the approval can be decided: " + err.Error()}
	}
	return editQuestion(run, edit{&next, changeAsk, r.Actor()}, now)
}
