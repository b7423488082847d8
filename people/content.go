package people

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/interlude-go/interlude/interaction"
)

// content is a directory in memory.
type content struct {
	people map[string]*row
	ids    []string            // of people, sorted
	of     map[string][]string // the people who name a deputy, sorted
	groups []string            // of people, sorted
}

// newContent returns the content with these people, whom check has accepted.
func newContent(rows []*row) (*content, error) {
	c := &content{people: make(map[string]*row, len(rows)), of: make(map[string][]string)}
	for _, r := range rows {
		if c.people[r.ID] != nil {
			return nil, fmt.Errorf("person %.80q is there twice", r.ID)
		}
		c.people[r.ID] = r
	}
	c.ids = slices.Sorted(maps.Keys(c.people))
	for _, id := range c.ids {
		c.groups = append(c.groups, c.people[id].Groups...)
		for _, d := range c.people[id].deputies {
			if of := c.of[d.ID]; len(of) == 0 || of[len(of)-1] != id { // a deputy may have several times
				c.of[d.ID] = append(of, id)
			}
		}
	}
	slices.Sort(c.groups)
	c.groups = slices.Compact(c.groups)
	return c, nil
}

func (c *content) person(id string) (Person, error) {
	if p := c.people[id]; p != nil {
		return p.person(), nil
	}
	return Person{}, ErrUnknown
}

func (c *content) principals(id string, at time.Time) (all []interaction.Principal) {
	for _, of := range c.of[id] {
		p := c.people[of]
		for _, d := range p.deputies {
			if d.ID == id && d.active(at) {
				all = append(all, interaction.Principal{ID: p.ID, Groups: slices.Clone(p.Groups), From: d.From,
					Until: d.Until})
				break
			}
		}
	}
	return all
}

func (c *content) deputies(id string, at time.Time) (all []string) {
	p := c.people[id]
	if p == nil {
		return nil
	}
	for _, d := range p.deputies {
		if d.active(at) && !slices.Contains(all, d.ID) {
			all = append(all, d.ID)
		}
	}
	return all
}

func (c *content) list(prefix, after string, limit int) (all []Person) {
	prefix = strings.ToLower(prefix)
	for _, id := range c.ids {
		if len(all) >= limit {
			break
		}
		p := c.people[id]
		if id > after && (strings.HasPrefix(strings.ToLower(id), prefix) || hasWord(p.Name, prefix)) {
			all = append(all, p.person())
		}
	}
	return all
}

func (c *content) listGroups(prefix string, limit int) (all []string) {
	prefix = strings.ToLower(prefix)
	for _, group := range c.groups {
		if len(all) >= limit {
			break
		}
		if hasWord(group, prefix) {
			all = append(all, group)
		}
	}
	return all
}

// hasWord reports whether the text or the rest of it from a word begins with the lower-case prefix.
func hasWord(text, prefix string) bool {
	return strings.Contains(" "+strings.ToLower(text), " "+prefix)
}

// row is a person in a directory, as it was read.
type row struct {
	ID        string            `yaml:"id"`
	Name      string            `yaml:"name"`
	Groups    []string          `yaml:"groups"`
	Addresses map[string]string `yaml:"addresses"`
	Deputies  []rowDeputy       `yaml:"deputies"`

	deputies []Deputy
}

type rowDeputy struct {
	ID    string `yaml:"id"`
	From  string `yaml:"from"`
	Until string `yaml:"until"`
}

func (r *row) person() Person {
	return Person{r.ID, r.Name, slices.Clone(r.Groups), maps.Clone(r.Addresses), slices.Clone(r.deputies)}
}

func (r *row) check() error {
	if err := (interaction.Actor{ID: r.ID, Groups: r.Groups}).Validate(); err != nil {
		return err
	}
	if len(r.Deputies) > MaxDeputies {
		return fmt.Errorf("%d deputies, want at most %d", len(r.Deputies), MaxDeputies)
	}
	for _, d := range r.Deputies {
		from, err := day(d.From, 0)
		if err != nil {
			return fmt.Errorf("deputy %.80q: from is %w", d.ID, err)
		}
		until, err := day(d.Until, 1)
		if err != nil {
			return fmt.Errorf("deputy %.80q: until is %w", d.ID, err)
		}
		switch {
		case d.ID == "" || d.ID == r.ID:
			return fmt.Errorf("a deputy has the id %.80q, want another person", d.ID)
		case !until.IsZero() && !until.After(from):
			return fmt.Errorf("deputy %.80q: until is not after from", d.ID)
		}
		r.deputies = append(r.deputies, Deputy{d.ID, from, until})
	}
	return nil
}

// day reads a time, or the beginning of a day plus a number of days.
func day(text string, plus int) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return at.AddDate(0, 0, plus), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("%.40q, want a day like 2026-12-01, or RFC 3339", text)
	}
	return at.UTC(), nil
}
