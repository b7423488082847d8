// Package people is a host's directory: who people are, their groups and addresses, and who answers
// for them while they are away. [Open] reads a file, and [NewSCIM] a directory over HTTP; a host may
// implement [Directory] over its own system.
//
// A Directory is a lifecycle.Directory: set it as lifecycle.Config.Directory, and deputies may act.
// Of interlude, the package imports only the types of package interaction, and engine/netguard.
package people

import (
	"context"
	"errors"
	"iter"
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
	// People lists people whose ID, or a word of whose name, begins with the prefix, ignoring case, by
	// ID after the given one: at most limit, for a picker.
	People(ctx context.Context, prefix, after string, limit int) ([]Person, error)
}

// Grouped is an optional interface of a Directory, for a picker of groups.
type Grouped interface {
	// Groups lists groups of people of which a word begins with the prefix, ignoring case, sorted: at
	// most limit. It is safe for concurrent use.
	Groups(ctx context.Context, prefix string, limit int) ([]string, error)
}

// All returns all people, by ID. An error ends it.
func All(ctx context.Context, d Directory) iter.Seq2[Person, error] {
	const page = 500
	return func(yield func(Person, error) bool) {
		for after := ""; ; {
			all, err := d.People(ctx, "", after, page)
			if err != nil {
				yield(Person{}, err)
				return
			}
			for i := range all {
				after = all[i].ID
				if !yield(all[i], nil) {
					return
				}
			}
			if len(all) < page {
				return
			}
		}
	}
}

// Asked returns the people who may answer a question with this audience, each followed by
// the deputies who may answer at that time, without duplicates: the recipients of notices. An open
// audience has no recipients. An error ends the sequence.
func Asked(ctx context.Context, d Directory, to *interaction.Audience, at time.Time) iter.Seq2[Person, error] {
	return func(yield func(Person, error) bool) {
		if to.Open() {
			return
		}
		known := make(map[string]bool)
		once := func(p Person) bool {
			again := known[p.ID]
			known[p.ID] = true
			return again || yield(p, nil)
		}
		for p, err := range All(ctx, d) {
			if err != nil {
				yield(Person{}, err)
				return
			}
			if !to.Admits(interaction.Actor{ID: p.ID, Groups: p.Groups}) {
				continue
			}
			if !once(p) {
				return
			}
			deputies, err := deputiesOf(ctx, d, &p, to, at)
			if err != nil {
				yield(Person{}, err)
				return
			}
			for _, deputy := range deputies {
				if !once(deputy) {
					return
				}
			}
		}
	}
}

// deputiesOf returns the person's deputies who may answer for them.
func deputiesOf(ctx context.Context, d Directory, p *Person, to *interaction.Audience, at time.Time) (all []Person,
	_ error,
) {
	ids, err := d.Deputies(ctx, p.ID, at)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		deputy, err := d.Person(ctx, id)
		if errors.Is(err, ErrUnknown) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if to.Admits(interaction.Actor{ID: deputy.ID, Groups: deputy.Groups, For: p.ID,
			Principals: []interaction.Principal{{ID: p.ID, Groups: p.Groups}}}) {
			all = append(all, deputy)
		}
	}
	return all, nil
}

func (d *Deputy) active(at time.Time) bool {
	p := interaction.Principal{From: d.From, Until: d.Until}
	return p.Active(at)
}
