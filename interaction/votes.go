package interaction

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/fsm"
)

// Limits of an approval by several people.
const (
	MaxNeed     = 32      // people who must approve, or reject
	MaxVoteText = 4 << 10 // bytes of a vote's text
)

// Vote is one person's decision about an Approval by several people.
type Vote struct {
	Actor    string    `json:"actor"`
	Via      string    `json:"via,omitempty"` // front end of the actor
	Decision Decision  `json:"decision"`      // Approve or Reject
	Text     string    `json:"text,omitempty"`
	VotedAt  time.Time `json:"voted_at"`
	// Key and Digest are the vote's idempotency key and body digest; Seen is the digest of the
	// question that its author saw.
	Key    string `json:"key,omitempty"`
	Digest string `json:"digest,omitempty"`
	Seen   string `json:"seen,omitempty"`
	// For is the person for whom the actor, a deputy, has voted. Both have voted then.
	For string `json:"for,omitempty"`
}

// ErrVoted is matched by every VotedError.
var ErrVoted = errors.New("interaction: this person has voted")

// VotedError reports that the reply's author has already voted on the approval.
type VotedError struct {
	ID   int // of the question
	Vote Vote
}

func (e *VotedError) Error() string {
	return fmt.Sprintf("%v: %s has decided %q about interaction %d at %s", ErrVoted, e.Vote.Actor, e.Vote.Decision,
		e.ID, e.Vote.VotedAt.Format(time.RFC3339))
}

func (e *VotedError) Is(target error) bool { return target == ErrVoted }

// DecidedBySeveral reports whether the approval needs more than one person to approve or reject it.
func (q *Question) DecidedBySeveral() bool { return q.Need > 1 || q.Rejects > 1 }

// VoteOf returns the vote in which the actor, or the person for whom the actor acts, has taken
// part, as the voter or as the voter's principal; nil without one. So one person decides once,
// whether for themselves or for another.
func (q *Question) VoteOf(actor Actor) *Vote {
	i := slices.IndexFunc(q.Votes, func(v Vote) bool {
		return actor.Is(v.Actor) || actor.ActsFor(v.Actor) ||
			v.For != "" && (actor.Is(v.For) || actor.ActsFor(v.For))
	})
	if i < 0 {
		return nil
	}
	return &q.Votes[i]
}

// VoteWithKey returns the vote with the idempotency key, or nil.
func (q *Question) VoteWithKey(key string) *Vote {
	for i := range q.Votes {
		if key != "" && q.Votes[i].Key == key {
			return &q.Votes[i]
		}
	}
	return nil
}

// Count returns the number of votes with this decision.
func (q *Question) Count(d Decision) (n int) {
	for i := range q.Votes {
		if q.Votes[i].Decision == d {
			n++
		}
	}
	return n
}

// Decides reports whether one more vote with this decision settles the approval.
func (q *Question) Decides(d Decision) bool {
	if d == Reject {
		return q.Count(Reject)+1 >= max(int(q.Rejects), 1)
	}
	return q.Count(Approve)+1 >= max(int(q.Need), 1)
}

// WithVote returns the question with the reply added as a vote. q's votes do not change.
func (q Question) WithVote(r Reply, now time.Time) Question {
	v := Vote{Actor: r.Actor.ID, Via: r.Actor.Via, Decision: r.Decision, Text: r.Text, VotedAt: now, Seen: r.Seen,
		For: r.Actor.For}
	if r.Key != "" {
		v.Key, v.Digest = r.Key, r.DigestFor(&q)
	}
	q.Votes = append(slices.Clip(q.Votes), v)
	return q
}

func (r Reply) validateVote(q *Question) error {
	voted := q.VoteOf(r.Actor)
	switch {
	case r.Actor.ID == "":
		return &FieldError{"Actor.ID", "missing", "who votes, since several people decide this"}
	case voted != nil:
		return &VotedError{q.ID, *voted}
	case r.Decision == "":
		return &FieldError{"Decision", "missing", "approve or reject, since several people decide this"}
	case r.Decision != Approve && r.Decision != Reject:
		return &FieldError{"Decision", string(r.Decision), "approve or reject, since several people decide this"}
	case len(r.Value) > 0:
		return &FieldError{"Value", sizeOf(r.Value), "none, since several people decide this"}
	case len(r.Text) > MaxVoteText:
		return &FieldError{"Text", sizeOf(r.Text), fmt.Sprintf("at most %d bytes, since several people decide this",
			MaxVoteText)}
	}
	return nil
}

// DigestFor returns the Digest of a reply to this question. For an approval by several people it
// includes the author, since another person's same text is another vote. A deputy's includes the
// principal.
func (r Reply) DigestFor(q *Question) string {
	suffix := ""
	if q != nil && q.DecidedBySeveral() {
		suffix = "\x00\x00" + r.Actor.ID
	}
	if r.Actor.For != "" {
		suffix += "\x00\x00\x00" + r.Actor.For
	}
	return r.digest(suffix)
}

// ValidateVotes returns an error if a number is out of range.
func ValidateVotes(need, rejects int) error {
	for _, n := range []int{need, rejects} {
		if n < 0 || n > MaxNeed {
			return fmt.Errorf("%d people; 0 to %d are allowed", n, MaxNeed)
		}
	}
	return nil
}

// Enough reports whether the audiences, asked in sequence, can include this many people, without
// those excluded by any. The size of an open audience or a group is unknown, so it is always
// enough.
func Enough(people int, audiences ...*Audience) bool {
	var named, except []string
	for _, to := range audiences {
		if to.Open() || len(to.Groups) > 0 {
			return true
		}
		named, except = append(named, to.Users...), append(except, to.Except...)
	}
	slices.Sort(named)
	named = slices.DeleteFunc(slices.Compact(named), func(name string) bool { return slices.Contains(except, name) })
	return len(named) >= people
}

// ValidateVoters returns an error if fewer people can still vote than are required. It counts the
// current and later audiences without earlier voters.
func ValidateVoters(q Question) error {
	if !q.DecidedBySeveral() {
		return nil
	}
	audiences := []*Audience{q.To}
	if q.Wait != nil {
		for i := int(q.Fired); i < len(q.Wait.Steps); i++ {
			if s := &q.Wait.Steps[i]; s.Do == Escalate {
				audiences = append(audiences, s.escalated(q.To))
			}
		}
	}
	voted, more := &Audience{}, ""
	for i := range q.Votes {
		voted.Except, more = append(voted.Except, q.Votes[i].Actor), " more"
		if q.Votes[i].For != "" {
			voted.Except = append(voted.Except, q.Votes[i].For)
		}
	}
	n := max(int(q.Need)-q.Count(Approve), int(q.Rejects)-q.Count(Reject), 1)
	if !Enough(n, append(audiences, voted)...) {
		return fmt.Errorf("needs %d%s people, and is for %s", n, more, q.To)
	}
	return nil
}

// votes clears Need and Rejects of a question that is not an approval. An approval with a number
// out of range is for no one, and the number becomes MaxNeed: even after a reassignment, one or two
// people never decide for many.
func (n *normalizer) votes(q *Question) {
	q.Notes, q.Votes, q.Claim = nil, nil, nil
	switch err := ValidateVotes(int(q.Need), int(q.Rejects)); {
	case q.Need == 0 && q.Rejects == 0:
		return
	case q.Subject == nil:
		n.diagnose(fsm.WarnAskUserMalformed, "only an approval can need several people")
	case err != nil:
		n.diagnose(fsm.WarnAskUserMalformed, "the approval is to be decided by "+err.Error()+"; nobody may decide it")
		q.To = &Audience{}
		for _, people := range []*int8{&q.Need, &q.Rejects} {
			if ValidateVotes(int(*people), 0) != nil {
				*people = MaxNeed
			}
		}
		return
	default:
		return
	}
	q.Need, q.Rejects = 0, 0
}
