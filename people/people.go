// Package people is a host's directory: who people are, their groups and addresses, and who answers
// for them while they are away. [Open] reads a file; a host may implement [Directory] over its own
// system.
//
// A Directory is a lifecycle.Directory: set it as lifecycle.Config.Directory, and deputies may act.
// The package imports only the types of package interaction.
package people

import (
	"context"
	"errors"
	"time"

	"github.com/interlude-go/interlude/interaction"
)

// Person is an entry of a directory.
type Person struct {
	ID string
	// Name is for people; it may be empty.
	Name   string
	Groups []string
	// Addresses are the person's addresses by front end, such as "mail".
	Addresses map[string]string
	// Deputies answer for the person.
	Deputies []Deputy
}

// Deputy may act for a person from From, and before Until. A zero time is no limit.
type Deputy struct {
	ID          string
	From, Until time.Time
}

// ErrUnknown: the directory has no such person.
var ErrUnknown = errors.New("people: no such person")

// Directory names people. Its methods are safe for concurrent use, and return copies. An error other
// than ErrUnknown says that the directory cannot be read; the caller then accepts no deputy.
type Directory interface {
	// Person returns the person with this ID, or ErrUnknown.
	Person(ctx context.Context, id string) (Person, error)
	// Principals returns the people whose deputy the person is at that time; none for an unknown one.
	Principals(ctx context.Context, id string, at time.Time) ([]interaction.Principal, error)
	// Deputies returns the IDs of the person's deputies at that time; none for an unknown person.
	Deputies(ctx context.Context, id string, at time.Time) ([]string, error)
	// People lists people whose ID or name begins with the prefix, ignoring case, by ID after the
	// given one: at most limit, for a picker.
	People(ctx context.Context, prefix, after string, limit int) ([]Person, error)
}

func (d *Deputy) active(at time.Time) bool {
	p := interaction.Principal{From: d.From, Until: d.Until}
	return p.Active(at)
}
