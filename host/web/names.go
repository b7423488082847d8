package web

import (
	"context"
	"errors"
	"time"

	"github.com/interlude-go/interlude/people"
)

// namesTime limits how long a response waits for the directory: without names, people are shown by
// their IDs.
const namesTime = time.Second

// seePerson visits a person's ID in a response, and the place of the name.
type seePerson = func(id string, name *string)

// addNames adds the names of the directory to the people of a response. It asks for each person
// once, and stops at the first error.
func (d *Server) addNames(ctx context.Context, visit func(seePerson)) {
	if d.opts.Directory == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, namesTime)
	defer cancel()
	failed := false
	names := map[string]string{"": ""} // the host itself
	visit(func(id string, name *string) {
		found, known := names[id]
		if !known && !failed {
			person, err := d.opts.Directory.Person(ctx, id)
			if failed = err != nil && !errors.Is(err, people.ErrUnknown); failed {
				d.log.Warn("web: the directory cannot be read", "err", err)
				return
			}
			found = person.Name
			names[id] = found
		}
		*name = found
	})
}

// peopleOf visits the people of all parts of a response.
func peopleOf[T any, P interface {
	*T
	people(see seePerson)
}](all []T) func(seePerson) {
	return func(see seePerson) {
		for i := range all {
			P(&all[i]).people(see)
		}
	}
}

func (r *Run) people(see seePerson) {
	peopleOf(r.Questions)(see)
	peopleOf(r.Remembered)(see)
}

func (q *Question) people(see seePerson) {
	see(q.For, &q.ForName)
	peopleOf(q.Votes)(see)
	peopleOf(q.Notes)(see)
	if q.Claim != nil {
		q.Claim.people(see)
	}
}

func (r *Record) people(see seePerson) {
	r.Question.people(see)
	see(r.Actor, &r.Name)
	see(r.For, &r.ForName)
}

func (v *Vote) people(see seePerson) {
	see(v.Actor, &v.Name)
	see(v.For, &v.ForName)
}

func (n *Note) people(see seePerson) {
	see(n.Actor, &n.Name)
	see(n.For, &n.ForName)
}

func (c *Claim) people(see seePerson) {
	see(c.Actor, &c.Name)
	see(c.For, &c.ForName)
}

func (m *Memory) people(see seePerson)       { see(m.Actor, &m.Name) }
func (q *OpenQuestion) people(see seePerson) { q.Question.people(see) }
func (a *GivenAnswer) people(see seePerson)  { a.Record.people(see) }

func (p *Problem) people(see seePerson) {
	if p.Settled != nil {
		see(p.Settled.Actor, &p.Settled.Name)
	}
	if p.Question != nil {
		p.Question.people(see)
	}
	if p.Claim != nil {
		p.Claim.people(see)
	}
	if p.Vote != nil {
		p.Vote.people(see)
	}
}
