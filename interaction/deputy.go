package interaction

import (
	"errors"
	"fmt"
	"time"
)

// MaxPrincipals limits the people for whom one actor may act.
const MaxPrincipals = 32

// Principal is an absent person for whom a deputy may act, as the host's directory says.
type Principal struct {
	ID string
	// Groups are the person's groups, as in Actor.
	Groups []string
	// From and Until limit the time: the deputy may act from From, and before Until. Zero: no limit.
	From, Until time.Time
}

// Active reports whether the deputy may act at that time.
func (p *Principal) Active(at time.Time) bool {
	return !at.Before(p.From) && (p.Until.IsZero() || at.Before(p.Until))
}

// ErrNotDeputy is matched by every NotDeputyError.
var ErrNotDeputy = errors.New("interaction: not a deputy")

// NotDeputyError reports that the actor may not act for Actor.For now.
type NotDeputyError struct {
	Actor Actor
	// Err is why the directory could not be read, or nil.
	Err error
}

func (e *NotDeputyError) Error() string {
	text := fmt.Sprintf("%v: %s may not act for %.200q now", ErrNotDeputy, e.Actor, e.Actor.For)
	if e.Err != nil {
		text += ", because the directory cannot be read: " + e.Err.Error()
	}
	return text
}

func (e *NotDeputyError) Is(target error) bool { return target == ErrNotDeputy }

func (e *NotDeputyError) Unwrap() error { return e.Err }

// CheckDeputy returns a *NotDeputyError if the actor acts for a person, and is not their deputy at
// that time.
func (a *Actor) CheckDeputy(now time.Time) error {
	if a.For == "" {
		return nil
	}
	if p := a.principal(); p == nil || !p.Active(now) {
		return &NotDeputyError{Actor: *a}
	}
	return nil
}

// ActsFor reports whether the actor acts as the deputy of the person with the stored ID.
func (a *Actor) ActsFor(id string) bool {
	return a.For != "" && (a.For == id || a.Fold != nil && a.Fold(id) == a.For)
}

// principal returns the person for whom the actor acts; nil if the actor is not their deputy.
func (a *Actor) principal() *Principal {
	for i := range a.Principals {
		if a.For != a.ID && a.Principals[i].ID == a.For {
			return &a.Principals[i]
		}
	}
	return nil
}

// Represents returns the actor as the one who may answer the open question: for themselves, else as
// the deputy of their first active Principal who may, and preferably as one whom no claim excludes.
// A person who has voted, as either, may not again. It returns false if the actor may not answer.
func (q *Question) Represents(actor Actor, now time.Time) (best Actor, ok bool) {
	actor.For = ""
	for i := -1; i < len(actor.Principals); i++ {
		as := actor
		if i >= 0 {
			if !actor.Principals[i].Active(now) {
				continue
			}
			as.For = actor.Principals[i].ID
		}
		switch {
		case !q.To.Admits(as) || as.ID != "" && q.VoteOf(as) != nil:
		case !q.Claim.Excludes(as, now):
			return as, true
		case !ok:
			best, ok = as, true
		}
	}
	if !ok {
		best = actor
	}
	return best, ok
}

// AdmitsAny reports whether the actor may answer for themselves, or for any of their Principals,
// active or not.
func (a *Audience) AdmitsAny(actor Actor) bool {
	if actor.For = ""; a.Admits(actor) {
		return true
	}
	for i := range actor.Principals {
		if actor.For = actor.Principals[i].ID; a.Admits(actor) {
			return true
		}
	}
	return false
}
