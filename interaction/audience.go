package interaction

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxAudience is how many names each list of an Audience may have.
const MaxAudience = 100

// Audience says who may answer a question. It comes from the host, never from the text of an
// agent, and is stored with the question when it is asked.
type Audience struct {
	// Everybody may answer, but for Except. If it is false, Users and Groups say who may.
	Everybody bool `json:"everybody"`
	// Users and Groups may answer: whoever has one of the IDs, or belongs to one of the groups.
	// With neither, nobody may: a list that comes out empty by mistake opens nothing.
	Users  []string `json:"users,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// Except may not answer, whatever else is said: for instance who submitted the run.
	Except []string `json:"except,omitempty"`
}

// AskPolicy says who may answer the questions of a run and how many people decide an approval,
// and how long the questions wait. The host sets it in Spec.Ask, and it is stored with each
// question when the question is asked, so an agent cannot choose who approves what it does.
type AskPolicy struct {
	// NotSubmitter: whoever submitted the run, as Spec.Submitter says, may answer none of its
	// questions.
	NotSubmitter bool `json:"not_submitter"`
	// To is who may answer the questions that name nobody; nil: everybody. Only a Go engine can
	// name somebody itself (engine.Question.To).
	To *Audience `json:"to,omitempty"`
	// Need is how many people must approve an approval, and Rejects how many must reject it, if the
	// question does not say it itself (engine.Question.Need); 0: one. Each is at most
	// MaxNeed. Other questions take the first answer.
	Need    int `json:"need,omitempty"`
	Rejects int `json:"rejects,omitempty"`
	// Wait is how long the questions wait, and what happens meanwhile; nil: as session_timeout and
	// strictness say. Only a Go engine can say it itself, for a question (engine.Question.Wait).
	Wait *Wait `json:"wait,omitempty"`
}

// Admits reports whether the actor may answer; nil admits everybody. Only nil admits an actor
// without an ID, which may be anybody, also those whom Except names.
func (a *Audience) Admits(actor Actor) bool {
	switch {
	case a == nil:
		return true
	case actor.ID == "" || slices.ContainsFunc(a.Except, actor.Is):
		return false
	case a.Everybody || slices.ContainsFunc(a.Users, actor.Is):
		return true
	}
	return slices.ContainsFunc(a.Groups, func(group string) bool { return slices.Contains(actor.Groups, group) })
}

// Open reports whether everybody may answer, but for those that Except names.
func (a *Audience) Open() bool { return a == nil || a.Everybody }

// String says who may answer, for messages.
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

// Clone returns a copy that shares nothing.
func (a *Audience) Clone() *Audience {
	if a == nil {
		return nil
	}
	return &Audience{a.Everybody, slices.Clone(a.Users), slices.Clone(a.Groups), slices.Clone(a.Except)}
}

// Folded returns the audience with its people as fold spells them, each once. A nil fold changes
// nothing.
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

// Validate returns an error if the audience cannot be stored. The error reads as a part of a
// sentence: "a list of 101 names; at most 100 are allowed".
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

// NotAskedError says that the reply's author may not answer the question, and who may.
type NotAskedError struct {
	ID    int // the question's
	Actor Actor
	To    Audience
}

func (e *NotAskedError) Error() string {
	return fmt.Sprintf("%v: %s may not answer interaction %d; it is for %s", ErrNotAsked, e.Actor, e.ID, &e.To)
}

// Is makes errors.Is(err, ErrNotAsked) true.
func (e *NotAskedError) Is(target error) bool { return target == ErrNotAsked }
