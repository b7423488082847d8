package interaction

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// This file is about questions that one person works on, and about putting them to others.

// MaxClaim is for how long a person may claim a question at a time.
const MaxClaim = 31 * 24 * time.Hour

// Claim says who works on an open question. Nobody else may answer or claim the question before
// Until. A claim that has expired has no effect; that it expires causes no commit and no event.
type Claim struct {
	Actor string    `json:"actor"`
	Via   string    `json:"via,omitempty"` // the door that the actor came through
	Until time.Time `json:"until"`
}

// Lasts reports whether the claim is not over; nil is no claim.
func (c *Claim) Lasts(now time.Time) bool { return c != nil && now.Before(c.Until) }

// Excludes reports whether the claim keeps the actor from answering. An actor without an ID may be
// anybody, so every claim that lasts excludes it.
func (c *Claim) Excludes(actor Actor, now time.Time) bool {
	return c.Lasts(now) && !actor.Is(c.Actor)
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
var ErrClaimed = errors.New("interaction: somebody has claimed the question")

// ClaimedError says who works on the question, and until when.
type ClaimedError struct {
	ID    int // the question's
	Claim Claim
}

func (e *ClaimedError) Error() string {
	return fmt.Sprintf("%v: %s has interaction %d until %s", ErrClaimed, e.Claim.Actor, e.ID,
		e.Claim.Until.Format(time.RFC3339))
}

// Is makes errors.Is(err, ErrClaimed) true.
func (e *ClaimedError) Is(target error) bool { return target == ErrClaimed }

// ErrReassigned is matched by every ReassignedError.
var ErrReassigned = errors.New("interaction: the question was put to others meanwhile")

// ReassignedError says who is asked now, which is not what the caller saw.
type ReassignedError struct {
	ID int       // the question's
	To *Audience // nil: everybody
}

func (e *ReassignedError) Error() string {
	return fmt.Sprintf("%v: interaction %d is for %s", ErrReassigned, e.ID, e.To)
}

// Is makes errors.Is(err, ErrReassigned) true.
func (e *ReassignedError) Is(target error) bool { return target == ErrReassigned }

// CheckClaim returns a *ClaimedError if somebody else has claimed the question, so that the actor
// may not answer it now.
func (q *Question) CheckClaim(actor Actor, now time.Time) error {
	if q.Claim.Excludes(actor, now) {
		return &ClaimedError{q.ID, *q.Claim}
	}
	return nil
}

// Claimant returns the actor with its ID as its own claim spells it. A person whose claim lasts acts
// under one name in the run's events.
func (q *Question) Claimant(actor Actor, now time.Time) Actor {
	if q.Claim.Lasts(now) && actor.Is(q.Claim.Actor) {
		actor.ID = q.Claim.Actor
	}
	return actor
}

// ClaimedBy returns the question as the actor claims it.
func (q Question) ClaimedBy(actor Actor, until time.Time) Question {
	q.Claim = &Claim{Actor: actor.ID, Via: actor.Via, Until: until}
	return q
}

// PutTo returns the question put to these others. Whoever was excepted stays excepted, and a claim
// ends.
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

// Equal reports whether both have the same fields, with the names in the same order. A nil audience
// and one with only Everybody admit almost the same actors, but are not equal.
func (a *Audience) Equal(b *Audience) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Everybody == b.Everybody && slices.Equal(a.Users, b.Users) && slices.Equal(a.Groups, b.Groups) &&
		slices.Equal(a.Except, b.Except)
}
