package store

import (
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/interaction"
)

// validateVotes checks the votes, claims and notes on the open questions. Only an approval that needs
// more votes can have some, each from another person.
func (r *Run) validateVotes() error {
	given, noted := 0, 0
	for i := range r.Open {
		q := &r.Open[i]
		if q.Notes != nil {
			if err := validateNotes(q.Notes); err != nil {
				return invalid(r, "question %d has %v", q.ID, err)
			}
			if noted += q.Notes.Bytes; noted > interaction.MaxNotesTogether {
				return invalid(r, "the notes on its open questions have %d bytes, want at most %d", noted,
					interaction.MaxNotesTogether)
			}
		}
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

func validateNotes(n *interaction.Notes) error {
	if len(n.List) == 0 || len(n.List) > interaction.MaxNotes {
		return fmt.Errorf("%d notes, want 1 to %d", len(n.List), interaction.MaxNotes)
	}
	size := 0
	for i := range n.List {
		note := &n.List[i]
		if err := interaction.ValidateNote(note.Text, note.Key); err != nil {
			return fmt.Errorf("a note that cannot be: %w", err)
		}
		if note.NotedAt.IsZero() || !storable(note.NotedAt) {
			return fmt.Errorf("a note with noted_at %s, want a time in UTC in microseconds", note.NotedAt)
		}
		size += len(note.Text)
	}
	if size != n.Bytes {
		return fmt.Errorf("notes of %d bytes, and counts %d", size, n.Bytes)
	}
	return nil
}

func isOf(question int) func(interaction.Record) bool {
	return func(r interaction.Record) bool { return r.Question.ID == question }
}

// validateNewNotes checks that a question keeps its notes, also when it is settled, and that an open
// one gains at most one.
func (c *Commit) validateNewNotes(prev *Run, number int) error {
	before := prev.OpenQuestion(number).Notes.All()
	after, more := []interaction.Note(nil), 1
	if q := c.Run.OpenQuestion(number); q != nil {
		after = q.Notes.All()
	} else if i := slices.IndexFunc(c.Settled, isOf(number)); i >= 0 {
		after, more = c.Settled[i].Question.Notes.All(), 0
	}
	if len(after) < len(before) || len(after) > len(before)+more || !slices.Equal(before, after[:len(before)]) {
		return invalid(&c.Run, "question %d had %d notes, and has %d others now", number, len(before), len(after))
	}
	return nil
}

// votesBefore reports whether the person has voted, also as a deputy or through one. It is
// independent of VoteOf, on which the decision is based.
func votesBefore(votes []interaction.Vote, id string) bool {
	return slices.ContainsFunc(votes, func(v interaction.Vote) bool { return v.Actor == id || v.For == id })
}
