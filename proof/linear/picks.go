package linear

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// picks judges what one claim picked, on the pool as it was.
type picks struct {
	*pool

	in     PoolInput
	strict bool
	ids    []string
}

// checkChoice returns the fault of the choice, or "".
func (p *picks) checkChoice(ids []string) string {
	p.ids = ids
	if len(ids) > p.in.Max {
		return fmt.Sprintf("more than %d are started", p.in.Max)
	}
	if wrong := p.sound(); wrong != "" || !p.strict {
		return wrong
	}
	if wrong := p.own(); wrong != "" {
		return wrong
	}
	for _, check := range []func() string{p.ages, p.priorities, p.turns, p.work} {
		if wrong := check(); wrong != "" {
			return wrong
		}
	}
	return ""
}

// sound: each was ready, or its process is the node's, and no pool or key exceeds its slots.
func (p *picks) sound() string {
	for i, id := range p.ids {
		j := p.find(id)
		switch {
		case j == nil || slices.Contains(p.ids[:i], id):
			return id + " is not there to be started"
		case j.Place == Sticky && j.Owner == p.in.Node:
		case j.Place != Ready:
			return id + " is not ready: " + j.String()
		default:
			if free, room := p.free(j.Key); free < 0 || room < 0 {
				return fmt.Sprintf("%s is started above the capacity of %d, %d a key", id, p.size.Capacity,
					p.size.KeyCapacity)
			}
		}
	}
	return ""
}

// own: the node's own queued processes come first, oldest first.
func (p *picks) own() string {
	own := p.line(func(j Job) bool { return j.Place == Sticky && j.Owner == p.in.Node })
	own = own[:min(len(own), p.in.Max)]
	for i, j := range own {
		if i >= len(p.ids) || p.ids[i] != j.ID {
			return j.ID + " has its process here and is not the first"
		}
	}
	return ""
}

// line are jobs, the oldest first.
func (p *picks) line(of func(Job) bool) (line []Job) {
	for _, j := range p.jobs {
		if of(j) {
			line = append(line, j)
		}
	}
	slices.SortFunc(line, older)
	return line
}

func older(a, b Job) int { return cmp.Or(cmp.Compare(a.Queued, b.Queued), strings.Compare(a.ID, b.ID)) }

func (p *picks) picked(j Job) bool { return slices.Contains(p.ids, j.ID) }

// waits returns the ready jobs that would not be picked if these were.
func (p *picks) waits() []Job {
	return p.line(func(j Job) bool { return j.Place == Ready && !p.picked(j) })
}

func (p *picks) went() []Job {
	return p.line(func(j Job) bool { return j.Place == Ready && p.picked(j) })
}

// free is how many slots are left after the claim, and how many of the key's.
func (p *picks) free(key string) (free, room int) {
	free, room = p.size.Capacity, p.size.KeyCapacity
	if room == 0 || key == "" {
		room = 1 << 30
	}
	for _, j := range p.jobs {
		if j.Place == Holds || j.Place == Sticky || p.picked(j) {
			free--
			if j.Key == key {
				room--
			}
		}
	}
	return free, room
}

// ages: of a key and a priority the oldest go first.
func (p *picks) ages() string {
	for _, w := range p.waits() {
		for _, g := range p.went() {
			if w.Key == g.Key && w.Priority == g.Priority && older(w, g) < 0 {
				return w.ID + " is older than " + g.ID
			}
		}
	}
	return ""
}

// priorities: nothing goes while something of higher priority could.
func (p *picks) priorities() string {
	for _, w := range p.waits() {
		for _, g := range p.went() {
			if _, room := p.free(w.Key); w.Priority > g.Priority && room > 0 {
				return w.ID + " has a higher priority than " + g.ID
			}
		}
	}
	return ""
}

// turns: of the keys of one priority none gets two more than another that waits and has room.
func (p *picks) turns() string {
	type lane struct {
		priority int
		key      string
	}
	got := make(map[lane]int)
	for _, g := range p.went() {
		got[lane{g.Priority, g.Key}]++
	}
	for _, w := range p.waits() {
		_, room := p.free(w.Key)
		for l, n := range got {
			if room > 0 && l.priority == w.Priority && n > got[lane{w.Priority, w.Key}]+1 {
				return fmt.Sprintf("key %q got %d in turns, and %s of key %q waits", l.key, n, w.ID, w.Key)
			}
		}
	}
	return ""
}

// work: no slot stays free that a waiting job could have.
func (p *picks) work() string {
	if len(p.ids) == p.in.Max {
		return ""
	}
	for _, w := range p.waits() {
		if free, room := p.free(w.Key); free > 0 && room > 0 {
			return w.ID + " waits though a slot is free"
		}
	}
	return ""
}
