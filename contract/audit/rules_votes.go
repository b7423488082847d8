package audit

import (
	"errors"
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/fcmp"
)

// The rule about approvals that several people decide.

// ballots are the votes on a question.
type ballots struct {
	voters             []string
	approved, rejected int
	unknown            bool // votes were given of which the log does not say by whom, or what
}

// votes reports whether the event is a vote that does not settle its question.
func (s *step) votes() bool { return s.Type == fcmp.TypeRecorded && s.data.ResolutionMode == "vote" }

// persons returns the actor, and the person for whom the actor acts, if any.
func (s *step) persons() []string {
	if s.data.For == "" {
		return []string{s.data.Actor}
	}
	return []string{s.data.Actor, s.data.For}
}

// voted returns the first of the persons who has taken part in a vote before, or an empty string.
func (b *ballots) voted(persons []string) string {
	for _, person := range persons {
		if slices.Contains(b.voters, person) {
			return person
		}
	}
	return ""
}

// several reports whether several people decide the question.
func (s *step) several() bool { return s.data.Need > 0 || s.data.Rejects > 0 }

func (v *view) noteVote(s *step) {
	q := v.question(s)
	if q == nil || len(q.ballots.voters) >= maxGroup {
		return
	}
	q.notePolicy(s)
	b := &q.ballots
	b.voters = append(b.voters, s.persons()...)
	switch s.data.Decision {
	case "approve":
		b.approved++
	case "reject":
		b.rejected++
	}
	b.unknown = b.unknown || s.unknown("actor") || s.unknown("decision")
}

// completes reports whether the vote is the last that the question needs.
func (q *step) completes(vote *step) bool {
	if vote.data.Decision == "reject" {
		return q.ballots.rejected+1 >= max(q.data.Rejects, 1)
	}
	return q.ballots.approved+1 >= max(q.data.Need, 1)
}

// votes is IV-46, about approvals that several people decide: an event of the type Voted leaves the
// approval open, because more votes are needed; the reply that settles it is the last vote needed.
type votes struct {
	Asked     string `json:"asked"`
	Voted     string `json:"voted"`
	Completed string `json:"completed"`
}

func (r *votes) bind(*contract.Lifecycle) error {
	return errors.Join(allKnown("event type of a question", []string{fcmp.TypeInputRequired}, r.Asked),
		allKnown("event type of a vote", []string{fcmp.TypeRecorded}, r.Voted),
		allKnown("event type of a reply that continues the run", []string{fcmp.TypeReplyAccepted}, r.Completed))
}

func (r *votes) judge(v *view, s *step) string {
	if s.Type == r.Asked {
		return judgeNeed(s)
	}
	if s.Type != r.Completed && (s.Type != r.Voted || s.byTime() != "") {
		return ""
	}
	q := v.question(s)
	switch {
	case v.openUnknown:
		return s.skip()
	case q == nil:
		return "" // namesOpen reports it
	case !q.several() && s.votes():
		return fmt.Sprintf("%s is a vote on question %d, which one person answers", s.Type, s.data.InteractionID)
	case !q.several():
		return ""
	case s.byPolicy(): // IV-49 says whether it may
		return ""
	case s.unknown("actor") || s.unknown("decision") || q.ballots.unknown:
		return s.skip()
	case s.data.Actor == "":
		return fmt.Sprintf("%s for question %d, but the event does not name the voter", s.Type, s.data.InteractionID)
	case q.ballots.voted(s.persons()) != "":
		return fmt.Sprintf("%s for question %d, but %.100q has voted on it before", s.Type, s.data.InteractionID,
			q.ballots.voted(s.persons()))
	case s.data.Decision != "approve" && s.data.Decision != "reject":
		return fmt.Sprintf("%s for question %d decides %q, but several people only approve or reject", s.Type,
			s.data.InteractionID, s.data.Decision)
	case q.completes(s) == s.votes():
		return fmt.Sprintf("%s for question %d with resolution_mode %s, after %d who approved of %d and %d who "+
			"rejected of %d", s.Type, s.data.InteractionID, s.data.ResolutionMode, q.ballots.approved, q.data.Need,
			q.ballots.rejected, q.data.Rejects)
	}
	return ""
}

func judgeNeed(s *step) string {
	switch {
	case !s.several():
	case s.data.Kind == "":
		return s.skip()
	case s.data.Kind != "approval":
		return fmt.Sprintf("question %d needs several people, and is no approval", s.data.InteractionID)
	case s.data.Need <= 1 && s.data.Rejects <= 1:
		return fmt.Sprintf("question %d says that several people decide, and needs one", s.data.InteractionID)
	}
	return ""
}
