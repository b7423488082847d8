package people

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/interlude-go/interlude/interaction"
)

// Limits of a file.
const (
	MaxFile     = 4 << 20 // bytes
	MaxDeputies = 32      // of one person
)

// File is a Directory in a file of YAML or JSON:
//
//	people:
//	  - id: ann
//	    name: Ann Lee
//	    groups: [finance]
//	    addresses: {mail: ann@example.com}
//	    deputies:
//	      - {id: bob, from: 2026-12-01, until: 2026-12-14}
//
// A time is a day in UTC, or RFC 3339; the day in until is included. A changed file is read again at
// the next call. If it has an error, the previous content stays in use, and the error is logged once
// per change; deputyships still end at their times. It is safe for concurrent use.
type File struct {
	name string
	log  *slog.Logger

	mu      sync.Mutex // guards the fields below
	changed version    // of the file as last read
	content *content   // replaced, never changed
}

type content struct {
	people map[string]*row
	ids    []string            // of people, sorted
	of     map[string][]string // the people who name a deputy, sorted
}

type version struct {
	bytes int64
	at    time.Time
}

// Open reads the file. Its errors name the line or the person. A nil logger is slog.Default.
func Open(name string, log *slog.Logger) (*File, error) {
	if log == nil {
		log = slog.Default()
	}
	f := &File{name: name, log: log}
	var err error
	f.content, f.changed, err = readFile(name)
	return f, err
}

// current returns the content, after a changed file was read.
func (f *File) current() *content {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.name)
	if err == nil && f.changed == (version{info.Size(), info.ModTime()}) {
		return f.content
	}
	read, changed, err := readFile(f.name)
	if changed == f.changed && err != nil { // logged before
		return f.content
	}
	if f.changed = changed; err != nil {
		f.log.Error("the directory has an error; its previous content stays in use", "error", err)
		return f.content
	}
	f.content = read
	return read
}

// Person returns the person with this ID, or ErrUnknown.
func (f *File) Person(_ context.Context, id string) (Person, error) {
	if p := f.current().people[id]; p != nil {
		return p.person(), nil
	}
	return Person{}, ErrUnknown
}

// Principals returns the people whose deputy the person is at that time, by ID.
func (f *File) Principals(_ context.Context, id string, at time.Time) (all []interaction.Principal, _ error) {
	c := f.current()
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
	return all, nil
}

// Deputies returns the IDs of the person's deputies at that time.
func (f *File) Deputies(_ context.Context, id string, at time.Time) (all []string, _ error) {
	if p := f.current().people[id]; p != nil {
		for _, d := range p.person().Deputies {
			if d.active(at) && !slices.Contains(all, d.ID) {
				all = append(all, d.ID)
			}
		}
	}
	return all, nil
}

// People lists people whose ID or name begins with the prefix.
func (f *File) People(_ context.Context, prefix, after string, limit int) (all []Person, _ error) {
	c, prefix := f.current(), strings.ToLower(prefix)
	for _, id := range c.ids {
		if len(all) >= limit {
			break
		}
		p := c.people[id]
		if id > after && (strings.HasPrefix(strings.ToLower(id), prefix) ||
			strings.HasPrefix(strings.ToLower(p.Name), prefix)) {
			all = append(all, p.person())
		}
	}
	return all, nil
}

// row is a person in the file.
type row struct {
	ID        string            `yaml:"id"`
	Name      string            `yaml:"name"`
	Groups    []string          `yaml:"groups"`
	Addresses map[string]string `yaml:"addresses"`
	Deputies  []struct {
		ID    string `yaml:"id"`
		From  string `yaml:"from"`
		Until string `yaml:"until"`
	} `yaml:"deputies"`

	deputies []Deputy
}

func (r *row) person() Person {
	return Person{r.ID, r.Name, slices.Clone(r.Groups), maps.Clone(r.Addresses), slices.Clone(r.deputies)}
}

func readFile(name string) (*content, version, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, version{}, fmt.Errorf("people: %w", err)
	}
	defer file.Close()
	var changed version
	if info, err := file.Stat(); err == nil {
		changed = version{info.Size(), info.ModTime()}
	}
	body, err := io.ReadAll(io.LimitReader(file, MaxFile+1))
	if err == nil && len(body) > MaxFile {
		err = errors.New("larger than 4 MiB")
	}
	if err != nil {
		return nil, changed, fmt.Errorf("people: %s: %w", name, err)
	}
	read, err := parse(body)
	if err != nil {
		return nil, changed, fmt.Errorf("people: %s: %w", name, err)
	}
	return read, changed, nil
}

func parse(body []byte) (*content, error) {
	var file struct {
		People []*row `yaml:"people"`
	}
	in := yaml.NewDecoder(bytes.NewReader(body))
	in.KnownFields(true)
	if err := in.Decode(&file); err != nil {
		return nil, err
	}
	c := &content{people: make(map[string]*row, len(file.People)), of: make(map[string][]string)}
	for i, r := range file.People {
		if r == nil || r.ID == "" {
			return nil, fmt.Errorf("people[%d] has no id", i)
		}
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("person %.80q: %w", r.ID, err)
		}
		if c.people[r.ID] != nil {
			return nil, fmt.Errorf("person %.80q is there twice", r.ID)
		}
		c.people[r.ID] = r
	}
	c.ids = slices.Sorted(maps.Keys(c.people))
	for _, id := range c.ids {
		for _, d := range c.people[id].deputies {
			if of := c.of[d.ID]; len(of) == 0 || of[len(of)-1] != id { // a deputy may have several times
				c.of[d.ID] = append(of, id)
			}
		}
	}
	return c, nil
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
