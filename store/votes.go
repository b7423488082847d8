package store

import (
	"slices"

	"github.com/interlude-go/interlude/interaction"
)

// validateVotes checks the votes and claims on the open questions. Only an approval that needs more
// votes can have some, each from another person.
func (r *Run) validateVotes() error {
	given := 0
	for i := range r.Open {
		q := &r.Open[i]
		if err := q.Claim.Validate(); err != nil || q.Claim != nil && (!storable(q.Claim.Until) ||
			q.DecidedBySeveral()) {
			return invalid(r, "question %d has a claim that cannot be: %v", q.ID, err)
		}
		if q.Need == 0 && q.Rejects == 0 && q.Votes == nil { // most questions
			continue
		}
		if err := r.validateVotesOn(q); err != nil {
			return err
		}
		given += len(q.Votes)
	}
	if r.Votes < given {
		return invalid(r, "people have given %d votes, but its open questions have %d", r.Votes, given)
	}
	return nil
}

func (r *Run) validateVotesOn(q *interaction.Question) error {
	switch {
	case interaction.ValidateVotes(int(q.Need), int(q.Rejects)) != nil || !q.DecidedBySeveral() || q.Subject == nil:
		return invalid(r, "question %d needs %d people to approve and %d to reject, want 2 to %d for an approval", q.ID,
			q.Need, q.Rejects, interaction.MaxNeed)
	case q.Count(interaction.Approve) >= max(int(q.Need), 1) || q.Count(interaction.Reject) >= max(int(q.Rejects), 1):
		return invalid(r, "question %d is open, and enough people have decided it", q.ID)
	}
	for i := range q.Votes {
		v := &q.Votes[i]
		switch {
		case v.Actor == "" || v.For == v.Actor || votesBefore(q.Votes[:i], v.Actor) ||
			v.For != "" && votesBefore(q.Votes[:i], v.For):
			return invalid(r, "a person has voted twice on question %d, or votes without a name", q.ID)
		case v.Decision != interaction.Approve && v.Decision != interaction.Reject:
			return invalid(r, "a vote on question %d is %.40q", q.ID, v.Decision)
		case v.VotedAt.IsZero() || !storable(v.VotedAt):
			return invalid(r, "a vote on question %d has voted_at %s, want a time in UTC in microseconds", q.ID,
				v.VotedAt)
		}
	}
	return nil
}

// validateNewVotes checks that a question that stays open keeps its votes and gains at most one.
func (c *Commit) validateNewVotes(prev *Run, number int) error {
	before, after := prev.OpenQuestion(number).Votes, c.Run.OpenQuestion(number).Votes
	if len(before) == 0 && len(after) == 0 {
		return nil
	}
	if len(after) < len(before) || len(after) > len(before)+1 || !slices.Equal(before, after[:len(before)]) {
		return invalid(&c.Run, "question %d had %d votes, and has %d others now", number, len(before), len(after))
	}
	return nil
}

// votesBefore reports whether the person has voted, also as a deputy or through one. It is
// independent of VoteOf, on which the decision is based.
func votesBefore(votes []interaction.Vote, id string) bool {
	return slices.ContainsFunc(votes, func(v interaction.Vote) bool { return v.Actor == id || v.For == id })
}
