package interaction

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of an Actor, in bytes or entries; MaxActor limits the ID.
const (
	MaxGroups = 256
	MaxGroup  = 255
	MaxVia    = 63
)

// Actor identifies the person or program that acts on a run. The host authenticates actors; the
// library trusts the host. The zero Actor is the host itself.
type Actor struct {
	// ID names the actor in the history, the events and the host's records; at most MaxActor bytes
	// of UTF-8 without NUL. Empty: unknown. IDs are compared byte by byte, so a person must always
	// have the same ID (see Fold). PolicyActor and MemoryActor are reserved.
	ID string
	// Groups lists the actor's current groups, at most MaxGroup bytes each, for this call only;
	// they are not stored.
	Groups []string
	// Via names the front end, such as "web" or "mail"; at most MaxVia bytes.
	Via string
	// Fold, unless nil, maps all spellings of an ID to one; ID must be in that form. A stored name,
	// which keeps its spelling, belongs to the actor if Fold maps it to ID. Fold must be safe for
	// concurrent use. It is not stored.
	Fold func(id string) string `json:"-"`
	// For is the ID of the absent person for whom the actor acts as a deputy, from Principals.
	// Empty: the actor acts for themselves. Only calls about an open question use it.
	For string `json:",omitempty"` //nolint:tagliatelle // named as the other fields
	// Principals are the people for whom the actor may act, at most MaxPrincipals. A client of
	// package lifecycle reads them from its Directory before each decision, and ignores its caller's.
	// They are not stored.
	Principals []Principal `json:"-"`
}

// Is reports whether a stored ID names the actor, compared after Fold. An actor without an ID
// matches none.
func (a *Actor) Is(id string) bool {
	return a.ID != "" && (id == a.ID || a.Fold != nil && a.Fold(id) == a.ID)
}

func (a Actor) IsZero() bool { return a.ID == "" && len(a.Groups) == 0 && a.Via == "" && a.For == "" }

// Equal reports whether both actors are equal, with their groups in the same order. Principals do
// not count.
func (a Actor) Equal(b Actor) bool {
	return a.ID == b.ID && a.Via == b.Via && a.For == b.For && slices.Equal(a.Groups, b.Groups)
}

func (a Actor) String() string {
	id := a.ID
	if id == "" {
		id = "an actor without a name"
	}
	if a.For != "" {
		id += " for " + a.For
	}
	if a.Via != "" {
		return fmt.Sprintf("%s (by %s)", id, a.Via)
	}
	return id
}

// Validate returns a *FieldError for the first invalid field.
func (a Actor) Validate() error {
	wrong := func(s string, limit int) bool {
		return len(s) > limit || !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0
	}
	size := func(s string) string { return fmt.Sprintf("%d bytes", len(s)) }
	want := func(limit int) string { return fmt.Sprintf("at most %d bytes of UTF-8 without NUL", limit) }
	if wrong(a.ID, MaxActor) {
		return &FieldError{"Actor", size(a.ID), want(MaxActor)}
	}
	for _, reserved := range []string{PolicyActor, MemoryActor} {
		n := len(reserved) // Policy: misleads, too
		if len(a.ID) >= n && strings.EqualFold(a.ID[:n], reserved) {
			return &FieldError{"Actor", a.ID, "an ID that does not begin with " + reserved + ", which names no person"}
		}
	}
	if wrong(a.For, MaxActor) {
		return &FieldError{"Actor.For", size(a.For), want(MaxActor)}
	}
	if a.For != "" && (a.ID == "" || a.For == a.ID) {
		return &FieldError{"Actor.For", fmt.Sprintf("%.40q", a.For), "another person, and an actor with an ID"}
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
