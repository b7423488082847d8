package interaction

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxClaim is the longest claim.
const MaxClaim = 31 * 24 * time.Hour

// Claim reserves an open question for one person until Until: no one else may answer or claim it.
// It expires without a commit or event.
type Claim struct {
	Actor string    `json:"actor"`
	Via   string    `json:"via,omitempty"` // front end of the actor
	Until time.Time `json:"until"`
	For   string    `json:"for,omitempty"` // the person for whom the actor, a deputy, has claimed
}

// Lasts reports whether the claim has not expired; false for nil.
func (c *Claim) Lasts(now time.Time) bool { return c != nil && now.Before(c.Until) }

// Excludes reports whether the claim prevents the actor from answering. A current claim excludes
// every actor without an ID. It does not exclude a deputy who acts for the claimant, nor the person
// for whom a deputy has claimed.
func (c *Claim) Excludes(actor Actor, now time.Time) bool {
	return c.Lasts(now) && !actor.Is(c.Actor) && !actor.ActsFor(c.Actor) && (c.For == "" || !actor.Is(c.For))
}

// Validate returns an error if the claim cannot be stored.
func (c *Claim) Validate() error {
	switch {
	case c == nil:
		return nil
	case c.Actor == "" || len(c.Actor) > MaxActor || !utf8.ValidString(c.Actor) || strings.IndexByte(c.Actor, 0) >= 0:
		return fmt.Errorf("a claim by a name of %d bytes", len(c.Actor))
	case c.Until.IsZero():
		return errors.New("a claim without an end")
	}
	return nil
}

// ErrClaimed is matched by every ClaimedError.
var ErrClaimed = errors.New("interaction: the question is claimed")

// ClaimedError reports who has claimed the question, and until when.
type ClaimedError struct {
	ID    int // of the question
	Claim Claim
}

func (e *ClaimedError) Error() string {
	return fmt.Sprintf("%v: %s has claimed interaction %d until %s", ErrClaimed, e.Claim.Actor, e.ID,
		e.Claim.Until.Format(time.RFC3339))
}

func (e *ClaimedError) Is(target error) bool { return target == ErrClaimed }

// ErrReassigned is matched by every ReassignedError.
var ErrReassigned = errors.New("interaction: the question was reassigned")

// ReassignedError reports that the audience has changed since the caller saw it.
type ReassignedError struct {
	ID int       // of the question
	To *Audience // nil: everybody
}

func (e *ReassignedError) Error() string {
	return fmt.Sprintf("%v: interaction %d is for %s", ErrReassigned, e.ID, e.To)
}

func (e *ReassignedError) Is(target error) bool { return target == ErrReassigned }

// CheckClaim returns a *ClaimedError if another person's claim prevents the actor from answering.
func (q *Question) CheckClaim(actor Actor, now time.Time) error {
	if q.Claim.Excludes(actor, now) {
		return &ClaimedError{q.ID, *q.Claim}
	}
	return nil
}

// Claimant returns the actor with the ID as spelled in the actor's own current claim, so that a
// person has one name in the run's events.
func (q *Question) Claimant(actor Actor, now time.Time) Actor {
	if q.Claim.Lasts(now) && actor.Is(q.Claim.Actor) {
		actor.ID = q.Claim.Actor
	}
	return actor
}

func (q Question) ClaimedBy(actor Actor, until time.Time) Question {
	q.Claim = &Claim{Actor: actor.ID, Via: actor.Via, Until: until, For: actor.For}
	return q
}

// PutTo returns the question with a new audience and without its claim. Users in Except stay
// excluded.
func (q Question) PutTo(to Audience) Question {
	next := to.Clone()
	if q.To != nil {
		for _, name := range q.To.Except {
			if !slices.Contains(next.Except, name) {
				next.Except = append(next.Except, name)
			}
		}
	}
	q.To, q.Claim = next, nil
	return q
}

// Equal reports whether both audiences have the same fields, with names in the same order. A nil
// audience and an open one differ.
func (a *Audience) Equal(b *Audience) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Everybody == b.Everybody && slices.Equal(a.Users, b.Users) && slices.Equal(a.Groups, b.Groups) &&
		slices.Equal(a.Except, b.Except)
}
