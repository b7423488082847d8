package interaction

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxAudience limits each list of an Audience.
const MaxAudience = 100

// Audience defines who may answer a question. It comes from the host, never from an agent's text,
// and is stored with the question.
type Audience struct {
	// Everybody admits all actors that are not in Except. If false, Users and Groups decide.
	Everybody bool `json:"everybody"`
	// Users and Groups admit actors by ID or by group. If both are empty, no one is admitted: a
	// list left empty by mistake opens nothing.
	Users  []string `json:"users,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// Except denies these users in any case; for instance the run's submitter.
	Except []string `json:"except,omitempty"`
}

// AskPolicy sets the audience, quorum and wait of a run's questions. The host sets it in Spec.Ask,
// and each question stores it, so an agent cannot choose who approves its actions.
type AskPolicy struct {
	NotSubmitter bool `json:"not_submitter"`
	// To is the audience of questions without one; nil: everybody. Only a Go engine can name an
	// audience itself (engine.Question.To).
	To *Audience `json:"to,omitempty"`
	// Need is the number of people who must approve an approval, and Rejects the number who must
	// reject it, unless the question sets its own (engine.Question.Need); 0: one. Each is at most
	// MaxNeed. Other questions take the first answer.
	Need    int `json:"need,omitempty"`
	Rejects int `json:"rejects,omitempty"`
	// Wait limits how long the questions stay open and schedules reminders and escalations; nil:
	// session_timeout and strictness apply. Only a Go engine can override it
	// (engine.Question.Wait).
	Wait *Wait `json:"wait,omitempty"`
}

// Admits reports whether the actor may answer; nil admits everybody. Only nil admits an actor
// without an ID, since Except could name that actor. A deputy (Actor.For) may answer if the
// principal may, unless Except names the deputy.
func (a *Audience) Admits(actor Actor) bool {
	switch {
	case a == nil:
		return true
	case actor.ID == "" || slices.ContainsFunc(a.Except, actor.Is):
		return false
	case actor.For != "":
		p := actor.principal()
		return p != nil && a.Admits(Actor{ID: p.ID, Groups: p.Groups, Fold: actor.Fold})
	case a.Everybody || slices.ContainsFunc(a.Users, actor.Is):
		return true
	}
	return slices.ContainsFunc(a.Groups, func(group string) bool { return slices.Contains(actor.Groups, group) })
}

// Open reports whether the audience admits everybody except the users in Except.
func (a *Audience) Open() bool { return a == nil || a.Everybody }

func (a *Audience) String() string {
	if a == nil {
		return "everybody"
	}
	var parts []string
	if len(a.Users) > 0 {
		parts = append(parts, strings.Join(a.Users, ", "))
	}
	if len(a.Groups) > 0 {
		parts = append(parts, "the groups "+strings.Join(a.Groups, ", "))
	}
	text := strings.Join(parts, " and ")
	switch {
	case a.Everybody:
		text = "everybody"
	case text == "":
		text = "nobody"
	}
	if len(a.Except) > 0 {
		text += ", but not " + strings.Join(a.Except, ", ")
	}
	return text
}

// Clone returns a deep copy.
func (a *Audience) Clone() *Audience {
	if a == nil {
		return nil
	}
	return &Audience{a.Everybody, slices.Clone(a.Users), slices.Clone(a.Groups), slices.Clone(a.Except)}
}

// Folded returns the audience with fold applied to its users, without duplicates. A nil fold
// changes nothing.
func (a *Audience) Folded(fold func(id string) string) *Audience {
	c := a.Clone()
	if c == nil || fold == nil {
		return c
	}
	for _, people := range []*[]string{&c.Users, &c.Except} {
		var once []string
		for _, id := range *people {
			if id = fold(id); !slices.Contains(once, id) {
				once = append(once, id)
			}
		}
		*people = once
	}
	return c
}

// Validate returns an error if the audience cannot be stored, as the end of a sentence: "a list of
// 101 names; at most 100 are allowed".
func (a *Audience) Validate() error {
	if a == nil {
		return nil
	}
	for _, list := range [][]string{a.Users, a.Groups, a.Except} {
		if len(list) > MaxAudience {
			return fmt.Errorf("a list of %d names; at most %d are allowed", len(list), MaxAudience)
		}
		for _, name := range list {
			if name == "" || len(name) > MaxActor || !utf8.ValidString(name) || strings.IndexByte(name, 0) >= 0 {
				return fmt.Errorf("a name of %d bytes; 1 to %d bytes of UTF-8 without NUL are allowed", len(name),
					MaxActor)
			}
		}
	}
	return nil
}

// ErrNotAsked is matched by every NotAskedError.
var ErrNotAsked = errors.New("interaction: the question is for others")

// NotAskedError reports that the reply's author may not answer the question, and who may.
type NotAskedError struct {
	ID    int // of the question
	Actor Actor
	To    Audience
}

func (e *NotAskedError) Error() string {
	return fmt.Sprintf("%v: %s may not answer interaction %d; it is for %s", ErrNotAsked, e.Actor, e.ID, &e.To)
}

func (e *NotAskedError) Is(target error) bool { return target == ErrNotAsked }
