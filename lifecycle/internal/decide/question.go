package decide

import (
	"fmt"
	"strconv"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

type BadArgument struct{ Argument, Value, Want string }

func (e *BadArgument) Error() string {
	return fmt.Sprintf("lifecycle: %s is %s, want %s", e.Argument, e.Value, e.Want)
}

// These texts are parts of the errors about an audience without members.
const (
	ForNobody    = "for nobody"
	WantSomebody = "users, groups or Everybody"
)

func Extend(run *store.Run, q *interaction.Question, until time.Time, by interaction.Actor, now time.Time,
) (*store.Commit, error) {
	extended := *q
	extended.EndsAt = until
	return editQuestion(run, edit{&extended, changeExtend, by}, now)
}

func Claim(run *store.Run, q *interaction.Question, by interaction.Actor, until, now time.Time,
) (*store.Commit, error) {
	if err := by.CheckDeputy(now); err != nil {
		return nil, err
	}
	switch {
	case !q.To.Admits(by):
		return nil, &interaction.NotAskedError{ID: q.ID, Actor: by, To: *q.To.Clone()}
	case q.DecidedBySeveral():
		return nil, &BadArgument{"question", strconv.Itoa(q.ID), "a question that one person answers"}
	case !until.After(now) || until.After(now.Add(interaction.MaxClaim)):
		return nil, &BadArgument{"until", until.String(), "a time after now, and within " +
			interaction.MaxClaim.String()}
	}
	if err := q.CheckClaim(by, now); err != nil {
		return nil, err
	}
	by = q.Claimant(by, now)
	claimed := q.ClaimedBy(by, until)
	return editQuestion(run, edit{&claimed, changeClaim, by}, now)
}

func Release(run *store.Run, q *interaction.Question, by interaction.Actor, now time.Time) (*store.Commit, error) {
	released := *q
	released.Claim = nil
	return editQuestion(run, edit{&released, changeRelease, by}, now)
}

// Reassign changes an open question's audience. from is the audience that the caller saw.
func Reassign(run *store.Run, q *interaction.Question, by interaction.Actor, from *interaction.Audience,
	to interaction.Audience, now time.Time) (*store.Commit, error) {
	if !q.To.Equal(from) {
		return nil, &interaction.ReassignedError{ID: q.ID, To: q.To.Clone()}
	}
	next := q.PutTo(to)
	if err := next.To.Validate(); err != nil {
		return nil, &BadArgument{"to", "an audience with " + err.Error(), "room for the excepted people"}
	}
	if !interaction.Enough(1, next.To) {
		return nil, &BadArgument{"to", "only for people who are excepted", WantSomebody}
	}
	if err := interaction.ValidateVoters(next); err != nil {
		return nil, &BadArgument{"to", "such that the approval " + err.Error(), "as many people as must decide"}
	}
	return editQuestion(run, edit{&next, changeReassign, by}, now)
}

// Note adds a person's note to an open question, which stays as it is otherwise.
func Note(run *store.Run, q *interaction.Question, by interaction.Actor, text, key string, now time.Time,
) (*store.Commit, error) {
	if err := by.CheckDeputy(now); err != nil {
		return nil, err
	}
	size := len(text)
	for i := range run.Open {
		if notes := run.Open[i].Notes; notes != nil {
			size += notes.Bytes
		}
	}
	switch n := len(q.Notes.All()); {
	case n >= interaction.MaxNotes:
		return nil, fmt.Errorf("%w notes: question %d has %d", store.ErrTooMany, q.ID, n)
	case size > interaction.MaxNotesTogether:
		return nil, fmt.Errorf("%w notes: with this one, the notes on the run's open questions have %d bytes, at "+
			"most %d are allowed", store.ErrTooMany, size, interaction.MaxNotesTogether)
	}
	noted := *q
	noted.Notes = q.Notes.With(interaction.Note{Text: text, Actor: by.ID, Via: by.Via, For: by.For, NotedAt: now,
		Key: key})
	return transition(run, fsm.EventInteractionNoted, &effects{
		now: now, facts: fsm.FactPendingMatches, edits: edit{question: &noted},
	})
}

func editQuestion(run *store.Run, change edit, now time.Time) (*store.Commit, error) {
	if err := change.by.CheckDeputy(now); err != nil {
		return nil, err
	}
	return transition(run, fsm.EventInteractionChanged, &effects{
		now: now, facts: fsm.FactPendingMatches, edits: change,
	})
}
