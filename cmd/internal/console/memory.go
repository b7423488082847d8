package console

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/lifecycle"
)

// maxMemory limits -remember. The host's nodes use a decision only if the host allows it.
const maxMemory = 366 * 24 * time.Hour

// remembering has the flags with which an approval also counts for later calls.
type remembering struct {
	bound lifecycle.Remember
	last  time.Duration
}

func (r *remembering) flags(f *flag.FlagSet) {
	f.DurationVar(&r.last, "remember", 0, "approve later calls of the tool in this run, too, for this `time`: calls with "+
		"the same arguments, unless -same, -most or -any says otherwise")
	f.Func("same", "with -remember: the `pointer` to an argument that must be the same, like /to (repeatable)",
		func(path string) error {
			r.bound.Equal = append(r.bound.Equal, path)
			return nil
		})
	f.Func("most", "with -remember: the upper limit of a number, as `pointer=limit` like /eur=50 (repeatable)",
		func(text string) error {
			i := strings.LastIndex(text, "=")
			if i < 0 {
				return fmt.Errorf("want POINTER=LIMIT, like /eur=50, not %.80q", text)
			}
			r.bound.Most = append(r.bound.Most, lifecycle.Limit{Path: text[:i], Limit: text[i+1:]})
			return nil
		})
	f.BoolVar(&r.bound.Any, "any", false, "with -remember: whatever the arguments are")
}

func (r *remembering) check() error {
	bounded := r.bound.Any || len(r.bound.Equal) > 0 || len(r.bound.Most) > 0
	switch {
	case r.last < 0 || r.last > maxMemory:
		return command.Misusef("-remember is %s, want up to %s", r.last, maxMemory)
	case r.last == 0 && bounded:
		return command.Misusef("-same, -most and -any need -remember")
	}
	return nil
}

// request returns the reply's Remember; nil without -remember.
func (r *remembering) request(now time.Time) *lifecycle.Remember {
	if r.last == 0 {
		return nil
	}
	remember := r.bound
	remember.Until = now.Add(r.last)
	return &remember
}

var forgetVerb = command.Verb{
	Name: "forget", Args: "RUN", Does: "end a decision that a run remembers",
	More: "interlude show lists them, by the numbers of their questions.",
	Prepare: func(f *flag.FlagSet) command.Action {
		db, asJSON, who := NewDatabase(f), jsonFlag(f), newPerson(f, self())
		number := f.Int("question", 0, "the `number` of the question that was decided; optional if there is only one")
		return changing(db, asJSON, func(ctx context.Context, cl *client, id string) (string, error) {
			actor, err := who.actor()
			if err != nil {
				return "", err
			}
			run, err := cl.Get(ctx, id)
			if err != nil {
				return "", err
			}
			var all []int
			for i := range run.Remembered {
				all = append(all, run.Remembered[i].ID)
			}
			question, err := theOnly(*number, id, "remembered decisions", all)
			if err != nil {
				return "", err
			}
			if run.Memory(question) == nil {
				return "", command.Refusef("run %s remembers no decision about question %d: interlude show %[1]s", id,
					question)
			}
			return fmt.Sprintf("no longer remembers the decision about question %d", question),
				cl.As(actor).Forget(ctx, id, question)
		})
	},
}

// memories prints the run's remembered decisions.
func (p *printer) memories(r *lifecycle.Run, now time.Time, db string) {
	shown := false
	for i := range r.Remembered {
		m := &r.Remembered[i]
		if !m.Lasts(now) {
			continue
		}
		shown = true
		p.text(terminal.Amber, fmt.Sprintf("also approved until %s: %s, %s (question %d, %s)", clock(m.Until),
			terminal.Name(m.Tool), bound(m), m.ID, terminal.Name(m.Actor)), "  ")
	}
	if shown {
		p.line(terminal.Dim, "  end it: interlude forget "+db+" -question N "+terminal.Name(r.ID))
	}
}

// bound describes the calls that a remembered decision covers.
func bound(m *lifecycle.Memory) string {
	var parts []string
	for i := range m.Equal {
		part := "the same arguments"
		if path := m.Equal[i].Path; path != "" {
			part = "the same " + terminal.Name(path)
		}
		parts = append(parts, part)
	}
	for _, l := range m.Most {
		parts = append(parts, terminal.Name(l.Path)+" up to "+terminal.Name(l.Limit))
	}
	if len(parts) == 0 {
		return "any arguments"
	}
	return strings.Join(parts, ", ")
}
