package interaction

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of an Actor, in bytes or entries. That of its ID is MaxActor.
const (
	MaxGroups = 256
	MaxGroup  = 255
	MaxVia    = 63
)

// Actor is who acts on a run: a person, or a program on its own behalf. The host has authenticated
// it and says so; the library believes the host. The zero Actor is the host itself.
type Actor struct {
	// ID names the actor, for the history, the events and the host's own records; at most MaxActor
	// bytes of UTF-8 without NUL. Empty: the host does not say. IDs are compared byte by byte, so
	// the host must always send the same one for a person (see Fold).
	ID string
	// Groups are those that the actor belongs to at this moment, each of at most MaxGroup bytes.
	// They count for this one call, and are not stored.
	Groups []string
	// Via is the door that the actor came through, "web" or "mail" for example; at most MaxVia
	// bytes.
	Via string
	// Fold, unless nil, maps all spellings of an ID to one, and ID is in that form. Names
	// are stored as their authors spelled them; a name in an audience, a vote, a claim or the record
	// of an answer is the actor's if Fold maps it to ID. Fold must be safe for concurrent use. It is not stored.
	Fold func(id string) string `json:"-"`
}

// Is reports whether a stored ID names the actor: it is the actor's ID, or Fold maps it to that. No
// ID names an actor without one.
func (a *Actor) Is(id string) bool {
	return a.ID != "" && (id == a.ID || a.Fold != nil && a.Fold(id) == a.ID)
}

// IsZero reports whether nothing is said of the actor.
func (a Actor) IsZero() bool { return a.ID == "" && len(a.Groups) == 0 && a.Via == "" }

// Equal reports whether both are the same, with their groups in the same order.
func (a Actor) Equal(b Actor) bool {
	return a.ID == b.ID && a.Via == b.Via && slices.Equal(a.Groups, b.Groups)
}

// String is the ID and the door, for messages.
func (a Actor) String() string {
	id := a.ID
	if id == "" {
		id = "an actor without a name"
	}
	if a.Via != "" {
		return fmt.Sprintf("%s (by %s)", id, a.Via)
	}
	return id
}

// Validate says what is wrong with the actor as a *FieldError.
func (a Actor) Validate() error {
	wrong := func(s string, limit int) bool {
		return len(s) > limit || !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0
	}
	size := func(s string) string { return fmt.Sprintf("%d bytes", len(s)) }
	want := func(limit int) string { return fmt.Sprintf("at most %d bytes of UTF-8 without NUL", limit) }
	if wrong(a.ID, MaxActor) {
		return &FieldError{"Actor", size(a.ID), want(MaxActor)}
	}
	if wrong(a.Via, MaxVia) {
		return &FieldError{"Actor.Via", size(a.Via), want(MaxVia)}
	}
	if len(a.Groups) > MaxGroups {
		return &FieldError{"Actor.Groups", fmt.Sprintf("%d groups", len(a.Groups)), fmt.Sprintf("at most %d",
			MaxGroups)}
	}
	for _, group := range a.Groups {
		if group == "" || wrong(group, MaxGroup) {
			return &FieldError{"Actor.Groups", "one of " + size(group), "names of 1 byte, and " + want(MaxGroup)}
		}
	}
	return nil
}
